//! Change points of the loss rate. Pure.
//!
//! Up: a CUSUM of the log-likelihood ratio of a raised loss rate to the known one, whose mean time between false alarms is
//! at least e^h minutes for a threshold of h (Lorden, Annals of Mathematical Statistics 42, 1971). The known rate is the
//! upper bound of what was observed, so that a short past raises no alarm; what a minute adds is cut off at a sixth of the
//! threshold, since losses come in bursts.
//! Down: the same of the share of minutes with loss, with the lower bound.

use weir_stats::{loss_interval, poisson_interval};

use super::{Change, MINUTE_NS, Metric, Minute, Sensitivity};

/// Minutes before the first test.
const LEARN: u64 = 30;
/// The past fades with this many minutes: a day.
const MEMORY: f64 = 1440.0;
/// Factor from the known rate to a raised one, and the lowest raised rate.
const RAISED: f64 = 4.0;
const LEAST_RAISED: f64 = 0.002;
/// Probability left out of the bounds of the known rate.
const LEFT_OUT: f64 = 0.02;
/// The most that a minute adds, as a share of the threshold.
const MOST_STEP: f64 = 1.0 / 6.0;
/// Minutes from one computation of the bounds to the next.
const BOUNDS_FOR: u64 = 15;

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ratio: f64,
    /// Since it was zero: first minute, packets, lost.
    since_ns: u64,
    sent: u64,
    lost: u64,
}

impl Sum {
    fn add(&mut self, minute: &Minute, step: f64) {
        if self.sent == 0 {
            self.since_ns = minute.start_ns;
        }
        self.ratio += step;
        self.sent += minute.sent;
        self.lost += minute.lost;
        if self.ratio <= 0.0 {
            *self = Sum::default();
        }
    }
}

/// What is known, fading.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    minutes: u64,
    sent: f64,
    lost: f64,
    /// Minutes, and those with loss.
    of: f64,
    lossy: f64,
}

impl Known {
    fn add(&mut self, minute: &Minute) {
        let keep = 1.0 - 1.0 / MEMORY;
        self.minutes += 1;
        self.sent = self.sent * keep + minute.sent as f64;
        self.lost = self.lost * keep + minute.lost as f64;
        self.of = self.of * keep + 1.0;
        self.lossy = self.lossy * keep + f64::from(u8::from(minute.lost > 0));
    }
}

/// What the known rate is at most, and the known share of minutes with loss at least.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    loss: f64,
    lossy: f64,
}

impl Bounds {
    fn of(known: &Known) -> Self {
        let upper = poisson_interval(known.lost.round() as u64, LEFT_OUT).1;
        let lower = poisson_interval(known.lossy.round() as u64, LEFT_OUT).0;
        Bounds {
            loss: (upper / known.sent.max(1.0)).min(1.0),
            lossy: (lower / known.of.max(1.0)).min(0.999),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct LossWatch {
    threshold: f64,
    known: Known,
    bounds: Bounds,
    up: Sum,
    down: Sum,
}

impl LossWatch {
    pub(super) fn new(sensitivity: Sensitivity) -> Self {
        LossWatch {
            threshold: sensitivity.minutes_of_a_test().ln(),
            known: Known::default(),
            bounds: Bounds::default(),
            up: Sum::default(),
            down: Sum::default(),
        }
    }

    pub(super) fn push(&mut self, minute: &Minute) -> Option<Change> {
        if minute.sent == 0 {
            return None;
        }
        let minute = &Minute {
            lost: minute.lost.min(minute.sent),
            ..*minute
        };
        if self.known.minutes < LEARN {
            self.known.add(minute);
            return None;
        }
        if self.known.minutes == LEARN || self.known.minutes.is_multiple_of(BOUNDS_FOR) {
            self.bounds = Bounds::of(&self.known);
        }
        let up = self.raise(minute);
        self.up.add(minute, up);
        let down = self.fall(minute);
        self.down.add(minute, down);
        let crossed = [self.up, self.down]
            .into_iter()
            .find(|sum| sum.ratio >= self.threshold);
        let Some(sum) = crossed else {
            self.known.add(minute);
            return None;
        };
        let change = Change {
            metric: Metric::Loss,
            since_ns: sum.since_ns,
            found_ns: minute.start_ns + MINUTE_NS,
            before: self.known.lost / self.known.sent.max(1.0),
            after: sum.lost as f64 / sum.sent as f64,
            interval: loss_interval(sum.lost, sum.sent),
            detail: String::new(),
        };
        self.known = Known::default();
        (self.up, self.down) = (Sum::default(), Sum::default());
        Some(change)
    }

    /// Log-likelihood ratio of a raised loss rate, Poisson.
    fn raise(&self, minute: &Minute) -> f64 {
        let known = self.bounds.loss;
        let raised = (RAISED * known).max(LEAST_RAISED).min(0.5 * (1.0 + known));
        let (lost, sent) = (minute.lost as f64, minute.sent as f64);
        (lost * (raised / known).ln() - sent * (raised - known)).min(MOST_STEP * self.threshold)
    }

    /// Log-likelihood ratio of a lower share of minutes with loss, binomial.
    fn fall(&self, minute: &Minute) -> f64 {
        let known = self.bounds.lossy;
        let fallen = known / RAISED;
        if known <= 0.0 {
            return -self.threshold;
        }
        match minute.lost {
            0 => ((1.0 - fallen) / (1.0 - known))
                .ln()
                .min(MOST_STEP * self.threshold),
            _ => (fallen / known).ln(),
        }
    }
}
