//! How times are distributed: quantiles for reading, and counts between fixed edges, which can be added up over runs.
//! It must not know what was timed.

use serde::Serialize;
use weir_stats::DurationHistogram;

/// Up to here, edges lie [`FINE_NS`] apart; nanoseconds.
const FINE_END_NS: i64 = 100_000_000;
const FINE_NS: i64 = 500_000;
/// From there up to here, [`MIDDLE_NS`] apart.
const MIDDLE_END_NS: i64 = 2_000_000_000;
const MIDDLE_NS: i64 = 10_000_000;
/// From there up to here, [`COARSE_NS`] apart.
const COARSE_END_NS: i64 = 10_000_000_000;
const COARSE_NS: i64 = 100_000_000;

/// Quantiles of times, nanoseconds, to three significant digits; count, mean, least and most are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// The least.
    pub min: i64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: i64,
    /// 90 % are at or below this.
    pub p90: i64,
    /// 95 % are at or below this.
    pub p95: i64,
    /// 99 % are at or below this.
    pub p99: i64,
    /// 99.9 % are at or below this.
    pub p999: i64,
    /// The most.
    pub max: i64,
}

/// How far quantiles lie above the least time, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimesAboveMin {
    /// The median.
    pub p50: i64,
    /// 95 % are at or below this.
    pub p95: i64,
    /// 99 % are at or below this.
    pub p99: i64,
    /// The most.
    pub max: i64,
}

impl Times {
    /// Of these; none of none.
    pub fn of(histogram: &DurationHistogram) -> Option<Self> {
        Some(Times {
            count: histogram.count(),
            min: histogram.min()?,
            mean: histogram.mean()?,
            p50: histogram.quantile(0.5)?,
            p90: histogram.quantile(0.9)?,
            p95: histogram.quantile(0.95)?,
            p99: histogram.quantile(0.99)?,
            p999: histogram.quantile(0.999)?,
            max: histogram.max()?,
        })
    }

    /// The same above the least.
    pub fn above_min(&self) -> TimesAboveMin {
        TimesAboveMin {
            p50: self.p50.saturating_sub(self.min),
            p95: self.p95.saturating_sub(self.min),
            p99: self.p99.saturating_sub(self.min),
            max: self.max.saturating_sub(self.min),
        }
    }
}

/// Counts between edges that are always the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DelayBins {
    /// Ascending, nanoseconds.
    pub edges_ns: Vec<i64>,
    /// Times from each edge to the next: at or above the one, below the other.
    pub counts: Vec<u64>,
    /// Below the first edge: clocks that disagree make such.
    pub below: u64,
    /// At the last edge or above.
    pub above: u64,
}

impl Default for DelayBins {
    fn default() -> Self {
        let fine = (0..FINE_END_NS).step_by(FINE_NS as usize);
        let middle = (FINE_END_NS..MIDDLE_END_NS).step_by(MIDDLE_NS as usize);
        let coarse = (MIDDLE_END_NS..=COARSE_END_NS).step_by(COARSE_NS as usize);
        let edges_ns: Vec<i64> = fine.chain(middle).chain(coarse).collect();
        DelayBins {
            counts: vec![0; edges_ns.len() - 1],
            edges_ns,
            below: 0,
            above: 0,
        }
    }
}

impl DelayBins {
    /// Adds one time.
    pub fn record(&mut self, ns: i64) {
        let edges_at_or_below = self.edges_ns.partition_point(|edge| *edge <= ns);
        match edges_at_or_below.checked_sub(1) {
            None => self.below += 1,
            Some(bin) => match self.counts.get_mut(bin) {
                Some(count) => *count += 1,
                None => self.above += 1,
            },
        }
    }
}

/// Times in both forms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// What was timed.
    pub of: &'static str,
    /// Quantiles; none where nothing was timed.
    pub quantiles: Option<Times>,
    /// Counts.
    pub bins: DelayBins,
}

/// Times as they come.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    histogram: DurationHistogram,
    bins: DelayBins,
}

impl Timing {
    pub(crate) fn new() -> Self {
        Timing {
            histogram: DurationHistogram::new(),
            bins: DelayBins::default(),
        }
    }

    pub(crate) fn record(&mut self, ns: i64) {
        self.histogram.record(ns);
        self.bins.record(ns);
    }

    pub(crate) fn times(&self) -> Option<Times> {
        Times::of(&self.histogram)
    }

    pub(crate) fn into_distribution(self, of: &'static str) -> Distribution {
        Distribution {
            of,
            quantiles: self.times(),
            bins: self.bins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_one_place() {
        let mut bins = DelayBins::default();
        assert!(bins.edges_ns.is_sorted() && bins.edges_ns.len() == bins.counts.len() + 1);
        for ns in [
            -1,
            0,
            499_999,
            500_000,
            99_999_999,
            100_000_000,
            1_999_999_999,
            9_999_999_999,
        ] {
            bins.record(ns);
        }
        bins.record(10_000_000_000);
        bins.record(i64::MAX);
        assert_eq!((bins.below, bins.above), (1, 2));
        assert_eq!(bins.counts.iter().sum::<u64>(), 7);
        let at = |edge: i64| bins.counts[bins.edges_ns.binary_search(&edge).unwrap()];
        assert_eq!(
            (at(0), at(500_000), at(99_500_000), at(100_000_000)),
            (2, 1, 1, 1)
        );
        assert_eq!((at(1_990_000_000), at(9_900_000_000)), (1, 1));
    }

    #[test]
    fn quantiles_are_told_above_the_least_too() {
        let mut timing = Timing::new();
        assert_eq!(timing.times(), None);
        (1..=100).for_each(|ms| timing.record(ms * 1_000_000));
        let times = timing.times().unwrap();
        assert_eq!(
            (times.count, times.min, times.max, times.mean),
            (100, 1_000_000, 100_000_000, 50_500_000.0)
        );
        // To three digits.
        assert!((times.p95 - 95_000_000).abs() <= 95_000);
        assert_eq!(times.above_min().max, 99_000_000);
        assert_eq!(times.above_min().p95, times.p95 - 1_000_000);
    }
}
