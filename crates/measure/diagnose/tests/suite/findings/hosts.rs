//! Loss on hosts, senders that were late, and packets that overtook others.

use serde_json::json;
use weir_diagnose::{FindingName, Severity};

use super::sample::{assert_says, clean, lose_every, losing, named, number, of_tests, the, value};

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
    let mut test = losing(clean(8, 1000, 8_000), 0..8, 100);
    let sure = the(&of_tests(vec![test.clone()]), FindingName::LossProcess).confidence;
    test.flows[2].counts.socket_drops = 180;
    let unsure = the(&of_tests(vec![test]), FindingName::LossProcess).confidence;
    assert_eq!(unsure.level, sure.level, "the packets are lost all the same");
    let (sure, unsure) = (sure.cause.expect("a cause"), unsure.cause.expect("a cause"));
    assert!(unsure.level < sure.level.map(|level| 0.5 * level), "{unsure:?}");
    assert_says(&unsure.because, "hosts dropped");
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
