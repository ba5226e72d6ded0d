//! Reads runs and their records back, and deletes runs. It knows the tables, not what the numbers mean.

use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cells::clamped;
use crate::error::StoreError;
use crate::notes::tags_from_column;
use crate::record::Record;
use crate::rows::from_row;
use crate::store::{ABANDONED, HEARTBEAT_LIMIT_NS, Outcome, RunId, Store, is_abandoned, now_unix_ns};
use crate::table::Table;

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
    /// Last heartbeat: at a killed run, the end of what is stored.
    pub last_unix_ns: u64,
    /// How it stands; a run without a heartbeat shows as interrupted even before anybody marks it so.
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
    /// Words that the user tagged it with.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs of these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only the parts of this run.
    pub parent: Option<RunId>,
    /// Only runs that are no part of another.
    pub top_level: bool,
    /// Only runs that began before this time, Unix nanoseconds.
    pub started_before_unix_ns: Option<u64>,
    /// At most this many, the latest ones.
    pub limit: Option<usize>,
}

const RUN_COLUMNS: &str = "run_id, parent_run_id, kind, target, started_unix_ns, ended_unix_ns, last_unix_ns, \
                           outcome, reason, local_host, remote_host, parameters, summary, weir_version, \
                           merged_records, lost_records, note, tags";

/// The beginning of a statement that asks for run `?1` and all below it: `parts`.
pub(crate) const WITH_PARTS: &str = "WITH RECURSIVE parts (run_id) AS (
    SELECT ?1 UNION SELECT runs.run_id FROM runs JOIN parts ON runs.parent_run_id = parts.run_id
)";

impl Store {
    /// Runs, the latest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        let mut sql = format!("SELECT {RUN_COLUMNS} FROM runs WHERE true");
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
        // SQLite takes a negative limit as none.
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
        let sql = format!("SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?1");
        let mut statement = self.connection.prepare(&sql).map_err(failed())?;
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
            // The first of the columns; the file's own key, so that it is a number in any row.
            let run = RunId(row.get(0).unwrap_or_default());
            StoreError::at_value("read the run", &self.path, run, "runs", row)(error)
        })
    }

    /// How many rows each table holds of a run, tables without any included.
    pub fn counts(&self, run: RunId) -> Result<Vec<(Table, u64)>, StoreError> {
        self.run(run)?;
        Table::ALL
            .into_iter()
            .map(|table| {
                let sql = format!("SELECT count(*) FROM {table} WHERE run_id = ?1");
                Ok((table, self.connection.query_row(&sql, [run.0], |row| row.get(0))?))
            })
            .collect::<rusqlite::Result<_>>()
            .map_err(StoreError::at("count the records of the run", &self.path))
    }

    /// Hands the records of one table of a run to `visit`, one at a time, in the order in which they were
    /// stored; stops at the first error that `visit` returns.
    pub fn each_record<E: From<StoreError>>(
        &self,
        run: RunId,
        table: Table,
        visit: impl FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_row_of(run, table, &table.select_sql(), visit)
    }

    /// Hands what `sql` selects, in the columns of `table` and of one run, to `visit`.
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
            let record = from_row(table, row)
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
        // Locks first, so that no run starts a part between the look and the deletion.
        let transaction =
            rusqlite::Transaction::new_unchecked(&self.connection, rusqlite::TransactionBehavior::Immediate)
                .map_err(failed())?;
        for run in runs {
            self.refuse_recorded(*run)?;
        }
        for run in runs {
            // May delete nothing: a part goes with the run above it.
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
    let json = |index| {
        let text: Option<String> = row.get(index)?;
        // Text that is not JSON was put there by hand; it is still better shown than refused.
        Ok::<Value, rusqlite::Error>(match text {
            None => Value::Null,
            Some(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    };
    let mut run = Run {
        id: RunId(row.get(0)?),
        parent: row.get::<_, Option<i64>>(1)?.map(RunId),
        kind: row.get(2)?,
        target: row.get(3)?,
        started_unix_ns: row.get(4)?,
        ended_unix_ns: row.get(5)?,
        last_unix_ns: row.get(6)?,
        outcome: Outcome::from_column(&row.get::<_, String>(7)?),
        reason: row.get(8)?,
        local_host: json(9)?,
        remote_host: json(10)?,
        parameters: json(11)?,
        summary: json(12)?,
        weir_version: row.get(13)?,
        merged_records: row.get(14)?,
        lost_records: row.get(15)?,
        note: row.get(16)?,
        tags: tags_from_column(row.get(17)?),
    };
    if is_abandoned(run.outcome, run.last_unix_ns) {
        run.outcome = Outcome::Interrupted;
        run.ended_unix_ns = Some(run.last_unix_ns);
        run.reason = Some(ABANDONED.to_string());
    }
    Ok(run)
}
