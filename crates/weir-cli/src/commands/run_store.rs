//! One run in the results store, from its first row to how it ended.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;
use weir_measure::{Progress, Sink, Stop};
use weir_net::clock;
use weir_results::{NewRun, Outcome, Record, Recorder, RunId, Store, Writer, WriterHandle};

use super::Failure;
use super::progress::ProgressLine;

/// The database of a command.
pub struct RunStore {
    path: PathBuf,
    store: Store,
}

impl RunStore {
    /// Opens or makes the database.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(RunStore {
            path: path.to_owned(),
            store: Store::open(path)?,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store itself, to read from.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Begins a run without rows of its own, which other runs are part of.
    pub fn begin_parent(&self, run: &NewRun) -> Result<RunId, Failure> {
        Ok(self.store.begin_run(run)?)
    }

    /// Notes the far host.
    pub fn set_remote_host(&self, run: RunId, host: &impl Serialize) -> Result<(), Failure> {
        Ok(self.store.set_remote_host(run, &json(host))?)
    }

    /// Ends a run.
    pub fn end(&self, run: RunId, end: &Ended, summary: &Value) -> Result<(), Failure> {
        Ok(self
            .store
            .end_run(run, end.outcome, end.reason.as_deref(), clock::unix_ns(), summary)?)
    }

    /// Begins a run and its writer.
    pub fn begin(&self, run: &NewRun, title: &str, quiet: bool) -> Result<OpenRun<'_>, Failure> {
        let id = self.store.begin_run(run)?;
        let (recorder, writer) = Writer::spawn(&self.path, id)?;
        let progress = ProgressLine::new(title, quiet);
        Ok(OpenRun {
            store: self,
            id,
            recorder,
            writer,
            progress,
            warned: AtomicBool::new(false),
        })
    }
}

/// How a run ended.
pub struct Ended {
    outcome: Outcome,
    reason: Option<String>,
}

impl Ended {
    /// From what the run gave and whether it was told to stop.
    pub fn of<T>(result: &Result<T, impl Display>, stop: &Stop) -> Self {
        match result {
            Err(error) => Ended::failed(error),
            Ok(_) if stop.is_set() => Ended::interrupted(),
            Ok(_) => Ended::finished(),
        }
    }

    /// Of a run that went through.
    pub fn finished() -> Self {
        Ended {
            outcome: Outcome::Finished,
            reason: None,
        }
    }

    /// Of a run that was told to stop.
    pub fn interrupted() -> Self {
        Ended {
            outcome: Outcome::Interrupted,
            reason: None,
        }
    }

    /// By an error.
    pub fn failed(error: &impl Display) -> Self {
        Ended {
            outcome: Outcome::Failed,
            reason: Some(error.to_string()),
        }
    }

    /// As the store names it.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// A run that is being measured. It takes the records.
pub struct OpenRun<'a> {
    store: &'a RunStore,
    id: RunId,
    recorder: Recorder,
    writer: WriterHandle,
    progress: ProgressLine,
    warned: AtomicBool,
}

impl OpenRun<'_> {
    /// Its number.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Notes the far host.
    pub fn set_remote_host(&self, host: &impl Serialize) -> Result<(), Failure> {
        self.store.set_remote_host(self.id, host)
    }

    /// Writes what is left and ends the run. The error, if there is one, is the store's: the measurement's own
    /// result is the caller's to report either way.
    pub fn finish(self, end: &Ended, summary: &Value) -> Result<Stored, Failure> {
        let OpenRun {
            store,
            id,
            recorder,
            writer,
            progress,
            ..
        } = self;
        drop(recorder);
        drop(progress);
        let written = writer.finish().map_err(Failure::from);
        let ended = store.end(id, end, summary);
        let report = written?;
        ended?;
        Ok(Stored {
            merged: report.merged,
            lost: report.lost,
        })
    }
}

/// What the store could not keep as it came.
pub struct Stored {
    /// Records that were merged because the writer fell behind.
    pub merged: u64,
    /// Records that could not be kept.
    pub lost: u64,
}

impl Sink for OpenRun<'_> {
    fn record(&self, record: Record) {
        self.recorder.record(record);
    }

    fn progress(&self, progress: Progress) {
        self.progress.show(&progress);
        if let Some(problem) = self.writer.failure()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            self.progress.say(&format!("weir: warning: {problem}"));
        }
    }
}

/// A value as the store keeps it.
pub fn json(value: &impl Serialize) -> Value {
    // Plain data of our own always serialises; null would only leave the column empty.
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A run that begins now.
pub fn new_run(kind: &str, target: &str, parameters: &impl Serialize, local_host: &impl Serialize) -> NewRun {
    NewRun {
        kind: kind.to_owned(),
        target: target.to_owned(),
        parameters: json(parameters),
        local_host: json(local_host),
        started_unix_ns: clock::unix_ns(),
        weir_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..NewRun::default()
    }
}
