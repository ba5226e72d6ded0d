//! Routes, and loss that differs between them.

use serde_json::json;
use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};

use super::sample::{
    assert_says, clean, dark, delay, lose, losing, named, number, of_tests, the, value, warns,
};

/// 8 flows of which 1, 3, 4 and 6 take 60 us longer; delays wander by some microseconds from second to second.
fn two_routes(per_second: u64) -> FlowTest {
    let mut test = clean(8, 8000, per_second);
    for flow in [1, 3, 4, 6] {
        delay(&mut test, flow, 60_000);
    }
    wander(&mut test, 2_000);
    test
}

fn wander(test: &mut FlowTest, by: i64) {
    for (index, slot) in test.slots.iter_mut().enumerate() {
        if let Some(delay) = &mut slot.delay {
            let up = (index as i64 * 7) % 5 - 2;
            delay.min += up * by;
            delay.p50 += up * by;
        }
    }
}

#[test]
fn two_delay_levels_are_two_routes_with_their_flows() {
    let found = the(&of_tests(vec![two_routes(8_000)]), FindingName::Routes);
    assert_eq!(number(&found, "routes"), 2.0);
    assert_eq!(
        value(&found, "route of each flow"),
        json!(["A", "B", "A", "B", "B", "A", "B", "A"])
    );
    let levels = value(&found, "delay above route A");
    let longer = levels[1].as_f64().unwrap();
    assert!(
        levels[0] == 0.0 && (54_000.0..66_000.0).contains(&longer),
        "{levels}"
    );
    assert_eq!(found.severity, Severity::Information);
    assert_says(
        &found.sentence,
        "flows 1, 3, 4 and 6 (ports 5001, 5003, 5004 and 5006)",
    );
}

/// A card that gathers packets for an interrupt lets a few through early, and may do so for the same flow each second.
#[test]
fn a_few_early_packets_of_a_flow_are_no_shorter_route() {
    let mut test = clean(8, 8000, 8_000);
    for slot in test.slots.iter_mut().filter(|slot| slot.flow == 5) {
        if let Some(delay) = &mut slot.delay {
            delay.min -= 30_000;
        }
    }
    let found = the(&of_tests(vec![test]), FindingName::Routes);
    assert_eq!(number(&found, "routes"), 1.0);
}

#[test]
fn equal_delays_and_differences_within_the_noise_are_one_route() {
    let routes = |test: FlowTest| number(&the(&of_tests(vec![test]), FindingName::Routes), "routes");
    assert_eq!(routes(clean(8, 8000, 8_000)), 1.0);
    // 60 us between levels, but each flow wanders by as much.
    let mut noisy = two_routes(8_000);
    wander(&mut noisy, 40_000);
    assert_eq!(routes(noisy), 1.0);
    // 6 us is less than hosts differ by.
    let mut near = clean(8, 8000, 8_000);
    delay(&mut near, 5, 6_000);
    assert_eq!(routes(near), 1.0);
    // A sender's burst takes 400 us: of 8 flows, each has 50 us of it, and being second makes 50 us.
    let mut turns = two_routes(8_000);
    for slot in &mut turns.slots {
        if let Some(delay) = &mut slot.delay {
            delay.p50 = delay.min + 200_000;
        }
    }
    assert_eq!(routes(turns), 1.0);
}

#[test]
fn flows_that_were_dark_together_share_a_route() {
    let test = dark(clean(8, 1000, 8_000), [0, 7], 1_000, 500);
    let found = the(&of_tests(vec![test]), FindingName::Routes);
    assert_eq!(
        value(&found, "route of each flow"),
        json!(["B", "A", "A", "A", "A", "A", "A", "B"])
    );
}

/// 8 lost packets, all on the four flows of the slower route: chance does that in 1 of 256 tests.
#[test]
fn a_handful_of_losses_on_the_slower_route_is_told() {
    let mut test = two_routes(8_000);
    for (index, flow) in [1, 3, 4, 6, 1, 3, 4, 6].into_iter().enumerate() {
        lose(&mut test, flow, 100 + 300 * index as u64, 1);
    }
    let found = the(&of_tests(vec![test]), FindingName::RouteLoss);
    assert_eq!(found.severity, Severity::Notice);
    assert!(
        found.sentence.starts_with("two routes, loss on one"),
        "{}",
        found.sentence
    );
    assert_eq!(value(&found, "packets lost on each route"), json!([0, 8]));
    assert_eq!(
        value(&found, "packets sent on each route"),
        json!([12_000, 12_000])
    );
    assert_eq!(value(&found, "packets lost"), json!([0, 2, 0, 2, 2, 0, 2, 0]));
    assert!(
        (found.confidence.p_value.unwrap() - 1.0 / 256.0).abs() < 1e-9,
        "{:?}",
        found.confidence
    );
}

#[test]
fn three_losses_are_too_few_and_say_so() {
    let mut test = two_routes(8_000);
    for flow in [1, 3, 4] {
        lose(&mut test, flow, 500, 1);
    }
    let found = the(&of_tests(vec![test]), FindingName::RouteLoss);
    assert_eq!(found.severity, Severity::Information);
    assert_says(&found.sentence, "too few");
}

/// Two tests with other ports: in the second, flows 0 and 5 take the longer route.
#[test]
fn routes_are_the_same_by_their_distance_in_all_tests() {
    let mut second = clean(8, 8000, 8_000);
    for flow in [0, 5] {
        delay(&mut second, flow, 60_000);
    }
    wander(&mut second, 2_000);
    let mut first = two_routes(8_000);
    for (index, flow) in [1, 3, 4, 6].into_iter().enumerate() {
        lose(&mut first, flow, 100 + 300 * index as u64, 1);
    }
    for (index, flow) in [0, 5, 0, 5].into_iter().enumerate() {
        lose(&mut second, flow, 100 + 300 * index as u64, 1);
    }
    let found = the(&of_tests(vec![first, second]), FindingName::RouteLoss);
    assert_eq!(value(&found, "packets lost on each route"), json!([0, 8]));
    // 12,000 and 18,000 of the faster one, 12,000 and 6,000 of the slower.
    assert_eq!(
        value(&found, "packets sent on each route"),
        json!([30_000, 18_000])
    );
    assert!(found.severity > Severity::Information);
}

/// No delay tells the routes apart, but flows 2 and 5 lose 1 % and the others nothing.
#[test]
fn loss_of_some_flows_alone_is_told_by_flow() {
    let test = losing(clean(8, 1000, 8_000), [2, 5], 100);
    let measured = of_tests(vec![test]);
    let found = the(&measured, FindingName::RouteLoss);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(value(&found, "packets lost on each route"), json!([0, 60]));
    assert_says(&found.sentence, "flows 2 and 5 (route B)");
    assert_eq!(number(&the(&measured, FindingName::Routes), "routes"), 2.0);
}

#[test]
fn equal_loss_on_all_flows_is_no_route_loss() {
    let test = losing(clean(8, 1000, 8_000), 0..8, 100);
    let measured = of_tests(vec![test]);
    assert!(!warns(&measured, FindingName::RouteLoss));
    assert_eq!(named(&measured, FindingName::RouteLoss), []);
}

/// A single flow's one burst of 30 packets is one event, which says nothing about its route.
#[test]
fn one_burst_is_one_event() {
    let test = dark(clean(8, 1000, 8_000), [2], 1_000, 30);
    assert_eq!(named(&of_tests(vec![test]), FindingName::RouteLoss), []);
}
