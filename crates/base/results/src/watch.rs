//! What is kept of paths that are watched for months: cells, changes, counts and events (tables `watch_...`). It knows spans
//! and rows, not what is measured or when a cell is complete.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;
use weir_record::{RunId, WatchCell, WatchChange, WatchCount, WatchEvent};
use weir_stats::CompactHistogram;

use crate::columns::clamped;
use crate::error::StoreError;
use crate::store::Store;

/// Flow tests and surveys of watchers that are not running.
const WATCH_TESTS: &str = "FROM runs AS test JOIN runs AS watch ON watch.run_id = test.parent_run_id
     WHERE watch.kind = 'watch' AND test.outcome <> 'running'";

/// Number of a path in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub i64);

/// Length of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
}

impl Span {
    /// Its length, seconds.
    #[must_use]
    pub fn seconds(self) -> u64 {
        match self {
            Span::Second => 1,
            Span::Minute => 60,
            Span::Hour => 3_600,
        }
    }
}

impl Store {
    /// The number of the path from `near` to `far`; a new one if the file does not have it.
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub fn watch_path(&self, near: &str, far: &str) -> Result<PathId, StoreError> {
        let find = || {
            let known = "SELECT path_id FROM watch_paths WHERE near = ?1 AND far = ?2";
            let found = self
                .connection
                .query_row(known, [near, far], |row| row.get(0))
                .optional()?;
            if let Some(id) = found {
                return Ok(PathId(id));
            }
            self.connection.execute(
                "INSERT OR IGNORE INTO watch_paths (near, far) VALUES (?1, ?2)",
                [near, far],
            )?;
            self.connection
                .query_row(known, [near, far], |row| row.get(0).map(PathId))
        };
        find().map_err(StoreError::at("find the path", &self.path))
    }

    /// All paths of the file, each with its near and its far host.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_paths(&self) -> Result<Vec<(PathId, String, String)>, StoreError> {
        let read = || {
            let sql = "SELECT path_id, near, far FROM watch_paths ORDER BY path_id";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((PathId(row.get(0)?), row.get(1)?, row.get(2)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("list the paths", &self.path))
    }

    /// Stores cells, all or none, each in the place of an earlier one of the same path and span.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_watch_cells(&self, span: Span, cells: &[(PathId, WatchCell)]) -> Result<(), StoreError> {
        let put = || {
            let transaction = self.connection.unchecked_transaction()?;
            insert_cells(&transaction, span, cells)?;
            transaction.commit()
        };
        put().map_err(StoreError::at("store what was watched", &self.path))
    }

    /// Stores minutes like [`put_watch_cells`](Self::put_watch_cells), and adds to counts of days, all or none: what is counted
    /// from these minutes is counted once.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_watch_minutes(
        &self,
        minutes: &[(PathId, WatchCell)],
        counts: &[(PathId, WatchCount)],
    ) -> Result<(), StoreError> {
        let put = || {
            let transaction = self.connection.unchecked_transaction()?;
            insert_cells(&transaction, Span::Minute, minutes)?;
            add_counts(&transaction, counts)?;
            transaction.commit()
        };
        put().map_err(StoreError::at("store what was watched", &self.path))
    }

    /// Stores events, and adds to counts of days, all or none.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_watch_events(
        &self,
        events: &[(PathId, WatchEvent)],
        counts: &[(PathId, WatchCount)],
    ) -> Result<(), StoreError> {
        let put = || {
            let transaction = self.connection.unchecked_transaction()?;
            insert_events(&transaction, events)?;
            add_counts(&transaction, counts)?;
            transaction.commit()
        };
        put().map_err(StoreError::at("store what was watched", &self.path))
    }

    /// Counts of a path of the days (UTC) that start at `from_s` (Unix seconds) or later, by event and day.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_counts(&self, path: PathId, from_s: u64) -> Result<Vec<WatchCount>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT event, day_s, watched_s, events FROM watch_counts
                 WHERE path_id = ?1 AND day_s >= ?2 ORDER BY event, day_s",
            )?;
            let rows = statement.query_map(params![path.0, clamped(from_s)], |row| {
                Ok(WatchCount {
                    event: row.get(0)?,
                    day_s: unsigned(row, 1)?,
                    watched_s: unsigned(row, 2)?,
                    events: unsigned(row, 3)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the counts", &self.path))
    }

    /// Events of a path in `from_ns..to_ns` (Unix nanoseconds), as they came.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_events(
        &self,
        path: PathId,
        from_ns: u64,
        to_ns: u64,
    ) -> Result<Vec<WatchEvent>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT unix_ns, event, state, subject, run_id, detail FROM watch_events
                 WHERE path_id = ?1 AND unix_ns >= ?2 AND unix_ns < ?3 ORDER BY unix_ns, id",
            )?;
            let rows = statement.query_map(params![path.0, clamped(from_ns), clamped(to_ns)], |row| {
                Ok(WatchEvent {
                    unix_ns: unsigned(row, 0)?,
                    event: row.get(1)?,
                    state: row.get(2)?,
                    subject: row.get(3)?,
                    run_id: row.get(4)?,
                    detail: row.get(5)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the events", &self.path))
    }

    /// Cells of a path that start in `from_s..to_s` (Unix seconds), in order.
    ///
    /// # Errors
    /// When the database cannot be read, or a cell is damaged.
    pub fn watch_cells(
        &self,
        path: PathId,
        span: Span,
        from_s: u64,
        to_s: u64,
    ) -> Result<Vec<WatchCell>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT start_s, sent, lost, duplicates, hops, rtt FROM watch_cells
                 WHERE path_id = ?1 AND span_s = ?2 AND start_s >= ?3 AND start_s < ?4 ORDER BY start_s",
            )?;
            let span = clamped(span.seconds());
            let rows = statement.query_map(params![path.0, span, clamped(from_s), clamped(to_s)], cell)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read what was watched", &self.path))
    }

    /// Starts of the cells of a path with loss that start in `from_s..to_s` (Unix seconds), in order, `most` at most.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn lossy_watch_cells(
        &self,
        path: PathId,
        span: Span,
        (from_s, to_s): (u64, u64),
        most: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT start_s FROM watch_cells
                 WHERE path_id = ?1 AND span_s = ?2 AND start_s >= ?3 AND start_s < ?4 AND lost > 0
                 ORDER BY start_s LIMIT ?5",
            )?;
            let span = clamped(span.seconds());
            let values = params![path.0, span, clamped(from_s), clamped(to_s), clamped(most as u64)];
            let rows = statement.query_map(values, |row| unsigned(row, 0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read what was watched", &self.path))
    }

    /// Number of cells of a path that start in `from_s..to_s` (Unix seconds).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_watch_cells(
        &self,
        path: PathId,
        span: Span,
        from_s: u64,
        to_s: u64,
    ) -> Result<u64, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT count(*) FROM watch_cells
                 WHERE path_id = ?1 AND span_s = ?2 AND start_s >= ?3 AND start_s < ?4",
            )?;
            let span = clamped(span.seconds());
            statement.query_row(params![path.0, span, clamped(from_s), clamped(to_s)], |row| {
                unsigned(row, 0)
            })
        };
        read().map_err(StoreError::at("read what was watched", &self.path))
    }

    /// The run of the last flow test or survey of a path that an event names; none if there is none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_watch_test(&self, path: PathId) -> Result<Option<i64>, StoreError> {
        let read = || {
            let sql = "SELECT run_id FROM watch_events
                       WHERE path_id = ?1 AND event = 'test' AND run_id IS NOT NULL ORDER BY unix_ns DESC LIMIT 1";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row([path.0], |row| row.get(0)).optional()
        };
        read().map_err(StoreError::at("read the events", &self.path))
    }

    /// Facts of the far host in flow tests and surveys of a path that events name, each with the time of the event (Unix
    /// nanoseconds), in that order: the latest `most`. Tests that were deleted are left out.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_test_hosts(&self, path: PathId, most: usize) -> Result<Vec<(u64, Value)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT unix_ns, remote_host FROM watch_events JOIN runs USING (run_id)
                 WHERE path_id = ?1 AND event = 'test' AND remote_host IS NOT NULL
                 ORDER BY unix_ns DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![path.0, clamped(most as u64)], |row| {
                let facts: String = row.get(1)?;
                // What is no JSON says nothing.
                Ok((
                    unsigned(row, 0)?,
                    serde_json::from_str(&facts).unwrap_or_default(),
                ))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut hosts = read().map_err(StoreError::at("read the facts of hosts", &self.path))?;
        hosts.reverse();
        Ok(hosts)
    }

    /// What the summaries of flow tests and surveys have under `tested`: of those of a path that ended from `from_ns` on (Unix
    /// nanoseconds) and that events name, each with the time of the event, in that order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_tested(&self, path: PathId, from_ns: u64) -> Result<Vec<(u64, Value)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT unix_ns, json_extract(summary, '$.tested') FROM watch_events JOIN runs USING (run_id)
                 WHERE path_id = ?1 AND unix_ns >= ?2 AND event = 'test' AND outcome = 'finished'
                   AND json_valid(summary) ORDER BY unix_ns",
            )?;
            let rows = statement.query_map(params![path.0, clamped(from_ns)], |row| {
                let tested: Option<String> = row.get(1)?;
                let tested = tested.and_then(|text| serde_json::from_str(&text).ok());
                Ok((unsigned(row, 0)?, tested.unwrap_or_default()))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the tests", &self.path))
    }

    /// Whether a path has cells that start in `from_s..to_s` (Unix seconds).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_watch_cells(
        &self,
        path: PathId,
        span: Span,
        from_s: u64,
        to_s: u64,
    ) -> Result<bool, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT 1 FROM watch_cells
                 WHERE path_id = ?1 AND span_s = ?2 AND start_s >= ?3 AND start_s < ?4 LIMIT 1",
            )?;
            let span = clamped(span.seconds());
            statement.exists(params![path.0, span, clamped(from_s), clamped(to_s)])
        };
        read().map_err(StoreError::at("read what was watched", &self.path))
    }

    /// Start of the last cell of a path, Unix seconds; none if it has none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_watch_cell(&self, path: PathId, span: Span) -> Result<Option<u64>, StoreError> {
        self.edge("max", path, span)
    }

    /// Start of the first cell of a path, Unix seconds; none if it has none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn first_watch_cell(&self, path: PathId, span: Span) -> Result<Option<u64>, StoreError> {
        self.edge("min", path, span)
    }

    fn edge(&self, which: &str, path: PathId, span: Span) -> Result<Option<u64>, StoreError> {
        let sql = format!("SELECT {which}(start_s) FROM watch_cells WHERE path_id = ?1 AND span_s = ?2");
        let read = || -> rusqlite::Result<Option<i64>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_row(params![path.0, clamped(span.seconds())], |row| row.get(0))
        };
        let start = read().map_err(StoreError::at("read what was watched", &self.path))?;
        Ok(start.and_then(|start| u64::try_from(start).ok()))
    }

    /// Deletes at most `most` cells of a path that start before `before_s` (Unix seconds), the oldest first; returns how
    /// many. Few at a time, so that others who write never wait long.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn delete_watch_cells(
        &self,
        path: PathId,
        span: Span,
        before_s: u64,
        most: u32,
    ) -> Result<usize, StoreError> {
        let delete = || {
            let mut statement = self.connection.prepare_cached(
                "DELETE FROM watch_cells WHERE path_id = ?1 AND span_s = ?2 AND start_s IN (
                     SELECT start_s FROM watch_cells
                     WHERE path_id = ?1 AND span_s = ?2 AND start_s < ?3 ORDER BY start_s LIMIT ?4)",
            )?;
            statement.execute(params![path.0, clamped(span.seconds()), clamped(before_s), most])
        };
        delete().map_err(StoreError::at("delete what was watched", &self.path))
    }

    /// Start of the oldest flow test or survey of a watcher that is not running, Unix nanoseconds; none if there is none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn oldest_watch_test(&self) -> Result<Option<u64>, StoreError> {
        let read = || {
            let sql = format!("SELECT min(test.started_unix_ns) {WATCH_TESTS}");
            self.connection
                .query_row(&sql, [], |row| row.get::<_, Option<i64>>(0))
        };
        let start = read().map_err(StoreError::at("read what was watched", &self.path))?;
        Ok(start.map(|start| start.max(0).unsigned_abs()))
    }

    /// Deletes at most `most` flow tests and surveys of watchers that began before `before_ns` (Unix nanoseconds), the oldest
    /// first, like [`delete_run_gently`](Self::delete_run_gently).
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub fn delete_watch_tests(&self, before_ns: u64, most: u32) -> Result<(), StoreError> {
        let list = || {
            let sql = format!(
                "SELECT test.run_id {WATCH_TESTS} AND test.started_unix_ns < ?1
                 ORDER BY test.started_unix_ns LIMIT ?2"
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![clamped(before_ns), most], |row| row.get(0).map(RunId))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let old = list().map_err(StoreError::at("read what was watched", &self.path))?;
        for run in old {
            self.delete_run_gently(run)?;
            let forget = "DELETE FROM watch_events WHERE event = 'test' AND run_id = ?1";
            self.connection
                .execute(forget, [run.0])
                .map_err(StoreError::at("delete what was watched", &self.path))?;
        }
        Ok(())
    }

    /// Bytes of the file that are in use. What was deleted is used again before the file grows.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        let number = |name: &str| {
            let sql = format!("PRAGMA {name}");
            self.connection.query_row(&sql, [], |row| unsigned(row, 0))
        };
        let used = || Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?);
        used().map_err(StoreError::at("read the size", &self.path))
    }

    /// Stores a change of a path.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn put_watch_change(&self, path: PathId, change: &WatchChange) -> Result<(), StoreError> {
        let put = || {
            self.connection.execute(
                "INSERT OR REPLACE INTO watch_changes
                     (path_id, metric, found_unix_ns, since_unix_ns, before, after, low, high, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    path.0,
                    change.metric,
                    clamped(change.found_unix_ns),
                    clamped(change.since_unix_ns),
                    change.before,
                    change.after,
                    change.low,
                    change.high,
                    change.detail,
                ],
            )
        };
        put()
            .map(drop)
            .map_err(StoreError::at("store a change", &self.path))
    }

    /// Changes of a path that were found from `from_ns` on (Unix nanoseconds), in that order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watch_changes(&self, path: PathId, from_ns: u64) -> Result<Vec<WatchChange>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT metric, since_unix_ns, found_unix_ns, before, after, low, high, detail FROM watch_changes
                 WHERE path_id = ?1 AND found_unix_ns >= ?2 ORDER BY found_unix_ns, metric",
            )?;
            let rows = statement.query_map(params![path.0, clamped(from_ns)], |row| {
                Ok(WatchChange {
                    metric: row.get(0)?,
                    since_unix_ns: unsigned(row, 1)?,
                    found_unix_ns: unsigned(row, 2)?,
                    before: row.get(3)?,
                    after: row.get(4)?,
                    low: row.get(5)?,
                    high: row.get(6)?,
                    detail: row.get(7)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::at("read the changes", &self.path))
    }
}

fn insert_cells(
    transaction: &Transaction<'_>,
    span: Span,
    cells: &[(PathId, WatchCell)],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT OR REPLACE INTO watch_cells
             (path_id, span_s, start_s, sent, lost, duplicates, hops, rtt)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (path, cell) in cells {
        statement.execute(params![
            path.0,
            clamped(span.seconds()),
            clamped(cell.start_s),
            clamped(cell.sent),
            clamped(cell.lost),
            clamped(cell.duplicates),
            cell.hops,
            cell.rtt.to_bytes(),
        ])?;
    }
    Ok(())
}

fn insert_events(transaction: &Transaction<'_>, events: &[(PathId, WatchEvent)]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO watch_events (path_id, unix_ns, event, state, subject, run_id, detail)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (path, event) in events {
        statement.execute(params![
            path.0,
            clamped(event.unix_ns),
            event.event,
            event.state,
            event.subject,
            event.run_id,
            event.detail,
        ])?;
    }
    Ok(())
}

fn add_counts(transaction: &Transaction<'_>, counts: &[(PathId, WatchCount)]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO watch_counts (path_id, event, day_s, watched_s, events) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET watched_s = watched_s + excluded.watched_s, events = events + excluded.events",
    )?;
    for (path, count) in counts {
        statement.execute(params![
            path.0,
            count.event,
            clamped(count.day_s),
            clamped(count.watched_s),
            clamped(count.events),
        ])?;
    }
    Ok(())
}

/// The file may be another program's work: no number of it is below zero here.
pub(crate) fn unsigned(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(index)?.max(0).unsigned_abs())
}

fn cell(row: &Row<'_>) -> rusqlite::Result<WatchCell> {
    let rtt = CompactHistogram::from_bytes(row.get_ref(5)?.as_blob()?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(5, Type::Blob, Box::new(error)))?;
    Ok(WatchCell {
        start_s: unsigned(row, 0)?,
        sent: unsigned(row, 1)?,
        lost: unsigned(row, 2)?,
        duplicates: unsigned(row, 3)?,
        hops: row.get(4)?,
        rtt,
    })
}
