//! TCP throughput with several connections: goodput at the receiver, and the sender's `TCP_INFO` of each
//! connection.

mod rows;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_control::Joined;
use weir_net::{clock, tcp, tcp_window};
use weir_record::{Direction, Record};
use weir_units::Rate;

use crate::control::{FromAgent, READY_LIMIT, Stopped, StreamReading, ToAgent};
use crate::{MeasureError, Progress, Session, Sink, Stop};

use rows::{Counters, Counting, Rows};

pub use crate::control::TcpRequest;
pub use rows::{TcpSummary, Window};

const SECOND_NS: u64 = 1_000_000_000;
const BUFFER: usize = 256 * 1024;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Bytes by which a connection may be ahead of its rate: a pacing sender starts with a burst.
const RATE_SLACK: u64 = 64 << 20;
/// How long a sender's buffers may take to arrive once it has ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(20);
/// How often a receiver sets its window again: the kernel raises it when it resizes the buffer, or learns the size of packets.
const HOLD_AGAIN_NS: u64 = 10_000_000;

/// The threads of one end.
pub(crate) struct Connections {
    pub counters: Arc<Counters>,
    pub started_ns: u64,
    readers: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    stop: Stop,
}

impl Connections {
    /// Sends on all `streams` until told to stop, each at its share of the rate, all within the byte limit.
    pub(crate) fn send(
        streams: Vec<TcpStream>,
        request: &TcpRequest,
        stop: &Stop,
    ) -> Result<Self, MeasureError> {
        let share = request.max_rate.0 / 8 / u64::from(request.streams.max(1));
        for stream in &streams {
            tcp::set_max_pacing_rate(stream, share).map_err(|error| internal("limit the rate of", &error))?;
            if let Some(bytes) = request.window_bytes {
                tcp_window::reserve_to_send(stream, bytes)
                    .map_err(|error| internal("set the send buffer of", &error))?;
            }
        }
        let limit = Arc::new(AtomicU64::new(request.max_bytes));
        Self::start(streams, stop, move |stream, count, stop| {
            pump_out(stream, count, &limit, stop)
        })
    }

    /// Takes what comes on all `streams`, no faster than the request allows.
    pub(crate) fn receive(
        streams: Vec<TcpStream>,
        request: &TcpRequest,
        stop: &Stop,
    ) -> Result<Self, MeasureError> {
        let share = Rate(request.max_rate.0 / u64::from(request.streams.max(1)));
        let window = request.window_bytes;
        if let Some(bytes) = window {
            for stream in &streams {
                tcp_window::hold(stream, bytes).map_err(|error| internal("set the window of", &error))?;
            }
        }
        Self::start(streams, stop, move |stream, count, stop| {
            pump_in(stream, count, (share, window), stop)
        })
    }

    fn start(
        streams: Vec<TcpStream>,
        stop: &Stop,
        pump: impl Fn(&mut TcpStream, &AtomicU64, &Stop) + Clone + Send + 'static,
    ) -> Result<Self, MeasureError> {
        let counters = Counters::new(streams.len());
        let stop = stop.child();
        let (mut readers, mut threads) = (Vec::new(), Vec::new());
        for (index, mut stream) in streams.into_iter().enumerate() {
            let prepare = || {
                stream.set_read_timeout(Some(Duration::from_millis(200)))?;
                stream.set_write_timeout(Some(Duration::from_millis(200)))?;
                stream.try_clone()
            };
            readers.push(prepare().map_err(|error| internal("prepare", &error))?);
            let (counters, stop, pump) = (counters.clone(), stop.clone(), pump.clone());
            let thread = std::thread::Builder::new()
                .name(format!("tcp-{index}"))
                .spawn(move || pump(&mut stream, &counters.0[index], &stop))
                .map_err(|error| internal("start a thread for", &error))?;
            threads.push(thread);
        }
        Ok(Connections {
            counters,
            started_ns: clock::monotonic_ns(),
            readers,
            threads,
            stop,
        })
    }

    /// `TCP_INFO` of all connections; those that are gone are left out.
    pub(crate) fn readings(&self, second: u32) -> Vec<StreamReading> {
        let read = |(stream, connection): (usize, &TcpStream)| {
            let reading = tcp::read(connection).ok()?;
            Some(StreamReading {
                second,
                stream: stream as u16,
                reading,
            })
        };
        self.readers.iter().enumerate().filter_map(read).collect()
    }

    /// All connections have ended by themselves.
    pub(crate) fn are_finished(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Ends the threads; a sender's half of each connection is closed behind the last byte. What is left of a connection is
    /// closed with this.
    fn end(&mut self) {
        self.stop.set();
        for thread in self.threads.drain(..) {
            // A thread that broke off has left its count behind.
            let _ = thread.join();
        }
    }

    /// Waits until the other end has closed all connections, or `limit` has passed.
    fn await_end(&self, limit: Duration) {
        let deadline = clock::monotonic_ns() + clock::nanos(limit);
        while !self.are_finished() && clock::monotonic_ns() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn internal(what: &str, error: &std::io::Error) -> MeasureError {
    MeasureError::Internal(format!("cannot {what} a TCP test connection: {error}"))
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn pump_out(stream: &mut TcpStream, count: &AtomicU64, limit: &AtomicU64, stop: &Stop) {
    let block = vec![0x5a; BUFFER];
    // A thread that a busy host starts when the test is over sends all the same: nothing at all would be taken for a path that
    // carries nothing.
    loop {
        let take = |left: u64| Some(left - left.min(BUFFER as u64));
        let left = limit
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .unwrap_or(0);
        let want = left.min(BUFFER as u64) as usize;
        let mut sent = 0;
        while sent < want {
            match stream.write(&block[sent..want]) {
                Ok(bytes) => {
                    sent += bytes;
                    count.fetch_add(bytes as u64, Ordering::Relaxed);
                }
                Err(error) if is_pause(&error) => {}
                // The other end has gone; its control connection tells why.
                Err(_) => return,
            }
            if stop.is_set() {
                break;
            }
        }
        if want == 0 || stop.is_set() {
            break;
        }
    }
    // Tells the receiver that this is all; if it is gone, it knows.
    let _ = stream.shutdown(Shutdown::Write);
}

fn pump_in(stream: &mut TcpStream, count: &AtomicU64, (rate, window): (Rate, Option<u64>), stop: &Stop) {
    let mut block = vec![0; BUFFER];
    let started = clock::monotonic_ns();
    let mut hold_at = started;
    while !stop.is_set() {
        let now = clock::monotonic_ns();
        if let Some(bytes) = window.filter(|_| now >= hold_at) {
            hold_at = now + HOLD_AGAIN_NS;
            // It was set at the beginning; what the sender's kernel reports shows whether it holds.
            let _ = tcp_window::clamp(stream, bytes);
        }
        // A sender that does not hold the agreed rate is held by its window: what is not read is not sent.
        let most = rate.bytes_in(now - started).saturating_add(RATE_SLACK);
        if count.load(Ordering::Relaxed) > most {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        match stream.read(&mut block) {
            Ok(0) => return,
            Ok(bytes) => {
                count.fetch_add(bytes as u64, Ordering::Relaxed);
            }
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}

/// Runs one TCP test.
///
/// # Errors
/// When the agent refuses or is lost, or a connection cannot be made.
pub fn run(
    session: &mut Session,
    request: &TcpRequest,
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<TcpSummary, MeasureError> {
    let request = TcpRequest {
        max_rate: request.max_rate.min(session.limits.max_rate),
        ..request.clone()
    };
    session
        .limits
        .check(None, request.duration_ns, 1, request.streams)?;
    request.check_windows()?;
    let mut connections = connect(session, &request, stop)?;
    let mut rows = Rows::new(request.direction, request.omit_ns);
    let mut counting = Counting::new(&request);
    session.send(&ToAgent::Go)?;
    follow(
        session,
        &request,
        &connections,
        (&mut counting, &mut rows),
        sink,
        stop,
    )?;
    // A sender closes its half and leaves the rest open: what is in its buffers still arrives and is counted.
    if request.direction == Direction::Forward {
        connections.end();
    }
    session.send(&ToAgent::Stop(Stopped::default()))?;
    if request.direction == Direction::Reverse {
        connections.await_end(DRAIN_LIMIT);
        rows.count(&mut counting, &connections.counters);
    }
    let passed = connections.counters.total();
    loop {
        match session.receive(ANSWER_LIMIT)? {
            FromAgent::Tcp => break,
            other => take_message(session, &mut rows, sink, other)?,
        }
    }
    connections.end();
    rows.hand_on(sink, true);
    Ok(rows.summary(&request, passed >= request.max_bytes))
}

/// Asks for the test, opens its connections and starts this end of them.
fn connect(session: &mut Session, request: &TcpRequest, stop: &Stop) -> Result<Connections, MeasureError> {
    session.send(&ToAgent::Tcp(request.clone()))?;
    match session.receive(READY_LIMIT)? {
        FromAgent::Ready(_) => {}
        other => return Err(session.unexpected("a ready TCP test", &other)),
    }
    let mut streams = Vec::new();
    for _ in 0..request.streams {
        streams.push(session.data_connection()?.1);
    }
    match request.direction {
        Direction::Forward => Connections::send(streams, request, stop),
        Direction::Reverse => Connections::receive(streams, request, stop),
    }
}

/// Takes counts and readings of both ends until the time is over or the bytes have been sent. A receiver's last count is left to
/// the caller, since more is still on its way.
fn follow(
    session: &Session,
    request: &TcpRequest,
    connections: &Connections,
    (counting, rows): (&mut Counting, &mut Rows),
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<(), MeasureError> {
    let started = connections.started_ns;
    let mut next = started + SECOND_NS;
    let mut second = 0;
    loop {
        let now = clock::monotonic_ns();
        let over = now >= started + request.duration_ns || stop.is_set() || connections.are_finished();
        if now >= next || over {
            next += SECOND_NS;
            match request.direction {
                Direction::Forward => rows.read(connections.readings(second)),
                Direction::Reverse if over => {}
                Direction::Reverse => rows.count(counting, &connections.counters),
            }
            second += 1;
            sink.progress(Progress {
                elapsed_ns: now - started,
                total_ns: request.duration_ns,
                rate: Rate::of(connections.counters.total(), now - started).0,
                ..Progress::default()
            });
        }
        take_messages(session, rows, sink)?;
        rows.hand_on(sink, false);
        if over {
            return Ok(());
        }
        std::thread::sleep(NAP);
    }
}

fn take_messages(session: &Session, rows: &mut Rows, sink: &dyn Sink) -> Result<(), MeasureError> {
    while let Some(message) = session.receive_within(Duration::ZERO)? {
        take_message(session, rows, sink, message)?;
    }
    Ok(())
}

fn take_message(
    session: &Session,
    rows: &mut Rows,
    sink: &dyn Sink,
    message: FromAgent,
) -> Result<(), MeasureError> {
    match message {
        FromAgent::TcpReadings(readings) => rows.read(readings),
        FromAgent::Records(records) => {
            for record in records {
                match record {
                    Record::TcpSecond(_, row) => rows.counted(row),
                    other => sink.record(other),
                }
            }
        }
        other => return Err(session.unexpected("TCP readings", &other)),
    }
    Ok(())
}

/// When the first byte can have come: a round trip after the client was welcomed. A client sends before the word to begin is here,
/// and what waited for a busy host did not come in the moment in which it is read.
fn came_at_the_earliest(joined: &Joined) -> u64 {
    let round_trip = tcp::min_rtt(&joined.stream).ok().flatten();
    joined.welcomed_ns + round_trip.map_or(0, clock::nanos)
}

/// A test that the agent takes part in, at its end.
pub(crate) struct AgentTcp {
    request: TcpRequest,
    connections: Connections,
    counting: Counting,
    next_ns: u64,
    second: u32,
}

impl AgentTcp {
    pub(crate) fn start(request: TcpRequest, joined: Vec<Joined>, stop: &Stop) -> Result<Self, MeasureError> {
        let came_ns = joined.iter().map(came_at_the_earliest).max().unwrap_or(u64::MAX);
        let streams = joined.into_iter().map(|joined| joined.stream).collect();
        let connections = match request.direction {
            Direction::Forward => Connections::receive(streams, &request, stop)?,
            Direction::Reverse => Connections::send(streams, &request, stop)?,
        };
        let next_ns = connections.started_ns + SECOND_NS;
        Ok(AgentTcp {
            counting: Counting::new(&request).since(came_ns),
            connections,
            next_ns,
            second: 0,
            request,
        })
    }

    /// What there is to tell the client now; `last` closes the last, shorter second, with what is still on its way.
    pub(crate) fn poll(&mut self, last: bool) -> Option<FromAgent> {
        if last && self.request.direction == Direction::Forward {
            self.connections.await_end(DRAIN_LIMIT);
        }
        if clock::monotonic_ns() < self.next_ns && !last {
            return None;
        }
        self.next_ns += SECOND_NS;
        if self.request.direction == Direction::Reverse {
            let readings = self.connections.readings(self.second);
            self.second += 1;
            return Some(FromAgent::TcpReadings(readings));
        }
        let rows = self.counting.count(&self.connections.counters).into_iter();
        let records = rows.map(|row| Record::TcpSecond(self.request.direction, row));
        Some(FromAgent::Records(records.collect()))
    }

    /// The agent's time limit for this test has passed.
    pub(crate) fn is_overdue(&self) -> bool {
        clock::monotonic_ns()
            > self
                .connections
                .started_ns
                .saturating_add(self.request.duration_ns)
                .saturating_add(5 * SECOND_NS)
    }

    /// Ends this end of the test. A sender that has not come to run yet sends something first.
    pub(crate) fn finish(mut self) {
        self.connections.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_sender_that_starts_when_the_test_is_over_sends_all_the_same() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let (mut far, _) = listener.accept().expect("a connection");
        let stop = Stop::default();
        stop.set();
        let request = TcpRequest {
            direction: Direction::Forward,
            streams: 1,
            duration_ns: 1,
            max_rate: Rate(1_000_000_000),
            max_bytes: 1_000_000,
            window_bytes: None,
            omit_ns: 0,
        };
        let mut connections = Connections::send(vec![stream], &request, &stop).expect("a sender");
        connections.end();
        let mut received = Vec::new();
        far.read_to_end(&mut received).expect("all that was sent");
        assert!(!received.is_empty());
        assert_eq!(received.len() as u64, connections.counters.total());
    }
}
