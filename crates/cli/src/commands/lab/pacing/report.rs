//! The result of all trials, as stored and printed.

use serde::Serialize;
use serde_json::{Map, Value};
use weir_lab::QueueSecond;
use weir_lab::pacing::{Case, CaseResult, Comparison, Figures, Scenario, TcpReading, compare};

use super::trial::Trial;
use crate::commands::tables;

/// Figures of one trial.
pub struct TrialFigures {
    pub started_unix_ns: u64,
    pub duration_ns: u64,
    pub figures: Figures,
    /// Forward and reverse.
    pub lateness_p99_ns: [i64; 2],
    pub connection: Vec<TcpReading>,
    pub queue: Vec<QueueSecond>,
    /// For each neighbour that has one.
    pub distributions: Vec<(String, Value)>,
}

/// A trial as stored.
#[derive(Serialize)]
pub struct KeptTrial {
    case: String,
    congestion: &'static str,
    /// None: the neighbours alone.
    variant: Option<String>,
    repeat: u32,
    started_unix_ns: u64,
    duration_ns: u64,
    lateness_p99_ns: [i64; 2],
    figures: Figures,
    connection: Vec<TcpReading>,
    queue: Vec<KeptQueue>,
    distributions: Map<String, Value>,
}

#[derive(Serialize)]
struct KeptQueue {
    unix_ns: u64,
    mean_bytes: f64,
    dropped: u64,
}

/// The complete result.
#[derive(Serialize)]
pub struct Summary<'a> {
    pub scenario: &'a str,
    pub unfit_trials: u32,
    pub comparisons: Vec<Comparison>,
    pub trials: &'a [KeptTrial],
}

/// Trials in the order of completion.
#[derive(Default)]
pub struct Collected {
    trials: Vec<KeptTrial>,
    /// Number of repeated trials.
    pub unfit: u32,
}

impl Collected {
    /// Adds a trial.
    pub fn add(&mut self, trial: &Trial<'_>, told: TrialFigures) {
        self.trials.push(KeptTrial {
            case: trial.case.name.clone(),
            congestion: trial.congestion.name(),
            variant: trial.variant_name().map(str::to_owned),
            repeat: trial.repeat,
            started_unix_ns: told.started_unix_ns,
            duration_ns: told.duration_ns,
            lateness_p99_ns: told.lateness_p99_ns,
            figures: told.figures,
            connection: told.connection,
            queue: told
                .queue
                .iter()
                .map(|second| KeptQueue {
                    unix_ns: second.unix_ns,
                    mean_bytes: second.mean_bytes,
                    dropped: second.dropped,
                })
                .collect(),
            distributions: told.distributions.into_iter().collect(),
        });
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
            let is_one = |trial: &&KeptTrial| {
                trial.case == case.name
                    && trial.congestion == congestion
                    && trial.variant.as_deref() == variant
            };
            self.trials
                .iter()
                .filter(is_one)
                .map(|trial| trial.figures.clone())
                .collect()
        };
        CaseResult {
            alone: figures(None),
            variants: scenario
                .variants
                .iter()
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
        let watched = |trial: &KeptTrial| trial.variant.is_none() || !trial.connection.is_empty();
        if !self.trials.iter().all(watched) {
            notes.push(
                "the kernel gave no data about some media connections (sock_diag); their figures are missing"
                    .to_owned(),
            );
        }
        notes
    }
}

/// The first figure of a case, for a line of progress.
pub fn first_figure(case: &Case, told: &TrialFigures) -> String {
    let found = case.figures.iter().find_map(|wanted| {
        let value = told.figures.get(&wanted.of)?;
        Some(format!(
            "{} {}",
            wanted.of,
            tables::pacing_figure(&wanted.of, *value)
        ))
    });
    found.unwrap_or_else(|| "done".to_owned())
}
