//! The result of an experiment: all its runs together, for the store and as a page. It must not know how it is printed.

use serde_json::{Value, json};

use super::file::Experiment;
use super::markdown::{Machine, markdown};
use super::model::Model;
use super::outcome::{Compared, Done, Group};

/// The result of all runs.
pub struct ExperimentResult<'a> {
    experiment: &'a Experiment,
    done: &'a [Done],
    /// Runs that differ in their repeat only.
    pub groups: Vec<Group>,
    /// The published configurations.
    pub compared: Vec<Compared>,
    /// The fitted model.
    pub model: Option<Model>,
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
}
