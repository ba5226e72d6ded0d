//! Traps of pacing: pace rates that harm the viewer who asks for them. A file describes a link that changes in steps, a title,
//! a player, ways of pacing and their effect on the viewer; sessions are played in virtual time, so the same file gives the
//! same figures everywhere. It must not know sockets, clocks, how files are found or how results are drawn.

mod figures;
mod named;
mod played;
mod scenario;
mod written;

pub use figures::{Figure, SessionFigures};
pub use named::{named, scenarios};
pub use played::{ClaimChecked, Segment, Shown, VariantPlayed, play};
pub use scenario::{Bound, Claim, Media, Rule, Scenario, Server, Variant};
