//! Flowlet transport of uncompressed video: a [`Sender`] that spreads frames over several flows, and a [`Receiver`] that
//! reassembles them, from one sender or from several of the same stream. Losses are repaired by
//! a sliding-window code, by retransmission, by another sender, or by all of these.
//!
//! State machines like those of quinn-proto: packets, frames and the time go in; packets, frames, events and the next
//! time to call come out. No socket, no clock, no thread. Input from the network may be hostile: memory is
//! bounded by the configuration, and the work for a packet by a constant.

mod adaptive;
mod arrivals;
mod breaker;
mod feed;
mod flowlets;
mod frames;
mod layout;
mod missing;
mod pacing;
mod past;
mod receiver;
mod sender;
mod shares;
mod stored;
mod stream;
mod switch;
mod tail;
mod terms;
mod transit;

/// Overhead of the longest packet, a repair packet, in bytes: its header, the FEC header of each protected packet, and
/// the protected part of the media header.
pub const PACKET_OVERHEAD: u32 =
    (weir_wire::REPAIR_HEADER_LENGTH + weir_fec::ADUI_HEADER + weir_wire::FRAMING_LENGTH) as u32;

pub use adaptive::{AdaptiveLimits, Fec};
pub use breaker::{Breaker, BreakerLimits, Broken};
pub use flowlets::{FlowChange, FlowState, Flowlets};
pub use frames::{Frame, OutputFrame, Piece as MissingPiece};
pub use pacing::{Pace, usual_burst};
pub use receiver::{Join, Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig, SenderEvent, Transmit};
pub use shares::{FrameKey, FrameKeys, JoinedFrame, Joiner, MAX_SHARES, Shares};
pub use stream::MAX_SENDERS;
pub use switch::SwitchLimits;
pub use terms::{ReceiverConfigError, ReceiverEvent, SenderIndex, SenderTerms, SwitchReason};
