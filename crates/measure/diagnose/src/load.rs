//! Reads a run and its parts from a results store into [`Measured`]. It streams the tables, so that memory is bounded
//! whatever the run's length; it must not know what the numbers mean.

mod flow_rows;
mod late;
mod plausible;
mod rtt_rows;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_measure::flows::{FlowsPlan, FlowsSummary};
use weir_measure::path_mtu::MtuSummary;
use weir_measure::rtt::RttPlan;
use weir_measure::survey::{IpVersion, SurveyPlan};
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, Run, RunFilter, RunId, Store, StoreError};

use crate::DiagnoseError;
use crate::measured::{Family, FlowTest, InstanceType, Measured, RttTest, Traits};

pub use rtt_rows::MOST_WINDOWS;

/// Earlier runs that are looked through for those of the same pair.
const EARLIER_RUNS: usize = 1_000;
/// Earlier RTT tests that are compared.
pub const MOST_EARLIER: usize = 24;
/// Packets of these after which no further one is read: the newest say most, and a list diagnoses many runs.
const MOST_EARLIER_PACKETS: u64 = 500_000;

/// Kinds of runs that carry media.
const CARRIED: [&str; 2] = ["send", "recv"];

/// Reads what `run` has measured. The parts of a survey belong to it; any other run is its own part.
///
/// # Errors
/// When the store cannot be read, the run does not exist, was written by another version, holds a number that no
/// measurement gives, or holds nothing.
pub fn load(store: &Store, run: RunId) -> Result<Measured, DiagnoseError> {
    let head = store.run(run)?;
    let mut parts = store.runs(&RunFilter {
        parent: Some(run),
        limit: Some(plausible::MOST_PARTS + 1),
        ..RunFilter::default()
    })?;
    plausible::parts(run, &parts)?;
    for part in parts.iter().chain([&head]) {
        plausible::run(part)?;
    }
    parts.reverse();
    let mut measured = Measured {
        run,
        kind: head.kind.clone(),
        target: head.target.clone(),
        outcome: head.outcome,
        media_rate: None,
        header_bytes: header_bytes(&head.target),
        interface_mtu: head
            .local_host
            .get("mtu")
            .and_then(Value::as_u64)
            .and_then(|mtu| u32::try_from(mtu).ok()),
        local: traits(&head.local_host),
        remote: traits(&head.remote_host),
        mtu: None,
        rtt: None,
        earlier_rtt: Vec::new(),
        tcp: Vec::new(),
        flow_tests: Vec::new(),
        families: Vec::new(),
    };
    if parts.is_empty() {
        take_part(store, &head, &mut measured)?;
    }
    for part in &parts {
        take_part(store, part, &mut measured)?;
    }
    // The search over the survey's own version is the survey's.
    if let (Some((_, mtu)), [first, second]) = (&measured.mtu, measured.families.as_mut_slice()) {
        let of_survey = if first.mtu.is_none() { first } else { second };
        of_survey.mtu = of_survey.mtu.or(Some(*mtu));
    }
    if head.kind == "survey"
        && let Ok(plan) = serde_json::from_value::<SurveyPlan>(head.parameters.clone())
    {
        plausible::format(run, &plan.format)?;
        measured.media_rate = Some(plan.format.rate().0);
    }
    if measured.flow_tests.is_empty()
        && measured.rtt.is_none()
        && measured.mtu.is_none()
        && measured.tcp.is_empty()
    {
        if CARRIED.contains(&head.kind.as_str()) {
            return Err(DiagnoseError::Carried { run });
        }
        let missing = "finished measurement and no rows of one";
        return Err(DiagnoseError::Nothing { run, missing });
    }
    if let Some(sent) = unheard(&measured) {
        return Err(DiagnoseError::Unheard { run, sent });
    }
    if let Some(rtt) = &measured.rtt {
        measured.earlier_rtt = earlier_rtt(store, &head, rtt)?;
    }
    Ok(measured)
}

/// What a host is by its facts.
fn traits(host: &Value) -> Traits {
    let fact = |of: &str| host.get(of)?.as_str().filter(|fact| !fact.is_empty());
    let instance = || {
        let cloud = weir_mesh::place::cloud(fact("cloud")?).ok()?.to_owned();
        let name = fact("instance_type")?.to_owned();
        Some(InstanceType { cloud, name })
    };
    let number = |of: &str| host.get(of).and_then(Value::as_u64);
    Traits {
        instance: instance(),
        cores: number("cores"),
        queues: number("queues"),
    }
}

/// How many packets were sent, where nothing at all came through. That packets capable of ECN do not arrive is a finding.
fn unheard(measured: &Measured) -> Option<u64> {
    let (flows, rtt) = (&measured.flow_tests, &measured.rtt);
    let heard = measured.mtu.is_some()
        || !measured.tcp.is_empty()
        || flows.iter().any(|test| test.received > 0 || test.plan.ecn)
        || rtt.iter().any(|test| test.rtt.is_some());
    let sent = flows
        .iter()
        .map(|test| test.sent)
        .chain(rtt.iter().map(|test| test.sent));
    let sent = sent.fold(0, u64::saturating_add);
    (!heard && sent > 0).then_some(sent)
}

fn take_part(store: &Store, part: &Run, measured: &mut Measured) -> Result<(), DiagnoseError> {
    if let Some(version) = part.parameters.get("family") {
        let version = parse(part, "parameters", version)?;
        return take_family(store, part, version, measured);
    }
    match part.kind.as_str() {
        "mtu" => {
            if let Some(mtu) = summary::<MtuSummary>(part)? {
                measured.mtu = Some((part.id, mtu));
            }
        }
        "tcp" => {
            if let Some(tcp) = summary::<TcpSummary>(part)? {
                measured.tcp.push((part.id, tcp));
            }
        }
        "rtt" => {
            let test = rtt_rows::read(store, part, rtt_plan(part)?)?;
            if test.sent > 0 {
                measured.rtt = Some(test);
            }
        }
        "flows" => take_flows(store, part, measured)?,
        // A kind that this version does not know holds nothing that it could judge.
        _ => {}
    }
    Ok(())
}

/// A step that was made over one IP version beside the other.
fn take_family(
    store: &Store,
    part: &Run,
    version: IpVersion,
    measured: &mut Measured,
) -> Result<(), DiagnoseError> {
    let known = measured
        .families
        .iter()
        .position(|family| family.version == version);
    let mut family = match known {
        Some(index) => measured.families.remove(index),
        None => Family {
            version,
            mtu: None,
            rtt: None,
            flows: None,
        },
    };
    match part.kind.as_str() {
        "mtu" => family.mtu = summary::<MtuSummary>(part)?,
        "rtt" => {
            let test = rtt_rows::read(store, part, rtt_plan(part)?)?;
            family.rtt = Some(test).filter(|test| test.rtt.is_some());
        }
        "flows" => {
            let found = summary::<FlowsSummary>(part)?.and_then(|summary| summary.forward);
            family.flows = flow_rows::read(store, part, Direction::Forward, &flows_plan(part)?, found)?;
        }
        _ => {}
    }
    measured.families.push(family);
    measured.families.sort_by_key(|family| family.version.as_str());
    Ok(())
}

fn take_flows(store: &Store, part: &Run, measured: &mut Measured) -> Result<(), DiagnoseError> {
    let plan = flows_plan(part)?;
    let summary = summary::<FlowsSummary>(part)?;
    let (mut forward, mut reverse) = (None, None);
    if let Some(summary) = summary {
        (forward, reverse) = (summary.forward, summary.reverse);
    }
    if let Some(rate) = plan.rate() {
        measured.media_rate = Some(rate.0);
    }
    for (direction, summary) in [(Direction::Forward, forward), (Direction::Reverse, reverse)] {
        let test: Option<FlowTest> = flow_rows::read(store, part, direction, &plan, summary)?;
        measured.flow_tests.extend(test);
    }
    Ok(())
}

/// A step of a survey keeps its parameters with the step's name around them, a run of its own without.
fn parameters<'a>(part: &'a Run, step: &str) -> &'a Value {
    part.parameters
        .get(step)
        .filter(|inner| inner.is_object())
        .unwrap_or(&part.parameters)
}

fn flows_plan(part: &Run) -> Result<FlowsPlan, DiagnoseError> {
    let plan = parse(part, "parameters", parameters(part, "flows"))?;
    plausible::flows_plan(part.id, &plan)?;
    Ok(plan)
}

fn rtt_plan(part: &Run) -> Result<RttPlan, DiagnoseError> {
    let plan = parse(part, "parameters", parameters(part, "rtt"))?;
    plausible::rtt_plan(part.id, &plan)?;
    Ok(plan)
}

/// The summary; none for a run that has not ended with one.
fn summary<T: DeserializeOwned>(part: &Run) -> Result<Option<T>, DiagnoseError> {
    if part.summary.is_null() {
        return Ok(None);
    }
    parse(part, "summary", &part.summary).map(Some)
}

fn parse<T: DeserializeOwned>(part: &Run, what: &'static str, value: &Value) -> Result<T, DiagnoseError> {
    serde_json::from_value(value.clone()).map_err(|source| DiagnoseError::Unreadable {
        run: part.id,
        what,
        weir_version: part.weir_version.clone(),
        source,
    })
}

/// The newest RTT tests before `rtt` between the same hosts with the same windows and lengths, the oldest first.
fn earlier_rtt(store: &Store, head: &Run, rtt: &RttTest) -> Result<Vec<RttTest>, DiagnoseError> {
    let earlier = store.runs(&RunFilter {
        kinds: vec!["rtt".into()],
        started_before_unix_ns: Some(head.started_unix_ns),
        limit: Some(EARLIER_RUNS),
        ..RunFilter::default()
    })?;
    let mut tests = Vec::new();
    let mut packets = 0;
    for run in earlier.iter().filter(|run| same_pair(run, head)) {
        if tests.len() == MOST_EARLIER || packets > MOST_EARLIER_PACKETS {
            break;
        }
        // A run of a version that cannot be read is no run to compare with.
        if !rtt_plan(run).is_ok_and(|plan| comparable(&plan, &rtt.plan)) {
            continue;
        }
        match rtt_rows::read(store, run, rtt.plan.clone()) {
            Ok(test) if test.rtt.is_some() => {
                packets += test.sent;
                tests.push(test);
            }
            // Nor is one with damaged rows: it is not the run that was asked for.
            Ok(_)
            | Err(
                DiagnoseError::Implausible { .. } | DiagnoseError::Store(StoreError::StrangeValue { .. }),
            ) => {}
            Err(error) => return Err(error),
        }
    }
    tests.reverse();
    Ok(tests)
}

/// Whether both runs measured one path: between the same machines, or machines in the same places, which have the same
/// names, or the same tags. What was measured over one emulated link says nothing about another.
fn same_pair(run: &Run, head: &Run) -> bool {
    let fact = |host: &Value, of: &str| host.get(of).and_then(Value::as_str).map(str::to_owned);
    let agree = |one: &Value, other: &Value, of| fact(one, of).is_some() && fact(one, of) == fact(other, of);
    let same_machine = |one: &Value, other: &Value| {
        // Copies of an image may share their machine id, but never their instance.
        let instances = fact(one, "instance_id").is_some() && fact(other, "instance_id").is_some();
        agree(one, other, if instances { "instance_id" } else { "machine" })
    };
    let same_end = |one, other| same_machine(one, other) || agree(one, other, "name");
    let ends = [
        (&run.local_host, &head.local_host),
        (&run.remote_host, &head.remote_host),
    ];
    let nameless = |host: &Value| fact(host, "name").is_none();
    let same_ends = ends
        .iter()
        .all(|(one, other)| same_end(one, other) || nameless(one) || nameless(other));
    // A name that reaches another address of the same host may take another path.
    let same_hosts = same_ends && run.target == head.target;
    let tags = |run: &Run| -> BTreeSet<String> { run.tags.iter().cloned().collect() };
    let same_places = !head.tags.is_empty() && !head.is_simulated() && tags(run) == tags(head);
    run.lab_link() == head.lab_link() && (same_hosts || same_places)
}

fn comparable(a: &RttPlan, b: &RttPlan) -> bool {
    (a.window, a.length, a.interval_ns, a.over_ns) == (b.window, b.length, b.interval_ns, b.over_ns)
}

/// IP and UDP header bytes. A name may stand for either family; then it is IPv4's, the fewer.
fn header_bytes(target: &str) -> u32 {
    let host = target.trim_start_matches('[').split(']').next().unwrap_or(target);
    match host.parse::<IpAddr>() {
        Ok(address) => weir_measure::path_mtu::overhead(address),
        Err(_) => 28,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(target: &str, local: Value, remote: Value, tags: &[&str]) -> Run {
        serde_json::from_value(json!({
            "run_id": 1, "parent_run_id": null, "kind": "rtt", "target": target, "started_unix_ns": 1,
            "ended_unix_ns": 2, "last_unix_ns": 2, "outcome": "finished", "reason": null, "local_host": local,
            "remote_host": remote, "parameters": null, "summary": null, "weir_version": "0", "merged_records": 0,
            "lost_records": 0, "note": "", "tags": tags,
        }))
        .expect("a run")
    }

    fn host(name: &str, machine: Option<&str>) -> Value {
        json!({ "name": name, "machine": machine })
    }

    #[test]
    fn a_pair_is_known_by_its_machines_its_names_or_its_tags_and_never_by_another_link() {
        let near = || host("near", Some("1"));
        let head = run("far", near(), host("far", Some("2")), &["eu"]);
        let is_same =
            |target, local, remote, tags: &[&str]| same_pair(&run(target, local, remote, tags), &head);
        assert!(is_same("far", near(), host("far", Some("2")), &[]));
        // Renamed; launched again under the same name; of a version without machine ids; a reflector without a name.
        assert!(is_same("far", near(), host("renamed", Some("2")), &[]));
        assert!(is_same("far", near(), host("far", Some("3")), &[]));
        assert!(is_same("far", near(), host("far", None), &[]));
        assert!(is_same("far", near(), Value::Null, &[]));
        assert!(!is_same("far", near(), host("other", Some("3")), &[]));
        assert!(!is_same("far", near(), host("other", None), &[]));
        assert!(!is_same("10.0.0.9", near(), host("far", Some("2")), &[]));
        // Copies of one image, by their instances; one of them by a version that did not ask for it.
        let instance = |name: &str, id: &str| json!({ "name": name, "machine": "2", "instance_id": id });
        let of_instance = run("far", near(), instance("far", "i-1"), &[]);
        let is_instance = |remote| same_pair(&run("far", near(), remote, &[]), &of_instance);
        assert!(is_instance(instance("renamed", "i-1")));
        assert!(!is_instance(instance("copy", "i-2")));
        assert!(is_instance(host("renamed", Some("2"))));
        // Launched again under other names and addresses, with the tag of the place.
        assert!(is_same(
            "10.0.0.9",
            host("ip-1", Some("7")),
            host("ip-2", Some("8")),
            &["eu"]
        ));
        assert!(!is_same(
            "10.0.0.9",
            host("ip-1", Some("7")),
            host("ip-2", Some("8")),
            &["us"]
        ));

        let over = |link: &str| {
            let local = json!({ "name": "near", "machine": "1", "lab_link": link });
            run("far", local, host("far", Some("2")), &["simulated"])
        };
        assert!(same_pair(&over("simulated a 1"), &over("simulated a 1")));
        assert!(!same_pair(&over("simulated a 1"), &over("simulated b 2")));
        assert!(!same_pair(&head, &over("emulated a 1")));
    }
}
