//! What `weir send` and `weir recv` leave behind. Counts are of the time since the row before.

use serde::{Deserialize, Serialize};

use super::Quantiles;

/// A second of a sender of media (table `send_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SendSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Round trip to the receiver; none as long as none has answered.
    pub receiver_rtt_ns: Option<u64>,
    /// Frames sent.
    pub frames: u64,
    /// Frames of the input that were not sent: nobody wanted them, or the network was slower than the input.
    pub frames_skipped: u64,
    /// Source packets sent, each counted once.
    pub sources: u64,
    /// UDP payload bytes of all packets sent.
    pub bytes: u64,
    /// Repair packets sent.
    pub repairs: u64,
    /// Source packets sent again because the receiver asked for them.
    pub retransmitted: u64,
    /// Copies of packets that were sent to try flows, or to see whether the last packet came.
    pub trials: u64,
    /// Requests of the receiver that could not be met in time.
    pub refused: u64,
    /// Packets that the kernel had no room for.
    pub unsent: u64,
    /// Feedback that was not the receiver's: wrong tag, session or form.
    pub rejected: u64,
    /// Code rate in use: one repair packet for each so many source packets; none without FEC.
    pub fec_sources: Option<u32>,
    /// The last so many source packets that a repair packet covers; none without FEC.
    pub fec_window: Option<u32>,
    /// CPU time of the sending thread.
    pub cpu_ns: u64,
}

/// A second of a receiver of media with one of its senders (table `recv_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecvSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Index of the sender, from 0.
    pub sender: u16,
    /// Round trip to the sender.
    pub rtt_ns: u64,
    /// Source packets that came and were new, those that came late or again among them.
    pub received: u64,
    /// UDP payload bytes of all packets that came.
    pub bytes: u64,
    /// Repair packets that came.
    pub repairs: u64,
    /// Source packets that did not come as they were first sent.
    pub lost: u64,
    /// Of these, those recovered by FEC.
    pub recovered: u64,
    /// Of these, those that came again because they were asked for (ARQ).
    pub retransmitted: u64,
    /// Of these, those that came late by themselves: overtaken by packets of their own flow.
    pub overtaken: u64,
    /// Of these, those whose content another sender had brought.
    pub elsewhere: u64,
    /// Of these, those that were given up.
    pub unrepaired: u64,
    /// Packets that came after their playout deadline: their frames had been given out.
    pub late: u64,
    /// Copies of packets that had come before.
    pub duplicates: u64,
    /// Packets with a wrong tag, session or form.
    pub rejected: u64,
    /// Symbols asked for: those of one source packet count each time that they are asked for.
    pub asked: u64,
    /// Packets that the kernel dropped at the sockets because their buffers were full.
    pub socket_drops: u64,
    /// CPU time of the receiving thread; where one thread serves several senders, in the row of one of them, and 0 in
    /// those of the others.
    pub cpu_ns: u64,
}

/// A second of the frames that a receiver of media gave out (table `frame_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Frames given out whole.
    pub frames: u64,
    /// Frames given out with something missing, which was concealed.
    pub damaged: u64,
    /// Frames of which nothing came; concealed.
    pub lost: u64,
    /// Whole frames thrown away because the reader of the output was slow.
    pub dropped: u64,
    /// Frames whose hash is that of the sender.
    pub verified: u64,
    /// Frames whose hash differs from that of the sender.
    pub unequal: u64,
    /// The latency budget.
    pub budget_ns: u64,
    /// From capture, taken as the time when its first packet left the sender, to output at the receiver; the fastest packet is
    /// taken to have been on its way for half a round trip.
    pub delay: Quantiles,
    /// How much of the budget had passed when the frame was complete.
    pub used: Quantiles,
}

/// What a sender of media does with a flow from a time on (table `flow_changes`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowChange {
    /// When that began.
    pub unix_ns: u64,
    /// Index of the sender, from 0.
    pub sender: u16,
    /// Index of the flow, from 0.
    pub flow: u16,
    /// One of [`FlowChange::STATES`].
    pub state: String,
}

impl FlowChange {
    /// What a sender does with a flow: uses it; has left it because its receiver reports it silent, or losing; tries
    /// it again. The store takes no other word.
    pub const STATES: [&str; 4] = ["used", "silent", "losing", "trial"];
}

/// Something that happened while media was carried (table `media_events`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaEvent {
    /// When.
    pub unix_ns: u64,
    /// Index of the sender that it is about, from 0; none where it is about none or all of them.
    pub sender: Option<u16>,
    /// One of [`MediaEvent::EVENTS`].
    pub event: String,
    /// A sentence for people. Parts of it may come from a far host or from the input: it may hold anything.
    pub detail: String,
}

impl MediaEvent {
    /// What can happen; `stopped` is the circuit breaker. The store takes no other word.
    pub const EVENTS: [&str; 9] = [
        "connected",
        "disconnected",
        "format",
        "ended",
        "switched",
        "stopped",
        "restarted",
        "slow_reader",
        "refused",
    ];
}
