//! The runs of an experiment: their options as on the command line, and their results in the store.

use std::time::Duration;

use crate::args::{Cli, Command, LoadArgs};
use clap::Parser;
use serde_json::json;
use weir_load::engine::{self, Config, Second, SoFar, Watch};
use weir_load::experiment::{Bench, Cache, Cell, Done, Experiment, OriginChange, Outcome};
use weir_load::measure::{LoadSummary, OriginSource, OriginSummary};
use weir_load::schedule::Arrivals;
use weir_load::testbed::Testbed;
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_results::RunId;

use super::super::super::Failure;
use super::super::super::run_store::{Ended, RunStore, json as stored, new_run};
use super::super::plan;
use super::super::watching::Watching;
use super::titles;

/// Time that a viewer plays to warm the caches before a run.
const WARMING: Duration = Duration::from_secs(2);

/// Checks the options of all runs before anything is started.
pub fn check(experiment: &Experiment) -> Result<(), Failure> {
    for cell in experiment.cells() {
        let words = ["weir", "origin", "."].map(str::to_owned);
        let origin = [words.to_vec(), experiment.origin_options(&cell)].concat();
        let taken = Cli::try_parse_from(origin).map_err(|error| said(&cell, &error))?;
        if !matches!(&taken.command, Command::Origin(args) if args.command.is_none()) {
            return Err(Failure::usage("origin: options must be options of 'weir origin'"));
        }
        let args = load_args(experiment, &cell, "http://127.0.0.1/")?;
        if args.locust_master.is_some() || args.titles.is_some() || args.urls.len() != 1 {
            return Err(Failure::usage(format!(
                "part {}: options must not set titles or a Locust master; the experiment sets its own titles",
                cell.part
            )));
        }
    }
    Ok(())
}

/// The options of a run, parsed as on the command line.
fn load_args(experiment: &Experiment, cell: &Cell, url: &str) -> Result<LoadArgs, Failure> {
    let words = ["weir", "load", url].map(str::to_owned);
    let words = [words.to_vec(), experiment.load_options(cell)].concat();
    match Cli::try_parse_from(words)
        .map_err(|error| said(cell, &error))?
        .command
    {
        Command::Load(line) if line.command.is_none() => Ok(line.load),
        _ => Err(Failure::usage(format!(
            "part {}: options must be options of 'weir load'",
            cell.part
        ))),
    }
}

/// The first line of an error in options.
fn said(cell: &Cell, error: &clap::Error) -> Failure {
    let text = error.to_string();
    let line = text
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    Failure::usage(format!("part {}: {line}", cell.part))
}

/// Ignores all seconds.
struct Nobody;

impl Watch for Nobody {
    fn second(&self, _: &Second, _: &SoFar) -> bool {
        true
    }
}

/// A testbed whose runs are stored.
pub struct Stored<'a> {
    pub experiment: &'a Experiment,
    pub testbed: Testbed<'a>,
    pub store: &'a RunStore,
    /// The run of the experiment.
    pub parent: RunId,
    pub quiet: bool,
    pub stop: &'a Stop,
}

impl Bench for Stored<'_> {
    type Error = Failure;

    fn measure(&mut self, cell: &Cell) -> Result<Option<Done>, Failure> {
        let origin = self.testbed.origin(cell)?;
        // The file has been validated: each rate has a title.
        let path = titles::path(self.experiment, cell.video)
            .ok_or_else(|| Failure::usage(format!("no title of {}", cell.video)))?;
        let titles = [origin.url(&path)];
        let args = load_args(self.experiment, cell, &titles[0])?;
        let config = plan::config(&args, &titles)?;
        plan::room(&config);
        let stop = &|| self.stop.is_set();
        if cell.cache == Cache::Warm {
            engine::run(&warming(&config), None, stop, &Nobody)?;
        }
        let mut parameters = plan::parameters(&args, &titles);
        parameters["experiment"] = json!(self.experiment.name);
        parameters["cell"] = cell.json();
        let mut begun = new_run("load", &cell.to_string(), &parameters, &HostFacts::read(None));
        begun.parent = Some(self.parent);
        let run = self.store.begin(&begun, "load", true)?;
        let id = run.id();
        let tags = cell.tags(&self.experiment.name);
        self.store.store().set_tags(id, &tags)?;
        let watching = Watching::new(&run, &args, config.duration, None, self.quiet);
        let (result, change) = origin.under(|| engine::run(&config, None, stop, &watching));
        drop(watching.finish());
        let end = Ended::of(&result, self.stop);
        let finished = end.outcome() == weir_results::Outcome::Finished;
        let of = |summary| Outcome::of(summary, change.as_ref().unwrap_or(&OriginChange::default()));
        let outcome = result.as_ref().ok().map(of);
        let summary = result
            .as_ref()
            .map_or_else(|_| json!(null), |summary| summed_up(summary, outcome.as_ref()));
        run.finish(&end, &summary)?;
        result?;
        change?;
        Ok(outcome.filter(|_| finished).map(|outcome| Done {
            cell: cell.clone(),
            run: id.0,
            outcome,
        }))
    }
}

/// One viewer for a short while.
fn warming(config: &Config) -> Config {
    Config {
        arrivals: Arrivals::steady(1),
        duration: Some(WARMING),
        ..config.clone()
    }
}

/// The stored summary of a run, with the figures of the experiment.
fn summed_up(summary: &LoadSummary, outcome: Option<&Outcome>) -> serde_json::Value {
    let mut kept = stored(summary);
    if let Some(outcome) = outcome {
        let seconds = outcome.duration_ns as f64 / 1e9;
        kept["origin"] = stored(&outcome.in_bps.map(|in_bps| OriginSummary {
            source: OriginSource::Metrics,
            in_bytes: (in_bps * seconds / 8.0).round() as u64,
            out_bytes: summary.all.body_bytes,
            efficiency: outcome.efficiency,
        }));
        kept["outcome"] = stored(outcome);
    }
    kept
}
