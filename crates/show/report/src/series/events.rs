//! Tables of single events: bursts, silences, windows with loss, probes. It must not know of seconds.

use std::collections::BTreeMap;

use weir_results::{Direction, Record, StoreError, Table};

use super::keep::Keep;
use super::limits::{MOST_FLOW_BURSTS, MOST_LOSS_WINDOWS, MOST_MTU_PROBES, MOST_SILENCES};
use super::{Named, Source, int, number};
use crate::data::{Series, Values};

const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

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
    let mut longest = Keep::new(MOST_FLOW_BURSTS);
    each(source, Table::FlowBursts, |record| {
        if let Record::FlowBurst(direction, row) = record {
            let (at, length) = (source.at(row.unix_ns), int(row.length));
            longest.offer(
                (-length, at),
                [
                    number(direction),
                    i64::from(row.flow),
                    at,
                    int(row.first_sequence),
                    length,
                ],
            );
        }
    })?;
    let names = ["direction", "flow", "at_ns", "first_sequence", "length_packets"];
    let series = longest.into_series(names, &DIRECTIONS);
    Ok(series.map(|series| ("flow_bursts", series)))
}

pub(super) fn silences(source: Source<'_>) -> Result<Named, StoreError> {
    let mut longest = Keep::new(MOST_SILENCES);
    each(source, Table::Silences, |record| {
        if let Record::Silence(direction, row) = record {
            let (at, duration) = (source.at(row.unix_ns), int(row.duration_ns));
            longest.offer(
                (-duration, at),
                [number(direction), i64::from(row.flow), at, duration],
            );
        }
    })?;
    let series = longest.into_series(["direction", "flow", "at_ns", "duration_ns"], &DIRECTIONS);
    Ok(series.map(|series| ("silences", series)))
}

pub(super) fn loss_windows(source: Source<'_>) -> Result<Named, StoreError> {
    let mut earliest = Keep::new(MOST_LOSS_WINDOWS);
    each(source, Table::LossWindows, |record| {
        if let Record::LossWindow(direction, row) = record {
            let at = source.at(row.unix_ns);
            earliest.offer(
                (at, 0),
                [
                    number(direction),
                    at,
                    int(row.duration_ns),
                    int(row.lost),
                    i64::from(row.flows_losing),
                ],
            );
        }
    })?;
    let names = ["direction", "at_ns", "duration_ns", "lost", "flows_losing"];
    let series = earliest.into_series(names, &DIRECTIONS);
    Ok(series.map(|series| ("loss_windows", series)))
}

pub(super) fn mtu_probes(source: Source<'_>) -> Result<Named, StoreError> {
    let mut earliest = Keep::new(MOST_MTU_PROBES);
    each(source, Table::MtuProbes, |record| {
        if let Record::MtuProbe(direction, row) = record {
            let at = source.at(row.unix_ns);
            earliest.offer(
                (at, 0),
                [
                    number(direction),
                    at,
                    i64::from(row.size),
                    i64::from(row.acknowledged),
                    i64::from(row.refused_locally),
                ],
            );
        }
    })?;
    let names = ["direction", "at_ns", "size", "acknowledged", "refused_locally"];
    let series = earliest.into_series(names, &DIRECTIONS);
    Ok(series.map(|series| ("mtu_probes", series)))
}

fn each(source: Source<'_>, table: Table, mut visit: impl FnMut(Record)) -> Result<(), StoreError> {
    source.store.each_record(source.run, table, |record| {
        visit(record);
        Ok(())
    })
}
