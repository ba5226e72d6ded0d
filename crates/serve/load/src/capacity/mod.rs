//! The search for how many viewers an origin holds: which number to try next, and what is known in the end. It must not
//! know how a number is tried, or what holding means.
//!
//! Numbers are doubled until one breaks, then the middle between the largest that held and the smallest that broke is
//! tried, each number until most of its trials agree. A trial in which the generator was the limit says nothing of the
//! origin.

mod trials;

use std::collections::BTreeMap;

use serde::Serialize;

#[cfg(feature = "generator")]
pub use trials::Settling;
pub use trials::{Bench, Capacity, Condition, Settled, Trial};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The first number; at least 1.
    pub from: u32,
    /// The largest number; at least `from`.
    pub most: u32,
    /// Trials of each number that decides; odd.
    pub repeats: u32,
    /// How close to come: a share of the number.
    pub precision: f64,
}

/// What a trial came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The quality held.
    Held,
    /// It broke.
    Broke,
    /// It broke when the generator was the limit: nothing is known.
    Unclear,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Try this number.
    Try(u32),
    /// It is found, or nothing more can be.
    Done(Found),
}

/// Why the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Between two numbers that are close enough.
    Capacity,
    /// The largest number held: the capacity is larger.
    AllHeld,
    /// One viewer was too many.
    NoneHeld,
    /// The generator was the limit: the capacity is larger.
    Generator,
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The largest number that held, in most of its trials; 0 if none did.
    pub viewers: u32,
    /// The largest number up to which no trial broke; 0 if there is none.
    pub low: u32,
    /// The smallest number from which on no trial held; none if the largest that was tried held.
    pub high: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    held: u32,
    broke: u32,
    unclear: u32,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    tried: BTreeMap<u32, Tally>,
}

impl Search {
    /// Of which nothing is known yet.
    pub fn new(plan: Plan) -> Self {
        Search {
            plan,
            tried: BTreeMap::new(),
        }
    }

    /// Takes what a trial came to.
    pub fn take(&mut self, viewers: u32, verdict: Verdict) {
        let tally = self.tried.entry(viewers).or_default();
        match verdict {
            Verdict::Held => tally.held += 1,
            Verdict::Broke => tally.broke += 1,
            Verdict::Unclear => tally.unclear += 1,
        }
    }

    fn most_of(&self, trials: u32) -> bool {
        2 * trials > self.plan.repeats
    }

    /// The smallest number that broke in most of its trials.
    fn broken(&self) -> Option<u32> {
        let mut broken = self.tried.iter().filter(|(_, tally)| self.most_of(tally.broke));
        broken.next().map(|(viewers, _)| *viewers)
    }

    /// The next step.
    pub fn next(&self) -> Step {
        if self.tried.values().any(|tally| self.most_of(tally.unclear)) {
            return Step::Done(Found::Generator);
        }
        let broken = self.broken();
        let below = || self.tried.range(..broken.unwrap_or(u32::MAX)).rev();
        // What broke once and is not decided is tried again before anything else.
        let open = |tally: &Tally| tally.broke + tally.unclear > 0 && !self.most_of(tally.held);
        if let Some((viewers, _)) = below().find(|(_, tally)| open(tally)) {
            return Step::Try(*viewers);
        }
        let held = below().next();
        match (held, broken) {
            (None, None) => Step::Try(self.plan.from.clamp(1, self.plan.most)),
            (Some((viewers, _)), None) if *viewers >= self.plan.most => Step::Done(Found::AllHeld),
            (Some((viewers, _)), None) => Step::Try(viewers.saturating_mul(2).min(self.plan.most)),
            // Below the number that broke, once is not enough.
            (Some((viewers, tally)), Some(_)) if !self.most_of(tally.held) => Step::Try(*viewers),
            (held, Some(broken)) => self.between(held.map_or(0, |(viewers, _)| *viewers), broken),
        }
    }

    fn between(&self, held: u32, broken: u32) -> Step {
        let close = (f64::from(held) * self.plan.precision).max(1.0);
        if f64::from(broken - held) > close {
            return Step::Try(held + (broken - held) / 2);
        }
        // The numbers at both ends are tried as often as was asked for: their trials make the interval.
        for end in [held, broken] {
            let tally = self.tried.get(&end).copied().unwrap_or_default();
            if end > 0 && tally.held + tally.broke < self.plan.repeats {
                return Step::Try(end);
            }
        }
        Step::Done(if held == 0 {
            Found::NoneHeld
        } else {
            Found::Capacity
        })
    }

    /// What is known so far.
    pub fn interval(&self) -> Interval {
        let broken = self.broken().unwrap_or(u32::MAX);
        let below = self.tried.range(..broken).rev();
        let held = below
            .filter(|(_, tally)| tally.held > tally.broke)
            .map(|(viewers, _)| *viewers)
            .next();
        let sound = self.tried.iter().take_while(|(_, tally)| tally.broke == 0);
        let low = sound.filter(|(_, tally)| tally.held > 0).last();
        let rotten = self.tried.iter().rev().take_while(|(_, tally)| tally.held == 0);
        let high = rotten.filter(|(_, tally)| tally.broke > 0).last();
        Interval {
            viewers: held.unwrap_or(0),
            low: low.map_or(0, |(viewers, _)| *viewers),
            high: high.map(|(viewers, _)| *viewers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        from: 1,
        most: 100_000,
        repeats: 3,
        precision: 0.05,
    };

    /// Searches against an origin for which `trial` returns the verdict of the n-th trial of a number.
    fn search(plan: Plan, trial: impl Fn(u32, u32) -> Verdict) -> (Found, Interval, u32) {
        let mut search = Search::new(plan);
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for trials in 0..1_000 {
            match search.next() {
                Step::Done(found) => return (found, search.interval(), trials),
                Step::Try(viewers) => {
                    assert!((1..=plan.most).contains(&viewers));
                    let count = counts.entry(viewers).or_default();
                    search.take(viewers, trial(viewers, *count));
                    *count += 1;
                }
            }
        }
        panic!("it does not end");
    }

    fn up_to(capacity: u32) -> impl Fn(u32, u32) -> Verdict {
        move |viewers, _| match viewers <= capacity {
            true => Verdict::Held,
            false => Verdict::Broke,
        }
    }

    #[test]
    fn a_sharp_limit_is_found() {
        for capacity in [1, 2, 3, 7, 20, 99, 100, 1_000, 54_321] {
            let (found, known, trials) = search(PLAN, up_to(capacity));
            assert_eq!(found, Found::Capacity);
            let high = known.high.expect("a number that broke");
            assert!(known.low <= capacity && capacity < high, "{capacity}: {known:?}");
            assert_eq!(known.viewers, known.low);
            let close = (f64::from(known.low) * PLAN.precision).max(1.0);
            assert!(f64::from(high - known.low) <= close, "{capacity}: {known:?}");
            assert!(trials < 60, "{trials} trials for {capacity}");
        }
    }

    #[test]
    fn one_trial_that_goes_wrong_decides_nothing() {
        // The first trial of every number up to 16 breaks.
        let (found, known, _) = search(PLAN, |viewers, count| match (viewers, count) {
            (0..=16, 0) => Verdict::Broke,
            (0..=40, _) => Verdict::Held,
            _ => Verdict::Broke,
        });
        assert_eq!((found, known.viewers), (Found::Capacity, 40));
        // The interval shows that it was not always so.
        assert_eq!((known.low, known.high), (0, Some(42)));
    }

    #[test]
    fn a_soft_limit_widens_the_interval() {
        // From 40 to 60 every second trial breaks, the first not.
        let (found, known, _) = search(PLAN, |viewers, count| match viewers {
            0..40 => Verdict::Held,
            40..=60 if count % 2 == 0 => Verdict::Held,
            _ => Verdict::Broke,
        });
        assert_eq!(found, Found::Capacity);
        assert!(known.low < known.viewers && known.viewers <= 60, "{known:?}");
        assert!(known.high.is_some_and(|high| high > known.viewers), "{known:?}");
    }
}
