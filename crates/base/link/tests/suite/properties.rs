//! For any link and any packets: packets are conserved, time advances, foretold departures
//! happen, and the polling times do not matter.

use crate::rig::{flow, packet_of};
use proptest::prelude::*;
use weir_link::{
    CodelSpec, DarkSpan, Departure, DirectionSpec, DisciplineSpec, DropCause, DualPi2Spec, Ecn, FlowRateCap,
    FqCodelSpec, Jitter, Link, LongPacketLoss, LossSpec, ManagedQueue, Mtu, Nanos, Packet, PacketRateCap,
    PieSpec, QueueLimit, QueueSpec, RateSpec, RateStep, RedSpec, RouteChoice, RouteSpec, TooBig, Verdict,
};

fn rates() -> impl Strategy<Value = RateSpec> {
    let step = (1..50_000_u64, prop_oneof![Just(0), 1..10_000_000_000_u64])
        .prop_map(|(duration_ns, rate)| RateStep { duration_ns, rate });
    let steps = prop::collection::vec(step, 1..6).prop_map(|mut steps| {
        steps[0].rate = steps[0].rate.max(1_000_000_000);
        RateSpec::Steps(steps)
    });
    let opportunities = (
        prop::collection::vec(0..20_000_u64, 1..6),
        1..20_000_u64,
        1..4_000_u32,
    )
        .prop_map(|(mut at_ns, more, bytes)| {
            at_ns.sort_unstable();
            let period_ns = at_ns[at_ns.len() - 1] + more;
            RateSpec::Opportunities {
                at_ns,
                period_ns,
                bytes,
            }
        });
    prop_oneof![
        Just(RateSpec::Unlimited),
        (1_000_000..500_000_000_000_000_u64).prop_map(RateSpec::Fixed),
        steps,
        opportunities
    ]
}

/// Managed queues, most of them short and with parameters that make them act within a few packets.
fn managed() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        Just(QueueLimit::Unlimited),
        (1..20_000_u64).prop_map(QueueLimit::Bytes),
        (1..20_u64).prop_map(QueueLimit::Packets),
    ];
    let times = || 1_000..100_000_u64;
    let codel = (times(), times(), 1..3_000_u32, any::<bool>()).prop_map(
        |(target_ns, interval_ns, max_packet, ecn)| CodelSpec {
            target_ns,
            interval_ns,
            max_packet,
            ecn,
        },
    );
    let red = (0.0..5.0, 0.1..10.0, 0.0..1.0, 0.001..1.0, any::<bool>(), times()).prop_map(
        |(minimum, more, max_probability, weight, gentle, packet_time_ns)| RedSpec {
            minimum,
            maximum: minimum + more,
            max_probability,
            weight,
            gentle,
            packet_time_ns,
            ecn: gentle,
        },
    );
    let gain = || prop_oneof![Just(0.0), 0.0..1_000.0];
    let pie = (times(), times(), gain(), gain(), 0..100_000_u64, any::<bool>()).prop_map(
        |(target_ns, update_ns, alpha, beta, max_burst_ns, enhanced)| PieSpec {
            target_ns,
            update_ns,
            alpha,
            beta,
            max_burst_ns,
            derandomize: enhanced,
            cap_adjustment: enhanced,
            ..PieSpec::default()
        },
    );
    let dualpi2 = (times(), gain(), gain(), 0.1..4.0, 0..50_000_u64, 0.0..1.0).prop_map(
        |(target_ns, alpha, beta, coupling, range_ns, classic_share)| DualPi2Spec {
            target_ns,
            update_ns: target_ns,
            alpha,
            beta,
            coupling,
            threshold_ns: range_ns,
            range_ns,
            threshold_packets: 0,
            classic_share,
        },
    );
    let fq_codel = (1..10_u32, 1..3_000_u32, codel.clone()).prop_map(|(flows, quantum, codel)| FqCodelSpec {
        flows,
        quantum,
        codel,
    });
    let discipline = prop_oneof![
        Just(DisciplineSpec::TailDrop),
        red.prop_map(DisciplineSpec::Red),
        codel.prop_map(DisciplineSpec::Codel),
        pie.prop_map(DisciplineSpec::Pie),
        fq_codel.prop_map(DisciplineSpec::FqCodel),
        dualpi2.prop_map(DisciplineSpec::DualPi2),
    ];
    (limit, discipline).prop_map(|(limit, discipline)| QueueSpec::Managed(ManagedQueue { limit, discipline }))
}

fn losses() -> impl Strategy<Value = LossSpec> {
    let probability = || prop_oneof![Just(0.0), 0.0..1.0, Just(1.0)];
    let gilbert = (probability(), probability(), probability(), probability()).prop_map(
        |(to_bad, to_good, loss_good, loss_bad)| LossSpec::GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
        },
    );
    let listed = prop::collection::btree_set(0..100_u64, 0..20)
        .prop_map(|numbers| LossSpec::Packets(numbers.into_iter().collect()));
    prop_oneof![(0.0..0.5).prop_map(LossSpec::Bernoulli), gilbert, listed]
}

prop_compose! {
    fn routes()(
        rate in rates(),
        weight in 0..5_u32,
        overhead in 0..50_u32,
        delay_ns in prop_oneof![Just(0), 0..100_000_u64],
        jitter in prop::option::of((0..100_000_u64, any::<bool>())),
        queue in prop_oneof![
            Just(QueueSpec::Unlimited),
            (1..20_000_u64).prop_map(QueueSpec::Bytes),
            (1..20_u64).prop_map(QueueSpec::Packets),
        ],
        loss in prop::collection::vec(losses(), 0..3),
        duplicate in prop_oneof![Just(0.0), 0.0..1.0],
        corrupt in prop_oneof![Just(0.0), 0.0..1.0],
        dark in prop::collection::vec((0..300_000_u64, 1..50_000_u64), 0..3),
    ) -> RouteSpec {
        RouteSpec {
            rate, weight, overhead, delay_ns, queue, loss, duplicate, corrupt,
            jitter: jitter.map(|(most_ns, reorder)| Jitter { most_ns, reorder }),
            dark: dark.into_iter().map(|(from_ns, long)| DarkSpan { from_ns, to_ns: from_ns + long }).collect(),
        }
    }
}

prop_compose! {
    fn directions()(
        mtu in 576..9_000_u32,
        told in any::<bool>(),
        long in prop::option::of((576..9_000_u32, 0.0..1.0)),
        flow_rate in prop::option::of((1..100_000_000_000_u64, 1..20_000_u64)),
        packet_rate in prop::option::of((1..10_000_000_u64, 1..100_u64)),
        extra_flow_loss in prop_oneof![Just(0.0), 0.0..0.2],
        hide_five_tuple in any::<bool>(),
        choice in prop::sample::select(vec![
            RouteChoice::FiveTuple,
            RouteChoice::SourcePort,
            RouteChoice::PerPacket,
        ]),
        mut routes in prop::collection::vec(routes(), 1..4),
    ) -> DirectionSpec {
        routes[0].weight += 1;
        DirectionSpec {
            mtu: Mtu { bytes: mtu, too_big: if told { TooBig::Icmp } else { TooBig::Drop } },
            long_packet_loss: long.map(|(above, loss)| LongPacketLoss { above, loss }),
            flow_rate: flow_rate.map(|(rate, burst)| FlowRateCap { rate, burst }),
            packet_rate: packet_rate.map(|(rate, burst)| PacketRateCap { rate, burst }),
            extra_flow_loss,
            hide_five_tuple,
            choice,
            routes,
        }
    }
}

/// Time since the previous one, length, flow, pair of hosts.
type Offer = (u64, u32, u64, u64);

fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![Just(0), 0..3_000_u64, 0..50_000_u64];
    let length = prop_oneof![1..1_500_u32, 1..10_000_u32];
    prop::collection::vec((gap, length, 0..6_u64, 0..2_u64), 0..150)
}

/// Every kind in turn.
fn ecn_of(number: usize) -> Ecn {
    Ecn::of_traffic_class(number as u8)
}

#[derive(Debug, PartialEq)]
struct Seen {
    verdicts: Vec<Option<DropCause>>,
    departures: Vec<Departure<usize>>,
    counters: weir_link::Counters,
}

fn conserved(link: &Link<usize>) {
    let counters = link.counters();
    assert_eq!(
        counters.offered + counters.duplicated,
        counters.delivered + counters.dropped.total() + link.in_flight()
    );
    assert_eq!(link.next_departure().is_none(), link.in_flight() == 0);
}

/// Polls at each time that is foretold, from `now` up to `until`.
fn follow(link: &mut Link<usize>, mut now: Nanos, until: Nanos, departures: &mut Vec<Departure<usize>>) {
    while let Some(at) = link.next_departure().filter(|&at| at <= until) {
        assert!(at >= now, "the foretold time has not passed");
        if at > now {
            assert_eq!(
                link.poll(Nanos(at.0 - 1)),
                None,
                "nothing leaves before the foretold time"
            );
        }
        now = at;
        while let Some(departure) = link.poll(at) {
            assert_eq!(departure.at, at, "it leaves at the foretold time");
            departures.push(departure);
            conserved(link);
        }
        assert!(
            link.next_departure().is_none_or(|next| next > at),
            "the next lies in the future"
        );
    }
}

/// Offers everything; `follow_closely` polls in between as a driver would, otherwise only at the end.
fn pass(spec: &DirectionSpec, seed: u64, offers: &[Offer], follow_closely: bool) -> Seen {
    let mut link = Link::new(spec, seed);
    let mut now = 0;
    let (mut verdicts, mut departures) = (Vec::new(), Vec::new());
    for (number, &(gap, length, five_tuple, host_pair)) in offers.iter().enumerate() {
        now += gap;
        if follow_closely {
            follow(&mut link, Nanos(now - gap), Nanos(now), &mut departures);
        }
        let packet = Packet {
            ecn: ecn_of(number),
            ..packet_of(length, flow(five_tuple, host_pair), number)
        };
        verdicts.push(match link.enqueue(Nanos(now), packet) {
            Verdict::Accepted => None,
            Verdict::Dropped(cause, payload) => {
                assert_eq!(payload, number);
                Some(cause)
            }
        });
        conserved(&link);
    }
    if follow_closely {
        follow(&mut link, Nanos(now), Nanos(u64::MAX), &mut departures);
    } else {
        departures.extend(std::iter::from_fn(|| link.poll(Nanos(u64::MAX))));
    }
    assert_eq!((link.in_flight(), link.next_departure()), (0, None));
    Seen {
        verdicts,
        departures,
        counters: link.counters(),
    }
}

/// Invariants of any run, from the specification alone.
fn plausible(spec: &DirectionSpec, offers: &[Offer], seen: &Seen) {
    assert!(seen.departures.is_sorted_by_key(|departure| departure.at));
    let arrivals: Vec<u64> = offers
        .iter()
        .scan(0, |now, offer| {
            *now += offer.0;
            Some(*now)
        })
        .collect();
    let mut copies = vec![0; offers.len()];
    let mut last_on_route = vec![None; spec.routes.len()];
    for departure in &seen.departures {
        let number = departure.packet.payload;
        let route = &spec.routes[usize::from(departure.route)];
        copies[number] += 1;
        assert_eq!(seen.verdicts[number], None, "what was dropped does not leave");
        assert_eq!(departure.duplicate, copies[number] == 2);
        assert_eq!(
            (departure.packet.length, departure.packet.flow.five_tuple),
            (offers[number].1, offers[number].2)
        );
        let soonest = match route.rate {
            RateSpec::Fixed(rate) => {
                let bits = u128::from(departure.packet.length + route.overhead) * 8_000_000_000;
                bits.div_ceil(u128::from(rate)) as u64
            }
            _ => 0,
        };
        assert!(departure.at.0 >= arrivals[number] + soonest + route.delay_ns);
        if route.jitter.is_none_or(|jitter| !jitter.reorder) {
            let last = last_on_route[usize::from(departure.route)].replace(number);
            assert!(last <= Some(number), "packets of a route keep their order");
        }
    }
    for (number, verdict) in seen.verdicts.iter().enumerate() {
        assert_eq!(copies[number] > 0, verdict.is_none(), "what was accepted leaves");
    }
    let counters = seen.counters;
    assert_eq!(counters.offered, offers.len() as u64);
    assert_eq!(
        counters.dropped.total(),
        seen.verdicts.iter().flatten().count() as u64
    );
    assert_eq!(counters.delivered, seen.departures.len() as u64);
    let bytes: u64 = seen
        .departures
        .iter()
        .map(|departure| u64::from(departure.packet.length))
        .sum();
    assert_eq!(counters.delivered_bytes, bytes);
}

/// The two cases that [`Link::next_departure`] names, in which what it foretells is only a bound.
fn foretold_exactly(spec: &DirectionSpec) -> bool {
    spec.routes.iter().all(|route| {
        !route.jitter.is_some_and(|jitter| jitter.reorder)
            && !matches!(route.rate, RateSpec::Opportunities { .. })
    })
}

/// Each foretold time brings a packet.
fn each_foretold_time_brings_a_packet(spec: &DirectionSpec, seed: u64, offers: &[Offer]) {
    let mut link = Link::new(spec, seed);
    let mut now = 0;
    for &(gap, length, five_tuple, host_pair) in offers {
        now += gap;
        link.enqueue(Nanos(now), packet_of(length, flow(five_tuple, host_pair), 0));
    }
    while let Some(at) = link.next_departure() {
        assert!(link.poll(at).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_link_conserves_packets_and_keeps_its_word(
        spec in directions(),
        seed in any::<u64>(),
        offers in offers(),
    ) {
        prop_assert_eq!(spec.check("forward"), Ok(()));
        let closely = pass(&spec, seed, &offers, true);
        plausible(&spec, &offers, &closely);
        prop_assert_eq!(&pass(&spec, seed, &offers, false), &closely, "it does not matter when anyone looks");
        if foretold_exactly(&spec) {
            each_foretold_time_brings_a_packet(&spec, seed, &offers);
        }
    }

    /// With managed queues, packets may overtake those of other flows, and be dropped after they were accepted.
    #[test]
    fn any_managed_queue_conserves_packets_and_keeps_its_word(
        spec in directions(),
        queues in prop::collection::vec(managed(), 8),
        seed in any::<u64>(),
        offers in offers(),
    ) {
        let mut spec = spec;
        for (route, queue) in spec.routes.iter_mut().zip(queues) {
            route.queue = queue;
        }
        prop_assert_eq!(spec.check("forward"), Ok(()));
        let closely = pass(&spec, seed, &offers, true);
        prop_assert_eq!(&pass(&spec, seed, &offers, false), &closely, "it does not matter when anyone looks");
        let counters = closely.counters;
        prop_assert!(counters.dropped_early <= counters.dropped.queue);
        prop_assert!(counters.marked <= counters.delivered + counters.dropped.queue);
        prop_assert!(closely.departures.is_sorted_by_key(|departure| departure.at));
        for departure in &closely.departures {
            let (ecn, offered) = (departure.packet.ecn, ecn_of(departure.packet.payload));
            prop_assert!(ecn == offered || (ecn == Ecn::Ce && offered.is_capable()));
        }
    }

    /// A time before an earlier one is taken as the earlier one; whatever the times, nothing breaks.
    #[test]
    fn any_times_are_survived(
        spec in directions(),
        queue in prop_oneof![9 => Just(None), 1 => managed().prop_map(Some)],
        calls in prop::collection::vec((any::<u64>(), any::<u32>(), any::<bool>()), 0..60),
    ) {
        let mut spec = spec;
        spec.routes[0].queue = queue.unwrap_or(spec.routes[0].queue);
        let mut link = Link::new(&spec, 1);
        let mut last = Nanos(0);
        for (at, length, poll) in calls {
            if poll {
                while let Some(departure) = link.poll(Nanos(at)) {
                    prop_assert!(departure.at >= last);
                    last = departure.at;
                }
            } else {
                link.enqueue(Nanos(at), packet_of(length % 9_000, flow(at, at), 0));
            }
            conserved(&link);
        }
    }
}
