//! `weir flows`: the multi-flow test.

use crate::args::{FlowsArgs, GlobalOptions, MOST_FLOWS, Spread, Way};
use crate::units::format_bytes;
use weir_measure::flows::{self, FlowsPlan, FlowsSummary, FlowsWays, LENGTH_FROM_PATH_MTU};
use weir_measure::path_mtu::{self, SEARCH_BYTES, largest_payload};
use weir_measure::{MeasureError, Session, Stop};
use weir_wire::SpreadKind;

use super::estimate::{Egress, Estimate, Estimated, Volume, flows_title};
use super::result::StoredResult;
use super::run_store::{Ended, OpenRun, RunStore, Stored, json, new_run};
use super::{Failure, connect, tables, thresholds};

const _: () = assert!(MOST_FLOWS == flows::MOST_FLOWS);

/// Runs the test and reports.
pub fn run(args: &FlowsArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let mut plan = plan(args);
    plan.check_threads()?;
    if plan.length != LENGTH_FROM_PATH_MTU {
        plan.check()?;
    } else if !searches(&plan) {
        let least = format_bytes(SEARCH_BYTES);
        return Err(Failure::usage(format!(
            "--max-bytes below {least} leaves no room for the path MTU search; give --length, or a higher --max-bytes"
        )));
    }
    let egress = Egress::of(&args.cost)?;
    let conditions = &args.measure.fail_if;
    thresholds::check("--fail-if", conditions, &thresholds::possible_of_flows(), "flows")?;
    let (mut session, local) = connect::connect(&args.host, &args.measure)?;
    let ceiling = session.limits.max_rate;
    let volume = Volume::of_flows(&plan, ceiling, searches(&plan));
    let title = flows_title(&args.host, &plan, ceiling);
    let estimate = Estimate::new(&title, &volume, egress.as_ref());
    // A test that the agent does not allow sends nothing.
    if !global.quiet && plan.rate().is_none_or(|rate| rate <= ceiling) {
        estimate.say();
    }
    let store = RunStore::open(&global.db)?;
    let run = store.begin(
        &new_run("flows", &args.host, &plan, &local),
        "flows",
        global.quiet,
    )?;
    run.set_remote_host(&session.remote_host)?;
    let id = run.id();
    let result = measure(&mut session, &mut plan, &run, stop);
    // A test that an end gave up has failed, but what was found until then is shown.
    let given_up = result.as_ref().ok().and_then(FlowsSummary::aborted);
    let end = match &given_up {
        Some(error) => Ended::failed(error),
        None => Ended::of(&result, stop),
    };
    let outcome = end.outcome();
    let stored = run.finish(&end, &json(&result.as_ref().ok()));
    let summary = result?;
    let mut notes = stored.as_ref().map(Stored::notes).unwrap_or_default();
    notes.extend(tables::flows_notes(&summary));
    let found = Estimated {
        summary: &summary,
        estimate: &estimate,
    };
    let printed = StoredResult::new(&store, id, "flows", outcome, &notes);
    printed.print(global.json, &found, || text(&summary, global.quiet))?;
    stored?;
    if let Some(error) = given_up {
        return Err(error.into());
    }
    thresholds::judge(conditions, &thresholds::of_flows(&summary))
}

/// The result's tables; without histograms if `quiet`.
pub(super) fn text(summary: &FlowsSummary, quiet: bool) -> String {
    let mut text = tables::flows(summary);
    if !quiet {
        text.push_str(&tables::burst_histograms(summary, tables::width()));
    }
    text
}

/// The path MTU is searched before the test, unless the byte limit leaves no room for it.
fn searches(plan: &FlowsPlan) -> bool {
    plan.max_bytes.is_none_or(|limit| limit >= SEARCH_BYTES)
}

pub(super) fn plan(args: &FlowsArgs) -> FlowsPlan {
    let (format, unpaced) = connect::format(&args.traffic());
    let defaults = FlowsPlan::default();
    FlowsPlan {
        format,
        unpaced,
        length: args.length.unwrap_or(LENGTH_FROM_PATH_MTU),
        flows: args.flows,
        spread: match args.spread {
            Spread::RoundRobin => SpreadKind::RoundRobin,
            Spread::Permuted => SpreadKind::Permuted,
            Spread::Random => SpreadKind::Random,
        },
        burst: args.burst,
        duration_ns: args.duration.0,
        ways: match args.way() {
            Way::Forward => FlowsWays::Forward,
            Way::Reverse => FlowsWays::Reverse,
            Way::Both => FlowsWays::Both,
        },
        reorder_packets: args.reorder_depth.packets,
        reorder_ns: args.reorder_depth.time_ns,
        segment: !args.no_gso,
        merge: !args.no_gro,
        receive_buffer: u32::try_from(args.receive_buffer.0).unwrap_or(u32::MAX),
        first_sequence: args.first_sequence,
        seed: args.seed.unwrap_or(defaults.seed),
        max_bytes: args.max_bytes.map(|bytes| bytes.0),
        ecn: args.ecn,
        varied: defaults.varied,
        threads: args.threads,
    }
}

/// Finds the path MTU first: the payload length is the largest that fits, or is checked against it. A test that is
/// stopped before it has begun has found nothing.
fn measure(
    session: &mut Session,
    plan: &mut FlowsPlan,
    run: &OpenRun<'_>,
    stop: &Stop,
) -> Result<FlowsSummary, MeasureError> {
    if !searches(plan) {
        return flows::run(session, plan, u64::MAX, run, stop);
    }
    let mtu = path_mtu::run(session, run, stop)?;
    if stop.is_set() {
        return Ok(FlowsSummary::default());
    }
    let smallest = mtu.smallest().or(mtu.forward.path_mtu);
    let peer = session.address().ip();
    if let Some(smallest) = smallest {
        let largest = largest_payload(peer, smallest).min(session.limits.max_length);
        if plan.length == LENGTH_FROM_PATH_MTU {
            plan.length = largest;
        }
        if plan.length > largest && plan.length <= session.limits.max_length {
            return Err(path_mtu::too_long_for_path(peer, plan.length, smallest));
        }
    }
    let limit = plan.max_bytes.unwrap_or(u64::MAX);
    flows::run(session, plan, limit.saturating_sub(mtu.most_bytes()), run, stop)
}
