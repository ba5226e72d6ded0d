//! What limits the stream: caps on flows, packets and hosts, and full paths; and loss that only looks like it.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};
use weir_results::StreamBurst;

use super::sample::{
    START, assert_near, assert_says, clean, diagnosed, lose_every, lose_randomly, losing, named, number,
    of_tests, the, value,
};

const LIMITS: [FindingName; 4] = [
    FindingName::FlowRateCap,
    FindingName::PacketRateCap,
    FindingName::Congestion,
    FindingName::FiveTupleIgnored,
];

/// Loses the same part of every frame of a test, its last packets, so that a share `passed` is left: what a token bucket
/// does to a steady stream.
fn hold(test: &mut FlowTest, passed: f64) {
    let frame = u64::from(test.plan.format.bytes_per_frame.div_ceil(test.payload));
    let keep = (frame as f64 * passed).round() as u64;
    let frames = test.sent / frame;
    let lost = (frame - keep) * frames;
    for number in 0..frames {
        test.stream_bursts.push(StreamBurst {
            unix_ns: START + number * (test.active_ns / frames),
            first_sequence: number * frame + keep,
            length: frame - keep,
        });
    }
    let share = lost as f64 / test.sent as f64;
    for slot in &mut test.slots {
        slot.lost = (slot.received as f64 * share).round() as u64;
        slot.received -= slot.lost;
    }
    for flow in &mut test.flows {
        flow.counts.lost = (flow.sent as f64 * share).round() as u64;
        flow.counts.received = flow.sent - flow.counts.lost;
    }
    (test.lost, test.received) = (lost, test.sent - lost);
    test.bytes = test.received * u64::from(test.payload);
}

/// 80 Mbit/s of payload: 10,000 packets of 1,000 bytes a second.
fn flows(count: u16) -> FlowTest {
    clean(count, 1000, 10_000 / u64::from(count) * u64::from(count))
}

fn only(tests: Vec<FlowTest>, wanted: Option<FindingName>) {
    let found = diagnosed(&of_tests(tests)).findings;
    let limits: Vec<FindingName> = found
        .iter()
        .map(|finding| finding.name)
        .filter(|name| LIMITS.contains(name))
        .collect();
    assert_eq!(limits, wanted.into_iter().collect::<Vec<_>>(), "{found:#?}");
}

/// A cap of 30 Mbit/s on each flow: of 80, one flow passes 30, two 60, and four all.
fn capped_flows() -> Vec<FlowTest> {
    let mut tests = vec![flows(1), flows(2), flows(4), flows(8)];
    hold(&mut tests[0], 0.375);
    hold(&mut tests[1], 0.75);
    tests
}

#[test]
fn a_cap_on_each_flow_shows_in_the_rate_of_a_flow() {
    only(capped_flows(), Some(FindingName::FlowRateCap));
    let found = the(&of_tests(capped_flows()), FindingName::FlowRateCap);
    assert_eq!(found.severity, Severity::Fault);
    // 30 Mbit/s of payload is 30.84 with 28 bytes of headers for each 1,000.
    assert_near(number(&found, "held at"), 30.84e6, 0.01);
    // 80 Mbit/s over flows that use four fifths of 30.84: 3.2.
    assert_says(&found.action, "at least 4 flows");
}

/// What a policer lets through varies with the sender's bursts, here by 4 %; flows are swept with long payloads, of which
/// enough flows lose nothing.
#[test]
fn a_cap_that_is_held_roughly_is_one_and_no_loss_of_long_packets() {
    let long = |count: u16| clean(count, 1250, 8_000);
    let mut tests = vec![flows(8), long(1), long(2), long(4), long(8)];
    hold(&mut tests[1], 0.375);
    hold(&mut tests[2], 0.72);
    only(tests.clone(), Some(FindingName::FlowRateCap));
    assert_eq!(named(&of_tests(tests), FindingName::PayloadCliff), []);
}

/// On a radio link the delay of every test has another middle, and its smallest value is met by few packets.
#[test]
fn jitter_that_every_test_has_is_no_queue() {
    let test = |payload: u32, middle: i64, late: i64| {
        let mut test = clean(8, payload, 40_000);
        for slot in &mut test.slots {
            if let Some(delay) = &mut slot.delay {
                delay.p50 += middle;
                delay.min += if slot.slot > 0 { late } else { 0 };
            }
        }
        test
    };
    let mut long = test(1_400, 260_000, 100_000);
    (0..8).for_each(|flow| lose_randomly(&mut long, flow, 0.04));
    let tests = vec![test(1_200, 240_000, 20_000), test(1_300, 150_000, 5_000), long];
    only(tests.clone(), None);
    assert_eq!(named(&of_tests(tests), FindingName::PayloadCliff).len(), 1);
}

/// Where every test loses one in twenty at random, no test shows what delay is usual: the losses themselves are no queue's.
#[test]
fn random_loss_behind_a_card_that_gathers_packets_is_no_full_path() {
    let test = |payload: u32| {
        let mut test = clean(8, payload, 40_000);
        for slot in &mut test.slots {
            if let Some(delay) = &mut slot.delay {
                delay.p50 += 120_000;
                delay.min += if slot.slot > 0 { 90_000 } else { 0 };
            }
        }
        (0..8).for_each(|flow| lose_randomly(&mut test, flow, 0.05));
        test
    };
    only(vec![test(1_200), test(1_300), test(1_400)], None);
}

/// 80 Mbit/s need 10,000 packets of 1,000 bytes a second, 5,000 of 2,000, 2,500 of 4,000; 4,000 pass.
#[test]
fn a_cap_on_packets_shows_at_short_payloads() {
    let mut tests = vec![
        clean(8, 1000, 10_000),
        clean(8, 2000, 5_000 - 8),
        clean(8, 4000, 2_496),
        clean(2, 4000, 2_500),
    ];
    hold(&mut tests[0], 0.4);
    hold(&mut tests[1], 0.8013);
    only(tests.clone(), Some(FindingName::PacketRateCap));
    let found = the(&of_tests(tests), FindingName::PacketRateCap);
    assert_near(number(&found, "held at"), 4_000.0, 0.01);
    // 80 Mbit/s in 3,200 packets a second.
    assert_says(&found.action, "payloads of 31");
}

/// Every test is held at three quarters and packets wait 20 ms, as long as 200 packets take.
#[test]
fn a_full_path_shows_in_the_delay() {
    let mut tests: Vec<FlowTest> = [1, 2, 4, 8].into_iter().map(flows).collect();
    for test in &mut tests {
        hold(test, 0.75);
        for slot in test.slots.iter_mut().filter(|slot| slot.slot > 0) {
            if let Some(delay) = &mut slot.delay {
                (delay.min, delay.p50, delay.p99) = (15_000_000, 20_000_000, 21_000_000);
            }
        }
    }
    only(tests.clone(), Some(FindingName::Congestion));
    let found = the(&of_tests(tests), FindingName::Congestion);
    assert_near(number(&found, "held at"), 61.68e6, 0.01);
    assert_says(&found.sentence, "20.8 ms");
}

/// The same without a queue: nothing waits, and more flows change nothing.
#[test]
fn a_cap_on_all_flows_together_is_that_of_a_network_that_sees_one() {
    let mut tests: Vec<FlowTest> = [1, 2, 4, 8].into_iter().map(flows).collect();
    tests.iter_mut().for_each(|test| hold(test, 0.75));
    only(tests.clone(), Some(FindingName::FiveTupleIgnored));
    let found = the(&of_tests(tests), FindingName::FiveTupleIgnored);
    assert_near(number(&found, "held at"), 61.68e6, 0.01);
    // With one number of flows nobody can say that it changes nothing.
    let mut single = vec![flows(8)];
    hold(&mut single[0], 0.75);
    let found = the(&of_tests(single), FindingName::Congestion);
    assert_says(&found.sentence, "without a queue");
}

/// A quarter is lost at random everywhere: no limit loses so unevenly.
#[test]
fn random_loss_of_any_size_is_no_limit() {
    let mut tests: Vec<FlowTest> = [1, 2, 4, 8].into_iter().map(flows).collect();
    for (seed, test) in tests.iter_mut().enumerate() {
        let frame = u64::from(test.plan.format.bytes_per_frame.div_ceil(1000));
        hold(test, 0.75);
        test.stream_bursts.clear();
        // A linear congruential generator: a quarter of the packets, with the variance of chance.
        let mut state = seed as u64 + 1;
        for sequence in 0..test.sent / frame * frame {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if state >> 62 == 0 {
                test.stream_bursts.push(StreamBurst {
                    unix_ns: START,
                    first_sequence: sequence,
                    length: 1,
                });
            }
        }
    }
    only(tests, None);
}

/// Which share of the lost packets the findings explain, the most first, and which none does.
fn shares(tests: &[FlowTest]) -> (Vec<(FindingName, f64)>, f64) {
    let found = diagnosed(&of_tests(tests.to_vec()));
    let explained = found.explained.first().expect("an explanation");
    let lost: u64 = tests.iter().map(|test| test.lost).sum();
    assert_eq!(explained.lost, lost);
    let by = explained.by.iter().map(|part| (part.finding, part.share));
    (by.collect(), explained.unexplained)
}

/// The cap takes 62.5 and 25 % of two tests of four; of the others 1 in 100 is lost.
#[test]
fn lost_packets_are_shared_out_among_a_cap_and_what_all_tests_meet() {
    let (by, unexplained) = shares(&capped_flows());
    assert_eq!(by.len(), 1);
    assert_eq!(by[0].0, FindingName::FlowRateCap);
    assert!(unexplained < 0.01, "{unexplained}");

    let mut tests = capped_flows();
    tests[2] = losing(flows(4), 0..4, 100);
    tests[3] = losing(flows(8), 0..8, 100);
    let (by, unexplained) = shares(&tests);
    let names: Vec<FindingName> = by.iter().map(|part| part.0).collect();
    assert_eq!(names, [FindingName::FlowRateCap, FindingName::LossProcess]);
    let others =
        (tests[2].lost + tests[3].lost) as f64 / tests.iter().map(|test| test.lost).sum::<u64>() as f64;
    assert!((by[1].1 - others).abs() < 0.03, "{by:?}, of others {others}");
    assert!(unexplained < 0.02, "{unexplained}");
}

/// One of four equal tests loses a tenth, unevenly, the others nothing: nothing that was measured explains it.
#[test]
fn loss_that_comes_and_goes_is_unexplained_and_said_first() {
    let mut tests: Vec<FlowTest> = (0..4).map(|_| flows(8)).collect();
    (0..8).for_each(|flow| lose_randomly(&mut tests[1], flow, 0.1));
    let measured = of_tests(tests.clone());
    let (_, unexplained) = shares(&tests);
    assert!(unexplained > 0.5, "{unexplained}");
    let first = &diagnosed(&measured).findings[0];
    assert_eq!(
        (first.name, first.severity),
        (FindingName::UnexplainedLoss, Severity::Fault)
    );
    assert_says(&first.sentence, "8 flows with payloads of 1000 bytes");
    assert_says(&first.action, "--flows 8 --length 1000");
    assert_eq!(named(&of_tests(capped_flows()), FindingName::UnexplainedLoss), []);
}

#[test]
fn a_clean_sweep_and_one_route_with_a_little_loss_are_no_limit() {
    only([1, 2, 4, 8].into_iter().map(flows).collect(), None);
    only(all_losing(|_| 200), None);
}

/// Tests of 1 to 8 flows, each flow of which loses one packet of so many.
fn all_losing(every: impl Fn(u64) -> u64) -> Vec<FlowTest> {
    let of = |count: u16| losing(flows(count), 0..count, every(u64::from(count)));
    [1, 2, 4, 8].map(of).to_vec()
}

/// 0.1 % with one flow, and as much again for each further one, on all flows alike.
#[test]
fn loss_that_grows_with_flows_that_lose_alike_is_a_network_that_ignores_them() {
    let growing = all_losing(|flows| 1_000 / flows);
    let found = the(&of_tests(growing), FindingName::FiveTupleIgnored);
    assert_eq!(
        value(&found, "packets lost"),
        serde_json::json!([30, 60, 120, 240])
    );
    assert_eq!(value(&found, "flows"), serde_json::json!([1, 2, 4, 8]));
    assert!(found.action.starts_with("Use 1 flow"), "{}", found.action);
    assert!(found.confidence.p_value.unwrap() < 1e-9);
}

#[test]
fn loss_that_does_not_grow_or_falls_on_some_flows_is_none() {
    only(all_losing(|_| 500), None);
    // One route of two loses: one and two flows happened to miss it, and half of four and of eight met it.
    let mut routes: Vec<FlowTest> = [1, 2, 4, 8].into_iter().map(flows).collect();
    for (test, lossy) in [(2, vec![1, 3]), (3, vec![0, 2, 3, 7])] {
        for flow in lossy {
            lose_every(&mut routes[test], flow, 100);
        }
    }
    let measured = of_tests(routes);
    assert_eq!(named(&measured, FindingName::FiveTupleIgnored), []);
    assert!(named(&measured, FindingName::RouteLoss).len() == 1);
}
