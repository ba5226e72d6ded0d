//! `weir rtt`: the windowed RTT test, against an agent or a STAMP Session-Reflector.

use crate::args::{GlobalOptions, RttArgs};
use weir_control::resolve;
use weir_measure::rtt::{self, RttPlan, RttSummary, Span, stamp};
use weir_measure::{MeasureError, Session, Stop};
use weir_net::host::HostFacts;
use weir_results::{Record, RunId, Store, Table};

use super::agent::read_key;
use super::estimate::{Egress, Estimate, Estimated, Volume};
use super::result::StoredResult;
use super::run_store::{Ended, OpenRun, RunStore, Stored, json, new_run};
use super::{Failure, connect, tables, thresholds};

/// The other end of the test.
enum Peer {
    Agent(Box<Session>),
    Stamp(std::net::SocketAddr, stamp::StampCodec),
}

/// Runs the test and reports.
pub fn run(args: &RttArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let plan = plan(args);
    let conditions = &args.measure.fail_if;
    thresholds::check(
        "--fail-if",
        conditions,
        &thresholds::of_rtt(&RttSummary::default()),
        "rtt",
    )?;
    let egress = Egress::of(&args.cost)?;
    let (mut peer, local) = reach(args, &plan)?;
    let title = format!("rtt to {}, both directions", args.host);
    let estimate = Estimate::new(&title, &Volume::of_rtt(&plan), egress.as_ref());
    if !global.quiet {
        estimate.say();
    }
    let store = RunStore::open(&global.db)?;
    let run = store.begin(&new_run("rtt", &args.host, &plan, &local), "rtt", global.quiet)?;
    if let Peer::Agent(session) = &peer {
        run.set_remote_host(&session.remote_host)?;
    }
    let id = run.id();
    let result = measure(&mut peer, &plan, &run, stop);
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let stored = run.finish(&end, &json(&result.as_ref().ok()));
    let summary = result?;
    let notes = stored.as_ref().map(Stored::notes).unwrap_or_default();
    let found = Estimated {
        summary: &summary,
        estimate: &estimate,
    };
    let printed = StoredResult::new(&store, id, "rtt", outcome, &notes);
    printed.print(global.json, &found, || text(&store, id, &summary, global.quiet))?;
    stored?;
    thresholds::judge(conditions, &thresholds::of_rtt(&summary))
}

/// The result's tables; without a histogram if `quiet`.
pub(super) fn text(store: &RunStore, run: RunId, summary: &RttSummary, quiet: bool) -> String {
    let mut text = tables::rtt(summary);
    if !quiet {
        // The result is shown whether or not it can be read back.
        text.push_str(&histogram(store.store(), run).unwrap_or_default());
    }
    text
}

/// The RTTs of a stored run as a histogram; empty if no packet was answered.
pub fn histogram(store: &Store, run: RunId) -> Result<String, Failure> {
    let mut times = tables::Times::default();
    store.each_record(run, Table::RttPackets, |record| {
        if let Record::RttPacket(packet) = record
            && let Some(rtt) = packet.rtt_ns.filter(|_| !packet.lost)
        {
            times.add(rtt);
        }
        Ok::<(), weir_results::StoreError>(())
    })?;
    Ok(times.text("RTT, application to application", tables::width()))
}

pub(super) fn plan(args: &RttArgs) -> RttPlan {
    let duration_ns = args.duration().0;
    RttPlan {
        window: Span {
            from: args.window.from,
            to: args.window.to,
        },
        length: Span {
            from: args.length.from,
            to: args.length.to,
        },
        interval_ns: args.interval.0,
        duration_ns,
        over_ns: args.over().0,
        timeout_ns: args.timeout.0,
        ttl: args.ttl,
    }
}

fn reach(args: &RttArgs, plan: &RttPlan) -> Result<(Peer, HostFacts), Failure> {
    if !args.stamp {
        plan.check(weir_wire::RTT_HEADER_LENGTH as u32)?;
        let (session, local) = connect::connect(&args.host, &args.measure)?;
        return Ok((Peer::Agent(Box::new(session)), local));
    }
    let key = args.stamp_key_file.as_deref().map(read_key).transpose()?;
    let codec = stamp::StampCodec::new(key.as_deref(), args.ssid.unwrap_or(0));
    stamp::check(plan, &codec)?;
    let remote = resolve(&args.host, stamp::STAMP_PORT, connect::family(&args.measure))?;
    Ok((Peer::Stamp(remote, codec), HostFacts::read(Some(remote.ip()))))
}

fn measure(
    peer: &mut Peer,
    plan: &RttPlan,
    run: &OpenRun<'_>,
    stop: &Stop,
) -> Result<RttSummary, MeasureError> {
    match peer {
        Peer::Agent(session) => rtt::run(session, plan, run, stop),
        Peer::Stamp(remote, codec) => stamp::run(*remote, codec, plan, run, stop),
    }
}
