//! The multi-flow test: a stream at a video's rate over several UDP flows, and an exact account of what came of
//! each packet.
//!
//! `schedule`, `packing`, `burst_places` and `stream_sender` (what is sent when), `account` (what became of it) and `summary` (both ends'
//! accounts joined) are pure; so are `read_time`, and `lockstep`, `sender_account` and `interleave`, by which several threads at
//! an end do what one would. `sender`, and `receiver` with `reader` and `intake`, hold the sockets; `client` runs a test from this end.

mod account;
mod burst_places;
mod client;
mod host_limit;
mod intake;
mod interleave;
mod load;
mod lockstep;
mod packing;
mod read_time;
mod reader;
mod receiver;
mod report;
mod request;
mod schedule;
mod sender;
mod sender_account;
#[cfg(test)]
mod several;
mod stream_sender;
mod summary;

pub use account::{StreamAccount, StreamAccountPlan};
pub use burst_places::{Burst, BurstPlaces};
pub use client::run;
pub(crate) use client::{SenderThread, join, spawn_sender};
pub use host_limit::{HostLimit, LATE_NS, LEAST_SENT, Sending};
pub use packing::{Pacing, StreamPacker, StreamPacket};
pub use read_time::ReadTime;
pub(crate) use receiver::{Receiver, ReceiverPlan};
pub use report::{FlowReport, ReceiverReport, SenderReport};
pub use request::{
    FlowsPlan, FlowsRequest, FlowsWays, LENGTH_FROM_PATH_MTU, MOST_FLOWS, SHORTEST, VariedPort,
};
pub use schedule::{Block, FrameSchedule};
pub(crate) use sender::{SenderPlan, run_sender, sending_options};
pub use sender_account::{SenderAccount, SenderPart, SenderWhole};
pub use stream_sender::StreamSender;
pub use summary::{BothEnds, DirectionSummary, FlowEnds, FlowsSummary, ReceiverFields, account_plan};
