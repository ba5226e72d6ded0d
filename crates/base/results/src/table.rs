//! The tables of records, each declared once, and the statements that read and write them. It knows names and order of
//! columns, not the content of a row.

use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

use crate::cells::{Cell, Cells};
use crate::error::StoreError;
use crate::record::*;
use crate::rows::Merge;
use crate::sides::Direction;

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
            fn columns(self) -> Vec<String> {
                let mut columns = Vec::new();
                match self {
                    $(Table::$table => {
                        $($Direction::columns(stringify!($direction), &mut columns);)?
                        $record::columns("", &mut columns);
                    })*
                }
                columns
            }

            /// The subject of a row, besides the run: columns that come first in [`Table::select_by_time_sql`].
            fn subject(self) -> &'static str {
                match self {
                    $(Table::$table => concat!($(stringify!($direction), ", ",)? $($subject, ", ",)?),)*
                }
            }

            /// Whether its rows may be merged with others of the same subject, since they sum up a period.
            pub(crate) fn merges(self) -> bool {
                match self {
                    $(Table::$table => $record::MERGES,)*
                }
            }

            /// Start time of a row, as SQL: Unix nanoseconds.
            pub(crate) fn began_sql(self) -> &'static str {
                match self {
                    $(Table::$table => concat!("(", $began, ")"),)*
                }
            }
        }

        impl Record {
            /// Appends the parameters of [`Table::insert_sql`] after the run.
            pub(crate) fn put(&self, values: &mut Vec<Value>) {
                match self {
                    $(Record::$record($($direction,)? row) => {
                        $($direction.put(values);)?
                        row.put(values);
                    })*
                }
            }

            /// Reads one row of [`Table::select_sql`].
            pub(crate) fn take(table: Table, row: &Row<'_>) -> rusqlite::Result<Record> {
                let cells = &mut Cells::new(row);
                Ok(match table {
                    $(Table::$table => Record::$record($($Direction::take(cells)?,)? $record::take(cells)?),)*
                })
            }

            /// What two records of a table must have in common to be merged.
            pub(crate) fn subject(&self) -> String {
                match self {
                    $(Record::$record($($direction,)? row) => row.subject() $(+ $direction.as_str())?,)*
                }
            }

            /// Adds a record of the same subject to this one, into which `parts` were merged so far.
            pub(crate) fn merge(&mut self, record: &Record, parts: u32) {
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
}

impl Table {
    /// The statement that adds a row; its parameters are the run and those of [`Record::put`].
    pub(crate) fn insert_sql(self) -> String {
        let columns = self.columns();
        let (names, places) = (columns.join(", "), ", ?".repeat(columns.len()));
        format!("INSERT INTO {self} (run_id, {names}) VALUES (?{places})")
    }

    /// The statement that reads a run's rows for [`Record::take`], in the order in which they were stored. A run's rows
    /// are contiguous: a scan by primary key reads them in order, while the index by run would make SQLite sort them all
    /// first.
    pub(crate) fn select_sql(self) -> String {
        let table = self.name();
        format!(
            "SELECT {} FROM {table} NOT INDEXED
             WHERE run_id = ?1
               AND id >= (SELECT min(id) FROM {table} WHERE run_id = ?1)
               AND id <= (SELECT max(id) FROM {table} WHERE run_id = ?1)
             ORDER BY id",
            self.columns().join(", "),
        )
    }

    /// Like [`Table::select_sql`], by subject and then by start time.
    pub(crate) fn select_by_time_sql(self) -> String {
        format!(
            "SELECT {} FROM {} WHERE run_id = ?1 ORDER BY {}{}, id",
            self.columns().join(", "),
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

    /// The statement that counts the subjects, and the maximum number of rows of one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::MeshTest;
    use crate::schema::SCHEMA;

    #[test]
    fn the_declarations_have_the_columns_of_the_schema() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let columns_of = |table: &str| -> Vec<String> {
            let statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            statement.column_names().into_iter().map(str::to_owned).collect()
        };
        for table in Table::ALL {
            let columns = columns_of(table.name());
            assert_eq!(columns[..2], ["id", "run_id"], "{table}");
            assert_eq!(columns[2..], table.columns(), "{table}");
        }
        let mut stored = columns_of("mesh_tests");
        let mut declared = ["id", "run_id", "outcome"].map(str::to_owned).to_vec();
        MeshTest::columns("", &mut declared);
        stored.sort();
        declared.sort();
        assert_eq!(stored, declared);
    }

    #[test]
    fn the_documentation_lists_the_tables_whose_rows_are_merged() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/database.md");
        let page = std::fs::read_to_string(page).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let (merged, events): (Vec<Table>, Vec<Table>) =
            Table::ALL.into_iter().partition(|table| table.merges());
        for (before, tables) in [("sum up a second", merged), ("single events", events)] {
            let names: Vec<String> = tables.iter().map(|table| format!("`{table}`")).collect();
            let list = format!("{before} ({})", names.join(", "));
            assert!(page.contains(&list), "the page has no '{list}'");
        }
    }
}
