//! Opens the file and brings its schema up to date. It knows versions and settings of the database, not what a
//! run is.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::StoreError;

/// The schema version (`user_version`) that this crate writes; it reads this one and all before it.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Entry `n` brings a database from version `n` to `n + 1`. Entries are only ever added.
const MIGRATIONS: &[&str] = &[
    include_str!("schema_v1.sql"),
    include_str!("schema_v2.sql"),
    include_str!("schema_v3.sql"),
    include_str!("schema_v4.sql"),
    include_str!("schema_v5.sql"),
    include_str!("schema_v6.sql"),
];

/// "WEIR": tells our databases from those of other programs, which also start at `user_version` 0.
const APPLICATION_ID: i64 = 0x5745_4952;

/// How long an operation waits for another program's lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of one row. The longest that Weir writes is a run with its summary, both ends' reports of at most 1 MiB each as
/// JSON; SQLite itself would hand out a gigabyte of text that somebody put into a column.
const LONGEST_ROW: i32 = 64 << 20;

/// What the opener means to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write, and make the file if there is none.
    Create,
    /// Write to a file that exists.
    Write,
    /// Leave the file as it is.
    Read,
}

/// Opens a Weir database at the current schema version, with foreign keys on.
pub(crate) fn open(path: &Path, mode: Mode) -> Result<Connection, StoreError> {
    let failed = |operation| StoreError::at(operation, path);
    if mode != Mode::Create && !path.exists() {
        return Err(StoreError::NotFound {
            path: path.to_path_buf(),
        });
    }
    // Without SQLITE_OPEN_URI, so that a file named "file:..." is that file.
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match mode {
            Mode::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Mode::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Mode::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
    let connect = |name: &Path, flags| {
        let connection = Connection::open_with_flags(name, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_ROW)?;
        Ok(connection)
    };
    let mut connection = connect(path, flags).map_err(failed("open the database"))?;

    // Looks before it writes: another program's database must stay as it is, journal mode included.
    let mut looked = recognise(&connection, path);
    if mode == Mode::Read && looked.as_ref().is_err_and(refused) && !has_log(path) {
        // On a file system that cannot be written, where SQLite cannot make the files that it needs beside its own.
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        connection = connect(&immutable(path), flags).map_err(failed("open the database"))?;
        looked = recognise(&connection, path);
    }
    let version = looked?;
    if version > SCHEMA_VERSION {
        return Err(StoreError::NewerVersion {
            path: path.to_path_buf(),
            found: version,
            known: SCHEMA_VERSION,
        });
    }
    if mode == Mode::Read {
        return match version {
            0 => Err(StoreError::NotWeir {
                path: path.to_path_buf(),
            }),
            SCHEMA_VERSION => Ok(connection),
            found => {
                drop(connection);
                bring_up_to_date(path, found)?;
                open(path, mode)
            }
        };
    }

    use_wal(&connection).map_err(failed("set the journal mode"))?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        .map_err(failed("set up the connection"))?;
    if version < SCHEMA_VERSION {
        migrate(&mut connection, path)?;
    }
    Ok(connection)
}

/// The schema version of our database, 0 for a file with nothing in it; an error for anything else.
fn recognise(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let looked = (|| {
        // In one transaction, so that another process that creates the tables meanwhile is seen wholly or not at all.
        let _snapshot = connection.unchecked_transaction()?;
        Ok((
            read("PRAGMA application_id")?,
            read("PRAGMA user_version")?,
            read("SELECT count(*) FROM sqlite_master")?,
        ))
    })();
    match looked.map_err(StoreError::at("read the schema version", path))? {
        (APPLICATION_ID, version, _) => Ok(version),
        (0, 0, 0) => Ok(0),
        _ => Err(StoreError::NotWeir {
            path: path.to_path_buf(),
        }),
    }
}

/// Switches to write-ahead logging. SQLite does not wait out another connection that does the same at the
/// same time, so this does.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        let result = connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()));
        match result {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

/// Brings a file of an older Weir up to date for one who only wants to read it.
fn bring_up_to_date(path: &Path, found: i64) -> Result<(), StoreError> {
    match open(path, Mode::Write) {
        Err(error) if refused(&error) => Err(StoreError::OlderVersion {
            path: path.to_path_buf(),
            found,
        }),
        other => other.map(drop),
    }
}

/// Whether the file or its folder may not be written.
fn refused(error: &StoreError) -> bool {
    let codes = [
        ErrorCode::ReadOnly,
        ErrorCode::CannotOpen,
        ErrorCode::PermissionDenied,
    ];
    match error {
        StoreError::Sqlite { source, .. } => source
            .sqlite_error_code()
            .is_some_and(|code| codes.contains(&code)),
        _ => false,
    }
}

/// Whether there is a write-ahead log, from which a writer has yet to take its rows into the file, or is about to.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log).exists()
}

/// The name by which SQLite reads a file as one that nobody changes, without files beside it:
/// <https://www.sqlite.org/uri.html>.
fn immutable(path: &Path) -> PathBuf {
    let mut name = String::from(if path.is_absolute() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                name.push(char::from(*byte))
            }
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name.push_str("?immutable=1");
    PathBuf::from(name)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let apply = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Read again under the lock: another process may have brought it up to date meanwhile.
        let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for (step, sql) in MIGRATIONS
            .iter()
            .enumerate()
            .skip(usize::try_from(version).unwrap_or(0))
        {
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()
    };
    apply(connection).map_err(StoreError::at("create the tables", path))
}
