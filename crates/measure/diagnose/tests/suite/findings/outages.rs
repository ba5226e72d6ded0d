//! Flows that were dark.

use serde_json::json;
use weir_diagnose::{FindingName, Severity};

use super::sample::{SECOND, START, assert_says, clean, dark, lose, named, number, of_tests, the, value};

/// 8 flows of 1,000 packets a second each: 700 packets are 0.7 s.
#[test]
fn one_flow_dark_is_told_with_its_start_and_length() {
    let test = dark(clean(8, 1000, 8_000), [3], 900, 700);
    let found = the(&of_tests(vec![test]), FindingName::Outage);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(value(&found, "dark"), "one flow");
    assert_eq!(value(&found, "flow"), json!([3]));
    assert_eq!(value(&found, "packets lost in a row"), json!([700]));
    // From the packet before the first lost one to the packet after the last.
    assert_eq!(number(&found, "began"), (START + 899_000_000) as f64);
    assert_eq!(number(&found, "lasted"), 701e6);
    assert_says(&found.sentence, "flow 3 (port 5003)");
    assert_says(&found.sentence, "701 ms");
    assert!(found.confidence.p_value.is_some_and(|p_value| p_value < 1e-9));
}

#[test]
fn flows_dark_together_are_one_outage_and_all_of_them_another_kind() {
    let several = dark(clean(8, 1000, 8_000), [1, 4, 6], 1_000, 400);
    let found = the(&of_tests(vec![several]), FindingName::Outage);
    assert_eq!(value(&found, "dark"), "several flows");
    assert_eq!(value(&found, "flow"), json!([1, 4, 6]));
    assert_says(&found.action, "37.5 %");

    let all = dark(clean(4, 1000, 8_000), 0..4, 1_000, 1_000);
    let found = the(&of_tests(vec![all]), FindingName::Outage);
    assert_eq!(value(&found, "dark"), "all flows");
    assert_says(&found.sentence, "all 4 flows");
}

/// The second test is at half the rate of the first, and stands for nothing else.
#[test]
fn a_slower_test_of_the_same_flows_is_looked_at_for_outages_too() {
    let slower = dark(clean(8, 1000, 4_000), [3], 450, 350);
    let found = the(
        &of_tests(vec![clean(8, 1000, 8_000), slower]),
        FindingName::Outage,
    );
    assert_eq!(value(&found, "flow"), json!([3]));
    assert_eq!(number(&found, "lasted"), 702e6);
}

#[test]
fn outages_at_different_times_are_different() {
    let mut test = clean(8, 1000, 8_000);
    lose(&mut test, 2, 300, 300);
    lose(&mut test, 5, 2_000, 300);
    assert_eq!(named(&of_tests(vec![test]), FindingName::Outage).len(), 2);
}

#[test]
fn flows_that_are_dark_one_after_the_other_for_less_than_a_burst_are_none() {
    let dark_in_turn = |length: u64| {
        let mut test = clean(8, 1000, 8_000);
        test.plan.burst = Some(128);
        for (flow, first) in [(2, 300), (5, 1_100), (7, 2_000)] {
            lose(&mut test, flow, first, length);
        }
        named(&of_tests(vec![test]), FindingName::Outage).len()
    };
    // 250 packets of 1,000 a second are no rhythm of bursts of 128.
    assert_eq!((dark_in_turn(110), dark_in_turn(250)), (0, 3));
}

#[test]
fn short_bursts_few_packets_and_hosts_that_stand_still_are_none() {
    // 60 packets of 1,000 a second: 60 ms.
    let short = dark(clean(8, 1000, 8_000), [3], 900, 60);
    assert_eq!(named(&of_tests(vec![short]), FindingName::Outage), []);
    // 10 packets of 20 a second are half a second, and ten packets.
    let few = dark(clean(8, 1000, 160), [3], 20, 10);
    assert_eq!(named(&of_tests(vec![few]), FindingName::Outage), []);
    // Half of everything is lost: a run of 100 is still none that chance makes in 3,000 packets, but one of 20 is near.
    let mut lossy = clean(1, 1000, 100);
    for first in (0..260).step_by(2) {
        lose(&mut lossy, 0, first, 1);
    }
    lose(&mut lossy, 0, 270, 20);
    assert_eq!(named(&of_tests(vec![lossy]), FindingName::Outage), []);
}

#[test]
fn a_flow_that_never_delivers_is_dark_from_the_start() {
    let test = dark(clean(4, 1000, 4_000), [2], 0, 3_000);
    let found = the(&of_tests(vec![test]), FindingName::Outage);
    assert_eq!(value(&found, "flow"), json!([2]));
    assert!(number(&found, "lasted") >= 3.0 * SECOND as f64);
}
