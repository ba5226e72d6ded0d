//! `weir diagnose`: from a stored run, whether the path carries the media, and what it does.

use crate::args::{DiagnoseArgs, FailOn, GlobalOptions, Survive};
use weir_diagnose::{DiagnoseError, Diagnosis, Options, Severity};
use weir_results::{RunId, Store};

use super::output::print;
use super::progress::Waiting;
use super::run_store::find;
use super::{Failure, Status, tables};

/// Reads the run and prints its diagnosis.
pub fn run(args: &DiagnoseArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let options = Options {
        target_loss: args.target_loss.map(|share| share.fraction()),
        latency_ns: args.latency.map(|latency| latency.0),
        survive: args.survive.map(|survive| match survive {
            Survive::Flow => weir_diagnose::Survive::Flow,
            Survive::Route => weir_diagnose::Survive::Route,
        }),
        ..Options::default()
    };
    let run = find(&store, args.run)?;
    let waiting = Waiting::new("reading the run", global.quiet);
    let diagnosis = of_run(&store, run, &options)?;
    drop(waiting);
    if global.json {
        print(&format!("{}\n", super::run_store::json(&diagnosis)))?;
    } else {
        let details = global.verbose > 0;
        let mut text = tables::answer_and_findings(&diagnosis, details);
        if details {
            text.push_str(&format!("\n{}", tables::evidence(&diagnosis)));
        }
        print(&text)?;
    }
    judge(args.fail_on, &diagnosis)
}

/// The diagnosis of a run.
pub fn of_run(store: &Store, run: RunId, options: &Options) -> Result<Diagnosis, Failure> {
    let measured = weir_diagnose::load(store, run)?;
    Ok(weir_simulate::diagnose_by_trial(&measured, options))
}

fn judge(fail_on: Option<FailOn>, diagnosis: &Diagnosis) -> Result<(), Failure> {
    let limit = match fail_on {
        None => return Ok(()),
        Some(FailOn::Notice) => Severity::Notice,
        Some(FailOn::Fault) => Severity::Fault,
    };
    let bad: Vec<String> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.severity >= limit)
        .map(|finding| finding.name.to_string())
        .collect();
    if bad.is_empty() {
        return Ok(());
    }
    Err(Failure {
        status: Status::Crossed,
        message: format!("found: {}", bad.join(", ")),
    })
}

impl From<DiagnoseError> for Failure {
    fn from(error: DiagnoseError) -> Self {
        match error {
            DiagnoseError::Store(error) => error.into(),
            other => Failure::environment(other.to_string()),
        }
    }
}
