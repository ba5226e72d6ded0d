//! Reads the past of watched paths from the store, with the coarsest cells that give the sums asked for.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weir_record::{WatchCell, WatchEvent};
use weir_results::{PathId, Run, RunFilter, RunId, Span, Store, StoreError};

use super::placement::{Placement, Seen, placements};
use super::scope::{Fault, Happened, Kind, Mesh, faults};
use super::{DAY_S, HOUR_S, PathTrend, TimeOfDay, time_of_day, trends};
use crate::event::ChangeFields;
use crate::gather::sum;
use crate::own::spoils;
use crate::rare::{Rare, Rate};

const SECOND_NS: u64 = 1_000_000_000;
/// Spans beyond this are read as hours, seconds.
const HOURS_BEYOND_S: u64 = 4 * DAY_S;
/// Spans beyond this are read as minutes, seconds.
const MINUTES_BEYOND_S: u64 = 2 * HOUR_S;
/// Loss in more than one of so many minutes is not rare: it is no event.
const RARE: u64 = 20;
/// Hours with loss that are looked into at most.
const MOST_LOSSY_HOURS: usize = 2_000;
/// Tests of a path whose facts say what its far host was: the latest.
const MOST_TESTS: usize = 10_000;
/// Runs of watchers whose facts say where hosts are.
const MOST_RUNS: usize = 1_000;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Near and far host of the only path; none for all.
    pub pair: Option<(String, String)>,
    /// From this moment on, Unix nanoseconds.
    pub since_ns: u64,
    /// Until before this one.
    pub until_ns: u64,
}

impl Asked {
    /// The seconds that begin in the span.
    fn seconds(&self) -> (u64, u64) {
        (
            self.since_ns.div_ceil(SECOND_NS),
            self.until_ns.div_ceil(SECOND_NS),
        )
    }
}

/// The past of watched paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// Start of the span, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// Its end.
    pub until_unix_ns: u64,
    /// Paths that were measured in the span.
    pub pairs: Vec<PathHistory>,
    /// Events of all paths of the store, by what they have in common.
    pub faults: Vec<Fault>,
}

/// Rates of rare events of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRates {
    /// Near host.
    pub from: String,
    /// Far host.
    pub to: String,
    /// Over the days (UTC) that the span touches.
    pub rates: Vec<Rate>,
}

/// Rates of rare events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Start of the span, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// Its end.
    pub until_unix_ns: u64,
    /// By path.
    pub pairs: Vec<PathRates>,
    /// Events of all paths of the store, by what they have in common.
    pub faults: Vec<Fault>,
}

impl History {
    /// Its rates of rare events.
    #[must_use]
    pub fn rates(&self) -> Rates {
        let of_pair = |pair: &PathHistory| PathRates {
            from: pair.from.clone(),
            to: pair.to.clone(),
            rates: pair.rates.clone(),
        };
        Rates {
            since_unix_ns: self.since_unix_ns,
            until_unix_ns: self.until_unix_ns,
            pairs: self.pairs.iter().map(of_pair).collect(),
            faults: self.faults.clone(),
        }
    }
}

/// The past of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathHistory {
    /// Near host.
    pub from: String,
    /// Far host.
    pub to: String,
    /// How much of the span was measured, seconds.
    pub measured_s: u64,
    /// Packets sent that have a result.
    pub sent: u64,
    /// Of those, not answered in time.
    pub lost: u64,
    /// Median of the RTT, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Change points, in order of time.
    pub changes: Vec<ChangeFields>,
    /// Steps by which the placement of an instance may have changed.
    pub placements: Vec<Placement>,
    /// Slow changes since the last step.
    pub trends: Vec<PathTrend>,
    /// P50 and P90 by the time of day.
    pub time_of_day: Vec<TimeOfDay>,
    /// Rates of rare events over the days (UTC) that the span touches.
    pub rates: Vec<Rate>,
}

/// Cells without gaps between their lengths: each packet once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// In order of time.
    pub cells: Vec<WatchCell>,
    /// Their lengths together, seconds.
    pub measured_s: u64,
    /// Length of the longest, seconds.
    pub longest_s: u64,
}

impl Cells {
    /// The sum of all; none if there is none.
    #[must_use]
    pub fn merged(&self) -> Option<WatchCell> {
        let (first, others) = self.cells.split_first()?;
        let mut whole = first.clone();
        others.iter().for_each(|cell| whole.merge(cell));
        Some(whole)
    }
}

/// Reads the past of paths.
///
/// # Errors
/// When the store cannot be read.
pub fn read(store: &Store, asked: &Asked) -> Result<History, StoreError> {
    let mesh = mesh(store)?;
    let (from_s, to_s) = asked.seconds();
    let mut history = History {
        since_unix_ns: asked.since_ns,
        until_unix_ns: asked.until_ns,
        ..History::default()
    };
    let (mut happened, mut watched_s) = (Vec::new(), 0);
    for (place, (path, near, far)) in store.watch_paths()?.into_iter().enumerate() {
        happened.extend(happened_on(store, path, place, asked)?);
        let is_asked = asked
            .pair
            .as_ref()
            .is_none_or(|pair| *pair == (near.clone(), far.clone()));
        if !is_asked {
            let hours = store.count_watch_cells(path, Span::Hour, from_s, to_s)?;
            watched_s = watched_s.max(hours * HOUR_S);
            continue;
        }
        let hours = store.watch_cells(path, Span::Hour, from_s, to_s)?;
        let found = cells(store, path, &near, (from_s, to_s))?;
        watched_s = watched_s.max(found.measured_s);
        if let Some(whole) = found.merged() {
            let measured = (&whole, found.measured_s);
            history
                .pairs
                .push(of_path(store, (path, near, far), measured, &hours, asked)?);
        }
    }
    history.faults = faults(&mesh, happened, watched_s);
    Ok(history)
}

fn of_path(
    store: &Store,
    (path, from, to): (PathId, String, String),
    (whole, measured_s): (&WatchCell, u64),
    hours: &[WatchCell],
    asked: &Asked,
) -> Result<PathHistory, StoreError> {
    let (from_s, to_s) = asked.seconds();
    let mut changes = store.watch_changes(path, asked.since_ns)?;
    changes.retain(|change| change.found_unix_ns < asked.until_ns);
    let mut counts = store.watch_counts(path, from_s - from_s % DAY_S)?;
    counts.retain(|count| count.day_s < to_s);
    let rates = Rare::ALL.iter().filter_map(|event| Rate::of(*event, &counts));
    let placements = match changes.is_empty() {
        true => Vec::new(),
        false => placements(
            &changes,
            &[
                (from.as_str(), near_seen(store, &from)?),
                (to.as_str(), far_seen(store, path)?),
            ],
        ),
    };
    Ok(PathHistory {
        from,
        to,
        measured_s,
        sent: whole.sent,
        lost: whole.lost,
        p50_ns: whole.rtt.quantile(0.5),
        p90_ns: whole.rtt.quantile(0.9),
        p99_ns: whole.rtt.quantile(0.99),
        placements,
        trends: trends(hours, &changes),
        time_of_day: time_of_day(hours),
        rates: rates.collect(),
        changes: changes.iter().map(ChangeFields::of).collect(),
    })
}

/// Events of a path whose scope is counted.
fn happened_on(
    store: &Store,
    path: PathId,
    place: usize,
    asked: &Asked,
) -> Result<Vec<Happened>, StoreError> {
    let span = asked.since_ns..asked.until_ns;
    let of_kind = |kind, at_ns| Happened {
        kind,
        at_ns,
        path: place,
    };
    let changes = store.watch_changes(path, asked.since_ns)?;
    let since = changes.iter().map(|change| change.since_unix_ns);
    let mut all: Vec<Happened> = since
        .filter(|since_ns| span.contains(since_ns))
        .map(|since_ns| of_kind(Kind::Change, since_ns))
        .collect();
    let events = store.watch_events(path, span.start, span.end)?;
    let alarm = |event: &WatchEvent| match (event.event.as_str(), event.state.as_str()) {
        ("unreachable", "raised") => Some(of_kind(Kind::Unreachable, event.unix_ns)),
        ("flow_dark", "raised") => Some(of_kind(Kind::FlowDark, event.unix_ns)),
        _ => None,
    };
    all.extend(events.iter().filter_map(alarm));
    let lossy = lossy_minutes(store, path, asked.seconds())?;
    // Minutes in a row are one event.
    let first = |place: &usize| *place == 0 || lossy[*place] != lossy[place - 1] + 60;
    let begins = (0..lossy.len()).filter(first);
    all.extend(begins.map(|place| of_kind(Kind::Loss, lossy[place].saturating_mul(SECOND_NS))));
    Ok(all)
}

/// Minutes of a path with loss, Unix seconds, in order; none where loss is not rare.
fn lossy_minutes(store: &Store, path: PathId, (from_s, to_s): (u64, u64)) -> Result<Vec<u64>, StoreError> {
    let most = (to_s.saturating_sub(from_s) / 60 / RARE).max(100) as usize;
    let mut spans = vec![(from_s, to_s)];
    if to_s.saturating_sub(from_s) > HOURS_BEYOND_S {
        // Hours say where to look, for a hundredth of the rows; and the minutes after the last hour.
        let last_s = store
            .last_watch_cell(path, Span::Hour)?
            .map_or(from_s, |start_s| start_s + HOUR_S);
        let hours = store.lossy_watch_cells(path, Span::Hour, (from_s, to_s), MOST_LOSSY_HOURS + 1)?;
        if hours.len() > MOST_LOSSY_HOURS {
            return Ok(Vec::new());
        }
        spans = hours
            .into_iter()
            .map(|start_s| (start_s, start_s + HOUR_S))
            .collect();
        spans.push((last_s.max(from_s), to_s));
    }
    let mut lossy = Vec::new();
    for span in spans {
        lossy.extend(store.lossy_watch_cells(path, Span::Minute, span, most + 1)?);
        if lossy.len() > most {
            return Ok(Vec::new());
        }
    }
    Ok(lossy)
}

/// Cells of a path, each packet of `from_s..to_s` (Unix seconds) once: hours or minutes in the middle of long spans, finer ones
/// at their ends, and coarser ones where finer ones are deleted. Seconds in which the near host `near` stalled are left out.
///
/// # Errors
/// When the store cannot be read.
pub fn cells(
    store: &Store,
    path: PathId,
    near: &str,
    (from_s, to_s): (u64, u64),
) -> Result<Cells, StoreError> {
    let spans: &[Span] = match to_s.saturating_sub(from_s) {
        length_s if length_s > HOURS_BEYOND_S => &[Span::Hour, Span::Minute, Span::Second],
        length_s if length_s > MINUTES_BEYOND_S => &[Span::Minute, Span::Second],
        _ => &[Span::Second],
    };
    let mut found = Cells::default();
    let mut reader = Reader {
        store,
        path,
        near,
        found: &mut found,
    };
    let mut from_s = from_s;
    for (coarser, finer) in [(Span::Hour, Span::Minute), (Span::Minute, Span::Second)] {
        if spans.contains(&coarser) {
            continue;
        }
        // What is older than the first of the finer ones.
        let first_s = store.first_watch_cell(path, finer)?.unwrap_or(to_s).min(to_s);
        if from_s < first_s {
            from_s = reader.take(coarser, (from_s, first_s))?.unwrap_or(from_s);
        }
    }
    reader.fill(spans, (from_s, to_s))?;
    Ok(found)
}

struct Reader<'a> {
    store: &'a Store,
    path: PathId,
    near: &'a str,
    found: &'a mut Cells,
}

impl Reader<'_> {
    /// Reads whole cells of a length within a span; returns the end of the last one.
    fn take(&mut self, span: Span, (from_s, to_s): (u64, u64)) -> Result<Option<u64>, StoreError> {
        let cells = self.read(span, (from_s, to_s))?;
        let end_s = cells.last().map(|cell| cell.start_s + span.seconds());
        self.keep(span, cells);
        Ok(end_s)
    }

    fn read(&self, span: Span, (from_s, to_s): (u64, u64)) -> Result<Vec<WatchCell>, StoreError> {
        let length_s = span.seconds();
        let (from_s, to_s) = (from_s.div_ceil(length_s) * length_s, to_s / length_s * length_s);
        let mut cells = self.store.watch_cells(self.path, span, from_s, to_s)?;
        if span == Span::Second {
            let excluded = self.store.watch_excluded(self.near, from_s, to_s)?;
            cells.retain(|cell| {
                let found = excluded.binary_search_by_key(&cell.start_s, |second| second.start_s);
                !found.is_ok_and(|place| spoils(&excluded[place], cell.lost))
            });
        }
        Ok(cells)
    }

    fn keep(&mut self, span: Span, cells: Vec<WatchCell>) {
        if !cells.is_empty() {
            self.found.longest_s = self.found.longest_s.max(span.seconds());
        }
        self.found.measured_s += cells.len() as u64 * span.seconds();
        self.found.cells.extend(cells);
    }

    /// The first length in the middle, the finer ones at both ends.
    fn fill(&mut self, spans: &[Span], (from_s, to_s): (u64, u64)) -> Result<(), StoreError> {
        let Some((span, finer)) = spans.split_first() else {
            return Ok(());
        };
        let cells = self.read(*span, (from_s, to_s))?;
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            return self.fill(finer, (from_s, to_s));
        };
        let (before_s, after_s) = (first.start_s, last.start_s + span.seconds());
        self.fill(finer, (from_s, before_s))?;
        self.keep(*span, cells);
        self.fill(finer, (after_s, to_s))
    }
}

/// Cells summed to at most some `most` points at equal distances, no finer than the cells, and that distance in seconds.
#[must_use]
pub fn over_time(cells: &Cells, span_s: u64, most: u64) -> (Vec<WatchCell>, u64) {
    const STEPS: [u64; 10] = [
        1,
        10,
        60,
        600,
        1_800,
        HOUR_S,
        6 * HOUR_S,
        DAY_S,
        7 * DAY_S,
        28 * DAY_S,
    ];
    let fits = |step_s: &u64| *step_s >= cells.longest_s && span_s / step_s <= most;
    let step_s = STEPS.into_iter().find(fits).unwrap_or(28 * DAY_S);
    (sum(&cells.cells, step_s), step_s)
}

/// All paths of the store in its order, and the zones of their hosts: as their files say, else as the hosts' clouds say.
///
/// # Errors
/// When the store cannot be read.
pub fn mesh(store: &Store) -> Result<Mesh, StoreError> {
    let paths = store.watch_paths()?;
    let mut zones = BTreeMap::new();
    let watchers = watchers(store)?;
    // The newest first, whose word counts.
    let mut note = |host: &str, zone: Option<String>| {
        if let Some(zone) = zone {
            zones.entry(host.to_owned()).or_insert(zone);
        }
    };
    for run in &watchers {
        let named = run.parameters["zones"].as_object().into_iter().flatten();
        named.for_each(|(host, zone)| note(host, zone.as_str().map(str::to_owned)));
    }
    for Run {
        parameters,
        local_host,
        ..
    } in &watchers
    {
        note(parameters["here"].as_str().unwrap_or_default(), zone(local_host));
    }
    for (path, _, far) in &paths {
        if let Some(run) = store.last_watch_test(*path)? {
            match store.run(RunId(run)) {
                Ok(run) => note(far, zone(&run.remote_host)),
                Err(StoreError::RunNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Mesh {
        paths: paths.into_iter().map(|(_, near, far)| (near, far)).collect(),
        zones,
    })
}

/// What a near host was when its watchers started, in order of time.
fn near_seen(store: &Store, near: &str) -> Result<Vec<Seen>, StoreError> {
    let mut runs = watchers(store)?;
    runs.retain(|run| run.parameters["here"].as_str() == Some(near));
    // They come the newest first.
    Ok(runs
        .iter()
        .rev()
        .map(|run| seen(run.started_unix_ns, &run.local_host))
        .collect())
}

/// What a far host was in the tests of a path, in order of time.
fn far_seen(store: &Store, path: PathId) -> Result<Vec<Seen>, StoreError> {
    let facts = store.watch_test_hosts(path, MOST_TESTS)?;
    Ok(facts.iter().map(|(at_ns, facts)| seen(*at_ns, facts)).collect())
}

fn seen(at_ns: u64, facts: &Value) -> Seen {
    let text = |key: &str| facts[key].as_str().unwrap_or_default().to_owned();
    Seen {
        at_ns,
        zone: text("zone"),
        instance: text("instance_id"),
    }
}

/// Runs of watchers, the newest first.
fn watchers(store: &Store) -> Result<Vec<Run>, StoreError> {
    store.runs(&RunFilter {
        kinds: vec!["watch".to_owned()],
        limit: Some(MOST_RUNS),
        ..RunFilter::default()
    })
}

/// The zone of a host by its facts.
fn zone(facts: &Value) -> Option<String> {
    facts["zone"]
        .as_str()
        .filter(|zone| !zone.is_empty())
        .map(str::to_owned)
}
