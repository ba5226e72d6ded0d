//! The series of a run, one module for each family. They stream the tables of the store; none holds more than its
//! limit and the rows of the bins that are being filled.

mod bins;
mod columns;
mod events;
mod flows;
mod happened;
mod keep;
pub mod limits;
mod load;
mod mesh;
mod rtt;
mod seconds;
mod shares;
mod tcp;
pub(crate) mod watch;

use std::collections::BTreeMap;

use weir_results::{Direction, Run, RunId, Store, StoreError, Table};

use crate::data::Series;

/// The kind of runs of watchers. What they keep goes by path and not by run.
pub(crate) const WATCH: &str = "watch";

/// What every family works from.
#[derive(Clone, Copy)]
struct Source<'a> {
    store: &'a Store,
    run: RunId,
    /// When the run began, Unix nanoseconds: times of series count from here.
    started_unix_ns: u64,
}

impl Source<'_> {
    /// Nanoseconds from the run's start to a time, negative before it.
    fn at(&self, unix_ns: u64) -> i64 {
        let signed = |value| i64::try_from(value).unwrap_or(i64::MAX);
        signed(unix_ns).saturating_sub(signed(self.started_unix_ns))
    }

    /// The same for a row that tells when its time ended and how long it was.
    fn began(&self, unix_ns: u64, duration_ns: u64) -> i64 {
        self.at(unix_ns)
            .saturating_sub(i64::try_from(duration_ns).unwrap_or(i64::MAX))
    }
}

/// All series of a run that have rows.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn of_run(store: &Store, run: &Run) -> Result<BTreeMap<&'static str, Series>, StoreError> {
    let source = Source {
        store,
        run: run.id,
        started_unix_ns: run.started_unix_ns,
    };
    let mut series = BTreeMap::new();
    for (table, rows) in store.counts(run.id)? {
        if rows == 0 {
            continue;
        }
        match table {
            Table::RttPackets => series.extend(rtt::series(source, rows)?),
            Table::FlowSeconds => series.extend(flows::series(source, rows)?),
            Table::StreamBursts => series.extend(events::stream_burst_lengths(source, rows)?),
            Table::FlowBursts => series.extend(events::flow_bursts(source)?),
            Table::Silences => series.extend(events::silences(source)?),
            Table::LossWindows => series.extend(events::loss_windows(source)?),
            Table::TcpSeconds => series.extend(tcp::tcp_seconds(source)?),
            Table::MtuProbes => series.extend(events::mtu_probes(source)?),
            Table::FlowChanges => series.extend(happened::flow_changes(source)?),
            Table::MediaEvents => series.extend(happened::media_events(source)?),
            Table::LoadHistograms => series.extend(load::viewer_distribution(source)?),
            // The summary has failures by cause, populations by figure and testbeds by task; origins' own metrics are left to SQL.
            Table::LoadFailures
            | Table::LoadMetrics
            | Table::HouseholdSessions
            | Table::HouseholdNeighbours
            | Table::TaskSeconds => {}
            table => series.extend(seconds::series(source, table, rows)?),
        }
    }
    series.extend(mesh::series(store, &[run.id], run.started_unix_ns)?);
    if run.kind == WATCH {
        series.extend(watch::of_run(store, run)?);
    }
    Ok(series)
}

/// The series of tests between places of several runs together.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn of_mesh(
    store: &Store,
    runs: &[RunId],
    started_unix_ns: u64,
) -> Result<BTreeMap<&'static str, Series>, StoreError> {
    mesh::series(store, runs, started_unix_ns)
}

/// Words of directions, in the order of their numbers.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// A series by its name; none without rows.
type Named = Option<(&'static str, Series)>;

/// A direction as a number, for rows of numbers: its place among `forward` and `reverse`.
fn number(direction: Direction) -> i64 {
    i64::from(direction == Direction::Reverse)
}

/// A count as a value; those beyond 2^63 are not in the store either.
fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
