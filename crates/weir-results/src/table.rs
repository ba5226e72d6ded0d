//! The tables of records and the statements that read and write them. It knows names and order of columns, not what is
//! in a row.

use std::str::FromStr;

use crate::error::StoreError;
use crate::record::{
    FlowBurst, FlowChange, FlowSecond, FrameSecond, HostSecond, LinkSecond, LoadFailure, LoadHistogram,
    LoadMetric, LoadSecond, LossWindow, MediaEvent, MtuProbe, Record, RecvSecond, RttPacket, SendSecond,
    SenderSecond, Silence, StreamBurst, StreamSecond, TcpSecond, ViewerSecond,
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
    /// A second of a sender of media.
    SendSeconds,
    /// A second of a receiver of media with one of its senders.
    RecvSeconds,
    /// A second of the frames that a receiver gave out.
    FrameSeconds,
    /// What a sender of media does with a flow from a time on.
    FlowChanges,
    /// Something that happened while media was carried.
    MediaEvents,
    /// A second of requests of one kind to an origin.
    LoadSeconds,
    /// Requests to an origin that failed in a second, by cause.
    LoadFailures,
    /// A second of viewers of an origin.
    ViewerSeconds,
    /// A value that an origin or a host told of itself.
    LoadMetrics,
    /// A distribution of times of requests to an origin.
    LoadHistograms,
}

impl Table {
    /// All tables of records, in the order in which exports give them.
    pub const ALL: [Table; 22] = [
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
        Table::SendSeconds,
        Table::RecvSeconds,
        Table::FrameSeconds,
        Table::FlowChanges,
        Table::MediaEvents,
        Table::LoadSeconds,
        Table::LoadFailures,
        Table::ViewerSeconds,
        Table::LoadMetrics,
        Table::LoadHistograms,
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
            Table::SendSeconds => "send_seconds",
            Table::RecvSeconds => "recv_seconds",
            Table::FrameSeconds => "frame_seconds",
            Table::FlowChanges => "flow_changes",
            Table::MediaEvents => "media_events",
            Table::LoadSeconds => "load_seconds",
            Table::LoadFailures => "load_failures",
            Table::ViewerSeconds => "viewer_seconds",
            Table::LoadMetrics => "load_metrics",
            Table::LoadHistograms => "load_histograms",
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
            Record::SendSecond(..) => Table::SendSeconds,
            Record::RecvSecond(..) => Table::RecvSeconds,
            Record::FrameSecond(..) => Table::FrameSeconds,
            Record::FlowChange(..) => Table::FlowChanges,
            Record::MediaEvent(..) => Table::MediaEvents,
            Record::LoadSecond(..) => Table::LoadSeconds,
            Record::LoadFailure(..) => Table::LoadFailures,
            Record::ViewerSecond(..) => Table::ViewerSeconds,
            Record::LoadMetric(..) => Table::LoadMetrics,
            Record::LoadHistogram(..) => Table::LoadHistograms,
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
            Table::SendSeconds => (false, SendSecond::COLUMNS),
            Table::RecvSeconds => (false, RecvSecond::COLUMNS),
            Table::FrameSeconds => (false, FrameSecond::COLUMNS),
            Table::FlowChanges => (false, FlowChange::COLUMNS),
            Table::MediaEvents => (false, MediaEvent::COLUMNS),
            Table::LoadSeconds => (false, LoadSecond::COLUMNS),
            Table::LoadFailures => (false, LoadFailure::COLUMNS),
            Table::ViewerSeconds => (false, ViewerSecond::COLUMNS),
            Table::LoadMetrics => (false, LoadMetric::COLUMNS),
            Table::LoadHistograms => (false, LoadHistogram::COLUMNS),
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

    /// The statement that adds a row; its parameters are those of [`to_values`](crate::rows::to_values).
    pub(crate) fn insert_sql(self) -> String {
        let columns = self.column_list();
        let places = ", ?".repeat(columns.split(',').count());
        format!(
            "INSERT INTO {} (run_id, {columns}) VALUES (?{places})",
            self.name()
        )
    }

    /// The statement that reads a run's rows for [`from_row`](crate::rows::from_row), in the order in which they were stored. A run's rows
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
            Table::RttPackets
            | Table::SendSeconds
            | Table::FrameSeconds
            | Table::MediaEvents
            | Table::ViewerSeconds => "",
            Table::LoadSeconds => "kind, ",
            Table::LoadFailures => "kind, cause, ",
            Table::LoadMetrics => "source, name, ",
            Table::LoadHistograms => "kind, time, ",
            Table::FlowSeconds | Table::FlowBursts | Table::Silences => "direction, flow, ",
            Table::HostSeconds => "side, ",
            Table::TcpSeconds => "direction, streams, stream, ",
            Table::RecvSeconds => "sender, ",
            Table::FlowChanges => "sender, flow, ",
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
            Table::StreamSeconds
            | Table::SenderSeconds
            | Table::TcpSeconds
            | Table::LinkSeconds
            | Table::SendSeconds
            | Table::RecvSeconds
            | Table::FrameSeconds
            | Table::LoadSeconds
            | Table::ViewerSeconds
            | Table::LoadHistograms => "(unix_ns - duration_ns)",
            Table::FlowSeconds | Table::HostSeconds | Table::LoadFailures => "(unix_ns - 1000000000)",
            Table::StreamBursts
            | Table::FlowBursts
            | Table::Silences
            | Table::LossWindows
            | Table::MtuProbes
            | Table::FlowChanges
            | Table::MediaEvents
            | Table::LoadMetrics => "unix_ns",
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
