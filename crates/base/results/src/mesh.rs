//! Tests between two places (table `mesh_tests`): one row per test, written at its end and read across runs. It knows the
//! columns, not how a test works or what a place is.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::cells::{Cell, Cells};
use crate::error::StoreError;
use crate::rows::records;
use crate::run_id::RunId;
use crate::store::Store;

records! {
    /// One end of a test.
    pub struct MeshEnd {
        /// Cloud, in lower case; empty if the host is in none.
        cloud: String,
        /// Region of that cloud, or the name of the user's own place.
        region: String,
        /// Zone in the region; empty if unknown.
        zone: String,
        /// Name of the host; empty if unknown.
        host: String,
        /// Degrees north, where the place is known.
        latitude: Option<f64>,
        /// Degrees east, where the place is known.
        longitude: Option<f64>,
    }

    /// A test from one place to another (table `mesh_tests`). The client's host, `from`, sends; the measured traffic
    /// arrives at `to`.
    pub struct MeshTest {
        /// Start time.
        unix_ns: u64,
        /// The program that measured: `weir`, `intercloud-throughput`, `iperf3`.
        source: String,
        /// Why it failed; none if it succeeded.
        reason: Option<String>,
        /// Place of the client.
        from: MeshEnd,
        /// Place of the agent or server.
        to: MeshEnd,
        /// Great-circle distance, metres, where both places are known.
        distance_m: Option<u64>,
        /// The RTT is below the floor of light in fibre for that distance: a place is wrong.
        faster_than_light: bool,
        /// Packets that were answered; 0 if unknown.
        rtt_count: u64,
        /// Smallest RTT, nanoseconds.
        rtt_min_ns: Option<u64>,
        /// Mean RTT.
        rtt_mean_ns: Option<u64>,
        /// Median RTT.
        rtt_p50_ns: Option<u64>,
        /// 95th percentile of the RTT.
        rtt_p95_ns: Option<u64>,
        /// Largest RTT.
        rtt_max_ns: Option<u64>,
        /// Interarrival jitter of the RTT (RFC 3550, 6.4.1).
        rtt_jitter_ns: Option<u64>,
        /// TCP goodput of one connection at the receiver, bits per second.
        tcp_bps: Option<u64>,
        /// Connections side by side of the second TCP test.
        tcp_streams: Option<u64>,
        /// Their total goodput at the receiver, bits per second.
        tcp_streams_bps: Option<u64>,
        /// Their retransmitted segments, in total.
        tcp_streams_retransmits: Option<u64>,
        /// The largest congestion window of any of them, bytes.
        tcp_streams_cwnd_bytes: Option<u64>,
        /// The mean of their smoothed RTTs, nanoseconds.
        tcp_streams_rtt_ns: Option<u64>,
        /// Retransmitted segments of the one connection.
        tcp_retransmits: Option<u64>,
        /// Its largest congestion window, bytes.
        tcp_cwnd_bytes: Option<u64>,
        /// Its mean smoothed RTT, nanoseconds.
        tcp_rtt_ns: Option<u64>,
        /// Congestion control of all connections, as the kernel names it.
        congestion_control: Option<String>,
        /// Maximum send window of a socket of the sending host, bytes.
        from_window_bytes: Option<u64>,
        /// Maximum receive window of a socket of the receiving host, bytes.
        to_window_bytes: Option<u64>,
        /// Rate of the UDP test at the receiver, bits per second.
        udp_bps: Option<u64>,
        /// Packets that it sent.
        udp_sent: Option<u64>,
        /// Their loss rate, 0 to 1.
        udp_loss: Option<f64>,
        /// Their interarrival jitter when the test ended (RFC 3550, 6.4.1), nanoseconds.
        udp_jitter_ns: Option<u64>,
        /// 99th percentile of their one-way delay above the smallest (PDV, RFC 5481), nanoseconds.
        udp_pdv_ns: Option<u64>,
        /// Reordered packets.
        udp_reordered: Option<u64>,
        /// Bytes sent in the whole test, both directions.
        bytes: u64,
        /// Further output of the program, a JSON object.
        details: serde_json::Value,
    }
}

/// Which tests to read; all fields together must hold.
#[derive(Clone, Debug, Default)]
pub struct MeshFilter {
    /// Only tests of these runs; all if empty.
    pub runs: Vec<RunId>,
    /// Include failed tests.
    pub failed: bool,
}

impl Store {
    /// Adds tests to a run, all or none.
    ///
    /// # Errors
    /// When the run does not exist or the database cannot be written.
    pub fn add_mesh_tests(&self, run: RunId, tests: &[MeshTest]) -> Result<(), StoreError> {
        let columns = columns();
        let (names, places) = (columns.join(", "), ", ?".repeat(columns.len()));
        let sql = format!("INSERT INTO mesh_tests (run_id, outcome, {names}) VALUES (?, ?{places})");
        let add = || {
            let transaction = self.connection.unchecked_transaction()?;
            {
                let mut statement = transaction.prepare_cached(&sql)?;
                for test in tests {
                    let outcome = test.reason.as_ref().map_or("finished", |_| "failed");
                    let mut values: Vec<Value> = vec![run.0.into(), outcome.to_owned().into()];
                    test.put(&mut values);
                    statement.execute(params_from_iter(values))?;
                }
            }
            transaction.commit()
        };
        add().map_err(StoreError::at("store the tests between places", &self.path))
    }

    /// Tests between places, the earliest first, each with its run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn mesh_tests(&self, filter: &MeshFilter) -> Result<Vec<(RunId, MeshTest)>, StoreError> {
        let mut sql = format!(
            "SELECT {}, run_id FROM mesh_tests WHERE true",
            columns().join(", ")
        );
        if !filter.runs.is_empty() {
            let places = ", ?".repeat(filter.runs.len() - 1);
            sql.push_str(&format!(" AND run_id IN (?{places})"));
        }
        if !filter.failed {
            sql.push_str(" AND outcome = 'finished'");
        }
        sql.push_str(" ORDER BY unix_ns, id");
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let runs = params_from_iter(filter.runs.iter().map(|run| run.0));
            let rows = statement.query_map(runs, |row| {
                let test = MeshTest::take(&mut Cells::new(row))?;
                Ok((RunId(row.get("run_id")?), test))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the tests between places", &self.path))
    }

    /// Number of successful tests per pair of places, by cloud and region of both ends.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn mesh_pair_counts(&self) -> Result<Vec<([String; 4], u64)>, StoreError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare("SELECT from_cloud, from_region, to_cloud, to_region, tests FROM mesh_pairs")?;
            let rows = statement.query_map([], |row| {
                Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?], row.get(4)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("count the tests between places", &self.path))
    }
}

/// Columns of the table, besides those of its run and of the outcome, which the reason implies.
fn columns() -> Vec<String> {
    let mut columns = Vec::new();
    MeshTest::columns("", &mut columns);
    columns
}
