//! What can go wrong with a results database, in words for the person who has to act on it. It knows SQLite's
//! error codes, not the tables.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row, Statement};

use crate::store::RunId;

/// Why an operation on a results database failed, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing to read at this path.
    #[error("there is no results database at {}: run a measurement first, or name another file with --db", path.display())]
    NotFound {
        /// The file that was asked for.
        path: PathBuf,
    },
    /// The file exists but SQLite did not write it.
    #[error("{} is not a database: name another file with --db, or move this one away", path.display())]
    NotADatabase {
        /// The file that was asked for.
        path: PathBuf,
    },
    /// A database, but another program's.
    #[error("{} is a database of another program, and was left as it is: name another file with --db", path.display())]
    NotWeir {
        /// The file that was asked for.
        path: PathBuf,
    },
    /// Written by a later Weir.
    #[error(
        "{} has schema version {found} and this Weir knows versions up to {known}: use a newer Weir, or another \
         file with --db", path.display()
    )]
    NewerVersion {
        /// The file that was asked for.
        path: PathBuf,
        /// The file's `user_version`.
        found: i64,
        /// The newest version that this crate knows.
        known: i64,
    },
    /// Written by an earlier Weir, in a file that cannot be written.
    #[error(
        "{} has the older schema version {found} and cannot be brought up to date, because the file or its folder cannot \
         be written: open a copy", path.display()
    )]
    OlderVersion {
        /// The file that was asked for.
        path: PathBuf,
        /// The file's `user_version`.
        found: i64,
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
        /// What SQLite said.
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
        /// What is there, cut short where it is long.
        value: String,
    },
    /// No run has this number.
    #[error("{} has no run {run}: list the runs to see their numbers", path.display())]
    RunNotFound {
        /// The database.
        path: PathBuf,
        /// The number that was asked for.
        run: RunId,
    },
    /// Deleting would pull the table from under a running measurement.
    #[error("run {run} in {} is still being recorded and was not deleted: stop it first", path.display())]
    StillRunning {
        /// The database.
        path: PathBuf,
        /// The run that is being recorded.
        run: RunId,
    },
    /// `end_run` was told that the run goes on.
    #[error("run {run} cannot end as 'running': end it as finished, interrupted or failed")]
    NotAnEnd {
        /// The run that was to end.
        run: RunId,
    },
    /// No table of records has this name.
    #[error("there is no table of records named '{name}': the tables are {known}")]
    UnknownTable {
        /// What was asked for.
        name: String,
        /// The names that exist, comma separated.
        known: String,
    },
    /// The writer gave up with records that never reached the file.
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
        /// Records that were waiting when the writer gave up.
        unwritten: u64,
        /// What stood in the way, with what to do about it.
        problem: String,
    },
    /// The operating system gave no thread.
    #[error("cannot start the thread that writes {}: {source}; lower the load or raise the thread limit", path.display())]
    Thread {
        /// The database.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The writer thread ended without a report.
    #[error("the thread that writes {} stopped early: what it committed is stored; please report this", path.display())]
    WriterStopped {
        /// The database.
        path: PathBuf,
    },
    /// What the user says of a run does not fit.
    #[error("{what}; run {run} was left as it is")]
    BadNote {
        /// The run.
        run: RunId,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// The destination of an export failed.
    #[error("cannot write the export of run {run}: {source}; check the destination and its free space")]
    Export {
        /// The run.
        run: RunId,
        /// What the destination said.
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
    /// Whether another program held the database for longer than was waited: the same may go well a little later.
    pub fn is_busy(&self) -> bool {
        match self {
            StoreError::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ),
            _ => false,
        }
    }

    /// Like [`at`](StoreError::at), for a row that was read but does not hold what a record is made of: names the
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

/// A value as one short line, whatever it is.
fn shown(value: ValueRef<'_>) -> String {
    const MOST_SHOWN: usize = 40;
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        // As people write it, and yet no line of zeros.
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
        Some(ErrorCode::SystemIoFailure) => "the disk did not take it: check its free space and its health",
        Some(ErrorCode::CannotOpen) => {
            "check that its directory exists and that you may write there (a reader, too, needs files beside one that is in use)"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "you may not write it: change its permissions, or name another file with --db"
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "the file is damaged: copy it and try `sqlite3 copy.db .recover`, and name a new file with --db"
        }
        Some(ErrorCode::ConstraintViolation) => {
            "the run that it belongs to is gone from the database: do not delete a run while it is recorded"
        }
        _ => "check that the file is a Weir database and that no other program changes its tables",
    }
}
