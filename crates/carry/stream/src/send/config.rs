//! What to send, how, and to whom.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use weir_alarm::Hook;
use weir_fec::Choice;
use weir_protect::Demand;
use weir_stream_proto::BreakerLimits;
use weir_wire::Token;

use crate::Threads;
use crate::source::SourceConfig;

/// Which repair packets are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum FecPlan {
    /// None.
    Off,
    /// Always the same.
    Fixed(Choice),
    /// Adapted to the measured loss, up to this share of the source packets, 1/64 to 1.
    Adaptive(f64),
}

/// Pacing of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// By the frame rate, even if the input is faster.
    FrameRate,
    /// By the input, which has a clock of its own.
    Input,
}

/// What to send, how, and to whom.
#[derive(Clone, Debug)]
pub struct SendConfig {
    /// The frames.
    pub source: SourceConfig,
    /// Their pacing.
    pub pacing: Pacing,
    /// Addresses to listen on; empty: all of them with a token or `open`, else loopback.
    pub listen: Vec<IpAddr>,
    /// TCP port of the control session; 0 lets the kernel choose.
    pub port: u16,
    /// First UDP port to send from; 0 lets the kernel choose.
    pub media_port: u16,
    /// Whether flows have different source ports, too.
    pub source_ports: bool,
    /// Shared secret; empty for none.
    pub token: Token,
    /// How the stream is protected.
    pub demand: Demand,
    /// Serve any receiver on every address without a token.
    pub open: bool,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// Packet threads, among which the flows are divided.
    pub threads: Threads,
    /// Maximum UDP payload, headers included; the interface's MTU if none.
    pub length: Option<u32>,
    /// Packets of a flow per burst; by the length if none.
    pub segments: Option<u32>,
    /// Whether the kernel may segment large packets (GSO).
    pub segmentation: bool,
    /// Repair packets.
    pub fec: FecPlan,
    /// Whether to retransmit packets that the receiver reports missing.
    pub arq: bool,
    /// When to stop the stream.
    pub breaker: BreakerLimits,
    /// Hooks that receive events.
    pub hooks: Vec<Hook>,
    /// Where to serve metrics.
    pub metrics: Option<SocketAddr>,
}
