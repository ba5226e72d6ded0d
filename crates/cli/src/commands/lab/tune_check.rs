//! `weir lab tune --check`: the pace that a search chose, over a link in real time, beside what the model says.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use weir_lab::pacing::{Collected, Summary};
use weir_net::confine::show_own_processes;
use weir_net::host::HostFacts;
use weir_net::signals::Signals;
use weir_population::{Check, CheckedFigure, Variant};
use weir_results::Outcome;

use super::supervise::{self, PASSED_ON};
use super::{Failure, pacing, tune};
use crate::args::{GlobalOptions, LabTuneArgs, RunName};
use crate::commands::result::StoredResult;
use crate::commands::run_store::{Ended, RunStore, Stored, find, json as stored, new_run};
use crate::commands::tables;

/// What the lab measured, and what the model says.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    summary: &'a Summary<'a>,
    checked: Vec<CheckedFigure>,
}

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
    measure(&check, args, global, &signals).map(|()| ExitCode::SUCCESS)
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

fn measure(
    check: &Check,
    args: &LabTuneArgs,
    global: &GlobalOptions,
    signals: &Signals,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let scenario = &check.scenario;
    let parameters = pacing::plan::parameters(scenario, args.max_lateness);
    let new = new_run("pacing", &scenario.name, &parameters, &HostFacts::read(None));
    let kept = store.begin(&new, "lab", true)?;
    let id = kept.id();
    let mut collected = Collected::default();
    let done = pacing::all_trials(
        scenario,
        args.max_lateness,
        global,
        signals,
        &kept,
        &mut collected,
    );
    let end = match &done {
        Ok(true) => Ended::finished(),
        Ok(false) => Ended::interrupted(),
        Err(failure) => Ended::failed(&failure.message),
    };
    let outcome = end.outcome();
    let summary = collected.summary(scenario);
    let checked = check
        .beside(&summary)
        .map_err(|error| Failure::environment(error.to_string()))?;
    let checked = Checked {
        summary: &summary,
        checked,
    };
    let kept = kept.finish(&end, &stored(&checked));
    done?;
    let mut notes = collected.notes();
    notes.extend(kept.as_ref().map(Stored::notes).unwrap_or_default());
    StoredResult::new(&store, id, "pacing", outcome, &notes)
        .print(global.json, &checked, || tables::tune_check(&checked.checked))?;
    kept.map(|_| ())
}
