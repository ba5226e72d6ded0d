//! `weir watch`: paths measured for months. Reads the file, prints the plan or what happens.

mod history;
mod merging;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_measure::Stop;
use weir_net::{allocator, bounded_file};
use weir_results::Store;
use weir_ui::{self as ui, Limits, Server};
use weir_units::format_utc;
use weir_watch::config::{self, Config, MOST_FILE_BYTES};
use weir_watch::event::{Event, State};
use weir_watch::plan::Plan;
use weir_watch::run::{self, Watcher};

pub use merging::merge;

use super::output::print;
use super::{Failure, connect, say, tables, url_on_this_host};
use crate::args::{GlobalOptions, WatchArgs, WatchCommand, WatchCommandLine};

/// Runs the subcommand, prints the plan, or watches until interrupted.
pub fn run(line: &WatchCommandLine, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    match &line.command {
        Some(WatchCommand::History(args)) => history::run(args, global),
        None => watch(&line.watch, global, stop),
    }
}

fn watch(args: &WatchArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
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
    allocator::share_arenas();
    let reload = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, reload.clone())
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    let page = args.page.map(|address| serve_page(address, global, stop));
    page.transpose()?;
    let mut watcher = Watcher {
        config,
        plan,
        db: &global.db,
        token: connect::token(args.token_file.as_deref())?,
        version: env!("CARGO_PKG_VERSION"),
        hooks: args.on_event.iter().chain(&args.webhook).cloned().collect(),
        alertmanagers: args.alertmanager.clone(),
        otlp: args.otlp.clone(),
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

/// Serves the page of the store on a thread of its own, until the watcher is stopped.
fn serve_page(address: SocketAddr, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    // The page needs a store to read.
    drop(Store::open(&global.db)?);
    let server = Server::bind(ui::Config {
        database: global.db.clone(),
        listen: address,
        token: None,
        limits: Limits::default(),
    })?;
    let url = url_on_this_host("http", server.address());
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("page".into())
        .spawn(move || {
            if let Err(error) = server.run(move || stop.is_set()) {
                say(&format!("weir watch: the page is not served any more: {error}"));
            }
        })
        .map_err(|error| Failure::environment(format!("cannot start a thread: {error}")))?;
    say(&format!("page at {url}#/watch"));
    Ok(())
}

/// The file and its plan; else what is wrong, in a line.
fn read(args: &WatchArgs) -> Result<(Config, Plan), String> {
    let name = args.file.as_deref().unwrap_or(Path::new(""));
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", name.display());
    let text = bounded_file::read_text(name, MOST_FILE_BYTES)
        .map_err(|error| format!("cannot read {}: {error}", name.display()))?;
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
