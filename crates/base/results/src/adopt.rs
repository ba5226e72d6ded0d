//! Copies runs from another results database, such as that of a far host. It knows that records have the
//! number of their run, not their content.
//!
//! The other file is untrusted: only ordinary tables are read from it, by our own column names, and no code
//! in it runs.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use weir_record::{RunId, Table};

use crate::error::StoreError;
use crate::store::Store;

/// Maximum number of runs copied from one file: a survey has some twenty.
const MOST_RUNS: i64 = 1_000;

impl Store {
    /// Copies the runs of the database at `other`, with their records, into this one. Top-level runs there become
    /// parts of `parent`, with `target` as their far host; returns their new numbers. Runs in the other
    /// file whose process died are marked as interrupted.
    ///
    /// # Errors
    /// When the other file is not a results database of this version, `parent` does not exist, or one
    /// of the two cannot be read or written. Nothing is copied then.
    pub fn adopt(&self, other: &Path, parent: RunId, target: &str) -> Result<Vec<RunId>, StoreError> {
        // It refuses other databases, and marks runs that nobody ended.
        drop(Store::open_existing(other)?);
        attached(&self.connection, other, || {
            copy(&self.connection, parent, target).map_err(StoreError::at("copy the runs", &self.path))
        })
    }
}

/// Does `work` with the database at `other` as the schema `other`. No code in its schema runs.
pub(crate) fn attached<T>(
    connection: &Connection,
    other: &Path,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let name = other.to_string_lossy();
    connection
        .execute_batch("PRAGMA trusted_schema = OFF")
        .and_then(|()| connection.execute("ATTACH DATABASE ?1 AS other", [&*name]))
        .map_err(StoreError::at("read the runs", other))?;
    let done = work();
    let detached = connection.execute_batch("DETACH DATABASE other");
    let done = done?;
    detached.map_err(StoreError::at("close", other))?;
    Ok(done)
}

fn copy(connection: &Connection, parent: RunId, target: &str) -> rusqlite::Result<Vec<RunId>> {
    let transaction = connection.unchecked_transaction()?;
    let mut tops = Vec::new();
    if is_table(connection, "runs")? {
        let numbers = copy_runs(connection, parent, target, &mut tops)?;
        for table in Table::ALL.map(|table| table.to_string()) {
            if is_table(connection, &table)? {
                copy_records(connection, &table, &numbers)?;
            }
        }
    }
    transaction.commit()?;
    Ok(tops)
}

/// Whether the other database has an ordinary table of this name, not a view or a virtual table.
pub(crate) fn is_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM other.sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ?1";
    let found: Option<i64> = connection.query_row(sql, [name], |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

/// The columns of one of our tables that the other database has, too, besides its own key and the numbers of runs, separated by
/// commas.
pub(crate) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(
        "SELECT name FROM pragma_table_info(?1, 'main')
         WHERE name IN (SELECT name FROM pragma_table_info(?1, 'other'))",
    )?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let kept = |name: &&String| !["id", "run_id", "parent_run_id"].contains(&name.as_str());
    Ok(names
        .iter()
        .filter(kept)
        .cloned()
        .collect::<Vec<String>>()
        .join(", "))
}

/// Copies the runs, parents before their parts; returns the new number of each.
fn copy_runs(
    connection: &Connection,
    parent: RunId,
    target: &str,
    tops: &mut Vec<RunId>,
) -> rusqlite::Result<BTreeMap<i64, i64>> {
    let rest = columns(connection, "runs")?;
    let mut statement =
        connection.prepare("SELECT run_id, parent_run_id FROM other.runs ORDER BY run_id LIMIT ?1")?;
    let runs = statement.query_map([MOST_RUNS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let runs: Vec<(i64, Option<i64>)> = runs.collect::<rusqlite::Result<_>>()?;
    let insert = format!(
        "INSERT INTO main.runs (parent_run_id, {rest}) SELECT ?1, {rest} FROM other.runs WHERE run_id = ?2"
    );
    let mut numbers = BTreeMap::new();
    for (old, above) in runs {
        // A part has a higher number than its parent.
        let known = above.and_then(|above| numbers.get(&above).copied());
        connection.execute(&insert, params![known.unwrap_or(parent.0), old])?;
        let new = connection.last_insert_rowid();
        numbers.insert(old, new);
        if known.is_none() {
            connection.execute(
                "UPDATE main.runs SET target = ?1 WHERE run_id = ?2",
                params![target, new],
            )?;
            tops.push(RunId(new));
        }
    }
    Ok(numbers)
}

fn copy_records(connection: &Connection, table: &str, numbers: &BTreeMap<i64, i64>) -> rusqlite::Result<()> {
    let rest = columns(connection, table)?;
    let sql = format!(
        "INSERT INTO main.{table} (run_id, {rest}) SELECT ?1, {rest} FROM other.{table} WHERE run_id = ?2 ORDER BY id"
    );
    let mut statement = connection.prepare(&sql)?;
    for (old, new) in numbers {
        statement.execute(params![new, old])?;
    }
    Ok(())
}
