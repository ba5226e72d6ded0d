//! Faults that depend on rate or length. It must not know hosts, nor how routes are chosen.

use weir_link::{FlowRateCap, LongPacketLoss, PacketRateCap, RateSpec, RateStep};

use super::super::{Fault, Network};
use super::base::queue_of;
use crate::random::Random;

/// Rates at which links and virtual machines are sold, Mbit/s.
const SOLD: [u64; 12] = [10, 20, 50, 100, 200, 300, 500, 750, 1_000, 1_200, 1_500, 2_000];
const MEGABIT: u64 = 1_000_000;
/// Packet rates of small routers, virtual switches and firewalls.
const PACKET_RATES: [u64; 12] = [
    2_000, 5_000, 10_000, 20_000, 35_000, 50_000, 75_000, 100_000, 140_000, 200_000, 250_000, 300_000,
];
/// What a network carries in one packet, IP bytes, where tunnels take the rest: 6in4 over PPPoE, IPsec, WireGuard, VXLAN, GRE,
/// 6in4, PPPoE; then radio, packet over SONET, and jumbo frames in VXLAN, GRE or a storage network.
const CARRIED: [u32; 11] = [1432, 1438, 1440, 1450, 1476, 1480, 1492, 2304, 4352, 4470, 8450];
/// Cross traffic: mean of its times on and off, nanoseconds.
const CROSS_NS: (f64, f64) = (5e5, 2e7);
/// Period after which cross traffic repeats itself, nanoseconds.
const CROSS_PERIOD_NS: f64 = 5e8;

/// Packets longer than a tunnel carries are fragmented, and 0.3 to 60 % of them lost, where some pass the path's MTU.
pub(super) fn cliff(network: &mut Network, random: &mut Random) -> Fault {
    let mtu = network.link.forward.mtu.bytes.min(network.link.interface_mtu);
    let above: Vec<u32> = CARRIED.into_iter().filter(|above| *above < mtu).collect();
    if above.is_empty() {
        network.link.interface_mtu = 9000;
        network.link.forward.mtu.bytes = 9000;
        network.link.reverse.mtu.bytes = 9000;
    }
    let above = random.pick(if above.is_empty() { &CARRIED } else { &above });
    let loss = random.log_between(3e-3, 0.6);
    network.link.forward.long_packet_loss = Some(LongPacketLoss { above, loss });
    Fault::PayloadCliff { above, loss }
}

/// One of `sold` below 1.2 times what is needed; the smallest where none is.
fn sold(sold: &[u64], needed: f64, random: &mut Random) -> u64 {
    let below: Vec<u64> = sold
        .iter()
        .copied()
        .filter(|rate| (*rate as f64) < 1.2 * needed)
        .collect();
    let usual = &below[below.len().saturating_sub(5)..];
    random.pick(if usual.is_empty() { &sold[..1] } else { usual })
}

/// A policer for each 5-tuple, at a rate that is sold, with a bucket of 1 to 200 ms.
pub(super) fn flow_rate(network: &mut Network, random: &mut Random) -> Fault {
    let needed = network.plan.format.rate().0 as f64 / MEGABIT as f64;
    let rate = sold(&SOLD, needed, random) * MEGABIT;
    let burst = rate as f64 / 8.0 * random.log_between(1e-3, 0.2);
    network.link.forward.flow_rate = Some(FlowRateCap {
        rate,
        burst: (burst as u64).max(20_000),
    });
    Fault::FlowRateCap { rate }
}

/// A limit on packets per second, with a bucket of 1 to 100 ms.
pub(super) fn packet_rate(network: &mut Network, random: &mut Random) -> Fault {
    let needed = network.plan.format.rate().0 as f64 / 8.0 / 1200.0;
    let rate = sold(&PACKET_RATES, needed, random);
    let burst = rate as f64 * random.log_between(1e-3, 0.1);
    network.link.forward.packet_rate = Some(PacketRateCap {
        rate,
        burst: (burst as u64).max(32),
    });
    Fault::PacketRateCap { rate }
}

/// One route of 20 to 95 % of the media rate, left by cross traffic that takes 0 to 40 % of it with heavy-tailed times on and
/// off, before a queue of 0.05 to 300 ms.
pub(super) fn full(network: &mut Network, random: &mut Random) -> Fault {
    let rate = (random.between(0.2, 0.95) * network.plan.format.rate().0 as f64) as u64;
    let queue_ns = random.log_between(5e4, 3e8);
    let cross = random.pick(&[0.0, 0.1, 0.2, 0.4]);
    let forward = &mut network.link.forward;
    forward.routes.truncate(1);
    let route = &mut forward.routes[0];
    // Overhead would make the rate of IP packets depend on their length.
    route.overhead = 0;
    route.rate = left_by(cross, rate, random);
    route.queue = queue_of(rate, queue_ns);
    Fault::Congestion {
        rate,
        queue_ns: queue_ns as u64,
    }
}

/// What cross traffic that takes a share of a transmitter leaves of it: `rate` in the mean.
fn left_by(share: f64, rate: u64, random: &mut Random) -> RateSpec {
    if share <= 0.0 {
        return RateSpec::Fixed(rate);
    }
    let mean_ns = random.log_between(CROSS_NS.0, CROSS_NS.1);
    let whole = rate as f64 / (1.0 - share);
    let mut spans = Vec::new();
    let (mut at, mut on_ns) = (0.0, 0.0);
    while at < CROSS_PERIOD_NS {
        let mut time = || random.pareto(mean_ns, 1.5).min(20.0 * mean_ns).max(1e3);
        let (off, on) = (time(), time());
        at += off + on;
        on_ns += on;
        spans.push((off, on));
    }
    // On, it takes so much that the mean over the period is what was asked for.
    let taken = (share * whole * at / on_ns).min(whole);
    let steps = spans.into_iter().flat_map(|(off, on)| {
        [(off, whole), (on, whole - taken)].map(|(time, rate)| RateStep {
            duration_ns: time as u64,
            rate: rate as u64,
        })
    });
    RateSpec::Steps(steps.collect())
}
