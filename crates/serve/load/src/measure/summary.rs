//! The account of a whole run in the numbers that people and programs read.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stats::DurationHistogram;

use super::{Account, KindAccount, Quality};

/// A distribution of times, nanoseconds. Quantiles are right to three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Shortest.
    pub min: i64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: i64,
    /// 90th percentile.
    pub p90: i64,
    /// 99th percentile.
    pub p99: i64,
    /// 99.9th percentile.
    pub p999: i64,
    /// Longest.
    pub max: i64,
}

impl Times {
    /// Of a histogram; all zero if it is empty.
    pub fn of(histogram: &DurationHistogram) -> Times {
        let quantiles = histogram.quantiles();
        Times {
            count: quantiles.count,
            min: quantiles.min,
            mean: histogram.mean().unwrap_or(0.0),
            p50: quantiles.p50,
            p90: quantiles.p90,
            p99: quantiles.p99,
            p999: quantiles.p999,
            max: quantiles.max,
        }
    }
}

/// A distribution over sessions, each counting alike. Quantiles are right to three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// How many sessions.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// Of a histogram whose values are counted in `unit`; all zero if it is empty.
    fn of(histogram: &DurationHistogram, unit: f64) -> Distribution {
        let quantiles = histogram.quantiles();
        let value = |counted: i64| counted as f64 * unit;
        Distribution {
            count: quantiles.count,
            min: value(quantiles.min),
            mean: histogram.mean().unwrap_or(0.0) * unit,
            p50: value(quantiles.p50),
            p90: value(quantiles.p90),
            p99: value(quantiles.p99),
            max: value(quantiles.max),
        }
    }
}

/// Requests of one kind, or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KindSummary {
    /// Which: a kind, or `all`.
    pub kind: String,
    /// Requests, failed ones included.
    pub requests: u64,
    /// Of these, those for which there was a connection.
    pub sent: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Failures by cause.
    pub failures: BTreeMap<String, u64>,
    /// Requests a second, over the whole run.
    pub requests_per_second: f64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes of answers, heads included.
    pub all_bytes: u64,
    /// Bits of answers a second, over the whole run.
    pub bits_per_second: f64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent again because a kept connection had been closed.
    pub retries: u64,
    /// To the first byte, from when the request should have been sent.
    pub first_byte: Times,
    /// To the last byte, or to when it failed.
    pub last_byte: Times,
}

impl KindSummary {
    fn of(kind: &str, account: &KindAccount, seconds: f64) -> Self {
        KindSummary {
            kind: kind.to_owned(),
            requests: account.requests,
            sent: account.sent,
            failed: account.failed(),
            failures: account
                .failures
                .iter()
                .map(|(cause, count)| (cause.name().to_owned(), *count))
                .collect(),
            requests_per_second: account.requests as f64 / seconds,
            body_bytes: account.body_bytes,
            all_bytes: account.all_bytes,
            bits_per_second: account.all_bytes as f64 * 8.0 / seconds,
            connections: account.connections,
            retries: account.retries,
            first_byte: Times::of(&account.first_byte),
            last_byte: Times::of(&account.last_byte),
        }
    }
}

/// Quality of viewing sessions.
#[derive(Clone, Debug, Serialize)]
pub struct QualitySummary {
    /// Sessions that ended, those that the end of the run cut off among them.
    pub sessions: u64,
    /// Of these, those that never showed a picture.
    pub never_started: u64,
    /// Of these, those that ended because media could not be had.
    pub gave_up: u64,
    /// Of these, those that stalled.
    pub stalled_sessions: u64,
    /// From the beginning to the first picture.
    pub startup: Times,
    /// Media played, nanoseconds.
    pub played_ns: u64,
    /// Stalls.
    pub stalls: u64,
    /// Nanoseconds of stalls.
    pub stalled_ns: u64,
    /// Share of the viewing time that was stalled.
    pub rebuffer_ratio: Option<f64>,
    /// Mean bit rate of what was played, bit/s.
    pub bitrate: Option<f64>,
    /// Changes of the rung on the screen.
    pub switches: u64,
    /// Share of each session's viewing time that was stalled; of sessions in which something was viewed.
    pub rebuffer_ratios: Distribution,
    /// Mean bit rate of each session, bit/s.
    pub bitrates: Distribution,
    /// Last estimate of each session of what the path would carry without a pace, bit/s; of sessions that had one.
    pub capacities: Distribution,
}

impl QualitySummary {
    /// Of sessions that have ended; none if there were none.
    pub fn of(quality: &Quality) -> Option<Self> {
        (quality.sessions > 0).then(|| QualitySummary {
            sessions: quality.sessions,
            never_started: quality.never_started,
            gave_up: quality.gave_up,
            stalled_sessions: quality.stalled_sessions,
            startup: Times::of(&quality.startup),
            played_ns: quality.played_ns,
            stalls: quality.stalls,
            stalled_ns: quality.stalled_ns,
            rebuffer_ratio: quality.rebuffer_ratio(),
            bitrate: quality.bitrate(),
            switches: quality.switches,
            rebuffer_ratios: Distribution::of(&quality.rebuffer_ppm, 1e-6),
            bitrates: Distribution::of(&quality.bitrates, 1.0),
            capacities: Distribution::of(&quality.capacities, 1.0),
        })
    }
}

/// A whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoadSummary {
    /// How long it took, nanoseconds.
    pub duration_ns: u64,
    /// Most viewers at once.
    pub most_viewers: u64,
    /// Viewers that came.
    pub arrivals: u64,
    /// All requests together.
    pub all: KindSummary,
    /// By kind.
    pub kinds: Vec<KindSummary>,
    /// Quality of viewing sessions; none without real-time viewers.
    pub quality: Option<QualitySummary>,
    /// How late the generator itself was.
    pub schedule_error: Times,
    /// CPU time of the generator's threads, nanoseconds.
    pub cpu_ns: u64,
    /// The busiest second of the busiest thread, as a share of a core.
    pub busiest: f64,
    /// Whether the generator was the limit, so that times are partly its own.
    pub generator_limited: bool,
    /// IN and OUT of the origin, from its metrics or from this host's interfaces; none if not requested.
    pub origin: Option<OriginSummary>,
}

/// Who says how many bytes an origin took and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginSource {
    /// Its own metrics.
    Metrics,
    /// Counters of the interfaces of the host that it runs on: with headers, and with all that others send there.
    Host,
}

/// Bytes in and out of an origin over a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OriginSummary {
    /// Who says so.
    pub source: OriginSource,
    /// Bytes that it read from its storage.
    pub in_bytes: u64,
    /// Bytes that it sent to clients.
    pub out_bytes: u64,
    /// OUT / IN; none if it read nothing.
    pub efficiency: Option<f64>,
}

impl OriginSummary {
    /// Of bytes in and out.
    pub fn of(source: OriginSource, in_bytes: u64, out_bytes: u64) -> Self {
        OriginSummary {
            source,
            in_bytes,
            out_bytes,
            efficiency: (in_bytes > 0).then(|| out_bytes as f64 / in_bytes as f64),
        }
    }
}

impl LoadSummary {
    /// Of an account of `duration_ns`. Times of CPU and viewers are left for the caller to fill in.
    pub fn of(account: &Account, quality: &Quality, duration_ns: u64) -> Self {
        let seconds = (duration_ns as f64 / 1e9).max(1e-9);
        let kinds = account.kinds();
        LoadSummary {
            duration_ns,
            all: KindSummary::of("all", &account.total(), seconds),
            kinds: kinds
                .map(|(kind, account)| KindSummary::of(kind.name(), account, seconds))
                .collect(),
            quality: QualitySummary::of(quality),
            schedule_error: Times::of(&account.schedule_error),
            ..LoadSummary::default()
        }
    }
}
