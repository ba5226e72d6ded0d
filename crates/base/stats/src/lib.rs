//! The arithmetic of measurements: which packets were lost, late, duplicated or reordered, in which bursts and on
//! which flows together; delay distributions and delay variation; clock offsets; and confidence intervals of
//! loss rates.
//!
//! This crate must not know the source of its numbers. It opens no socket and reads no clock: every time is a
//! `u64` of nanoseconds that the caller passes in, on any clock. The accounts that see every
//! packet ([`ReorderAccount`], [`FlowAccount`], [`SilenceDetector`]) do a small, bounded amount of work per packet and
//! allocate nothing after they are built.

mod attribution;
mod bitmap;
mod bootstrap;
mod change;
mod coincidence;
mod compact;
mod correlation;
mod counted;
mod counts;
mod distribution;
mod erasures;
mod flow;
mod gaps;
mod gilbert;
mod grouped;
mod histogram;
mod interval;
mod jitter;
mod levels;
mod offset;
mod optimum;
mod plane;
mod poisson;
mod rank;
mod rates;
mod regression;
mod reorder;
mod rtt_track;
mod runs_test;
mod sequence;
mod silence;
mod trend;

pub use attribution::{Attribution, DroppedBuffers, DropsOfHosts, attribute};
pub use bootstrap::{MedianDifference, median_difference};
pub use change::{Change, change};
pub use coincidence::{BLOCK, Coincidence, coincidence};
pub use compact::{CompactHistogram, NotADistribution};
pub use correlation::{LossWindowCount, LossWindows};
pub use counted::{ArrivalCounters, FrameCounters, HostCounts, LinkDrops, SendCounts, SenderCounters};
pub use counts::Counters;
pub use distribution::{
    binomial_at_least, binomial_at_most, chi_squared_tail, fisher_tail, hypergeometric_at_most, ln_choose,
    normal_tail, poisson_at_least, student_quantile, student_two_tails,
};
pub use erasures::{add_losses, losses_in, residual_loss};
pub use flow::{FlowAccount, FlowCounts};
pub use gilbert::{Gilbert, GilbertFit, LossSequence, fit_gilbert, ln_likelihood};
pub use grouped::{Group, GroupedQuantiles};
pub use histogram::{DurationHistogram, Quantiles};
pub use interval::loss_interval;
pub use jitter::{InterarrivalJitter, Ipdv, IpdvSummary};
pub use levels::{Clusters, clusters};
pub use offset::{ClockOffset, Exchange, OffsetEstimator};
pub use plane::{Slope, plane};
pub use poisson::poisson_interval;
pub use rank::{RankTest, mann_whitney, median, nearest, signed_rank};
pub use rates::{Counted, RateTest, Variation, equal_rates, equal_rates_among, rate_classes, total};
pub use regression::{Line, line, median_interval};
pub use reorder::{
    Arrival, DEFAULT_HISTORY, LossRun, MAX_DEPTH_PACKETS, ReorderAccount, ReorderDepth, SequenceTotals,
};
pub use rtt_track::{Finished, Reply, RttTotals, RttTracker};
pub use runs_test::{close_losses_probability, close_share, few_runs_probability};
pub use sequence::SequenceExtender;
pub use silence::{SilenceDetector, SilenceEnd, StreamSilence};
pub use trend::{Trend, trend};
