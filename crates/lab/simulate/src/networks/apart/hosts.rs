//! Faults of hosts. It must not know links.

use super::super::{Fault, Network};
use crate::random::Random;

/// One of 300,000 to 2,000 packets is overtaken in the card's queues, by 10 to 400 us: nothing tells more of them from packets
/// that the network reorders.
pub(super) fn overtaken(network: &mut Network, random: &mut Random) -> Fault {
    let share = random.log_between(3e-6, 5e-4);
    network.far.overtaken = share;
    network.far.overtaken_ns = random.log_between(1e4, 4e5);
    Fault::ReceiveQueues { share }
}

/// The default receive buffer of Linux, and a receiver that stalls 0.5 to 20 times a second for 5 to 60 ms, with a heavy tail.
pub(super) fn sockets(network: &mut Network, random: &mut Random) -> Fault {
    network.far.receive_buffer = 212_992;
    network.far.stalls_per_second = random.log_between(0.5, 20.0);
    network.far.stall_mean_ns = random
        .log_between(5e6, 6e7)
        .min(0.4e9 / network.far.stalls_per_second);
    network.far.stall_tail = Some(random.between(1.5, 3.0));
    Fault::SocketLoss
}

/// The receiving host drops 0.01 to 5 % before its sockets.
pub(super) fn backlog(network: &mut Network, random: &mut Random) -> Fault {
    let loss = random.log_between(1e-4, 5e-2);
    network.far.receive_drop = loss;
    Fault::BacklogLoss { loss }
}

/// The sending host drops 0.01 to 5 % of its trains.
pub(super) fn trains(network: &mut Network, random: &mut Random) -> Fault {
    let loss = random.log_between(1e-4, 5e-2);
    network.near.send_drop = loss;
    Fault::SendLoss { loss }
}

/// The sender has less processor time than it needs: copying takes 102 to 300 % of the time, or others take the core 5 to 40
/// times a second for 5 to 60 ms, with a heavy tail.
pub(super) fn late(network: &mut Network, random: &mut Random) -> Fault {
    if random.chance(0.5) {
        let whole_time = 8e12 / network.plan.format.rate().0 as f64;
        network.near.kilobyte_ns = (whole_time * random.between(1.02, 3.0)) as u64;
    } else {
        network.near.stalls_per_second = random.between(5.0, 40.0);
        network.near.stall_mean_ns = random.log_between(5e6, 6e7);
        network.near.stall_tail = Some(random.between(1.5, 3.0));
    }
    Fault::LateSender
}
