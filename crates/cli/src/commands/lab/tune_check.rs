//! `weir lab tune --check`: the pace that a search chose, over a link in real time, beside what the model says.

use std::process::ExitCode;

use serde_json::Value;
use weir_net::confine::show_own_processes;
use weir_net::signals::Signals;
use weir_population::{Check, Variant};
use weir_results::Outcome;

use super::supervise::{self, PASSED_ON};
use super::{Failure, pacing, tune};
use crate::args::{GlobalOptions, LabTuneArgs, RunName};
use crate::commands::run_store::{RunStore, find};

/// Measures what a finished search recommends.
pub fn run(name: RunName, args: &LabTuneArgs, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    let check = recommended(name, args, global)?;
    if !supervise::is_inside() {
        return supervise::run_inside();
    }
    // A failure affects only programs that inspect other processes.
    let _ = show_own_processes();
    let signals = Signals::take(&PASSED_ON)
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    pacing::measure(
        &check.scenario,
        args.max_lateness,
        global,
        &signals,
        Vec::new(),
        Some(&check),
    )
    .map(|()| ExitCode::SUCCESS)
}

fn recommended(name: RunName, args: &LabTuneArgs, global: &GlobalOptions) -> Result<Check, Failure> {
    let store = RunStore::open(&global.db)?;
    let run = store.store().run(find(store.store(), name)?)?;
    let place = format!("run {} of {}", run.id, store.path().display());
    let not_one = || {
        Failure::usage(format!(
            "{place} is not a finished search with a recommendation; name a run of 'weir lab tune'"
        ))
    };
    if run.kind != tune::KIND || run.outcome != Outcome::Finished {
        return Err(not_one());
    }
    let at = run.summary["recommended"]["place"].as_u64().ok_or_else(not_one)?;
    let chosen = chosen(&run.summary["candidates"][at as usize]).ok_or_else(not_one)?;
    let population = tune::population(&run, &place)?;
    Check::new(&population, &chosen, args.repeats).map_err(|error| Failure::usage(error.to_string()))
}

fn chosen(trial: &Value) -> Option<Variant> {
    Some(Variant {
        pace_factor: trial["pace_factor"].as_f64(),
        pace_burst: trial["pace_burst"].as_str()?.parse().ok()?,
        ..Variant::new("chosen".to_owned(), trial["pace"].as_str()?.parse().ok()?)
    })
}
