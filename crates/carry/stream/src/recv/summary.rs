//! Totals of a receiver's run. It must not know threads or senders' connections.

use serde::Serialize;
use weir_record::RecvSecond;
use weir_stats::Quantiles;
use weir_units::Rate;

use super::output::OutputTotals;
use crate::RecvLive;

/// Totals of a receiver.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecvSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Time since the first session, nanoseconds.
    pub duration_ns: u64,
    /// The latency budget, nanoseconds.
    pub budget_ns: u64,
    /// Complete frames.
    pub frames: u64,
    /// Frames with missing parts, concealed.
    pub frames_damaged: u64,
    /// Frames of which no packet arrived, concealed.
    pub frames_lost: u64,
    /// Frames dropped because the reader was slow.
    pub frames_dropped: u64,
    /// Frames that have the sender's hash.
    pub frames_verified: u64,
    /// Frames with another hash.
    pub frames_unequal: u64,
    /// From the first packet of a frame to its output, nanoseconds.
    pub delay: Quantiles,
    /// Latency budget used until a frame was complete, nanoseconds.
    pub used: Quantiles,
    /// Packet threads.
    pub threads: u16,
    /// Each sender.
    pub senders: Vec<SenderSummary>,
    /// CPU time of the receiving threads, nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of all threads, nanoseconds.
    pub process_cpu_ns: u64,
    /// Number of events.
    pub events: u64,
}

/// Totals of one sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderSummary {
    /// Its name on the command line.
    pub from: String,
    /// Sessions with it.
    pub sessions: u64,
    /// Protection of the last session.
    pub protection: Option<&'static str>,
    /// Flows of the last session.
    pub flows: u16,
    /// UDP payload bytes.
    pub bytes: u64,
    /// Source packets received.
    pub received: u64,
    /// Repair packets received.
    pub repairs: u64,
    /// Source packets whose first transmission did not arrive, not even late.
    pub lost: u64,
    /// The same, including those declared lost too early.
    #[serde(skip)]
    pub(crate) missed: u64,
    /// Of these, repaired by FEC.
    pub recovered: u64,
    /// Of these, repaired by ARQ in time.
    pub retransmitted: u64,
    /// Source packets declared lost that then arrived without retransmission.
    pub overtaken: u64,
    /// Of those lost, received from another sender.
    pub elsewhere: u64,
    /// Of these, not repaired: residual loss.
    pub unrepaired: u64,
    /// Packets that arrived after their frame was output.
    pub late: u64,
    /// Duplicates of packets received before.
    pub duplicates: u64,
    /// Datagrams that were not the sender's.
    pub rejected: u64,
    /// Packets that the kernel dropped at the sockets.
    pub socket_drops: u64,
    /// Round-trip time at the end, nanoseconds.
    pub rtt_ns: u64,
}

impl RecvSummary {
    /// Adds a second of a sender's packets.
    pub(super) fn add(&mut self, row: &RecvSecond) {
        self.cpu_ns += row.cpu_ns;
        let sender = &mut self.senders[usize::from(row.sender)];
        sender.bytes += row.counts.bytes;
        sender.received += row.counts.received;
        sender.repairs += row.counts.repairs;
        sender.missed += row.counts.lost;
        sender.recovered += row.counts.recovered;
        sender.retransmitted += row.counts.retransmitted;
        sender.overtaken += row.counts.overtaken;
        sender.lost = sender.missed.saturating_sub(sender.overtaken);
        sender.elsewhere += row.counts.elsewhere;
        sender.unrepaired += row.counts.unrepaired;
        sender.late += row.counts.late;
        sender.duplicates += row.counts.duplicates;
        sender.rejected += row.counts.rejected;
        sender.socket_drops += row.socket_drops;
        sender.rtt_ns = row.rtt_ns;
    }

    /// Sets the totals of all frames.
    pub(super) fn set_frames(&mut self, totals: &OutputTotals) {
        self.frames = totals.counts.frames;
        self.frames_damaged = totals.counts.damaged;
        self.frames_lost = totals.counts.lost;
        self.frames_dropped = totals.counts.dropped;
        self.frames_verified = totals.counts.verified;
        self.frames_unequal = totals.counts.unequal;
        self.delay = totals.delay.quantiles();
        self.used = totals.used.quantiles();
    }
}

impl RecvLive {
    /// Adds a second of a sender's packets.
    pub(super) fn add(&mut self, row: &RecvSecond) {
        self.rate += Rate::of(row.counts.bytes, row.duration_ns).0;
        self.received += row.counts.received;
        self.lost += row.counts.lost.saturating_sub(row.counts.overtaken);
        self.recovered += row.counts.recovered;
        self.retransmitted += row.counts.retransmitted;
        self.unrepaired += row.counts.unrepaired;
        self.late += row.counts.late;
    }
}
