//! Adds what another watcher keeps to this database: paths with their cells, changes, counts and events, and the runs of its
//! watchers with their parts. It knows rows and how they add up, not what was measured.
//!
//! A cell that both have is the sum of both, bucket by bucket, so that quantiles are those of all packets together. This holds if
//! each database is added once: one that was added before is refused.
//!
//! The other file is untrusted: only ordinary tables are read from it, by our own column names, and no code in it runs.

use std::path::Path;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Transaction, params};
use weir_record::{RunId, Table};
use weir_stats::CompactHistogram;

use crate::adopt::{attached, columns, is_table};
use crate::error::StoreError;
use crate::store::Store;

/// The runs of watchers in the other database and all below them, with the numbers that they have there.
const RUNS: &str = "CREATE TEMP TABLE added_runs AS
    WITH RECURSIVE added (run_id) AS (
        SELECT run_id FROM other.runs WHERE kind = 'watch'
        UNION
        SELECT part.run_id FROM other.runs AS part JOIN added ON part.parent_run_id = added.run_id
    )
    SELECT run_id FROM added";

/// Its paths, with the numbers that they have there and here.
const PATHS: &str = "CREATE TEMP TABLE added_paths AS
    SELECT theirs.path_id AS there, ours.path_id AS here
    FROM other.watch_paths AS theirs JOIN main.watch_paths AS ours USING (near, far)";

const CELLS: &str =
    "INSERT INTO main.watch_cells (path_id, span_s, start_s, sent, lost, duplicates, hops, rtt)
    SELECT here, span_s, start_s, sent, lost, duplicates, hops, rtt
    FROM added_paths JOIN other.watch_cells ON path_id = there WHERE true
    ON CONFLICT DO UPDATE SET sent = sent + excluded.sent, lost = lost + excluded.lost,
        duplicates = duplicates + excluded.duplicates, hops = coalesce(excluded.hops, hops),
        rtt = weir_sum_of_distributions(rtt, excluded.rtt)";

const COUNTS: &str = "INSERT INTO main.watch_counts (path_id, event, day_s, watched_s, events)
    SELECT here, event, day_s, watched_s, events FROM added_paths JOIN other.watch_counts ON path_id = there WHERE true
    ON CONFLICT DO UPDATE SET watched_s = watched_s + excluded.watched_s, events = events + excluded.events";

const EXCLUDED: &str = "INSERT OR IGNORE INTO main.watch_excluded (near, start_s, cause, value)
    SELECT near, start_s, cause, value FROM other.watch_excluded";

const EVENTS: &str = "INSERT INTO main.watch_events (path_id, unix_ns, event, state, subject, run_id, detail)
    SELECT here, unix_ns, event, state, subject, run_id + ?1, detail
    FROM added_paths JOIN other.watch_events ON path_id = there ORDER BY other.watch_events.id";

/// What was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedWatch {
    /// Paths of the other database.
    pub paths: u64,
    /// Cells in it.
    pub cells: u64,
    /// The runs of its watchers, by their numbers here.
    pub runs: Vec<RunId>,
}

impl Store {
    /// Adds what the watchers of the database at `other` keep.
    ///
    /// # Errors
    /// When the other file is not a results database of this version, has no run of a watcher, or was added before; or when one
    /// of the two cannot be read or written. Nothing is added then.
    pub fn add_watch(&self, other: &Path) -> Result<AddedWatch, StoreError> {
        // Refuses other databases.
        drop(Store::open_read_only(other)?);
        self.connection
            .create_scalar_function(
                "weir_sum_of_distributions",
                2,
                FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY,
                |context| {
                    let read = |place| -> rusqlite::Result<CompactHistogram> {
                        let bytes = context.get_raw(place).as_blob().unwrap_or(&[0]);
                        CompactHistogram::from_bytes(bytes)
                            .map_err(|error| rusqlite::Error::UserFunctionError(Box::new(error)))
                    };
                    let mut sum = read(0)?;
                    sum.merge(&read(1)?);
                    Ok(sum.to_bytes())
                },
            )
            .map_err(StoreError::at("add up distributions", &self.path))?;
        attached(&self.connection, other, || {
            if already_here(&self.connection).map_err(StoreError::at("read the runs", other))? {
                return Err(StoreError::AddedBefore {
                    path: self.path.clone(),
                    other: other.to_path_buf(),
                });
            }
            let added = add(&self.connection).map_err(StoreError::at("add what was watched", &self.path))?;
            match added.runs.is_empty() {
                true => Err(StoreError::NoWatcher {
                    path: other.to_path_buf(),
                }),
                false => Ok(added),
            }
        })
    }
}

/// Whether a watcher's run of the other database is in this one.
fn already_here(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare(
            "SELECT 1 FROM other.runs AS theirs JOIN main.runs AS ours
                 USING (kind, started_unix_ns, target, parameters)
             WHERE kind = 'watch'",
        )?
        .exists([])
}

fn add(connection: &Connection) -> rusqlite::Result<AddedWatch> {
    let transaction = connection.unchecked_transaction()?;
    let added = add_rows(&transaction)?;
    if !added.runs.is_empty() {
        transaction.commit()?;
    }
    Ok(added)
}

fn add_rows(transaction: &Transaction<'_>) -> rusqlite::Result<AddedWatch> {
    transaction.execute_batch(RUNS)?;
    let mut added = AddedWatch::default();
    // Numbers here are those there plus the largest one that was ever given.
    let largest = "SELECT coalesce(max(seq), 0) FROM main.sqlite_sequence WHERE name = 'runs'";
    let more: i64 = transaction.query_row(largest, [], |row| row.get(0))?;
    add_runs(transaction, more)?;
    let watchers = "SELECT run_id + ?1 FROM other.runs WHERE kind = 'watch' ORDER BY run_id";
    let mut statement = transaction.prepare(watchers)?;
    let rows = statement.query_map([more], |row| row.get(0).map(RunId))?;
    added.runs = rows.collect::<rusqlite::Result<_>>()?;
    if is_table(transaction, "watch_paths")? {
        transaction.execute_batch(
            "INSERT OR IGNORE INTO main.watch_paths (near, far) SELECT near, far FROM other.watch_paths ORDER BY path_id",
        )?;
        transaction.execute_batch(PATHS)?;
        let count = "SELECT count(*) FROM added_paths";
        added.paths = transaction
            .query_row(count, [], |row| row.get::<_, u32>(0))?
            .into();
        for (table, sql) in [("watch_cells", CELLS), ("watch_counts", COUNTS)] {
            if is_table(transaction, table)? {
                let rows = transaction.execute(sql, [])?;
                added.cells += if table == "watch_cells" { rows as u64 } else { 0 };
            }
        }
        if is_table(transaction, "watch_changes")? {
            add_changes(transaction)?;
        }
        if is_table(transaction, "watch_excluded")? {
            transaction.execute(EXCLUDED, [])?;
        }
        if is_table(transaction, "watch_events")? {
            transaction.execute(EVENTS, [more])?;
        }
        transaction.execute_batch("DROP TABLE added_paths")?;
    }
    transaction.execute_batch("DROP TABLE added_runs")?;
    Ok(added)
}

/// Adds changes, with the columns that the other database has.
fn add_changes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let all = columns(transaction, "watch_changes")?;
    let rest = all.strip_prefix("path_id, ").unwrap_or(&all);
    transaction.execute(
        &format!(
            "INSERT OR IGNORE INTO main.watch_changes (path_id, {rest})
             SELECT here, {rest} FROM added_paths JOIN other.watch_changes ON path_id = there"
        ),
        [],
    )?;
    Ok(())
}

fn add_runs(transaction: &Transaction<'_>, more: i64) -> rusqlite::Result<()> {
    let rest = columns(transaction, "runs")?;
    transaction.execute(
        &format!(
            "INSERT INTO main.runs (run_id, parent_run_id, {rest})
             SELECT run_id + ?1, parent_run_id + ?1, {rest} FROM other.runs WHERE run_id IN added_runs ORDER BY run_id"
        ),
        params![more],
    )?;
    for table in Table::ALL.map(|table| table.to_string()) {
        if is_table(transaction, &table)? {
            let rest = columns(transaction, &table)?;
            transaction.execute(
                &format!(
                    "INSERT INTO main.{table} (run_id, {rest})
                     SELECT run_id + ?1, {rest} FROM other.{table} WHERE run_id IN added_runs ORDER BY id"
                ),
                params![more],
            )?;
        }
    }
    Ok(())
}
