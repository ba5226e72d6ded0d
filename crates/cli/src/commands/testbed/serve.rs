//! `weir testbed serve`: the workflow API of the standard, whose workflows run one after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use weir_measure::Stop;
use weir_testbed::{ApiConfig, ApiServer, Capabilities, Functions, Job, Values, Workflows};

use crate::args::{GlobalOptions, TestbedServeArgs};
use crate::commands::signals::stop_on_signals;

use super::super::Failure;
use super::super::output::{print, say};
use super::super::ui::read_token;
use super::launched::Bed;
use super::{Measuring, Planned, need_root};

/// Interval at which the next workflow, and the end of one, are looked for.
const TICK: Duration = Duration::from_millis(50);

/// Serves and runs workflows until interrupted.
pub fn run(args: &TestbedServeArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let functions = Functions::with(&args.functions.function)?;
    let server = ApiServer::bind(ApiConfig {
        listen: args.listen,
        token: read_token(&args.token_file)?,
    })?;
    need_root()?;
    let measuring = Measuring::new(&args.titles_folder, None, global)?;
    let stop = stop_on_signals()?;
    announce(&server, global)?;
    let workflows = Arc::new(Mutex::new(Workflows::new(
        functions,
        Capabilities::of_this_host()?,
    )));
    let ending = stop.clone();
    let serving = server.start(workflows.clone(), measuring.registry.clone(), move || {
        ending.is_set()
    })?;
    while !stop.is_set() {
        let next = locked(&workflows).next_job();
        match next {
            Some(job) => play(&job, &workflows, &measuring, &stop),
            None => std::thread::sleep(TICK),
        }
    }
    // A thread that panicked serves nobody either.
    let _ = serving.join();
    Ok(())
}

fn locked(workflows: &Mutex<Workflows>) -> MutexGuard<'_, Workflows> {
    workflows.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a workflow until it ends, or is deleted.
fn play(job: &Job, workflows: &Mutex<Workflows>, measuring: &Measuring<'_>, stop: &Stop) {
    let own = stop.child();
    let done = Stop::default();
    let planned = Planned {
        document: job.document.clone(),
        workflow: job.workflow.clone(),
        varied: Values::new(),
    };
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.is_set() {
                if locked(workflows).is_to_end(&job.id) {
                    own.set();
                }
                std::thread::sleep(TICK);
            }
        });
        let ended = measuring.run(&job.id, (&planned, &Bed::default()), &own);
        done.set();
        ended
    });
    let failure = ended.err().map(|failure| failure.message);
    if let Some(line) = &failure {
        say(&format!("weir testbed: workflow {}: {line}", job.id));
    }
    if locked(workflows).ended(&job.id, failure)
        && let Err(error) = measuring.registry.forget(&job.id)
    {
        say(&format!("weir testbed: workflow {}: {error}", job.id));
    }
}

fn announce(server: &ApiServer, global: &GlobalOptions) -> Result<(), Failure> {
    let address = server.address();
    let url = format!(
        "{}/workflows",
        super::super::url_on_this_host("http", address).trim_end_matches('/')
    );
    if global.json {
        let line = json!({ "url": url, "address": address });
        return print(&format!("{line}\n"));
    }
    print(&format!("{url}\n"))?;
    if !global.quiet {
        say("weir testbed: serving the workflow API; Ctrl-C stops it");
        if !address.ip().to_canonical().is_loopback() {
            say(
                "weir testbed: connections are not encrypted and reveal the token; on an untrusted network use 'ssh -L'",
            );
        }
    }
    Ok(())
}
