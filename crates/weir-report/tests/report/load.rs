//! Series of load on an origin, held against sums that SQLite makes of the same rows.

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
