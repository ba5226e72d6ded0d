//! `weir load experiment`: a matrix of runs against origins that it starts.

mod bench;
mod titles;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::args::{ExperimentArgs, GlobalOptions};
use serde_json::Value;
use weir_load::experiment::{self, Cell, Experiment, ExperimentResult, MOST_FILE_BYTES, Machine, left, make};
use weir_load::testbed::{self, Cores, KIND, Kept, Testbed, TestbedError};
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_units::format_utc;

use super::super::output::{print, say};
use super::super::result::StoredResult;
use super::super::run_store::{Ended, RunStore, new_run};
use super::super::{Failure, tables};
use bench::Stored;

/// Runs the remaining cells of the experiment, and reports all of them.
pub fn run(args: &ExperimentArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let (text, experiment) = read(&args.file)?;
    bench::check(&experiment)?;
    if args.plan {
        return plan(&experiment, global);
    }
    let cores = testbed::choose(&experiment)?;
    let store = RunStore::open(&global.db)?;
    let before = match args.resume {
        true => Some(testbed::find(store.store(), &experiment)?),
        false => None,
    };
    if !titles::make(&experiment, &args.titles_folder, global.quiet, stop)? {
        return Err(Failure::environment("interrupted before anything was measured"));
    }
    let mut kept = match before {
        Some(kept) => kept.go_on(store.store())?,
        None => {
            let begun = new_run(KIND, &experiment.name, &Value::Null, &HostFacts::read(None));
            Kept::begin(store.store(), &experiment, begun, &text, &cores)?
        }
    };
    let made = make_all(&experiment, args, global, &store, &cores, &mut kept, stop);
    let end = Ended::of(&made.as_ref().map_err(|failure| &failure.message), stop);
    let machine = machine(args, &store, &kept, &cores)?;
    let result = ExperimentResult::of(&experiment, &kept.done, machine);
    let summary = result.summary();
    store.end(kept.run, &end, &summary)?;
    let mut notes = result.notes();
    let left = left(&experiment, &kept.done).len();
    if left > 0 {
        notes.push(format!("{left} runs remain; continue with --resume"));
    }
    if let Some(page) = &args.output {
        write(page, &result.page())?;
        notes.push(format!("the page is in {}", page.display()));
    }
    StoredResult::new(&store, kept.run, KIND, end.outcome(), &notes).print(global.json, &summary, || {
        tables::experiment(
            &experiment,
            &result.groups,
            &result.compared,
            result.model.as_ref(),
        )
    })?;
    made
}

/// Runs all remaining cells, and collects their results.
fn make_all(
    experiment: &Experiment,
    args: &ExperimentArgs,
    global: &GlobalOptions,
    store: &RunStore,
    cores: &Cores,
    kept: &mut Kept,
    stop: &Stop,
) -> Result<(), Failure> {
    if left(experiment, &kept.done).is_empty() {
        return Ok(());
    }
    let complains = |why: &str| say(&format!("weir load experiment: {why}"));
    let testbed = Testbed::set_up(experiment, &args.titles_folder, cores, complains)?;
    kept.storage_first_byte_ns = testbed.storage_first_byte_ns().or(kept.storage_first_byte_ns);
    let mut bench = Stored {
        experiment,
        testbed,
        store,
        parent: kept.run,
        quiet: global.quiet,
        stop,
    };
    make(experiment, &mut kept.done, &mut bench, &|number, left| {
        if !stop.is_set() && !global.quiet {
            say(&progress(experiment, left, number, &left[number]));
        }
        !stop.is_set()
    })
}

/// Description of the machine of an experiment.
fn machine(args: &ExperimentArgs, store: &RunStore, kept: &Kept, cores: &Cores) -> Result<Machine, Failure> {
    let facts = HostFacts::read(None);
    let known = format!("{} cores, {}, Linux {}", cores.available, facts.cpu, facts.kernel);
    let run = store.store().run(kept.run)?;
    let mut command = format!("weir load experiment {}", args.file.display());
    if let Some(page) = &args.output {
        command.push_str(&format!(" -o {}", page.display()));
    }
    let day = format_utc(kept.started_unix_ns);
    Ok(Machine {
        description: args.machine.clone().unwrap_or(known),
        day: day.split(' ').next().unwrap_or_default().to_owned(),
        version: run.weir_version,
        command,
        cores: cores.words(),
        storage_first_byte_ns: kept.storage_first_byte_ns,
    })
}

/// Writes the page, and creates its folder.
fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(path, page))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

fn progress(experiment: &Experiment, left: &[Cell], number: usize, cell: &Cell) -> String {
    let rest = experiment.takes_ns(&left[number..]);
    format!(
        "weir load experiment: run {} of {}, about {} left: {cell}, repeat {}",
        number + 1,
        left.len(),
        crate::units::format_duration(rest),
        cell.repeat
    )
}

fn read(path: &Path) -> Result<(String, Experiment), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the experiment {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut text = String::new();
    // Reads one byte more than the maximum, to detect a longer file.
    let read = file.take(MOST_FILE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| failed(&error))?;
    let experiment = experiment::read(&text)
        .map_err(|error| Failure::usage(format!("experiment {}: {error}", path.display())))?;
    Ok((text, experiment))
}

fn plan(experiment: &Experiment, global: &GlobalOptions) -> Result<(), Failure> {
    let cells = experiment.cells();
    if global.json {
        let planned: Vec<_> = cells.iter().map(Cell::json).collect();
        let line = serde_json::json!({
            "experiment": experiment.name,
            "takes_ns": experiment.takes_ns(&cells),
            "cells": planned,
        });
        return print(&format!("{line}\n"));
    }
    print(&tables::experiment_plan(experiment, &cells))
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        match error {
            TestbedError::Asked(said) => Failure::usage(said),
            TestbedError::Failed(said) => Failure::environment(said),
            TestbedError::Load(error) => error.into(),
            TestbedError::Store(error) => error.into(),
        }
    }
}
