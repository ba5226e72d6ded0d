//! A results database, read with SQLite as a user would.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags};

/// An open database.
pub struct Database(Connection);

impl Database {
    /// Opens for reading and checks the file's integrity.
    #[track_caller]
    pub fn open(path: &str) -> Self {
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database");
        let database = Database(connection);
        assert_eq!(database.one::<String>("PRAGMA integrity_check"), "ok");
        database
    }

    /// The one value that a query gives.
    #[track_caller]
    pub fn one<T: FromSql>(&self, sql: &str) -> T {
        self.0
            .query_row(sql, [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The first column of all rows.
    #[track_caller]
    pub fn all<T: FromSql>(&self, sql: &str) -> Vec<T> {
        let mut statement = self
            .0
            .prepare(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = statement.query_map([], |row| row.get(0)).expect(sql);
        rows.collect::<Result<_, _>>().expect(sql)
    }
}

impl Database {
    /// Rows of a table, if the file and the table can be read at all.
    pub fn try_count(path: &str, table: &str) -> Option<i64> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get(0)).ok()
    }

    /// Waits until the store has this number of rows.
    #[track_caller]
    pub fn wait_for_rows(path: &str, table: &str, rows: i64) {
        crate::wait_until(&format!("{rows} rows of {table}"), crate::LIMIT, || {
            let there = std::path::Path::new(path).exists();
            let stored = there.then(|| Database::try_count(path, table)).flatten();
            stored.filter(|stored| *stored >= rows)
        });
    }

    /// Changes a database behind Weir's back.
    #[track_caller]
    pub fn change(path: &str, sql: &str) {
        let connection = Connection::open(path).expect("a database");
        connection.execute_batch(sql).expect(sql);
    }
}
