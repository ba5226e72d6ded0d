//! Records of `weir load`. Counts are since the previous row.

use weir_stats::Quantiles;

use crate::rows::records;

records! {
    /// A second of requests of one kind (table `load_seconds`). Counts are of this second alone.
    pub struct LoadSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// `manifest`, `init`, `audio`, `video`, `subtitle` or `key`.
        kind: String => same,
        /// Completed requests, including failed ones.
        requests: u64 => sum,
        /// Of these, failed.
        failed: u64 => sum,
        /// Bytes of response bodies.
        body_bytes: u64 => sum,
        /// Bytes of responses, headers included.
        all_bytes: u64 => sum,
        /// Connections opened.
        connections: u64 => sum,
        /// From the scheduled time of a request to the first byte of its response.
        first_byte: Quantiles => quantiles,
        /// The same to the last byte, or to the failure.
        last_byte: Quantiles => quantiles,
    }

    /// Failed requests of a second, by cause (table `load_failures`).
    pub struct LoadFailure {
        /// End of the second.
        unix_ns: u64 => max,
        /// Kind of request.
        kind: String => same,
        /// Cause.
        cause: String => same,
        /// Number of failures.
        count: u64 => sum,
    }

    /// A second of viewers, and of the generator itself (table `viewer_seconds`). Counts are of this second alone.
    pub struct ViewerSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Viewers at the end of the second.
        viewers: u64 => later,
        /// New viewers.
        arrivals: u64 => sum,
        /// Sessions that ended.
        sessions: u64 => sum,
        /// Of these, ended because media could not be fetched.
        gave_up: u64 => sum,
        /// Media played in them.
        played_ns: u64 => sum,
        /// Stalls in them.
        stalls: u64 => sum,
        /// Total duration of these stalls.
        stalled_ns: u64 => sum,
        /// Rung switches in them.
        switches: u64 => sum,
        /// Time from the start of those sessions to the first picture.
        startup: Quantiles => quantiles,
        /// Lateness of the generator against its schedule.
        schedule_error: Quantiles => quantiles,
        /// CPU time of the generator's threads.
        cpu_ns: u64 => sum,
    }

    /// A metric of an origin or a host (table `load_metrics`).
    pub struct LoadMetric {
        /// When it was read.
        unix_ns: u64,
        /// `scrape` for an origin's metrics, `host` for counters of this host.
        source: String,
        /// Name, with labels as the source writes them.
        name: String,
        /// Its value as read: counters keep rising.
        value: f64,
    }

    /// A complete distribution of times (table `load_histograms`). The sum over a run is the distribution of the run.
    pub struct LoadHistogram {
        /// End of the time that it covers.
        unix_ns: u64,
        /// Duration of that time.
        duration_ns: u64,
        /// Kind of request; `viewers` for times of viewers and the generator.
        kind: String,
        /// `first_byte`, `last_byte`; of viewers `startup` and `schedule_error`.
        time: String,
        /// Number of values.
        count: u64,
        /// The smallest, exact.
        min_ns: i64,
        /// The largest, exact.
        max_ns: i64,
        /// Their sum, exact.
        sum_ns: i64,
        /// Pairs of a value, nanoseconds, and the count of its bucket, ascending: a JSON array. Buckets are those of an HDR
        /// histogram of three digits.
        buckets: String,
    }
}
