//! Accounts of flows at managed queues.

use crate::rig::aimd::{Control, Segment, Sink, Sources};
use crate::rig::{fixed, link_over, offer, packet};
use weir_link::discrete::Network;
use weir_link::{
    CodelSpec, DirectionSpec, DisciplineSpec, DualPi2Spec, Ecn, FqCodelSpec, Link, LinkSpec, ManagedQueue,
    Nanos, PieSpec, QueueLimit, QueueSpec, RedSpec, RouteSpec,
};

const SECOND: u64 = 1_000_000_000;

fn managed(rate: u64, limit: QueueLimit, discipline: DisciplineSpec) -> RouteSpec {
    RouteSpec {
        queue: QueueSpec::Managed(ManagedQueue { limit, discipline }),
        ..fixed(rate)
    }
}

/// Packets of 1,000 bytes at 8 Mbit/s take 1 ms each, so that they wait for 0, 1, 2 and 3 ms; the fifth finds three waiting.
#[test]
fn each_flow_has_its_waiting_times_and_drops() {
    let route = managed(8_000_000, QueueLimit::Packets(3), DisciplineSpec::TailDrop);
    let mut link: Link<()> = link_over(route);
    link.account_flows();
    for five_tuple in [1, 1, 1, 2, 2] {
        offer(&mut link, 0, packet(1_000, five_tuple, ()));
    }
    while let Some(at) = link.next_departure() {
        while link.poll(at).is_some() {}
    }
    let (one, two) = (link.flow_account(1), link.flow_account(2));
    assert_eq!((one.dropped, two.dropped), (0, 1));
    assert_eq!((one.sojourns.count(), two.sojourns.count()), (3, 1));
    assert_eq!(
        (one.sojourns.min(), one.sojourns.max()),
        (Some(0), Some(2_000_000))
    );
    assert_eq!(
        (two.sojourns.min(), link.flow_account(3).sojourns.count()),
        (Some(3_000_000), 0)
    );
}

/// Every drop, mark and waiting time of a queue is of a flow.
#[test]
fn accounts_of_flows_add_up_to_the_queues() {
    let controls = [
        Control::Reno(Ecn::NotEct),
        Control::Reno(Ecn::NotEct),
        Control::Reno(Ecn::Ect0),
        Control::Dctcp,
    ];
    for discipline in [
        DisciplineSpec::TailDrop,
        DisciplineSpec::Red(RedSpec::default()),
        DisciplineSpec::Codel(CodelSpec::default()),
        DisciplineSpec::Pie(PieSpec::default()),
        DisciplineSpec::FqCodel(FqCodelSpec::default()),
        DisciplineSpec::DualPi2(DualPi2Spec::default()),
    ] {
        let rate = 10_000_000;
        let mut forward = managed(rate, QueueLimit::Packets(60), discipline);
        forward.delay_ns = 20_000_000;
        let reverse = RouteSpec {
            delay_ns: 20_000_000,
            ..RouteSpec::clean()
        };
        let spec = LinkSpec {
            name: "test".to_owned(),
            seed: 1,
            interface_mtu: 1_500,
            forward: DirectionSpec::over(vec![forward]),
            reverse: DirectionSpec::over(vec![reverse]),
        };
        spec.check().expect("the test's link is possible");
        let mut network: Network<Segment> = Network::new(&spec);
        network.account_flows();
        let mut sources = Sources::new(&controls);
        let mut sink = Sink {
            from: 0,
            received: vec![(0, 0, 0); controls.len()],
        };
        while network
            .step(&mut sources, &mut sink, Nanos(10 * SECOND))
            .is_some()
        {}
        let (link, counters) = (network.forward(), network.forward().counters());
        let flows: Vec<_> = (0..controls.len() as u64)
            .map(|flow| link.flow_account(flow))
            .collect();
        let sum = |of: fn(&weir_link::FlowAccount) -> u64| flows.iter().map(of).sum::<u64>();
        assert!(counters.dropped.queue + counters.marked > 0, "{discipline:?}");
        assert_eq!(sum(|flow| flow.dropped), counters.dropped.queue, "{discipline:?}");
        assert_eq!(sum(|flow| flow.marked), counters.marked, "{discipline:?}");
        assert_eq!(
            sum(|flow| flow.sojourns.count()),
            link.sojourns().count(),
            "{discipline:?}"
        );
        // Those without ECT are never marked.
        assert_eq!(flows[0].marked + flows[1].marked, 0, "{discipline:?}");
    }
}
