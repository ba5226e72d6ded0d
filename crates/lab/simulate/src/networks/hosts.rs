//! Faults of hosts. It must not know links.

use super::{Fault, Network};
use crate::host::ReceiveDropper;
use crate::random::Random;

/// In 1 of 100,000 to 1,000 packets is overtaken in the card's queues, by 30 to 200 us.
pub(super) fn receive_queues(network: &mut Network, random: &mut Random) {
    let share = random.log_between(1e-5, 1e-3);
    network.far.overtaken = share;
    network.far.overtaken_ns = random.log_between(3e4, 2e5);
    network.fault = Fault::ReceiveQueues { share };
}

/// The receiving application stalls 2 to 10 times per second, for two to ten times as long as its buffers last.
pub(super) fn socket_loss(network: &mut Network, random: &mut Random) {
    network.far.receive_buffer = 425_984;
    let bytes_per_ns = network.plan.format.rate().0 as f64 / 8e9;
    // Of 8 flows, each has a buffer of its own.
    let lasts_ns = 8.0 * network.far.receive_buffer as f64 / bytes_per_ns;
    network.far.stall_mean_ns = (lasts_ns * random.between(2.0, 10.0)).min(4e8);
    network.far.stalls_per_second = random.between(2.0, 10.0).min(0.5e9 / network.far.stall_mean_ns);
    network.fault = Fault::SocketLoss;
}

/// The receiving host drops 0.05 to 2 % before its sockets.
pub(super) fn backlog_loss(network: &mut Network, random: &mut Random) {
    let loss = random.log_between(5e-4, 2e-2);
    network.far.receive_drop = loss;
    network.fault = Fault::BacklogLoss { loss };
}

/// The sending host drops 0.05 to 2 % of the trains.
pub(super) fn send_loss(network: &mut Network, random: &mut Random) {
    let loss = random.log_between(5e-4, 2e-2);
    network.near.send_drop = loss;
    network.fault = Fault::SendLoss { loss };
}

/// The sender stalls 10 to 50 times per second for 10 to 40 ms, or needs 105 to 200 % of the available time for
/// copying.
pub(super) fn late_sender(network: &mut Network, random: &mut Random) {
    if random.chance(0.5) {
        network.near.stalls_per_second = random.between(10.0, 50.0);
        network.near.stall_mean_ns = random.between(1e7, 4e7);
    } else {
        let kilobyte_ns = 8e12 / network.plan.format.rate().0 as f64;
        network.near.kilobyte_ns = (kilobyte_ns * random.between(1.05, 2.0)) as u64;
    }
    network.fault = Fault::LateSender;
}

/// The hypervisor of the receiving host, or a full ring of its card, drops 0.05 to 2 %.
fn dropped_by(dropper: ReceiveDropper, network: &mut Network, random: &mut Random) -> f64 {
    let loss = random.log_between(5e-4, 2e-2);
    network.far.receive_drop = loss;
    network.far.receive_dropper = dropper;
    loss
}

/// Inbound bandwidth above what the receiving instance is allowed.
pub(super) fn allowance(network: &mut Network, random: &mut Random) {
    let loss = dropped_by(ReceiveDropper::Allowance, network, random);
    network.fault = Fault::Allowance { loss };
}

/// A receive ring that is full.
pub(super) fn receive_ring(network: &mut Network, random: &mut Random) {
    let loss = dropped_by(ReceiveDropper::Ring, network, random);
    network.fault = Fault::ReceiveRing { loss };
}

/// The hypervisor gives 10 to 80 % of a core of either host to others, so that its threads stall 5 to 20 times a second for some
/// milliseconds.
pub(super) fn stolen_cpu(network: &mut Network, random: &mut Random) {
    let stolen = random.between(0.1, 0.8);
    let host = if random.chance(0.5) {
        &mut network.near
    } else {
        &mut network.far
    };
    host.stolen = stolen;
    host.stalls_per_second = random.between(5.0, 20.0);
    host.stall_mean_ns = (stolen * 1e9 / host.stalls_per_second).min(4e6);
    network.fault = Fault::StolenCpu { stolen };
}
