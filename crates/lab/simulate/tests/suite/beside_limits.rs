//! What a diagnosis reports of loss that another cause hides: tests at lower rates, and those of lengths that pass, show it.

use weir_diagnose::{Diagnosis, Finding, FindingName, Severity};
use weir_link::{
    FlowRateCap, LinkSpec, LongPacketLoss, LossSpec, PacketRateCap, QueueSpec, RateSpec, RouteSpec,
};

use crate::paths::{link, route};
use crate::surveys::{surveyed, the};

/// Loss of packets above this many bytes of IP.
fn long_packets_lose(link: &mut LinkSpec, above: u32, loss: f64) {
    link.forward.long_packet_loss = Some(LongPacketLoss { above, loss });
}

fn lossy(loss: f64) -> RouteSpec {
    RouteSpec {
        loss: vec![LossSpec::Bernoulli(loss)],
        ..route()
    }
}

fn number(finding: &Finding, what: &str) -> f64 {
    let evidence = finding.evidence.iter().find(|one| one.what == what);
    let value = evidence.and_then(|one| one.value.as_f64());
    value.unwrap_or_else(|| panic!("no {what}: {finding:#?}"))
}

/// Shares of the lost packets that have an explanation.
fn is_all_explained(diagnosis: &Diagnosis) -> bool {
    diagnosis.explained.iter().all(|said| said.unexplained < 0.05)
}

#[test]
fn long_packets_lose_where_every_short_one_meets_a_cap_on_packets() {
    let mut link = link(vec![route()]);
    long_packets_lose(&mut link, 1450, 0.0155);
    link.forward.packet_rate = Some(PacketRateCap {
        rate: 30_000,
        burst: 1_000,
    });
    let (_, diagnosis) = surveyed(&link, 400_000_000);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    assert!(
        cliff.sentence.contains("those of 1400 and less 0 %"),
        "{cliff:#?}"
    );
    the(&diagnosis, FindingName::PacketRateCap);
    assert!(is_all_explained(&diagnosis), "{:#?}", diagnosis.explained);
}

#[test]
fn long_packets_lose_where_loss_grows_with_the_flows() {
    let mut link = link(vec![route()]);
    long_packets_lose(&mut link, 1450, 0.0055);
    link.forward.extra_flow_loss = 0.0007;
    let (_, diagnosis) = surveyed(&link, 1_000_000_000);
    the(&diagnosis, FindingName::PayloadCliff);
    the(&diagnosis, FindingName::FiveTupleIgnored);
    assert!(is_all_explained(&diagnosis), "{:#?}", diagnosis.explained);
}

#[test]
fn routes_lose_unequally_beside_what_long_packets_lose() {
    let mut link = link(vec![lossy(0.0005), route(), route()]);
    long_packets_lose(&mut link, 1450, 0.45);
    let (_, diagnosis) = surveyed(&link, 500_000_000);
    the(&diagnosis, FindingName::PayloadCliff);
    the(&diagnosis, FindingName::RouteLoss);
}

#[test]
fn what_few_long_packets_lose_shows_on_the_routes_that_lose_nothing_else() {
    let mut link = link(vec![lossy(0.05), route(), route(), route()]);
    long_packets_lose(&mut link, 1450, 0.012);
    let (_, diagnosis) = surveyed(&link, 300_000_000);
    the(&diagnosis, FindingName::PayloadCliff);
    the(&diagnosis, FindingName::RouteLoss);
    let of = |name: FindingName| {
        let parts = diagnosis.explained[0].by.iter();
        parts
            .filter(|part| part.finding == name)
            .map(|part| part.share)
            .sum::<f64>()
    };
    // One flow in four loses 5 %, eight tests in ten are of long packets.
    let (long, routes) = (of(FindingName::PayloadCliff), of(FindingName::RouteLoss));
    assert!(
        (0.25..0.65).contains(&long) && long + routes > 0.97,
        "{long}, {routes}"
    );
    let limits = [FindingName::FlowRateCap, FindingName::Congestion];
    let found =
        |finding: &&Finding| limits.contains(&finding.name) && finding.severity > Severity::Information;
    assert_eq!(diagnosis.findings.iter().find(found), None);
}

#[test]
fn short_bursts_of_two_lengths_tell_a_cap_on_packets_from_one_on_bits() {
    let mut link = link(vec![route()]);
    link.forward.mtu.bytes = 1500;
    link.forward.packet_rate = Some(PacketRateCap {
        rate: 50_000,
        burst: 30,
    });
    let (summary, diagnosis) = surveyed(&link, 1_000_000_000);
    assert!(summary.by_rate.iter().any(|row| row.length == 1200));
    let cap = the(&diagnosis, FindingName::PacketRateCap);
    let held = cap.evidence[0].value.as_f64().expect("packets per second");
    assert!((held / 50_000.0 - 1.0).abs() < 0.05, "{cap:#?}");
    // Of the long bursts of the sweeps half as much came through.
    let advice = diagnosis.recommendation.as_ref().expect("advice");
    let carried = 0.95 * 50_000.0 * 8.0 * f64::from(advice.payload);
    let next = diagnosis.answer.next.as_deref().expect("a next step");
    for said in [next, &advice.sentence] {
        let rate = said.split("lower the rate to less than ").nth(1);
        let rate = rate.and_then(|after| after.split(" Mbit/s").next()?.parse::<f64>().ok());
        let rate = 1e6 * rate.unwrap_or_else(|| panic!("no rate: {said}"));
        assert!(
            rate > carried && rate < 1.05 * carried,
            "{rate}, not {carried}: {said}"
        );
    }
}

#[test]
fn loss_below_a_full_path_is_not_its_queue_s() {
    let full = RouteSpec {
        rate: RateSpec::Fixed(410_000_000),
        queue: QueueSpec::Bytes(100_000),
        ..lossy(0.006)
    };
    let (_, diagnosis) = surveyed(&link(vec![full]), 500_000_000);
    the(&diagnosis, FindingName::Congestion);
    let process = the(&diagnosis, FindingName::LossProcess);
    let loss = number(process, "loss");
    assert!((loss / 0.006 - 1.0).abs() < 0.2, "{process:#?}");
}

#[test]
fn loss_just_below_a_cap_whose_bucket_holds_a_second_is_not_the_cap_s() {
    let mut link = link(vec![lossy(0.0022)]);
    link.forward.mtu.bytes = 4036;
    link.forward.packet_rate = Some(PacketRateCap {
        rate: 5_308,
        burst: 1_116,
    });
    let (_, diagnosis) = surveyed(&link, 211_000_000);
    the(&diagnosis, FindingName::PacketRateCap);
    let process = the(&diagnosis, FindingName::LossProcess);
    assert!(process.sentence.contains("one by one"), "{process:#?}");
}

#[test]
fn what_one_flow_alone_loses_between_bursts_is_a_cap_s_on_each_flow() {
    let bursty = RouteSpec {
        loss: vec![LossSpec::gilbert(0.0004, 0.04)],
        ..route()
    };
    let mut link = link(vec![bursty]);
    link.forward.flow_rate = Some(FlowRateCap {
        rate: 450_000_000,
        burst: 2_000_000,
    });
    let (_, diagnosis) = surveyed(&link, 500_000_000);
    let cap = the(&diagnosis, FindingName::FlowRateCap);
    let held = cap.evidence[0].value.as_f64().expect("a rate");
    assert!((held / 450e6 - 1.0).abs() < 0.05, "{cap:#?}");
    the(&diagnosis, FindingName::LossProcess);
    assert!(is_all_explained(&diagnosis), "{:#?}", diagnosis.explained);
}

#[test]
fn long_packets_lose_singly_beside_bursts() {
    let bursty = RouteSpec {
        loss: vec![LossSpec::gilbert(0.0001, 0.05)],
        ..route()
    };
    let mut link = link(vec![bursty]);
    long_packets_lose(&mut link, 4352, 0.008);
    let (_, diagnosis) = surveyed(&link, 500_000_000);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    assert!(cliff.sentence.contains("those of 3900 and less"), "{cliff:#?}");
}

#[test]
fn slow_tests_show_that_long_packets_lose_singly_where_all_others_fill_the_path() {
    let full = RouteSpec {
        rate: RateSpec::Fixed(260_000_000),
        queue: QueueSpec::Bytes(60_000),
        loss: vec![LossSpec::gilbert(0.0005, 0.1)],
        ..route()
    };
    let mut link = link(vec![full]);
    long_packets_lose(&mut link, 2304, 0.02);
    let (_, diagnosis) = surveyed(&link, 500_000_000);
    the(&diagnosis, FindingName::Congestion);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    let longest = number(cliff, "longest payload without that loss");
    let shortest = number(cliff, "shortest payload with it");
    assert!(longest <= 2_276.0 && shortest > 2_276.0, "{cliff:#?}");
}

#[test]
fn a_bucket_shorter_than_the_bursts_of_a_flow_is_a_cap_on_it() {
    let mut link = link(vec![lossy(0.001)]);
    link.forward.flow_rate = Some(FlowRateCap {
        rate: 200_000_000,
        burst: 25_000,
    });
    let (_, diagnosis) = surveyed(&link, 400_000_000);
    the(&diagnosis, FindingName::FlowRateCap);
    let long = |finding: &&Finding| finding.name == FindingName::PayloadCliff;
    assert_eq!(diagnosis.findings.iter().find(long), None);
    let process = the(&diagnosis, FindingName::LossProcess);
    assert!(process.sentence.contains("one by one"), "{process:#?}");
    let loss = number(process, "loss");
    assert!((loss / 0.001 - 1.0).abs() < 0.25, "{process:#?}");
}

#[test]
fn slow_tests_show_a_length_where_a_limit_takes_more_of_every_other() {
    let mut link = link(vec![route()]);
    link.forward.mtu.bytes = 1500;
    long_packets_lose(&mut link, 1440, 0.14);
    link.forward.flow_rate = Some(FlowRateCap {
        rate: 20_000_000,
        burst: 50_000,
    });
    let (summary, diagnosis) = surveyed(&link, 200_000_000);
    let slow = summary
        .by_rate
        .iter()
        .filter(|row| row.length == 1400 && row.loss < 0.01);
    assert_eq!(slow.count(), 1);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    assert!(cliff.sentence.contains("those of 1400 and less"), "{cliff:#?}");
    the(&diagnosis, FindingName::FlowRateCap);
    assert!(is_all_explained(&diagnosis), "{:#?}", diagnosis.explained);
}

#[test]
fn a_length_shows_where_only_the_shortest_payloads_meet_a_limit() {
    // Those of 3,900 bytes lose as many as the longest at any rate: no limit takes more of them.
    let mut link = link(vec![route()]);
    link.forward.routes = vec![lossy(0.0009)];
    link.forward.mtu.bytes = 4036;
    long_packets_lose(&mut link, 2361, 0.061);
    link.forward.packet_rate = Some(PacketRateCap {
        rate: 14_000,
        burst: 938,
    });
    let (_, diagnosis) = surveyed(&link, 212_000_000);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    let longest = number(cliff, "longest payload without that loss");
    assert!((2_293.0..=2_333.0).contains(&longest), "{cliff:#?}");
    the(&diagnosis, FindingName::PacketRateCap);
    assert!(is_all_explained(&diagnosis), "{:#?}", diagnosis.explained);
}
