//! What was received, added up over a whole run. It must not know threads or senders' connections.

use serde::Serialize;
use weir_measure::BitRate;
use weir_results::{Quantiles, RecvSecond};

use super::output::{OutputTotals, quantiles};
use crate::RecvLive;

/// What was received.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecvSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Time from the first session on, nanoseconds.
    pub duration_ns: u64,
    /// The latency budget, nanoseconds.
    pub budget_ns: u64,
    /// Frames given out whole.
    pub frames: u64,
    /// Frames with something missing, concealed.
    pub frames_damaged: u64,
    /// Frames of which nothing came, concealed.
    pub frames_lost: u64,
    /// Frames thrown away because the reader was slow.
    pub frames_dropped: u64,
    /// Frames that have the sender's hash.
    pub frames_verified: u64,
    /// Frames that have not.
    pub frames_unequal: u64,
    /// From the first packet of a frame to its output, nanoseconds.
    pub delay: Quantiles,
    /// Of the latency budget, until a frame was complete, nanoseconds.
    pub used: Quantiles,
    /// Each sender.
    pub senders: Vec<SenderSummary>,
    /// CPU time of the receiving thread, nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of all threads, nanoseconds.
    pub process_cpu_ns: u64,
    /// Events, all together.
    pub events: u64,
}

/// What came from one sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderSummary {
    /// As on the command line.
    pub from: String,
    /// Sessions with it.
    pub sessions: u64,
    /// Flows of the last one.
    pub flows: u16,
    /// UDP payload bytes.
    pub bytes: u64,
    /// Source packets that came.
    pub received: u64,
    /// Repair packets that came.
    pub repairs: u64,
    /// Source packets that did not come as first sent, not even late.
    pub lost: u64,
    /// Those that were taken for lost for a while, too.
    #[serde(skip)]
    pub(super) missed: u64,
    /// Of these, given back by FEC.
    pub recovered: u64,
    /// Of these, sent again in time.
    pub retransmitted: u64,
    /// Source packets that were taken for lost, and then came on their own.
    pub overtaken: u64,
    /// Of those lost, brought by another sender.
    pub elsewhere: u64,
    /// Of these, never repaired.
    pub unrepaired: u64,
    /// Packets of frames that had been given out.
    pub late: u64,
    /// Packets that had come before.
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
        sender.bytes += row.bytes;
        sender.received += row.received;
        sender.repairs += row.repairs;
        sender.missed += row.lost;
        sender.recovered += row.recovered;
        sender.retransmitted += row.retransmitted;
        sender.overtaken += row.overtaken;
        sender.lost = sender.missed.saturating_sub(sender.overtaken);
        sender.elsewhere += row.elsewhere;
        sender.unrepaired += row.unrepaired;
        sender.late += row.late;
        sender.duplicates += row.duplicates;
        sender.rejected += row.rejected;
        sender.socket_drops += row.socket_drops;
        sender.rtt_ns = row.rtt_ns;
    }

    /// Takes what was counted of all frames.
    pub(super) fn set_frames(&mut self, totals: &OutputTotals) {
        self.frames = totals.frames;
        self.frames_damaged = totals.damaged;
        self.frames_lost = totals.lost;
        self.frames_dropped = totals.dropped;
        self.frames_verified = totals.verified;
        self.frames_unequal = totals.unequal;
        self.delay = quantiles(&totals.delay);
        self.used = quantiles(&totals.used);
    }
}

impl RecvLive {
    /// Adds a second of a sender's packets.
    pub(super) fn add(&mut self, row: &RecvSecond) {
        self.rate += BitRate::of(row.bytes, row.duration_ns).0;
        self.received += row.received;
        self.lost += row.lost.saturating_sub(row.overtaken);
        self.recovered += row.recovered;
        self.retransmitted += row.retransmitted;
        self.unrepaired += row.unrepaired;
        self.late += row.late;
    }
}
