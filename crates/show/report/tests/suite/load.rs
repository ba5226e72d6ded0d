//! Distributions over sessions of load on an origin.

use serde_json::Value;

use crate::sample::{Sample, load};

fn column<'a>(series: &'a Value, name: &str) -> &'a Vec<Value> {
    series["columns"][name]["values"].as_array().expect(name)
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
