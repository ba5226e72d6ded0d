//! What a diagnosis found in a run, in short: stored once, read by lists. It must not know how a run is diagnosed.

use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use weir_record::RunId;

use crate::columns::clamped;
use crate::error::StoreError;
use crate::store::Store;

/// What a diagnosis found in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVerdict {
    /// Whether the path carries the media, as a word; none for a run that holds others.
    pub answer: Option<String>,
    /// Number of findings that are faults.
    pub faults: u64,
    /// Number of findings that are notices.
    pub notices: u64,
    /// The worst of them, in one line; none where there is neither a fault nor a notice.
    pub worst: Option<String>,
}

impl Store {
    /// The verdict on a run that is stored, if this version of Weir made it after the last record of the run: none where
    /// it has to be made, and within that none where the run has no diagnosis.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verdict(&self, run: RunId, weir_version: &str) -> Result<Option<Option<RunVerdict>>, StoreError> {
        let read = || {
            self.connection
                .prepare_cached(
                    "SELECT answer, faults, notices, worst FROM verdicts JOIN runs USING (run_id)
                     WHERE run_id = ?1 AND verdicts.last_unix_ns = runs.last_unix_ns AND verdicts.weir_version = ?2",
                )?
                .query_row(params![run.0, weir_version], from_row)
                .optional()
        };
        read().map_err(StoreError::at("read the verdict on the run", &self.path))
    }

    /// Stores the verdict on a run whose last heartbeat was at `last_unix_ns`, Unix nanoseconds; none says that it has no
    /// diagnosis. It takes the place of an earlier one.
    ///
    /// # Errors
    /// When the run does not exist or the database cannot be written.
    pub fn set_verdict(
        &self,
        run: RunId,
        last_unix_ns: u64,
        weir_version: &str,
        verdict: Option<&RunVerdict>,
    ) -> Result<(), StoreError> {
        let count = |of: fn(&RunVerdict) -> u64| verdict.map(|verdict| clamped(of(verdict)));
        self.connection
            .execute(
                "INSERT OR REPLACE INTO verdicts (run_id, last_unix_ns, weir_version, answer, faults, notices, worst)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    run.0,
                    clamped(last_unix_ns),
                    weir_version,
                    verdict.and_then(|verdict| verdict.answer.as_deref()),
                    count(|verdict| verdict.faults),
                    count(|verdict| verdict.notices),
                    verdict.and_then(|verdict| verdict.worst.as_deref()),
                ],
            )
            .map(drop)
            .map_err(StoreError::at("store the verdict on the run", &self.path))
    }

    /// Kinds of the runs that stand alone, in alphabetical order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn kinds(&self) -> Result<Vec<String>, StoreError> {
        let read = || {
            let sql = "SELECT DISTINCT kind FROM runs WHERE parent_run_id IS NULL ORDER BY kind";
            let mut statement = self.connection.prepare_cached(sql)?;
            let kinds = statement.query_map([], |row| row.get(0))?;
            kinds.collect::<rusqlite::Result<Vec<String>>>()
        };
        read().map_err(StoreError::at("list the kinds of runs", &self.path))
    }
}

/// None where the run has no diagnosis.
fn from_row(row: &Row<'_>) -> rusqlite::Result<Option<RunVerdict>> {
    let count = |index| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.map(|n| n.max(0) as u64));
    let (Some(faults), Some(notices)) = (count(1)?, count(2)?) else {
        return Ok(None);
    };
    Ok(Some(RunVerdict {
        answer: row.get(0)?,
        faults,
        notices,
        worst: row.get(3)?,
    }))
}
