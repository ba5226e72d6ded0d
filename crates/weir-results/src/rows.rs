//! Between a [`Record`] and a row of its table. It knows columns and their order, not files or runs.

use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Value;

use crate::error::StoreError;
use crate::record::{
    Direction, FlowBurst, FlowSecond, HostSecond, LinkSecond, LossWindow, MtuProbe, Quantiles, Record,
    RttPacket, SenderSecond, Side, Silence, StreamBurst, StreamSecond, TcpSecond,
};

/// A table of records; every kind of [`Record`] has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One packet of a windowed RTT test.
    RttPackets,
    /// A second of the whole stream.
    StreamSeconds,
    /// A second of one flow.
    FlowSeconds,
    /// Consecutive lost packets of the stream.
    StreamBursts,
    /// Consecutive lost packets of a flow.
    FlowBursts,
    /// A flow that delivered nothing while others did.
    Silences,
    /// A short window with loss, and on which flows.
    LossWindows,
    /// A second of the sender.
    SenderSeconds,
    /// A second of a host's counters.
    HostSeconds,
    /// A second of a TCP connection.
    TcpSeconds,
    /// A probe of the path MTU search.
    MtuProbes,
    /// A second of one direction of an emulated link.
    LinkSeconds,
}

impl Table {
    /// All tables of records, in the order in which exports give them.
    pub const ALL: [Table; 12] = [
        Table::RttPackets,
        Table::StreamSeconds,
        Table::FlowSeconds,
        Table::StreamBursts,
        Table::FlowBursts,
        Table::Silences,
        Table::LossWindows,
        Table::SenderSeconds,
        Table::HostSeconds,
        Table::TcpSeconds,
        Table::MtuProbes,
        Table::LinkSeconds,
    ];

    /// The table's name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Table::RttPackets => "rtt_packets",
            Table::StreamSeconds => "stream_seconds",
            Table::FlowSeconds => "flow_seconds",
            Table::StreamBursts => "stream_bursts",
            Table::FlowBursts => "flow_bursts",
            Table::Silences => "silences",
            Table::LossWindows => "loss_windows",
            Table::SenderSeconds => "sender_seconds",
            Table::HostSeconds => "host_seconds",
            Table::TcpSeconds => "tcp_seconds",
            Table::MtuProbes => "mtu_probes",
            Table::LinkSeconds => "link_seconds",
        }
    }

    /// The table that keeps this record.
    pub fn of(record: &Record) -> Table {
        match record {
            Record::RttPacket(..) => Table::RttPackets,
            Record::StreamSecond(..) => Table::StreamSeconds,
            Record::FlowSecond(..) => Table::FlowSeconds,
            Record::StreamBurst(..) => Table::StreamBursts,
            Record::FlowBurst(..) => Table::FlowBursts,
            Record::Silence(..) => Table::Silences,
            Record::LossWindow(..) => Table::LossWindows,
            Record::SenderSecond(..) => Table::SenderSeconds,
            Record::HostSecond(..) => Table::HostSeconds,
            Record::TcpSecond(..) => Table::TcpSeconds,
            Record::MtuProbe(..) => Table::MtuProbes,
            Record::LinkSecond(..) => Table::LinkSeconds,
        }
    }

    /// Columns after `id` and `run_id`, comma separated, in the order of the record's fields.
    fn columns(self) -> (bool, &'static str) {
        match self {
            Table::RttPackets => (false, RttPacket::COLUMNS),
            Table::StreamSeconds => (true, StreamSecond::COLUMNS),
            Table::FlowSeconds => (true, FlowSecond::COLUMNS),
            Table::StreamBursts => (true, StreamBurst::COLUMNS),
            Table::FlowBursts => (true, FlowBurst::COLUMNS),
            Table::Silences => (true, Silence::COLUMNS),
            Table::LossWindows => (true, LossWindow::COLUMNS),
            Table::SenderSeconds => (true, SenderSecond::COLUMNS),
            Table::HostSeconds => (false, HostSecond::COLUMNS),
            Table::TcpSeconds => (true, TcpSecond::COLUMNS),
            Table::MtuProbes => (true, MtuProbe::COLUMNS),
            Table::LinkSeconds => (true, LinkSecond::COLUMNS),
        }
    }

    fn column_list(self) -> String {
        let (directed, columns) = self.columns();
        if directed {
            format!("direction, {columns}")
        } else {
            columns.to_string()
        }
    }

    /// The statement that adds a row; its parameters are those of [`to_values`].
    pub(crate) fn insert_sql(self) -> String {
        let columns = self.column_list();
        let places = ", ?".repeat(columns.split(',').count());
        format!(
            "INSERT INTO {} (run_id, {columns}) VALUES (?{places})",
            self.name()
        )
    }

    /// The statement that reads a run's rows for [`from_row`], in the order in which they were stored. A run's rows
    /// lie together: the way by their numbers reads them one after the other, where the index by run would have
    /// SQLite sort them all first.
    pub(crate) fn select_sql(self) -> String {
        let table = self.name();
        format!(
            "SELECT {} FROM {table} NOT INDEXED
             WHERE run_id = ?1
               AND id >= (SELECT min(id) FROM {table} WHERE run_id = ?1)
               AND id <= (SELECT max(id) FROM {table} WHERE run_id = ?1)
             ORDER BY id",
            self.column_list(),
        )
    }

    /// Who a row is about, beside the run: columns that come first in [`Table::select_by_time_sql`].
    fn subject(self) -> &'static str {
        match self {
            Table::RttPackets => "",
            Table::FlowSeconds | Table::FlowBursts | Table::Silences => "direction, flow, ",
            Table::HostSeconds => "side, ",
            Table::TcpSeconds => "direction, streams, stream, ",
            Table::StreamSeconds
            | Table::StreamBursts
            | Table::LossWindows
            | Table::SenderSeconds
            | Table::MtuProbes
            | Table::LinkSeconds => "direction, ",
        }
    }

    /// When what a row tells of began, as SQL: Unix nanoseconds.
    pub(crate) fn began_sql(self) -> &'static str {
        match self {
            Table::RttPackets => "sent_unix_ns",
            Table::StreamSeconds | Table::SenderSeconds | Table::TcpSeconds | Table::LinkSeconds => {
                "(unix_ns - duration_ns)"
            }
            Table::FlowSeconds | Table::HostSeconds => "(unix_ns - 1000000000)",
            Table::StreamBursts
            | Table::FlowBursts
            | Table::Silences
            | Table::LossWindows
            | Table::MtuProbes => "unix_ns",
        }
    }

    /// Like [`Table::select_sql`], by whom the rows are about and then by when that began.
    pub(crate) fn select_by_time_sql(self) -> String {
        format!(
            "SELECT {} FROM {} WHERE run_id = ?1 ORDER BY {}{}, id",
            self.column_list(),
            self.name(),
            self.subject(),
            self.began_sql(),
        )
    }

    /// The statement that counts bins of ?3 ns, from ?2 on, that have rows; with `by_subject`, each subject's own.
    pub(crate) fn count_bins_sql(self, by_subject: bool) -> String {
        let began = format!("({} - ?2)", self.began_sql());
        // SQLite divides towards zero; bins before the start have negative numbers.
        format!(
            "SELECT count(*) FROM (
                 SELECT DISTINCT {}({began} - (({began} % ?3) + ?3) % ?3) / ?3 FROM {} WHERE run_id = ?1
             )",
            if by_subject { self.subject() } else { "" },
            self.name(),
        )
    }

    /// The statement that counts the subjects, and the rows of the one that has most.
    pub(crate) fn count_subjects_sql(self) -> String {
        format!(
            "SELECT count(*), coalesce(max(n), 0) FROM (
                 SELECT count(*) AS n FROM {} WHERE run_id = ?1 GROUP BY {}run_id
             )",
            self.name(),
            self.subject(),
        )
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Table {
    type Err = StoreError;

    fn from_str(name: &str) -> Result<Table, StoreError> {
        Table::ALL
            .into_iter()
            .find(|table| table.name() == name)
            .ok_or_else(|| StoreError::UnknownTable {
                name: name.to_string(),
                known: Table::ALL.map(Table::name).join(", "),
            })
    }
}

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
    }
}

/// Reads one row of [`Table::select_sql`].
pub(crate) fn from_row(table: Table, row: &Row<'_>) -> rusqlite::Result<Record> {
    let cells = &mut Cells { row, next: 0 };
    Ok(match table {
        Table::RttPackets => Record::RttPacket(RttPacket::take_row(cells)?),
        Table::HostSeconds => Record::HostSecond(HostSecond::take_row(cells)?),
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

/// Walks the columns of a row from left to right.
struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Cells<'_> {
    fn get<T: rusqlite::types::FromSql>(&mut self) -> rusqlite::Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }

    /// Whether the next cell is this word; compares where it lies, since a long run has millions of them.
    fn is(&mut self, word: &str) -> rusqlite::Result<bool> {
        let index = self.next;
        self.next += 1;
        let cell = self.row.get_ref(index)?;
        let text = cell.as_str().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, cell.data_type(), Box::new(error))
        })?;
        Ok(text == word)
    }
}

/// A field of a record; most are one column.
trait Cell: Sized {
    fn put(&self, values: &mut Vec<Value>);
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self>;
}

trait PutRow {
    fn put_row(&self, values: &mut Vec<Value>);
}

/// Ties the fields of a record to columns, one line each: field, then its column or columns.
macro_rules! row {
    ($record:ident { $first:ident: $column:expr $(, $field:ident: $columns:expr)* $(,)? }) => {
        impl $record {
            const COLUMNS: &'static str = concat!($column $(, ", ", $columns)*);

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

/// SQLite's integers are signed: a count beyond 2^63 - 1 (only a faulty peer sends one) is stored as that
/// rather than stopping the whole run's writer.
pub(crate) fn clamped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Cell for u64 {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Integer(clamped(*self)));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

impl Cell for Option<u64> {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(self.map_or(Value::Null, |count| Value::Integer(clamped(count))));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

/// Types that SQLite holds as they are.
macro_rules! plain_cell {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn put(&self, values: &mut Vec<Value>) {
                values.push(self.clone().into());
            }
            fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
                cells.get()
            }
        }
    )*};
}
plain_cell!(u32, bool, String, Option<i64>, Option<i32>);

impl Cell for u16 {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Integer((*self).into()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

impl Cell for f64 {
    /// NULL for what is not a number: neither SQLite nor JSON has those.
    fn put(&self, values: &mut Vec<Value>) {
        values.push(if self.is_finite() {
            Value::Real(*self)
        } else {
            Value::Null
        });
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        Ok(cells.get::<Option<f64>>()?.unwrap_or(f64::NAN))
    }
}

impl Cell for Quantiles {
    /// NULL for all but the count where there were no values, so that averages in SQL leave those rows out.
    fn put(&self, values: &mut Vec<Value>) {
        self.count.put(values);
        for value in [self.min, self.p50, self.p90, self.p99, self.p999, self.max] {
            values.push(if self.count == 0 {
                Value::Null
            } else {
                Value::Integer(value)
            });
        }
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        let count = cells.get()?;
        let mut value = || Ok::<i64, rusqlite::Error>(cells.get::<Option<i64>>()?.unwrap_or_default());
        Ok(Quantiles {
            count,
            min: value()?,
            p50: value()?,
            p90: value()?,
            p99: value()?,
            p999: value()?,
            max: value()?,
        })
    }
}

impl Cell for Direction {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Text(self.as_str().to_owned()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        // The table's CHECK admits only these two.
        Ok(if cells.is("reverse")? {
            Direction::Reverse
        } else {
            Direction::Forward
        })
    }
}

impl Cell for Side {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Text(self.as_str().to_owned()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        Ok(if cells.is("remote")? {
            Side::Remote
        } else {
            Side::Local
        })
    }
}

impl Cell for Vec<u16> {
    /// A JSON array, so that SQL can take it apart with `json_each`.
    fn put(&self, values: &mut Vec<Value>) {
        let numbers: Vec<String> = self.iter().map(u16::to_string).collect();
        values.push(Value::Text(format!("[{}]", numbers.join(","))));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        let index = cells.next;
        let text: String = cells.get()?;
        serde_json::from_str(&text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
        })
    }
}
