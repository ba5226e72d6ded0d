//! What a link does, as plain data with every quantity resolved: rates in bits per second, lengths in bytes of IP
//! packet, times in nanoseconds, probabilities from 0 to 1. How a file or a command line says it is not known here.

mod check;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Both directions of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Name of the profile or file it came from.
    pub name: String,
    /// Seed of everything random.
    pub seed: u64,
    /// MTU of the interfaces on both hosts; what passes inside may be less, see [`DirectionSpec::mtu`].
    pub interface_mtu: u32,
    /// From the near host to the far one.
    pub forward: DirectionSpec,
    /// Back.
    pub reverse: DirectionSpec,
}

/// One direction: what happens before a packet is given a route, then the routes, in the order of the fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionSpec {
    /// Longest packet that passes.
    pub mtu: Mtu,
    /// Loss that grows with length.
    pub long_packet_loss: Option<LongPacketLoss>,
    /// Cap on each flow.
    pub flow_rate: Option<FlowRateCap>,
    /// Cap on packets per second, all flows together.
    pub packet_rate: Option<PacketRateCap>,
    /// Loss added for every flow beyond the first that was seen within the last second, 0 to 1: a network card
    /// that does badly with many flows. The card is the host's: it sees the flows even where the network does not,
    /// see `hide_five_tuple`. At most 65,536 flows are told apart.
    pub extra_flow_loss: f64,
    /// The network sees all flows of a pair of hosts as one: they take one route, and `flow_rate` holds for all of
    /// them together.
    pub hide_five_tuple: bool,
    /// How a packet is given a route.
    pub choice: RouteChoice,
    /// Parallel routes, 1 to 256.
    pub routes: Vec<RouteSpec>,
}

/// Longest packet that passes, and what becomes of longer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mtu {
    /// IP packet bytes.
    pub bytes: u32,
    /// What becomes of longer packets.
    pub too_big: TooBig,
}

/// What becomes of a packet longer than the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TooBig {
    /// Dropped without a word: a black hole.
    Drop,
    /// Dropped, and the sender is told (ICMP "fragmentation needed", ICMPv6 "packet too big").
    Icmp,
}

/// Packets above a length are lost more often than the MTU says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongPacketLoss {
    /// IP packet bytes; longer ones are affected.
    pub above: u32,
    /// Probability of loss, 0 to 1.
    pub loss: f64,
}

/// Cap on the rate of each flow: a token bucket, full when the flow begins; what exceeds it is dropped. A packet
/// longer than the burst never passes. At most 65,536 flows are remembered; beyond them the one that was quiet for
/// longest begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRateCap {
    /// Bits per second, IP packets.
    pub rate: u64,
    /// Bytes that may pass at once.
    pub burst: u64,
}

/// Cap on packets per second: a token bucket, what exceeds it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRateCap {
    /// Packets per second.
    pub rate: u64,
    /// Packets that may pass at once.
    pub burst: u64,
}

/// How a packet is given a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteChoice {
    /// By a hash of its 5-tuple: all packets of a flow take the same route (ECMP).
    FiveTuple,
    /// Each packet by itself, at random.
    PerPacket,
}

/// One route: a queue before a transmitter, then a distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteSpec {
    /// Share of flows or packets that it gets, relative to the others.
    pub weight: u32,
    /// Its transmitter.
    pub rate: RateSpec,
    /// Bytes that each packet takes on the wire beside itself (14 for Ethernet as the kernel's shapers count).
    pub overhead: u32,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Random part of the delay.
    pub jitter: Option<Jitter>,
    /// What may wait before the transmitter.
    pub queue: QueueSpec,
    /// Loss before the queue; a packet is lost if any of them says so. At most 256.
    pub loss: Vec<LossSpec>,
    /// Probability that a packet arrives twice, 0 to 1. The copy arrives right behind it and is corrupted like it.
    pub duplicate: f64,
    /// Probability that one bit of a packet is flipped, 0 to 1.
    pub corrupt: f64,
    /// Times in which nothing gets in. What was already in the queue or on its way still arrives.
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
    /// Rates that follow each other, again from the start after the last.
    Steps(Vec<RateStep>),
    /// Mahimahi's delivery opportunities (Netravali et al., USENIX ATC 2015). Several packets may share one and a
    /// packet may need several; what one has left when nothing waits is lost. A packet that comes at the very
    /// instant of an opportunity is too late for it.
    Opportunities {
        /// When each is, from the start, ascending, up to `period_ns`; several may be at once.
        at_ns: Vec<u64>,
        /// The trace begins again after this long.
        period_ns: u64,
        /// What one carries, bytes (1504 in mahimahi).
        bytes: u32,
    },
}

/// A rate that holds for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStep {
    /// How long.
    pub duration_ns: u64,
    /// Bits per second; 0 sends nothing.
    pub rate: u64,
}

/// Random delay, evenly from 0 to a most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// The most.
    pub most_ns: u64,
    /// Packets may overtake each other; otherwise a packet waits for the one before it.
    pub reorder: bool,
}

/// What may wait before a transmitter, the packet in transmission not counted; a packet that does not fit is
/// dropped (tail drop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueSpec {
    /// Everything.
    Unlimited,
    /// So many bytes of IP packets.
    Bytes(u64),
    /// So many packets.
    Packets(u64),
}

/// A process that loses packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// Each with this probability.
    Bernoulli(f64),
    /// Two states (Gilbert 1960, Elliott 1963), one step after each packet. The first state is drawn from the
    /// stationary distribution, so the expected loss is the same from the first packet on.
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
    /// Exactly these packets, ascending, counted from 0 in the order in which they were given the route, those
    /// that a dark span dropped included.
    Packets(Vec<u64>),
}

/// A time in which a route is dark, from the start of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DarkSpan {
    /// First nanosecond.
    pub from_ns: u64,
    /// First nanosecond after it.
    pub to_ns: u64,
}

impl QueueSpec {
    /// A queue of so many bandwidth-delay products, in bytes rounded down: `rate` in bit/s, `rtt_ns` the round-trip
    /// time with empty queues.
    pub fn bdp(rate: u64, rtt_ns: u64, factor: f64) -> Self {
        let bits = rate as f64 * (rtt_ns as f64 / 1e9);
        Self::Bytes((bits / 8.0 * factor) as u64)
    }
}

impl Default for DirectionSpec {
    /// One clean route and an MTU of 1,500 bytes.
    fn default() -> Self {
        Self::clean()
    }
}

impl DirectionSpec {
    /// One clean route and an MTU of 1,500 bytes: everything up to it passes at once.
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

/// What a link cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{key} = {value}: {allowed}")]
pub struct SpecError {
    /// Where it stands, as in `forward.route[1].loss`.
    pub key: String,
    /// What stands there.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}
