//! A run that is repeated at an interval, over hours or days. It knows times and limits, not hosts.

use super::whole::Summary;
use crate::estimate::Limits;

/// When a run is made: at once, and then at each full interval of Unix time, so that runs of different days are at the same
/// times of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    every_ns: u64,
    end_ns: u64,
}

impl Repeats {
    /// From `now_ns` on, Unix nanoseconds, each `every_ns`, for `for_ns` or without an end.
    #[must_use]
    pub fn new(now_ns: u64, every_ns: u64, for_ns: Option<u64>) -> Self {
        Repeats {
            every_ns: every_ns.max(1),
            end_ns: for_ns.map_or(u64::MAX, |for_ns| now_ns.saturating_add(for_ns)),
        }
    }

    /// When the next run begins, Unix nanoseconds; none when the time is over. A run that takes longer than the interval is
    /// followed at the next full interval after its end.
    #[must_use]
    pub fn next(&self, now_ns: u64) -> Option<u64> {
        let next_ns = (now_ns / self.every_ns)
            .checked_add(1)?
            .checked_mul(self.every_ns)?;
        (next_ns < self.end_ns).then_some(next_ns)
    }

    /// Runs from `now_ns` on, if none takes longer than the interval; none without an end.
    #[must_use]
    pub fn count(&self, now_ns: u64) -> Option<u64> {
        let last_ns = self.end_ns.checked_sub(1).filter(|_| self.end_ns < u64::MAX)?;
        Some((last_ns / self.every_ns).saturating_sub(now_ns / self.every_ns) + 1)
    }
}

/// What a run has left of limits that hold for all runs together.
#[must_use]
pub fn left_of(limits: Limits, run: &Summary) -> Limits {
    Limits {
        max_bytes: limits.max_bytes.map(|most| most.saturating_sub(run.bytes)),
        max_usd: limits.max_usd.map(|most| (most - run.egress_usd).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn runs_begin_at_full_intervals_until_the_time_is_over() {
        // From 10:20 for three hours: at once, then at 11, 12 and 13 o'clock.
        let now = 10 * HOUR + HOUR / 3;
        let repeats = Repeats::new(now, HOUR, Some(3 * HOUR));
        assert_eq!(repeats.count(now), Some(4));
        let mut begun = vec![now];
        while let Some(next) = repeats.next(*begun.last().unwrap() + HOUR / 10) {
            begun.push(next);
        }
        assert_eq!(begun[1..], [11 * HOUR, 12 * HOUR, 13 * HOUR]);
        // One that takes an hour and a half misses an interval and is not made up for.
        assert_eq!(repeats.next(11 * HOUR + HOUR * 3 / 2), Some(13 * HOUR));
        // The end itself is no beginning.
        assert_eq!(Repeats::new(0, HOUR, Some(2 * HOUR)).count(0), Some(2));
        assert_eq!(Repeats::new(0, HOUR, Some(2 * HOUR)).next(HOUR), None);
        let endless = Repeats::new(now, HOUR, None);
        assert_eq!((endless.count(now), endless.next(now)), (None, Some(11 * HOUR)));
    }
}
