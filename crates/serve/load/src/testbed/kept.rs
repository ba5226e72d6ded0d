//! An experiment in the results store: a run whose parts are the runs of its cells, and how to resume it.

use serde_json::{Value, json};
use weir_net::clock;
use weir_results::{NewRun, Outcome as Stands, Run, RunFilter, RunId, Store, StoreError};

use super::cores::Cores;
use super::error::TestbedError;
use crate::experiment::{self, Done, Experiment, Outcome};

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

impl Kept {
    /// Resumes it.
    ///
    /// # Errors
    /// When another process records it.
    pub fn go_on(self, store: &Store) -> Result<Kept, StoreError> {
        store.take_up_run(self.run)?;
        Ok(self)
    }

    /// Begins one: with these parameters, `begun` is its run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(
        store: &Store,
        experiment: &Experiment,
        begun: NewRun,
        text: &str,
        cores: &Cores,
    ) -> Result<Kept, StoreError> {
        let parameters = json!({
            "experiment": experiment.name,
            "description": experiment.description,
            "seed": experiment.seed,
            "repeats": experiment.repeats,
            "cells": experiment.cells().len(),
            "cores": cores,
            "file": text,
        });
        let run = store.begin_run(&NewRun { parameters, ..begun })?;
        store.set_tags(run, std::slice::from_ref(&experiment.name))?;
        Ok(Kept {
            run,
            started_unix_ns: clock::unix_ns(),
            done: Vec::new(),
            storage_first_byte_ns: None,
        })
    }
}

/// The newest run of this experiment, with what it has finished.
///
/// # Errors
/// When there is none that can be resumed.
pub fn find(store: &Store, experiment: &Experiment) -> Result<Kept, TestbedError> {
    let filter = RunFilter {
        kinds: vec![KIND.to_owned()],
        ..RunFilter::default()
    };
    let runs = store.runs(&filter)?;
    let run = runs
        .into_iter()
        .find(|run| run.parameters["experiment"] == experiment.name.as_str());
    let run = run.ok_or_else(|| {
        TestbedError::Asked(format!(
            "{} has no run of the experiment '{}'; start it without --resume",
            store.path().display(),
            experiment.name
        ))
    })?;
    if run.outcome == Stands::Running {
        return Err(TestbedError::Asked(format!(
            "run {} of this experiment is still in progress",
            run.id
        )));
    }
    let text = run.parameters["file"].as_str().unwrap_or_default();
    if experiment::read(text).as_ref() != Ok(experiment) {
        return Err(TestbedError::Asked(format!(
            "the file differs from that of run {} of this experiment; start a new run without --resume",
            run.id
        )));
    }
    Ok(Kept {
        run: run.id,
        started_unix_ns: run.started_unix_ns,
        done: done(store, experiment, &run)?,
        storage_first_byte_ns: run.summary["machine"]["storage_first_byte_ns"].as_u64(),
    })
}

/// The finished parts; interrupted ones are repeated.
fn done(store: &Store, experiment: &Experiment, run: &Run) -> Result<Vec<Done>, StoreError> {
    let filter = RunFilter {
        parent: Some(run.id),
        ..RunFilter::default()
    };
    let cells = experiment.cells();
    let done = store.runs(&filter)?.into_iter().rev().filter_map(|part| {
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
