//! Drops before the choice of a route: the MTU, caps on rates, and cards that handle many flows badly.

use crate::rig::{Minstd, drain, flow, link_of, offer, packet, packet_of};
use weir_link::{DirectionSpec, DropCause, FlowRateCap, Mtu, PacketRateCap, TooBig};

fn flow_cap(rate: u64, burst: u64) -> DirectionSpec {
    DirectionSpec {
        flow_rate: Some(FlowRateCap { rate, burst }),
        ..DirectionSpec::clean()
    }
}

fn packet_cap(rate: u64, burst: u64) -> DirectionSpec {
    DirectionSpec {
        packet_rate: Some(PacketRateCap { rate, burst }),
        ..DirectionSpec::clean()
    }
}

/// A token bucket by its definition, in exact fractions: the level is the initial one, less the tokens taken, plus
/// the tokens added, at most the burst. All in units of 1 / 8e9 byte.
struct ByHand {
    level: u128,
    burst: u128,
    rate: u128,
    at: u64,
}

impl ByHand {
    fn new(rate: u64, burst: u64) -> Self {
        let burst = u128::from(burst) * 8_000_000_000;
        Self {
            level: burst,
            burst,
            rate: u128::from(rate),
            at: 0,
        }
    }

    fn passes(&mut self, at: u64, length: u32) -> bool {
        for _ in self.at..at {
            self.level = self.burst.min(self.level + self.rate);
        }
        self.at = at;
        let needed = u128::from(length) * 8_000_000_000;
        if self.level < needed {
            return false;
        }
        self.level -= needed;
        true
    }
}

#[test]
fn a_flows_cap_worked_by_hand() {
    // 1,000 bytes per second, burst 3,000.
    let mut link = link_of(flow_cap(8_000, 3_000), 1);
    let mut passes = |at, length| offer(&mut link, at, packet(length, 7, ())).is_none();
    assert!(passes(0, 1_000) && passes(0, 1_500) && passes(0, 500));
    assert!(!passes(0, 1));
    assert!(!passes(999_999_999, 1_000));
    assert!(passes(1_000_000_000, 1_000));
    assert!(!passes(1_000_999_999, 1));
    assert!(passes(1_001_000_000, 1));
    // Full again after three seconds, and no more than full after ten.
    assert!(passes(11_001_000_000, 3_000) && !passes(11_001_000_000, 1));
    let counters = link.counters();
    assert_eq!(
        (counters.dropped.flow_rate, counters.offered, link.in_flight()),
        (4, 10, 6)
    );
}

#[test]
fn a_flows_cap_agrees_with_a_bucket_filled_each_nanosecond() {
    let mut random = Minstd::new(8);
    for (rate, burst) in [
        (3_000_000_007, 9_001),
        (1_000_000_000, 1_500),
        (77_777_777_777, 20_000),
    ] {
        let mut link = link_of(flow_cap(rate, burst), 1);
        let mut buckets: Vec<ByHand> = (0..5).map(|_| ByHand::new(rate, burst)).collect();
        let (mut at, mut passed) = (0, 0);
        for _ in 0..3_000 {
            at += (random.uniform() * 1.6e12 / rate as f64) as u64;
            let flow = (random.uniform() * 5.0) as usize;
            let length = 40 + (random.uniform() * 1_461.0) as u32;
            let expected = buckets[flow].passes(at, length);
            passed += u32::from(expected);
            let dropped = offer(&mut link, at, packet(length, flow as u64, ()));
            assert_eq!(
                dropped,
                (!expected).then_some(DropCause::FlowRate),
                "{rate} bit/s at {at}"
            );
        }
        assert!((300..2_700).contains(&passed), "{passed}: both happen");
    }
}

#[test]
fn a_hidden_5_tuple_makes_one_flow_of_a_host_pair() {
    let mut spec = flow_cap(8_000, 1_000);
    let passed = |spec: DirectionSpec, host_pairs: u64| {
        let mut link = link_of(spec, 1);
        (0..100)
            .filter(|&number| {
                let flow = flow(number, number % host_pairs);
                offer(&mut link, 0, packet_of(1_000, flow, ())).is_none()
            })
            .count()
    };
    assert_eq!(passed(spec.clone(), 3), 100);
    spec.hide_five_tuple = true;
    assert_eq!(passed(spec, 3), 3);
}

/// Far more flows than are remembered: each gets its burst, and remembered ones get no more.
#[test]
fn a_flood_of_flows_does_not_undo_the_cap_of_the_steady_ones() {
    let mut link = link_of(flow_cap(8_000, 1_000), 1);
    for number in 0..200_000 {
        assert_eq!(offer(&mut link, 0, packet(1_000, 1_000 + number, ())), None);
        let steady = offer(&mut link, 0, packet(1_000, 7, ()));
        assert_eq!(steady.is_none(), number == 0);
    }
}

#[test]
fn a_cap_on_packets_a_second_counts_all_flows() {
    // 3 per second, burst 4.
    let mut link = link_of(packet_cap(3, 4), 1);
    let mut passes = |at, length, flow| offer(&mut link, at, packet(length, flow, ())).is_none();
    let first: Vec<bool> = (0..6).map(|flow| passes(0, 1_500, flow)).collect();
    assert_eq!(first, [true, true, true, true, false, false]);
    // A third of a second brings one more, not a nanosecond earlier; length does not matter.
    assert!(!passes(333_333_333, 40, 9));
    assert!(passes(333_333_334, 9_000, 9));
    assert!(!passes(666_666_666, 40, 9));
    assert!(passes(666_666_667, 40, 9));
    assert!(passes(1_000_000_000, 40, 9));
    assert!(!passes(1_000_000_001, 40, 9));
    assert_eq!(link.counters().dropped.packet_rate, 5);
}

#[test]
fn a_steady_sender_above_the_packet_rate_gets_exactly_the_rate() {
    let mut link = link_of(packet_cap(100_000, 50), 1);
    // 250,000 a second for 10 seconds, the last at 9.999996 s.
    let passed = (0..2_500_000)
        .filter(|n| offer(&mut link, n * 4_000, packet(200, *n, ())).is_none())
        .count();
    assert_eq!(passed, 999_999 + 50);
    assert_eq!(drain(&mut link).len(), passed);
}

#[test]
fn loss_grows_with_each_flow_beyond_the_first() {
    let mut spec = DirectionSpec::clean();
    spec.extra_flow_loss = 0.01;
    // The network does not see the flows, the card does.
    spec.hide_five_tuple = true;
    for (flows, expected) in [
        (1_u64, 0.0),
        (2, 0.01),
        (11, 0.1),
        (51, 0.5),
        (101, 1.0),
        (300, 1.0),
    ] {
        let mut link = link_of(spec.clone(), 1);
        let mut lost = |from: u64, packets: u64| {
            let dropped = (from..from + packets)
                .filter(|n| offer(&mut link, n * 10_000, packet(100, n % flows, ())).is_some())
                .count();
            dropped as f64 / packets as f64
        };
        lost(0, flows);
        let share = lost(flows, 50_000);
        let deviation = (expected * (1.0 - expected) / 50_000.0_f64).sqrt();
        assert!(
            (share - expected).abs() <= 4.0 * deviation,
            "{flows} flows: {share}"
        );
        let counters = link.counters();
        assert_eq!(counters.offered - link.in_flight(), counters.dropped.extra_flow);
    }
}

#[test]
fn a_flow_counts_for_a_second() {
    let mut spec = DirectionSpec::clean();
    spec.extra_flow_loss = 1.0;
    let mut link = link_of(spec, 1);
    let mut passes = |at, flow| offer(&mut link, at, packet(100, flow, ())).is_none();
    assert!(passes(0, 1));
    assert!(!passes(5, 2));
    assert!(!passes(999_999_999, 1));
    // The second flow was last seen at 5 ns.
    assert!(!passes(1_000_000_004, 1));
    assert!(passes(1_000_000_005, 1));
}

#[test]
fn the_mtu_is_told_or_not() {
    for (too_big, cause) in [
        (TooBig::Drop, DropCause::TooBig),
        (TooBig::Icmp, DropCause::TooBigTold),
    ] {
        let mtu = Mtu {
            bytes: 1_400,
            too_big,
        };
        let mut link = link_of(
            DirectionSpec {
                mtu,
                ..DirectionSpec::clean()
            },
            1,
        );
        assert_eq!(offer(&mut link, 0, packet(1_400, 0, ())), None);
        assert_eq!(offer(&mut link, 0, packet(1_401, 0, ())), Some(cause));
        assert_eq!(offer(&mut link, 0, packet(u32::MAX, 0, ())), Some(cause));
        assert_eq!(link.counters().dropped.too_big, 2);
        assert_eq!(link.counters().offered_bytes, 1_400 + 1_401 + u64::from(u32::MAX));
    }
}

/// A packet dropped by one stage takes no tokens of later stages.
#[test]
fn stages_come_in_their_order() {
    let mut spec = flow_cap(8_000, 1_000);
    spec.mtu.bytes = 1_000;
    spec.packet_rate = Some(PacketRateCap { rate: 1, burst: 2 });
    let mut link = link_of(spec, 1);
    let mut offered = |length, flow| offer(&mut link, 0, packet(length, flow, ()));
    assert_eq!(offered(1_001, 1), Some(DropCause::TooBigTold));
    assert_eq!(offered(1_000, 1), None);
    assert_eq!(offered(1_000, 1), Some(DropCause::FlowRate));
    assert_eq!(offered(1_000, 2), None);
    assert_eq!(offered(1_000, 3), Some(DropCause::PacketRate));
}
