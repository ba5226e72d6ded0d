//! What changed, and since when: change points of P50, P90, loss and hops of a pair, found online from one summary a minute, and
//! of the sets of routes and the path MTUs, from flow tests (`tested`).
//! It has no clock and keeps a bounded past: after a restart, the minutes of the last day in order make the same state.
//!
//! Each figure has a CUSUM test (Page, Biometrika 41, 1954) for each direction of change, whose threshold follows from the
//! rate of false alarms: see `level` for quantiles and `loss` for loss. The number of hops has no noise; it has changed when
//! most of the last minutes have another one.

mod hops;
mod level;
mod loss;
mod mtu;
mod routes;
mod sliding;
mod tested;

use serde::{Deserialize, Serialize};
use weir_record::WatchCell;

use hops::HopsWatch;
use level::LevelWatch;
use loss::LossWatch;
pub use routes::Hops;
pub use tested::{TestWatch, Tested, TestedWay};

/// Nanoseconds in a minute.
pub const MINUTE_NS: u64 = 60_000_000_000;
/// Figures with noise, each in two directions, which share the false alarms.
const TESTS: f64 = 6.0;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Median of the RTT, nanoseconds.
    P50,
    /// 90th percentile of the RTT, nanoseconds.
    P90,
    /// Loss rate, 0 to 1.
    Loss,
    /// Hops to the far host: the sent TTL minus the received one.
    Hops,
    /// Routes that flows to the far host take.
    RoutesForward,
    /// Routes that flows from the far host take.
    RoutesReverse,
    /// Path MTU to the far host, bytes.
    MtuForward,
    /// Path MTU from the far host, bytes.
    MtuReverse,
}

impl Metric {
    /// Its name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::Loss => "loss",
            Metric::Hops => "hops",
            Metric::RoutesForward => "routes_forward",
            Metric::RoutesReverse => "routes_reverse",
            Metric::MtuForward => "mtu_forward",
            Metric::MtuReverse => "mtu_reverse",
        }
    }

    /// Its value over a span of RTT packets; none where it has none.
    #[must_use]
    pub fn of(self, cell: &WatchCell) -> Option<f64> {
        let quantile = |q| cell.rtt.quantile(q).map(|value| value as f64);
        match self {
            Metric::P50 => quantile(0.5),
            Metric::P90 => quantile(0.9),
            Metric::Loss => (cell.sent > 0).then(|| cell.lost as f64 / cell.sent as f64),
            Metric::Hops => cell.hops.map(f64::from),
            // Cells have RTT packets only.
            Metric::RoutesForward | Metric::RoutesReverse | Metric::MtuForward | Metric::MtuReverse => None,
        }
    }
}

/// A minute of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Minute {
    /// Its start, Unix nanoseconds.
    pub start_ns: u64,
    /// Median of the RTT, nanoseconds; none if no packet was answered.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// Packets with a result.
    pub sent: u64,
    /// Of those, lost.
    pub lost: u64,
    /// Hops of the last packet that told.
    pub hops: Option<u32>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Of what.
    pub metric: Metric,
    /// First minute after it, Unix nanoseconds.
    pub since_ns: u64,
    /// End of the minute in which it was found, Unix nanoseconds.
    pub found_ns: u64,
    /// Value before: nanoseconds, share, hops, number of routes or bytes.
    pub before: f64,
    /// Value after.
    pub after: f64,
    /// Bounds of the value after, 95 %.
    pub interval: (f64, f64),
    /// What a number does not say, such as the routes before and after; else empty.
    pub detail: String,
}

/// How sensitive a watch is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// Mean time from one false alarm of a pair to the next, minutes.
    pub minutes_between_false_alarms: f64,
    /// Smallest change of a quantile that is of interest, as a share.
    pub least_effect: f64,
}

impl Default for Sensitivity {
    /// A false alarm in 90 days, changes of 3 %.
    fn default() -> Self {
        Sensitivity {
            minutes_between_false_alarms: 90.0 * 1440.0,
            least_effect: 0.03,
        }
    }
}

impl Sensitivity {
    /// Minutes between false alarms of one test.
    fn minutes_of_a_test(&self) -> f64 {
        self.minutes_between_false_alarms * TESTS
    }
}

/// Watches a pair.
#[derive(Clone, Debug)]
pub struct Watch {
    p50: LevelWatch,
    p90: LevelWatch,
    loss: LossWatch,
    hops: HopsWatch,
}

impl Watch {
    /// Knows nothing yet: it learns for half an hour before it finds a change.
    #[must_use]
    pub fn new(sensitivity: Sensitivity) -> Self {
        Watch {
            p50: LevelWatch::new(sensitivity),
            p90: LevelWatch::new(sensitivity),
            loss: LossWatch::new(sensitivity),
            hops: HopsWatch::default(),
        }
    }

    /// Takes a minute, later than all before it; returns what has changed.
    pub fn push(&mut self, minute: &Minute) -> Vec<Change> {
        let level = |watch: &mut LevelWatch, metric, value: Option<u64>| {
            let value = value.filter(|value| *value > 0)?;
            watch.push(minute.start_ns, value as f64).map(|found| Change {
                metric,
                since_ns: found.since_ns,
                found_ns: minute.start_ns + MINUTE_NS,
                before: found.before,
                after: found.after,
                interval: found.interval,
                detail: String::new(),
            })
        };
        let found = [
            level(&mut self.p50, Metric::P50, minute.p50_ns),
            level(&mut self.p90, Metric::P90, minute.p90_ns),
            self.loss.push(minute),
            self.hops.push(minute),
        ];
        found.into_iter().flatten().collect()
    }
}
