//! Windowed RTT: bursts of packets back to back, reflected by the agent, each accounted for.
//!
//! `plan` (which packet of which window and length when) and `account` (what became of each packet) are pure, and so is
//! `codec`; `client` and `reflector` hold the sockets; `stamp` speaks RFC 8762 instead of Weir's own packets.

mod account;
mod client;
mod codec;
mod plan;
mod reflector;
pub mod stamp;

pub use account::{GroupRow, ReplyTimes, RttAccount, RttSummary};
pub use client::run;
pub use plan::{Probe, RttPlan, Span, Window, WindowSender};
pub(crate) use reflector::{Bounds, Reflector};
pub use reflector::{ReflectorReport, RttRequest};
