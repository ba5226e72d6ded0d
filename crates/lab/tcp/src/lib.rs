//! TCP in virtual time: both ends of a bulk connection as state machines, to see what congestion controls do to queues, to
//! loss and to each other. [`Sender`] and [`Receiver`] are cores: times, packets and bytes go in, packets and the time of
//! the next wake-up come out. [`Host`] puts many of them at an end of an emulated link.
//!
//! Data goes one way. There is no opening or closing of connections, no urgent data, no wrapping of sequences, and no
//! undoing of a reduction that reordering caused. It must not know sockets, clocks, applications or what is measured.

mod control;
mod host;
mod pacing;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segment;
mod sender;

pub use control::{Algorithm, SlowStart};
pub use host::{Content, Host, endless};
pub use receiver::{Receiver, ReceiverConfig};
pub use segment::{Ack, Blocks, Data, HEADER_BYTES, MOST_BLOCKS, Segment, USUAL_MSS};
pub use sender::{EcnUse, Sender, SenderConfig, SenderCounters};
