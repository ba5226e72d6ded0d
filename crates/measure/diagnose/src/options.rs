//! What the user may set about a diagnosis.

/// What the user may set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Target residual loss of the recommendation, 0 to 1; none: one packet an hour of the media.
    pub target_loss: Option<f64>,
    /// Packets that each simulation of the recommendation sends; none: 150,000, a fraction of a second.
    pub simulated_packets: Option<u64>,
}
