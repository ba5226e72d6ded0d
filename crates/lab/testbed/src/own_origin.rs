//! An origin of Weir's own, started as a process and stopped. It must not know what it is asked for.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use weir_net::process::{ProcessHandle, spawn_bound};

use crate::error::TestbedError;

/// Maximum time until an origin listens.
const START: Duration = Duration::from_secs(30);
/// Maximum time until it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// The signal that asks it to end.
const TERMINATE: i32 = 15;

/// What it prints once it listens.
#[derive(Deserialize)]
struct Listening {
    address: SocketAddr,
}

/// A running origin; it ends when this process does.
pub(crate) struct Origin {
    child: Child,
    handle: ProcessHandle,
    address: SocketAddr,
}

impl Origin {
    /// Starts an origin that reads from `place`.
    ///
    /// # Errors
    /// When it does not listen.
    pub(crate) fn start(place: &str, options: &[String]) -> Result<Origin, TestbedError> {
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
        let mut child = spawn_bound(command).map_err(|error| failed(&error))?;
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
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.handle.signal(TERMINATE);
        let ended = self.handle.wait_for_end(PATIENCE.as_millis() as u32);
        if !ended.unwrap_or(false) {
            // It may be ending just now.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
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
