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
    /// What has changed: `p50`, `p90`, `loss`, `hops`, `routes_forward`, `routes_reverse`, `mtu_forward` or `mtu_reverse`.
    pub metric: String,
    /// First moment after the change, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// When it was found, Unix nanoseconds.
    pub found_unix_ns: u64,
    /// Value before: nanoseconds, a share, a number of hops or routes, or bytes.
    pub before: f64,
    /// Value after.
    pub after: f64,
    /// Lower bound of the value after, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// What the numbers do not say, such as the routes before and after; else empty.
    pub detail: String,
}

/// How often something rare happened on a path in a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchCount {
    /// What: `flow_dark`, `unreachable` or `loss`.
    pub event: String,
    /// Start of the day (UTC), Unix seconds.
    pub day_s: u64,
    /// Time of the day in which it would have been seen, seconds.
    pub watched_s: u64,
    /// How often it happened.
    pub events: u64,
}

/// A second that says nothing of the paths of a host, since the host itself was disturbed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchExcluded {
    /// Unix seconds.
    pub start_s: u64,
    /// `stalled`, `dropped`, `stolen` or `clock`.
    pub cause: String,
    /// Of what: nanoseconds without running; packets; a share of all cores; nanoseconds by which the clock was set.
    pub value: f64,
}

/// An event of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchEvent {
    /// Time, Unix nanoseconds.
    pub unix_ns: u64,
    /// What happened, such as `flow_dark` or `unreachable`.
    pub event: String,
    /// `happened`, `raised` or `cleared`.
    pub state: String,
    /// What of the path it is about, such as a flow; may be empty.
    pub subject: String,
    /// The run with the evidence. It may have been deleted.
    pub run_id: Option<i64>,
    /// In a line.
    pub detail: String,
}
