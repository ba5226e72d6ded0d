//! One connection of a client: requests and answers over plain HTTP/1.1, one after the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use weir_control::Stop;
use weir_net::{clock, tcp as kernel};
use weir_units::TimeSpan;

use super::Limits;
use crate::SAMPLE_NS;
use crate::now::Now;
use crate::serve::readings::Readings;
use crate::tcp::{Asking, Request, SLACK_MS, TcpInfoSample, is_glance, read_request};
use weir_net::tcp::CongestionControl;

/// How long a read or write waits before it looks at the clock again.
const GLANCE: Duration = Duration::from_millis(50);
/// A connection without a request for so long is closed.
const IDLE_NS: u64 = 120_000_000_000;
/// Zeros, as many as are written at once.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Answers until the client is gone, is idle for too long, or the server is stopped.
pub(super) fn serve(stream: TcpStream, limits: Limits, readings: &Readings, stop: &Stop) {
    let mut connection = Connection {
        stream,
        limits,
        readings,
        stop,
        pending: Vec::new(),
    };
    // Whatever ends it: the client sees that it has ended, and asks again or does not.
    let _ = connection.run();
}

struct Connection<'a> {
    stream: TcpStream,
    limits: Limits,
    readings: &'a Readings,
    stop: &'a Stop,
    pending: Vec<u8>,
}

impl Connection<'_> {
    fn run(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(GLANCE))?;
        self.stream.set_write_timeout(Some(GLANCE))?;
        while let Some(asking) = self.next_request()? {
            self.answer(asking.request)?;
            if asking.close || matches!(asking.request, Request::Stream { .. }) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn next_request(&mut self) -> io::Result<Option<Asking>> {
        let deadline_ns = clock::monotonic_ns() + IDLE_NS;
        let mut buffer = [0; 2_048];
        loop {
            match read_request(&self.pending) {
                Ok(Some(asking)) => {
                    self.pending.drain(..asking.length);
                    return Ok(Some(asking));
                }
                Ok(None) => {}
                Err(error) => {
                    self.say(&format!("{error}"), b"", true)?;
                    return Ok(None);
                }
            }
            if self.stop.is_set() || clock::monotonic_ns() >= deadline_ns {
                return Ok(None);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
                Err(error) if is_glance(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn answer(&mut self, request: Request) -> io::Result<()> {
        match request {
            Request::Bytes { length, congestion } => {
                if !self.choose(congestion)? {
                    return Ok(());
                }
                self.head("200 OK", Some(length), false)?;
                self.zeros(Some(length), self.limits.max_duration_ns, |_| {})
            }
            Request::Stream {
                duration_ms,
                id,
                congestion,
            } => {
                let duration_ns = duration_ms.saturating_mul(1_000_000);
                let most_ns = self.limits.max_duration_ns;
                if duration_ns > most_ns.saturating_add(SLACK_MS * 1_000_000) {
                    let most = TimeSpan(most_ns);
                    let status = format!(
                        "403 The maximum duration is {most}; use a shorter one, or start it with a longer --max-for"
                    );
                    return self.say(&status, b"", false);
                }
                if !self.choose(congestion)? {
                    return Ok(());
                }
                self.head("200 OK", None, true)?;
                self.stream_readings(id, duration_ns)
            }
            Request::Readings { id } => match self
                .readings
                .of(id)
                .and_then(|kept| serde_json::to_vec(&kept).ok())
            {
                Some(text) => self.say("200 OK", &text, false),
                None => self.say("404 Not Found", b"", false),
            },
        }
    }

    /// Sets the congestion control; if the host has no such, says so and gives false.
    fn choose(&mut self, congestion: Option<CongestionControl>) -> io::Result<bool> {
        let Some(congestion) = congestion else {
            return Ok(true);
        };
        if congestion.apply(&self.stream).is_ok() {
            return Ok(true);
        }
        let status = format!(
            "501 Congestion control {} not available in its kernel",
            congestion.name()
        );
        self.say(&status, b"", false)?;
        Ok(false)
    }

    fn stream_readings(&mut self, id: u64, duration_ns: u64) -> io::Result<()> {
        let readings = self.readings;
        let note = |stream: &TcpStream| {
            // A connection that is gone says nothing more.
            let Ok(told) = kernel::read(stream) else { return };
            let reading = TcpInfoSample {
                at_unix_ns: Now::read().unix_ns,
                rtt_ns: told.rtt_ns,
                cwnd_bytes: told.cwnd_bytes,
                retransmits: told.retransmits,
            };
            readings.add(id, &told.congestion_control, told.mss, reading);
        };
        let mut due_ns = clock::monotonic_ns();
        let done = self.zeros(None, duration_ns, |stream| {
            let now_ns = clock::monotonic_ns();
            if now_ns >= due_ns {
                note(stream);
                due_ns = (due_ns + SAMPLE_NS).max(now_ns);
            }
        });
        // A client that has heard enough goes away: that is how a stream ends.
        match done {
            Err(error) if is_gone(&error) => Ok(()),
            other => other,
        }
    }

    /// Writes `length` zeros, or as many as go for `limit_ns`; looks around after each write.
    fn zeros(
        &mut self,
        length: Option<u64>,
        limit_ns: u64,
        mut look: impl FnMut(&TcpStream),
    ) -> io::Result<()> {
        let deadline_ns = clock::monotonic_ns().saturating_add(limit_ns);
        let mut left = length.unwrap_or(u64::MAX);
        while left > 0 {
            look(&self.stream);
            if self.stop.is_set() || clock::monotonic_ns() >= deadline_ns {
                return match length {
                    None => Ok(()),
                    Some(_) => Err(ErrorKind::TimedOut.into()),
                };
            }
            let most = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
            match self.stream.write(&ZEROS[..most]) {
                Ok(count) => left -= count as u64,
                Err(error) if is_glance(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn head(&mut self, status: &str, length: Option<u64>, close: bool) -> io::Result<()> {
        let length = length.map_or_else(String::new, |length| format!("Content-Length: {length}\r\n"));
        let close = if close { "Connection: close\r\n" } else { "" };
        let head = format!("HTTP/1.1 {status}\r\n{length}{close}Cache-Control: no-store\r\n\r\n");
        self.write_all(head.as_bytes())
    }

    fn say(&mut self, status: &str, body: &[u8], close: bool) -> io::Result<()> {
        self.head(status, Some(body.len() as u64), close)?;
        self.write_all(body)
    }

    /// As the standard one, but it does not give up where a client reads slowly until it is idle.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let deadline_ns = clock::monotonic_ns() + IDLE_NS;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_glance(&error) => {
                    if self.stop.is_set() || clock::monotonic_ns() >= deadline_ns {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}
