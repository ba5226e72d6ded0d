//! The testbed of an experiment: its storage, an origin for each run, and the generator in this process.

use std::path::Path;
use std::time::Duration;

use crate::args::{Cli, Command, LoadArgs};
use clap::Parser;
use serde_json::json;
use weir_load::engine::{self, Config, Second, SoFar, Watch};
use weir_load::experiment::{Cache, Cell, Done, Experiment, OriginChange, Outcome, Storage as From};
use weir_load::measure::{LoadSummary, OriginSource, OriginSummary};
use weir_load::schedule::Arrivals;
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_results::RunId;

use super::super::super::Failure;
use super::super::super::run_store::{Ended, RunStore, json as stored, new_run};
use super::super::plan;
use super::super::watching::Watching;
use super::cores::Cores;
use super::origin::{self, Origin};
use super::storage::Storage;
use super::titles;

/// Time that a viewer plays to warm the caches before a run.
const WARMING: Duration = Duration::from_secs(2);

/// Storage and cores of an experiment.
pub struct Bench<'a> {
    experiment: &'a Experiment,
    store: &'a RunStore,
    cores: &'a Cores,
    quiet: bool,
    storage: Option<Storage>,
    place: String,
}

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

impl<'a> Bench<'a> {
    /// Starts the storage, if the experiment serves it.
    pub fn set_up(
        experiment: &'a Experiment,
        titles_folder: &Path,
        store: &'a RunStore,
        cores: &'a Cores,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let (storage, place) = match &experiment.storage {
            From::Location(place) => (None, place.clone()),
            From::Served { folder, delay, .. } => {
                let folder = folder.as_deref().map_or(titles_folder, Path::new);
                if let Some(cores) = &cores.storage {
                    origin::run_on(cores)?;
                }
                let storage = Storage::start(folder, *delay)?;
                let place = storage.place();
                (Some(storage), place)
            }
        };
        origin::run_on(&cores.generator)?;
        Ok(Bench {
            experiment,
            store,
            cores,
            quiet,
            storage,
            place,
        })
    }

    /// Time to first byte of a read from the storage.
    pub fn storage_first_byte_ns(&self) -> Option<u64> {
        self.storage.as_ref()?.first_byte_ns("nothing-of-this-name")
    }

    /// Runs one cell; none if it was interrupted.
    pub fn measure(&self, parent: RunId, cell: &Cell, stop: &Stop) -> Result<Option<Done>, Failure> {
        let options = self.experiment.origin_options(cell);
        let origin = Origin::start(&self.place, &options, &self.cores.origin, &self.cores.generator)?;
        // The file has been validated: each rate has a title.
        let path = titles::path(self.experiment, cell.video)
            .ok_or_else(|| Failure::usage(format!("no title of {}", cell.video)))?;
        let url = origin.url(&path);
        let args = load_args(self.experiment, cell, &url)?;
        let titles = [url];
        let config = plan::config(&args, &titles)?;
        plan::room(&config);
        if cell.cache == Cache::Warm {
            engine::run(&warming(&config), None, &|| stop.is_set(), &Nobody)?;
        }
        self.record(parent, cell, &args, &titles, &config, &origin, stop)
    }

    #[expect(clippy::too_many_arguments, reason = "everything that a run needs")]
    fn record(
        &self,
        parent: RunId,
        cell: &Cell,
        args: &LoadArgs,
        titles: &[String],
        config: &Config,
        origin: &Origin,
        stop: &Stop,
    ) -> Result<Option<Done>, Failure> {
        let mut parameters = plan::parameters(args, titles);
        parameters["experiment"] = json!(self.experiment.name);
        parameters["cell"] = cell.json();
        let mut begun = new_run("load", &cell.to_string(), &parameters, &HostFacts::read(None));
        begun.parent = Some(parent);
        let run = self.store.begin(&begun, "load", true)?;
        let id = run.id();
        self.store
            .store()
            .set_tags(id, &cell.tags(&self.experiment.name))?;
        let before = self.reading(origin);
        let watching = Watching::new(&run, args, config.duration, None, self.quiet);
        let result = engine::run(config, None, &|| stop.is_set(), &watching);
        drop(watching.finish());
        let after = self.reading(origin);
        let end = Ended::of(&result, stop);
        let finished = end.outcome() == weir_results::Outcome::Finished;
        let outcome = result.as_ref().ok().map(|summary| {
            let change = before.as_ref().ok().zip(after.as_ref().ok());
            let change = change.map(|(before, after)| before.change(after));
            Outcome::of(summary, &change.unwrap_or_default())
        });
        let summary = result
            .as_ref()
            .map_or_else(|_| json!(null), |summary| summed_up(summary, outcome.as_ref()));
        run.finish(&end, &summary)?;
        result?;
        before?;
        after?;
        Ok(outcome.filter(|_| finished).map(|outcome| Done {
            cell: cell.clone(),
            run: id.0,
            outcome,
        }))
    }

    fn reading(&self, origin: &Origin) -> Result<OriginCounters, Failure> {
        Ok(OriginCounters {
            metrics: origin.metrics()?,
            cpu_ns: origin.cpu_ns(),
            memory_bytes: origin.memory_bytes(),
        })
    }
}

/// Counters of an origin at one time.
struct OriginCounters {
    metrics: Vec<weir_load::metrics::Metric>,
    cpu_ns: Option<u64>,
    memory_bytes: Option<u64>,
}

impl OriginCounters {
    fn change(&self, after: &OriginCounters) -> OriginChange {
        OriginChange {
            cpu_ns: after
                .cpu_ns
                .zip(self.cpu_ns)
                .map(|(after, before)| after.saturating_sub(before)),
            memory_bytes: after.memory_bytes,
            ..OriginChange::between(&self.metrics, &after.metrics)
        }
    }
}

/// One viewer for a short while.
fn warming(config: &Config) -> Config {
    Config {
        arrivals: Arrivals::Ramp {
            from: 1,
            to: 1,
            over: Duration::ZERO,
        },
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
