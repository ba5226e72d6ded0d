//! `weir load`: viewers against an origin.

mod experiment;
mod find_capacity;
mod locust;
mod merging;
mod plan;
mod segment_log;
mod watching;

use serde_json::json;
use weir_cli::args::{GlobalOptions, LoadArgs, LoadCommand, LoadCommandLine};
use weir_load::engine::{self, LoadError};
use weir_load::measure::LoadSummary;
use weir_measure::Stop;
use weir_net::host::HostFacts;

use super::output::{closing_lines, print, print_json, storing_notes};
use super::run_store::{Ended, RunStore, json as stored, new_run};
use super::{Failure, tables, thresholds};
pub use find_capacity::{Capacity, Trial};
pub use merging::merge;
use segment_log::SegmentLog;
use watching::Watching;

/// A run, or one of the other commands.
pub fn run(line: &LoadCommandLine, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    match &line.command {
        Some(LoadCommand::FindCapacity(args)) => find_capacity::run(args, global, stop),
        Some(LoadCommand::Experiment(args)) => experiment::run(args, global, stop),
        None => play(&line.load, global, stop),
    }
}

/// Plays until the time is over, and reports.
fn play(args: &LoadArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
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
    let segments = args
        .player
        .segment_log
        .as_deref()
        .map(SegmentLog::create)
        .transpose()?;
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
    let watching = Watching::new(&run, args, config.duration, segments, global.quiet);
    let mut result = engine::run(&config, None, &|| stop.is_set(), &watching);
    let ended_early = watching.ended_by();
    let (finished, segments) = watching.finish();
    if let Ok(summary) = &mut result {
        // The origin knows better what is its own.
        summary.origin = summary.origin.take().or(finished.network.clone());
    }
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
    segments.map_or(Ok(()), SegmentLog::finish)?;
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
