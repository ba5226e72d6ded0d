//! The specification of a link, as plain data with every quantity resolved: rates in bits per second, lengths in bytes
//! of IP packet, times in nanoseconds, probabilities from 0 to 1. It must not know how files and command lines express
//! it.

mod check;
mod queue;

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use thiserror::Error;

pub use queue::{
    CodelSpec, DisciplineSpec, DualPi2Spec, FqCodelSpec, ManagedQueue, PieSpec, QueueLimit, QueueSpec,
    RedSpec,
};

/// Both directions of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Name of its profile or file.
    pub name: String,
    /// Random seed.
    pub seed: u64,
    /// MTU of the interfaces on both hosts; the path may have less, see [`DirectionSpec::mtu`].
    pub interface_mtu: u32,
    /// From the near host to the far one.
    pub forward: DirectionSpec,
    /// From the far host to the near one.
    pub reverse: DirectionSpec,
}

impl LinkSpec {
    /// Its name and a digest of all that it does, the seed apart: two links with the same are one link.
    pub fn fingerprint(&self) -> String {
        let mut hasher = SipHasher24::new();
        let LinkSpec {
            name,
            seed: _,
            interface_mtu,
            forward,
            reverse,
        } = self;
        let text = format!("{interface_mtu} {forward:?} {reverse:?}");
        hasher.write(text.as_bytes());
        format!("{name} {:016x}", hasher.finish())
    }
}

/// One direction: the stages before the choice of a route, then the routes, in the order of the fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionSpec {
    /// MTU of the path.
    pub mtu: Mtu,
    /// Loss that grows with length.
    pub long_packet_loss: Option<LongPacketLoss>,
    /// Cap on each flow.
    pub flow_rate: Option<FlowRateCap>,
    /// Cap on packets per second, all flows together.
    pub packet_rate: Option<PacketRateCap>,
    /// Loss added for every flow beyond the first that was active within the last second, 0 to 1: a network card
    /// that handles many flows badly. It is the host's card: it sees the flows even where the network does not,
    /// see `hide_five_tuple`. At most 65,536 flows are distinguished.
    pub extra_flow_loss: f64,
    /// The network sees all flows of a pair of hosts as one: they take one route, and `flow_rate` applies to all of
    /// them together.
    pub hide_five_tuple: bool,
    /// Route selection.
    pub choice: RouteChoice,
    /// Parallel routes, 1 to 256.
    pub routes: Vec<RouteSpec>,
}

/// MTU of a path, and the handling of longer packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mtu {
    /// IP packet bytes.
    pub bytes: u32,
    /// Handling of longer packets.
    pub too_big: TooBig,
}

/// Handling of a packet longer than the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TooBig {
    /// Dropped silently: a black hole.
    Drop,
    /// Dropped, with a message to the sender (ICMP "fragmentation needed", ICMPv6 "packet too big").
    Icmp,
}

/// Loss of packets above a length below the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongPacketLoss {
    /// IP packet bytes; longer ones are affected.
    pub above: u32,
    /// Probability of loss, 0 to 1.
    pub loss: f64,
}

/// Cap on the rate of each flow: a token bucket, full when the flow begins; excess packets are dropped. A packet
/// longer than the burst never passes. At most 65,536 flows are remembered; beyond them the one idle for
/// longest starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRateCap {
    /// Bits per second, IP packets.
    pub rate: u64,
    /// Burst, bytes.
    pub burst: u64,
}

/// Cap on packets per second: a token bucket; excess packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRateCap {
    /// Packets per second.
    pub rate: u64,
    /// Burst, packets.
    pub burst: u64,
}

/// Route selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteChoice {
    /// By a hash of its 5-tuple: all packets of a flow take the same route (ECMP).
    FiveTuple,
    /// By a hash of its addresses and its source port, as where a tunnel hides the rest.
    SourcePort,
    /// Per packet, at random.
    PerPacket,
}

/// One route: a queue before a transmitter, then propagation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteSpec {
    /// Relative share of the flows or packets.
    pub weight: u32,
    /// Its transmitter.
    pub rate: RateSpec,
    /// Overhead of each packet on the wire, bytes (14 for Ethernet, as the kernel's shapers count).
    pub overhead: u32,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Random part of the delay.
    pub jitter: Option<Jitter>,
    /// The queue before the transmitter.
    pub queue: QueueSpec,
    /// Loss processes before the queue; any of them can lose a packet. At most 256.
    pub loss: Vec<LossSpec>,
    /// Probability that a packet arrives twice, 0 to 1. The copy arrives right after it, with the same corruption.
    pub duplicate: f64,
    /// Probability that one bit of a packet is flipped, 0 to 1.
    pub corrupt: f64,
    /// Times in which the route accepts no packet. Packets already in the queue or in propagation still arrive.
    pub dark: Vec<DarkSpan>,
}

/// A transmitter's rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSpec {
    /// No queue forms, transmission takes no time.
    Unlimited,
    /// Bits per second.
    Fixed(u64),
    /// A sequence of rates, repeated.
    Steps(Vec<RateStep>),
    /// Mahimahi's delivery opportunities (Netravali et al., USENIX ATC 2015). Several packets may share one, and a
    /// packet may need several; the rest of one is lost if no packet waits. A packet that arrives exactly at an
    /// opportunity misses it.
    Opportunities {
        /// Their times from the start, ascending, up to `period_ns`; several may coincide.
        at_ns: Vec<u64>,
        /// Period of the trace.
        period_ns: u64,
        /// Bytes per opportunity (1504 in mahimahi).
        bytes: u32,
    },
}

/// A rate for a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStep {
    /// Duration.
    pub duration_ns: u64,
    /// Bits per second; 0 sends nothing.
    pub rate: u64,
}

/// Random delay, uniform from 0 to a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// The maximum.
    pub most_ns: u64,
    /// Packets may overtake each other; otherwise a packet waits for the previous one.
    pub reorder: bool,
}

/// A loss process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// Independent loss with this probability.
    Bernoulli(f64),
    /// Two states (Gilbert 1960, Elliott 1963), one step after each packet. The first state is drawn from the
    /// stationary distribution, so the expected loss is the same for every packet.
    GilbertElliott {
        /// From good to bad.
        to_bad: f64,
        /// From bad to good.
        to_good: f64,
        /// Loss while good.
        loss_good: f64,
        /// Loss while bad.
        loss_bad: f64,
    },
    /// Exactly these packets, ascending, counted from 0 in the order in which they took the route, including those
    /// dropped by a dark span.
    Packets(Vec<u64>),
}

impl LossSpec {
    /// Gilbert's model: packets in the bad state are lost, others are not.
    pub fn gilbert(to_bad: f64, to_good: f64) -> Self {
        LossSpec::GilbertElliott {
            to_bad,
            to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
        }
    }
}

/// A time in which a route is dark, from the start of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DarkSpan {
    /// First nanosecond.
    pub from_ns: u64,
    /// First nanosecond after it.
    pub to_ns: u64,
}

impl Default for DirectionSpec {
    /// One clean route and an MTU of 1,500 bytes.
    fn default() -> Self {
        Self::clean()
    }
}

impl DirectionSpec {
    /// One clean route and an MTU of 1,500 bytes: packets up to it pass without delay.
    pub fn clean() -> Self {
        Self::over(vec![RouteSpec::clean()])
    }

    /// These routes, chosen by 5-tuple, with an MTU of 1,500 bytes and no faults before them.
    pub fn over(routes: Vec<RouteSpec>) -> Self {
        Self {
            mtu: Mtu {
                bytes: 1500,
                too_big: TooBig::Icmp,
            },
            long_packet_loss: None,
            flow_rate: None,
            packet_rate: None,
            extra_flow_loss: 0.0,
            hide_five_tuple: false,
            choice: RouteChoice::FiveTuple,
            routes,
        }
    }
}

impl Default for RouteSpec {
    /// See [`RouteSpec::clean`].
    fn default() -> Self {
        Self::clean()
    }
}

impl RouteSpec {
    /// Unlimited rate, no delay, no faults, weight 1.
    pub fn clean() -> Self {
        Self {
            weight: 1,
            rate: RateSpec::Unlimited,
            overhead: 0,
            delay_ns: 0,
            jitter: None,
            queue: QueueSpec::Unlimited,
            loss: Vec::new(),
            duplicate: 0.0,
            corrupt: 0.0,
            dark: Vec::new(),
        }
    }
}

/// An invalid value in a specification.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{key} = {value}: {allowed}")]
pub struct SpecError {
    /// Its key, as in `forward.route[1].loss`.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}
