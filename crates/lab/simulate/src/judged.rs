//! Counts of right and wrong answers over many random networks. It must not know single questions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_diagnose::{Comparison, compare};
use weir_results::{RunId, Store};

use crate::judgement::{
    OutsideAnswer, QUESTIONS, Said, Truth, answer_to_outside, error_of_shares, estimates, is_hidden,
};
use crate::networks::{Draw, Fault};
use crate::observed::{ObserveError, Observed, observe};
use crate::settings::{Outcome, try_settings};
use crate::tally::{Errors, Tally};
use crate::twin::repeat;

/// Cost of settings that are near the cheapest, as a multiple of it.
const MOST_COST: f64 = 1.3;
/// Largest error of shares that are right.
const SHARES: f64 = 0.05;

/// Counts for one question.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Networks with it, and how many were diagnosed right.
    pub hits: Tally,
    /// Networks without it, and how many were diagnosed with it.
    pub alarms: Tally,
    /// Networks that were diagnosed with it, and how many of them rightly.
    pub named: Tally,
    /// Missed or misnamed networks, and false alarms: kind, number, truth and answer.
    pub wrong: Vec<(Draw, u64, Truth, Said)>,
}

/// Values that findings give for one quantity.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Their errors, relative to the truth.
    pub errors: Errors,
    /// How often the stated 95 % bounds contained the truth, if there are bounds.
    pub within: Tally,
}

/// Results of all networks.
#[derive(Debug, Default)]
pub struct Judged {
    /// By question, in the order of [`QUESTIONS`].
    pub answers: Vec<Answers>,
    /// By quantity.
    pub values: BTreeMap<&'static str, Values>,
    /// Networks that could not be surveyed, and why.
    pub failed: Vec<(Draw, u64, String)>,
    /// Of the networks of each draw whose faults the survey met, those in which everything that there is was found, with
    /// the right numbers.
    pub whole: BTreeMap<Draw, Tally>,
    /// Of all networks of each draw, those with a finding that is not true of them.
    pub alarmed: BTreeMap<Draw, Tally>,
    /// Answers to causes outside the model that took enough packets, with the numbers of their networks, by cause.
    pub outside: BTreeMap<String, Vec<(u64, OutsideAnswer)>>,
    /// Of those that lose packets, those in which the shares of all findings are within 5 points of the truth.
    pub shares: BTreeMap<Draw, Tally>,
    /// Those in which they are not: draw, number and error.
    pub shares_off: Vec<(Draw, u64, f64)>,
    /// Their twins, where these were tried.
    pub twins: BTreeMap<Draw, Twins>,
    /// The settings that were recommended for them, where these were tried.
    pub settings: BTreeMap<Draw, Settings>,
}

/// How recommendations do on the networks themselves.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Networks on which the settings meet the target, or nothing does where none are recommended.
    pub right: Tally,
    /// Networks on which they cost no more than 1.3 times the cheapest that do.
    pub near: Tally,
    /// Networks on which they miss the target, or cost more.
    pub wrong: Vec<(u64, Outcome)>,
}

impl Settings {
    fn add(&mut self, number: u64, outcome: Outcome) {
        let near = outcome.cost.zip(outcome.cheapest);
        let near = near.map(|(cost, cheapest)| cost <= MOST_COST * cheapest);
        self.right.add(outcome.is_right);
        near.into_iter().for_each(|near| self.near.add(near));
        if !outcome.is_right || near == Some(false) {
            self.wrong.push((number, outcome));
        }
    }
}

/// How twins compare with their networks.
#[derive(Clone, Debug, Default)]
pub struct Twins {
    /// Networks in which the loss of every test is within the twin's bounds.
    pub networks: Tally,
    /// Networks whose twin has the same P99 of the round trip, within a fifth.
    pub delays: Tally,
    /// Networks and tests that are not within them.
    pub wrong: Vec<(u64, RunId)>,
}

impl Twins {
    fn add(&mut self, number: u64, comparison: &Comparison) {
        let off = comparison.tests.iter().filter(|test| !test.agrees);
        let before = self.wrong.len();
        self.wrong.extend(off.map(|test| (number, test.run)));
        self.networks.add(self.wrong.len() == before);
        if let Some(p99) = comparison.rtt.last() {
            self.delays.add(p99.agrees);
        }
    }
}

impl Judged {
    fn add(&mut self, draw: Draw, number: u64, observed: &Observed) {
        if let Fault::Outside(_) = observed.network.fault {
            self.add_outside(number, observed);
            return;
        }
        let each = observed.by_fault();
        let (mut whole, mut alarmed) = (true, false);
        self.answers.resize_with(QUESTIONS.len(), Answers::default);
        for (question, answers) in QUESTIONS.iter().zip(&mut self.answers) {
            let (truth, said) = question.of_all(&each);
            match truth {
                Truth::Present => {
                    answers.hits.add(said == Said::Right);
                    whole &= said == Said::Right;
                }
                Truth::Absent => {
                    answers.alarms.add(said != Said::Nothing);
                    alarmed |= said != Said::Nothing;
                }
                Truth::Unjudged => continue,
            }
            if said != Said::Nothing {
                answers.named.add((truth, said) == (Truth::Present, Said::Right));
            }
            if (truth == Truth::Present) != (said == Said::Right) || said == Said::Wrong {
                answers.wrong.push((draw, number, truth, said));
            }
        }
        // Where the survey missed a fault, finding the others proves less.
        let has_several = each.len() > 1;
        if !observed.network.may_miss || each.iter().all(|observed| !is_hidden(observed, has_several)) {
            self.whole.entry(draw).or_default().add(whole);
        }
        self.alarmed.entry(draw).or_default().add(alarmed);
        if let Some(error) = error_of_shares(observed) {
            self.shares.entry(draw).or_default().add(error <= SHARES);
            if error > SHARES {
                self.shares_off.push((draw, number, error));
            }
        }
        for estimate in each.iter().flat_map(estimates) {
            let values = self.values.entry(estimate.name).or_default();
            values.errors.add(estimate.said, estimate.truth);
            if let Some((low, high)) = estimate.bounds {
                values.within.add((low..=high).contains(&estimate.truth));
            }
        }
    }

    fn add_outside(&mut self, number: u64, observed: &Observed) {
        let Some((cause, answer)) = answer_to_outside(observed) else {
            return;
        };
        // Its numbers differ from network to network.
        let name = format!("{cause:?}");
        let name = name.split(' ').next().unwrap_or_default().to_owned();
        self.outside.entry(name).or_default().push((number, answer));
    }
}

/// Which networks to judge, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How they are drawn.
    pub draws: Vec<Draw>,
    /// Numbers of the networks of each of these.
    pub numbers: std::ops::Range<u64>,
    /// Seed of all of them.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
    /// Whether to try their twins, too.
    pub twins: bool,
    /// Whether to try the recommended settings on them.
    pub settings: bool,
}

/// Surveys and diagnoses all networks of a plan, with databases in `directory`. `each` is called for every network,
/// in no particular order.
///
/// # Errors
/// When the store or the diagnosis fails; a network that delivers no packet is counted as failed.
pub fn judge(
    plan: &Plan,
    directory: &Path,
    each: &(dyn Fn(Draw, u64, &Observed) + Sync),
) -> Result<Judged, ObserveError> {
    let todo: Vec<(Draw, u64)> = plan
        .numbers
        .clone()
        .flat_map(|number| plan.draws.iter().map(move |draw| (*draw, number)))
        .collect();
    let next = AtomicU64::new(0);
    let judged = Mutex::new((Judged::default(), None));
    let work = || {
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let Some((draw, number)) = usize::try_from(turn).ok().and_then(|turn| todo.get(turn)) else {
                return;
            };
            let database = directory.join(format!("{turn}.db"));
            let result = observe(&draw.network(plan.seed, *number), &database).and_then(|observed| {
                let twin = plan.twins.then(|| try_twin(&observed, &database));
                let settings = plan.settings.then(|| try_settings(&observed)).flatten();
                Ok((observed, twin.transpose()?, settings))
            });
            remove(&database);
            let mut judged = judged.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match result {
                Ok((observed, twin, settings)) => {
                    judged.0.add(*draw, *number, &observed);
                    let twins = twin.map(|twin| (judged.0.twins.entry(*draw).or_default(), twin));
                    twins
                        .into_iter()
                        .for_each(|(twins, twin)| twins.add(*number, &twin));
                    let tried =
                        settings.map(|settings| (judged.0.settings.entry(*draw).or_default(), settings));
                    tried
                        .into_iter()
                        .for_each(|(all, outcome)| all.add(*number, outcome));
                    each(*draw, *number, &observed);
                }
                Err(ObserveError::Simulation(error)) => {
                    judged.0.failed.push((*draw, *number, error.to_string()));
                }
                Err(error) => {
                    judged.1 = Some(error);
                    next.store(u64::MAX / 2, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            scope.spawn(work);
        }
    });
    let (mut judged, error) = judged
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    judged.outside.values_mut().for_each(|answers| answers.sort());
    for answers in &mut judged.answers {
        answers.wrong.sort_by_key(|wrong| (wrong.0, wrong.1));
    }
    error.map_or(Ok(judged), Err)
}

/// Makes the tests of a survey over the twin of its network.
///
/// # Errors
/// As [`repeat`].
pub fn try_twin(observed: &Observed, database: &Path) -> Result<Comparison, ObserveError> {
    let twin = weir_diagnose::twin(&observed.measured)?;
    let repeated = repeat(&observed.measured, &twin, &mut Store::open(database)?)?;
    Ok(compare(&observed.measured, &repeated))
}

/// If it cannot be removed, it is removed with its directory.
fn remove(database: &Path) {
    for ending in ["db", "db-wal", "db-shm"] {
        let _ = std::fs::remove_file(database.with_extension(ending));
    }
}
