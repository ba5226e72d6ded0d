//! What streams, senders, hosts, links, receivers and viewers did, second by second: of each row the columns that its layout
//! names. It must not know what the columns tell.

use weir_results::{Record, StoreError, Subjects, Table, Value};

use super::bins::{Binner, Cell, Layout, Name, Rule, shortest};
use super::limits::{MOST_LOAD_SECONDS, MOST_MEDIA_SECONDS, MOST_SECONDS};
use super::{Named, Source};

/// The tables that have no duration have rows of seconds.
const SECOND_NS: u64 = 1_000_000_000;

/// Kinds of requests; what another Weir may call another name is `other`.
const KINDS: [&str; 6] = ["manifest", "init", "audio", "video", "subtitle", "key"];

pub(super) const STREAM: (Layout, u64) = (
    Layout {
        subject: &[Name::Word("direction")],
        values: &[
            ("duration_ns", Rule::Sum),
            ("received", Rule::Sum),
            ("bytes", Rule::Sum),
            ("lost", Rule::Sum),
            ("late", Rule::Sum),
            ("duplicates", Rule::Sum),
            ("reordered", Rule::Sum),
            ("owd_min_ns", Rule::Smallest),
            ("owd_p50_ns", Rule::Quantile(500)),
            ("owd_p99_ns", Rule::Quantile(500)),
            ("owd_max_ns", Rule::Largest),
        ],
    },
    MOST_SECONDS,
);

pub(super) const SENDER: (Layout, u64) = (
    Layout {
        subject: &[Name::Word("direction")],
        values: &[
            ("duration_ns", Rule::Sum),
            ("sent", Rule::Sum),
            ("bytes", Rule::Sum),
            ("refused", Rule::Sum),
            ("schedule_error_p50_ns", Rule::Quantile(500)),
            ("schedule_error_p99_ns", Rule::Quantile(500)),
            ("schedule_error_max_ns", Rule::Largest),
            ("cpu_ns", Rule::Sum),
        ],
    },
    MOST_SECONDS,
);

pub(super) const HOST: (Layout, u64) = (
    Layout {
        subject: &[Name::Word("side")],
        values: &[
            ("udp_rcvbuf_errors", Rule::Sum),
            ("udp_in_errors", Rule::Sum),
            ("udp_sndbuf_errors", Rule::Sum),
            ("softnet_dropped", Rule::Sum),
            ("softnet_squeezed", Rule::Sum),
            ("interface_rx_dropped", Rule::Sum),
            ("interface_tx_dropped", Rule::Sum),
            ("cpu_busy_cores", Rule::Mean),
            ("cpu_steal_cores", Rule::Mean),
            ("cpu_weir_cores", Rule::Mean),
            ("memory_bytes", Rule::Largest),
        ],
    },
    MOST_SECONDS,
);

pub(super) const LINK: (Layout, u64) = (
    Layout {
        subject: &[Name::Word("direction")],
        values: &[
            ("duration_ns", Rule::Sum),
            ("offered", Rule::Sum),
            ("offered_bytes", Rule::Sum),
            ("delivered", Rule::Sum),
            ("delivered_bytes", Rule::Sum),
            ("dropped_too_big", Rule::Sum),
            ("dropped_long_packet", Rule::Sum),
            ("dropped_flow_rate", Rule::Sum),
            ("dropped_packet_rate", Rule::Sum),
            ("dropped_extra_flow", Rule::Sum),
            ("dropped_dark", Rule::Sum),
            ("dropped_loss", Rule::Sum),
            ("dropped_queue", Rule::Sum),
            ("duplicated", Rule::Sum),
            ("corrupted", Rule::Sum),
            ("own_losses", Rule::Sum),
            // The row has the most since the link began.
            ("most_queued_bytes", Rule::Largest),
            ("lateness_count", Rule::Sum),
            ("lateness_min_ns", Rule::Smallest),
            ("lateness_p50_ns", Rule::Quantile(500)),
            ("lateness_p90_ns", Rule::Quantile(500)),
            ("lateness_p99_ns", Rule::Quantile(500)),
            ("lateness_p999_ns", Rule::Quantile(500)),
            ("lateness_max_ns", Rule::Largest),
            ("cpu_ns", Rule::Sum),
        ],
    },
    MOST_SECONDS,
);

pub(super) const SEND: (Layout, u64) = (
    Layout {
        subject: &[],
        values: &[
            ("duration_ns", Rule::Sum),
            ("receiver_rtt_ns", Rule::Quantile(500)),
            ("frames", Rule::Sum),
            ("frames_skipped", Rule::Sum),
            ("sources", Rule::Sum),
            ("bytes", Rule::Sum),
            ("repairs", Rule::Sum),
            ("retransmitted", Rule::Sum),
            ("trials", Rule::Sum),
            ("refused", Rule::Sum),
            ("unsent", Rule::Sum),
            ("rejected", Rule::Sum),
            ("fec_sources", Rule::Quantile(500)),
            ("fec_window", Rule::Quantile(500)),
            ("cpu_ns", Rule::Sum),
        ],
    },
    MOST_MEDIA_SECONDS,
);

pub(super) const RECV: (Layout, u64) = (
    Layout {
        subject: &[Name::Number("sender")],
        values: &[
            ("duration_ns", Rule::Sum),
            ("rtt_ns", Rule::Quantile(500)),
            ("received", Rule::Sum),
            ("bytes", Rule::Sum),
            ("repairs", Rule::Sum),
            ("lost", Rule::Sum),
            ("recovered", Rule::Sum),
            ("retransmitted", Rule::Sum),
            ("overtaken", Rule::Sum),
            ("elsewhere", Rule::Sum),
            ("unrepaired", Rule::Sum),
            ("late", Rule::Sum),
            ("duplicates", Rule::Sum),
            ("rejected", Rule::Sum),
            ("asked", Rule::Sum),
            ("socket_drops", Rule::Sum),
            ("cpu_ns", Rule::Sum),
        ],
    },
    MOST_MEDIA_SECONDS,
);

pub(super) const FRAMES: (Layout, u64) = (
    Layout {
        subject: &[],
        values: &[
            ("duration_ns", Rule::Sum),
            ("frames", Rule::Sum),
            ("damaged", Rule::Sum),
            ("lost", Rule::Sum),
            ("dropped", Rule::Sum),
            ("verified", Rule::Sum),
            ("unequal", Rule::Sum),
            ("budget_ns", Rule::Quantile(500)),
            ("delay_count", Rule::Sum),
            ("delay_min_ns", Rule::Smallest),
            ("delay_p50_ns", Rule::Quantile(500)),
            ("delay_p90_ns", Rule::Quantile(500)),
            ("delay_p99_ns", Rule::Quantile(500)),
            ("delay_p999_ns", Rule::Quantile(500)),
            ("delay_max_ns", Rule::Largest),
            ("used_count", Rule::Sum),
            ("used_min_ns", Rule::Smallest),
            ("used_p50_ns", Rule::Quantile(500)),
            ("used_p90_ns", Rule::Quantile(500)),
            ("used_p99_ns", Rule::Quantile(500)),
            ("used_p999_ns", Rule::Quantile(500)),
            ("used_max_ns", Rule::Largest),
        ],
    },
    MOST_MEDIA_SECONDS,
);

pub(super) const REQUESTS: (Layout, u64) = (
    Layout {
        subject: &[Name::Word("kind")],
        values: &[
            ("duration_ns", Rule::Sum),
            ("requests", Rule::Sum),
            ("failed", Rule::Sum),
            ("body_bytes", Rule::Sum),
            ("all_bytes", Rule::Sum),
            ("connections", Rule::Sum),
            ("first_byte_p50_ns", Rule::Quantile(500)),
            ("first_byte_p90_ns", Rule::Quantile(500)),
            ("first_byte_p99_ns", Rule::Quantile(500)),
            ("first_byte_max_ns", Rule::Largest),
            ("last_byte_min_ns", Rule::Smallest),
            ("last_byte_p50_ns", Rule::Quantile(500)),
            ("last_byte_p90_ns", Rule::Quantile(500)),
            ("last_byte_p99_ns", Rule::Quantile(500)),
            ("last_byte_p999_ns", Rule::Quantile(500)),
            ("last_byte_max_ns", Rule::Largest),
        ],
    },
    MOST_LOAD_SECONDS,
);

pub(super) const VIEWERS: (Layout, u64) = (
    Layout {
        subject: &[],
        values: &[
            ("duration_ns", Rule::Sum),
            ("viewers", Rule::Largest),
            ("arrivals", Rule::Sum),
            ("sessions", Rule::Sum),
            ("gave_up", Rule::Sum),
            ("played_ns", Rule::Sum),
            ("stalls", Rule::Sum),
            ("stalled_ns", Rule::Sum),
            ("switches", Rule::Sum),
            ("startup_count", Rule::Sum),
            ("startup_p50_ns", Rule::Quantile(500)),
            ("startup_p99_ns", Rule::Quantile(500)),
            ("schedule_error_count", Rule::Sum),
            ("schedule_error_p99_ns", Rule::Quantile(500)),
            ("cpu_ns", Rule::Sum),
        ],
    },
    MOST_LOAD_SECONDS,
);

/// The series of a table of seconds, of the table's name, with at most so many bins.
pub(super) fn series(
    source: Source<'_>,
    table: Table,
    rows: u64,
    (layout, most): (Layout, u64),
) -> Result<Named, StoreError> {
    let bin_ns = bins_of_at_most(most, source, table, rows)?;
    let columns = table.columns();
    let place = |name: &str| columns.iter().position(|column| column == name);
    let places: Vec<Option<usize>> = layout.values.iter().map(|(name, _)| place(name)).collect();
    let (ended, lasted) = (place("unix_ns"), place("duration_ns"));
    let (mut row, mut cells) = (Vec::new(), Vec::new());
    let series = Binner::read(source, table, layout, bin_ns, |binner, record| {
        row.clear();
        record.put(&mut row);
        let count = |place: Option<usize>| match place.and_then(|place| row.get(place)) {
            Some(Value::Integer(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
        cells.clear();
        cells.extend(
            places
                .iter()
                .map(|place| Cell::from(place.and_then(|place| row.get(place)))),
        );
        let began = source.began(count(ended).unwrap_or(0), count(lasted).unwrap_or(SECOND_NS));
        binner.add(subject(&record), began, &cells);
    })?;
    Ok(series.map(|series| (table.name(), series)))
}

/// Whom a row is about.
fn subject(record: &Record) -> (&'static str, u16) {
    match record {
        Record::StreamSecond(direction, _)
        | Record::SenderSecond(direction, _)
        | Record::LinkSecond(direction, _) => (direction.as_str(), 0),
        Record::HostSecond(row) => (row.side.as_str(), 0),
        Record::RecvSecond(row) => ("", row.sender),
        Record::LoadSecond(row) => {
            let known = KINDS.into_iter().find(|known| *known == row.kind);
            (known.unwrap_or("other"), 0)
        }
        _ => ("", 0),
    }
}

/// The bins that a table of seconds needs where it may have `most`; none where every row has an entry of its own.
fn bins_of_at_most(
    most: u64,
    source: Source<'_>,
    table: Table,
    rows: u64,
) -> Result<Option<u64>, StoreError> {
    if rows <= most {
        return Ok(None);
    }
    // Rows are seconds, so that shorter bins would be too many: they need not be counted.
    let least = rows.div_ceil(most);
    shortest(source, table, Subjects::Each, least, most).map(Some)
}
