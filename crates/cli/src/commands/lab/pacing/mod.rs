//! `weir lab pacing`: trials of a scenario, one after the other, and their comparison.

pub mod plan;

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{GlobalOptions, LabPacingArgs};
use crate::units::format_duration;
use weir_lab::pacing::{
    Collected, Event, NetworkBench, Scenario, Summary, Trial, TrialFigures, in_order, named, scenarios,
    takes_ns, write_title,
};
use weir_measure::Sink;
use weir_net::confine::{MemoryFolder, show_own_processes};
use weir_net::host::HostFacts;
use weir_net::signals::Signals;
use weir_population::{Check, CheckedFigure};
use weir_units::TimeSpan;

use super::supervise::{self, PASSED_ON};
use super::{Failure, scenario_text};
use crate::commands::output::say;
use crate::commands::result::StoredResult;
use crate::commands::run_store::{Ended, OpenRun, RunStore, Stored, json as stored, new_run};
use crate::commands::tables;

/// Lists, prints or runs scenarios.
pub fn run(args: &LabPacingArgs, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.show {
        return show(name, global).map(|()| ExitCode::SUCCESS);
    }
    let Some(name) = &args.scenario else {
        return scenario_text::list(scenarios(), global).map(|()| ExitCode::SUCCESS);
    };
    let mut notes = Vec::new();
    let scenario = plan::scenario(name, args, &mut notes)?;
    if !supervise::is_inside() {
        return supervise::run_inside();
    }
    // A failure affects only programs that inspect other processes.
    let _ = show_own_processes();
    let signals = Signals::take(&PASSED_ON)
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    measure(&scenario, args.max_lateness, global, &signals, notes, None).map(|()| ExitCode::SUCCESS)
}

fn show(name: &str, global: &GlobalOptions) -> Result<(), Failure> {
    match named(name) {
        Some(text) => scenario_text::show(name, text, global),
        None => Err(plan::unknown(name)),
    }
}

/// The comparison, and what the model of a population says beside it.
#[derive(Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    summary: &'a Summary<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Vec<CheckedFigure>>,
}

/// Runs all trials, stores them, and prints the comparison; with `check`, beside the model.
pub fn measure(
    scenario: &Scenario,
    max_lateness: TimeSpan,
    global: &GlobalOptions,
    signals: &Signals,
    mut notes: Vec<String>,
    check: Option<&Check>,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let parameters = plan::parameters(scenario, max_lateness);
    let kept = store.begin(
        &new_run("pacing", &scenario.name, &parameters, &HostFacts::read(None)),
        "lab",
        true,
    )?;
    let id = kept.id();
    let mut collected = Collected::default();
    let done = all_trials(scenario, max_lateness, global, signals, &kept, &mut collected);
    let end = match &done {
        Ok(true) => Ended::finished(),
        Ok(false) => Ended::interrupted(),
        Err(failure) => Ended::failed(&failure.message),
    };
    let outcome = end.outcome();
    let summary = &collected.summary(scenario);
    let checked = check
        .map(|check| check.beside(summary))
        .transpose()
        .map_err(|error| Failure::environment(error.to_string()))?;
    let measured = Measured { summary, checked };
    let kept = kept.finish(&end, &stored(&measured));
    if let Err(failure) = done {
        return Err(Failure {
            message: format!(
                "{}; earlier trials are kept as run {id} in {}",
                failure.message,
                store.path().display()
            ),
            ..failure
        });
    }
    notes.extend(collected.notes());
    notes.extend(kept.as_ref().map(Stored::notes).unwrap_or_default());
    let printed = StoredResult::new(&store, id, "pacing", outcome, &notes);
    printed.print(global.json, &measured, || match &measured.checked {
        Some(checked) => tables::tune_check(checked),
        None => tables::pacing(&summary.comparisons),
    })?;
    kept.map(|_| ())
}

/// Makes all trials; false if it was interrupted.
fn all_trials(
    scenario: &Scenario,
    max_lateness: TimeSpan,
    global: &GlobalOptions,
    signals: &Signals,
    kept: &OpenRun<'_>,
    collected: &mut Collected,
) -> Result<bool, Failure> {
    let folder = Workshop::new(scenario)?;
    let mut bench = NetworkBench {
        folder: folder.path(),
        signals,
        record: &|row| kept.record(row),
        max_lateness_ns: max_lateness.0,
    };
    let trials = in_order(scenario);
    let count = trials.len();
    let told = |line: &str| {
        if !global.quiet {
            say(&format!("weir lab pacing: {line}"));
        }
    };
    let whole = format_duration(takes_ns(scenario, count));
    told(&format!("{count} trials, about {whole}"));
    let happened = |number: usize, trial: &Trial<'_>, event: Event<'_>| {
        let said = match event {
            Event::Repeated(why) => format!("repeated, because {why}"),
            Event::Measured(figures) => first_figure(trial, figures),
        };
        told(&format!("{}/{count} {trial}: {said}", number + 1));
    };
    let made = collected.make(&trials, &mut bench, &happened);
    made.map_err(|error| Failure::environment(error.to_string()))
}

/// The first figure of a case, for a line of progress.
fn first_figure(trial: &Trial<'_>, told: &TrialFigures) -> String {
    let found = trial.case.figures.iter().find_map(|wanted| {
        let value = told.figures.get(&wanted.of)?;
        let text = tables::pacing_figure(&wanted.of, *value);
        Some(format!("{} {text}", wanted.of))
    });
    found.unwrap_or_else(|| "done".to_owned())
}

/// A folder for files of trials, on a tmpfs that only processes of the lab see.
struct Workshop {
    // Unmounted before the folder is removed.
    _memory: Option<MemoryFolder>,
    folder: tempfile::TempDir,
}

impl Workshop {
    fn new(scenario: &Scenario) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("weir-lab-")
            .tempdir()
            .map_err(|error| Failure::environment(format!("cannot create a temporary folder: {error}")))?;
        // Where mounting is not allowed, the files are on disk.
        let memory = MemoryFolder::mount(folder.path()).ok();
        let seconds =
            (scenario.warm_up.0 + scenario.duration.0).div_ceil(1_000_000_000) + plan::SPARE_SECONDS;
        write_title(&scenario.media, seconds, folder.path())
            .map_err(|error| Failure::environment(error.to_string()))?;
        Ok(Workshop {
            _memory: memory,
            folder,
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}
