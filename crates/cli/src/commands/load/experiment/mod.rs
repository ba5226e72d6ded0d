//! `weir load experiment`: a matrix of runs against origins that it starts.

mod bench;
mod cores;
mod kept;
mod origin;
mod result;
mod storage;
mod titles;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::args::{ExperimentArgs, GlobalOptions};
use weir_load::experiment::{self, Cell, Done, Experiment, MOST_FILE_BYTES};
use weir_measure::Stop;

use super::super::output::{print, say};
use super::super::run_store::{Ended, RunStore, json as stored};
use super::super::{Failure, tables};
use bench::Bench;
use kept::Kept;
use result::ExperimentResult;

/// Runs the remaining cells of the experiment, and reports all of them.
pub fn run(args: &ExperimentArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let (text, experiment) = read(&args.file)?;
    bench::check(&experiment)?;
    if args.plan {
        return plan(&experiment, global);
    }
    let cores = cores::choose(&experiment)?;
    let store = RunStore::open(&global.db)?;
    let before = match args.resume {
        true => Some(kept::find(&store, &experiment)?),
        false => None,
    };
    if !titles::make(&experiment, &args.titles_folder, global.quiet, stop)? {
        return Err(Failure::environment("interrupted before anything was measured"));
    }
    let mut kept = match before {
        Some(kept) => kept.go_on(&store)?,
        None => Kept::begin(&store, &experiment, &text, &cores)?,
    };
    let made = make(&experiment, args, global, &store, &cores, &mut kept, stop);
    let end = Ended::of(&made.as_ref().map_err(|failure| &failure.message), stop);
    let machine = result::machine(args, &store, &kept, &cores)?;
    let result = ExperimentResult::of(&experiment, &kept.done, machine);
    store.end(kept.run, &end, &stored(&result.summary()))?;
    let mut notes = result.notes();
    let left = experiment.left(&keys(&kept.done)).len();
    if left > 0 {
        notes.push(format!("{left} runs remain; continue with --resume"));
    }
    if let Some(page) = &args.output {
        result::write(page, &result.page())?;
        notes.push(format!("the page is in {}", page.display()));
    }
    result.print(&store, kept.run, end.outcome(), &notes, global)?;
    made
}

/// Runs all remaining cells, and collects their results.
fn make(
    experiment: &Experiment,
    args: &ExperimentArgs,
    global: &GlobalOptions,
    store: &RunStore,
    cores: &cores::Cores,
    kept: &mut Kept,
    stop: &Stop,
) -> Result<(), Failure> {
    let left = experiment.left(&keys(&kept.done));
    if left.is_empty() {
        return Ok(());
    }
    let bench = Bench::set_up(experiment, &args.titles_folder, store, cores, global.quiet)?;
    kept.storage_first_byte_ns = bench.storage_first_byte_ns().or(kept.storage_first_byte_ns);
    for (number, cell) in left.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        if !global.quiet {
            say(&progress(experiment, &left, number, cell));
        }
        if let Some(done) = bench.measure(kept.run, cell, stop)? {
            kept.done.push(done);
        }
    }
    Ok(())
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

fn keys(done: &[Done]) -> BTreeSet<String> {
    done.iter().map(|done| done.cell.key()).collect()
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
