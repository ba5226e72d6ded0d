//! Traffic that shares a line with a stream, and its delay, loss and rate: a call, evenly spaced datagrams, a cloud
//! game, a bulk TCP download, and repeated small HTTP downloads. One process serves all kinds; a client requests one of
//! them and measures it. The decisions are pure: packets and times go in, packets and figures come out. Threads and
//! sockets are thin shells around them.
//!
//! This crate must not know of labs, scenarios or streams: it cannot tell who its neighbour is.

mod account;
mod client;
mod distribution;
mod e_model;
mod error;
mod game;
mod kind;
mod now;
mod packet;
mod report;
mod serve;
mod sockets;
mod tcp;
mod traffic;
mod voice;

pub use account::DelayAccount;
pub use client::Conversation;
pub use distribution::{DelayBins, Distribution, Times, TimesAboveMin};
pub use e_model::{Call, G711_PLC_BPL, Rating, mos, rate};
pub use error::NeighbourError;
pub use game::{FrameSizes, GameAccount};
pub use kind::{Kind, MOST_STREAMS};
pub use now::Now;
pub use packet::{Data, Frame, PacketError, Refusal, ToClient, ToServer};
pub use report::{
    BulkFigures, BulkSample, Completion, DelayFigures, DelaySample, GameFigures, GameSample, HttpFigures,
    HttpSample, Measured, Report, SenderFigures, VoiceFigures,
};
pub use serve::{Limits, Server, Sessions};
pub use tcp::{
    Asking, BulkRequest, Head, HttpRequest, Request, RequestError, TcpInfoSample, read_head, read_request,
};
pub use traffic::{Asked, Ending, Traffic};
pub use voice::rate_call;

/// Length of a sample in a report, nanoseconds.
pub const SAMPLE_NS: u64 = 100_000_000;
/// Maximum duration of a measurement that a server can allow, nanoseconds: one hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
