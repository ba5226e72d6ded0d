//! `weir load`: viewers against an origin.

mod find_capacity;
#[cfg(feature = "locust")]
mod locust;
#[cfg(not(feature = "locust"))]
#[path = "load/without_locust.rs"]
mod locust;
mod merging;
mod plan;
mod segment_log;
mod watching;

use crate::args::{GlobalOptions, LoadArgs, LoadCommand, LoadCommandLine};
use serde_json::json;
use weir_load::engine::{self, LoadError};
use weir_load::measure::LoadSummary;
use weir_measure::Stop;
use weir_net::host::HostFacts;

use super::result::StoredResult;
use super::run_store::{Ended, RunStore, Stored, json as stored, new_run};
use super::{Failure, tables, thresholds};
pub use merging::merge;
use segment_log::SegmentLog;
use watching::Watching;

/// One run, or a subcommand.
pub fn run(line: &LoadCommandLine, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    match &line.command {
        Some(LoadCommand::FindCapacity(args)) => find_capacity::run(args, global, stop),
        None => play(&line.load, global, stop),
    }
}

/// Runs the viewers for the duration, and reports.
fn play(args: &LoadArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    if args.urls == ["locustfile"] {
        return locust::print_locustfile();
    }
    if let Some(master) = &args.locust_master {
        return locust::run(args, master, global, stop);
    }
    let possible = thresholds::of_load(&Default::default(), &Default::default(), 1.0);
    thresholds::check("--fail-if", &args.fail_if, &possible, "load")?;
    thresholds::check("--stop-if", &args.stop_if, &possible, "load")?;
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
        // The origin's own counters are more accurate than those of the host.
        summary.origin = summary.origin.take().or(finished.network.clone());
    }
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let kept = run.finish(&end, &result.as_ref().map_or_else(|_| json!(null), stored));
    let summary = result?;
    notes.extend(ended_early.iter().cloned());
    notes.extend(remarks(&summary));
    notes.extend(kept.as_ref().map(Stored::notes).unwrap_or_default());
    let printed = StoredResult::new(&store, id, "load", outcome, &notes);
    printed.print(global.json, &summary, || tables::load(&summary))?;
    kept?;
    segments.map_or(Ok(()), SegmentLog::finish)?;
    if summary.all.requests > 0 && summary.all.failed == summary.all.requests {
        return Err(Failure::environment(
            "every request failed; the table of failures lists the causes",
        ));
    }
    let seconds = (summary.duration_ns as f64 / 1e9).max(1e-9);
    let measured = thresholds::of_load(&finished.account.total(), &finished.quality, seconds);
    thresholds::judge(&args.fail_if, &measured)
}

fn remarks(summary: &LoadSummary) -> Option<String> {
    summary.generator_limited.then(|| {
        "the generator was the limit: one of its threads was fully busy or late, so that times include its own delay; use \
        more --threads or fewer viewers"
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
