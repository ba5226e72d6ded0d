//! An origin that an experiment starts as a process on its own cores, reads metrics from, and stops.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use weir_net::affinity;
use weir_net::process::{self, ProcessHandle, spawn_bound};
use weir_origin::Listening;

use super::error::TestbedError;
use crate::engine::LoadError;
use crate::experiment::OriginChange;
use crate::measure::LoadSummary;
use crate::metrics::{self, Metric};

/// Maximum time until an origin listens.
const START: Duration = Duration::from_secs(30);
/// Maximum time until it ends, and until it returns its metrics.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a metrics response with its headers, in bytes.
const MOST_PAGE: u64 = metrics::MOST_BYTES as u64 + (64 << 10);

/// A running origin; it ends when this process does.
pub struct Origin {
    child: Child,
    handle: ProcessHandle,
    address: SocketAddr,
}

impl Origin {
    /// Starts an origin on these cores that reads from `place`.
    ///
    /// # Errors
    /// When it does not listen.
    pub fn start(
        place: &str,
        options: &[String],
        cores: &[usize],
        own: &[usize],
    ) -> Result<Origin, TestbedError> {
        let failed =
            |error: &dyn std::fmt::Display| TestbedError::Failed(format!("cannot start an origin: {error}"));
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let complaints = tempfile::tempfile().map_err(|error| failed(&error))?;
        let stderr = complaints.try_clone().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command
            .args(["origin", place, "--listen", "127.0.0.1:0", "--json"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        // A child inherits the cores of the thread that starts it.
        affinity::run_on(cores).map_err(|error| cannot_pin(cores, &error))?;
        let started = spawn_bound(command);
        affinity::run_on(own).map_err(|error| cannot_pin(own, &error))?;
        let mut child = started.map_err(|error| failed(&error))?;
        let handle = ProcessHandle::of(child.id()).map_err(|error| failed(&error))?;
        match listening(&mut child, complaints) {
            Ok(address) => Ok(Origin {
                child,
                handle,
                address,
            }),
            Err(said) => {
                // It may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(&said))
            }
        }
    }

    /// URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Makes load, and returns its summary with what the origin's counters say over that time.
    ///
    /// # Errors
    /// When the load cannot be made; the second, when the counters cannot be read.
    pub fn under(
        &self,
        load: impl FnOnce() -> Result<LoadSummary, LoadError>,
    ) -> (Result<LoadSummary, LoadError>, Result<OriginChange, TestbedError>) {
        let used = || process::usage(self.child.id());
        let (before, used_before) = (self.metrics(), used());
        let summary = load();
        let (after, used) = (self.metrics(), used());
        let change = before.and_then(|before| {
            Ok(OriginChange {
                cpu_ns: used
                    .zip(used_before)
                    .map(|(after, before)| after.cpu_ns.saturating_sub(before.cpu_ns)),
                memory_bytes: used.map(|used| used.peak_memory_bytes),
                ..OriginChange::between(&before, &after?)
            })
        });
        (summary, change)
    }

    fn metrics(&self) -> Result<Vec<Metric>, TestbedError> {
        let failed = |error: &dyn std::fmt::Display| {
            TestbedError::Failed(format!("cannot read the metrics of the origin: {error}"))
        };
        let ask = || {
            let mut connection = TcpStream::connect_timeout(&self.address, PATIENCE)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            // HTTP/1.0: the answer ends with the connection.
            connection.write_all(b"GET /metrics HTTP/1.0\r\nHost: origin\r\n\r\n")?;
            let mut page = Vec::new();
            connection.take(MOST_PAGE).read_to_end(&mut page)?;
            std::io::Result::Ok(page)
        };
        let page = ask().map_err(|error| failed(&error))?;
        let head = page.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let body = head.map_or(&page[..], |head| &page[head + 4..]);
        metrics::read(body).map_err(|error| failed(&error))
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.handle.signal(Signal::TERM.as_raw());
        let ended = self.handle.wait_for_end(PATIENCE.as_millis() as u32);
        if !ended.unwrap_or(false) {
            // It may be ending just now.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Pins this thread, and threads and processes that it starts later, to these cores.
///
/// # Errors
/// When a core is not this host's.
pub fn run_on(cores: &[usize]) -> Result<(), TestbedError> {
    affinity::run_on(cores).map_err(|error| cannot_pin(cores, &error))
}

fn cannot_pin(cores: &[usize], error: &std::io::Error) -> TestbedError {
    TestbedError::Failed(format!(
        "cannot run on cores {cores:?}: {error}; name cores of this host"
    ))
}

/// Waits until the child prints its address.
fn listening(child: &mut Child, complaints: File) -> Result<SocketAddr, String> {
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let (said, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        // The receiver is gone after a timeout.
        let _ = said.send(BufReader::new(stdout).read_line(&mut line).map(|_| line));
    });
    let began = Instant::now();
    loop {
        match hears.recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(line)) => {
                let told: Result<Listening, _> = serde_json::from_str(&line);
                return match told {
                    Ok(listening) => Ok(listening.address),
                    Err(_) => Err(complaint(child, complaints)),
                };
            }
            Ok(Err(error)) => return Err(error.to_string()),
            Err(RecvTimeoutError::Timeout) if began.elapsed() < START => {}
            Err(_) => return Err("it did not listen in time".to_owned()),
        }
    }
}

/// The last line that it printed before it ended.
fn complaint(child: &mut Child, mut complaints: File) -> String {
    // Its output is closed, so it is about to end.
    let _ = child.wait();
    let mut said = String::new();
    // Unreadable output is left out of the message.
    let _ = complaints
        .seek(SeekFrom::Start(0))
        .and_then(|_| complaints.take(64 << 10).read_to_string(&mut said));
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("no error message")
        .trim_start_matches("weir: ")
        .to_owned()
}
