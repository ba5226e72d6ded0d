//! What streams, hosts, links, media and load did, second by second: which columns of each table are drawn, and how the values
//! of several rows become one. It must not know of single flows and events.

use weir_results::{StoreError, Subjects, Table};

use super::bins::{Binner, Layout, Name, Rule, shortest};
use super::columns::Columns;
use super::limits::{MOST_LOAD_SECONDS, MOST_MEDIA_SECONDS, MOST_SECONDS};
use super::{DIRECTIONS, Named, Source};

/// Kinds of requests; what another Weir may call another name is `other`.
const KINDS: [&str; 6] = ["manifest", "init", "audio", "video", "subtitle", "key"];

const STREAM: Layout = Layout {
    subject: &[Name::Word("direction", &DIRECTIONS)],
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
};

const SENDER: Layout = Layout {
    subject: &[Name::Word("direction", &DIRECTIONS)],
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
};

const HOST: Layout = Layout {
    subject: &[Name::Word("side", &["local", "remote"])],
    values: &[
        ("udp_rcvbuf_errors", Rule::Sum),
        ("udp_in_errors", Rule::Sum),
        ("udp_sndbuf_errors", Rule::Sum),
        ("softnet_dropped", Rule::Sum),
        ("softnet_squeezed", Rule::Sum),
        ("interface_rx_dropped", Rule::Sum),
        ("interface_tx_dropped", Rule::Sum),
        ("qdisc_dropped", Rule::Sum),
        ("driver_rx_dropped", Rule::Sum),
        ("driver_tx_dropped", Rule::Sum),
        ("driver_rx_ring_empty", Rule::Sum),
        ("bw_in_allowance_exceeded", Rule::Sum),
        ("bw_out_allowance_exceeded", Rule::Sum),
        ("pps_allowance_exceeded", Rule::Sum),
        ("conntrack_allowance_exceeded", Rule::Sum),
        ("linklocal_allowance_exceeded", Rule::Sum),
        ("cpu_busy_cores", Rule::Mean),
        ("cpu_steal_cores", Rule::Mean),
        ("cpu_weir_cores", Rule::Mean),
        ("cpu_softirq_cores", Rule::Mean),
        ("cpu_softirq_most_cores", Rule::Mean),
        ("memory_bytes", Rule::Largest),
    ],
};

const LINK: Layout = Layout {
    subject: &[Name::Word("direction", &DIRECTIONS)],
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
};

const SEND: Layout = Layout {
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
};

const RECV: Layout = Layout {
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
};

const FRAMES: Layout = Layout {
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
};

const REQUESTS: Layout = Layout {
    subject: &[Name::Word("kind", &KINDS)],
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
};

const VIEWERS: Layout = Layout {
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
};

/// The layout of a table of seconds, and the most bins that it may have; none for another table.
fn layout(table: Table) -> Option<(Layout, u64)> {
    Some(match table {
        Table::StreamSeconds => (STREAM, MOST_SECONDS),
        Table::SenderSeconds => (SENDER, MOST_SECONDS),
        Table::HostSeconds => (HOST, MOST_SECONDS),
        Table::LinkSeconds => (LINK, MOST_SECONDS),
        Table::SendSeconds => (SEND, MOST_MEDIA_SECONDS),
        Table::RecvSeconds => (RECV, MOST_MEDIA_SECONDS),
        Table::FrameSeconds => (FRAMES, MOST_MEDIA_SECONDS),
        Table::LoadSeconds => (REQUESTS, MOST_LOAD_SECONDS),
        Table::ViewerSeconds => (VIEWERS, MOST_LOAD_SECONDS),
        _ => return None,
    })
}

/// The series of a table of seconds, which has its name; none for another table.
pub(super) fn series(source: Source<'_>, table: Table, rows: u64) -> Result<Named, StoreError> {
    let Some((layout, most)) = layout(table) else {
        return Ok(None);
    };
    let bin_ns = if rows <= most {
        None
    } else {
        // Rows are seconds, so that shorter bins would be too many: they need not be counted.
        let least = rows.div_ceil(most);
        Some(shortest(source, table, Subjects::Each, least, most)?)
    };
    let mut columns = Columns::of(table, layout);
    let series = Binner::read(source, table, layout, bin_ns, |binner, record| {
        columns.add(source, binner, &record);
    })?;
    Ok(series.map(|series| (table.name(), series)))
}
