//! What both ends have counted when a test ends, as it goes over the control connection and into summaries. It knows no
//! packet.

use std::collections::BTreeMap;
use weir_stats::{FlowCounts, Quantiles, SendCounts};

use serde::{Deserialize, Serialize};

use crate::threads::one;

/// One flow over a whole test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Destination port.
    pub port: u16,
    /// Packets sent, where the sender said so.
    pub sent: u64,
    /// Counts.
    #[serde(flatten)]
    pub counts: FlowCounts,
    /// Times that the flow was silent while others were not.
    pub silences: u64,
    /// How long in all, nanoseconds.
    pub silent_ns: u64,
    /// The longest of them, nanoseconds.
    pub longest_silence_ns: u64,
    /// One-way delay.
    pub owd: Quantiles,
    /// Interarrival jitter when the test ended (RFC 3550, 6.4.1), of the packets received in time, nanoseconds. Reports of
    /// a Weir before it was counted have none.
    #[serde(default)]
    pub jitter_ns: u64,
    /// TTL or hop limit with which the last packet arrived: what the routers of its route have left of it. None if nothing
    /// arrived; reports of a Weir before it was noted have none.
    #[serde(default)]
    pub ttl: Option<u8>,
}

/// The sender's account of a whole test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderReport {
    /// Counts: packets from the first sequence on, without a gap but for refused ones.
    #[serde(flatten)]
    pub counts: SendCounts,
    /// Packets of each flow.
    pub sent_per_flow: Vec<u64>,
    /// Trains were cut by the kernel or the card (GSO) until the end.
    pub segmented: bool,
    /// How late bursts left.
    pub schedule_error: Quantiles,
    /// Packet threads. Reports of a Weir that had no others have none.
    #[serde(default = "one")]
    pub threads: u16,
    /// CPU time of the sending threads, nanoseconds.
    pub cpu_ns: u64,
    /// From the first packet to the last, nanoseconds.
    pub wall_ns: u64,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
}

/// The receiver's account of a whole test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverReport {
    /// Packets sent, where the sender said so; else up to the highest that arrived.
    pub sent: u64,
    /// Packets received in time.
    pub received: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Packets that never came, or too late.
    pub lost: u64,
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies of packets received before.
    pub duplicates: u64,
    /// Arrivals below the highest sequence before.
    pub reordered: u64,
    /// Datagrams with a wrong form, session or tag: none of them changed anything but this count.
    pub rejected: u64,
    /// Runs of lost packets of the whole stream.
    pub bursts: u64,
    /// The longest.
    pub longest_burst: u64,
    /// How many runs of each length.
    pub burst_lengths: BTreeMap<u64, u64>,
    /// Lost packets next to another lost one of their flow. Reports of a Weir that did not count them have none.
    #[serde(default)]
    pub lost_in_runs: Option<u64>,
    /// Windows of 100 ms with loss, by the number of flows that lost in them: time-correlated loss.
    pub windows_by_flows_losing: BTreeMap<u32, u64>,
    /// Times that all flows were silent at once.
    pub stream_silences: u64,
    /// The longest of them, nanoseconds.
    pub longest_stream_silence_ns: u64,
    /// From the first packet to the last, nanoseconds.
    pub active_ns: u64,
    /// One-way delay of all packets.
    pub owd: Quantiles,
    /// Each flow.
    pub flows: Vec<FlowReport>,
    /// Burst records that were counted but not kept one by one.
    pub events_merged: u64,
    /// The kernel merged datagrams on receive.
    pub merged_receive: bool,
    /// Datagrams in one receive buffer, on average.
    pub packets_per_buffer: f64,
    /// Receive buffer granted per flow, bytes as the kernel counts.
    pub receive_buffer: u64,
    /// Packet threads. Reports of a Weir that had no others have none.
    #[serde(default = "one")]
    pub threads: u16,
    /// CPU time of the receiving threads, and of the one that joins what several have read, nanoseconds.
    pub cpu_ns: u64,
    /// Time over which it was used, nanoseconds.
    pub wall_ns: u64,
    /// Why the receiver ended the test itself, if it did.
    pub aborted: Option<String>,
}
