//! An experiment in the results store: a run whose parts are the runs of its cells, and how to resume it.

use serde_json::{Value, json};
use weir_load::experiment::{self, Done, Experiment, Outcome};
use weir_net::clock;
use weir_net::host::HostFacts;
use weir_results::{Outcome as Stands, Run, RunFilter, RunId};

use super::super::super::Failure;
use super::super::super::run_store::{RunStore, new_run};
use super::cores::Cores;

/// The kind of the run of an experiment.
pub const KIND: &str = "experiment";

/// An experiment in progress.
pub struct Kept {
    /// Its run.
    pub run: RunId,
    /// Start, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// Finished cells.
    pub done: Vec<Done>,
    /// Time to first byte of a read from the storage, nanoseconds.
    pub storage_first_byte_ns: Option<u64>,
}

/// An experiment that was interrupted or has finished.
pub struct Before(Kept);

impl Before {
    /// Resumes it.
    pub fn go_on(self, store: &RunStore) -> Result<Kept, Failure> {
        store.store().take_up_run(self.0.run)?;
        Ok(self.0)
    }
}

impl Kept {
    /// Begins one.
    pub fn begin(
        store: &RunStore,
        experiment: &Experiment,
        text: &str,
        cores: &Cores,
    ) -> Result<Kept, Failure> {
        let parameters = json!({
            "experiment": experiment.name,
            "description": experiment.description,
            "seed": experiment.seed,
            "repeats": experiment.repeats,
            "cells": experiment.cells().len(),
            "cores": cores,
            "file": text,
        });
        let begun = new_run(KIND, &experiment.name, &parameters, &HostFacts::read(None));
        let run = store.begin_parent(&begun)?;
        store
            .store()
            .set_tags(run, std::slice::from_ref(&experiment.name))?;
        Ok(Kept {
            run,
            started_unix_ns: clock::unix_ns(),
            done: Vec::new(),
            storage_first_byte_ns: None,
        })
    }
}

/// The newest run of this experiment, with what it has finished.
pub fn find(store: &RunStore, experiment: &Experiment) -> Result<Before, Failure> {
    let filter = RunFilter {
        kinds: vec![KIND.to_owned()],
        ..RunFilter::default()
    };
    let runs = store.store().runs(&filter)?;
    let run = runs
        .into_iter()
        .find(|run| run.parameters["experiment"] == experiment.name.as_str());
    let run = run.ok_or_else(|| {
        Failure::usage(format!(
            "{} has no run of the experiment '{}'; start it without --resume",
            store.path().display(),
            experiment.name
        ))
    })?;
    if run.outcome == Stands::Running {
        return Err(Failure::usage(format!(
            "run {} of this experiment is still in progress",
            run.id
        )));
    }
    let text = run.parameters["file"].as_str().unwrap_or_default();
    if experiment::read(text).as_ref() != Ok(experiment) {
        return Err(Failure::usage(format!(
            "the file differs from that of run {} of this experiment; start a new run without --resume",
            run.id
        )));
    }
    Ok(Before(Kept {
        run: run.id,
        started_unix_ns: run.started_unix_ns,
        done: done(store, experiment, &run)?,
        storage_first_byte_ns: run.summary["machine"]["storage_first_byte_ns"].as_u64(),
    }))
}

/// The finished parts; interrupted ones are repeated.
fn done(store: &RunStore, experiment: &Experiment, run: &Run) -> Result<Vec<Done>, Failure> {
    let filter = RunFilter {
        parent: Some(run.id),
        ..RunFilter::default()
    };
    let cells = experiment.cells();
    let done = store.store().runs(&filter)?.into_iter().rev().filter_map(|part| {
        let key = part.parameters["cell"]["key"].as_str()?;
        let cell = cells.iter().find(|cell| cell.key() == key)?;
        let outcome: &Value = part.summary.get("outcome")?;
        let outcome: Outcome = serde_json::from_value(outcome.clone()).ok()?;
        (part.outcome == Stands::Finished).then(|| Done {
            cell: cell.clone(),
            run: part.id.0,
            outcome,
        })
    });
    Ok(done.collect())
}
