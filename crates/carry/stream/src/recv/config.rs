//! The configuration of a receiver. It must not know how it is carried out.

use std::net::SocketAddr;
use std::time::Duration;

use weir_alarm::Hook;
use weir_control::Family;
use weir_protect::Demand;
use weir_stream_proto::Join;
use weir_wire::Token;

use super::output::OutputPlan;
use crate::Threads;

/// What to receive, from whom, and where it goes.
#[derive(Clone, Debug)]
pub struct RecvConfig {
    /// Senders, host names or addresses with optional ports.
    pub from: Vec<String>,
    /// IP version.
    pub family: Family,
    /// Shared secret; empty for none.
    pub token: Token,
    /// How the streams have to be protected.
    pub demand: Demand,
    /// How several senders are joined.
    pub join: Join,
    /// Maximum number of packet threads. With [`Join::Switch`] there is one.
    pub threads: Threads,
    /// How long to wait for missing packets, nanoseconds.
    pub latency_ns: u64,
    /// Where frames go. Its budget is `latency_ns`.
    pub output: OutputPlan,
    /// Hooks that receive events.
    pub hooks: Vec<Hook>,
    /// Where to serve metrics.
    pub metrics: Option<SocketAddr>,
    /// How long to try to connect.
    pub patience: Duration,
    /// Receive buffer of each flow, bytes; if none, sized for the packets of slightly more than the latency.
    pub receive_buffer: Option<usize>,
    /// Whether the kernel may merge packets.
    pub merge: bool,
    /// Time after which to end.
    pub duration: Option<Duration>,
}
