//! A test of which more passes at first, as out of a bucket that begins full. It must not know which limits there are, nor what
//! other tests show.

use weir_stats::{Counted, median};

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
        let (before, after) = passed.split_at(step_down(&passed));
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

/// How many values come before the step that leaves the least squares around the mean of what is before it and of what is after it.
/// Ranks would place it later: among windows that pass nearly the same, those that pass one packet more count as much as those of
/// the other level.
fn step_down(passed: &[f64]) -> usize {
    let (count, all) = (passed.len() as f64, passed.iter().sum::<f64>());
    let (mut sum, mut most, mut at) = (0.0, 0.0, 0);
    for (before, value) in (1..).zip(&passed[..passed.len().saturating_sub(1)]) {
        sum += value;
        let (first, second) = (f64::from(before), count - f64::from(before));
        let between = first * second * (sum / first - (all - sum) / second).powi(2);
        if between > most {
            (most, at) = (between, before as usize);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_where_the_level_changes_and_not_where_the_ranks_do() {
        // Packets of a real test in windows of 100 ms: its bucket of 1,116 packets is empty in the eighth.
        let passed = [
            660.0, 659.0, 659.0, 660.0, 660.0, 660.0, 660.0, 609.0, 530.0, 530.0, 551.0, 525.0, 534.0, 529.0,
            529.0, 528.0, 529.0, 530.0, 527.0, 529.0, 529.0, 526.0, 528.0, 527.0, 529.0, 531.0, 524.0, 530.0,
            524.0,
        ];
        assert_eq!(step_down(&passed), 8);
        assert_eq!(weir_stats::change(&passed).map(|change| change.at), Some(11));
        assert_eq!((step_down(&[]), step_down(&[5.0, 5.0])), (0, 0));
    }
}
