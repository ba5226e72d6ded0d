//! Opens the file and creates its tables. It knows the version and settings of the database, not what a run is.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

use crate::error::StoreError;

/// The schema version (`user_version`) that this crate reads and writes.
pub const SCHEMA_VERSION: i64 = 7;

/// The tables and views of that version.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");

/// "WEIR": distinguishes our databases from those of other programs, which also start at `user_version` 0.
const APPLICATION_ID: i64 = 0x5745_4952;

/// How long an operation waits for another program's lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a reader waits for the tables of an empty file.
const CREATION_TIME: Duration = Duration::from_secs(1);

/// Maximum length of a row, bytes. The longest one that Weir writes is a run with its summary, both ends' reports of at
/// most 1 MiB each as JSON; without this limit SQLite would return up to a gigabyte of text from a column.
const LONGEST_ROW: i32 = 64 << 20;

/// Access modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write, and create the file if there is none.
    Create,
    /// Write to a file that exists.
    Write,
    /// Read only.
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
    // Without SQLITE_OPEN_URI, so that "file:..." is a plain file name.
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

    // Checks before it writes: another program's database must not change, including its journal mode.
    let mut looked = recognise(&connection, path);
    if mode == Mode::Read && looked.as_ref().is_err_and(refused) && !has_log(path) {
        // On a read-only file system, where SQLite cannot create its files beside the database.
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        connection = connect(&immutable(path), flags).map_err(failed("open the database"))?;
        looked = recognise(&connection, path);
    }
    let mut version = looked?;
    // Somebody who begins to write creates the file first, and then its tables.
    let give_up = Instant::now() + CREATION_TIME;
    while version == 0 && mode == Mode::Read && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(20));
        version = recognise(&connection, path)?;
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::NewerVersion {
            path: path.to_path_buf(),
            found: version,
            known: SCHEMA_VERSION,
        });
    }
    if version != 0 && version != SCHEMA_VERSION {
        return Err(StoreError::OlderVersion {
            path: path.to_path_buf(),
            found: version,
            known: SCHEMA_VERSION,
        });
    }
    if mode == Mode::Read {
        return match version {
            0 => Err(StoreError::Empty {
                path: path.to_path_buf(),
            }),
            _ => {
                show_missing_tables(&connection)
                    .and_then(|()| show_missing_columns(&connection))
                    .map_err(failed("read the tables"))?;
                Ok(connection)
            }
        };
    }

    use_wal(&connection).map_err(failed("set the journal mode"))?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        .map_err(failed("set up the connection"))?;
    if version == 0 {
        create_tables(&mut connection).map_err(failed("create the tables"))?;
    } else {
        add_missing_tables(&mut connection).map_err(failed("add tables"))?;
        add_missing_columns(&mut connection).map_err(failed("add columns to the tables"))?;
        accept_new_words(&mut connection).map_err(failed("let the tables accept new words"))?;
    }
    Ok(connection)
}

/// The schema version of our database, 0 for an empty file; an error for anything else.
fn recognise(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let looked = (|| {
        // In one transaction, so that a concurrent creation of the tables is seen completely or not at all.
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

/// Whether the file or its folder is not writable.
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

/// Whether there is a write-ahead log with rows that are not in the file yet.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log).exists()
}

/// The URI by which SQLite reads a file as immutable, without files beside it:
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

fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have created them meanwhile.
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

/// The statements of [`SCHEMA`] that make what the file lacks: tables are added without a new version of the schema. Of
/// `kinds`, as in `sqlite_schema`, in the order of [`SCHEMA`].
fn missing_statements(connection: &Connection, kinds: &[&str]) -> rusqlite::Result<Vec<String>> {
    let schema = Connection::open_in_memory()?;
    schema.execute_batch(SCHEMA)?;
    let mut all = schema
        .prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY rowid")?;
    let mut known = connection.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = ?1")?;
    let mut missing = Vec::new();
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if kinds.contains(&kind.as_str()) && !known.exists([&name])? {
            missing.push(sql);
        }
    }
    Ok(missing)
}

fn add_missing_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    const KINDS: [&str; 2] = ["table", "index"];
    if missing_statements(connection, &KINDS)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have added them meanwhile.
    for statement in missing_statements(&transaction, &KINDS)? {
        transaction.execute_batch(&statement)?;
    }
    transaction.commit()
}

/// For a reader, a table that the file lacks is empty.
fn show_missing_tables(connection: &Connection) -> rusqlite::Result<()> {
    for statement in missing_statements(connection, &["table"])? {
        connection.execute_batch(&statement.replacen("CREATE TABLE", "CREATE TEMP TABLE", 1))?;
    }
    Ok(())
}

/// A column with a default that a file's table lacks: counters are added without a new version of the schema.
struct MissingColumn {
    table: String,
    name: String,
    definition: String,
    default: String,
}

/// What the file's tables lack of [`SCHEMA`], by table.
fn missing_columns(connection: &Connection) -> rusqlite::Result<Vec<MissingColumn>> {
    let schema = Connection::open_in_memory()?;
    schema.execute_batch(SCHEMA)?;
    let mut statement = schema.prepare(
        "SELECT of.name, has.name, has.type || CASE has.\"notnull\" WHEN 1 THEN ' NOT NULL' ELSE '' END,
                has.dflt_value FROM sqlite_schema AS of, pragma_table_info(of.name) AS has
         WHERE of.type = 'table' AND has.dflt_value IS NOT NULL ORDER BY of.name, has.cid",
    )?;
    let optional = statement.query_map([], |row| {
        let (kind, default): (String, String) = (row.get(2)?, row.get(3)?);
        Ok(MissingColumn {
            table: row.get(0)?,
            name: row.get(1)?,
            definition: format!("{kind} DEFAULT {default}"),
            default,
        })
    })?;
    let mut missing = Vec::new();
    let mut known = connection.prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2")?;
    for column in optional {
        let column = column?;
        if !known.exists([&column.table, &column.name])? {
            missing.push(column);
        }
    }
    Ok(missing)
}

fn add_missing_columns(connection: &mut Connection) -> rusqlite::Result<()> {
    if missing_columns(connection)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have added them meanwhile.
    for MissingColumn {
        table,
        name,
        definition,
        ..
    } in missing_columns(&transaction)?
    {
        transaction.execute_batch(&format!(
            "ALTER TABLE main.{table} ADD COLUMN {name} {definition}"
        ))?;
    }
    transaction.commit()
}

/// A table of the file whose checks do not accept all words of [`SCHEMA`]: words are added without a new version of the
/// schema.
struct NarrowTable {
    name: String,
    /// As in [`SCHEMA`], with its indices.
    table: String,
    indices: Vec<String>,
    columns: String,
}

fn narrow_tables(connection: &Connection) -> rusqlite::Result<Vec<NarrowTable>> {
    let schema = Connection::open_in_memory()?;
    schema.execute_batch(SCHEMA)?;
    let definition = "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1";
    let mut tables = schema
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")?;
    let mut of_table = schema.prepare(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL",
    )?;
    let mut columns = schema.prepare("SELECT group_concat(name, ', ') FROM pragma_table_info(?1)")?;
    let mut narrow = Vec::new();
    let named = tables.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for table in named {
        let (name, table) = table?;
        let before: Option<String> = connection
            .query_row(definition, [&name], |row| row.get(0))
            .optional()?;
        let Some(before) = before else { continue };
        let known: Vec<&str> = words(&before).collect();
        if words(&table).all(|word| known.contains(&word)) {
            continue;
        }
        let indices = of_table
            .query_map([&name], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        narrow.push(NarrowTable {
            columns: columns.query_row([&name], |row| row.get(0))?,
            name,
            table,
            indices,
        });
    }
    Ok(narrow)
}

/// The words between quotes of a definition.
fn words(definition: &str) -> impl Iterator<Item = &str> {
    definition.split('\'').skip(1).step_by(2)
}

/// Makes tables anew whose checks accept more words now; SQLite cannot change a check. In the order of
/// <https://www.sqlite.org/lang_altertable.html>, section 7: rows that refer to a table stay when it is dropped.
fn accept_new_words(connection: &mut Connection) -> rusqlite::Result<()> {
    if narrow_tables(connection)?.is_empty() {
        return Ok(());
    }
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have done it meanwhile.
    for NarrowTable {
        name,
        table,
        indices,
        columns,
    } in narrow_tables(&transaction)?
    {
        let table = table.replacen(&name, &format!("{name}_anew"), 1);
        transaction.execute_batch(&format!(
            "{table};
             INSERT INTO {name}_anew ({columns}) SELECT {columns} FROM {name};
             DROP TABLE {name};
             ALTER TABLE {name}_anew RENAME TO {name};
             {};",
            indices.join("; ")
        ))?;
    }
    transaction.commit()?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Shows tables that lack columns as views with the defaults, since the file must not change.
fn show_missing_columns(connection: &Connection) -> rusqlite::Result<()> {
    for of_table in missing_columns(connection)?.chunk_by(|one, other| one.table == other.table) {
        let table = &of_table[0].table;
        let columns: String = of_table
            .iter()
            .map(|column| format!(", {} AS {}", column.default, column.name))
            .collect();
        connection.execute_batch(&format!(
            "CREATE TEMP VIEW {table} AS SELECT *{columns} FROM main.{table}"
        ))?;
    }
    Ok(())
}
