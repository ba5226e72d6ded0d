//! What a receiver agrees on with each of its senders, and what it reports. It must not know packets.

use weir_fec::DecoderConfigError;
use weir_protect::StreamSecrets;
use weir_wire::SessionId;

/// A sender of a receiver. Not reused before 65,535 other senders were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SenderIndex(pub u16);

/// Parameters agreed with a sender.
#[derive(Clone, Debug)]
pub struct SenderTerms {
    /// The session.
    pub session: SessionId,
    /// Its secrets, as the receiver has them.
    pub secrets: StreamSecrets,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// Maximum window of a repair, packets; none without FEC.
    pub fec_window: Option<u16>,
    /// Number of packets that the decoder remembers: those of the latency and of a window together, and those by which
    /// flows are apart that are read one after the other. It remembers [`weir_fec::MAX_HISTORY`] at most.
    pub fec_history: u16,
    /// Whether the sender retransmits on request.
    pub arq: bool,
    /// Round-trip time to the sender until it is measured, nanoseconds.
    pub rtt_ns: u64,
    /// With [`Join::Switch`](crate::Join::Switch): the sender with the lowest rank is preferred. One that returns with a new session keeps its
    /// rank.
    pub rank: u16,
}

/// Why the parameters of a receiver or sender are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverConfigError {
    /// No flows, or too many.
    #[error("a stream has 1 to 64 flows, not {0}")]
    Flows(u16),
    /// Payloads of 0 bytes, or longer than a datagram.
    #[error("a payload has 1 to 65000 bytes, not {0}")]
    Payload(u32),
    /// No frames.
    #[error("the number of frames in reassembly must be at least 1")]
    Frames,
    /// Too many senders at a time.
    #[error("a stream has at most 8 senders at a time")]
    Senders,
    /// The parameters of the code are refused.
    #[error(transparent)]
    Code(#[from] DecoderConfigError),
}

/// Events of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A description of format `format` of this sender.
    Format {
        /// The sender.
        sender: SenderIndex,
        /// Number of the format.
        format: u16,
        /// Its description, as the sender wrote it.
        description: Vec<u8>,
    },
    /// The stream of this sender ends before a frame. That of all ends when [`Receiver::ended`](crate::Receiver::ended) says so.
    End {
        /// The sender.
        sender: SenderIndex,
        /// The frame's number in the output.
        frame: u64,
    },
    /// With [`Join::Switch`](crate::Join::Switch): whether a sender must send from now on. Tell it, repeatedly if necessary.
    Wanted {
        /// The sender.
        sender: SenderIndex,
        /// Whether it must send.
        wanted: bool,
    },
    /// With [`Join::Switch`](crate::Join::Switch): the output switches to another sender.
    Switched {
        /// The previous sender.
        from: SenderIndex,
        /// The new sender.
        to: SenderIndex,
        /// The first frame of the new sender.
        frame: u64,
        /// The reason.
        why: SwitchReason,
    },
}

/// Why the output switches to another sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchReason {
    /// The previous sender was silent.
    Silence,
    /// The residual loss of the previous sender was too high.
    Unrepaired,
    /// The previous sender was removed.
    Removed,
    /// The other sender is preferred, and has been stable for long enough.
    Back,
}
