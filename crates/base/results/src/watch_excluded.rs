//! Seconds in which a watcher's own host was disturbed (table `watch_excluded`). It knows rows, not what a disturbance is.

use rusqlite::params;
use weir_record::WatchExcluded;

use crate::columns::clamped;
use crate::error::StoreError;
use crate::store::Store;
use crate::watch::unsigned;

impl Store {
    /// Seconds of `from_s..to_s` (Unix seconds) in which the host `near` was disturbed, in order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_excluded(
        &self,
        near: &str,
        from_s: u64,
        to_s: u64,
    ) -> Result<Vec<WatchExcluded>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT start_s, cause, value FROM watch_excluded
                 WHERE near = ?1 AND start_s >= ?2 AND start_s < ?3 ORDER BY start_s",
            )?;
            let rows = statement.query_map(params![near, clamped(from_s), clamped(to_s)], |row| {
                Ok(WatchExcluded {
                    start_s: unsigned(row, 0)?,
                    cause: row.get(1)?,
                    value: row.get(2)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read what was excluded", &self.path))
    }

    /// Stores seconds in which the host `near` was disturbed, all or none. The first cause of a second stays.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_watch_excluded(&self, near: &str, seconds: &[WatchExcluded]) -> Result<(), StoreError> {
        let put = || {
            let transaction = self.connection.unchecked_transaction()?;
            let mut statement = transaction.prepare_cached(
                "INSERT OR IGNORE INTO watch_excluded (near, start_s, cause, value) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for second in seconds {
                statement.execute(params![near, clamped(second.start_s), second.cause, second.value])?;
            }
            drop(statement);
            transaction.commit()
        };
        put().map_err(StoreError::at("store what was excluded", &self.path))
    }

    /// Deletes the seconds before `before_s` (Unix seconds) in which the host `near` was disturbed.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn delete_watch_excluded(&self, near: &str, before_s: u64) -> Result<(), StoreError> {
        self.connection
            .execute(
                "DELETE FROM watch_excluded WHERE near = ?1 AND start_s < ?2",
                params![near, clamped(before_s)],
            )
            .map(drop)
            .map_err(StoreError::at("delete what was excluded", &self.path))
    }
}
