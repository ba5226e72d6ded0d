//! Tables of single events: bursts, silences, windows with loss, probes. It must not know of seconds.

use std::collections::BTreeMap;

use weir_results::{Direction, Record, StoreError, Table, Value};

use super::keep::Keep;
use super::limits::{MOST_FLOW_BURSTS, MOST_LOSS_WINDOWS, MOST_MTU_PROBES, MOST_SILENCES};
use super::{DIRECTIONS, Named, Source, int};
use crate::data::{Series, Values};

/// How many bursts of the whole stream had which length. The lengths are as many as there are different ones: a burst
/// of each would lose half the square of that number of packets.
pub(super) fn stream_burst_lengths(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let mut bursts: BTreeMap<(Direction, u64), i64> = BTreeMap::new();
    source
        .store
        .each_record(source.run, Table::StreamBursts, |record| {
            if let Record::StreamBurst(direction, burst) = record {
                *bursts.entry((direction, burst.length)).or_default() += 1;
            }
            Ok(())
        })?;
    let words = bursts.keys().map(|(direction, _)| direction.as_str().into());
    let lengths = bursts.keys().map(|(_, length)| Some(int(*length)));
    let counts = bursts.values().map(|count| Some(*count));
    let columns = vec![
        ("direction", Values::Words(words.collect())),
        ("length_packets", Values::Integers(lengths.collect())),
        ("bursts", Values::Integers(counts.collect())),
    ];
    Ok(Some(("stream_burst_lengths", Series::new(rows, None, columns))))
}

pub(super) fn flow_bursts(source: Source<'_>) -> Result<Named, StoreError> {
    let names = ["direction", "flow", "at_ns", "first_sequence", "length_packets"];
    let longest = |row: &[i64; 5]| (-row[4], row[2]);
    kept(source, Table::FlowBursts, MOST_FLOW_BURSTS, names, longest)
}

pub(super) fn silences(source: Source<'_>) -> Result<Named, StoreError> {
    let names = ["direction", "flow", "at_ns", "duration_ns"];
    let longest = |row: &[i64; 4]| (-row[3], row[2]);
    kept(source, Table::Silences, MOST_SILENCES, names, longest)
}

pub(super) fn loss_windows(source: Source<'_>) -> Result<Named, StoreError> {
    let names = ["direction", "at_ns", "duration_ns", "lost", "flows_losing"];
    let earliest = |row: &[i64; 5]| (row[1], 0);
    kept(source, Table::LossWindows, MOST_LOSS_WINDOWS, names, earliest)
}

pub(super) fn mtu_probes(source: Source<'_>) -> Result<Named, StoreError> {
    let names = ["direction", "at_ns", "size", "acknowledged", "refused_locally"];
    let earliest = |row: &[i64; 5]| (row[1], 0);
    kept(source, Table::MtuProbes, MOST_MTU_PROBES, names, earliest)
}

/// The events of lowest rank: their columns of these names, of which `direction` is a number and `at_ns` counts from the start
/// of the run.
fn kept<const N: usize>(
    source: Source<'_>,
    table: Table,
    most: usize,
    names: [&'static str; N],
    rank: impl Fn(&[i64; N]) -> (i64, i64),
) -> Result<Named, StoreError> {
    let columns = table.columns();
    let places = names.map(|name| {
        let stored = if name == "at_ns" { "unix_ns" } else { name };
        columns.iter().position(|column| column == stored)
    });
    let mut keep = Keep::new(most);
    let mut values = Vec::new();
    source.store.each_record(source.run, table, |record| {
        values.clear();
        record.put(&mut values);
        let mut row = [0; N];
        for ((value, place), name) in row.iter_mut().zip(places).zip(names) {
            *value = match place.and_then(|place| values.get(place)) {
                Some(Value::Integer(stored)) if name == "at_ns" => source.at(stored.unsigned_abs()),
                Some(Value::Integer(stored)) => *stored,
                Some(Value::Text(direction)) => i64::from(direction == Direction::Reverse.as_str()),
                _ => 0,
            };
        }
        keep.offer(rank(&row), row);
        Ok(())
    })?;
    let series = keep.into_series(names, &DIRECTIONS);
    Ok(series.map(|series| (table.name(), series)))
}
