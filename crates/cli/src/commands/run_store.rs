//! One run in the results store, from its first row to its outcome.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::args::RunName;
use serde::Serialize;
use serde_json::Value;
use weir_measure::{Progress, Sink, Stop};
use weir_net::clock;
use weir_results::{NewRun, Outcome, Record, Recorder, RunFilter, RunId, Store, Writer, WriterHandle};

use super::Failure;
use super::progress::ProgressLine;

/// The database of a command.
pub struct RunStore {
    path: PathBuf,
    store: Store,
}

impl RunStore {
    /// Opens or creates the database.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(RunStore {
            path: path.to_owned(),
            store: Store::open(path)?,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Starts a run without rows, as the parent of other runs.
    pub fn begin_parent(&self, run: &NewRun) -> Result<RunId, Failure> {
        Ok(self.store.begin_run(run)?)
    }

    /// Stores the facts of the far host.
    pub fn set_remote_host(&self, run: RunId, host: &impl Serialize) -> Result<(), Failure> {
        Ok(self.store.set_remote_host(run, &json(host))?)
    }

    /// Finishes a run.
    pub fn end(&self, run: RunId, end: &Ended, summary: &Value) -> Result<(), Failure> {
        Ok(self
            .store
            .end_run(run, end.outcome, end.reason.as_deref(), clock::unix_ns(), summary)?)
    }

    /// Starts a run and its writer.
    pub fn begin(&self, run: &NewRun, title: &str, quiet: bool) -> Result<OpenRun<'_>, Failure> {
        let id = self.store.begin_run(run)?;
        self.open_run(id, title, quiet)
    }

    /// Continues a run that was interrupted.
    pub fn resume(&self, run: RunId, title: &str, quiet: bool) -> Result<OpenRun<'_>, Failure> {
        self.store.take_up_run(run)?;
        self.open_run(run, title, quiet)
    }

    fn open_run(&self, id: RunId, title: &str, quiet: bool) -> Result<OpenRun<'_>, Failure> {
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

/// Outcome of a run.
pub struct Ended {
    outcome: Outcome,
    reason: Option<String>,
}

impl Ended {
    /// From the run's result and whether a stop was requested.
    pub fn of<T>(result: &Result<T, impl Display>, stop: &Stop) -> Self {
        match result {
            Err(error) => Ended::failed(error),
            Ok(_) if stop.is_set() => Ended::interrupted(),
            Ok(_) => Ended::finished(),
        }
    }

    /// A completed run.
    pub fn finished() -> Self {
        Ended {
            outcome: Outcome::Finished,
            reason: None,
        }
    }

    /// A run stopped on request.
    pub fn interrupted() -> Self {
        Ended {
            outcome: Outcome::Interrupted,
            reason: None,
        }
    }

    /// An error.
    pub fn failed(error: &impl Display) -> Self {
        Ended {
            outcome: Outcome::Failed,
            reason: Some(error.to_string()),
        }
    }

    /// Its name in the store.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// A run in progress, which receives records.
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

    /// Stores the facts of the far host.
    pub fn set_remote_host(&self, host: &impl Serialize) -> Result<(), Failure> {
        self.store.set_remote_host(self.id, host)
    }

    /// Writes pending records and finishes the run. An error is the store's; the caller reports the result of the
    /// measurement in either case.
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
        // A list diagnoses again what is not stored.
        let _ = weir_diagnose::record_verdict(&store.store, id);
        Ok(Stored {
            merged: report.merged,
            lost: report.lost,
        })
    }
}

/// Records that the store merged or dropped.
pub struct Stored {
    /// Records that were merged because the writer fell behind.
    merged: u64,
    /// Records that were dropped.
    lost: u64,
}

impl Stored {
    /// Notes about rows that the store merged or dropped.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.merged > 0 {
            notes.push(format!(
                "the disk was slow: {} rows of seconds were merged",
                self.merged
            ));
        }
        if self.lost > 0 {
            notes.push(format!("the disk was slow: {} rows were dropped", self.lost));
        }
        notes
    }
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

/// A value as stored.
pub fn json(value: &impl Serialize) -> Value {
    // Plain data always serialises; null would leave the column empty.
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A run that starts now.
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

/// The run that a name means.
pub fn find(store: &Store, name: RunName) -> Result<RunId, Failure> {
    match name {
        RunName::Number(number) => Ok(RunId(number)),
        RunName::Last => {
            let newest = store.runs(&RunFilter {
                limit: Some(1),
                top_level: true,
                ..RunFilter::default()
            })?;
            newest.first().map(|run| run.id).ok_or_else(|| {
                Failure::usage(format!(
                    "{} holds no runs yet; 'weir survey HOST' makes one",
                    store.path().display()
                ))
            })
        }
    }
}
