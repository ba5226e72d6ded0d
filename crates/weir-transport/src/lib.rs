//! Flowlet transport of uncompressed video: a [`Sender`] that spreads frames over several flows, and a [`Receiver`] that
//! puts them together again, with what the network lost repaired by a sliding-window code, by sending it again, or by
//! both.
//!
//! State machines in the manner of quinn-proto: packets, frames and the time go in; packets, frames, events and the next
//! time to call come out. No socket, no clock, no thread. What comes from the network may be anything: memory is
//! bounded by the configuration, and the work for a packet by a constant.

mod arrivals;
mod breaker;
mod flowlets;
mod frames;
mod missing;
mod pacing;
mod receiver;
mod sender;
mod stored;
mod transit;

pub use breaker::{Breaker, BreakerLimits, Broken};
pub use flowlets::{FlowChange, FlowState, Flowlets};
pub use frames::{Frame, Given, Piece as MissingPiece};
pub use pacing::Pace;
pub use receiver::{Receiver, ReceiverConfig, ReceiverConfigError, ReceiverCounters, ReceiverEvent};
pub use sender::{Sender, SenderConfig, SenderCounters, SenderEvent, Transmit};
