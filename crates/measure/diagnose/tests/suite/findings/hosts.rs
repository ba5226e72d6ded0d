//! Loss on hosts, senders that were late, and packets that overtook others.

use serde_json::json;
use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};
use weir_measure::flows::{BothEnds, ReceiverReport, SenderReport};
use weir_measure::{ClockEstimate, host_second};
use weir_net::counters::HostCounters;
use weir_results::{Direction, Record, Side};
use weir_stats::{Counters, SendCounts};

use super::sample::{
    assert_near, assert_says, clean, dark, lose_every, lose_randomly, losing, named, number, of_tests, the,
    timed, value, warns,
};

#[test]
fn drops_of_sockets_and_hosts_are_told_from_the_networks() {
    let mut test = losing(clean(8, 1000, 8_000), 0..8, 100);
    // 240 packets are lost; of a run that was cut off there are the counters alone.
    assert_eq!(test.lost, 240);
    test.flows[2].counts.socket_drops = 150;
    test.receiving_host.counts.softnet_dropped = 40;
    let found = the(&of_tests(vec![test]), FindingName::HostLoss);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "packets lost at the socket"), 150.0);
    assert_eq!(number(&found, "packets lost on the receiving host"), 40.0);
    assert_says(&found.sentence, "190 of 240");
    assert_says(&found.action, "rmem_max");
}

#[test]
fn loss_that_no_host_counts_is_the_networks() {
    let mut test = clean(8, 1000, 8_000);
    lose_every(&mut test, 1, 100);
    assert_eq!(named(&of_tests(vec![test]), FindingName::HostLoss), []);
}

/// Where hosts dropped most of it, what the loss looks like says little of the network.
#[test]
fn loss_on_hosts_makes_what_is_said_of_the_network_less_sure() {
    let mut test = clean(8, 1000, 8_000);
    (0..8).for_each(|flow| lose_randomly(&mut test, flow, 0.01));
    let sure = the(&of_tests(vec![test.clone()]), FindingName::LossProcess).confidence;
    test.flows[2].counts.socket_drops = 180;
    let unsure = the(&of_tests(vec![test]), FindingName::LossProcess).confidence;
    assert_eq!(unsure.level, sure.level, "the packets are lost all the same");
    let (sure, unsure) = (sure.cause.expect("a cause"), unsure.cause.expect("a cause"));
    assert!(unsure.level < sure.level.map(|level| 0.5 * level), "{unsure:?}");
    assert_says(&unsure.because, "hosts dropped");
}

/// What hosts dropped beside a dark time is all that was lost there, though it is a small part of all.
#[test]
fn loss_on_hosts_beside_a_dark_time_is_not_the_networks() {
    let mut test = dark(clean(8, 1000, 8_000), 0..8, 1_000, 400);
    (0..8).for_each(|flow| lose_randomly(&mut test, flow, 0.01));
    let by_hosts = test.lost - 8 * 400;
    let ends = BothEnds::new(test.plan.clone(), ClockEstimate::default());
    let (sender, receiver) = (SenderReport::default(), ReceiverReport::default());
    let mut summary = ends.summary(Direction::Forward, sender, receiver, ClockEstimate::default());
    summary.attribution.host_sender = by_hosts;
    summary.attribution.network = 8 * 400;
    assert!(by_hosts > 100 && by_hosts < 8 * 400 / 5);
    test.summary = Some(summary);
    let measured = of_tests(vec![test]);
    the(&measured, FindingName::Outage);
    assert!(!warns(&measured, FindingName::LossProcess));
}

#[test]
fn a_sender_that_is_late_or_short_of_room_is_told() {
    let on_time = clean(8, 1000, 8_000);
    assert_eq!(
        named(&of_tests(vec![on_time.clone()]), FindingName::LateSender),
        []
    );
    let mut late = on_time.clone();
    late.sender.schedule_p99_ns = 7_000_000;
    let found = the(&of_tests(vec![on_time.clone(), late]), FindingName::LateSender);
    assert_eq!(found.severity, Severity::Notice);
    assert_says(&found.sentence, "7.00 ms");
    let mut refused = on_time.clone();
    refused.sender.refused = 12;
    assert_eq!(
        number(
            &the(&of_tests(vec![refused]), FindingName::LateSender),
            "packets refused"
        ),
        12.0
    );
    // 23,000 of 24,000: less than 99 %.
    let mut slow = on_time;
    slow.sender.sent = 23_000;
    assert_says(
        &the(&of_tests(vec![slow]), FindingName::LateSender).sentence,
        "95.8",
    );
}

#[test]
fn many_reversals_are_the_networks_and_few_a_hosts() {
    let mut test = clean(4, 1000, 8_000);
    assert_eq!(named(&of_tests(vec![test.clone()]), FindingName::Reversals), []);
    test.flows[1].counts.reversals = 5;
    let few = the(&of_tests(vec![test.clone()]), FindingName::Reversals);
    assert_eq!(few.severity, Severity::Information);
    assert_eq!(value(&few, "reversals"), json!([0, 5, 0, 0]));
    // 240 of 24,000 packets: 1 %.
    for flow in &mut test.flows {
        flow.counts.reversals = 60;
    }
    let many = the(&of_tests(vec![test]), FindingName::Reversals);
    assert_eq!(many.severity, Severity::Notice);
    assert_eq!(number(&many, "share of packets"), 0.01);
    assert_says(&many.sentence, "paths of different delay");
}

/// `ethtool -S` once a second, and the number of packets that the host dropped meanwhile: tests/data/ena_statistics.py.
const RECORDED: &str = include_str!("../../data/ena_statistics.txt");

/// The recording as the driver would have answered, one list a second.
fn recorded() -> Vec<Vec<(String, u64)>> {
    let statistic = |line: &str| {
        let (name, value) = line.trim().split_once(": ")?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    // Each ends with an empty line.
    let answers = RECORDED.split("NIC statistics:").skip(1);
    let answers = answers.filter_map(|answer| answer.split("\n\n").next());
    answers
        .map(|answer| answer.lines().filter_map(statistic).collect())
        .collect()
}

/// A test of ten seconds whose receiver is throttled as recorded, while the network loses one packet in a hundred.
fn throttled() -> (FlowTest, u64, u64) {
    let by_host: u64 = RECORDED
        .trim_end()
        .rsplit(' ')
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap();
    let by_network = 2_400;
    let mut test = timed(8, 1000, 24_000, 10);
    assert_eq!(test.sent, 240_000);
    let mut ends = BothEnds::new(test.plan.clone(), ClockEstimate::default());
    let mut before: Option<HostCounters> = None;
    for statistics in recorded() {
        let mut now = HostCounters::default();
        now.add_statistics(&statistics);
        if let Some(before) = &before {
            let second = host_second(Side::Remote, &now.since(before));
            test.receiving_host.seconds += 1;
            test.receiving_host.counts.add(&second.counts);
            ends.correct(&mut Record::HostSecond(second), ClockEstimate::default());
        }
        before = Some(now);
    }
    assert_eq!(test.receiving_host.seconds, 10);
    let sent = SendCounts {
        sent: test.sent,
        ..SendCounts::default()
    };
    let sender = SenderReport {
        counts: sent,
        ..SenderReport::default()
    };
    test.lost = by_host + by_network;
    test.received = test.sent - test.lost;
    let receiver = ReceiverReport {
        lost: test.lost,
        received: test.received,
        ..ReceiverReport::default()
    };
    test.summary = Some(ends.summary(Direction::Forward, sender, receiver, ClockEstimate::default()));
    (test, by_host, by_network)
}

#[test]
fn what_a_hypervisor_throttles_is_told_from_the_networks_loss() {
    let (test, by_host, by_network) = throttled();
    let split = test.summary.as_ref().unwrap().attribution;
    assert_near(split.host_receiver as f64, by_host as f64, 0.1);
    assert_near(split.network as f64, by_network as f64, 0.1);
    assert_eq!(
        (split.socket, split.host_sender, split.overclaimed),
        (0, 0, false)
    );
    let measured = of_tests(vec![test]);
    let found = the(&measured, FindingName::HostLoss);
    assert_near(
        number(&found, "packets lost on the receiving host"),
        by_host as f64,
        0.1,
    );
    assert_says(&found.action, "allowance-exceeded");
    let found = the(&measured, FindingName::AllowanceExceeded);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "inbound bandwidth"), by_host as f64);
    assert_eq!(found.evidence.len(), 2, "{:?}", found.evidence);
    assert_says(
        &found.sentence,
        "of the agent's host was exceeded: inbound bandwidth",
    );
    assert_says(&found.query, "sum(bw_in_allowance_exceeded)");
    assert_eq!(named(&measured, FindingName::ReceiveQueueFull), []);
}

#[test]
fn full_receive_queues_and_stolen_time_are_told() {
    let mut test = clean(8, 1000, 8_000);
    test.receiving_host.seconds = 3;
    test.receiving_host.stolen_core_seconds = 0.14;
    assert_eq!(named(&of_tests(vec![test.clone()]), FindingName::CpuStolen), []);
    // 0.16 s of a core in 3 s are more than 5 %.
    test.receiving_host.stolen_core_seconds = 0.16;
    test.receiving_host.counts.driver_rx_ring_empty = 2;
    let found = the(&of_tests(vec![test.clone()]), FindingName::ReceiveQueueFull);
    assert_eq!(found.severity, Severity::Notice);
    assert_says(&found.brief, "ran empty 2 times");
    test.receiving_host.counts.driver_rx_dropped = 24;
    let measured = of_tests(vec![test]);
    let found = the(&measured, FindingName::ReceiveQueueFull);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "receive drops of the driver"), 24.0);
    assert_says(
        &the(&measured, FindingName::CpuStolen).sentence,
        "of a core of the agent's host",
    );
}

#[test]
fn one_core_that_receives_for_all_queues_is_told_and_a_spread_or_an_idle_one_is_not() {
    let measured = |flows: u16, all: f64, most: f64, queues: Option<u64>| {
        let mut test = clean(flows, 1000, 8_000);
        test.receiving_host.seconds = 10;
        test.receiving_host.softirq_core_seconds = all * 10.0;
        test.receiving_host.softirq_most_core_seconds = most * 10.0;
        let mut measured = of_tests(vec![test]);
        measured.remote.cores = Some(8);
        measured.remote.queues = queues;
        measured
    };
    let found = the(&measured(8, 0.62, 0.61, Some(4)), FindingName::OneCore);
    assert_eq!(found.severity, Severity::Notice);
    assert_says(
        &found.sentence,
        "one core of the agent's host received the packets of all 4 queues",
    );
    assert_says(&found.sentence, "61 % of its time");
    let full = the(&measured(8, 0.97, 0.96, Some(4)), FindingName::OneCore);
    assert_eq!(full.severity, Severity::Fault);
    for (flows, all, most, queues) in [
        // Two cores share it; next to no work; one queue; unknown queues; flows that one queue may well have.
        (8, 0.62, 0.40, Some(4)),
        (8, 0.05, 0.05, Some(4)),
        (8, 0.62, 0.61, Some(1)),
        (8, 0.62, 0.61, None),
        (2, 0.62, 0.61, Some(4)),
    ] {
        assert_eq!(
            named(&measured(flows, all, most, queues), FindingName::OneCore),
            []
        );
    }
}
