//! What the user may set about a diagnosis.

use crate::finding::Survive;
use crate::transport::Transport;

/// What the user may set, and what a recommendation is tried with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'t> {
    /// Target residual loss of the recommendation, 0 to 1; none: one packet an hour of the media.
    pub target_loss: Option<f64>,
    /// Latency that repairs may take, nanoseconds; none: 100 ms, the default of `weir recv`.
    pub latency_ns: Option<u64>,
    /// What the recommendation has to survive besides; none: only what was seen.
    pub survive: Option<Survive>,
    /// Packets of each trial; none: 150,000, some seconds of media.
    pub trial_packets: Option<u64>,
    /// What carries the trials; none: a recommendation rests on its forecast alone.
    pub transport: Option<&'t dyn Transport>,
}
