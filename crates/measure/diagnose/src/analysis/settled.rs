//! What passes of a test over its time: more at first, as out of a bucket that begins full, or more and more, or less and less. It must
//! not know which limits there are.

use weir_stats::{Counted, change, line, median};

use super::load::LEAST_LOSS;
use super::pieces::{LEAST_PIECES, begin, windows};
use super::rate_drop::share_of;
use super::step::Step;
use crate::measured::FlowTest;

/// A window passes more than others from this share on.
const MORE: f64 = 1.05;
/// This share of the windows before a change, and after it, are apart.
const NEARLY_ALL: f64 = 0.9;
/// Chance of a line through what passes that is not level, and by what share of the mean it rises or falls at least.
const BY_CHANCE: f64 = 1e-4;
const DRIFT: f64 = 0.005;
/// What a bucket held is known to this share.
const SAME: f64 = 0.2;
/// In longer tests a fall of the rate has a finding of its own.
const MOST_COMPARED: usize = 600;
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

/// Takes back those that show no bucket: in most tests that lose much it held the same. `slower` are tests at lower rates.
pub(super) fn confirm<'a>(steps: &mut [Step<'a>], slower: &mut [Step<'a>]) {
    let is_lossy = |step: &&Step| step.loss().rate() >= LEAST_LOSS;
    let lossy = steps.iter().filter(is_lossy).count();
    let credits: Vec<f64> = steps
        .iter()
        .filter_map(|step| Some(step.settled?.credit_s))
        .collect();
    let is_shown = |settled: &Settled| {
        let is_same = |other: &&f64| (*other / settled.credit_s - 1.0).abs() < SAME;
        credits.iter().filter(is_same).count() * 2 >= lossy
    };
    for step in steps.iter_mut().chain(slower) {
        step.settled = step.settled.filter(is_shown);
    }
}

/// Whether what passes of a test grows or shrinks all along, as it seldom does at random.
pub(super) fn drifts(step: &Step) -> bool {
    let pieces = windows(step.test, begin(step)).filter(|pieces| pieces.len() <= MOST_COMPARED);
    let passed = |(at, piece): (u32, &Counted)| (f64::from(at), (piece.trials - piece.events) as f64);
    let passed: Vec<(f64, f64)> = (0..).zip(pieces.iter().flatten()).map(passed).collect();
    let mean = passed.iter().map(|(_, passed)| passed).sum::<f64>() / passed.len() as f64;
    line(&passed)
        .is_some_and(|line| line.p_value < BY_CHANCE && line.slope.abs() * passed.len() as f64 > DRIFT * mean)
}
