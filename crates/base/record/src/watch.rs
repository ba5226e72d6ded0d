//! What `weir watch` keeps of a path over a span of time, and what changed on it. It does not know which spans there are.

use weir_stats::CompactHistogram;

/// RTT packets of a path over a span: a second, a minute, an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchCell {
    /// Start of the span, Unix seconds.
    pub start_s: u64,
    /// Packets sent that have a result.
    pub sent: u64,
    /// Of those, not answered in time.
    pub lost: u64,
    /// Extra replies.
    pub duplicates: u64,
    /// Hops to the far host, of the last packet that told.
    pub hops: Option<u32>,
    /// RTT between applications, nanoseconds.
    pub rtt: CompactHistogram,
}

impl WatchCell {
    /// Adds a later part of the same span. Counts saturate, since they may come from a file.
    pub fn merge(&mut self, later: &WatchCell) {
        self.sent = self.sent.saturating_add(later.sent);
        self.lost = self.lost.saturating_add(later.lost);
        self.duplicates = self.duplicates.saturating_add(later.duplicates);
        self.hops = later.hops.or(self.hops);
        self.rtt.merge(&later.rtt);
    }
}

/// A change of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchChange {
    /// What has changed: `p50`, `p90`, `loss` or `hops`.
    pub metric: String,
    /// First moment after the change, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// When it was found, Unix nanoseconds.
    pub found_unix_ns: u64,
    /// Value before: nanoseconds, a share or a number of hops.
    pub before: f64,
    /// Value after.
    pub after: f64,
    /// Lower bound of the value after, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}
