//! What `weir load` leaves behind. Counts are of the time since the row before.

use serde::{Deserialize, Serialize};

use super::Quantiles;

/// A second of requests of one kind (table `load_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// `manifest`, `init`, `audio`, `video`, `subtitle` or `key`.
    pub kind: String,
    /// Requests that came to an end, failed ones included.
    pub requests: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes of answers, heads included.
    pub all_bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// From when a request should have been sent to the first byte of its answer.
    pub first_byte: Quantiles,
    /// The same to the last byte, or to when it failed.
    pub last_byte: Quantiles,
}

/// Requests that failed in a second for one cause (table `load_failures`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadFailure {
    /// End of the second.
    pub unix_ns: u64,
    /// What the requests were for.
    pub kind: String,
    /// Why they failed.
    pub cause: String,
    /// How many.
    pub count: u64,
}

/// A second of viewers, and of the generator itself (table `viewer_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewerSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Viewers at its end.
    pub viewers: u64,
    /// Viewers that came.
    pub arrivals: u64,
    /// Sessions that ended.
    pub sessions: u64,
    /// Of these, those that ended because media could not be had.
    pub gave_up: u64,
    /// Media played in them.
    pub played_ns: u64,
    /// Stalls in them.
    pub stalls: u64,
    /// How long those took.
    pub stalled_ns: u64,
    /// Changes of the rung in them.
    pub switches: u64,
    /// From the beginning of those sessions to the first picture.
    pub startup: Quantiles,
    /// How late the generator did what had its time.
    pub schedule_error: Quantiles,
    /// CPU time of the generator's threads.
    pub cpu_ns: u64,
}

/// A value that an origin or a host told of itself (table `load_metrics`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadMetric {
    /// When it was read.
    pub unix_ns: u64,
    /// `scrape` for an origin's metrics, `host` for counters of this host.
    pub source: String,
    /// Name, with labels as the source writes them.
    pub name: String,
    /// Its value, as it stands there: counters go on rising.
    pub value: f64,
}

/// A distribution of times, whole (table `load_histograms`). Those of a run, added up, are the distribution of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadHistogram {
    /// End of the time that it covers.
    pub unix_ns: u64,
    /// How long that is.
    pub duration_ns: u64,
    /// What the requests were for; `viewers` for what viewers and the generator did.
    pub kind: String,
    /// `first_byte`, `last_byte`; of viewers `startup` and `schedule_error`.
    pub time: String,
    /// Values in it.
    pub count: u64,
    /// The smallest, exact.
    pub min_ns: i64,
    /// The largest, exact.
    pub max_ns: i64,
    /// Their sum, exact.
    pub sum_ns: i64,
    /// Pairs of a value, nanoseconds, and how many lie in its bucket, ascending: a JSON array. Buckets are those of an HDR
    /// histogram of three digits.
    pub buckets: String,
}
