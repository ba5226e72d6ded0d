//! Writes a run out as newline-delimited JSON or CSV, row by row, so that a run of any length fits in memory.
//! It knows only the column names of the database.

use std::io::Write;

use rusqlite::types::ValueRef;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use weir_record::{RunId, Table};

use crate::error::StoreError;
use crate::read::Run;
use crate::store::Store;

/// Columns that hold JSON, which the JSON export writes as values rather than as strings.
const JSON_COLUMNS: [&str; 1] = ["flows"];

impl Store {
    /// Writes a run as newline-delimited JSON: first the run, then its rows; every object has its table's name
    /// under `table`, and the columns by name.
    pub fn export_json(&self, run: RunId, mut writer: impl Write) -> Result<(), StoreError> {
        #[derive(Serialize)]
        struct Head {
            table: &'static str,
            #[serde(flatten)]
            run: Run,
        }

        let _one_state = self.read_transaction()?;
        let head = Head {
            table: "runs",
            run: self.run(run)?,
        };
        write_line(&mut writer, &head).map_err(|source| StoreError::Export { run, source })?;
        for table in Table::ALL {
            self.each_row(run, table, |line| {
                write_line(&mut writer, line).map_err(|source| StoreError::Export { run, source })
            })?;
        }
        writer
            .flush()
            .map_err(|source| StoreError::Export { run, source })
    }

    /// Writes one table of a run as CSV with a header; a NULL is an empty field.
    pub fn export_csv(&self, run: RunId, table: Table, writer: impl Write) -> Result<(), StoreError> {
        let failed = |source: csv::Error| StoreError::Export {
            run,
            source: match source.into_kind() {
                // Kept unchanged, to distinguish a closed pipe from a full disk.
                csv::ErrorKind::Io(source) => source,
                other => std::io::Error::other(format!("{other:?}")),
            },
        };
        let _one_state = self.read_transaction()?;
        self.run(run)?;
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(self.column_names(table)?).map_err(failed)?;
        self.each_row(run, table, |line| {
            for index in 0..line.names.len() {
                match line.value(index) {
                    ValueRef::Null => csv.write_field(b""),
                    ValueRef::Integer(value) => csv.write_field(value.to_string()),
                    ValueRef::Real(value) => csv.write_field(value.to_string()),
                    ValueRef::Text(value) | ValueRef::Blob(value) => csv.write_field(value),
                }
                .map_err(failed)?;
            }
            csv.write_record(None::<&[u8]>).map_err(failed)
        })?;
        csv.flush().map_err(|source| StoreError::Export { run, source })
    }

    /// A consistent view of the database for all reads until it is dropped.
    pub(crate) fn read_transaction(&self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        self.connection
            .unchecked_transaction()
            .map_err(StoreError::at("read the run for export", &self.path))
    }

    fn column_names(&self, table: Table) -> Result<Vec<String>, StoreError> {
        let statement = self
            .connection
            .prepare(&format!("SELECT * FROM {table}"))
            .map_err(StoreError::at("read the table's columns", &self.path))?;
        Ok(statement.column_names().into_iter().map(str::to_string).collect())
    }

    fn each_row(
        &self,
        run: RunId,
        table: Table,
        mut visit: impl FnMut(&Line<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = || StoreError::at("read the rows to export", &self.path);
        let names = self.column_names(table)?;
        let sql = format!("SELECT * FROM {table} WHERE run_id = ?1 ORDER BY id");
        let mut statement = self.connection.prepare(&sql).map_err(failed())?;
        let mut rows = statement.query([run.0]).map_err(failed())?;
        while let Some(row) = rows.next().map_err(failed())? {
            visit(&Line {
                table,
                names: &names,
                row,
            })?;
        }
        Ok(())
    }
}

/// One row with its table and the names of its columns.
struct Line<'a> {
    table: Table,
    names: &'a [String],
    row: &'a rusqlite::Row<'a>,
}

impl Line<'_> {
    fn value(&self, index: usize) -> ValueRef<'_> {
        // The only error is an index out of range, and it is below the number of columns.
        self.row.get_ref(index).unwrap_or(ValueRef::Null)
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len() + 1))?;
        map.serialize_entry("table", self.table.name())?;
        for (index, name) in self.names.iter().enumerate() {
            match self.value(index) {
                ValueRef::Null => map.serialize_entry(name, &())?,
                ValueRef::Integer(value) => map.serialize_entry(name, &value)?,
                ValueRef::Real(value) => map.serialize_entry(name, &value)?,
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    let text = String::from_utf8_lossy(text);
                    let json = JSON_COLUMNS.contains(&name.as_str());
                    match serde_json::from_str::<serde_json::Value>(&text) {
                        Ok(value) if json => map.serialize_entry(name, &value)?,
                        _ => map.serialize_entry(name, &text)?,
                    }
                }
            }
        }
        map.end()
    }
}

fn write_line(writer: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *writer, line)?;
    writer.write_all(b"\n")
}
