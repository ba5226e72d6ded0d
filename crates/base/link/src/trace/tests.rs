//! Traces good and bad. Expected times and means are computed by hand.

use std::fs::File;
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn steps_of(text: &str) -> Result<RateSpec, TraceError> {
    parse_trace(text.as_bytes(), "t.steps", TraceFormat::Steps)
}

fn mahimahi_of(text: &str) -> Result<RateSpec, TraceError> {
    parse_trace(text.as_bytes(), "t.mahi", TraceFormat::Mahimahi)
}

#[test]
fn steps_with_comments_and_outages() {
    let rate = steps_of("# a phone in a lift\n\n5s 10Mbit/s\n 500ms\t0 # doors\n1min30s 2.5Mbit/s\r\n")
        .expect("a trace");
    let step = |duration_ns, rate| RateStep { duration_ns, rate };
    let expected = vec![
        step(5_000_000_000, 10_000_000),
        step(500_000_000, 0),
        step(90_000_000_000, 2_500_000),
    ];
    assert_eq!(rate, RateSpec::Steps(expected));
    // (5 * 10 + 0.5 * 0 + 90 * 2.5) / 95.5 Mbit/s
    assert_eq!(rate.mean(), Some(2_879_581));
}

#[test]
fn steps_refused() {
    let table = [
        (
            "5s 10Mbit/s\nfast\n",
            "line 2: 'fast' is not a step; write a duration and a rate, such as 5s 10Mbit/s",
        ),
        (
            "5s 10Mbit/s 3\n",
            "line 1: '5s 10Mbit/s 3' is not a step; write a duration and a rate, such as 5s 10Mbit/s",
        ),
        (
            "5 10Mbit/s\n",
            "line 1: '5' has no unit; write 5s, or use another of ns, us, ms, min, h, d",
        ),
        (
            "\n0s 10Mbit/s\n",
            "line 2: the time must be above zero; write a time such as 10s",
        ),
        ("5s 10\n", "line 1: '10' has no unit; write 10Mbit/s or 10Gbit/s"),
        (
            "5s 10MB/s\n",
            "line 1: '10MB/s' could mean bits or bytes; write 10Mbit/s or 80Mbit/s",
        ),
        (
            "5s 0\n1s 0bit/s\n",
            "no step has a rate above 0; write one such as 5s 10Mbit/s",
        ),
        (
            "# nothing\n",
            "no step has a rate above 0; write one such as 5s 10Mbit/s",
        ),
        (
            "300d 1Mbit/s\n65d 1Mbit/s\n1ns 1Mbit/s\n",
            "line 3: the trace is longer than 365d",
        ),
    ];
    for (text, problem) in table {
        let error = steps_of(text).expect_err(text);
        assert_eq!(error.to_string(), format!("trace t.steps: {problem}"));
    }
}

#[test]
fn mahimahi_opportunities() {
    let rate = mahimahi_of("0\n3\n3\r\n10\n").expect("a trace");
    let expected = RateSpec::Opportunities {
        at_ns: vec![0, 3_000_000, 3_000_000, 10_000_000],
        period_ns: 10_000_000,
        bytes: 1504,
    };
    assert_eq!(rate, expected);
    // 4 * 1504 * 8 bit in 10 ms
    assert_eq!(rate.mean(), Some(4_812_800));
    // The single line "1" of mahimahi's own documentation: one packet each millisecond, 12.032 Mbit/s.
    assert_eq!(mahimahi_of("1").expect("a trace").mean(), Some(12_032_000));
}

#[test]
fn mahimahi_refused() {
    let problem = |text: &str| mahimahi_of(text).expect_err(text).to_string();
    for (text, line, field) in [
        ("1\n\n2\n", 2, ""),
        ("1\n2ms\n", 2, "2ms"),
        ("+1\n", 1, "+1"),
        ("-1\n", 1, "-1"),
        ("1.5\n", 1, "1.5"),
        ("99999999999999999999\n", 1, "99999999999999999999"),
    ] {
        let expected = format!(
            "trace t.mahi: line {line}: '{field}' is not a time; write whole milliseconds, such as 120"
        );
        assert_eq!(problem(text), expected);
    }
    for (text, expected) in [
        ("9999999999999999999\n", "line 1: the trace is longer than 365d"),
        ("5\n4\n", "line 2: 4 follows 5; times must not decrease"),
        (
            "0\n0\n",
            "ends at 0 ms; the last time is the period and must be above 0",
        ),
        ("", "empty; write whole milliseconds, such as 120 on each line"),
    ] {
        assert_eq!(problem(text), format!("trace t.mahi: {expected}"));
    }
}

#[test]
fn garbage_names_its_line_and_stays_short() {
    let error = parse_trace(b"1\n2\n\xff\xfe\n", "t", TraceFormat::Mahimahi).expect_err("no text");
    assert_eq!(
        error.to_string(),
        "trace t: line 3: not text; write whole milliseconds, such as 120"
    );
    let error = steps_of(&format!("{}\u{7}\n", "x ".repeat(10_000))).expect_err("garbage");
    assert!(error.to_string().len() < 250, "{error}");
    let error = steps_of(&format!("5s 10Mbit/s {}", "x".repeat(1000))).expect_err("a third field");
    assert!(error.to_string().len() < 250, "{error}");
    let error = steps_of(&format!("5s {}Mbit/s", "9".repeat(1000))).expect_err("a long field");
    assert!(error.to_string().ends_with("such as 5s 10Mbit/s"), "{error}");
    let error = steps_of("a\u{1b}[31mb c d").expect_err("garbage");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
}

#[test]
fn too_many_entries_are_refused() {
    let error = mahimahi_of(&"1\n".repeat(MOST_TRACE_ENTRIES + 1)).expect_err("too many");
    assert_eq!(
        error.problem,
        "line 4000001: more than 4000000 lines; shorten the trace"
    );
    assert!(mahimahi_of(&"1\n".repeat(MOST_TRACE_ENTRIES)).is_ok());
}

#[test]
fn files_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long");
    let file = File::create(&path).expect("a file");
    file.set_len(MOST_TRACE_BYTES + 1).expect("a length");
    let error = read_trace(&path, TraceFormat::Steps).expect_err("too long");
    assert_eq!(error.problem, "longer than 64 MiB");
    let path = folder.path().join("short");
    File::create(&path)
        .and_then(|mut file| file.write_all(b"1s 1Mbit/s"))
        .expect("written");
    let rate = read_trace(&path, TraceFormat::Steps).expect("a trace");
    assert_eq!(rate.mean(), Some(1_000_000));
    let error = read_trace(&folder.path().join("none"), TraceFormat::Steps).expect_err("no such file");
    assert!(error.to_string().contains("none: No such file"), "{error}");
}

proptest! {
    #[test]
    fn nothing_panics_and_periods_are_bounded(
        text in "([0-9]{0,9}(s|ms|d)? ?[0-9]{0,20}(Mbit/s|#| )?\n?){0,6}",
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        for input in [text.as_bytes(), &bytes] {
            for format in [TraceFormat::Steps, TraceFormat::Mahimahi] {
                if let Ok(rate) = parse_trace(input, "t", format) {
                    prop_assert!(rate.mean().is_some());
                    prop_assert!(rate.entries() > 0);
                }
            }
        }
    }
}
