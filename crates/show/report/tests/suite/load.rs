//! Series of load on an origin, checked against sums that SQLite makes of the same rows.

use serde_json::Value;

use crate::sample::{Sample, load};

fn column<'a>(series: &'a Value, name: &str) -> &'a Vec<Value> {
    series["columns"][name]["values"].as_array().expect(name)
}

fn sum(series: &Value, name: &str) -> i64 {
    column(series, name).iter().filter_map(Value::as_i64).sum()
}

#[test]
fn seconds_of_requests_and_viewers_are_those_of_the_tables() {
    let mut sample = Sample::new();
    let run = sample.run("load", None, &load());
    let document = sample.document(&[run]);
    let series = &document["runs"][0]["series"];
    let (requests, viewers) = (&series["load_seconds"], &series["viewer_seconds"]);
    assert_eq!(
        (requests["rows"].as_u64(), viewers["rows"].as_u64()),
        (Some(120), Some(60))
    );
    // Sums of arithmetic series: 10 + s and 11 + s for s from 0 to 59.
    assert_eq!(sum(requests, "requests"), 21 * 60 + 2 * 1_770);
    assert_eq!(sum(requests, "failed"), 60);
    assert_eq!(sum(requests, "body_bytes"), 2 * 1_000 * 1_770);
    assert_eq!(sum(viewers, "stalls"), 60);
    assert_eq!(sum(viewers, "viewers"), 1_770);
    // By kind, in the order of the alphabet, and then by time.
    let kinds = column(requests, "kind");
    assert_eq!((&kinds[0], &kinds[60]), (&"audio".into(), &"video".into()));
    let times = column(requests, "last_byte_p99_ns");
    assert_eq!(
        (times[0].as_i64(), times[7].as_i64(), times[59].as_i64()),
        (Some(5_003), None, Some(5_062))
    );
    assert!(column(viewers, "startup_p50_ns").iter().all(Value::is_null));
}

#[test]
fn distributions_over_sessions_are_those_of_all_rows_together() {
    let mut sample = Sample::new();
    let run = sample.run("load", None, &load());
    let document = sample.document(&[run]);
    let series = &document["runs"][0]["series"]["viewer_distribution"];
    assert_eq!(series["rows"], 6);
    let entries = column(series, "measure")
        .iter()
        .zip(column(series, "share"))
        .zip(column(series, "value"));
    let mut seen = Vec::new();
    for ((measure, share), value) in entries {
        let (share, value) = (share.as_f64().unwrap(), value.as_f64().unwrap());
        // The k-th of 100 sessions is the first that so many do not exceed: 500 + k - 1, 10 (k - 1) millionths, 901 + k - 1.
        let rank = (100.0 * share - 1e-6).ceil().max(1.0) - 1.0;
        let expected = match measure.as_str().unwrap() {
            "startup" => 500.0 + rank,
            "rebuffer" => rank / 100_000.0,
            "bitrate" => 901.0 + rank,
            other => panic!("{other}"),
        };
        assert!((value - expected).abs() < 1e-9, "{measure} {share}: {value}");
        if [0.0, 0.5, 0.99, 1.0].contains(&share) {
            seen.push(share);
        }
    }
    assert_eq!(seen, [0.0, 0.5, 0.99, 1.0].repeat(3));
}
