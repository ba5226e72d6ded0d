//! Errors of a results database, as the user reads them. It knows SQLite's
//! error codes, not the tables.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row, Statement};
use weir_record::RunId;

/// Why an operation on a results database failed, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No file at this path.
    #[error("there is no results database at {}: run a measurement first, or name another file with --db", path.display())]
    NotFound {
        /// The requested file.
        path: PathBuf,
    },
    /// The file exists but SQLite did not write it.
    #[error("{} is not a database: name another file with --db, or move this one away", path.display())]
    NotADatabase {
        /// The requested file.
        path: PathBuf,
    },
    /// A database, but another program's.
    #[error("{} is a database of another program, and was not changed: name another file with --db", path.display())]
    NotWeir {
        /// The requested file.
        path: PathBuf,
    },
    /// A database without tables.
    #[error("no run is stored in {} yet: run a measurement first, or name another file with --db", path.display())]
    Empty {
        /// The requested file.
        path: PathBuf,
    },
    /// Written by a later Weir.
    #[error(
        "{} has schema version {found}, but this Weir supports version {known}: use a newer Weir, or another \
         file with --db", path.display()
    )]
    NewerVersion {
        /// The requested file.
        path: PathBuf,
        /// The file's `user_version`.
        found: i64,
        /// The version that this crate supports.
        known: i64,
    },
    /// Written by an earlier development build.
    #[error(
        "{} has schema version {found} of a development build, but this Weir supports version {known} only, and did not \
         change it: export its runs with the Weir that wrote it, or measure again into another file with --db",
        path.display()
    )]
    OlderVersion {
        /// The requested file.
        path: PathBuf,
        /// The file's `user_version`.
        found: i64,
        /// The version that this crate supports.
        known: i64,
    },
    /// SQLite refused an operation.
    #[error("cannot {operation} in {}: {source}; {advice}", path.display())]
    Sqlite {
        /// What was tried, as a verb and its object.
        operation: &'static str,
        /// The database.
        path: PathBuf,
        /// What to do next.
        advice: &'static str,
        /// SQLite's error.
        source: Box<rusqlite::Error>,
    },
    /// A column holds what Weir never writes there.
    #[error(
        "run {run} in {} has {value} in the column {column} of the table {table}, which Weir does not write there: the \
         database was changed or damaged; measure again, or delete the run", path.display()
    )]
    StrangeValue {
        /// The database.
        path: PathBuf,
        /// The run that the row belongs to.
        run: RunId,
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// The value, truncated if long.
        value: String,
    },
    /// No run has this number.
    #[error("{} has no run {run}: list the runs to see their numbers", path.display())]
    RunNotFound {
        /// The database.
        path: PathBuf,
        /// The requested number.
        run: RunId,
    },
    /// Deletion of a run that is being recorded.
    #[error("run {run} in {} is still being recorded and was not deleted: stop it first", path.display())]
    StillRunning {
        /// The database.
        path: PathBuf,
        /// The run that is being recorded.
        run: RunId,
    },
    /// A database whose watchers' runs are in this one.
    #[error(
        "what the watchers of {} keep is in {} already: merge each store once, into a new file", other.display(), path.display()
    )]
    AddedBefore {
        /// The database.
        path: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// A database that no watcher has written.
    #[error("{} has no run of 'weir watch'", path.display())]
    NoWatcher {
        /// The database.
        path: PathBuf,
    },
    /// `end_run` was called with the outcome `running`.
    #[error("run {run} cannot end as 'running': end it as finished, interrupted or failed")]
    NotAnEnd {
        /// The run.
        run: RunId,
    },
    /// The writer stopped with records that are not in the file.
    #[error(
        "run {run} is stored in {} up to {stored_until} and {unwritten} later records are not: {problem}",
        path.display()
    )]
    Unwritten {
        /// The run.
        run: RunId,
        /// The database.
        path: PathBuf,
        /// Time of the last commit, UTC.
        stored_until: String,
        /// Records that are not stored.
        unwritten: u64,
        /// The problem, and what to do.
        problem: String,
    },
    /// The operating system started no thread.
    #[error("cannot start the thread that writes {}: {source}; lower the load or raise the thread limit", path.display())]
    Thread {
        /// The database.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The writer thread ended without a report.
    #[error("the thread that writes {} stopped early: what it committed is stored; please report this", path.display())]
    WriterStopped {
        /// The database.
        path: PathBuf,
    },
    /// A note or a tag is not valid.
    #[error("{what}; run {run} was not changed")]
    BadNote {
        /// The run.
        run: RunId,
        /// The problem, and what is allowed.
        what: String,
    },
    /// The destination of an export failed.
    #[error("cannot write the export of run {run}: {source}; check the destination and its free space")]
    Export {
        /// The run.
        run: RunId,
        /// The destination's error.
        source: std::io::Error,
    },
}

impl StoreError {
    /// Turns SQLite's error into one that names the operation and the file.
    pub(crate) fn at(operation: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
            code => StoreError::Sqlite {
                operation,
                path,
                advice: advice(code),
                source: Box::new(source),
            },
        }
    }
}

impl StoreError {
    /// Whether another program held the lock for longer than the timeout: a retry may succeed.
    pub fn is_busy(&self) -> bool {
        match self {
            StoreError::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ),
            _ => false,
        }
    }

    /// Like [`at`](StoreError::at), for a row whose value does not fit a record: names the
    /// value.
    pub(crate) fn at_value<'a>(
        operation: &'static str,
        path: &'a Path,
        run: RunId,
        table: &'static str,
        row: &'a Row<'_>,
    ) -> impl FnOnce(rusqlite::Error) -> StoreError + 'a {
        move |error| {
            let column = match &error {
                rusqlite::Error::FromSqlConversionFailure(index, ..)
                | rusqlite::Error::IntegralValueOutOfRange(index, _)
                | rusqlite::Error::InvalidColumnType(index, ..) => *index,
                _ => return StoreError::at(operation, path)(error),
            };
            let statement: &Statement<'_> = row.as_ref();
            match (statement.column_name(column), row.get_ref(column)) {
                (Ok(name), Ok(value)) => StoreError::StrangeValue {
                    path: path.to_path_buf(),
                    run,
                    table,
                    column: name.to_owned(),
                    value: shown(value),
                },
                _ => StoreError::at(operation, path)(error),
            }
        }
    }
}

/// A value as one short line.
fn shown(value: ValueRef<'_>) -> String {
    const MOST_SHOWN: usize = 40;
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        // Readable, without a line of zeros.
        ValueRef::Real(number) if number.abs() < 1e15 => number.to_string(),
        ValueRef::Real(number) => format!("{number:e}"),
        ValueRef::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        ValueRef::Text(bytes) => {
            let start = &bytes[..bytes.len().min(4 * MOST_SHOWN)];
            let text = String::from_utf8_lossy(start);
            let short: String = text
                .chars()
                .take(MOST_SHOWN)
                .flat_map(char::escape_debug)
                .collect();
            let rest = if text.chars().nth(MOST_SHOWN).is_some() {
                "..."
            } else {
                ""
            };
            format!("the text '{short}{rest}'")
        }
    }
}

/// What to do about an error of this kind.
pub(crate) fn advice(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program holds it locked: end that program's transaction or close it"
        }
        Some(ErrorCode::DiskFull) => "free some space on the disk that holds it",
        Some(ErrorCode::SystemIoFailure) => {
            "the write to the disk failed: check its free space and its health"
        }
        Some(ErrorCode::CannotOpen) => {
            "check that its directory exists and is writable (readers, too, need files beside a database in use)"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "no permission to write: change its permissions, or name another file with --db"
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "the file is damaged: copy it and try `sqlite3 copy.db .recover`, and name a new file with --db"
        }
        Some(ErrorCode::ConstraintViolation) => {
            "its run was deleted from the database: do not delete a run while it is recorded"
        }
        _ => "check that the file is a Weir database and that no other program changes its tables",
    }
}
