//! `weir load`: viewers against an origin.

mod experiment;
mod locust;
mod merging;
mod plan;
mod watching;

use serde_json::json;
use weir_cli::args::{GlobalOptions, LoadArgs, LoadCommand};
use weir_load::engine::{self, LoadError};
use weir_load::measure::LoadSummary;
use weir_measure::Stop;
use weir_net::host::HostFacts;

use super::output::{closing_lines, print, print_json, storing_notes};
use super::run_store::{Ended, RunStore, json as stored, new_run};
use super::{Failure, tables, thresholds};
use watching::Watching;

pub use merging::merge;

/// Plays until the time is over, and reports.
pub fn run(args: &LoadArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    if let Some(LoadCommand::Experiment(experiment)) = &args.command {
        return experiment::run(experiment, global, stop);
    }
    if args.urls == ["locustfile"] {
        return print(weir_load::locust::LOCUSTFILE);
    }
    if let Some(master) = &args.locust_master {
        return locust::run(args, master, global, stop);
    }
    let possible = thresholds::of_load(&Default::default(), &Default::default(), 1.0);
    thresholds::check(&args.fail_if, &possible, "load")?;
    thresholds::check(&args.stop_if, &possible, "load")?;
    let titles = plan::titles(args)?;
    let config = plan::config(args, &titles)?;
    let mut notes = plan::room(&config);
    let store = RunStore::open(&global.db)?;
    let target = titles.first().map(String::as_str).unwrap_or_default();
    let run = store.begin(
        &new_run(
            "load",
            target,
            &plan::parameters(args, &titles),
            &HostFacts::read(None),
        ),
        "load",
        true,
    )?;
    let id = run.id();
    let watching = Watching::new(&run, args, config.duration, global.quiet);
    let result = engine::run(&config, None, &|| stop.is_set(), &watching);
    let (ended_early, finished) = (watching.ended_by(), watching.finish());
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let kept = run.finish(&end, &result.as_ref().map_or_else(|_| json!(null), stored));
    let summary = result?;
    notes.extend(ended_early.iter().cloned());
    notes.extend(remarks(&summary));
    notes.extend(kept.as_ref().map(storing_notes).unwrap_or_default());
    if global.json {
        print_json(&store, id, "load", outcome, &summary, &notes)?;
    } else {
        let closing = closing_lines(&store, id, outcome, &notes);
        print(&format!("{}{closing}", tables::load(&summary)))?;
    }
    kept?;
    if summary.all.requests > 0 && summary.all.failed == summary.all.requests {
        return Err(Failure::environment(
            "every request failed; the causes stand above",
        ));
    }
    let seconds = (summary.duration_ns as f64 / 1e9).max(1e-9);
    let measured = thresholds::of_load(&finished.account.total(), &finished.quality, seconds);
    thresholds::judge(&args.fail_if, &measured)
}

fn remarks(summary: &LoadSummary) -> Option<String> {
    summary.generator_limited.then(|| {
        "the generator was the limit: a thread of it was busy all the time, or late; times are partly its own. Give it \
         more --threads, or fewer viewers"
            .to_owned()
    })
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::NotPermitted(_) | LoadError::Tls(_) => Failure::usage(error.to_string()),
            LoadError::Thread(_) => Failure::environment(error.to_string()),
        }
    }
}
