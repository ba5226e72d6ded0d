//! Offset and drift of a remote host's clock against the local one, from exchanges of four
//! timestamps. It must not know their protocol.
//!
//! The error of one exchange's offset is at most half its round-trip time, and half the difference of the two
//! directions' delays. Queues only increase it, so the exchange with the minimum round-trip time is used.

use std::collections::VecDeque;

/// Maximum number of candidates for the minimum.
const CANDIDATES: usize = 1_024;
/// Intervals the drift is estimated over, at most; 128 make 8,128 slopes.
const INTERVALS: usize = 128;
/// Intervals required for a drift estimate.
const INTERVALS_FOR_DRIFT: usize = 3;

/// The four timestamps of an exchange, in nanoseconds of the clock that took them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Local clock: request sent.
    pub t1: u64,
    /// Remote clock: request received.
    pub t2: u64,
    /// Remote clock: reply sent.
    pub t3: u64,
    /// Local clock: reply received.
    pub t4: u64,
}

/// An estimate of the difference between two clocks.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClockOffset {
    /// Remote clock minus local clock, in nanoseconds, at the queried local time.
    pub offset_ns: i64,
    /// Half the round-trip time of the exchange that the offset is based on: with any asymmetry, the
    /// error of the offset at that exchange was at most this. It does not cover the drift error since then.
    pub uncertainty_ns: u64,
    /// How fast the offset grows, in parts per million of local time; `None` before three intervals have passed.
    pub drift_ppm: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Local time halfway between sending and reply.
    at_ns: u64,
    offset_ns: i64,
    rtt_ns: u64,
}

impl Sample {
    /// `None` when the timestamps contradict each other.
    fn of(exchange: Exchange) -> Option<Self> {
        let Exchange { t1, t2, t3, t4 } = exchange;
        let away = t4.checked_sub(t1)?;
        let held = t3.checked_sub(t2)?;
        let rtt_ns = away.checked_sub(held)?;
        let twice = (i128::from(t2) - i128::from(t1)) + (i128::from(t3) - i128::from(t4));
        let offset_ns = i64::try_from(twice.div_euclid(2)).ok()?;
        Some(Self {
            at_ns: t1 + away / 2,
            offset_ns,
            rtt_ns,
        })
    }
}

/// Estimates offset and drift from exchanges in the order in which they were made.
#[derive(Debug, Clone)]
pub struct OffsetEstimator {
    window_ns: u64,
    interval_ns: u64,
    /// Exchanges of the window without a better later one; round-trip times ascend, so the first is the minimum.
    candidates: VecDeque<Sample>,
    /// The best exchange of each interval, by interval number.
    intervals: VecDeque<(u64, Sample)>,
    rejected: u64,
}

impl OffsetEstimator {
    /// The offset is based on the best exchange of the last `window_ns`; the drift on the best exchange of each
    /// `interval_ns` (at least 1), over the last 128 of those that had one.
    pub fn new(window_ns: u64, interval_ns: u64) -> Self {
        Self {
            window_ns,
            interval_ns: interval_ns.max(1),
            candidates: VecDeque::new(),
            intervals: VecDeque::new(),
            rejected: 0,
        }
    }

    /// Takes an exchange. Returns `false` and counts it as rejected if its timestamps are impossible: time ran
    /// backwards, or the remote host held the request longer than the exchange took.
    pub fn add(&mut self, exchange: Exchange) -> bool {
        let Some(sample) = Sample::of(exchange) else {
            self.rejected += 1;
            return false;
        };
        let last_ns = self.candidates.back().map_or(0, |last| last.at_ns);
        if last_ns > sample.at_ns.saturating_add(self.window_ns) {
            // The local clock was set back: what it said before is of another time.
            self.candidates.clear();
            self.intervals.clear();
        }
        while self
            .candidates
            .back()
            .is_some_and(|last| last.rtt_ns >= sample.rtt_ns)
        {
            self.candidates.pop_back();
        }
        if self.candidates.len() == CANDIDATES {
            // Drop the worst candidate, which would be needed last.
            self.candidates.pop_back();
        }
        self.candidates.push_back(sample);
        let oldest_ns = sample.at_ns.saturating_sub(self.window_ns);
        while self
            .candidates
            .front()
            .is_some_and(|first| first.at_ns < oldest_ns)
        {
            self.candidates.pop_front();
        }
        self.add_to_interval(sample);
        true
    }

    fn add_to_interval(&mut self, sample: Sample) {
        let interval = sample.at_ns / self.interval_ns;
        match self.intervals.back_mut() {
            // An out-of-order exchange from an earlier interval counts in the last one.
            Some((number, best)) if interval <= *number => {
                if sample.rtt_ns < best.rtt_ns {
                    *best = sample;
                }
            }
            _ => {
                if self.intervals.len() == INTERVALS {
                    self.intervals.pop_front();
                }
                self.intervals.push_back((interval, sample));
            }
        }
    }

    /// The offset of the best exchange of the window, without drift: as exact as [`estimate`](Self::estimate) to within what
    /// the clocks drift over the window, and in constant time. `None` before the first exchange.
    pub fn offset(&self) -> Option<ClockOffset> {
        self.candidates.front().map(|best| ClockOffset {
            offset_ns: best.offset_ns,
            uncertainty_ns: best.rtt_ns.div_ceil(2),
            drift_ppm: None,
        })
    }

    /// The offset at local time `at_ns`: that of the best exchange of the window, extrapolated by the drift if that
    /// is known. `None` before the first exchange. It computes the median of up to 8,128 slopes: call it once per
    /// second, not per packet.
    pub fn estimate(&self, at_ns: u64) -> Option<ClockOffset> {
        let best = self.candidates.front()?;
        let slope = self.slope();
        let since_ns = at_ns as f64 - best.at_ns as f64;
        let carried_ns = (slope.unwrap_or(0.0) * since_ns).round() as i64;
        Some(ClockOffset {
            offset_ns: best.offset_ns.saturating_add(carried_ns),
            uncertainty_ns: best.rtt_ns.div_ceil(2),
            drift_ppm: slope.map(|slope| slope * 1e6),
        })
    }

    /// Exchanges with impossible timestamps.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Nanoseconds of offset per nanosecond of local time: the median of the slopes between all pairs of interval
    /// minima (Theil and Sen), robust against nearly a third of wrong ones.
    fn slope(&self) -> Option<f64> {
        if self.intervals.len() < INTERVALS_FOR_DRIFT {
            return None;
        }
        let mut slopes = Vec::with_capacity(self.intervals.len() * (self.intervals.len() - 1) / 2);
        for (place, (_, earlier)) in self.intervals.iter().enumerate() {
            for (_, later) in self.intervals.range(place + 1..) {
                let time = later.at_ns as f64 - earlier.at_ns as f64;
                if time > 0.0 {
                    // As integers first: offsets between unrelated clocks are too large for the digits of an f64.
                    let change = i128::from(later.offset_ns) - i128::from(earlier.offset_ns);
                    slopes.push(change as f64 / time);
                }
            }
        }
        median(&mut slopes)
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(0.5 * (lower + upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request at local `t1` to a remote clock that is ahead by `offset`, with the given one-way delays.
    fn exchange(t1: u64, offset: i64, there: u64, back: u64) -> Exchange {
        let t2 = (t1 + there).saturating_add_signed(offset);
        Exchange {
            t1,
            t2,
            t3: t2 + 1_000,
            t4: t1 + there + 1_000 + back,
        }
    }

    #[test]
    fn believes_the_fastest_exchange_of_the_window() {
        let mut estimator = OffsetEstimator::new(10_000_000, 1_000_000_000);
        assert!(estimator.add(exchange(1_000_000, 500, 90_000, 10_000)));
        assert!(estimator.add(exchange(2_000_000, 500, 20_000, 20_000)));
        assert!(estimator.add(exchange(3_000_000, 500, 10_000, 60_000)));
        assert_eq!(
            estimator.estimate(3_000_000),
            Some(ClockOffset {
                offset_ns: 500,
                uncertainty_ns: 20_000,
                drift_ppm: None
            })
        );
        assert_eq!(estimator.offset(), estimator.estimate(3_000_000));
        // The window moves past it: the next best counts, off by no more than its uncertainty.
        estimator.add(exchange(12_900_000, 500, 80_000, 30_000));
        let later = estimator.estimate(13_000_000).unwrap();
        assert_eq!((later.offset_ns, later.uncertainty_ns), (500 - 25_000, 35_000));
    }

    #[test]
    fn a_local_clock_that_is_set_back_begins_anew() {
        let mut estimator = OffsetEstimator::new(10_000_000, 1_000_000);
        for place in 0..9 {
            estimator.add(exchange(3_600_000_000 + place * 1_000_000, 0, 10, 10));
        }
        estimator.add(exchange(1_000_000, 3_600_000_000, 4_000, 4_000));
        let found = estimator.estimate(1_000_000).unwrap();
        assert_eq!((found.offset_ns, found.drift_ppm), (3_600_000_000, None));
    }

    #[test]
    fn a_remote_clock_far_behind_or_ahead() {
        for offset in [-1_600_000_000_000_000_000, 1_600_000_000_000_000_000] {
            let mut estimator = OffsetEstimator::new(1_000_000_000, 1_000_000_000);
            estimator.add(exchange(1_700_000_000_000_000_000, offset, 40, 40));
            assert_eq!(
                estimator.estimate(1_700_000_000_000_000_000).unwrap().offset_ns,
                offset
            );
        }
    }

    #[test]
    fn follows_a_drift_through_outliers() {
        let mut estimator = OffsetEstimator::new(30_000_000_000, 1_000_000_000);
        for second in 0..100_u64 {
            let t1 = second * 1_000_000_000;
            // 20 ppm fast; every fourth second is congested one way.
            let congested = if second % 4 == 0 { 2_000_000 } else { 0 };
            estimator.add(exchange(
                t1,
                7_000 + 20_000 * second as i64,
                100_000 + congested,
                100_000,
            ));
        }
        let estimate = estimator.estimate(120_000_000_000).unwrap();
        assert!((estimate.drift_ppm.unwrap() - 20.0).abs() < 0.1, "{estimate:?}");
        assert!(
            (estimate.offset_ns - (7_000 + 20_000 * 120)).abs() < 5_000,
            "{estimate:?}"
        );
    }

    #[test]
    fn rejects_what_cannot_be() {
        let mut estimator = OffsetEstimator::new(1, 1);
        assert!(!estimator.add(Exchange {
            t1: 10,
            t2: 0,
            t3: 0,
            t4: 9
        }));
        assert!(!estimator.add(Exchange {
            t1: 10,
            t2: 5,
            t3: 4,
            t4: 12
        }));
        assert!(!estimator.add(Exchange {
            t1: 10,
            t2: 0,
            t3: 9,
            t4: 12
        }));
        assert_eq!((estimator.rejected(), estimator.estimate(20)), (3, None));
    }
}
