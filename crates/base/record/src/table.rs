//! The tables of records, each declared once. It knows names and order of columns, not the content of a row.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cells::{Cell, CellError, Cells, Value};
use crate::load::*;
use crate::media::*;
use crate::population::*;
use crate::record::*;
use crate::rows::Merge;
use crate::sides::Direction;
use crate::testbed::*;

/// Declares [`Table`] and [`Record`], one entry per table: its name; the record in its rows, with the direction if it
/// has one; the further columns of the subject of a row, by which ordered reads sort first; and the start time of a row,
/// Unix nanoseconds, as SQL.
macro_rules! tables {
    ($(
        $(#[$about:meta])*
        $table:ident $name:literal: $record:ident $(($direction:ident: $Direction:ident))? $(by $subject:literal)?,
        began $began:literal;
    )*) => {
        /// A table of records; every kind of [`Record`] has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Table {
            $($(#[$about])* $table,)*
        }

        /// One record, as sent from the agent to the client and from a measurement to the store.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Record {
            $(#[doc = concat!("Table `", $name, "`.")] $record($($Direction,)? $record),)*
        }

        impl Table {
            /// All tables of records, in the order of exports.
            pub const ALL: [Table; [$($name),*].len()] = [$(Table::$table),*];

            /// The table's name in the database.
            pub fn name(self) -> &'static str {
                match self {
                    $(Table::$table => $name,)*
                }
            }

            /// The table that keeps this record.
            pub fn of(record: &Record) -> Table {
                match record {
                    $(Record::$record(..) => Table::$table,)*
                }
            }

            /// Columns after `id` and `run_id`, in the order of the record's fields.
            pub fn columns(self) -> Vec<String> {
                let mut columns = Vec::new();
                match self {
                    $(Table::$table => {
                        $($Direction::columns(stringify!($direction), &mut columns);)?
                        $record::columns("", &mut columns);
                    })*
                }
                columns
            }

            /// The subject of a row, besides the run: columns that come first in ordered reads.
            pub fn subject(self) -> &'static str {
                match self {
                    $(Table::$table => concat!($(stringify!($direction), ", ",)? $($subject, ", ",)?),)*
                }
            }

            /// Whether its rows may be merged with others of the same subject, since they sum up a period.
            pub fn merges(self) -> bool {
                match self {
                    $(Table::$table => $record::MERGES,)*
                }
            }

            /// Start time of a row, as SQL: Unix nanoseconds.
            pub fn began_sql(self) -> &'static str {
                match self {
                    $(Table::$table => concat!("(", $began, ")"),)*
                }
            }
        }

        impl Record {
            /// Appends the values of its columns.
            pub fn put(&self, values: &mut Vec<Value>) {
                match self {
                    $(Record::$record($($direction,)? row) => {
                        $($direction.put(values);)?
                        row.put(values);
                    })*
                }
            }

            /// The record of a table with these values in its columns.
            ///
            /// # Errors
            /// When they are not those of such a record.
            pub fn take(table: Table, cells: &mut dyn Cells) -> Result<Record, CellError> {
                Ok(match table {
                    $(Table::$table => Record::$record($($Direction::take(cells)?,)? $record::take(cells)?),)*
                })
            }

            /// What two records of a table must have in common to be merged.
            pub fn subject(&self) -> String {
                match self {
                    $(Record::$record($($direction,)? row) => row.subject() $(+ $direction.as_str())?,)*
                }
            }

            /// Adds a record of the same subject to this one, into which `parts` were merged so far.
            pub fn merge(&mut self, record: &Record, parts: u32) {
                match (self, record) {
                    $((Record::$record(.., sum), Record::$record(.., row)) => sum.merge(row, parts),)*
                    _ => debug_assert!(false, "records of two tables are not merged"),
                }
            }
        }
    };
}

tables! {
    /// One packet of a windowed RTT test.
    RttPackets "rtt_packets": RttPacket, began "sent_unix_ns";
    /// A second of the whole stream.
    StreamSeconds "stream_seconds": StreamSecond(direction: Direction), began "unix_ns - duration_ns";
    /// A second of one flow.
    FlowSeconds "flow_seconds": FlowSecond(direction: Direction) by "flow", began "unix_ns - 1000000000";
    /// Consecutive lost packets of the stream.
    StreamBursts "stream_bursts": StreamBurst(direction: Direction), began "unix_ns";
    /// Consecutive lost packets of a flow.
    FlowBursts "flow_bursts": FlowBurst(direction: Direction) by "flow", began "unix_ns";
    /// A silence of a flow while others delivered.
    Silences "silences": Silence(direction: Direction) by "flow", began "unix_ns";
    /// A short window with loss, and its flows.
    LossWindows "loss_windows": LossWindow(direction: Direction), began "unix_ns";
    /// A second of the sender.
    SenderSeconds "sender_seconds": SenderSecond(direction: Direction), began "unix_ns - duration_ns";
    /// A second of a host's counters.
    HostSeconds "host_seconds": HostSecond by "side", began "unix_ns - 1000000000";
    /// A second of a TCP connection.
    TcpSeconds "tcp_seconds": TcpSecond(direction: Direction) by "streams, stream", began "unix_ns - duration_ns";
    /// A probe of the path MTU search.
    MtuProbes "mtu_probes": MtuProbe(direction: Direction), began "unix_ns";
    /// A second of one direction of an emulated link.
    LinkSeconds "link_seconds": LinkSecond(direction: Direction), began "unix_ns - duration_ns";
    /// A second of a sender of media.
    SendSeconds "send_seconds": SendSecond, began "unix_ns - duration_ns";
    /// A second of a receiver of media with one of its senders.
    RecvSeconds "recv_seconds": RecvSecond by "sender", began "unix_ns - duration_ns";
    /// A second of the frames that a receiver gave out.
    FrameSeconds "frame_seconds": FrameSecond, began "unix_ns - duration_ns";
    /// A change of a sender's use of a flow.
    FlowChanges "flow_changes": FlowChange by "sender, flow", began "unix_ns";
    /// An event of a media stream.
    MediaEvents "media_events": MediaEvent, began "unix_ns";
    /// A second of requests of one kind to an origin.
    LoadSeconds "load_seconds": LoadSecond by "kind", began "unix_ns - duration_ns";
    /// Requests to an origin that failed in a second, by cause.
    LoadFailures "load_failures": LoadFailure by "kind, cause", began "unix_ns - 1000000000";
    /// A second of viewers of an origin.
    ViewerSeconds "viewer_seconds": ViewerSecond, began "unix_ns - duration_ns";
    /// A metric of an origin or a host.
    LoadMetrics "load_metrics": LoadMetric by "source, name", began "unix_ns";
    /// A distribution of times of requests to an origin.
    LoadHistograms "load_histograms": LoadHistogram by "kind, time", began "unix_ns - duration_ns";
    /// A session of a household of a population.
    HouseholdSessions "household_sessions": HouseholdSession by "household, variant", began "unix_ns";
    /// A neighbour of such a session.
    HouseholdNeighbours "household_neighbours": HouseholdNeighbour by "household, variant, neighbour", began "unix_ns";
    /// A second of a task of a testbed.
    TaskSeconds "task_seconds": TaskSecond by "task", began "unix_ns - duration_ns";
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Table, UnknownTable> {
        Table::ALL
            .into_iter()
            .find(|table| table.name() == name)
            .ok_or_else(|| UnknownTable {
                name: name.to_string(),
                known: Table::ALL.map(Table::name).join(", "),
            })
    }
}

/// No table of records has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no table of records named '{name}': the tables are {known}")]
pub struct UnknownTable {
    /// The requested name.
    pub name: String,
    /// The names that exist, comma separated.
    pub known: String,
}
