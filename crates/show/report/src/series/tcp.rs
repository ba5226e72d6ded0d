//! What TCP connections did, second by second. It must not know how many a test tries, nor which is best.

use weir_results::{Record, StoreError, Table};

use super::keep::Keep;
use super::limits::MOST_TCP_SECONDS;
use super::{DIRECTIONS, Named, Source, int, number};
use crate::data::Values;

const NAMES: [&str; 10] = [
    "direction",
    "at_ns",
    "duration_ns",
    "streams",
    "stream",
    "bytes",
    "retransmits",
    "rtt_ns",
    "cwnd_bytes",
    "congestion_control",
];

pub(super) fn tcp_seconds(source: Source<'_>) -> Result<Named, StoreError> {
    let mut earliest = Keep::new(MOST_TCP_SECONDS);
    // The kernel has a handful of them; a row holds the place of its own here.
    let mut controls: Vec<String> = Vec::new();
    source
        .store
        .each_record(source.run, Table::TcpSeconds, |record| {
            if let Record::TcpSecond(direction, row) = record {
                let known = controls.iter().position(|name| *name == row.congestion_control);
                let control = known.unwrap_or_else(|| {
                    controls.push(row.congestion_control.clone());
                    controls.len() - 1
                });
                let at = source.began(row.unix_ns, row.duration_ns);
                earliest.offer(
                    (at, 0),
                    [
                        number(direction),
                        at,
                        int(row.duration_ns),
                        i64::from(row.streams),
                        i64::from(row.stream),
                        int(row.bytes),
                        int(row.retransmits),
                        int(row.rtt_ns),
                        int(row.cwnd_bytes),
                        int(control as u64),
                    ],
                );
            }
            Ok(())
        })?;
    let series = earliest.into_series(NAMES, &DIRECTIONS);
    Ok(series.map(|mut series| {
        for (name, column) in &mut series.columns {
            if *name == "congestion_control"
                && let Values::Integers(places) = &column.values
            {
                let word = |place: &Option<i64>| {
                    let place = place.and_then(|place| usize::try_from(place).ok());
                    let name = place.and_then(|place| controls.get(place));
                    name.cloned().unwrap_or_default().into()
                };
                column.values = Values::Words(places.iter().map(word).collect());
            }
        }
        ("tcp_seconds", series)
    }))
}
