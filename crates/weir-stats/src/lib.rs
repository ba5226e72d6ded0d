//! The arithmetic of measurements: which packets were lost, late, duplicated or reordered, in what bursts and on
//! which flows together; how delays are distributed and how they vary; how far two clocks are apart; and how sure a
//! measured loss rate is.
//!
//! This crate must not know where its numbers come from. It opens no socket and reads no clock: every time is a
//! `u64` of nanoseconds that the caller passes in, on whatever clock the caller keeps. The accounts that see every
//! packet ([`ReorderAccount`], [`FlowAccount`], [`SilenceDetector`]) do a bounded, small amount of work for each and
//! allocate nothing after they are built.

mod attribution;
mod bitmap;
mod correlation;
mod flow;
mod gaps;
mod grouped;
mod histogram;
mod interval;
mod jitter;
mod offset;
mod reorder;
mod rtt_track;
mod sequence;
mod silence;

pub use attribution::{Attribution, attribute, attribute_buffers};
pub use correlation::{LossWindowCount, LossWindows};
pub use flow::{FlowAccount, FlowTotals};
pub use grouped::{Group, GroupedQuantiles};
pub use histogram::{DurationHistogram, QuantileSummary};
pub use interval::loss_interval;
pub use jitter::{InterarrivalJitter, Ipdv, IpdvSummary};
pub use offset::{ClockOffset, Exchange, OffsetEstimator};
pub use reorder::{
    Arrival, DEFAULT_HISTORY, LossRun, MAX_DEPTH_PACKETS, ReorderAccount, ReorderDepth, SequenceTotals,
};
pub use rtt_track::{Finished, Reply, RttTotals, RttTracker};
pub use sequence::SequenceExtender;
pub use silence::{SilenceDetector, SilenceEnd, StreamSilence};
