//! What each flow did: in all, in bins over the whole run, and second by second where something happened. It must not
//! know of the stream that the flows make together.

use std::collections::BTreeMap;

use weir_results::{Direction, FlowSecond, Record, StoreError, Subjects, Table};

use super::bins::{Binner, Cell, Layout, Name, Rule, shortest};
use super::keep::Keep;
use super::limits::{MOST_FLOW_BIN_ENTRIES, MOST_FLOW_BINS, MOST_FLOW_EVENTS};
use super::streams::known;
use super::{Source, int};
use crate::data::{Series, Values};

/// The table has no duration: its rows are seconds.
const SECOND_NS: u64 = 1_000_000_000;

const BINS: Layout = Layout {
    subject: &[Name::Word("direction"), Name::Number("flow")],
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

const TOTALS: [&str; 11] = [
    "port",
    "received",
    "bytes",
    "lost",
    "late",
    "duplicates",
    "reversals",
    "sequence_breaks",
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
    let mut totals: BTreeMap<(Direction, u16), [i64; 11]> = BTreeMap::new();
    let mut events = Keep::new(MOST_FLOW_EVENTS);
    let mut binner = Binner::new(BINS, bin_ns);
    source.store.each_record(source.run, table, |record| {
        if let Record::FlowSecond(direction, row) = record {
            add_to(totals.entry((direction, row.flow)).or_default(), &row);
            if happened(&row) {
                let at = source.began(row.unix_ns, SECOND_NS);
                events.offer((at, 0), event(direction, at, &row));
            }
            add_to_bin(source, &mut binner, direction, &row);
        }
        Ok(())
    })?;
    let bins = if binner.disordered() {
        Binner::read_sorted(source, table, BINS, bin_ns, |binner, record| {
            if let Record::FlowSecond(direction, row) = record {
                add_to_bin(source, binner, direction, &row);
            }
        })?
    } else {
        binner.into_series()
    };
    let mut found = vec![("flow_totals", of_totals(&totals, rows))];
    found.extend(bins.map(|bins| ("flow_bins", bins)));
    let events = events.into_series(EVENTS, &["forward", "reverse"]);
    found.extend(events.map(|events| ("flow_events", events)));
    Ok(found)
}

fn add_to_bin(source: Source<'_>, binner: &mut Binner, direction: Direction, row: &FlowSecond) {
    let owd = &row.owd;
    let values: [Cell; 6] = [
        row.received.into(),
        row.bytes.into(),
        row.lost.into(),
        row.reversals.into(),
        known(owd, owd.min),
        known(owd, owd.p50),
    ];
    let at = source.began(row.unix_ns, SECOND_NS);
    binner.add((direction.as_str(), row.flow), at, &values);
}

/// Adds a second to the totals, which are in the order of [`TOTALS`].
fn add_to(total: &mut [i64; 11], row: &FlowSecond) {
    total[0] = i64::from(row.port);
    let counts = [
        row.received,
        row.bytes,
        row.lost,
        row.late,
        row.duplicates,
        row.reversals,
        row.sequence_breaks,
        row.bursts,
    ];
    for (sum, count) in total[1..9].iter_mut().zip(counts) {
        *sum = sum.saturating_add(int(count));
    }
    total[9] = total[9].max(int(row.longest_burst));
    total[10] = total[10].saturating_add(int(row.socket_drops));
}

/// Whether a second is worth an entry of its own.
fn happened(row: &FlowSecond) -> bool {
    row.received == 0
        || [
            row.lost,
            row.late,
            row.duplicates,
            row.reversals,
            row.socket_drops,
        ]
        .iter()
        .any(|count| *count > 0)
}

fn event(direction: Direction, at: i64, row: &FlowSecond) -> [i64; 11] {
    [
        super::number(direction),
        i64::from(row.flow),
        at,
        int(row.received),
        int(row.lost),
        int(row.late),
        int(row.duplicates),
        int(row.reversals),
        int(row.bursts),
        int(row.longest_burst),
        int(row.socket_drops),
    ]
}

fn of_totals(totals: &BTreeMap<(Direction, u16), [i64; 11]>, rows: u64) -> Series {
    let words = totals.keys().map(|(direction, _)| direction.as_str().into());
    let flows = totals.keys().map(|(_, flow)| Some(i64::from(*flow)));
    let mut columns = vec![
        ("direction", Values::Words(words.collect())),
        ("flow", Values::Integers(flows.collect())),
    ];
    for (place, name) in TOTALS.into_iter().enumerate() {
        let values = totals.values().map(|total| Some(total[place]));
        columns.push((name, Values::Integers(values.collect())));
    }
    Series::new(rows, None, columns)
}
