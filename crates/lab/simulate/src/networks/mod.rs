//! Random networks with known faults, drawn from stated ranges (`docs/diagnosis.md` has them as a table). It must not
//! know how a fault is found.

mod apart;
mod base;
mod caps;
mod hosts;
mod routes;
mod several;

use weir_link::LinkSpec;
use weir_measure::survey::SurveyPlan;

use crate::host::HostModel;
use crate::middlebox::Middlebox;
use crate::random::Random;

pub use apart::{Outside, draw_apart, draw_outside};
pub use several::draw_several;

/// A network between two hosts, and its fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The fault added on purpose.
    pub fault: Fault,
    /// Others beside it.
    pub more: Vec<Fault>,
    /// The link at an earlier measurement of the same pair, if any.
    pub before: Option<LinkSpec>,
    /// The current link.
    pub link: LinkSpec,
    /// A device before it, forward direction, if there is one.
    pub middlebox: Option<Middlebox>,
    /// A survey may miss a fault of it: the ranges do not exclude those that no test meets.
    pub may_miss: bool,
    /// The host that runs the survey.
    pub near: HostModel,
    /// The agent's host.
    pub far: HostModel,
    /// The plan of the survey.
    pub plan: SurveyPlan,
    /// Random seed of the measurement.
    pub seed: u64,
}

impl Network {
    /// Its faults.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        std::iter::once(&self.fault).chain(&self.more)
    }
}

/// Faults of a network, with the drawn numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nothing.
    Clean,
    /// Several routes that differ in delay.
    Routes,
    /// Loss on some of several routes of equal length.
    RouteLoss {
        /// Loss rate of each forward route.
        loss: Vec<f64>,
    },
    /// An outage of a forward route, or of all.
    Outage {
        /// The route; none: all.
        route: Option<u16>,
        /// Number of its step.
        step: u64,
        /// Its start, virtual nanoseconds.
        from_ns: u64,
        /// Its duration, nanoseconds.
        lasts_ns: u64,
    },
    /// Independent loss, the same on all routes.
    IndependentLoss {
        /// Probability of loss.
        loss: f64,
    },
    /// Loss in bursts, on all routes.
    BurstLoss {
        /// Probability of loss.
        loss: f64,
        /// Mean burst length, packets of a route.
        burst: f64,
    },
    /// All flows look like one to the network, and the loss rate grows with their number.
    FiveTupleIgnored {
        /// Loss rate of a single flow.
        loss: f64,
        /// Additional loss rate per further flow.
        extra: f64,
    },
    /// A cap on the rate of each flow.
    FlowRateCap {
        /// Bits per second of IP packets.
        rate: u64,
    },
    /// A cap on packets per second.
    PacketRateCap {
        /// Packets per second.
        rate: u64,
    },
    /// The only route is slower than the media.
    Congestion {
        /// Bits per second of IP packets.
        rate: u64,
        /// Length of its queue, nanoseconds at that rate.
        queue_ns: u64,
    },
    /// Long packets are lost.
    PayloadCliff {
        /// IP bytes; longer packets are affected.
        above: u32,
        /// Probability of loss.
        loss: f64,
    },
    /// Packets of one flow take several routes.
    PerPacketRoutes,
    /// The receiving host's card lets packets overtake each other.
    ReceiveQueues {
        /// Share of packets that are overtaken.
        share: f64,
    },
    /// Bursts of loss that hit all flows at once.
    SharedBursts {
        /// Probability of loss.
        loss: f64,
    },
    /// The receiver's sockets overflow.
    SocketLoss,
    /// The receiving host drops packets before the socket.
    BacklogLoss {
        /// Probability of loss.
        loss: f64,
    },
    /// The sending host drops trains.
    SendLoss {
        /// Probability of losing a train.
        loss: f64,
    },
    /// The sender does not keep its schedule.
    LateSender,
    /// The hypervisor drops what the receiving instance is not allowed.
    Allowance {
        /// Probability of loss.
        loss: f64,
    },
    /// A receive ring of the receiving host's card is full.
    ReceiveRing {
        /// Probability of loss.
        loss: f64,
    },
    /// The hypervisor gives CPU time of a host to others.
    StolenCpu {
        /// Share of a core.
        stolen: f64,
    },
    /// The route became longer, or shorter, since the last survey.
    RttChange {
        /// Change of the round-trip time, nanoseconds.
        by_ns: i64,
    },
    /// Nothing changed since the last survey.
    RttSame,
    /// A cause of loss outside the diagnosis's model.
    Outside(Outside),
    /// The route has a slow transmitter: windows queue before it, long packets take longer.
    SlowRoute {
        /// Bits per second.
        rate: u64,
    },
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is described at the fault of the same name")]
pub enum Kind {
    Clean,
    Routes,
    RouteLoss,
    Outage,
    IndependentLoss,
    BurstLoss,
    FiveTupleIgnored,
    FlowRateCap,
    PacketRateCap,
    Congestion,
    PayloadCliff,
    PerPacketRoutes,
    ReceiveQueues,
    SharedBursts,
    SocketLoss,
    BacklogLoss,
    SendLoss,
    LateSender,
    RttChange,
    RttSame,
    SlowRoute,
    Allowance,
    ReceiveRing,
    StolenCpu,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 24] = [
        Kind::Clean,
        Kind::Routes,
        Kind::RouteLoss,
        Kind::Outage,
        Kind::IndependentLoss,
        Kind::BurstLoss,
        Kind::FiveTupleIgnored,
        Kind::FlowRateCap,
        Kind::PacketRateCap,
        Kind::Congestion,
        Kind::PayloadCliff,
        Kind::PerPacketRoutes,
        Kind::ReceiveQueues,
        Kind::SharedBursts,
        Kind::SocketLoss,
        Kind::BacklogLoss,
        Kind::SendLoss,
        Kind::LateSender,
        Kind::RttChange,
        Kind::RttSame,
        Kind::SlowRoute,
        Kind::Allowance,
        Kind::ReceiveRing,
        Kind::StolenCpu,
    ];
}

/// How to draw a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Draw {
    /// With this fault.
    One(Kind),
    /// With so many faults, see [`draw_several`].
    Several(usize),
    /// With so many faults, by the second generator, see [`draw_apart`].
    Apart(usize),
    /// With a cause of loss outside the diagnosis's model, see [`draw_outside`].
    Outside,
}

impl Draw {
    /// Draws network `number`; the same seed gives the same network.
    pub fn network(self, seed: u64, number: u64) -> Network {
        match self {
            Draw::One(kind) => draw(kind, seed, number),
            Draw::Several(count) => draw_several(count, seed, number),
            Draw::Apart(count) => draw_apart(count, seed, number),
            Draw::Outside => draw_outside(seed, number),
        }
    }
}

/// Draws network `number` of a kind; the same seed gives the same network.
pub fn draw(kind: Kind, seed: u64, number: u64) -> Network {
    let own = seed ^ (kind as u64 + 1) << 48 ^ number << 8;
    let mut random = Random::new(own);
    // The first numbers of neighbouring seeds are practically independent, but a generator is cheap.
    let mut random = random.fork();
    let mut network = base::clean(&mut random);
    add(&mut network, kind, &mut random);
    network
}

/// Adds a fault; what one before it set, this one may set anew.
fn add(network: &mut Network, kind: Kind, draw: &mut Random) {
    match kind {
        Kind::Clean => {}
        Kind::Routes => routes::several(network, draw),
        Kind::RouteLoss => routes::lossy(network, draw),
        Kind::Outage => routes::dark(network, draw),
        Kind::IndependentLoss => routes::independent_loss(network, draw),
        Kind::BurstLoss => routes::burst_loss(network, draw),
        Kind::SharedBursts => routes::shared_bursts(network, draw),
        Kind::PerPacketRoutes => routes::per_packet(network, draw),
        Kind::RttChange => routes::longer_or_shorter(network, draw),
        Kind::RttSame => routes::as_it_was(network, draw),
        Kind::SlowRoute => routes::slow(network, draw),
        Kind::FiveTupleIgnored => caps::five_tuple_ignored(network, draw),
        Kind::FlowRateCap => caps::flow_rate(network, draw),
        Kind::PacketRateCap => caps::packet_rate(network, draw),
        Kind::Congestion => caps::congestion(network, draw),
        Kind::PayloadCliff => caps::payload_cliff(network, draw),
        Kind::ReceiveQueues => hosts::receive_queues(network, draw),
        Kind::SocketLoss => hosts::socket_loss(network, draw),
        Kind::BacklogLoss => hosts::backlog_loss(network, draw),
        Kind::SendLoss => hosts::send_loss(network, draw),
        Kind::LateSender => hosts::late_sender(network, draw),
        Kind::Allowance => hosts::allowance(network, draw),
        Kind::ReceiveRing => hosts::receive_ring(network, draw),
        Kind::StolenCpu => hosts::stolen_cpu(network, draw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_one_and_equal_seeds_draw_the_same() {
        for kind in Kind::ALL {
            for number in 0..50 {
                let network = draw(kind, 7, number);
                network.link.check().expect("a link");
                assert_eq!(network.link, draw(kind, 7, number).link);
                assert_eq!(kind == Kind::Clean, network.fault == Fault::Clean);
            }
        }
    }
}
