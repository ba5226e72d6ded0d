//! What each flow did: in all, in bins over the whole run, and second by second where something happened. It must not
//! know of the stream that the flows make together.

use std::collections::BTreeMap;

use weir_results::{Direction, FlowSecond, Record, StoreError, Subjects, Table};

use weir_stats::{Counters, FlowCounts};

use super::bins::{Binner, Layout, Name, Rule, shortest};
use super::columns::Columns;
use super::keep::Keep;
use super::limits::{MOST_FLOW_BIN_ENTRIES, MOST_FLOW_BINS, MOST_FLOW_EVENTS};
use super::{DIRECTIONS, Source, int};
use crate::data::{Series, Values};

/// The table has no duration: its rows are seconds.
const SECOND_NS: u64 = 1_000_000_000;

const BINS: Layout = Layout {
    subject: &[Name::Word("direction", &DIRECTIONS), Name::Number("flow")],
    values: &[
        ("received", Rule::Sum),
        ("bytes", Rule::Sum),
        ("lost", Rule::Sum),
        ("reversals", Rule::Sum),
        ("owd_min_ns", Rule::Smallest),
        ("owd_p50_ns", Rule::Quantile(500)),
    ],
};

const EVENTS: [&str; 11] = [
    "direction",
    "flow",
    "at_ns",
    "received",
    "lost",
    "late",
    "duplicates",
    "reversals",
    "bursts",
    "longest_burst",
    "socket_drops",
];

/// `flow_totals`, `flow_bins` and `flow_events`, from one look at the rows.
pub(super) fn series(source: Source<'_>, rows: u64) -> Result<Vec<(&'static str, Series)>, StoreError> {
    let table = Table::FlowSeconds;
    let (flows, longest) = source.store.count_subjects(source.run, table)?;
    let most = MOST_FLOW_BINS.min((MOST_FLOW_BIN_ENTRIES / flows.max(1)).max(1));
    let bin_ns = if longest <= most {
        None
    } else {
        let least = longest.div_ceil(most);
        Some(shortest(source, table, Subjects::Together, least, most)?)
    };
    let mut totals: BTreeMap<(Direction, u16), (u16, FlowCounts)> = BTreeMap::new();
    let mut events = Keep::new(MOST_FLOW_EVENTS);
    let mut binner = Binner::new(BINS, bin_ns);
    let mut columns = Columns::of(table, BINS);
    source.store.each_record(source.run, table, |record| {
        columns.add(source, &mut binner, &record);
        if let Record::FlowSecond(direction, row) = record {
            let (port, total) = totals.entry((direction, row.flow)).or_default();
            *port = row.port;
            total.add(&row.counts);
            if happened(&row) {
                let at = source.began(row.unix_ns, SECOND_NS);
                events.offer((at, 0), event(direction, at, &row));
            }
        }
        Ok(())
    })?;
    let bins = if binner.disordered() {
        Binner::read_sorted(source, table, BINS, bin_ns, |binner, record| {
            columns.add(source, binner, &record);
        })?
    } else {
        binner.into_series()
    };
    let mut found = vec![("flow_totals", of_totals(&totals, rows))];
    found.extend(bins.map(|bins| ("flow_bins", bins)));
    let events = events.into_series(EVENTS, &DIRECTIONS);
    found.extend(events.map(|events| ("flow_events", events)));
    Ok(found)
}

/// Whether a second is worth an entry of its own.
fn happened(row: &FlowSecond) -> bool {
    let FlowCounts {
        received,
        lost,
        late,
        duplicates,
        reversals,
        socket_drops,
        ..
    } = row.counts;
    received == 0
        || [lost, late, duplicates, reversals, socket_drops]
            .iter()
            .any(|count| *count > 0)
}

fn event(direction: Direction, at: i64, row: &FlowSecond) -> [i64; 11] {
    let counts = &row.counts;
    [
        super::number(direction),
        i64::from(row.flow),
        at,
        int(counts.received),
        int(counts.lost),
        int(counts.late),
        int(counts.duplicates),
        int(counts.reversals),
        int(counts.bursts),
        int(counts.longest_burst),
        int(counts.socket_drops),
    ]
}

fn of_totals(totals: &BTreeMap<(Direction, u16), (u16, FlowCounts)>, rows: u64) -> Series {
    let words = totals.keys().map(|(direction, _)| direction.as_str().into());
    let flows = totals.keys().map(|(_, flow)| Some(i64::from(*flow)));
    let ports = totals.values().map(|(port, _)| Some(i64::from(*port)));
    let mut columns = vec![
        ("direction", Values::Words(words.collect())),
        ("flow", Values::Integers(flows.collect())),
        ("port", Values::Integers(ports.collect())),
    ];
    let counts: Vec<Vec<u64>> = totals
        .values()
        .map(|(_, counts)| counts.values().collect())
        .collect();
    for (place, name) in FlowCounts::NAMES.iter().copied().enumerate() {
        let values = counts.iter().map(|counts| Some(int(counts[place])));
        columns.push((name, Values::Integers(values.collect())));
    }
    Series::new(rows, None, columns)
}
