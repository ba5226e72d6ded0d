//! Counts of right and wrong answers over many random networks. It must not know single questions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::judgement::{QUESTIONS, Said, Truth, estimates};
use crate::networks::{Kind, draw};
use crate::observed::{ObserveError, Observed, observe};
use crate::tally::{Errors, Tally};

/// Counts for one question.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Networks with it, and how many were diagnosed right.
    pub hits: Tally,
    /// Networks without it, and how many were diagnosed with it.
    pub alarms: Tally,
    /// Missed or misnamed networks, and false alarms: kind, number, truth and answer.
    pub wrong: Vec<(Kind, u64, Truth, Said)>,
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
    pub failed: Vec<(Kind, u64, String)>,
    /// Number of networks of each kind.
    pub networks: BTreeMap<Kind, u64>,
}

impl Judged {
    fn add(&mut self, kind: Kind, number: u64, observed: &Observed) {
        *self.networks.entry(kind).or_default() += 1;
        self.answers.resize_with(QUESTIONS.len(), Answers::default);
        for (question, answers) in QUESTIONS.iter().zip(&mut self.answers) {
            let (truth, said) = (question.answer)(observed);
            match truth {
                Truth::Present => answers.hits.add(said == Said::Right),
                Truth::Absent => answers.alarms.add(said != Said::Nothing),
                Truth::Unjudged => continue,
            }
            if (truth == Truth::Present) != (said == Said::Right) || said == Said::Wrong {
                answers.wrong.push((kind, number, truth, said));
            }
        }
        for estimate in estimates(observed) {
            let values = self.values.entry(estimate.name).or_default();
            values.errors.add(estimate.said, estimate.truth);
            if let Some((low, high)) = estimate.bounds {
                values.within.add((low..=high).contains(&estimate.truth));
            }
        }
    }
}

/// Which networks to judge, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Kinds.
    pub kinds: Vec<Kind>,
    /// Numbers of the networks of each kind.
    pub numbers: std::ops::Range<u64>,
    /// Seed of all of them.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
}

/// Surveys and diagnoses all networks of a plan, with databases in `directory`. `each` is called for every network,
/// in no particular order.
///
/// # Errors
/// When the store or the diagnosis fails; a network that delivers no packet is counted as failed.
pub fn judge(
    plan: &Plan,
    directory: &Path,
    each: &(dyn Fn(Kind, u64, &Observed) + Sync),
) -> Result<Judged, ObserveError> {
    let todo: Vec<(Kind, u64)> = plan
        .numbers
        .clone()
        .flat_map(|number| plan.kinds.iter().map(move |kind| (*kind, number)))
        .collect();
    let next = AtomicU64::new(0);
    let judged = Mutex::new((Judged::default(), None));
    let work = || {
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let Some((kind, number)) = usize::try_from(turn).ok().and_then(|turn| todo.get(turn)) else {
                return;
            };
            let database = directory.join(format!("{turn}.db"));
            let result = observe(&draw(*kind, plan.seed, *number), &database);
            remove(&database);
            let mut judged = judged.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match result {
                Ok(observed) => {
                    judged.0.add(*kind, *number, &observed);
                    each(*kind, *number, &observed);
                }
                Err(ObserveError::Simulation(error)) => {
                    judged.0.failed.push((*kind, *number, error.to_string()));
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
    for answers in &mut judged.answers {
        answers.wrong.sort_by_key(|wrong| (wrong.0, wrong.1));
    }
    error.map_or(Ok(judged), Err)
}

/// If it cannot be removed, it is removed with its directory.
fn remove(database: &Path) {
    for ending in ["db", "db-wal", "db-shm"] {
        let _ = std::fs::remove_file(database.with_extension(ending));
    }
}
