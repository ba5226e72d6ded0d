//! `weir lab pacing`: trials of a scenario, one after the other, and their comparison.

mod plan;
mod program;
mod report;
mod servers;
mod trial;

use std::path::Path;
use std::process::ExitCode;

use crate::args::{GlobalOptions, LabPacingArgs};
use crate::units::format_duration;
use signal_hook::consts::SIGCHLD;
use weir_lab::pacing::{Scenario, Variant, named, scenarios, write_title};
use weir_net::confine::{MemoryFolder, show_own_processes};
use weir_net::host::HostFacts;
use weir_net::signals::Signals;

use super::supervise::{self, PASSED_ON};
use super::{Failure, print, scenario_text};
use crate::commands::output::{closing_lines, print_json, say, storing_notes};
use crate::commands::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use crate::commands::tables;
use report::{Collected, TrialFigures};
use trial::{Outcome, Setting, Trial};

/// Maximum number of attempts at a trial, which is repeated when the link was late.
const TRIES: u32 = 3;
/// Approximate overhead of starting and ending a trial.
const AROUND_TRIAL_NS: u64 = 3_000_000_000;

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
    let signals = Signals::take(&[&PASSED_ON[..], &[SIGCHLD]].concat())
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    measure(&scenario, args, global, &signals, notes).map(|()| ExitCode::SUCCESS)
}

fn show(name: &str, global: &GlobalOptions) -> Result<(), Failure> {
    match named(name) {
        Some(text) => scenario_text::show(name, text, global),
        None => Err(plan::unknown(name)),
    }
}

/// Runs all trials, stores them, and prints the comparison.
fn measure(
    scenario: &Scenario,
    args: &LabPacingArgs,
    global: &GlobalOptions,
    signals: &Signals,
    mut notes: Vec<String>,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let parameters = plan::parameters(scenario, args);
    let kept = store.begin(
        &new_run("pacing", &scenario.name, &parameters, &HostFacts::read(None)),
        "lab",
        true,
    )?;
    let id = kept.id();
    let mut collected = Collected::default();
    let done = all_trials(scenario, args, global, signals, &kept, &mut collected);
    let end = match &done {
        Ok(Done::All) => Ended::finished(),
        Ok(Done::Interrupted) => Ended::interrupted(),
        Err(failure) => Ended::failed(&failure.message),
    };
    let outcome = end.outcome();
    let summary = collected.summary(scenario);
    let kept = kept.finish(&end, &stored(&summary));
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
    notes.extend(kept.as_ref().map(storing_notes).unwrap_or_default());
    if global.json {
        print_json(&store, id, "pacing", outcome, &summary, &notes)?;
    } else {
        let closing = closing_lines(&store, id, outcome, &notes);
        print(&format!("{}{closing}", tables::pacing(&summary.comparisons)))?;
    }
    kept.map(|_| ())
}

/// Outcome of the trials, if none failed.
enum Done {
    All,
    Interrupted,
}

/// Neighbours alone first, then the variants, in the opposite order in every other repeat, so that drift affects all
/// variants equally.
fn all_trials(
    scenario: &Scenario,
    args: &LabPacingArgs,
    global: &GlobalOptions,
    signals: &Signals,
    kept: &OpenRun<'_>,
    collected: &mut Collected,
) -> Result<Done, Failure> {
    let folder = Workshop::new(scenario)?;
    let setting = Setting {
        folder: folder.path(),
        signals,
        kept,
        max_lateness_ns: args.max_lateness.0,
    };
    let trials = in_order(scenario);
    let each = scenario.warm_up.0 + scenario.duration.0 + AROUND_TRIAL_NS;
    let told = |line: &str| {
        if !global.quiet {
            say(&format!("weir lab pacing: {line}"));
        }
    };
    let whole = each.saturating_mul(trials.len() as u64);
    told(&format!(
        "{} trials, about {}",
        trials.len(),
        format_duration(whole)
    ));
    for (number, trial) in trials.iter().enumerate() {
        let title = format!("{}/{} {trial}", number + 1, trials.len());
        let Some(measured) = one(&setting, trial, &title, collected, &told)? else {
            return Ok(Done::Interrupted);
        };
        told(&format!(
            "{title}: {}",
            report::first_figure(trial.case, &measured)
        ));
        collected.add(trial, measured);
    }
    Ok(Done::All)
}

/// One trial, repeated while its result is invalid; none when it was interrupted.
fn one(
    setting: &Setting<'_>,
    trial: &Trial<'_>,
    title: &str,
    collected: &mut Collected,
    told: &dyn Fn(&str),
) -> Result<Option<TrialFigures>, Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        let why = match trial::carry_out(setting, trial)? {
            Outcome::Interrupted => return Ok(None),
            Outcome::Measured(measured) => return Ok(Some(*measured)),
            Outcome::Unfit(why) => why,
        };
        collected.unfit += 1;
        if tries == TRIES {
            return Err(Failure::environment(format!(
                "{trial}: no valid result in {TRIES} attempts: {why}; reduce the load on this host, or run as root"
            )));
        }
        told(&format!("{title}: repeated, because {why}"));
    }
}

fn in_order<'a>(scenario: &'a Scenario) -> Vec<Trial<'a>> {
    let mut trials = Vec::new();
    for congestion in &scenario.congestion {
        for case in &scenario.cases {
            let trial = |variant: Option<&'a Variant>, repeat: u32| Trial {
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
                let mut variants: Vec<&'a Variant> = scenario.variants.iter().collect();
                if repeat % 2 == 0 {
                    variants.reverse();
                }
                trials.extend(variants.into_iter().map(|variant| trial(Some(variant), repeat)));
            }
        }
    }
    trials
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
