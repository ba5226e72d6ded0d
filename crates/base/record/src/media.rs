//! Records of `weir send` and `weir recv`. Counts are since the previous row.

use weir_stats::{ArrivalCounters, FrameCounters, Quantiles, SenderCounters};

use crate::rows::records;

records! {
    /// A second of a sender of media (table `send_seconds`). Counts are of this second alone.
    pub struct SendSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Round-trip time to the receiver; none before its first feedback.
        receiver_rtt_ns: Option<u64> => later,
        /// Frames, packets and requests.
        #[serde(flatten)]
        counts: SenderCounters => counts,
        /// Code rate in use: source packets per repair packet; none without FEC.
        fec_sources: Option<u32> => later,
        /// Window of a repair packet, source packets; none without FEC.
        fec_window: Option<u32> => later,
        /// CPU time of the sending threads.
        cpu_ns: u64 => sum,
    }

    /// A second of a receiver of media with one of its senders (table `recv_seconds`). Counts are of this second alone.
    pub struct RecvSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Index of the sender, from 0.
        sender: u16 => same,
        /// Round-trip time to the sender.
        rtt_ns: u64 => later,
        /// Packets.
        #[serde(flatten)]
        counts: ArrivalCounters => counts,
        /// Packets that the kernel dropped at the sockets because their buffers were full.
        socket_drops: u64 => sum,
        /// CPU time of the receiving thread; if one thread serves several senders, in the row of one of them, and 0 in
        /// the others.
        cpu_ns: u64 => sum,
    }

    /// A second of the output frames of a receiver of media (table `frame_seconds`). Counts are of this second alone.
    pub struct FrameSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Frames of the output.
        #[serde(flatten)]
        counts: FrameCounters => counts,
        /// The latency budget.
        budget_ns: u64 => later,
        /// From capture (the send time of the first packet) to output at the receiver; the transit time of the fastest
        /// packet is assumed to be half a round trip.
        delay: Quantiles => quantiles,
        /// Used part of the budget when the frame was complete.
        used: Quantiles => quantiles,
    }

    /// A change of a sender's use of a flow (table `flow_changes`).
    pub struct FlowChange {
        /// Time of the change.
        unix_ns: u64,
        /// Index of the sender, from 0.
        sender: u16,
        /// Index of the flow, from 0.
        flow: u16,
        /// One of [`FlowChange::STATES`].
        state: String,
    }

    /// An event of a media stream (table `media_events`).
    pub struct MediaEvent {
        /// Time.
        unix_ns: u64,
        /// Index of its sender, from 0; none if it concerns none or all of them.
        sender: Option<u16>,
        /// One of [`MediaEvent::EVENTS`].
        event: String,
        /// Details for the user. Parts may come from a far host or from the input: treat it as untrusted text.
        detail: String,
        /// One of [`MediaEvent::STATES`].
        state: String,
    }
}

impl FlowChange {
    /// Uses of a flow: in use; suspended because the receiver reports it as silent, or as losing; probed
    /// again. The store accepts no other word.
    pub const STATES: [&str; 4] = ["used", "silent", "losing", "trial"];
}

impl MediaEvent {
    /// Kinds of events; `stopped` is the circuit breaker, and from `residual_loss` on they are alarms. The store accepts no
    /// other word.
    pub const EVENTS: [&str; 16] = [
        "connected",
        "disconnected",
        "format",
        "ended",
        "switched",
        "stopped",
        "restarted",
        "slow_reader",
        "refused",
        "key_renewed",
        "residual_loss",
        "fec_exhausted",
        "over_budget",
        "flow_dark",
        "rejected",
        "held_up",
    ];

    /// What an event says about its subject: it is over at once; an alarm is raised, or cleared. The store accepts no other
    /// word.
    pub const STATES: [&str; 3] = ["happened", "raised", "cleared"];
}
