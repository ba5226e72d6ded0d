//! Carries raw video between two hosts: the sockets, clocks, threads and files around `weir-stream-proto`, and the control
//! session in which sender and receiver agree. It must not know arguments, tables or the results store's file: it hands
//! records to a [`Watch`].
//!
//! The sender listens and the receiver connects, so that nothing is ever sent to a host that did not request it. One
//! thread reads frames, one sends them; one receives packets, one writes frames; buffers circulate between them. At high rates
//! several send and several receive, each a share of the stream.

mod alarms;
mod announce;
mod error;
mod events;
mod messages;
mod metrics;
mod priority;
pub mod recv;
pub mod send;
mod shares;
pub mod source;
mod watch;

pub use error::StreamError;
pub use events::{Event, EventKind, EventState, Subject};
pub use watch::{Live, RecvLive, SendLive, Watch};
pub use weir_measure::Threads;

use weir_control::Service;

/// Each packet thread has a share of the stream.
const _: () = assert!(weir_measure::MAX_THREADS == weir_stream_proto::MAX_SHARES);

/// TCP port on which a sender listens for receivers by default.
pub const DEFAULT_SEND_PORT: u16 = 4848;
/// The service that a receiver connects to.
const SENDER: Service = Service {
    name: "sender",
    command: "weir send",
    when_busy: "another receiver is connected to it; a sender serves one at a time",
};
