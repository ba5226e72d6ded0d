//! A worker's session with its master: it joins, obeys, reports, and joins again when the master was away.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rmpv::Value;
use thiserror::Error;
use weir_net::clock::{process_cpu_ns, unix_ns};

use super::message::{self, FromMaster, Spawn};
use super::zmtp::{self, Frame, FrameReader, GREETING_BYTES, ZmtpError};
use crate::measure::Account;

const BEAT: Duration = Duration::from_secs(1);
const REPORT: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);
/// A master that is silent for so long is looked for anew.
const SILENT: Duration = Duration::from_secs(10);
/// One that is not there for so long is given up.
const GIVE_UP: Duration = Duration::from_secs(60);
const CONNECT: Duration = Duration::from_secs(5);

/// Why a worker ended.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// Nobody there.
    #[error("cannot reach the Locust master at {0}: {1}; is 'locust --master' running there?")]
    Unreachable(String, io::Error),
    /// Something else is there.
    #[error("{0} is not a Locust master: {1}")]
    NoMaster(String, ZmtpError),
}

/// What became of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Users of each class that really run.
    pub users: BTreeMap<String, u32>,
    /// Why others do not, in words; one for each class.
    pub problems: Vec<String>,
}

/// Who the users are.
pub trait Fleet {
    /// So many users of each class from now on, played as the options say. A class that cannot be run does not keep the
    /// others from it.
    fn set(&mut self, spawn: &Spawn) -> Settled;
    /// No more users. Returns when their requests have come to an end.
    fn stop(&mut self);
    /// Requests since the last call.
    fn take(&mut self) -> Account;
}

/// Where to work.
#[derive(Clone, Debug)]
pub struct Orders {
    /// Host and port of the master.
    pub master: String,
    /// The worker's name; none two may have the same.
    pub node: String,
}

/// Works until the master says quit, `stop` does, or the master is gone for a minute.
///
/// # Errors
/// When there is no master, or none any more.
pub fn work(
    orders: &Orders,
    fleet: &mut dyn Fleet,
    stop: &dyn Fn() -> bool,
    say: &dyn Fn(&str),
) -> Result<(), WorkerError> {
    let mut since = Instant::now();
    loop {
        match Session::join(orders) {
            Ok(mut session) => {
                say(&format!("joined the Locust master at {}", orders.master));
                let end = session.obey(fleet, stop, say);
                fleet.stop();
                match end {
                    End::Quit => return Ok(()),
                    End::Lost(_) if stop() => return Ok(()),
                    End::Lost(problem) => say(&format!("lost the Locust master: {problem}; reconnecting")),
                }
                // What was counted meanwhile belongs to a test that is over.
                drop(fleet.take());
                since = Instant::now();
            }
            Err(error @ WorkerError::NoMaster(..)) => return Err(error),
            Err(error) if since.elapsed() > GIVE_UP => return Err(error),
            Err(_) => {}
        }
        if stop() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

enum End {
    Quit,
    Lost(String),
}

/// A connection that has joined.
struct Session {
    stream: TcpStream,
    reader: FrameReader,
    node: String,
    state: &'static str,
    users: BTreeMap<String, u32>,
    last_spawn: f64,
    heard: Instant,
    cpu: (Instant, u64),
}

impl Session {
    fn join(orders: &Orders) -> Result<Session, WorkerError> {
        let unreachable = |error| WorkerError::Unreachable(orders.master.clone(), error);
        let no_master = |error| WorkerError::NoMaster(orders.master.clone(), error);
        let mut stream = connect(&orders.master).map_err(unreachable)?;
        stream.write_all(&zmtp::greeting()).map_err(unreachable)?;
        let mut theirs = [0; GREETING_BYTES];
        stream.read_exact(&mut theirs).map_err(unreachable)?;
        zmtp::check_greeting(&theirs).map_err(no_master)?;
        stream
            .write_all(&zmtp::ready(orders.node.as_bytes()))
            .map_err(unreachable)?;
        stream.set_read_timeout(Some(LOOK)).map_err(unreachable)?;
        let mut session = Session {
            stream,
            reader: FrameReader::default(),
            node: orders.node.clone(),
            state: "ready",
            users: BTreeMap::new(),
            last_spawn: 0.0,
            heard: Instant::now(),
            cpu: (Instant::now(), process_cpu_ns()),
        };
        // -1 instead of a version: Weir is none of Locust's.
        session.send("client_ready", (-1).into()).map_err(unreachable)?;
        Ok(session)
    }

    fn send(&mut self, kind: &str, data: Value) -> io::Result<()> {
        let body = message::write(kind, data, &self.node);
        self.stream.write_all(&zmtp::message(&body))
    }

    fn obey(&mut self, fleet: &mut dyn Fleet, stop: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> End {
        let lost = |error: io::Error| End::Lost(error.to_string());
        let (mut beat, mut report) = (Instant::now(), Instant::now() + REPORT);
        loop {
            if stop() {
                fleet.stop();
                // The master may be gone by now; it has no part in the end.
                let _ = self.report(fleet);
                let _ = self.send("quit", Value::Nil);
                return End::Quit;
            }
            let now = Instant::now();
            if now >= beat {
                beat = now + BEAT;
                let data = self.heartbeat();
                if let Err(error) = self.send("heartbeat", data) {
                    return lost(error);
                }
            }
            if now >= report {
                report = now + REPORT;
                if let Err(error) = self.report(fleet) {
                    return lost(error);
                }
            }
            if self.heard.elapsed() > SILENT {
                return End::Lost("it sends no data".to_owned());
            }
            match self.receive() {
                Ok(messages) => {
                    for message in messages {
                        match self.follow(message, fleet, say) {
                            Ok(None) => {}
                            Ok(Some(end)) => return end,
                            Err(error) => return lost(error),
                        }
                    }
                }
                Err(error) => return lost(error),
            }
        }
    }

    /// Messages that have come; none after a short while.
    fn receive(&mut self) -> io::Result<Vec<FromMaster>> {
        let mut bytes = [0; 16 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::ConnectionReset.into()),
            Ok(count) => self.reader.push(&bytes[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        }
        self.heard = Instant::now();
        let mut messages = Vec::new();
        while let Some(frame) = self.reader.next_frame().map_err(io::Error::other)? {
            if let Frame::Message { body, .. } = frame {
                messages.push(FromMaster::read(&body).map_err(io::Error::other)?);
            }
        }
        Ok(messages)
    }

    fn follow(
        &mut self,
        message: FromMaster,
        fleet: &mut dyn Fleet,
        say: &dyn Fn(&str),
    ) -> io::Result<Option<End>> {
        match message {
            FromMaster::Spawn(spawn) if spawn.timestamp > self.last_spawn => {
                self.last_spawn = spawn.timestamp;
                self.state = "spawning";
                self.send("spawning", Value::Nil)?;
                let settled = fleet.set(&spawn);
                for problem in &settled.problems {
                    say(problem);
                    self.send("exception", message::exception(problem))?;
                }
                // What runs, not what was ordered: users that are not there are missed on the master's page.
                self.users = settled.users;
                let data = message::spawning_complete(&self.users);
                self.send("spawning_complete", data)?;
                self.state = "running";
            }
            FromMaster::Stop => {
                fleet.stop();
                self.report(fleet)?;
                self.users.clear();
                self.send("client_stopped", Value::Nil)?;
                self.state = "ready";
                self.send("client_ready", (-1).into())?;
            }
            FromMaster::Quit => {
                fleet.stop();
                self.report(fleet)?;
                self.send("quit", Value::Nil)?;
                return Ok(Some(End::Quit));
            }
            FromMaster::Reconnect => return Ok(Some(End::Lost("it does not know this worker".to_owned()))),
            FromMaster::Spawn(_) | FromMaster::Ack | FromMaster::Heartbeat | FromMaster::Other(_) => {}
        }
        Ok(None)
    }

    fn report(&mut self, fleet: &mut dyn Fleet) -> io::Result<()> {
        let data = message::stats(&fleet.take(), &self.users, unix_ns() as f64 / 1e9);
        self.send("stats", data)
    }

    fn heartbeat(&mut self) -> Value {
        let now = (Instant::now(), process_cpu_ns());
        let elapsed = now.0.duration_since(self.cpu.0).as_nanos().max(1);
        let busy = now.1.saturating_sub(self.cpu.1) as f64 * 100.0 / elapsed as f64;
        self.cpu = now;
        let memory = weir_net::counters::HostCounters::read(None).memory_bytes;
        message::heartbeat(self.state, (busy * 10.0).round() / 10.0, memory)
    }
}

fn connect(master: &str) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for address in master.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(CONNECT))?;
                stream.set_write_timeout(Some(CONNECT))?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
