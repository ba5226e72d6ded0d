//! Tests between places: what is written is read, across runs.

use serde_json::json;
use weir_results::{MeshEnd, MeshFilter, MeshTest, Store};

use crate::sample;

fn end(region: &str, host: &str) -> MeshEnd {
    MeshEnd {
        cloud: "aws".into(),
        region: region.into(),
        zone: "a".into(),
        host: host.into(),
        latitude: Some(-23.5),
        longitude: None,
    }
}

/// A test with another value in each field.
fn full() -> MeshTest {
    MeshTest {
        unix_ns: 1,
        source: "weir".into(),
        reason: None,
        from: end("eu-west-1", "near"),
        to: end("us-east-1", "far"),
        distance_m: Some(2),
        faster_than_light: true,
        rtt_count: 3,
        rtt_min_ns: Some(4),
        rtt_mean_ns: Some(5),
        rtt_p50_ns: Some(6),
        rtt_p95_ns: Some(7),
        rtt_max_ns: Some(8),
        rtt_jitter_ns: Some(9),
        tcp_bps: Some(10),
        tcp_streams: Some(11),
        tcp_streams_bps: Some(12),
        tcp_streams_retransmits: Some(24),
        tcp_streams_cwnd_bytes: Some(25),
        tcp_streams_rtt_ns: Some(26),
        tcp_retransmits: Some(13),
        tcp_cwnd_bytes: Some(14),
        tcp_rtt_ns: Some(15),
        congestion_control: Some("cubic".into()),
        from_window_bytes: Some(16),
        to_window_bytes: Some(17),
        udp_bps: Some(18),
        udp_sent: Some(19),
        udp_loss: Some(0.25),
        udp_jitter_ns: Some(20),
        udp_pdv_ns: Some(23),
        udp_reordered: Some(21),
        bytes: 22,
        details: json!({"clock_offset_ns": -5}),
    }
}

fn failed() -> MeshTest {
    MeshTest {
        unix_ns: 2,
        source: "weir".into(),
        reason: Some("port 4747 does not answer".into()),
        from: end("eu-west-1", "near"),
        to: end("us-east-1", "far"),
        details: json!({}),
        ..MeshTest::default()
    }
}

#[test]
fn tests_are_read_as_they_were_written_and_those_that_failed_only_when_asked_for() {
    let (_directory, path, run) = sample::database();
    let store = Store::open(&path).unwrap();
    let other = store.begin_run(&sample::new_run()).unwrap();
    store.add_mesh_tests(run, &[full(), failed()]).unwrap();
    store.add_mesh_tests(other, &[full()]).unwrap();

    let all = |runs, failed| store.mesh_tests(&MeshFilter { runs, failed }).unwrap();
    assert_eq!(all(vec![run], true), [(run, full()), (run, failed())]);
    assert_eq!(all(vec![], false), [(run, full()), (other, full())]);
    let pair = ["aws", "eu-west-1", "aws", "us-east-1"].map(str::to_owned);
    assert_eq!(store.mesh_pair_counts().unwrap(), [(pair, 2)]);
}

#[test]
fn the_tests_of_a_run_go_with_it() {
    let (_directory, path, run) = sample::database();
    let store = Store::open(&path).unwrap();
    store.add_mesh_tests(run, &[full()]).unwrap();
    store.delete_runs(&[run]).unwrap();
    assert_eq!(store.mesh_tests(&MeshFilter::default()).unwrap(), []);
    assert!(store.add_mesh_tests(run, &[full()]).is_err(), "the run is gone");
}
