//! What the store has of watched paths over a span: quantiles over time, the whole distribution, changes and alarms. It must not
//! know how a change is found.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_results::{PathId, Run, Store, StoreError, WatchCell, WatchChange, WatchEvent};
use weir_watch::event::in_words;
use weir_watch::history::{Cells, cells, over_time};

use super::limits::{MOST_WATCH_ALARMS, MOST_WATCH_CHANGES, MOST_WATCH_POINTS};
use super::{Source, int};
use crate::data::{Series, Values};

/// Most and fewest points of a path.
const POINTS: (u64, u64) = (600, 60);
/// Shares at which the distribution of a span is given.
const SHARES: [f64; 17] = [
    0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 0.99999, 1.0,
];

/// A path with the names of its hosts.
pub(crate) type NamedPath = (PathId, String, String);

/// Rows of all paths, each with the path's name.
#[derive(Default)]
struct Rows {
    points: Vec<(String, WatchCell, u64)>,
    cells: u64,
    shares: Vec<(String, f64, u64)>,
    changes: Vec<(String, WatchChange, String)>,
    alarms: Vec<(String, WatchEvent)>,
}

/// Series of a watcher's run: of its paths, from its start to its end.
pub(super) fn of_run(store: &Store, run: &Run) -> Result<BTreeMap<&'static str, Series>, StoreError> {
    let pairs = run.parameters["pairs"].as_array().into_iter().flatten();
    let pairs: Vec<_> = pairs.map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let mut paths = store.watch_paths()?;
    paths.retain(|(_, near, far)| pairs.contains(&(Some(near.as_str()), Some(far.as_str()))));
    let until_ns = run.ended_unix_ns.unwrap_or(run.last_unix_ns);
    series(
        store,
        &paths,
        (run.started_unix_ns, until_ns),
        run.started_unix_ns,
    )
}

/// Series of paths from a moment until before another, Unix nanoseconds. Times count from `started_unix_ns`.
pub(crate) fn series(
    store: &Store,
    paths: &[NamedPath],
    (since_ns, until_ns): (u64, u64),
    started_unix_ns: u64,
) -> Result<BTreeMap<&'static str, Series>, StoreError> {
    let (from_s, to_s) = (since_ns.div_ceil(1_000_000_000), until_ns.div_ceil(1_000_000_000));
    let most = (MOST_WATCH_POINTS / (paths.len() as u64).max(1)).clamp(POINTS.1, POINTS.0);
    let mut rows = Rows::default();
    for (path, near, far) in paths {
        let name = format!("{near}..{far}");
        let found = cells(store, *path, near, (from_s, to_s))?;
        rows.add_cells(&name, &found, to_s.saturating_sub(from_s), most);
        let changes = store.watch_changes(*path, since_ns)?.into_iter();
        let within = changes.filter(|change| change.found_unix_ns < until_ns);
        rows.changes.extend(within.map(|change| {
            let words = in_words((near.as_str(), far.as_str()), &change);
            (name.clone(), change, words)
        }));
        let alarms = store.watch_events(*path, since_ns, until_ns)?.into_iter();
        rows.alarms.extend(
            alarms
                .filter(|event| event.event != "test")
                .map(|event| (name.clone(), event)),
        );
    }
    let at = Source {
        store,
        run: weir_results::RunId(0),
        started_unix_ns,
    };
    Ok(rows.into_series(at))
}

impl Rows {
    fn add_cells(&mut self, name: &str, found: &Cells, span_s: u64, most: u64) {
        self.cells += found.cells.len() as u64;
        if let Some(whole) = found.merged() {
            let value = |share: f64| Some((name.to_owned(), share, whole.rtt.quantile(share)?));
            self.shares.extend(SHARES.into_iter().filter_map(value));
        }
        let (points, step_s) = over_time(found, span_s, most);
        self.points
            .extend(points.into_iter().map(|cell| (name.to_owned(), cell, step_s)));
    }

    fn into_series(self, source: Source<'_>) -> BTreeMap<&'static str, Series> {
        let mut all = BTreeMap::new();
        if !self.points.is_empty() {
            all.insert("watch_history", history(&self.points, self.cells, source));
            all.insert("watch_distribution", distribution(&self.shares));
        }
        all.extend(changes(&self.changes, source).map(|series| ("watch_changes", series)));
        all.extend(alarms(&self.alarms, source).map(|series| ("watch_alarms", series)));
        all
    }
}

fn words<T>(rows: &[T], word: impl Fn(&T) -> &str) -> Values {
    Values::Words(rows.iter().map(|row| Cow::Owned(word(row).to_owned())).collect())
}

fn integers<T>(rows: &[T], value: impl Fn(&T) -> Option<i64>) -> Values {
    Values::Integers(rows.iter().map(value).collect())
}

fn reals<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Values {
    let finite = |row: &T| Some(value(row)).filter(|value| value.is_finite());
    Values::Reals(rows.iter().map(finite).collect())
}

fn history(points: &[(String, WatchCell, u64)], cells: u64, source: Source<'_>) -> Series {
    let start = |cell: &WatchCell| source.at(cell.start_s.saturating_mul(1_000_000_000));
    let quantile = |share: f64| integers(points, move |(_, cell, _)| cell.rtt.quantile(share).map(int));
    let step_s = points.iter().map(|point| point.2).max();
    let columns = vec![
        ("pair", words(points, |point| &point.0)),
        ("at_ns", integers(points, |point| Some(start(&point.1)))),
        (
            "duration_ns",
            integers(points, |point| Some(int(point.2).saturating_mul(1_000_000_000))),
        ),
        ("sent", integers(points, |point| Some(int(point.1.sent)))),
        ("lost", integers(points, |point| Some(int(point.1.lost)))),
        ("rtt_min_ns", quantile(0.0)),
        ("rtt_p50_ns", quantile(0.5)),
        ("rtt_p90_ns", quantile(0.9)),
        ("rtt_p99_ns", quantile(0.99)),
        ("rtt_max_ns", quantile(1.0)),
        ("hops", integers(points, |point| point.1.hops.map(i64::from))),
    ];
    Series::new(
        cells,
        step_s.map(|step_s| step_s.saturating_mul(1_000_000_000)),
        columns,
    )
}

fn distribution(shares: &[(String, f64, u64)]) -> Series {
    let columns = vec![
        ("pair", words(shares, |row| &row.0)),
        ("share", reals(shares, |row| row.1)),
        ("rtt_ns", integers(shares, |row| Some(int(row.2)))),
    ];
    Series::new(shares.len() as u64, None, columns)
}

/// The latest of them.
fn changes(all: &[(String, WatchChange, String)], source: Source<'_>) -> Option<Series> {
    let left_out = all.len().saturating_sub(MOST_WATCH_CHANGES);
    let rows = &all[left_out..];
    let columns = vec![
        ("pair", words(rows, |row| &row.0)),
        ("metric", words(rows, |row| &row.1.metric)),
        (
            "at_ns",
            integers(rows, |row| Some(source.at(row.1.since_unix_ns))),
        ),
        (
            "found_ns",
            integers(rows, |row| Some(source.at(row.1.found_unix_ns))),
        ),
        ("before", reals(rows, |row| row.1.before)),
        ("after", reals(rows, |row| row.1.after)),
        ("low", reals(rows, |row| row.1.low)),
        ("high", reals(rows, |row| row.1.high)),
        ("sentence", words(rows, |row| &row.2)),
    ];
    let series = Series::new(all.len() as u64, None, columns);
    (!all.is_empty()).then_some(Series {
        left_out: left_out as u64,
        ..series
    })
}

/// The latest of them.
fn alarms(all: &[(String, WatchEvent)], source: Source<'_>) -> Option<Series> {
    let left_out = all.len().saturating_sub(MOST_WATCH_ALARMS);
    let rows = &all[left_out..];
    let columns = vec![
        ("pair", words(rows, |row| &row.0)),
        ("at_ns", integers(rows, |row| Some(source.at(row.1.unix_ns)))),
        ("event", words(rows, |row| &row.1.event)),
        ("state", words(rows, |row| &row.1.state)),
        ("subject", words(rows, |row| &row.1.subject)),
        ("run_id", integers(rows, |row| row.1.run_id)),
        ("detail", words(rows, |row| &row.1.detail)),
    ];
    let series = Series::new(all.len() as u64, None, columns);
    (!all.is_empty()).then_some(Series {
        left_out: left_out as u64,
        ..series
    })
}
