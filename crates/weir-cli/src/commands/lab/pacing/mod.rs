//! `weir lab pacing`: trials of a scenario, one after the other, and how they compare.

mod plan;
mod program;
mod report;
mod servers;
mod trial;

use std::path::Path;
use std::process::ExitCode;

use signal_hook::consts::SIGCHLD;
use weir_cli::args::{GlobalOptions, LabPacingArgs};
use weir_cli::units::format_duration;
use weir_lab::pacing::{Scenario, Variant, named, scenarios, write_title};
use weir_net::confine::{MemoryFolder, show_own_processes};
use weir_net::host::HostFacts;
use weir_net::signals::Signals;

use super::supervise::{self, PASSED_ON};
use super::{Failure, print, scenario_text};
use crate::commands::output::{closing_lines, print_json, say, storing_notes};
use crate::commands::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use crate::commands::tables;
use report::{Collected, Told};
use trial::{Outcome, Setting, Trial};

/// How often a trial is made that the link spoils.
const TRIES: u32 = 3;
/// What starting and ending a trial takes, about.
const AROUND_TRIAL_NS: u64 = 3_000_000_000;

/// Does what the arguments say.
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
    // Only programs that look at other processes would notice.
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

/// Makes all trials, keeps them, and shows how they compare.
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
                "{}; what was measured before is run {id} in {}",
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

/// How the trials ended, if none failed.
enum Done {
    All,
    Interrupted,
}

/// Neighbours alone first, then the variants in turn, in each repeat in the other order, so that what drifts meets all alike.
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

/// One trial, made again while it cannot be believed; none when it was interrupted.
fn one(
    setting: &Setting<'_>,
    trial: &Trial<'_>,
    title: &str,
    collected: &mut Collected,
    told: &dyn Fn(&str),
) -> Result<Option<Told>, Failure> {
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
                "{trial} could not be measured in {TRIES} tries: {why}; give this host less to do beside it, or run it as root"
            )));
        }
        told(&format!("{title}: made again, since {why}"));
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

/// A folder for what trials serve and write. It lies in memory that only processes of the lab see.
struct Workshop {
    // Before the folder itself, which can go only when nothing is mounted on it.
    _memory: Option<MemoryFolder>,
    folder: tempfile::TempDir,
}

impl Workshop {
    fn new(scenario: &Scenario) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("weir-lab-")
            .tempdir()
            .map_err(|error| Failure::environment(format!("cannot make a temporary folder: {error}")))?;
        // Where that is not allowed, the files are on the disk meanwhile.
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
