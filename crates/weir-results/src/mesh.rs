//! Tests between two places (table `mesh_tests`): one row a test, written when it ends and read across runs. It knows the
//! columns, not how a test is made or what a place is.

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::cells::clamped;
use crate::error::StoreError;
use crate::store::{RunId, Store};

/// One end of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeshEnd {
    /// Cloud, in lower case; empty where the host is in none.
    pub cloud: String,
    /// Region of that cloud, or the name of a place of the user's own.
    pub region: String,
    /// Zone in the region; empty where nobody said.
    pub zone: String,
    /// Name of the host; empty where nobody said.
    pub host: String,
    /// Degrees north, where the place is known.
    pub latitude: Option<f64>,
    /// Degrees east, where the place is known.
    pub longitude: Option<f64>,
}

/// A test from one place to another (table `mesh_tests`). The client's host, `from`, sends; what is measured is what
/// arrives at `to`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeshTest {
    /// When it was made.
    pub unix_ns: u64,
    /// The program that measured: `weir`, `intercloud-throughput`, `iperf3`.
    pub source: String,
    /// Why it failed; none where it went through.
    pub reason: Option<String>,
    /// Where the client was.
    pub from: MeshEnd,
    /// Where the agent or server was.
    pub to: MeshEnd,
    /// Great-circle distance, metres, where both places are known.
    pub distance_m: Option<u64>,
    /// The RTT is below the floor of light in fibre for that distance: a place is wrong.
    pub faster_than_light: bool,
    /// Packets that were answered; 0 where the program did not say.
    pub rtt_count: u64,
    /// Smallest RTT, nanoseconds.
    pub rtt_min_ns: Option<u64>,
    /// Mean RTT.
    pub rtt_mean_ns: Option<u64>,
    /// Median RTT.
    pub rtt_p50_ns: Option<u64>,
    /// 95th percentile of the RTT.
    pub rtt_p95_ns: Option<u64>,
    /// Largest RTT.
    pub rtt_max_ns: Option<u64>,
    /// Interarrival jitter of the RTT (RFC 3550, 6.4.1).
    pub rtt_jitter_ns: Option<u64>,
    /// TCP goodput of one connection at the receiver, bits per second.
    pub tcp_bps: Option<u64>,
    /// Connections side by side of the second TCP test.
    pub tcp_streams: Option<u64>,
    /// Their goodput together, at the receiver, bits per second.
    pub tcp_streams_bps: Option<u64>,
    /// Segments that they sent again, together.
    pub tcp_streams_retransmits: Option<u64>,
    /// The largest congestion window of any of them, bytes.
    pub tcp_streams_cwnd_bytes: Option<u64>,
    /// The mean of their smoothed RTTs, nanoseconds.
    pub tcp_streams_rtt_ns: Option<u64>,
    /// Segments that the one connection sent again.
    pub tcp_retransmits: Option<u64>,
    /// Its largest congestion window, bytes.
    pub tcp_cwnd_bytes: Option<u64>,
    /// Its mean smoothed RTT, nanoseconds.
    pub tcp_rtt_ns: Option<u64>,
    /// Congestion control of all connections, as the kernel names it.
    pub congestion_control: Option<String>,
    /// Most bytes that a socket of the sending host may hold unacknowledged.
    pub from_window_bytes: Option<u64>,
    /// Most bytes that a socket of the receiving host may announce as its window.
    pub to_window_bytes: Option<u64>,
    /// Rate of the UDP test at the receiver, bits per second.
    pub udp_bps: Option<u64>,
    /// Packets that it sent.
    pub udp_sent: Option<u64>,
    /// Share of them that was lost, 0 to 1.
    pub udp_loss: Option<f64>,
    /// Their interarrival jitter when the test ended (RFC 3550, 6.4.1), nanoseconds.
    pub udp_jitter_ns: Option<u64>,
    /// 99th percentile of their one-way delay above the smallest (PDV, RFC 5481), nanoseconds.
    pub udp_pdv_ns: Option<u64>,
    /// Packets that were overtaken.
    pub udp_reordered: Option<u64>,
    /// Bytes that the whole test sent, both ends together.
    pub bytes: u64,
    /// What else the program said, a JSON object.
    pub details: serde_json::Value,
}

/// Columns after `run_id`, in the order of [`values`] and [`from_row`].
const COLUMNS: &str = "unix_ns, source, outcome, reason, from_cloud, from_region, from_zone, from_host, from_latitude, \
                       from_longitude, to_cloud, to_region, to_zone, to_host, to_latitude, to_longitude, distance_m, \
                       faster_than_light, rtt_count, rtt_min_ns, rtt_mean_ns, rtt_p50_ns, rtt_p95_ns, rtt_max_ns, \
                       rtt_jitter_ns, tcp_bps, tcp_streams, tcp_streams_bps, tcp_retransmits, tcp_cwnd_bytes, \
                       tcp_rtt_ns, congestion_control, from_window_bytes, to_window_bytes, udp_bps, udp_sent, \
                       udp_loss, udp_jitter_ns, udp_pdv_ns, udp_reordered, bytes, details, tcp_streams_retransmits, \
                       tcp_streams_cwnd_bytes, tcp_streams_rtt_ns";

/// Which tests to read; all fields together must hold.
#[derive(Clone, Debug, Default)]
pub struct MeshFilter {
    /// Only tests of these runs; all if empty.
    pub runs: Vec<RunId>,
    /// Tests that failed too.
    pub failed: bool,
}

impl Store {
    /// Adds tests to a run, all or none.
    ///
    /// # Errors
    /// When the run does not exist or the database cannot be written.
    pub fn add_mesh_tests(&self, run: RunId, tests: &[MeshTest]) -> Result<(), StoreError> {
        let places = ", ?".repeat(COLUMNS.split(',').count());
        let sql = format!("INSERT INTO mesh_tests (run_id, {COLUMNS}) VALUES (?{places})");
        let add = || {
            let transaction = self.connection.unchecked_transaction()?;
            {
                let mut statement = transaction.prepare_cached(&sql)?;
                for test in tests {
                    statement.execute(params_from_iter(values(run, test)))?;
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
        let mut sql = format!("SELECT run_id, {COLUMNS} FROM mesh_tests WHERE true");
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
            let rows = statement.query_map(runs, from_row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the tests between places", &self.path))
    }

    /// How often each pair of places was tested with success, by cloud and region of both ends.
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

fn values(run: RunId, test: &MeshTest) -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    let optional_text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let count = |count: u64| Value::Integer(clamped(count));
    let optional = |value: Option<u64>| value.map_or(Value::Null, |value| Value::Integer(clamped(value)));
    // Neither SQLite nor JSON has what is not a number.
    let real = |value: Option<f64>| {
        value
            .filter(|value| value.is_finite())
            .map_or(Value::Null, Value::Real)
    };
    let mut row = vec![
        Value::Integer(run.0),
        count(test.unix_ns),
        text(&test.source),
        text(if test.reason.is_some() {
            "failed"
        } else {
            "finished"
        }),
        optional_text(&test.reason),
    ];
    for end in [&test.from, &test.to] {
        row.extend([&end.cloud, &end.region, &end.zone, &end.host].map(|name| text(name)));
        row.extend([real(end.latitude), real(end.longitude)]);
    }
    row.extend([
        optional(test.distance_m),
        Value::Integer(i64::from(test.faster_than_light)),
        count(test.rtt_count),
        optional(test.rtt_min_ns),
        optional(test.rtt_mean_ns),
        optional(test.rtt_p50_ns),
        optional(test.rtt_p95_ns),
        optional(test.rtt_max_ns),
        optional(test.rtt_jitter_ns),
        optional(test.tcp_bps),
        optional(test.tcp_streams),
        optional(test.tcp_streams_bps),
        optional(test.tcp_retransmits),
        optional(test.tcp_cwnd_bytes),
        optional(test.tcp_rtt_ns),
        optional_text(&test.congestion_control),
        optional(test.from_window_bytes),
        optional(test.to_window_bytes),
        optional(test.udp_bps),
        optional(test.udp_sent),
        real(test.udp_loss),
        optional(test.udp_jitter_ns),
        optional(test.udp_pdv_ns),
        optional(test.udp_reordered),
        count(test.bytes),
        text(&test.details.to_string()),
        optional(test.tcp_streams_retransmits),
        optional(test.tcp_streams_cwnd_bytes),
        optional(test.tcp_streams_rtt_ns),
    ]);
    row
}

/// Takes the columns of a row from left to right.
struct Columns<'r>(&'r Row<'r>, usize);

impl Columns<'_> {
    fn next<T: rusqlite::types::FromSql>(&mut self) -> rusqlite::Result<T> {
        self.1 += 1;
        self.0.get(self.1 - 1)
    }

    fn end(&mut self) -> rusqlite::Result<MeshEnd> {
        Ok(MeshEnd {
            cloud: self.next()?,
            region: self.next()?,
            zone: self.next()?,
            host: self.next()?,
            latitude: self.next()?,
            longitude: self.next()?,
        })
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(RunId, MeshTest)> {
    let columns = &mut Columns(row, 0);
    let run = RunId(columns.next()?);
    let (unix_ns, source) = (columns.next()?, columns.next()?);
    // What the outcome says, the reason says too.
    let _outcome: String = columns.next()?;
    let test = MeshTest {
        unix_ns,
        source,
        reason: columns.next()?,
        from: columns.end()?,
        to: columns.end()?,
        distance_m: columns.next()?,
        faster_than_light: columns.next()?,
        rtt_count: columns.next()?,
        rtt_min_ns: columns.next()?,
        rtt_mean_ns: columns.next()?,
        rtt_p50_ns: columns.next()?,
        rtt_p95_ns: columns.next()?,
        rtt_max_ns: columns.next()?,
        rtt_jitter_ns: columns.next()?,
        tcp_bps: columns.next()?,
        tcp_streams: columns.next()?,
        tcp_streams_bps: columns.next()?,
        tcp_retransmits: columns.next()?,
        tcp_cwnd_bytes: columns.next()?,
        tcp_rtt_ns: columns.next()?,
        congestion_control: columns.next()?,
        from_window_bytes: columns.next()?,
        to_window_bytes: columns.next()?,
        udp_bps: columns.next()?,
        udp_sent: columns.next()?,
        udp_loss: columns.next()?,
        udp_jitter_ns: columns.next()?,
        udp_pdv_ns: columns.next()?,
        udp_reordered: columns.next()?,
        bytes: columns.next()?,
        // What was put there by hand and is no JSON is worth nothing here.
        details: serde_json::from_str(&columns.next::<String>()?).unwrap_or_default(),
        tcp_streams_retransmits: columns.next()?,
        tcp_streams_cwnd_bytes: columns.next()?,
        tcp_streams_rtt_ns: columns.next()?,
    };
    Ok((run, test))
}
