//! What a diagnosis reports of a network whose hosts drop packets, too: those that never reached it, and those that came out of it.

use weir_diagnose::{Diagnosis, Finding, FindingName, diagnose};
use weir_link::{FlowRateCap, LinkSpec, LongPacketLoss, LossSpec, PacketRateCap, RouteSpec};
use weir_simulate::HostModel;

use crate::paths::{link, route};
use crate::surveys::{surveyed_between, the};

/// Its application stalls so often, for longer than its buffers last at 300 Mbit/s.
fn stalls(per_second: f64) -> HostModel {
    HostModel {
        receive_buffer: 425_984,
        stalls_per_second: per_second,
        stall_mean_ns: 120e6,
        ..HostModel::default()
    }
}

/// It drops 3 % of the trains of packets that it sends.
fn drops_trains() -> HostModel {
    HostModel {
        send_drop: 0.03,
        ..HostModel::default()
    }
}

fn diagnosed(near: &HostModel, far: &HostModel, link: &LinkSpec) -> Diagnosis {
    let (_, measured) = surveyed_between(near, far, link, 300_000_000);
    diagnose(&measured)
}

/// Packets per second are held at this.
fn capped(rate: u64, burst: u64) -> LinkSpec {
    let mut link = link(vec![route()]);
    link.forward.mtu.bytes = 1500;
    link.forward.packet_rate = Some(PacketRateCap { rate, burst });
    link
}

fn lossy(loss: f64) -> LinkSpec {
    link(vec![RouteSpec {
        loss: vec![LossSpec::Bernoulli(loss)],
        ..route()
    }])
}

#[test]
fn what_the_sending_host_drops_never_met_a_cap() {
    let link = capped(5_000, 500);
    let diagnosis = diagnosed(&drops_trains(), &HostModel::default(), &link);
    let cap = the(&diagnosis, FindingName::PacketRateCap);
    let held = cap.evidence[0].value.as_f64().expect("packets per second");
    assert!((held / 5_000.0 - 1.0).abs() < 0.05, "{cap:#?}");
    the(&diagnosis, FindingName::HostLoss);
}

#[test]
fn nobody_knows_in_which_seconds_a_stalled_receiver_dropped_what_a_cap_let_through() {
    let link = capped(18_000, 2_000);
    let diagnosis = diagnosed(&HostModel::default(), &stalls(1.0), &link);
    let cap = the(&diagnosis, FindingName::PacketRateCap);
    let held = cap.evidence[0].value.as_f64().expect("packets per second");
    assert!((held / 18_000.0 - 1.0).abs() < 0.06, "{cap:#?}");
}

#[test]
fn runs_that_a_stalled_receiver_drops_are_no_bursts_of_the_network() {
    let diagnosis = diagnosed(&HostModel::default(), &stalls(4.0), &lossy(0.002));
    the(&diagnosis, FindingName::HostLoss);
    let process = the(&diagnosis, FindingName::LossProcess);
    assert!(process.sentence.contains("one by one"), "{process:#?}");
}

#[test]
fn dark_times_of_a_stalled_receiver_are_its_own_and_the_rest_is_the_network_s() {
    let far = stalls(1.0);
    let (_, measured) = surveyed_between(&HostModel::default(), &far, &lossy(0.01), 500_000_000);
    let diagnosis = diagnose(&measured);
    let process = the(&diagnosis, FindingName::LossProcess);
    assert!(process.sentence.contains("one by one"), "{process:#?}");
    // A test of one flow, which went dark with the receiver, lost as many of the rest as those of several.
    let grows = |finding: &&Finding| finding.name == FindingName::FiveTupleIgnored;
    assert_eq!(diagnosis.findings.iter().find(grows), None);
}

#[test]
fn long_packets_lose_beside_runs_that_a_stalled_receiver_drops() {
    let mut link = link(vec![route()]);
    link.forward.long_packet_loss = Some(LongPacketLoss {
        above: 1450,
        loss: 0.1,
    });
    let diagnosis = diagnosed(&HostModel::default(), &stalls(4.0), &link);
    let cliff = the(&diagnosis, FindingName::PayloadCliff);
    assert!(cliff.sentence.contains("those of 1400 and less"), "{cliff:#?}");
}

#[test]
fn a_loss_that_grows_with_the_flows_shows_where_a_host_drops_most_of_one_flow() {
    let far = HostModel {
        receive_drop: 0.004,
        ..HostModel::default()
    };
    let mut link = link(vec![route()]);
    link.forward.extra_flow_loss = 0.0005;
    let diagnosis = diagnosed(&HostModel::default(), &far, &link);
    the(&diagnosis, FindingName::FiveTupleIgnored);
}

#[test]
fn trains_that_the_sending_host_drops_are_no_routes_of_flows() {
    let mut link = link(vec![route()]);
    link.forward.long_packet_loss = Some(LongPacketLoss {
        above: 1450,
        loss: 0.004,
    });
    link.forward.flow_rate = Some(FlowRateCap {
        rate: 60_000_000,
        burst: 500_000,
    });
    let diagnosis = diagnosed(&drops_trains(), &HostModel::default(), &link);
    the(&diagnosis, FindingName::PayloadCliff);
    the(&diagnosis, FindingName::FlowRateCap);
}
