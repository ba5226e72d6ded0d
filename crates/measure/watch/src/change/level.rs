//! Change points of a quantile: a CUSUM test for each direction, on the logarithm of the quantile's ratio to the median of
//! the last three quarters of an hour. Pure.
//!
//! - Slow changes (the time of day) stay within the allowance `k`, at least half of the smallest change of interest.
//! - A few bad minutes (a stalled host) are no change: what a minute adds is cut off at twice the allowance, and the
//!   threshold is at least seven and a half such minutes.
//! - The threshold `h` keeps the rate of false alarms: a reflected Brownian motion with drift -k and variance s² per minute
//!   reaches it after s²/2k² (e^(2kh/s²) - 1 - 2kh/s²) minutes on average (Siegmund, Sequential Analysis, 1985, chapter 10).
//!   s² is the variance of sums of six minutes, divided by six, so that minutes which depend on each other count.

use std::collections::VecDeque;

use weir_stats::median_difference;

use super::Sensitivity;
use super::sliding::Sliding;

/// Minutes of the reference.
const REFERENCE: usize = 45;
/// Minutes before the first test.
const LEARN: usize = 30;
/// Residuals of minutes whose scale is kept: half a day.
const RESIDUALS: usize = 720;
/// Minutes in a sum.
const BLOCK: usize = 6;
/// Median absolute deviation to standard deviation of normal values.
const MAD: f64 = 1.4826;
/// The most that a minute adds, in allowances.
const MOST_STEP: f64 = 2.0;
/// The threshold is at least so many allowances.
const LEAST_THRESHOLD: f64 = 7.5 * MOST_STEP;
/// Estimates of the scale are off by a part of their own.
const SCALE_MARGIN: f64 = 1.15;
/// Minutes kept for the effect.
const MOST_MINUTES: usize = 60;
/// Probability left out of the interval.
const LEFT_OUT: f64 = 0.05;

/// A change of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub since_ns: u64,
    pub before: f64,
    pub after: f64,
    pub interval: (f64, f64),
}

/// A sum that starts again when it falls to zero.
#[derive(Clone, Copy, Debug, Default)]
struct Cusum {
    sum: f64,
    /// Minutes since it was zero.
    minutes: usize,
}

impl Cusum {
    fn add(&mut self, step: f64) {
        self.sum += step;
        self.minutes += 1;
        if self.sum <= 0.0 {
            *self = Cusum::default();
        }
    }
}

/// Watches one quantile. Values are logarithms.
#[derive(Clone, Debug)]
pub(super) struct LevelWatch {
    sensitivity: Sensitivity,
    reference: Sliding,
    /// Absolute residuals of minutes, and of sums of [`BLOCK`] minutes.
    residuals: Sliding,
    sums: Sliding,
    /// The sum in progress, and its minutes.
    block: (f64, usize),
    up: Cusum,
    down: Cusum,
    /// The last minutes: start and value.
    recent: VecDeque<(u64, f64)>,
}

impl LevelWatch {
    pub(super) fn new(sensitivity: Sensitivity) -> Self {
        LevelWatch {
            sensitivity,
            reference: Sliding::new(REFERENCE),
            residuals: Sliding::new(RESIDUALS),
            sums: Sliding::new(RESIDUALS / BLOCK),
            block: (0.0, 0),
            up: Cusum::default(),
            down: Cusum::default(),
            recent: VecDeque::with_capacity(MOST_MINUTES),
        }
    }

    /// Takes the value of a minute, above zero.
    pub(super) fn push(&mut self, start_ns: u64, value: f64) -> Option<Found> {
        let value = value.ln();
        if self.recent.len() == MOST_MINUTES {
            self.recent.pop_front();
        }
        self.recent.push_back((start_ns, value));
        let residual = self.reference.median().map(|median| value - median);
        self.reference.push(value);
        let residual = residual?;
        let found = if self.is_learned() {
            self.test(residual)
        } else {
            None
        };
        self.learn(residual);
        found
    }

    fn is_learned(&self) -> bool {
        self.reference.len() >= LEARN / 2 && self.residuals.len() >= LEARN
    }

    fn learn(&mut self, residual: f64) {
        self.residuals.push(residual.abs());
        self.block = (self.block.0 + residual, self.block.1 + 1);
        if self.block.1 == BLOCK {
            self.sums.push(self.block.0.abs());
            self.block = (0.0, 0);
        }
    }

    /// Standard deviation of a minute, and that by which sums grow with the root of their minutes.
    fn scales(&self) -> (f64, f64) {
        let minute = MAD * self.residuals.median().unwrap_or(0.0) * SCALE_MARGIN;
        let sums = MAD * self.sums.median().unwrap_or(0.0) * SCALE_MARGIN / (BLOCK as f64).sqrt();
        (minute, sums.max(minute))
    }

    fn test(&mut self, residual: f64) -> Option<Found> {
        let (minute, long) = self.scales();
        let allowance = minute.max(0.5 * self.sensitivity.least_effect);
        let step = |residual: f64| (residual - allowance).min(MOST_STEP * allowance);
        self.up.add(step(residual));
        self.down.add(step(-residual));
        let by_rate = threshold(allowance, long, self.sensitivity.minutes_of_a_test());
        let threshold = by_rate.max(LEAST_THRESHOLD * allowance);
        let crossed = [self.up, self.down]
            .into_iter()
            .find(|cusum| cusum.sum >= threshold)?;
        let found = self.effect(crossed.minutes);
        self.start_again(crossed.minutes);
        found
    }

    /// Compares the last minutes with those before; none where they differ less than is of interest.
    fn effect(&self, minutes: usize) -> Option<Found> {
        let split = self.recent.len().saturating_sub(minutes.min(MOST_MINUTES / 2));
        let values: Vec<f64> = self.recent.iter().map(|(_, value)| *value).collect();
        let (before, after) = values.split_at(split);
        let since_ns = self.recent.get(split)?.0;
        let difference = median_difference(before, after, LEFT_OUT)?;
        let level = weir_stats::median(before.to_vec());
        let effect = difference.difference.abs();
        // With a margin: the estimate of a change of just this size is lower as often as not.
        (effect.exp_m1() >= 0.9 * self.sensitivity.least_effect).then(|| Found {
            since_ns,
            before: level.exp(),
            after: (level + difference.difference).exp(),
            interval: ((level + difference.low).exp(), (level + difference.high).exp()),
        })
    }

    /// The reference is what came after the change.
    fn start_again(&mut self, minutes: usize) {
        let after: Vec<f64> = self.reference.values().rev().take(minutes).collect();
        self.reference.clear();
        after.iter().rev().for_each(|value| self.reference.push(*value));
        (self.up, self.down) = (Cusum::default(), Cusum::default());
        let from = self.recent.len().saturating_sub(minutes);
        self.recent.drain(..from);
        self.block = (0.0, 0);
    }
}

/// The threshold that a sum with this allowance and deviation reaches once in so many minutes.
fn threshold(allowance: f64, deviation: f64, minutes: f64) -> f64 {
    if deviation <= 0.0 {
        return 0.0;
    }
    let scale = deviation * deviation / (2.0 * allowance);
    let wanted = minutes * 2.0 * (allowance / deviation).powi(2);
    // e^x - 1 - x = wanted, by Newton's method from above.
    let mut x = (wanted + 1.0).ln() + 2.0;
    for _ in 0..50 {
        let next = x - (x.exp() - 1.0 - x - wanted) / x.exp_m1();
        if (next - x).abs() < 1e-9 {
            break;
        }
        x = next;
    }
    scale * x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_reached_as_seldom_as_they_say() {
        // The mean time to reach 10 with drift -1 and variance 1 is (e^20 - 21) / 2.
        let minutes = (20f64.exp() - 21.0) / 2.0;
        assert!((threshold(1.0, 1.0, minutes) - 10.0).abs() < 1e-6);
        let minutes = (4f64.exp() - 5.0) / 2.0 * 4.0;
        assert!((threshold(0.5, 1.0, minutes) - 4.0).abs() < 1e-6);
        assert_eq!(threshold(0.015, 0.0, 1e6), 0.0);
    }

    #[test]
    fn a_step_is_found_with_its_start_size_and_interval() {
        let mut watch = LevelWatch::new(Sensitivity::default());
        let mut found = Vec::new();
        for minute in 0..200u64 {
            // A ripple of 0.2 % that repeats.
            let ripple = 1.0 + 0.002 * [0.0, 1.0, -1.0, 0.5, -0.5][(minute % 5) as usize];
            let level = if minute < 120 { 50e6 } else { 53e6 };
            found.extend(watch.push(minute, level * ripple).map(|found| (minute, found)));
        }
        let [(at, change)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(change.since_ns, 120);
        assert!((126..=128).contains(&at), "{at}");
        assert!((change.before / 50e6 - 1.0).abs() < 0.002, "{change:?}");
        assert!((change.after / 53e6 - 1.0).abs() < 0.002, "{change:?}");
        assert!(
            change.interval.0 <= 53e6 && 53e6 <= change.interval.1,
            "{change:?}"
        );
    }

    #[test]
    fn bad_minutes_and_slow_drift_are_no_change() {
        let mut watch = LevelWatch::new(Sensitivity::default());
        for minute in 0..10_000u64 {
            let day = (minute as f64 / 1440.0 * std::f64::consts::TAU).sin();
            let bad = minute % 60 < 3;
            let value = 20e6 * (1.0 + 0.1 * day) * if bad { 8.0 } else { 1.0 };
            assert_eq!(watch.push(minute, value), None, "minute {minute}");
        }
    }
}
