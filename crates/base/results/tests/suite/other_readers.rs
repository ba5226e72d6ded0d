//! The database read without this crate, as an analysis script for the Port 9 Labs databases would.

use std::process::Command;

use serde_json::{Value, json};

use crate::sample;

#[test]
fn a_python_script_reads_the_views_and_finds_the_known_numbers() {
    let (_directory, path, _) = sample::database();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_with_python.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(&path)
        .output()
        .expect("this test needs python3 (standard library only): install it");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        found,
        json!({
            "rtt_columns": ["id", "sequence_number", "window_size", "packet_length", "rtt", "delta_ttl", "run_id"],
            "rtt_lost": 1,
            // Of 100, 200 .. 1000 the ninth, and twice that.
            "rtt_p90_by_packet_length": {"100": 900, "1400": 1800},
            "last_drops": {
                "x": 4, "packets_dropped": 15, "packets_total": 350, "duplicates": 7, "media_rate": 0.5,
                "timestamp": 4000, "run_id": 1
            },
            "longest_burst_by_port": {"5678": 3, "5679": 8},
            "burst_errors_by_port": {"5678": 2, "5679": 3},
            "stream_packets_lost_in_bursts": 22,
            "last_flows_by_port": {"5678": [2, 4, 6, 3, 10], "5679": [3, 1, 4, 8, 6]},
        })
    );
}
