//! `weir load find-capacity`: repeated trials, each stored as a run, until the maximum number of viewers is known.

use std::cell::RefCell;

use crate::args::{FindCapacityArgs, GlobalOptions, LoadArgs, Viewers};
use crate::fail_if::FailIf;
use serde_json::{Value, json};
use weir_load::capacity::{Bench, Capacity, Condition, Found, Plan, Settling, Trial};
use weir_load::engine;
use weir_load::measure::{Account, Quality};
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_results::{NewRun, Outcome, RunId};

use super::super::result::StoredResult;
use super::super::run_store::{Ended, RunStore, json as stored, new_run};
use super::super::{Failure, say, tables, thresholds};
use super::plan;
use super::watching::Watching;

/// Runs the search, and reports.
pub fn run(args: &FindCapacityArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    check(args)?;
    let titles = plan::titles(&args.load)?;
    // Rejects wrong arguments before anything is stored.
    let last = trial_arguments(args, args.most);
    let config = plan::config(&last, &titles)?;
    engine::permitted(&config, false)?;
    engine::raise_descriptors();
    let store = RunStore::open(&global.db)?;
    let target = titles.first().map(String::as_str).unwrap_or_default();
    let host = HostFacts::read(None);
    let parent = store.begin_parent(&new_run(
        "find-capacity",
        target,
        &parameters(args, &titles),
        &host,
    ))?;
    let mut searching = Searching {
        args,
        titles: &titles,
        store: &store,
        parent,
        host,
        quiet: global.quiet,
        stop,
    };
    let search = Plan {
        from: args.from,
        most: args.most,
        repeats: args.repeats.parse().unwrap_or(1),
        precision: args.precision,
    };
    let holds = args.hold.iter().map(FailIf::text).collect();
    let (capacity, result) = Capacity::find(search, holds, &mut searching, &|trial| {
        if !global.quiet {
            say(&format!("weir: {}", tables::trial(trial)));
        }
    });
    let end = Ended::of(&result.as_ref().map_err(|failure| &failure.message), stop);
    let outcome = end.outcome();
    let ended = store.end(parent, &end, &stored(&capacity));
    result?;
    let largest = capacity.trials.iter().map(|trial| trial.viewers).max();
    let mut notes = plan::room(&plan::config(
        &trial_arguments(args, largest.unwrap_or(0)),
        &titles,
    )?);
    notes.extend(capacity.remark(outcome == Outcome::Interrupted));
    let printed = StoredResult::new(&store, parent, "find-capacity", outcome, &notes);
    printed.print(global.json, &capacity, || tables::capacity(&capacity))?;
    ended?;
    match capacity.found {
        Some(Found::NoneHeld) => Err(Failure::crossed(format!(
            "not even one viewer meets {}",
            capacity.holds.join(" and ")
        ))),
        _ => Ok(()),
    }
}

fn check(args: &FindCapacityArgs) -> Result<(), Failure> {
    let load = &args.load;
    let chosen = [
        (load.viewers.is_some(), "--viewers"),
        (load.over.is_some(), "--over"),
        (load.arrivals.is_some(), "--arrivals"),
        (load.duration.is_some(), "--for"),
        (load.rate.is_some(), "--rate"),
        (load.locust_master.is_some(), "--locust-master"),
        (!load.fail_if.is_empty(), "--fail-if"),
        (!load.stop_if.is_empty(), "--stop-if"),
    ];
    if let Some((_, option)) = chosen.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!(
            "{option} conflicts with find-capacity, which sets numbers of viewers and durations; use --from, --most, --step and \
            --hold"
        )));
    }
    if args.from > args.most {
        return Err(Failure::usage(format!(
            "--from {} is above --most {}",
            args.from, args.most
        )));
    }
    let possible = thresholds::of_load(&Account::default().total(), &Quality::default(), 1.0);
    thresholds::check("--hold", &args.hold, &possible, "load")
}

/// The arguments of a run with this number of viewers.
fn trial_arguments(args: &FindCapacityArgs, viewers: u32) -> LoadArgs {
    let mut load = args.load.clone();
    load.viewers = Some(Viewers::Steady(viewers));
    load.over = (args.settle.0 > 0).then_some(args.settle);
    load.duration = Some(crate::units::TimeSpan(args.settle.0 + args.step.0));
    load
}

fn parameters(args: &FindCapacityArgs, titles: &[String]) -> Value {
    let mut parameters = plan::parameters(&args.load, titles);
    let own = json!({
        "hold": args.hold.iter().map(FailIf::text).collect::<Vec<_>>(),
        "from": args.from,
        "most": args.most,
        "step_ns": args.step.0,
        "settle_ns": args.settle.0,
        "repeats": args.repeats.parse::<u32>().unwrap_or(1),
        "precision": args.precision,
    });
    if let (Some(all), Value::Object(own)) = (parameters.as_object_mut(), own) {
        all.extend(own);
    }
    parameters
}

/// Trials that are stored as runs.
struct Searching<'a> {
    args: &'a FindCapacityArgs,
    titles: &'a [String],
    store: &'a RunStore,
    parent: RunId,
    host: HostFacts,
    quiet: bool,
    stop: &'a Stop,
}

impl Bench for Searching<'_> {
    type Error = Failure;

    fn trial(&mut self, viewers: u32) -> Result<Option<Trial>, Failure> {
        let load = trial_arguments(self.args, viewers);
        let config = plan::config(&load, self.titles)?;
        let target = self.titles.first().map(String::as_str).unwrap_or_default();
        let begun = NewRun {
            parent: Some(self.parent),
            ..new_run("load", target, &plan::parameters(&load, self.titles), &self.host)
        };
        let run = self.store.begin(&begun, "load", true)?;
        let run_id = run.id();
        let watching = Watching::new(&run, &load, config.duration, None, self.quiet);
        let settling = Settling {
            watching: &watching,
            settle_ns: self.args.settle.0,
            settled: RefCell::default(),
        };
        let result = engine::run(&config, None, &|| self.stop.is_set(), &settling);
        let settled = settling.settled.into_inner();
        drop(watching.finish());
        let end = Ended::of(&result, self.stop);
        let kept = run.finish(&end, &result.as_ref().map_or_else(|_| json!(null), stored));
        let summary = result?;
        kept?;
        if self.stop.is_set() {
            return Ok(None);
        }
        let values = thresholds::of_load(&settled.account.total(), &settled.quality, settled.seconds());
        let conditions = self.args.hold.iter();
        let conditions = conditions.map(|condition| judged(condition, &values)).collect();
        Ok(Some(Trial::of(
            (run_id.0, viewers),
            &settled,
            conditions,
            &summary,
        )))
    }
}

fn judged(condition: &FailIf, values: &thresholds::Values) -> Condition {
    let name = condition.metric().name();
    let value = values.get(name).copied().unwrap_or(f64::NAN);
    Condition {
        condition: condition.text(),
        value: (!value.is_nan()).then_some(value),
        text: format!("{name} {}", condition.value_text(value)),
        held: condition.holds(value),
    }
}
