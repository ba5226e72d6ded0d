//! How often something took how long, in fixed steps. It must not know what took the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the steps in microseconds, from half a millisecond to ten seconds.
pub const STEPS_US: [u64; 14] = [
    500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000,
];

/// Counts by duration. What lies above the last step is counted in the total alone.
#[derive(Debug, Default)]
pub struct Histogram {
    steps: [AtomicU64; STEPS_US.len()],
    count: AtomicU64,
    sum_ns: AtomicU64,
}

impl Histogram {
    /// One more.
    pub fn add(&self, duration: Duration) {
        let us = duration.as_micros();
        if let Some(step) = STEPS_US.iter().position(|end| us <= u128::from(*end)) {
            self.steps[step].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// How many were at most as long as each step.
    pub fn cumulative(&self) -> [u64; STEPS_US.len()] {
        let mut so_far = 0;
        std::array::from_fn(|step| {
            so_far += self.steps[step].load(Ordering::Relaxed);
            so_far
        })
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// All of them together, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_counts_in_its_step_and_above() {
        let histogram = Histogram::default();
        for us in [0, 500, 501, 4_999, 10_000_000, 10_000_001] {
            histogram.add(Duration::from_micros(us));
        }
        let counts = histogram.cumulative();
        assert_eq!(counts[..4], [2, 3, 3, 4]);
        assert_eq!((counts[12], counts[13], histogram.count()), (4, 5, 6));
        assert_eq!(
            histogram.sum_ns(),
            1_000 * (500 + 501 + 4_999 + 10_000_000 + 10_000_001)
        );
    }
}
