//! The trials of a search, and what they give together. It must not know how a number of viewers is tried: a [`Bench`] does
//! it, with an origin or with a model of one.

use serde::Serialize;

use super::{Found, Interval, Plan, Search, Step, Verdict};
#[cfg(feature = "generator")]
use crate::engine::{Second, SoFar, Watch};
use crate::measure::{Account, LoadSummary, Quality};

/// Tolerance of a second's length.
#[cfg(feature = "generator")]
const TOLERANCE_NS: u64 = 50_000_000;

/// Tries numbers of viewers.
pub trait Bench {
    /// Why none can be tried.
    type Error;
    /// Tries one; none if it was interrupted.
    ///
    /// # Errors
    /// When it could not be tried.
    fn trial(&mut self, viewers: u32) -> Result<Option<Trial>, Self::Error>;
}

/// Result of the search.
#[derive(Debug, Serialize)]
pub struct Capacity {
    /// Conditions that had to hold.
    pub holds: Vec<String>,
    /// Why the search ended; none if it was interrupted.
    pub found: Option<Found>,
    /// Numbers of viewers.
    #[serde(flatten)]
    pub interval: Interval,
    /// All trials, in order.
    pub trials: Vec<Trial>,
}

/// One trial.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Its run in the store.
    pub run_id: i64,
    /// Viewers.
    pub viewers: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// Measured values of the conditions.
    pub conditions: Vec<Condition>,
    /// Requests in the measured interval.
    pub requests: u64,
    /// Failed requests among these.
    pub failed: u64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// The busiest second of the generator's busiest thread, as a share of a core.
    pub busiest: f64,
    /// Whether the generator was the limit.
    pub generator_limited: bool,
}

/// One condition in a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Condition {
    /// The condition as given.
    pub condition: String,
    /// In the base unit of its metric; none if nothing was measured.
    pub value: Option<f64>,
    /// Text for people.
    #[serde(skip)]
    pub text: String,
    /// Whether it held.
    pub held: bool,
}

impl Trial {
    /// From what was measured, and the summary of the whole run.
    pub fn of(
        (run_id, viewers): (i64, u32),
        settled: &Settled,
        conditions: Vec<Condition>,
        summary: &LoadSummary,
    ) -> Self {
        let total = settled.account.total();
        let held = conditions.iter().all(|condition| condition.held);
        Trial {
            run_id,
            viewers,
            verdict: match (held, summary.generator_limited) {
                (true, _) => Verdict::Held,
                (false, false) => Verdict::Broke,
                (false, true) => Verdict::Unclear,
            },
            conditions,
            requests: total.requests,
            failed: total.failed(),
            requests_per_second: total.requests as f64 / settled.seconds(),
            busiest: summary.busiest,
            generator_limited: summary.generator_limited,
        }
    }
}

/// Sums of the seconds after the warm-up.
#[derive(Debug, Default)]
pub struct Settled {
    /// Requests.
    pub account: Account,
    /// Sessions.
    pub quality: Quality,
    /// How long it was measured.
    pub duration_ns: u64,
}

impl Settled {
    /// How long it was measured, seconds; never 0.
    pub fn seconds(&self) -> f64 {
        (self.duration_ns as f64 / 1e9).max(1e-9)
    }
}

/// Sums the seconds after the warm-up, and hands all to another.
#[cfg(feature = "generator")]
pub struct Settling<'a> {
    /// The other.
    pub watching: &'a dyn Watch,
    /// Length of the warm-up.
    pub settle_ns: u64,
    /// The sums.
    pub settled: std::cell::RefCell<Settled>,
}

#[cfg(feature = "generator")]
impl Watch for Settling<'_> {
    fn second(&self, second: &Second, so_far: &SoFar) -> bool {
        let began_ns = so_far.elapsed_ns.saturating_sub(second.duration_ns);
        if began_ns + TOLERANCE_NS >= self.settle_ns {
            let mut settled = self.settled.borrow_mut();
            settled.account.merge(&second.account);
            settled.quality.merge(&second.quality);
            settled.duration_ns += second.duration_ns;
        }
        self.watching.second(second, so_far)
    }
}

impl Capacity {
    /// Searches until the capacity is known, a trial is interrupted, or one fails; `told` hears each trial.
    pub fn find<B: Bench>(
        plan: Plan,
        holds: Vec<String>,
        bench: &mut B,
        told: &dyn Fn(&Trial),
    ) -> (Capacity, Result<(), B::Error>) {
        let (mut search, mut trials) = (Search::new(plan), Vec::new());
        let found = loop {
            let viewers = match search.next() {
                Step::Done(found) => break Ok(Some(found)),
                Step::Try(viewers) => viewers,
            };
            match bench.trial(viewers) {
                // An interrupted trial has no verdict.
                Ok(None) => break Ok(None),
                Ok(Some(trial)) => {
                    told(&trial);
                    search.take(viewers, trial.verdict);
                    trials.push(trial);
                }
                Err(error) => break Err(error),
            }
        };
        let capacity = Capacity {
            holds,
            found: found.as_ref().ok().copied().flatten(),
            interval: search.interval(),
            trials,
        };
        (capacity, found.map(drop))
    }

    /// Note for a result that is not the origin's limit.
    pub fn remark(&self, interrupted: bool) -> Option<String> {
        let viewers = self.interval.viewers;
        match self.found {
            Some(Found::Generator) => Some(format!(
                "this host was the limit, not the origin, which serves more than {viewers} viewers: use more --threads, or \
                more hosts as generators"
            )),
            Some(Found::AllHeld) => Some(format!(
                "the origin serves at least {viewers} viewers, the maximum tried; raise it with --most"
            )),
            Some(Found::Capacity | Found::NoneHeld) => None,
            None => interrupted.then(|| "the search was interrupted: the result is preliminary".to_owned()),
        }
    }
}
