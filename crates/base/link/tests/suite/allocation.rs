//! A link does not allocate per packet, with any faults: only when a queue or a table grows beyond
//! its previous maximum, which becomes ever rarer.

use crate::rig::{link_of, offer, packet};
use weir_link::discrete::{Endpoint, Network};
use weir_link::{
    CodelSpec, Departure, DirectionSpec, DisciplineSpec, DualPi2Spec, FlowRateCap, FqCodelSpec, Jitter, Link,
    LinkSpec, LossSpec, ManagedQueue, Nanos, Packet, PacketRateCap, PieSpec, QueueLimit, QueueSpec, RateSpec,
    RedSpec, RouteSpec,
};

/// Maximum number of growths for a million packets.
const MOST_GROWTHS: u64 = 10;

/// Every fault, on two routes with and without reordering.
fn everything() -> DirectionSpec {
    let route = |reorder| RouteSpec {
        rate: RateSpec::Fixed(600_000_000),
        delay_ns: 5_000_000,
        jitter: Some(Jitter {
            most_ns: 1_000_000,
            reorder,
        }),
        queue: QueueSpec::Packets(100),
        loss: vec![LossSpec::gilbert(0.01, 0.3)],
        duplicate: 0.05,
        corrupt: 0.05,
        ..RouteSpec::clean()
    };
    DirectionSpec {
        flow_rate: Some(FlowRateCap {
            rate: 12_000_000,
            burst: 20_000,
        }),
        packet_rate: Some(PacketRateCap {
            rate: 200_000,
            burst: 100,
        }),
        extra_flow_loss: 0.000_01,
        ..DirectionSpec::over(vec![route(true), route(false)])
    }
}

/// One packet every 5 microseconds, of 100 flows at a time that come and go.
fn offer_and_poll(link: &mut Link<u64>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let now = number * 5_000;
        while link.poll(Nanos(now)).is_some() {}
        offer(
            link,
            now,
            packet(1_000, number / 10_000 * 50 + number % 100, number),
        );
    }
}

#[test]
fn a_link_allocates_nothing_for_a_packet() {
    let mut link = link_of(everything(), 1);
    offer_and_poll(&mut link, 0..1_000_000);
    let before = link.counters();
    let allocated = allocation_counter::measure(|| offer_and_poll(&mut link, 1_000_000..2_000_000));
    assert!(allocated.count_total <= MOST_GROWTHS, "{allocated:?}");
    let after = link.counters();
    assert!(after.delivered - before.delivered > 500_000);
    assert!(
        after.dropped.loss > before.dropped.loss
            && after.dropped.queue > before.dropped.queue
            && after.dropped.flow_rate > before.dropped.flow_rate
    );
}

#[test]
fn a_managed_queue_allocates_nothing_for_a_packet() {
    let disciplines = [
        DisciplineSpec::TailDrop,
        DisciplineSpec::Red(RedSpec::default()),
        DisciplineSpec::Codel(CodelSpec::default()),
        DisciplineSpec::Pie(PieSpec::default()),
        DisciplineSpec::FqCodel(FqCodelSpec {
            flows: 64,
            ..FqCodelSpec::default()
        }),
        DisciplineSpec::DualPi2(DualPi2Spec::default()),
    ];
    for discipline in disciplines {
        let spec = DirectionSpec::over(vec![RouteSpec {
            rate: RateSpec::Fixed(1_000_000_000),
            queue: QueueSpec::Managed(ManagedQueue {
                limit: QueueLimit::Packets(1_000),
                discipline,
            }),
            ..RouteSpec::clean()
        }]);
        let mut link = link_of(spec, 1);
        offer_and_poll(&mut link, 0..1_000_000);
        let before = link.counters();
        let allocated = allocation_counter::measure(|| offer_and_poll(&mut link, 1_000_000..2_000_000));
        // The queues of FQ-CoDel grow one by one, each to its own maximum.
        assert!(allocated.count_total <= 10 * MOST_GROWTHS, "{allocated:?}");
        assert!(link.counters().dropped.queue > before.dropped.queue);
    }
}

/// Sends a packet every 10 microseconds; answers each that arrives.
struct Host(Option<u64>);

impl Endpoint<u64> for Host {
    fn next_wake(&self) -> Option<Nanos> {
        self.0.map(|sent| Nanos(sent * 10_000))
    }

    fn wake(&mut self, _now: Nanos, out: &mut Vec<Packet<u64>>) {
        let sent = self.0.iter_mut().next().expect("only a sender is woken");
        out.push(packet(1_000, *sent % 100, *sent));
        *sent += 1;
    }

    fn receive(&mut self, departure: Departure<u64>, out: &mut Vec<Packet<u64>>) {
        if self.0.is_none() {
            out.push(departure.packet);
        }
    }
}

#[test]
fn the_discrete_event_driver_allocates_nothing_for_a_packet() {
    let spec = LinkSpec {
        name: "test".to_owned(),
        seed: 1,
        interface_mtu: 1_500,
        forward: everything(),
        reverse: everything(),
    };
    let mut network = Network::new(&spec);
    let (mut near, mut far) = (Host(Some(0)), Host(None));
    let mut until = |end| while network.step(&mut near, &mut far, Nanos(end)).is_some() {};
    until(2_000_000_000);
    let allocated = allocation_counter::measure(|| until(4_000_000_000));
    assert!(allocated.count_total <= MOST_GROWTHS, "{allocated:?}");
    assert!(network.reverse().counters().delivered > 100_000);
}
