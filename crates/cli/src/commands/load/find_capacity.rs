//! `weir load find-capacity`: repeated trials, each stored as a run, until the maximum number of viewers is known.

use std::cell::RefCell;
use std::time::Duration;

use crate::args::{FindCapacityArgs, GlobalOptions, LoadArgs, Viewers};
use crate::fail_if::FailIf;
use serde::Serialize;
use serde_json::{Value, json};
use weir_load::capacity::{Found, Interval, Plan, Search, Step, Verdict};
use weir_load::engine::{self, Second, SoFar, Watch};
use weir_load::measure::{Account, Quality};
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_results::{NewRun, Outcome, RunId};

use super::super::output::{closing_lines, print, print_json};
use super::super::run_store::{Ended, RunStore, json as stored, new_run};
use super::super::{Failure, say, tables, thresholds};
use super::plan;
use super::watching::Watching;

/// Tolerance of a second's length.
const TOLERANCE_NS: u64 = 50_000_000;

/// Result of the search.
#[derive(Serialize)]
pub struct Capacity {
    /// Conditions that had to hold.
    pub holds: Vec<String>,
    /// Why the search ended; none if it was interrupted.
    pub found: Option<Found>,
    /// Numbers of viewers.
    #[serde(flatten)]
    pub interval: Interval,
    /// All trials, in order.
    pub trials: Vec<Trial>,
}

/// One trial.
#[derive(Serialize)]
pub struct Trial {
    /// Its run in the store.
    pub run_id: RunId,
    /// Viewers.
    pub viewers: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// Measured values of the conditions.
    pub conditions: Vec<Condition>,
    /// Requests in the measured interval.
    pub requests: u64,
    /// Failed requests among these.
    pub failed: u64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// The busiest second of the generator's busiest thread, as a share of a core.
    pub busiest: f64,
    /// Whether the generator was the limit.
    pub generator_limited: bool,
}

/// One condition in a trial.
#[derive(Serialize)]
pub struct Condition {
    /// The condition as given.
    pub condition: String,
    /// In the base unit of its metric; none if nothing was measured.
    pub value: Option<f64>,
    /// Text for people.
    #[serde(skip)]
    pub text: String,
    /// Whether it held.
    pub held: bool,
}

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
    let searching = Searching {
        args,
        titles: &titles,
        store: &store,
        parent,
        host,
        quiet: global.quiet,
        stop,
    };
    let mut search = Search::new(Plan {
        from: args.from,
        most: args.most,
        repeats: args.repeats.parse().unwrap_or(1),
        precision: args.precision,
    });
    let mut trials = Vec::new();
    let result = searching.search(&mut search, &mut trials);
    let capacity = Capacity {
        holds: args.hold.iter().map(FailIf::text).collect(),
        found: result.as_ref().ok().copied().flatten(),
        interval: search.interval(),
        trials,
    };
    let end = Ended::of(&result.as_ref().map_err(|failure| &failure.message), stop);
    let outcome = end.outcome();
    let ended = store.end(parent, &end, &stored(&capacity));
    result?;
    let largest = capacity.trials.iter().map(|trial| trial.viewers).max();
    let mut notes = plan::room(&plan::config(
        &trial_arguments(args, largest.unwrap_or(0)),
        &titles,
    )?);
    notes.extend(remark(&capacity, outcome));
    if global.json {
        print_json(&store, parent, "find-capacity", outcome, &capacity, &notes)?;
    } else {
        let closing = closing_lines(&store, parent, outcome, &notes);
        print(&format!("{}{closing}", tables::capacity(&capacity)))?;
    }
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
    for condition in &args.hold {
        let name = condition.metric().name();
        if !possible.contains_key(name) {
            let known: Vec<&str> = possible.keys().copied().collect();
            return Err(Failure::usage(format!(
                "--hold: 'weir load' does not measure {name}; it measures {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
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

struct Searching<'a> {
    args: &'a FindCapacityArgs,
    titles: &'a [String],
    store: &'a RunStore,
    parent: RunId,
    host: HostFacts,
    quiet: bool,
    stop: &'a Stop,
}

impl Searching<'_> {
    /// Why it ended; none if it was interrupted.
    fn search(&self, search: &mut Search, trials: &mut Vec<Trial>) -> Result<Option<Found>, Failure> {
        loop {
            let viewers = match search.next() {
                Step::Done(found) => return Ok(Some(found)),
                Step::Try(viewers) => viewers,
            };
            let trial = self.trial(viewers)?;
            // An interrupted trial has no verdict.
            if self.stop.is_set() {
                return Ok(None);
            }
            if !self.quiet {
                say(&format!("weir: {}", tables::trial(&trial)));
            }
            search.take(viewers, trial.verdict);
            trials.push(trial);
        }
    }

    fn trial(&self, viewers: u32) -> Result<Trial, Failure> {
        let load = trial_arguments(self.args, viewers);
        let config = plan::config(&load, self.titles)?;
        let target = self.titles.first().map(String::as_str).unwrap_or_default();
        let begun = NewRun {
            parent: Some(self.parent),
            ..new_run("load", target, &plan::parameters(&load, self.titles), &self.host)
        };
        let run = self.store.begin(&begun, "load", true)?;
        let run_id = run.id();
        let measuring = Measuring {
            watching: Watching::new(&run, &load, config.duration, None, self.quiet),
            settle_ns: self.args.settle.0,
            measured: RefCell::default(),
        };
        let result = engine::run(&config, None, &|| self.stop.is_set(), &measuring);
        let (account, quality, duration_ns) = measuring.measured.into_inner();
        drop(measuring.watching.finish());
        let end = Ended::of(&result, self.stop);
        let kept = run.finish(&end, &result.as_ref().map_or_else(|_| json!(null), stored));
        let summary = result?;
        kept?;
        let total = account.total();
        let seconds = Duration::from_nanos(duration_ns).as_secs_f64().max(1e-9);
        let values = thresholds::of_load(&total, &quality, seconds);
        let conditions: Vec<Condition> = self
            .args
            .hold
            .iter()
            .map(|condition| judged(condition, &values))
            .collect();
        let held = conditions.iter().all(|condition| condition.held);
        Ok(Trial {
            run_id,
            viewers,
            verdict: match (held, summary.generator_limited) {
                (true, _) => Verdict::Held,
                (false, false) => Verdict::Broke,
                (false, true) => Verdict::Unclear,
            },
            conditions,
            requests: total.requests,
            failed: total.failed(),
            requests_per_second: total.requests as f64 / seconds,
            busiest: summary.busiest,
            generator_limited: summary.generator_limited,
        })
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

/// Sums the seconds after the warm-up.
struct Measuring<'a> {
    watching: Watching<'a>,
    settle_ns: u64,
    measured: RefCell<(Account, Quality, u64)>,
}

impl Watch for Measuring<'_> {
    fn second(&self, second: &Second, so_far: &SoFar) -> bool {
        let began_ns = so_far.elapsed_ns.saturating_sub(second.duration_ns);
        if began_ns + TOLERANCE_NS >= self.settle_ns {
            let (account, quality, duration_ns) = &mut *self.measured.borrow_mut();
            account.merge(&second.account);
            quality.merge(&second.quality);
            *duration_ns += second.duration_ns;
        }
        self.watching.second(second, so_far)
    }
}

/// Note for a result that is not the origin's limit.
fn remark(capacity: &Capacity, outcome: Outcome) -> Option<String> {
    let viewers = capacity.interval.viewers;
    match capacity.found {
        Some(Found::Generator) => Some(format!(
            "this host was the limit, not the origin, which serves more than {viewers} viewers: use more --threads, or more hosts \
            as generators"
        )),
        Some(Found::AllHeld) => Some(format!(
            "the origin serves at least {viewers} viewers, the maximum tried; raise it with --most"
        )),
        Some(Found::Capacity | Found::NoneHeld) => None,
        None if outcome == Outcome::Interrupted => {
            Some("the search was interrupted: the result is preliminary".to_owned())
        }
        None => None,
    }
}
