//! Totals of a sender's run. It must not know threads or receivers' connections.

use serde::Serialize;
use weir_stats::SenderCounters;

/// Totals of a sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SendSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Protection of the last session.
    pub protection: Option<&'static str>,
    /// Packet threads of the last session.
    pub threads: u16,
    /// Receivers that were served, one after the other.
    pub receivers: u64,
    /// Frames, packets and requests.
    #[serde(flatten)]
    pub counts: SenderCounters,
    /// Time in which frames were sent, nanoseconds.
    pub duration_ns: u64,
    /// CPU time of the sending threads, nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of all threads, nanoseconds.
    pub process_cpu_ns: u64,
    /// Changes of flows' use.
    pub flow_changes: u64,
}
