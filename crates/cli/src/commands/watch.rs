//! `weir watch`: paths measured for months. Reads the file, prints the plan or what happens.

mod merging;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_measure::Stop;
use weir_units::format_utc;
use weir_watch::config::{self, Config, MOST_FILE_BYTES};
use weir_watch::event::{Event, State};
use weir_watch::plan::Plan;
use weir_watch::run::{self, Watcher};

pub use merging::merge;

use super::output::print;
use super::{Failure, connect, say, tables, url_on_this_host};
use crate::args::{GlobalOptions, WatchArgs};

/// Prints the plan, or watches until interrupted.
pub fn run(args: &WatchArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let (config, plan) = read(args).map_err(Failure::usage)?;
    if args.plan {
        return match global.json {
            true => print(&format!("{}\n", super::run_store::json(&plan))),
            false => print(&tables::watch_plan(&plan, &config.budget)),
        };
    }
    if !global.quiet {
        say(&tables::watch_start(&plan));
    }
    let reload = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, reload.clone())
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    let mut watcher = Watcher {
        config,
        plan,
        db: &global.db,
        token: connect::token(args.token_file.as_deref())?,
        version: env!("CARGO_PKG_VERSION"),
        hooks: args.on_event.iter().chain(&args.webhook).cloned().collect(),
        alertmanagers: args.alertmanager.clone(),
        metrics: args.metrics,
        serving: &|address| {
            say(&format!(
                "metrics at {}metrics",
                url_on_this_host("http", address)
            ))
        },
        read_again: &|| read(args),
        reload: &reload,
        report: &|event| report(event, global.json),
    };
    run::run(&mut watcher, stop).map_err(|error| Failure::environment(error.to_string()))
}

/// The file and its plan; else what is wrong, in a line.
fn read(args: &WatchArgs) -> Result<(Config, Plan), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", args.file.display());
    let cannot_read = |error: std::io::Error| format!("cannot read {}: {error}", args.file.display());
    let file = File::open(&args.file).map_err(cannot_read)?;
    let mut text = String::new();
    // Reads one byte more than the maximum, to detect a longer file.
    file.take(MOST_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(cannot_read)?;
    let config = config::read(&text, args.here.as_deref()).map_err(|error| failed(&error))?;
    let plan = Plan::of(&config).map_err(|error| failed(&error))?;
    Ok((config, plan))
}

/// A closed standard output stops no measurement.
fn report(event: &Event, as_json: bool) {
    let line = match as_json {
        true => super::run_store::json(event).to_string(),
        false => {
            let alarm = match event.state {
                State::Happened => "",
                State::Raised => "ALARM: ",
                State::Cleared => "alarm cleared: ",
            };
            let silenced = event.silenced.as_deref();
            let silenced = silenced.map_or(String::new(), |reason| format!(" (silenced: {reason})"));
            format!("{} {alarm}{}{silenced}", format_utc(event.unix_ns), event.detail)
        }
    };
    let _ = print(&format!("{line}\n"));
}
