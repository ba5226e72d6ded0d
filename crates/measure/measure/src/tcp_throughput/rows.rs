//! The receiver's byte counts of a TCP test, and how they are joined with the sender's readings, which come from the
//! other host, into rows. Pure but for the time of a count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use weir_net::clock;
use weir_net::tcp::TcpReading;
use weir_record::{Direction, Record, TcpSecond};
use weir_units::Rate;

use crate::Sink;
use crate::control::{StreamReading, TcpRequest};

/// Seconds that a row waits for the reading of its connection; none comes once the connection has closed.
const MOST_SECONDS_APART: u32 = 5;
const SECOND_NS: u64 = 1_000_000_000;

/// A window that a test set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// What was asked for, bytes.
    pub asked_bytes: u64,
    /// The largest that a receiver announced after the time that was left out, as the sender's kernel counts it, bytes; none
    /// where that kernel does not report it.
    pub announced_bytes: Option<u64>,
    /// The smallest send buffer of a connection, bytes with the kernel's overhead.
    pub send_buffer_bytes: u64,
}

/// What a TCP test found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpSummary {
    /// Which end sent.
    pub direction: Direction,
    /// Connections at once.
    pub streams: u16,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Goodput at the receiver, after the time that was left out.
    pub goodput: Rate,
    /// Segments sent again.
    pub retransmits: u64,
    /// Mean of the smoothed RTTs, nanoseconds.
    pub rtt_ns: u64,
    /// Largest congestion window of a connection, bytes.
    pub cwnd_bytes: u64,
    /// Congestion control.
    pub congestion_control: String,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
    /// Share of the time in which the receiver's window held what was to be sent, 0 to 1; none where the sender's kernel does
    /// not report it.
    #[serde(default)]
    pub receiver_limited: Option<f64>,
    /// The same for the sender's buffer.
    #[serde(default)]
    pub sender_limited: Option<f64>,
    /// The window that was set; none where the kernels chose it.
    #[serde(default)]
    pub window: Option<Window>,
}

/// Bytes that have passed on each connection.
pub(crate) struct Counters(pub(super) Vec<AtomicU64>);

impl Counters {
    pub(super) fn new(streams: usize) -> Arc<Self> {
        Arc::new(Counters((0..streams).map(|_| AtomicU64::new(0)).collect()))
    }

    fn read(&self) -> Vec<u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn total(&self) -> u64 {
        self.read().iter().sum()
    }
}

/// Counts what has come on each connection, second by second.
pub(crate) struct Counting {
    streams: u16,
    before: Vec<u64>,
    last_ns: u64,
}

impl Counting {
    pub(crate) fn new(request: &TcpRequest) -> Self {
        Counting {
            streams: request.streams,
            before: vec![0; usize::from(request.streams)],
            last_ns: clock::monotonic_ns(),
        }
    }

    /// Counts from `came_ns` on, where that is earlier.
    pub(crate) fn since(mut self, came_ns: u64) -> Self {
        self.last_ns = self.last_ns.min(came_ns);
        self
    }

    /// The row of each connection since the last call.
    pub(crate) fn count(&mut self, counters: &Counters) -> Vec<TcpSecond> {
        let now = clock::monotonic_ns();
        let duration_ns = now - self.last_ns;
        self.last_ns = now;
        let mut rows = Vec::with_capacity(self.before.len());
        for (stream, (total, before)) in counters.read().into_iter().zip(&mut self.before).enumerate() {
            rows.push(TcpSecond {
                unix_ns: clock::unix_ns(),
                duration_ns,
                streams: self.streams,
                stream: stream as u16,
                bytes: total - *before,
                retransmits: 0,
                rtt_ns: 0,
                cwnd_bytes: 0,
                congestion_control: String::new(),
            });
            *before = total;
        }
        rows
    }
}

/// What is known of one connection.
#[derive(Default)]
struct Connection {
    /// Rows that have come.
    seconds: u32,
    /// Their time, nanoseconds.
    elapsed_ns: u64,
    /// Retransmits up to the last row that was handed on with a reading.
    retransmits: u64,
    latest: TcpReading,
}

/// Joins counts and readings. It holds what waits for its other half, and sums.
pub(crate) struct Rows {
    direction: Direction,
    waiting: BTreeMap<(u32, u16), TcpSecond>,
    readings: BTreeMap<(u32, u16), TcpReading>,
    connections: BTreeMap<u16, Connection>,
    /// Time at the beginning that does not count.
    omit_ns: u64,
    bytes: u64,
    /// Of these, those that count for the goodput.
    counted_bytes: u64,
    /// The receiver's own seconds, of one connection since all run side by side, that count.
    counted_ns: u64,
    cwnd_max: u64,
    announced_max: u64,
}

impl Rows {
    pub(crate) fn new(direction: Direction, omit_ns: u64) -> Self {
        Rows {
            direction,
            omit_ns,
            waiting: BTreeMap::new(),
            readings: BTreeMap::new(),
            connections: BTreeMap::new(),
            bytes: 0,
            counted_bytes: 0,
            counted_ns: 0,
            cwnd_max: 0,
            announced_max: 0,
        }
    }

    /// Counts what has come on each connection of this end.
    pub(crate) fn count(&mut self, counting: &mut Counting, counters: &Counters) {
        for row in counting.count(counters) {
            self.counted(row);
        }
    }

    /// Takes a row of counts; those of a connection come in order.
    pub(crate) fn counted(&mut self, row: TcpSecond) {
        let connection = self.connections.entry(row.stream).or_default();
        let second = connection.seconds;
        let began_ns = connection.elapsed_ns;
        connection.seconds = second.saturating_add(1);
        connection.elapsed_ns = began_ns.saturating_add(row.duration_ns);
        self.bytes = self.bytes.saturating_add(row.bytes);
        if began_ns >= self.omit_ns {
            self.counted_bytes = self.counted_bytes.saturating_add(row.bytes);
            if row.stream == 0 {
                self.counted_ns = self.counted_ns.saturating_add(row.duration_ns);
            }
        }
        self.waiting.insert((second, row.stream), row);
    }

    /// Takes the sender's readings.
    pub(crate) fn read(&mut self, readings: Vec<StreamReading>) {
        for StreamReading {
            second,
            stream,
            reading,
        } in readings
        {
            self.cwnd_max = self.cwnd_max.max(reading.cwnd_bytes);
            if u64::from(second) * SECOND_NS >= self.omit_ns {
                self.announced_max = self.announced_max.max(reading.peer_window_bytes);
            }
            self.connections.entry(stream).or_default().latest = reading.clone();
            self.readings.insert((second, stream), reading);
        }
    }

    /// Hands on the rows of which both halves are known, and those that have waited long enough, or all.
    pub(crate) fn hand_on(&mut self, sink: &dyn Sink, all: bool) {
        let newest = self
            .waiting
            .last_key_value()
            .map_or(0, |((second, _), _)| *second);
        let waiting = std::mem::take(&mut self.waiting);
        for (key, mut row) in waiting {
            let (second, stream) = key;
            match self.readings.remove(&key) {
                Some(reading) => {
                    let connection = self.connections.entry(stream).or_default();
                    row.retransmits = reading.retransmits.saturating_sub(connection.retransmits);
                    connection.retransmits = reading.retransmits;
                    (row.rtt_ns, row.cwnd_bytes) = (reading.rtt_ns, reading.cwnd_bytes);
                    row.congestion_control = reading.congestion_control;
                }
                None if !all && newest - second < MOST_SECONDS_APART => {
                    self.waiting.insert(key, row);
                    continue;
                }
                None => {}
            }
            sink.record(Record::TcpSecond(self.direction, row));
        }
    }

    pub(crate) fn summary(&self, request: &TcpRequest, hit_byte_limit: bool) -> TcpSummary {
        let latest = || self.connections.values().map(|connection| &connection.latest);
        let connections = self.connections.len().max(1) as u64;
        let busy_ns: u64 = latest().map(|reading| reading.busy_ns).sum();
        let share = |of: fn(&TcpReading) -> u64| {
            let held_ns: u64 = latest().map(of).sum();
            (busy_ns > 0).then(|| (held_ns as f64 / busy_ns as f64).min(1.0))
        };
        TcpSummary {
            direction: self.direction,
            streams: request.streams,
            bytes: self.bytes,
            goodput: Rate::of(self.counted_bytes, self.counted_ns),
            retransmits: latest().fold(0, |sum, reading| reading.retransmits.saturating_add(sum)),
            rtt_ns: latest().fold(0, |sum, reading| reading.rtt_ns.saturating_add(sum)) / connections,
            cwnd_bytes: self.cwnd_max,
            congestion_control: latest()
                .next()
                .map(|reading| reading.congestion_control.clone())
                .unwrap_or_default(),
            hit_byte_limit,
            receiver_limited: share(|reading| reading.receiver_limited_ns),
            sender_limited: share(|reading| reading.sender_limited_ns),
            window: request.window_bytes.map(|asked_bytes| Window {
                asked_bytes,
                announced_bytes: (self.announced_max > 0).then_some(self.announced_max),
                send_buffer_bytes: latest()
                    .map(|reading| reading.send_buffer_bytes)
                    .min()
                    .unwrap_or(0),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[derive(Default)]
    struct Taken(RefCell<Vec<TcpSecond>>);

    impl Sink for Taken {
        fn record(&self, record: Record) {
            if let Record::TcpSecond(_, row) = record {
                self.0.borrow_mut().push(row);
            }
        }
    }

    fn row(stream: u16, bytes: u64) -> TcpSecond {
        TcpSecond {
            unix_ns: 0,
            duration_ns: 1_000_000_000,
            streams: 2,
            stream,
            bytes,
            retransmits: 0,
            rtt_ns: 0,
            cwnd_bytes: 0,
            congestion_control: String::new(),
        }
    }

    fn reading(second: u32, stream: u16, retransmits: u64) -> StreamReading {
        StreamReading {
            second,
            stream,
            reading: TcpReading {
                retransmits,
                ..TcpReading::default()
            },
        }
    }

    #[test]
    fn an_hour_is_handed_on_second_by_second_and_not_kept() {
        let (mut rows, taken) = (Rows::new(Direction::Forward, 0), Taken::default());
        for second in 0..3600 {
            for stream in 0..2 {
                rows.counted(row(stream, 1_000));
                rows.read(vec![reading(second, stream, 3 * u64::from(second + 1))]);
            }
            rows.hand_on(&taken, false);
            assert!(rows.waiting.is_empty() && rows.readings.is_empty());
        }
        let taken = taken.0.into_inner();
        assert_eq!(taken.len(), 7200);
        assert!(
            taken.iter().all(|row| row.retransmits == 3),
            "as many in each second"
        );
        assert_eq!((rows.bytes, rows.counted_ns), (7_200_000, 3_600_000_000_000));
    }

    #[test]
    fn the_beginning_that_is_left_out_counts_for_bytes_and_not_for_the_goodput() {
        let mut rows = Rows::new(Direction::Forward, 2_000_000_000);
        let request = TcpRequest {
            direction: Direction::Forward,
            streams: 2,
            duration_ns: 4_000_000_000,
            max_rate: Rate(1_000_000_000),
            max_bytes: u64::MAX,
            window_bytes: Some(65_536),
            omit_ns: 2_000_000_000,
        };
        for second in 0..4 {
            for stream in 0..2 {
                rows.counted(row(stream, 1_000 << second));
                let mut reading = reading(second, stream, 0);
                reading.reading.peer_window_bytes = if second < 2 {
                    90_000
                } else {
                    65_000 + u64::from(stream)
                };
                reading.reading.send_buffer_bytes = 262_144 - u64::from(stream);
                rows.read(vec![reading]);
            }
        }
        let summary = rows.summary(&request, false);
        assert_eq!(summary.bytes, 30_000);
        // 2 * (4,000 + 8,000) bytes in two seconds.
        assert_eq!(summary.goodput, Rate(96_000));
        let window = Window {
            asked_bytes: 65_536,
            announced_bytes: Some(65_001),
            send_buffer_bytes: 262_143,
        };
        assert_eq!(summary.window, Some(window));
    }

    #[test]
    fn rows_of_a_connection_that_has_gone_do_not_pile_up() {
        let (mut rows, taken) = (Rows::new(Direction::Forward, 0), Taken::default());
        for _ in 0..100 {
            rows.counted(row(0, 1));
            rows.hand_on(&taken, false);
            assert!(rows.waiting.len() <= MOST_SECONDS_APART as usize);
        }
        rows.hand_on(&taken, true);
        assert_eq!(taken.0.into_inner().len(), 100);
    }
}
