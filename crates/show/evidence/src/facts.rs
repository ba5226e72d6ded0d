//! What the store has of a path in a span of time.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weir_measure::flows::FlowsSummary;
use weir_results::{
    PathId, Run, RunFilter, RunId, Span, Store, StoreError, WatchCell, WatchChange, WatchCount, WatchEvent,
    WatchExcluded,
};
use weir_units::UtcTime;
use weir_watch::flows::FlowResult;
use weir_watch::history::{self, mesh};
use weir_watch::rare::{Rare, Rate};

use crate::others::{self, Other};
use crate::{EvidenceError, Request};

const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;
/// Points of a plot at most.
const MOST_POINTS: u64 = 600;

pub(crate) struct Facts<'a> {
    pub request: &'a Request,
    /// Cells that start in the span, by their length.
    pub seconds: Vec<WatchCell>,
    pub minutes: Vec<WatchCell>,
    pub hours: Vec<WatchCell>,
    /// How much of the span has cells, seconds.
    pub measured_s: u64,
    /// All packets of the span, as far as they are kept.
    pub whole: WatchCell,
    /// The same over time, for plots.
    pub over_time: Vec<WatchCell>,
    pub changes: Vec<WatchChange>,
    /// Alarms, as they began and ended.
    pub alarms: Vec<WatchEvent>,
    /// Over the days (UTC) that the span touches.
    pub rates: Vec<Rate>,
    pub tests: Vec<Test>,
    pub hosts: Vec<HostRow>,
    /// Other paths of the store that were measured in the span.
    pub others: Vec<Other>,
    /// Zones by host, as far as they are known.
    pub zones: BTreeMap<String, String>,
    /// Seconds in which the near host was disturbed.
    pub excluded: Vec<WatchExcluded>,
}

/// A flow test.
pub(crate) struct Test {
    pub run: RunId,
    pub started_ns: u64,
    pub ended_ns: u64,
    /// Remote clock minus local clock, and the bound of its error, nanoseconds.
    pub clock: Option<(i64, u64)>,
    pub flows: Vec<FlowRow>,
    /// Packets lost on a host by its counters, and in the network.
    pub lost: Lost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    pub network: u64,
    pub hosts: u64,
}

/// A flow of a test with its 5-tuple; the protocol is UDP.
pub(crate) struct FlowRow {
    pub result: FlowResult,
    /// Address and port; the port is unknown in tests of an older Weir.
    pub source: String,
    pub destination: String,
}

/// What a host was over a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HostRow {
    pub end: &'static str,
    pub name: String,
    pub cloud: String,
    pub region: String,
    pub zone: String,
    pub zone_id: String,
    pub instance_id: String,
    pub instance_type: String,
    pub kernel: String,
    pub interface: String,
    pub first_seen: String,
    pub last_seen: String,
    /// Largest bound of the clock's error, nanoseconds; empty if the kernel knows none.
    pub clock_max_error_ns: String,
    pub clock_synchronised: String,
}

pub(crate) fn read<'a>(store: &Store, request: &'a Request) -> Result<Facts<'a>, EvidenceError> {
    let path = find(store, request)?;
    let (from_s, to_s) = (
        request.since_ns.div_ceil(SECOND_NS),
        request.until_ns.div_ceil(SECOND_NS),
    );
    let cells = |span| store.watch_cells(path, span, from_s, to_s);
    let (seconds, minutes, hours) = (cells(Span::Second)?, cells(Span::Minute)?, cells(Span::Hour)?);
    let found = history::cells(store, path, &request.near, (from_s, to_s))?;
    let (over_time, _) = history::over_time(&found, to_s.saturating_sub(from_s), MOST_POINTS);
    let Some(whole) = merged(&over_time) else {
        return Err(nothing(store, path, request)?);
    };
    let mut changes = store.watch_changes(path, request.since_ns)?;
    changes.retain(|change| change.found_unix_ns < request.until_ns);
    let events = store.watch_events(path, request.since_ns, request.until_ns)?;
    let (tests, alarms): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| event.event == "test");
    let mut runs = Vec::new();
    for run in tests.iter().filter_map(|event| event.run_id) {
        match store.run(RunId(run)) {
            Ok(run) => runs.push(run),
            // It was deleted since.
            Err(StoreError::RunNotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first_day_s = from_s - from_s % DAY_S;
    let mut counts: Vec<WatchCount> = store.watch_counts(path, first_day_s)?;
    counts.retain(|count| count.day_s < to_s);
    Ok(Facts {
        request,
        seconds,
        minutes,
        hours,
        measured_s: found.measured_s,
        whole,
        over_time,
        changes,
        alarms,
        rates: Rare::ALL
            .iter()
            .filter_map(|event| Rate::of(*event, &counts))
            .collect(),
        hosts: hosts(store, request, &runs)?,
        others: others::read(store, request, path)?,
        zones: mesh(store)?.zones,
        excluded: store.watch_excluded(&request.near, from_s, to_s)?,
        tests: runs.iter().filter_map(test).collect(),
    })
}

fn find(store: &Store, request: &Request) -> Result<PathId, EvidenceError> {
    let paths = store.watch_paths()?;
    let is_it = |(_, near, far): &&(PathId, String, String)| *near == request.near && *far == request.far;
    match paths.iter().find(is_it) {
        Some((path, ..)) => Ok(*path),
        None => {
            let known: Vec<String> = paths
                .iter()
                .take(20)
                .map(|(_, near, far)| format!("{near}..{far}"))
                .collect();
            Err(EvidenceError::NoPath {
                near: request.near.clone(),
                far: request.far.clone(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            })
        }
    }
}

fn nothing(store: &Store, path: PathId, request: &Request) -> Result<EvidenceError, StoreError> {
    let mut edges = Vec::new();
    for span in [Span::Second, Span::Minute, Span::Hour] {
        edges.extend(store.first_watch_cell(path, span)?);
        edges.extend(store.last_watch_cell(path, span)?);
    }
    let at = |start_s: Option<&u64>| match start_s {
        Some(start_s) => UtcTime(start_s.saturating_mul(SECOND_NS)).to_string(),
        None => "nothing".to_owned(),
    };
    let (near, far) = (&request.near, &request.far);
    let (since, until) = (UtcTime(request.since_ns), UtcTime(request.until_ns));
    Ok(EvidenceError::Nothing {
        asked: format!("from {near} to {far} between {since} and {until}"),
        stored: format!("{} to {}", at(edges.iter().min()), at(edges.iter().max())),
    })
}

fn merged(cells: &[WatchCell]) -> Option<WatchCell> {
    let (first, others) = cells.split_first()?;
    let mut whole = first.clone();
    others.iter().for_each(|cell| whole.merge(cell));
    Some(whole)
}

/// A flow test that ran to its end; none for surveys, and for one whose summary is not as expected.
fn test(run: &Run) -> Option<Test> {
    if run.kind != "flows" {
        return None;
    }
    let summary: FlowsSummary = serde_json::from_value(run.summary.clone()).ok()?;
    let ends = &run.summary["ends"];
    let text = |key: &str| ends[key].as_str().unwrap_or("?").to_owned();
    let (local, remote) = (text("local"), text("remote"));
    let forward_source = |flow: usize| {
        let sources = ends["forward_sources"].as_array();
        sources.and_then(|ports| ports.get(flow).or(ports.first())?.as_u64())
    };
    let mut test = Test {
        run: run.id,
        started_ns: run.started_unix_ns,
        ended_ns: run.ended_unix_ns.unwrap_or(run.last_unix_ns),
        clock: summary.clock.map(|clock| (clock.offset_ns, clock.uncertainty_ns)),
        flows: Vec::new(),
        lost: Lost::default(),
    };
    for way in summary.forward.iter().chain(&summary.reverse) {
        let place = way.attribution;
        test.lost.network += place.network;
        test.lost.hosts += place.socket + place.host_receiver + place.host_sender;
        let is_forward = way.direction == weir_results::Direction::Forward;
        for (number, flow) in way.receiver.per_flow.iter().enumerate() {
            let source_port = if is_forward {
                forward_source(number)
            } else {
                ends["reverse_source"].as_u64()
            };
            let (from, to) = if is_forward {
                (&local, &remote)
            } else {
                (&remote, &local)
            };
            test.flows.push(FlowRow {
                result: FlowResult {
                    direction: way.direction,
                    flow: number,
                    port: flow.port,
                    sent: flow.sent,
                    received: flow.counts.received,
                },
                source: endpoint(from, source_port),
                destination: endpoint(to, Some(u64::from(flow.port))),
            });
        }
    }
    Some(test)
}

fn endpoint(address: &str, port: Option<u64>) -> String {
    let port = port.map_or("?".to_owned(), |port| port.to_string());
    match address.contains(':') {
        true => format!("[{address}]:{port}"),
        false => format!("{address}:{port}"),
    }
}

/// Both hosts as the runs of the span have seen them, each as long as it stayed the same.
fn hosts(store: &Store, request: &Request, tests: &[Run]) -> Result<Vec<HostRow>, StoreError> {
    let watchers = store.runs(&RunFilter {
        kinds: vec!["watch".to_owned()],
        started_before_unix_ns: Some(request.until_ns),
        ..RunFilter::default()
    })?;
    let own = watchers.iter().filter(|run| {
        run.last_unix_ns >= request.since_ns && run.parameters["here"].as_str() == Some(&request.near)
    });
    let mut runs: Vec<&Run> = own.chain(tests).collect();
    runs.sort_by_key(|run| (run.started_unix_ns, run.id.0));
    let mut rows: BTreeMap<&'static str, Vec<HostRow>> = BTreeMap::new();
    for run in runs {
        for (end, facts) in [("near", &run.local_host), ("far", &run.remote_host)] {
            if facts.is_null() {
                continue;
            }
            let seen = row(end, facts, run);
            let known = rows.entry(end).or_default();
            match known.last_mut().filter(|last| is_same(last, &seen)) {
                Some(last) => {
                    last.last_seen = seen.last_seen;
                    let bound = |text: &str| text.parse::<u64>().unwrap_or(0);
                    if bound(&seen.clock_max_error_ns) > bound(&last.clock_max_error_ns) {
                        last.clock_max_error_ns = seen.clock_max_error_ns;
                    }
                }
                None => known.push(seen),
            }
        }
    }
    // The near end first.
    Ok(rows.into_values().rev().flatten().collect())
}

fn is_same(one: &HostRow, other: &HostRow) -> bool {
    let times = |row: &HostRow| HostRow {
        first_seen: String::new(),
        last_seen: String::new(),
        clock_max_error_ns: String::new(),
        clock_synchronised: String::new(),
        ..row.clone()
    };
    times(one) == times(other)
}

fn row(end: &'static str, facts: &Value, run: &Run) -> HostRow {
    let text = |key: &str| match &facts[key] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    HostRow {
        end,
        name: text("name"),
        cloud: text("cloud"),
        region: text("region"),
        zone: text("zone"),
        zone_id: text("zone_id"),
        instance_id: text("instance_id"),
        instance_type: text("instance_type"),
        kernel: text("kernel"),
        interface: text("interface"),
        first_seen: UtcTime(run.started_unix_ns).to_string(),
        last_seen: UtcTime(run.ended_unix_ns.unwrap_or(run.last_unix_ns)).to_string(),
        clock_max_error_ns: text("clock_max_error_ns"),
        clock_synchronised: text("clock_synchronised"),
    }
}
