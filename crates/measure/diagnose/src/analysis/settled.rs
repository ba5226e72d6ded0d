//! A test of which more passes at first, as out of a bucket that begins full. It must not know which limits there are, nor what
//! other tests show.

use weir_stats::{Counted, change, median};

use super::rate_drop::share_of;
use super::windows::{LEAST_PIECES, MOST_COMPARED, windows};
use crate::measured::FlowTest;

/// A window passes more than others from this share on.
const MORE: f64 = 1.05;
/// This share of the windows before a change, and after it, are apart.
const NEARLY_ALL: f64 = 0.9;
/// The halves of what is before a change, and after it, differ by less than this share of it.
const LEVEL: f64 = 0.25;

/// A test in which more passed at first, for long enough to be seen, and less ever since: a bucket began full, or a policer has two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settled {
    /// Share of its time until then.
    pub from: f64,
    /// What it lost since then, of what was sent.
    pub after: Counted,
    /// What more passed before, in seconds of what has passed since.
    pub credit_s: f64,
}

impl Settled {
    /// None where what passes does not change, or in another way.
    pub fn of(test: &FlowTest) -> Option<Self> {
        let pieces = windows(test, 0.0).filter(|pieces| pieces.len() <= MOST_COMPARED)?;
        let passed: Vec<f64> = pieces
            .iter()
            .map(|piece| (piece.trials - piece.events) as f64)
            .collect();
        let (before, after) = passed.split_at(change(&passed)?.at);
        let (high, low) = (median(before.to_vec()), median(after.to_vec()));
        let is_level = |part: &[f64]| {
            let (first, second) = part.split_at(part.len() / 2);
            (median(first.to_vec()) - median(second.to_vec())).abs() < LEVEL * (high - low)
        };
        let is_apart = share_of(before, 1.0 - NEARLY_ALL) > share_of(after, NEARLY_ALL);
        let is_long = before.len() >= 2 && after.len() >= LEAST_PIECES / 2;
        let is_settled = is_long && is_apart && high > MORE * low && is_level(before) && is_level(after);
        is_settled.then(|| {
            // In the window of the change some of both passed.
            let since = before.len() + 1;
            let each = passed[since..].iter().sum::<f64>() / (passed.len() - since) as f64;
            let more: f64 = passed[..since]
                .iter()
                .map(|passed| passed / each.max(1.0) - 1.0)
                .sum();
            Settled {
                from: before.len() as f64 / passed.len() as f64,
                after: weir_stats::total(&pieces[since..]),
                credit_s: more * test.active_ns as f64 / 1e9 / passed.len() as f64,
            }
        })
    }
}
