//! An open results database: begins and ends runs, and detects those whose process died. It knows that a run
//! has a heartbeat, not what is measured in it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_record::RunId;

use crate::columns::clamped;
use crate::error::StoreError;
use crate::schema::{self, Mode};

/// A run whose heartbeat is older than this, in nanoseconds, is no longer being recorded.
pub const HEARTBEAT_LIMIT_NS: u64 = 10_000_000_000;

/// The reason of a run that another process marked. The run's own writer may still revoke the mark.
const ABANDONED: &str = "the process that recorded the run stopped without ending it";

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Still being recorded.
    Running,
    /// Ran to its end.
    Finished,
    /// Stopped early, by the user or because its process died; the measured records are stored.
    Interrupted,
    /// Failed; `reason` says why.
    Failed,
}

impl Outcome {
    /// Its value in the `outcome` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Running => "running",
            Outcome::Finished => "finished",
            Outcome::Interrupted => "interrupted",
            Outcome::Failed => "failed",
        }
    }

    pub(crate) fn from_column(word: &str) -> Outcome {
        // The table's CHECK admits only these four.
        match word {
            "running" => Outcome::Running,
            "finished" => Outcome::Finished,
            "interrupted" => Outcome::Interrupted,
            _ => Outcome::Failed,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Parameters of a new run.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// What it measures: `rtt`, `flows`, `survey` and so on.
    pub kind: String,
    /// The far host, as the user named it.
    pub target: String,
    /// The run that this one is a part of.
    pub parent: Option<RunId>,
    /// All parameters, as an object; null if none.
    pub parameters: Value,
    /// Facts of the host that runs the command; null if unknown.
    pub local_host: Value,
    /// When it began, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// Version of the Weir that measures.
    pub weir_version: String,
}

/// An open results database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

impl Store {
    /// Opens for writing; creates the file if needed.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Store::open_in(path.as_ref(), Mode::Create)
    }

    /// Opens for writing a file that exists.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Store::open_in(path.as_ref(), Mode::Write)
    }

    /// Opens an existing file for reading. Others may write to it meanwhile.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Store::open_in(path.as_ref(), Mode::Read)
    }

    fn open_in(path: &Path, mode: Mode) -> Result<Store, StoreError> {
        let store = Store {
            connection: schema::open(path, mode)?,
            path: path.to_path_buf(),
        };
        if mode != Mode::Read {
            store.mark_abandoned()?;
        }
        Ok(store)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Marks runs without a heartbeat as interrupted, at the time of the last heartbeat.
    fn mark_abandoned(&self) -> Result<(), StoreError> {
        let oldest_alive = clamped(now_unix_ns().saturating_sub(HEARTBEAT_LIMIT_NS));
        let mark = || {
            // Queries first, so that opening takes no write lock if there is nothing to mark.
            let any: bool = self.connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM runs WHERE outcome = 'running' AND last_unix_ns < ?1)",
                [oldest_alive],
                |row| row.get(0),
            )?;
            if any {
                self.connection.execute(
                    "UPDATE runs SET outcome = 'interrupted', ended_unix_ns = last_unix_ns, reason = ?2
                     WHERE outcome = 'running' AND last_unix_ns < ?1",
                    params![oldest_alive, ABANDONED],
                )?;
            }
            Ok(())
        };
        mark().map_err(StoreError::at("mark interrupted runs", &self.path))
    }

    /// Stores a new run as running. Give it a [`Writer`](crate::Writer), or call
    /// [`heartbeat`](Store::heartbeat) at least every few seconds, until it ends.
    pub fn begin_run(&self, new: &NewRun) -> Result<RunId, StoreError> {
        // The heartbeat uses this host's clock, not the caller's start time.
        self.connection
            .execute(
                "INSERT INTO runs (parent_run_id, kind, target, started_unix_ns, last_unix_ns, outcome,
                                   local_host, parameters, weir_version)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8)",
                params![
                    new.parent.map(|parent| parent.0),
                    new.kind,
                    new.target,
                    clamped(new.started_unix_ns),
                    clamped(now_unix_ns()),
                    json_column(&new.local_host),
                    json_column(&new.parameters),
                    new.weir_version,
                ],
            )
            .map_err(StoreError::at("begin a run", &self.path))?;
        Ok(RunId(self.connection.last_insert_rowid()))
    }

    /// Stores the facts of the agent's host, known once the session is set up.
    pub fn set_remote_host(&self, run: RunId, facts: &Value) -> Result<(), StoreError> {
        let changed = self
            .connection
            .execute(
                "UPDATE runs SET remote_host = ?2 WHERE run_id = ?1",
                params![run.0, json_column(facts)],
            )
            .map_err(StoreError::at("store the far host's facts", &self.path))?;
        self.expect_run(run, changed)
    }

    /// Stores a heartbeat of the run. A [`Writer`](crate::Writer) does this for its run and for the runs
    /// above it; a run that has neither a writer nor a part with one needs this call.
    pub fn heartbeat(&self, run: RunId) -> Result<(), StoreError> {
        beat(&self.connection, run, now_unix_ns())
            .map_err(StoreError::at("store the run's heartbeat", &self.path))?;
        Ok(())
    }

    /// Stores the outcome of a run, its end (Unix nanoseconds), and its summary. `reason` says why it failed or was
    /// interrupted. Call it after [`WriterHandle::finish`](crate::WriterHandle::finish).
    pub fn end_run(
        &self,
        run: RunId,
        outcome: Outcome,
        reason: Option<&str>,
        ended_unix_ns: u64,
        summary: &Value,
    ) -> Result<(), StoreError> {
        if outcome == Outcome::Running {
            return Err(StoreError::NotAnEnd { run });
        }
        let changed = self
            .connection
            .execute(
                // Not before its start, if the clock was set back.
                "UPDATE runs SET outcome = ?2, reason = ?3, ended_unix_ns = max(?4, started_unix_ns), summary = ?5,
                                 last_unix_ns = ?4
                 WHERE run_id = ?1",
                params![
                    run.0,
                    outcome.as_str(),
                    reason,
                    clamped(ended_unix_ns),
                    json_column(summary),
                ],
            )
            .map_err(StoreError::at("end the run", &self.path))?;
        self.expect_run(run, changed)
    }

    /// Marks a run that ended, or whose process died, as running again, to resume it.
    ///
    /// # Errors
    /// When the run does not exist or the database cannot be written.
    pub fn take_up_run(&self, run: RunId) -> Result<(), StoreError> {
        let changed = self
            .connection
            .execute(
                "UPDATE runs SET outcome = 'running', ended_unix_ns = NULL, reason = NULL, last_unix_ns = ?2
                 WHERE run_id = ?1",
                params![run.0, clamped(now_unix_ns())],
            )
            .map_err(StoreError::at("resume the run", &self.path))?;
        self.expect_run(run, changed)
    }

    pub(crate) fn expect_run(&self, run: RunId, rows: usize) -> Result<(), StoreError> {
        if rows == 0 {
            Err(StoreError::RunNotFound {
                path: self.path.clone(),
                run,
            })
        } else {
            Ok(())
        }
    }
}

/// Sets the heartbeat of a run and of the runs above it. A run that was marked as interrupted is
/// running again; a run that ended stays ended.
pub(crate) fn beat(connection: &Connection, run: RunId, unix_ns: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "WITH RECURSIVE line (run_id) AS (
                 SELECT ?1
                 UNION
                 SELECT runs.parent_run_id FROM runs JOIN line USING (run_id)
                 WHERE runs.parent_run_id IS NOT NULL
             )
             UPDATE runs SET last_unix_ns = ?2, outcome = 'running', ended_unix_ns = NULL, reason = NULL
             WHERE run_id IN (SELECT run_id FROM line)
               AND (outcome = 'running' OR (outcome = 'interrupted' AND reason IS ?3))",
        )?
        .execute(params![run.0, clamped(unix_ns), ABANDONED])?;
    Ok(())
}

/// Shows a run that is stored as running but has no heartbeat any more as interrupted at the last one.
pub(crate) fn show_abandoned(
    last_unix_ns: u64,
    outcome: &mut Outcome,
    ended_unix_ns: &mut Option<u64>,
    reason: &mut Option<String>,
) {
    if *outcome == Outcome::Running && last_unix_ns < now_unix_ns().saturating_sub(HEARTBEAT_LIMIT_NS) {
        *outcome = Outcome::Interrupted;
        *ended_unix_ns = Some(last_unix_ns);
        *reason = Some(ABANDONED.to_string());
    }
}

/// This host's clock, Unix nanoseconds; 0 if it is before 1970.
pub(crate) fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// JSON text for a column; NULL for null, so that SQL finds unknown values with `IS NULL`.
fn json_column(value: &Value) -> Option<String> {
    if value.is_null() {
        None
    } else {
        Some(value.to_string())
    }
}
