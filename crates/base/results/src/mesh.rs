//! Tests between two places (table `mesh_tests`): one row per test, written at its end and read across runs. It knows the
//! columns, not how a test works or what a place is.

use rusqlite::params_from_iter;

use weir_record::{Cell, MeshTest, RunId, Value};

use crate::columns::{Columns, bound};
use crate::error::StoreError;
use crate::store::Store;

/// Which tests to read; all fields together must hold.
#[derive(Clone, Debug, Default)]
pub struct MeshFilter {
    /// Only tests of these runs; all if empty.
    pub runs: Vec<RunId>,
    /// Include failed tests.
    pub failed: bool,
}

impl Store {
    /// Adds tests to a run, all or none.
    ///
    /// # Errors
    /// When the run does not exist or the database cannot be written.
    pub fn add_mesh_tests(&self, run: RunId, tests: &[MeshTest]) -> Result<(), StoreError> {
        let columns = columns();
        let (names, places) = (columns.join(", "), ", ?".repeat(columns.len()));
        let sql = format!("INSERT INTO mesh_tests (run_id, outcome, {names}) VALUES (?, ?{places})");
        let add = || {
            let transaction = self.connection.unchecked_transaction()?;
            {
                let mut statement = transaction.prepare_cached(&sql)?;
                for test in tests {
                    let outcome = test.reason.as_ref().map_or("finished", |_| "failed");
                    let mut values = vec![Value::Integer(run.0), Value::Text(outcome.to_owned())];
                    test.put(&mut values);
                    statement.execute(params_from_iter(values.iter().map(bound)))?;
                }
            }
            transaction.commit()
        };
        add().map_err(StoreError::at("store the tests between places", &self.path))
    }

    /// Tests between places, the earliest first, each with its run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn mesh_tests(&self, filter: &MeshFilter) -> Result<Vec<(RunId, MeshTest)>, StoreError> {
        let mut sql = format!(
            "SELECT {}, run_id FROM mesh_tests WHERE true",
            columns().join(", ")
        );
        if !filter.runs.is_empty() {
            let places = ", ?".repeat(filter.runs.len() - 1);
            sql.push_str(&format!(" AND run_id IN (?{places})"));
        }
        if !filter.failed {
            sql.push_str(" AND outcome = 'finished'");
        }
        sql.push_str(" ORDER BY unix_ns, id");
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let runs = params_from_iter(filter.runs.iter().map(|run| run.0));
            let rows = statement.query_map(runs, |row| {
                let test = Columns::of(row).take()?;
                Ok((RunId(row.get("run_id")?), test))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the tests between places", &self.path))
    }

    /// Number of successful tests per pair of places, by cloud and region of both ends.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn mesh_pair_counts(&self) -> Result<Vec<([String; 4], u64)>, StoreError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare("SELECT from_cloud, from_region, to_cloud, to_region, tests FROM mesh_pairs")?;
            let rows = statement.query_map([], |row| {
                Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?], row.get(4)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("count the tests between places", &self.path))
    }
}

/// Columns of the table, besides those of its run and of the outcome, which the reason implies.
fn columns() -> Vec<String> {
    let mut columns = Vec::new();
    MeshTest::columns("", &mut columns);
    columns
}
