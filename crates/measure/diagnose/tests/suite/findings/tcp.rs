//! TCP that a window holds.

use weir_diagnose::{FindingName, Measured, Severity};
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, RunId};
use weir_units::Rate;

use super::sample::{assert_says, clean, named, of_tests, the};

/// A connection of 800 Mbit/s over 40 ms: 4 MB per RTT.
fn test(streams: u16, receiver_limited: Option<f64>, sender_limited: Option<f64>) -> TcpSummary {
    TcpSummary {
        direction: Direction::Forward,
        streams,
        bytes: 300_000_000,
        goodput: Rate(800_000_000 * u64::from(streams)),
        retransmits: 0,
        rtt_ns: 40_000_000,
        cwnd_bytes: 9_000_000,
        congestion_control: "cubic".into(),
        hit_byte_limit: false,
        receiver_limited,
        sender_limited,
    }
}

fn of(tests: Vec<TcpSummary>) -> Measured {
    Measured {
        tcp: tests.into_iter().map(|test| (RunId(50), test)).collect(),
        // 2.048 Gbit/s without a loss.
        ..of_tests(vec![clean(8, 8000, 32_000)])
    }
}

fn value(measured: &Measured, what: &str) -> u64 {
    let finding = the(measured, FindingName::TcpWindow);
    let found = finding.evidence.iter().find(|evidence| evidence.what == what);
    found
        .and_then(|evidence| evidence.value.as_u64())
        .expect("a number")
}

#[test]
fn a_connection_that_a_window_holds_is_told_from_a_slow_path() {
    let measured = of(vec![test(1, Some(0.93), Some(0.01))]);
    let found = the(&measured, FindingName::TcpWindow);
    assert_eq!(found.severity, Severity::Notice);
    assert_says(
        &found.sentence,
        "the receiver's window held TCP for 93 % of the time",
    );
    assert_eq!(value(&measured, "window used"), 4_000_000);
    // The flows' 2.048 Gbit/s over 40 ms.
    assert_eq!(value(&measured, "window that would fill the path"), 10_240_000);
    assert_says(&found.action, "or use 3 connections");
    assert_says(&found.action, "tcp_rmem");

    let by_sender = of(vec![test(1, Some(0.02), Some(0.7))]);
    assert_says(&the(&by_sender, FindingName::TcpWindow).action, "tcp_wmem");
}

#[test]
fn a_connection_that_the_path_or_an_old_kernel_does_not_explain_is_no_finding() {
    for (receiver, sender) in [(Some(0.1), Some(0.15)), (None, None)] {
        let measured = of(vec![test(1, receiver, sender)]);
        assert_eq!(named(&measured, FindingName::TcpWindow), []);
    }
}

#[test]
fn a_rate_that_lost_packets_is_not_what_the_path_carries() {
    let lossy = super::sample::losing(clean(8, 8000, 32_000), 0..8, 50);
    let measured = Measured {
        tcp: of(vec![test(1, Some(0.9), None)]).tcp,
        ..of_tests(vec![lossy])
    };
    // Nothing shows that the path carries more: whoever reads may be what is slow.
    assert_eq!(named(&measured, FindingName::TcpWindow), []);
}
