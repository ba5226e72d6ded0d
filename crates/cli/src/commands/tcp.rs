//! `weir tcp`: TCP throughput over windows, or over numbers of connections.

use crate::args::{GlobalOptions, TcpArgs};
use crate::units::format_bytes;
use weir_measure::survey::Step;
use weir_measure::tcp_sweep::{self, Sweep, SweepPlan, SweepSummary};
use weir_measure::tcp_throughput;
use weir_measure::{MeasureError, Session, Stop};
use weir_net::host::HostFacts;
use weir_net::tcp_window;
use weir_results::{Direction, RunId};

use super::estimate::{Egress, Estimate, Estimated, Volume};
use super::output::say;
use super::result::StoredResult;
use super::run_store::{Ended, RunStore, Stored, json, new_run};
use super::{Failure, connect, tables, thresholds};

/// Runs the tests and reports.
pub fn run(args: &TcpArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let plan = plan(args)?;
    let conditions = &args.measure.fail_if;
    thresholds::check(
        "--fail-if",
        conditions,
        &thresholds::of_tcp(&SweepSummary::default()),
        "tcp",
    )?;
    let egress = Egress::of(&args.cost)?;
    let (session, local) = connect::connect(&args.host, &args.measure)?;
    session.limits.check(None, plan.duration_ns, 1, plan.streams)?;
    let sweep = Sweep::new(plan.clone(), session.limits);
    let way = if args.reverse { "from" } else { "to" };
    let title = format!(
        "TCP {way} {} at up to {}",
        args.host,
        session.limits.max_rate.rounded()
    );
    let estimate = Estimate::new(&title, &Volume::of_tcp(&plan, sweep.estimate()), egress.as_ref());
    if !global.quiet {
        estimate.say();
    }
    let store = RunStore::open(&global.db)?;
    let parent = store.begin_parent(&new_run(tcp_sweep::KIND, &args.host, &plan, &local))?;
    store.set_remote_host(parent, &session.remote_host)?;
    let mut testing = Testing {
        session,
        local,
        store: &store,
        parent,
        host: &args.host,
        global,
        stop,
        notes: Vec::new(),
    };
    let mut sweep = sweep;
    let result = testing.run(&mut sweep);
    let notes = testing.notes;
    let summary = sweep.summary();
    let measured = match &result {
        Ok(()) => Ok(()),
        Err(failure) => Err(MeasureError::Internal(failure.message.clone())),
    };
    let end = Ended::of(&measured, stop);
    let ended = store.end(parent, &end, &json(&summary));
    // What was found before a failure is in the store.
    result?;
    let found = Estimated {
        summary: &summary,
        estimate: &estimate,
    };
    let printed = StoredResult::new(&store, parent, tcp_sweep::KIND, end.outcome(), &notes);
    printed.print(global.json, &found, || tables::tcp(&summary))?;
    ended?;
    thresholds::judge(conditions, &thresholds::of_tcp(&summary))
}

/// The tests of the arguments.
pub(super) fn plan(args: &TcpArgs) -> Result<SweepPlan, Failure> {
    let windows = args.window.map(|span| span.doublings()).unwrap_or_default();
    if windows.iter().any(|bytes| *bytes > tcp_window::LARGEST) {
        let most = format_bytes(tcp_window::LARGEST);
        return Err(Failure::usage(format!(
            "--window: the largest window of TCP is {most} (1GiB)"
        )));
    }
    if args.fill && windows.len() > 1 {
        return Err(Failure::usage(
            "--fill searches with one window; write --window 1MiB, or leave --window out",
        ));
    }
    if args.omit >= args.duration {
        return Err(Failure::usage(format!(
            "--omit {} leaves nothing of --for {}; raise --for",
            args.omit, args.duration
        )));
    }
    Ok(SweepPlan {
        direction: if args.reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        },
        windows,
        streams: args.streams,
        fill: args.fill,
        duration_ns: args.duration.0,
        omit_ns: args.omit.0,
        max_bytes: args.max_bytes.map_or(u64::MAX, |bytes| bytes.0),
    })
}

struct Testing<'a> {
    session: Session,
    local: HostFacts,
    store: &'a RunStore,
    parent: RunId,
    host: &'a str,
    global: &'a GlobalOptions,
    stop: &'a Stop,
    notes: Vec<String>,
}

impl Testing<'_> {
    /// Makes test after test; a failed one ends the run, and what was found until then is kept.
    fn run(&mut self, sweep: &mut Sweep) -> Result<(), Failure> {
        while let Some(request) = sweep.next_request() {
            if self.stop.is_set() {
                return Ok(());
            }
            let step = Step::Tcp(request.clone());
            let title = step.title();
            let mut part = new_run(step.kind(), self.host, &step, &self.local);
            part.parent = Some(self.parent);
            let run = self.store.begin(&part, &title, self.global.quiet)?;
            run.set_remote_host(&self.session.remote_host)?;
            let result = tcp_throughput::run(&mut self.session, &request, &run, self.stop);
            let stored = run.finish(&Ended::of(&result, self.stop), &json(&result.as_ref().ok()));
            let test = result.map_err(|error| {
                let failure = Failure::from(error);
                Failure {
                    message: format!("{title}: {}", failure.message),
                    ..failure
                }
            })?;
            let noted = stored.as_ref().map(Stored::notes).unwrap_or_default();
            self.notes
                .extend(noted.into_iter().map(|note| format!("{title}: {note}")));
            stored?;
            if !self.global.quiet && !self.global.json {
                say(&format!("{title}: {}", test.goodput.rounded()));
            }
            sweep.on_result(test);
        }
        Ok(())
    }
}
