//! The multi-flow test: a stream at a video's rate over several UDP flows, and an exact account of what came of
//! each packet.
//!
//! `schedule` (what is sent when) and `account` (what became of it) are pure; `sender` and `receiver` hold the
//! sockets; `client` runs a test from this end.

mod account;
mod client;
mod receiver;
mod report;
mod request;
mod schedule;
mod sender;

pub(crate) use account::quantiles;
pub use account::{StreamAccount, StreamAccountPlan};
pub use client::{DirectionSummary, FlowsSummary, ReceiverFields, run};
pub(crate) use client::{SenderThread, account_plan, join, spawn_sender};
pub(crate) use receiver::{Receiver, ReceiverPlan};
pub use report::{FlowReport, ReceiverReport};
pub use request::{FlowsPlan, FlowsRequest, FlowsWays};
pub use schedule::{Block, FrameSchedule};
pub use sender::SenderReport;
pub(crate) use sender::{SenderPlan, run_sender};
