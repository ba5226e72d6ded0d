//! Traffic that shares a line with a stream, and what becomes of it: a call, evenly spaced datagrams, a cloud game, a
//! TCP download as fast as it goes, and repeated small ones over HTTP. One process serves all kinds; a client asks for
//! one of them and accounts for it. The decisions are pure: packets and times go in, packets and figures come out. Threads
//! and sockets lie around them, thin.
//!
//! This crate must not know of labs, scenarios or streams: it cannot tell who its neighbour is.

mod account;
mod client;
mod distribution;
mod e_model;
mod error;
mod game;
mod packet;
mod report;
mod serve;
mod tcp;
mod traffic;
mod voice;

pub use account::DelayAccount;
pub use client::{Conversation, Ending, measure_datagrams};
pub use distribution::{DelayBins, Distribution, Times, TimesAboveMin};
pub use e_model::{Call, DEFAULT_BPL, G711_PLC_BPL, Rating, mos, rate};
pub use error::NeighbourError;
pub use game::{FrameSizes, GameAccount};
pub use packet::{Data, Frame, PacketError, Refusal, ToClient, ToServer};
pub use report::{
    BulkFigures, BulkSample, Completion, DelayFigures, DelaySample, GameFigures, GameSample, HttpFigures,
    HttpSample, Measured, Report, SenderFigures, VoiceFigures,
};
pub use serve::{Limits, Now, Server, Sessions};
pub use tcp::{
    Asking, BulkRequest, Congestion, Head, HttpRequest, Reading, Request, RequestError, measure_bulk,
    measure_http, read_head, read_request,
};
pub use traffic::{Asked, Traffic};
pub use voice::rate_call;

/// Length of a sample in a report, nanoseconds.
pub const SAMPLE_NS: u64 = 100_000_000;
/// Longest measurement that a server may be told to allow, nanoseconds: one hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
