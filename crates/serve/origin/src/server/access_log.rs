//! The access log: one JSON object a line for each request, written on a thread of its own. Requests never wait for it:
//! what the disk does not take in time is counted as lost. It must not know how requests are answered.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;

use super::config::LogTo;
use super::error::OriginError;
use crate::metrics::Metrics;

/// Lines that wait to be written.
const WAITING: usize = 8192;
/// How long a line may lie in a buffer.
const FLUSH: Duration = Duration::from_millis(200);

/// One request. Durations are nanoseconds.
#[derive(Debug, Serialize)]
pub struct Line {
    /// When the headers had come, in nanoseconds since 1970 (UTC).
    pub time_ns: u64,
    pub client: IpAddr,
    /// Version: 1.1 or 2.
    pub http: &'static str,
    pub method: String,
    /// Path and query.
    pub path: String,
    pub status: u16,
    pub kind: &'static str,
    /// Of the body.
    pub bytes: u64,
    /// From the request's headers to those of the answer.
    pub first_byte_ns: u64,
    /// From the request's headers to the last byte that was handed to the socket.
    pub total_ns: u64,
    /// From the request's headers until the client's kernel had acknowledged the last byte; none if it never did.
    pub delivered_ns: Option<u64>,
    /// How the caches answered.
    pub cache: LoggedCache,
    /// Bytes of bodies that were read from storage for it.
    pub storage_bytes: u64,
    /// What went wrong, if anything.
    pub cause: Option<&'static str>,
    /// What became of the pace that was asked for; none where answers are not paced, or this one was not media.
    pub pace: Option<LoggedPace>,
    pub range: Option<String>,
    pub user_agent: Option<String>,
}

/// How the caches answered, see [`CacheStatus`](crate::metrics::CacheStatus); none where nothing was needed.
#[derive(Debug, Default, Serialize)]
pub struct LoggedCache {
    /// Manifests and indexes.
    pub index: Option<&'static str>,
    /// Media, subtitles and files.
    pub media: Option<&'static str>,
}

/// The pace of an answer.
#[derive(Debug, Serialize)]
pub struct LoggedPace {
    /// Of the body, bits each second; none: unpaced.
    pub rate: Option<u64>,
    /// Of its packets, bits each second.
    pub wire_rate: Option<u64>,
    pub reason: &'static str,
}

/// A log that is being written.
#[derive(Debug)]
pub struct AccessLog {
    lines: SyncSender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
enum Message {
    Line(Box<Line>),
    End,
}

impl AccessLog {
    /// Opens the log and begins to write what comes.
    pub fn open(to: &LogTo, metrics: Arc<Metrics>) -> Result<Self, OriginError> {
        let out: Box<dyn Write + Send> = match to {
            LogTo::StandardOutput => Box::new(io::stdout()),
            LogTo::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Box::new(file.map_err(|source| OriginError::Log {
                    path: path.display().to_string(),
                    source,
                })?)
            }
        };
        let (lines, waiting) = sync_channel(WAITING);
        let counts = metrics.clone();
        let writer = std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_all(&waiting, BufWriter::new(out), &counts))?;
        Ok(AccessLog {
            lines,
            writer: Mutex::new(Some(writer)),
            metrics,
        })
    }

    /// Hands a line over, or loses it.
    pub fn write(&self, line: Box<Line>) {
        if self.lines.try_send(Message::Line(line)).is_err() {
            self.metrics.log_line_lost();
        }
    }

    /// Writes what is waiting and ends.
    pub fn finish(&self) {
        // Nobody takes it when the writer has ended already.
        let _ = self.lines.send(Message::End);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::warn!("the access log stopped early");
        }
    }
}

fn write_all(lines: &Receiver<Message>, mut out: BufWriter<Box<dyn Write + Send>>, metrics: &Metrics) {
    let mut failing = false;
    loop {
        let written = match lines.recv_timeout(FLUSH) {
            Ok(Message::Line(line)) => write_line(&mut out, &line),
            Err(RecvTimeoutError::Timeout) => out.flush(),
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
        };
        if let Err(error) = written {
            metrics.log_line_lost();
            if !failing {
                tracing::warn!(%error, "cannot write the access log");
            }
            failing = true;
        }
    }
    if let Err(error) = out.flush() {
        tracing::warn!(%error, "cannot write the access log");
    }
}

fn write_line(out: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// As the log and the results store count time.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
