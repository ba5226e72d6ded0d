//! The trials of a scenario: in which order they are made, how often one is repeated while its result is invalid, and what
//! they give together. It must not know how a trial is made: a [`Bench`] makes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use thiserror::Error;
use weir_neighbour::Distribution;
use weir_net::tcp::CongestionControl;

use super::comparison::{CaseResult, Comparison, compare};
use super::figures::{Figures, TcpReading};
use super::scenario::{Case, Scenario, Variant};
use crate::waiting::QueueSecond;

/// Maximum number of attempts at a trial, which is repeated when its result is invalid.
const TRIES: u32 = 3;
/// Approximate overhead of starting and ending a trial.
const AROUND_TRIAL_NS: u64 = 3_000_000_000;

/// A trial to make.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Its scenario.
    pub scenario: &'a Scenario,
    /// Its neighbours.
    pub case: &'a Case,
    /// Congestion control of the far host.
    pub congestion: CongestionControl,
    /// None: the neighbours alone.
    pub variant: Option<&'a Variant>,
    /// Which repeat, from 1.
    pub repeat: u32,
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = self.variant.map_or("neighbours alone", |variant| &variant.name);
        write!(f, "{}, {}, {variant}", self.case.name, self.congestion.name())
    }
}

/// Figures of one trial, as stored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrialFigures {
    /// Start of the measured interval.
    pub started_unix_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// By name.
    pub figures: Figures,
    /// P99 lateness of the link, forward and reverse.
    pub lateness_p99_ns: [i64; 2],
    /// What the kernel said of the media connections.
    pub connection: Vec<TcpReading>,
    /// The queue towards the viewer.
    pub queue: Vec<QueueSecond>,
    /// Of each neighbour that has one.
    pub distributions: BTreeMap<String, Distribution>,
}

/// Outcome of one attempt at a trial.
pub enum Outcome {
    /// Its figures.
    Measured(Box<TrialFigures>),
    /// The result is invalid, for this reason.
    Unfit(String),
    /// A stop was requested.
    Interrupted,
}

/// Why trials ended early, in one line.
#[derive(Debug, Error, PartialEq)]
#[error("{0}")]
pub struct TrialError(pub String);

/// Makes trials.
pub trait Bench {
    /// Makes one.
    ///
    /// # Errors
    /// When no attempt can succeed.
    fn attempt(&mut self, trial: &Trial<'_>) -> Result<Outcome, TrialError>;
}

/// What happened to a trial.
pub enum Event<'e> {
    /// Its result is invalid for this reason, and it is repeated.
    Repeated(&'e str),
    /// It was measured.
    Measured(&'e TrialFigures),
}

/// All trials of a scenario, in order: neighbours alone first, then the variants, in the opposite order in every other
/// repeat, so that drift affects all variants equally.
pub fn in_order(scenario: &Scenario) -> Vec<Trial<'_>> {
    let mut trials = Vec::new();
    for congestion in &scenario.congestion {
        for case in &scenario.cases {
            let trial = |variant, repeat| Trial {
                scenario,
                case,
                congestion: *congestion,
                variant,
                repeat,
            };
            if !case.neighbours.is_empty() {
                trials.push(trial(None, 1));
            }
            for repeat in 1..=scenario.repeats {
                let mut variants: Vec<&Variant> = scenario.variants.iter().collect();
                if repeat % 2 == 0 {
                    variants.reverse();
                }
                trials.extend(variants.into_iter().map(|variant| trial(Some(variant), repeat)));
            }
        }
    }
    trials
}

/// Approximate duration of so many trials of a scenario.
pub fn takes_ns(scenario: &Scenario, trials: usize) -> u64 {
    let each = scenario.warm_up.0 + scenario.duration.0 + AROUND_TRIAL_NS;
    each.saturating_mul(trials as u64)
}

/// A trial and its figures, as stored.
#[derive(Debug, Serialize)]
struct Kept {
    case: String,
    congestion: &'static str,
    /// None: the neighbours alone.
    variant: Option<String>,
    repeat: u32,
    #[serde(flatten)]
    told: TrialFigures,
}

/// The complete result.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    scenario: &'a str,
    unfit_trials: u32,
    /// Of each case with each congestion control.
    pub comparisons: Vec<Comparison>,
    trials: &'a [Kept],
}

/// Trials in the order of completion.
#[derive(Debug, Default)]
pub struct Collected {
    trials: Vec<Kept>,
    unfit: u32,
}

impl Collected {
    /// Makes `trials` one after the other, and reports their numbers and events; false if it was interrupted. What was
    /// measured before an error stays.
    ///
    /// # Errors
    /// When the bench fails, or a trial has no valid result.
    pub fn make<'t>(
        &mut self,
        trials: &[Trial<'t>],
        bench: &mut impl Bench,
        told: &dyn Fn(usize, &Trial<'t>, Event<'_>),
    ) -> Result<bool, TrialError> {
        for (number, trial) in trials.iter().enumerate() {
            let mut tries = 0;
            let figures = loop {
                let why = match bench.attempt(trial)? {
                    Outcome::Interrupted => return Ok(false),
                    Outcome::Measured(figures) => break *figures,
                    Outcome::Unfit(why) => why,
                };
                tries += 1;
                self.unfit += 1;
                if tries == TRIES {
                    return Err(TrialError(format!(
                        "{trial}: no valid result in {TRIES} attempts: {why}; reduce the load on this host, or run as root"
                    )));
                }
                told(number, trial, Event::Repeated(&why));
            };
            told(number, trial, Event::Measured(&figures));
            self.trials.push(Kept {
                case: trial.case.name.clone(),
                congestion: trial.congestion.name(),
                variant: trial.variant.map(|variant| variant.name.clone()),
                repeat: trial.repeat,
                told: figures,
            });
        }
        Ok(true)
    }

    /// The comparison of variants.
    pub fn summary<'a>(&'a self, scenario: &'a Scenario) -> Summary<'a> {
        let mut comparisons = Vec::new();
        for congestion in &scenario.congestion {
            for case in &scenario.cases {
                let result = self.of(scenario, case, congestion.name());
                if result.variants.iter().any(|(_, trials)| !trials.is_empty()) {
                    comparisons.push(compare(case, congestion.name(), &result));
                }
            }
        }
        Summary {
            scenario: &scenario.name,
            unfit_trials: self.unfit,
            comparisons,
            trials: &self.trials,
        }
    }

    fn of(&self, scenario: &Scenario, case: &Case, congestion: &str) -> CaseResult {
        let figures = |variant: Option<&str>| -> Vec<Figures> {
            let is_one = |trial: &&Kept| {
                trial.case == case.name
                    && trial.congestion == congestion
                    && trial.variant.as_deref() == variant
            };
            let found = self.trials.iter().filter(is_one);
            found.map(|trial| trial.told.figures.clone()).collect()
        };
        let variants = scenario.variants.iter();
        CaseResult {
            alone: figures(None),
            variants: variants
                .map(|variant| (variant.name.clone(), figures(Some(&variant.name))))
                .collect(),
        }
    }

    /// Notes below the figures.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unfit > 0 {
            notes.push(format!(
                "{} trials had an invalid result and were repeated",
                self.unfit
            ));
        }
        let watched = |trial: &Kept| trial.variant.is_none() || !trial.told.connection.is_empty();
        if !self.trials.iter().all(watched) {
            notes.push(
                "the kernel gave no data about some media connections (sock_diag); their figures are missing"
                    .to_owned(),
            );
        }
        notes
    }
}
