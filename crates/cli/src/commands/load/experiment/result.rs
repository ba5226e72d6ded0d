//! The result of an experiment: for the store, as tables, and as a page.

use std::path::Path;

use crate::args::{ExperimentArgs, GlobalOptions};
use serde_json::{Value, json};
use weir_load::experiment::{Compared, Done, Experiment, Group, Machine, Model, markdown};
use weir_net::host::HostFacts;
use weir_results::{Outcome, RunId};

use super::super::super::output::{closing_lines, print, print_json};
use super::super::super::run_store::RunStore;
use super::super::super::{Failure, tables};
use super::cores::Cores;
use super::kept::{KIND, Kept};

/// The result of all runs.
pub struct ExperimentResult<'a> {
    experiment: &'a Experiment,
    done: &'a [Done],
    groups: Vec<Group>,
    compared: Vec<Compared>,
    model: Option<Model>,
    machine: Machine,
}

impl<'a> ExperimentResult<'a> {
    /// From the finished runs.
    pub fn of(experiment: &'a Experiment, done: &'a [Done], machine: Machine) -> Self {
        let groups = Group::all(experiment, done);
        ExperimentResult {
            compared: Compared::all(experiment, &groups),
            model: Model::fit(experiment, done),
            experiment,
            done,
            groups,
            machine,
        }
    }

    /// JSON, for the store and for programs.
    pub fn summary(&self) -> Value {
        json!({
            "experiment": self.experiment.name,
            "description": self.experiment.description,
            "cells": self.experiment.cells().len(),
            "done": self.done.iter().map(Done::json).collect::<Vec<_>>(),
            "groups": self.groups.iter().map(Group::json).collect::<Vec<_>>(),
            "published": self.experiment.published.as_ref().map(|published| json!({
                "source": published.source,
                "part": published.part,
                "rows": self.compared,
            })),
            "model": self.model,
            "machine": {
                "description": self.machine.description,
                "cores": self.machine.cores,
                "storage_first_byte_ns": self.machine.storage_first_byte_ns,
            },
        })
    }

    /// Notes below the numbers.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let limited: usize = self.groups.iter().map(|group| group.generator_limited).sum();
        if limited > 0 {
            notes.push(format!(
                "in {limited} of {} runs the generator was the limit; their times include its own delay",
                self.done.len()
            ));
        }
        let failed: u64 = self.groups.iter().map(|group| group.failed).sum();
        if failed > 0 {
            notes.push(format!(
                "{failed} requests failed; 'weir runs show' of each run lists the causes"
            ));
        }
        notes
    }

    /// The page.
    pub fn page(&self) -> String {
        markdown(
            self.experiment,
            &self.groups,
            &self.compared,
            self.model.as_ref(),
            &self.machine,
        )
    }

    /// Prints the result.
    pub fn print(
        &self,
        store: &RunStore,
        run: RunId,
        outcome: Outcome,
        notes: &[String],
        global: &GlobalOptions,
    ) -> Result<(), Failure> {
        if global.json {
            return print_json(store, run, KIND, outcome, &self.summary(), notes);
        }
        let text = tables::experiment(self.experiment, &self.groups, &self.compared, self.model.as_ref());
        print(&format!("{text}{}", closing_lines(store, run, outcome, notes)))
    }
}

/// Description of the machine of an experiment.
pub fn machine(
    args: &ExperimentArgs,
    store: &RunStore,
    kept: &Kept,
    cores: &Cores,
) -> Result<Machine, Failure> {
    let facts = HostFacts::read(None);
    let known = format!("{} cores, {}, Linux {}", cores.available, facts.cpu, facts.kernel);
    let run = store.store().run(kept.run)?;
    let mut command = format!("weir load experiment {}", args.file.display());
    if let Some(page) = &args.output {
        command.push_str(&format!(" -o {}", page.display()));
    }
    let day = tables::utc(kept.started_unix_ns);
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
pub fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(path, page))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
