//! Deletes a long run without blocking other writers. It knows the tables, not their content.

use std::time::{Duration, Instant};

use rusqlite::params;
use weir_record::{RunId, Table};

use crate::error::StoreError;
use crate::read::WITH_PARTS;
use crate::store::Store;

/// Rows that one transaction deletes: some ten milliseconds.
const ROWS: i64 = 2_000;
/// Minimum pause between two transactions, for others that wait for the lock.
const PAUSE: Duration = Duration::from_millis(5);

impl Store {
    /// Deletes a run with all its records and its parts like [`delete_run`](Store::delete_run), but in many short
    /// transactions, so that a test that is being recorded never waits long. If it is interrupted, the run
    /// still exists with fewer rows, and can be deleted again.
    ///
    /// # Errors
    /// When the run does not exist, is being recorded, or the database cannot be written.
    pub fn delete_run_gently(&self, run: RunId) -> Result<(), StoreError> {
        self.refuse_recorded(run)?;
        for part in self.with_parts(run)? {
            for table in Table::ALL {
                self.empty(table, part)
                    .map_err(StoreError::at("delete the run", &self.path))?;
            }
        }
        self.delete_run(run)
    }

    fn empty(&self, table: Table, run: RunId) -> rusqlite::Result<()> {
        let sql =
            format!("DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE run_id = ?1 LIMIT ?2)");
        let mut statement = self.connection.prepare(&sql)?;
        loop {
            let began = Instant::now();
            let deleted = statement.execute(params![run.0, ROWS])?;
            if i64::try_from(deleted).unwrap_or(0) < ROWS {
                return Ok(());
            }
            // As long as the deletion took: other writers poll the lock at intervals, and must find it free.
            std::thread::sleep(began.elapsed().max(PAUSE));
        }
    }

    /// A run and all below it.
    fn with_parts(&self, run: RunId) -> Result<Vec<RunId>, StoreError> {
        let list = || {
            let sql = format!("{WITH_PARTS} SELECT run_id FROM parts");
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([run.0], |row| Ok(RunId(row.get(0)?)))?;
            rows.collect::<rusqlite::Result<Vec<RunId>>>()
        };
        list().map_err(StoreError::at("list the parts of the run", &self.path))
    }
}
