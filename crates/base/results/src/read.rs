//! Reads runs and their records back, and deletes runs. It knows the tables, not what the numbers mean.

use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_record::{Record, RunId, Table};

use crate::columns::{Columns, clamped};
use crate::error::StoreError;
use crate::notes::tags_from_column;
use crate::statements;
use crate::store::{HEARTBEAT_LIMIT_NS, Outcome, Store, now_unix_ns, show_abandoned};

/// A row of `runs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number.
    #[serde(rename = "run_id")]
    pub id: RunId,
    /// The run that it is a part of.
    #[serde(rename = "parent_run_id")]
    pub parent: Option<RunId>,
    /// What it measured.
    pub kind: String,
    /// The far host, as the user named it.
    pub target: String,
    /// When it began, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// When it ended; none while it runs.
    pub ended_unix_ns: Option<u64>,
    /// Last heartbeat: for a killed run, the end of the stored records.
    pub last_unix_ns: u64,
    /// Its outcome; a run without a heartbeat shows as interrupted even before it is marked so.
    pub outcome: Outcome,
    /// Why it failed or was interrupted.
    pub reason: Option<String>,
    /// Facts of the host that ran the command.
    pub local_host: Value,
    /// Facts of the agent's host.
    pub remote_host: Value,
    /// All parameters.
    pub parameters: Value,
    /// Summary; null until the run ends.
    pub summary: Value,
    /// Version of the Weir that measured.
    pub weir_version: String,
    /// Records that were merged into others because the writer fell behind.
    pub merged_records: u64,
    /// Records that were dropped because the writer fell further behind.
    pub lost_records: u64,
    /// What the user wrote about it; may be empty.
    #[serde(default)]
    pub note: String,
    /// The user's tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Run {
    /// Whether it was made in virtual time, over a link that its hosts name.
    pub fn is_simulated(&self) -> bool {
        self.lab_link().is_some_and(|link| link.starts_with("simulated "))
    }

    /// The emulated or simulated link that it was made over; none for a real network.
    pub fn lab_link(&self) -> Option<&str> {
        self.local_host.get("lab_link")?.as_str()
    }
}

/// Filter of runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs of these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only the parts of this run.
    pub parent: Option<RunId>,
    /// Only runs that are not part of another.
    pub top_level: bool,
    /// Only runs that began before this time, Unix nanoseconds.
    pub started_before_unix_ns: Option<u64>,
    /// At most this many, the latest ones.
    pub limit: Option<usize>,
}

/// Start of a statement that selects run `?1` and all runs below it: `parts`.
pub(crate) const WITH_PARTS: &str = "WITH RECURSIVE parts (run_id) AS (
    SELECT ?1 UNION SELECT runs.run_id FROM runs JOIN parts ON runs.parent_run_id = parts.run_id
)";

impl Store {
    /// Runs, the latest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        let mut sql = String::from("SELECT * FROM runs WHERE true");
        let mut values: Vec<rusqlite::types::Value> = Vec::new();
        if !filter.kinds.is_empty() {
            sql.push_str(&format!(
                " AND kind IN (?{})",
                ", ?".repeat(filter.kinds.len() - 1)
            ));
            values.extend(filter.kinds.iter().cloned().map(Into::into));
        }
        if let Some(parent) = filter.parent {
            sql.push_str(" AND parent_run_id = ?");
            values.push(parent.0.into());
        }
        if filter.top_level {
            sql.push_str(" AND parent_run_id IS NULL");
        }
        if let Some(unix_ns) = filter.started_before_unix_ns {
            sql.push_str(" AND started_unix_ns < ?");
            values.push(clamped(unix_ns).into());
        }
        sql.push_str(" ORDER BY started_unix_ns DESC, run_id DESC LIMIT ?");
        // A negative limit means none in SQLite.
        values.push(filter.limit.map_or(-1, |limit| clamped(limit as u64)).into());
        let failed = || StoreError::at("list the runs", &self.path);
        let mut statement = self.connection.prepare(&sql).map_err(failed())?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed())?;
        let mut runs = Vec::new();
        while let Some(row) = rows.next().map_err(failed())? {
            runs.push(self.read_run(row)?);
        }
        Ok(runs)
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Result<Run, StoreError> {
        let failed = || StoreError::at("read the run", &self.path);
        let sql = "SELECT * FROM runs WHERE run_id = ?1";
        let mut statement = self.connection.prepare(sql).map_err(failed())?;
        let mut rows = statement.query([run.0]).map_err(failed())?;
        match rows.next().map_err(failed())? {
            Some(row) => self.read_run(row),
            None => Err(StoreError::RunNotFound {
                path: self.path.clone(),
                run,
            }),
        }
    }

    fn read_run(&self, row: &Row<'_>) -> Result<Run, StoreError> {
        run_from_row(row).map_err(|error| {
            // The primary key, which is a number in any row.
            let run = RunId(row.get("run_id").unwrap_or_default());
            StoreError::at_value("read the run", &self.path, run, "runs", row)(error)
        })
    }

    /// Number of rows of a run in each table, including 0.
    pub fn counts(&self, run: RunId) -> Result<Vec<(Table, u64)>, StoreError> {
        self.run(run)?;
        let counts = Table::ALL
            .into_iter()
            .map(|table| Ok((table, self.count(run, table)?)));
        counts.collect()
    }

    /// Passes the records of one table of a run to `visit`, one at a time, in the order in which they were
    /// stored; stops at the first error that `visit` returns.
    pub fn each_record<E: From<StoreError>>(
        &self,
        run: RunId,
        table: Table,
        visit: impl FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_row_of(run, table, &statements::select(table), visit)
    }

    /// Passes the rows that `sql` selects, in the columns of `table`, to `visit`.
    pub(crate) fn each_row_of<E: From<StoreError>>(
        &self,
        run: RunId,
        table: Table,
        sql: &str,
        mut visit: impl FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        const READ: &str = "read the records of the run";
        let failed = || StoreError::at(READ, &self.path);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
        let mut rows = statement.query([run.0]).map_err(failed())?;
        while let Some(row) = rows.next().map_err(failed())? {
            let record = Columns::of(row)
                .record(table)
                .map_err(|error| StoreError::at_value(READ, &self.path, run, table.name(), row)(error))?;
            visit(record)?;
        }
        Ok(())
    }

    /// All records of a run, table by table in the order of [`Table::ALL`]. Holds them all in memory: for a
    /// long run use [`each_record`](Store::each_record).
    pub fn records(&self, run: RunId) -> Result<Vec<Record>, StoreError> {
        self.run(run)?;
        let mut records = Vec::new();
        for table in Table::ALL {
            self.each_record(run, table, |record| {
                records.push(record);
                Ok::<(), StoreError>(())
            })?;
        }
        Ok(records)
    }

    /// Deletes a run with all its records and its parts. A run that is being recorded is refused.
    pub fn delete_run(&self, run: RunId) -> Result<(), StoreError> {
        self.delete_runs(&[run])
    }

    /// Deletes several runs, all or none.
    pub fn delete_runs(&self, runs: &[RunId]) -> Result<(), StoreError> {
        let failed = || StoreError::at("delete the run", &self.path);
        // Locks first, so that no run starts a part between the check and the deletion.
        let transaction =
            rusqlite::Transaction::new_unchecked(&self.connection, rusqlite::TransactionBehavior::Immediate)
                .map_err(failed())?;
        for run in runs {
            self.refuse_recorded(*run)?;
        }
        for run in runs {
            // May delete nothing: parts are deleted with the run above them.
            transaction
                .execute("DELETE FROM runs WHERE run_id = ?1", [run.0])
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())
    }

    /// An error where a run does not exist, or where it or a part of it is being recorded.
    pub(crate) fn refuse_recorded(&self, run: RunId) -> Result<(), StoreError> {
        self.run(run)?;
        let alive = self
            .connection
            .query_row(
                &format!(
                    "{WITH_PARTS} SELECT run_id FROM runs
                     WHERE run_id IN (SELECT run_id FROM parts) AND outcome = 'running' AND last_unix_ns >= ?2"
                ),
                [run.0, clamped(now_unix_ns().saturating_sub(HEARTBEAT_LIMIT_NS))],
                |row| row.get(0),
            )
            .optional()
            .map_err(StoreError::at("delete the run", &self.path))?;
        match alive {
            Some(alive) => Err(StoreError::StillRunning {
                path: self.path.clone(),
                run: RunId(alive),
            }),
            None => Ok(()),
        }
    }
}

fn run_from_row(row: &Row<'_>) -> rusqlite::Result<Run> {
    let json = |column| {
        let text: Option<String> = row.get(column)?;
        // Invalid JSON, edited by hand, is shown rather than refused.
        Ok::<Value, rusqlite::Error>(match text {
            None => Value::Null,
            Some(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    };
    let mut run = Run {
        id: RunId(row.get("run_id")?),
        parent: row.get::<_, Option<i64>>("parent_run_id")?.map(RunId),
        kind: row.get("kind")?,
        target: row.get("target")?,
        started_unix_ns: row.get("started_unix_ns")?,
        ended_unix_ns: row.get("ended_unix_ns")?,
        last_unix_ns: row.get("last_unix_ns")?,
        outcome: Outcome::from_column(&row.get::<_, String>("outcome")?),
        reason: row.get("reason")?,
        local_host: json("local_host")?,
        remote_host: json("remote_host")?,
        parameters: json("parameters")?,
        summary: json("summary")?,
        weir_version: row.get("weir_version")?,
        merged_records: row.get("merged_records")?,
        lost_records: row.get("lost_records")?,
        note: row.get("note")?,
        tags: tags_from_column(row.get("tags")?),
    };
    show_abandoned(
        run.last_unix_ns,
        &mut run.outcome,
        &mut run.ended_unix_ns,
        &mut run.reason,
    );
    Ok(run)
}
