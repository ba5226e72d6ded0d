//! What devices before the link do to packets, against what they are set to do.

use weir_measure::flows::{DirectionSummary, FlowsPlan};
use weir_simulate::{Bucket, Middlebox, Path, StepTruth};

use crate::paths::{bench, flows, forward, link, route, still};

/// IP and UDP headers.
const HEADERS: f64 = 28.0;

fn behind(middlebox: Middlebox, plan: &FlowsPlan) -> StepTruth {
    let mut bench = bench();
    let path = Path::new(&link(vec![route()]), &still(), &still(), "far", 7).expect("a path");
    let mut path = path.behind(Some(middlebox), 7);
    path.flows(plan, &mut bench.store).expect("a test")
}

fn reversals(found: &DirectionSummary) -> u64 {
    let flows = found.receiver.per_flow.iter();
    flows.map(|flow| flow.counts.reversals).sum()
}

#[test]
fn two_buckets_pass_the_larger_bucket_and_the_lower_rate() {
    let policer = Middlebox::TwoBuckets {
        committed: Bucket {
            rate: 1e8,
            burst: 1e8,
        },
        peak: Bucket {
            rate: 2e8,
            burst: 4e6,
        },
    };
    let truth = behind(policer, &flows(400_000_000, 1));
    let found = forward(&truth);
    // In 3 s: a bucket of 100 Mbit, and 100 Mbit/s.
    let passed = found.received as f64 * (1400.0 + HEADERS) * 8.0;
    assert!((passed / 4e8 - 1.0).abs() < 0.02, "{passed}");
    assert_eq!(truth.middlebox_losses, found.lost);
    // Each of eight flows needs half of the lower rate.
    assert_eq!(forward(&behind(policer, &flows(400_000_000, 8))).lost, 0);
}

#[test]
fn periodic_loss_takes_its_share_of_the_time() {
    let periodic = Middlebox::Periodic {
        period_ns: 1_000_000_000,
        lasts_ns: 250_000_000,
        loss: 0.4,
    };
    let truth = behind(periodic, &flows(100_000_000, 8));
    // A quarter of the time 40 %: a tenth, of some 26,800 packets, to five standard deviations and one burst.
    assert!(
        (forward(&truth).loss - 0.1).abs() < 0.015,
        "{}",
        forward(&truth).loss
    );
}

#[test]
fn content_decides_exactly_which_packets_are_lost() {
    let content = Middlebox::Content {
        mask: 0x1f,
        value: 0xe3,
    };
    let truth = behind(content, &flows(100_000_000, 8));
    let found = forward(&truth);
    assert_eq!(found.lost, (found.sent + 28) / 32);
    assert_eq!(
        found.receiver.burst_lengths.keys().copied().collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn a_replay_window_turns_reordering_into_loss() {
    let found = |window| {
        let replay = Middlebox::ReplayWindow {
            delayed: 0.01,
            delay_ns: 1e6,
            window,
        };
        let truth = behind(replay, &flows(100_000_000, 1));
        let found = forward(&truth);
        (found.lost, reversals(found))
    };
    let (lost, reordered) = found(0);
    assert!(lost > 50 && reordered == 0, "{lost} {reordered}");
    let (lost, reordered) = found(100_000);
    assert!(lost == 0 && reordered > 50, "{lost} {reordered}");
}

#[test]
fn a_slow_path_loses_only_the_beginning_of_a_flow() {
    let slow = Middlebox::SlowPath {
        lasts_ns: 500_000_000,
        rate: 1_000,
    };
    let found = behind(slow, &flows(100_000_000, 1));
    let found = forward(&found);
    // A sixth of the packets, without 500 to 510 that pass and two bursts more or less.
    let expected = found.sent as f64 / 6.0 - 505.0;
    assert!(
        (found.lost as f64 - expected).abs() < 400.0,
        "{} {expected}",
        found.lost
    );
}

#[test]
fn a_radio_link_delays_and_keeps_the_order() {
    let radio = Middlebox::Radio {
        median_ns: 1e6,
        sigma: 0.5,
    };
    let truth = behind(radio, &flows(100_000_000, 4));
    let found = forward(&truth);
    assert_eq!((found.lost, reversals(found)), (0, 0));
    // The route's 100 us and half of the radio's millisecond at least.
    assert!(found.receiver.owd.p50 > 600_000, "{:?}", found.receiver.owd);
}
