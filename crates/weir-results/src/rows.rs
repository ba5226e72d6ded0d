//! Between a [`Record`] and a row of its table: which field is which column, and their order. It does not know files or
//! runs.

use rusqlite::Row;
use rusqlite::types::Value;

use crate::cells::{Cell, Cells};
use crate::record::{
    Direction, FlowBurst, FlowChange, FlowSecond, FrameSecond, HostSecond, LinkSecond, LoadFailure,
    LoadHistogram, LoadMetric, LoadSecond, LossWindow, MediaEvent, MtuProbe, Record, RecvSecond, RttPacket,
    SendSecond, SenderSecond, Silence, StreamBurst, StreamSecond, TcpSecond, ViewerSecond,
};
use crate::table::Table;

/// Appends the parameters of [`Table::insert_sql`] for this record.
pub(crate) fn to_values(run_id: i64, record: &Record, values: &mut Vec<Value>) {
    values.push(Value::Integer(run_id));
    let mut directed = |direction: &Direction, row: &dyn PutRow| {
        direction.put(values);
        row.put_row(values);
    };
    match record {
        Record::StreamSecond(direction, row) => directed(direction, row),
        Record::FlowSecond(direction, row) => directed(direction, row),
        Record::StreamBurst(direction, row) => directed(direction, row),
        Record::FlowBurst(direction, row) => directed(direction, row),
        Record::Silence(direction, row) => directed(direction, row),
        Record::LossWindow(direction, row) => directed(direction, row),
        Record::SenderSecond(direction, row) => directed(direction, row),
        Record::TcpSecond(direction, row) => directed(direction, row),
        Record::MtuProbe(direction, row) => directed(direction, row),
        Record::LinkSecond(direction, row) => directed(direction, row),
        Record::RttPacket(row) => row.put_row(values),
        Record::HostSecond(row) => row.put_row(values),
        Record::SendSecond(row) => row.put_row(values),
        Record::RecvSecond(row) => row.put_row(values),
        Record::FrameSecond(row) => row.put_row(values),
        Record::FlowChange(row) => row.put_row(values),
        Record::MediaEvent(row) => row.put_row(values),
        Record::LoadSecond(row) => row.put_row(values),
        Record::LoadFailure(row) => row.put_row(values),
        Record::ViewerSecond(row) => row.put_row(values),
        Record::LoadMetric(row) => row.put_row(values),
        Record::LoadHistogram(row) => row.put_row(values),
    }
}

/// Reads one row of [`Table::select_sql`].
pub(crate) fn from_row(table: Table, row: &Row<'_>) -> rusqlite::Result<Record> {
    let cells = &mut Cells::new(row);
    Ok(match table {
        Table::RttPackets => Record::RttPacket(RttPacket::take_row(cells)?),
        Table::HostSeconds => Record::HostSecond(HostSecond::take_row(cells)?),
        Table::SendSeconds => Record::SendSecond(SendSecond::take_row(cells)?),
        Table::RecvSeconds => Record::RecvSecond(RecvSecond::take_row(cells)?),
        Table::FrameSeconds => Record::FrameSecond(FrameSecond::take_row(cells)?),
        Table::FlowChanges => Record::FlowChange(FlowChange::take_row(cells)?),
        Table::MediaEvents => Record::MediaEvent(MediaEvent::take_row(cells)?),
        Table::LoadSeconds => Record::LoadSecond(LoadSecond::take_row(cells)?),
        Table::LoadFailures => Record::LoadFailure(LoadFailure::take_row(cells)?),
        Table::ViewerSeconds => Record::ViewerSecond(ViewerSecond::take_row(cells)?),
        Table::LoadMetrics => Record::LoadMetric(LoadMetric::take_row(cells)?),
        Table::LoadHistograms => Record::LoadHistogram(LoadHistogram::take_row(cells)?),
        Table::StreamSeconds => Record::StreamSecond(Direction::take(cells)?, StreamSecond::take_row(cells)?),
        Table::FlowSeconds => Record::FlowSecond(Direction::take(cells)?, FlowSecond::take_row(cells)?),
        Table::StreamBursts => Record::StreamBurst(Direction::take(cells)?, StreamBurst::take_row(cells)?),
        Table::FlowBursts => Record::FlowBurst(Direction::take(cells)?, FlowBurst::take_row(cells)?),
        Table::Silences => Record::Silence(Direction::take(cells)?, Silence::take_row(cells)?),
        Table::LossWindows => Record::LossWindow(Direction::take(cells)?, LossWindow::take_row(cells)?),
        Table::SenderSeconds => Record::SenderSecond(Direction::take(cells)?, SenderSecond::take_row(cells)?),
        Table::TcpSeconds => Record::TcpSecond(Direction::take(cells)?, TcpSecond::take_row(cells)?),
        Table::MtuProbes => Record::MtuProbe(Direction::take(cells)?, MtuProbe::take_row(cells)?),
        Table::LinkSeconds => Record::LinkSecond(Direction::take(cells)?, LinkSecond::take_row(cells)?),
    })
}

trait PutRow {
    fn put_row(&self, values: &mut Vec<Value>);
}

/// Ties the fields of a record to columns, one line each: field, then its column or columns.
macro_rules! row {
    ($record:ident { $first:ident: $column:expr $(, $field:ident: $columns:expr)* $(,)? }) => {
        impl $record {
            pub(crate) const COLUMNS: &'static str = concat!($column $(, ", ", $columns)*);

            fn take_row(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
                // Struct fields are evaluated in the order written here, which is that of the columns.
                Ok($record { $first: Cell::take(cells)? $(, $field: Cell::take(cells)?)* })
            }
        }

        impl PutRow for $record {
            fn put_row(&self, values: &mut Vec<Value>) {
                self.$first.put(values);
                $(self.$field.put(values);)*
            }
        }
    };
}

/// The columns of a [`Quantiles`] field.
macro_rules! quantiles {
    ($name:literal) => {
        concat!(
            $name,
            "_count, ",
            $name,
            "_min_ns, ",
            $name,
            "_p50_ns, ",
            $name,
            "_p90_ns, ",
            $name,
            "_p99_ns, ",
            $name,
            "_p999_ns, ",
            $name,
            "_max_ns"
        )
    };
}

row!(RttPacket {
    sequence: "sequence",
    window: "window",
    position: "position",
    window_size: "window_size",
    length: "length",
    sent_unix_ns: "sent_unix_ns",
    rtt_ns: "rtt_ns",
    network_rtt_ns: "network_rtt_ns",
    owd_forward_ns: "owd_forward_ns",
    owd_reverse_ns: "owd_reverse_ns",
    delta_ttl: "delta_ttl",
    lost: "lost",
    duplicates: "duplicates",
});

row!(StreamSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    received: "received",
    bytes: "bytes",
    lost: "lost",
    late: "late",
    duplicates: "duplicates",
    reordered: "reordered",
    rejected: "rejected",
    owd: quantiles!("owd"),
});

row!(FlowSecond {
    unix_ns: "unix_ns",
    flow: "flow",
    port: "port",
    received: "received",
    bytes: "bytes",
    lost: "lost",
    late: "late",
    duplicates: "duplicates",
    reversals: "reversals",
    sequence_breaks: "sequence_breaks",
    bursts: "bursts",
    longest_burst: "longest_burst",
    socket_drops: "socket_drops",
    owd: quantiles!("owd"),
});

row!(StreamBurst {
    unix_ns: "unix_ns",
    first_sequence: "first_sequence",
    length: "length_packets"
});

row!(FlowBurst {
    unix_ns: "unix_ns",
    flow: "flow",
    port: "port",
    first_sequence: "first_sequence",
    length: "length_packets",
    received_before: "received_before",
    bytes_before: "bytes_before",
    bursts_before: "bursts_before",
});

row!(Silence {
    unix_ns: "unix_ns",
    flow: "flow",
    duration_ns: "duration_ns"
});

row!(LossWindow {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    lost: "lost",
    flows_losing: "flows_losing",
    flows: "flows",
});

row!(SenderSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    sent: "sent",
    bytes: "bytes",
    sends: "sends",
    refused: "refused",
    schedule_error: quantiles!("schedule_error"),
    cpu_ns: "cpu_ns",
});

row!(HostSecond {
    unix_ns: "unix_ns",
    side: "side",
    udp_rcvbuf_errors: "udp_rcvbuf_errors",
    udp_in_errors: "udp_in_errors",
    udp_sndbuf_errors: "udp_sndbuf_errors",
    softnet_dropped: "softnet_dropped",
    softnet_squeezed: "softnet_squeezed",
    interface_rx_dropped: "interface_rx_dropped",
    interface_tx_dropped: "interface_tx_dropped",
    cpu_busy: "cpu_busy_cores",
    cpu_steal: "cpu_steal_cores",
    cpu_weir: "cpu_weir_cores",
    memory_bytes: "memory_bytes",
});

row!(TcpSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    streams: "streams",
    stream: "stream",
    bytes: "bytes",
    retransmits: "retransmits",
    rtt_ns: "rtt_ns",
    cwnd_bytes: "cwnd_bytes",
    congestion_control: "congestion_control",
});

row!(MtuProbe {
    unix_ns: "unix_ns",
    size: "size",
    acknowledged: "acknowledged",
    refused_locally: "refused_locally",
});

row!(LinkSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    offered: "offered",
    offered_bytes: "offered_bytes",
    delivered: "delivered",
    delivered_bytes: "delivered_bytes",
    dropped_too_big: "dropped_too_big",
    dropped_long_packet: "dropped_long_packet",
    dropped_flow_rate: "dropped_flow_rate",
    dropped_packet_rate: "dropped_packet_rate",
    dropped_extra_flow: "dropped_extra_flow",
    dropped_dark: "dropped_dark",
    dropped_loss: "dropped_loss",
    dropped_queue: "dropped_queue",
    duplicated: "duplicated",
    corrupted: "corrupted",
    own_losses: "own_losses",
    most_queued_bytes: "most_queued_bytes",
    lateness: quantiles!("lateness"),
    cpu_ns: "cpu_ns",
});

row!(SendSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    receiver_rtt_ns: "receiver_rtt_ns",
    frames: "frames",
    frames_skipped: "frames_skipped",
    sources: "sources",
    bytes: "bytes",
    repairs: "repairs",
    retransmitted: "retransmitted",
    trials: "trials",
    refused: "refused",
    unsent: "unsent",
    rejected: "rejected",
    fec_sources: "fec_sources",
    fec_window: "fec_window",
    cpu_ns: "cpu_ns",
});

row!(RecvSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    sender: "sender",
    rtt_ns: "rtt_ns",
    received: "received",
    bytes: "bytes",
    repairs: "repairs",
    lost: "lost",
    recovered: "recovered",
    retransmitted: "retransmitted",
    overtaken: "overtaken",
    elsewhere: "elsewhere",
    unrepaired: "unrepaired",
    late: "late",
    duplicates: "duplicates",
    rejected: "rejected",
    asked: "asked",
    socket_drops: "socket_drops",
    cpu_ns: "cpu_ns",
});

row!(FrameSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    frames: "frames",
    damaged: "damaged",
    lost: "lost",
    dropped: "dropped",
    verified: "verified",
    unequal: "unequal",
    budget_ns: "budget_ns",
    delay: quantiles!("delay"),
    used: quantiles!("used"),
});

row!(FlowChange {
    unix_ns: "unix_ns",
    sender: "sender",
    flow: "flow",
    state: "state",
});

row!(MediaEvent {
    unix_ns: "unix_ns",
    sender: "sender",
    event: "event",
    detail: "detail",
});

row!(LoadSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    kind: "kind",
    requests: "requests",
    failed: "failed",
    body_bytes: "body_bytes",
    all_bytes: "all_bytes",
    connections: "connections",
    first_byte: quantiles!("first_byte"),
    last_byte: quantiles!("last_byte"),
});

row!(LoadFailure {
    unix_ns: "unix_ns",
    kind: "kind",
    cause: "cause",
    count: "count",
});

row!(ViewerSecond {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    viewers: "viewers",
    arrivals: "arrivals",
    sessions: "sessions",
    gave_up: "gave_up",
    played_ns: "played_ns",
    stalls: "stalls",
    stalled_ns: "stalled_ns",
    switches: "switches",
    startup: quantiles!("startup"),
    schedule_error: quantiles!("schedule_error"),
    cpu_ns: "cpu_ns",
});

row!(LoadMetric {
    unix_ns: "unix_ns",
    source: "source",
    name: "name",
    value: "value",
});

row!(LoadHistogram {
    unix_ns: "unix_ns",
    duration_ns: "duration_ns",
    kind: "kind",
    time: "time",
    count: "count",
    min_ns: "min_ns",
    max_ns: "max_ns",
    sum_ns: "sum_ns",
    buckets: "buckets",
});
