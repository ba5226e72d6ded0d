//! Faults that depend on rate, length or number of flows. It must not know routes or hosts.

use weir_link::{FlowRateCap, LongPacketLoss, LossSpec, PacketRateCap, QueueSpec, RateSpec};

use super::{Fault, Network};
use crate::random::Random;

/// Header bytes before a payload.
const HEADERS: f64 = 28.0;

/// Rate of the media in IP packets of the longest payload.
fn media_on_wire(network: &Network) -> f64 {
    let mtu = f64::from(network.link.forward.mtu.bytes.min(network.link.interface_mtu));
    network.plan.format.rate().0 as f64 * mtu / (mtu - HEADERS)
}

/// One route for all flows, and a loss of 0.02 to 0.1 % that each flow beyond the first raises by half of that to
/// three times it.
pub(super) fn five_tuple_ignored(network: &mut Network, random: &mut Random) {
    let forward = &mut network.link.forward;
    forward.hide_five_tuple = true;
    network.link.reverse.hide_five_tuple = true;
    let packets = network.plan.format.rate().bytes_in(network.plan.step_ns) as f64
        / f64::from(network.link.forward.mtu.bytes);
    let least = (30.0 / packets).max(2e-4);
    let loss = random.log_between(least, 1e-3_f64.max(2.0 * least));
    let extra = loss * random.log_between(0.5, 3.0);
    let forward = &mut network.link.forward;
    for route in &mut forward.routes {
        route.loss.push(LossSpec::Bernoulli(loss));
    }
    forward.extra_flow_loss = extra;
    network.fault = Fault::FiveTupleIgnored { loss, extra };
}

/// Each flow is capped at 12 to 80 % of the media rate (0.3 to 2 Gbit/s of 2.486), with a burst of 0.25 to 1 MB.
pub(super) fn flow_rate(network: &mut Network, random: &mut Random) {
    let rate = (random.log_between(0.12, 0.8) * media_on_wire(network)) as u64;
    network.link.forward.flow_rate = Some(FlowRateCap {
        rate,
        burst: random.log_between(2.5e5, 1e6) as u64,
    });
    network.fault = Fault::FlowRateCap { rate };
}

/// Packets are capped at 20 to 90 % of what payloads of 1,200 bytes need (50,000 to 230,000 per second for 2.486 Gbit/s),
/// with a burst of 200 to 2,000.
pub(super) fn packet_rate(network: &mut Network, random: &mut Random) {
    let needed = network.plan.format.rate().0 as f64 / 8.0 / 1200.0;
    let rate = (random.log_between(0.2, 0.9) * needed) as u64;
    network.link.forward.packet_rate = Some(PacketRateCap {
        rate,
        burst: random.log_between(200.0, 2000.0) as u64,
    });
    network.fault = Fault::PacketRateCap { rate };
}

/// One route at 50 to 95 % of the media rate, with a queue of 0.1 to 5 ms.
pub(super) fn congestion(network: &mut Network, random: &mut Random) {
    let rate = (random.between(0.5, 0.95) * media_on_wire(network)) as u64;
    let queue_ns = random.log_between(1e5, 5e6) as u64;
    let forward = &mut network.link.forward;
    forward.routes.truncate(1);
    forward.routes[0].rate = RateSpec::Fixed(rate);
    let bytes = rate as f64 / 8e9 * queue_ns as f64;
    forward.routes[0].queue = QueueSpec::Bytes((bytes as u64).max(20_000));
    network.fault = Fault::Congestion { rate, queue_ns };
}

/// Packets longer than 1,428 to 8,500 bytes are lost with a rate of 0.5 to 50 %, though the path MTU is 4,036 or more.
pub(super) fn payload_cliff(network: &mut Network, random: &mut Random) {
    let (interface, path) = random.pick(&[(9001, 9001), (9000, 4036), (8900, 8896)]);
    network.link.interface_mtu = interface;
    network.link.forward.mtu.bytes = path;
    network.link.reverse.mtu.bytes = path;
    let above = random.log_between(1428.0, f64::from(path) - 300.0) as u32;
    let loss = random.log_between(5e-3, 0.5);
    network.link.forward.long_packet_loss = Some(LongPacketLoss { above, loss });
    network.fault = Fault::PayloadCliff { above, loss };
}
