//! Columns of records in SQLite: how values are bound, and how rows are read. It knows types, not tables.

use rusqlite::Row;
use rusqlite::types::{ToSqlOutput, Type, ValueRef as Stored};
use weir_record::{Cell, CellError, Cells, Record, Table, Value, ValueRef};

/// Walks the columns of a row from left to right.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
    /// Type of the column read last.
    read: Type,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Columns {
            row,
            next: 0,
            read: Type::Null,
        }
    }

    /// The next field, or a whole record.
    pub(crate) fn take<T: Cell>(mut self) -> rusqlite::Result<T> {
        let taken = T::take(&mut self);
        taken.map_err(|error| self.failed(error))
    }

    /// The record of a table.
    pub(crate) fn record(mut self, table: Table) -> rusqlite::Result<Record> {
        let taken = Record::take(table, &mut self);
        taken.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: CellError) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.next.saturating_sub(1), self.read, Box::new(error))
    }
}

impl Cells for Columns<'_> {
    fn next(&mut self) -> Result<ValueRef<'_>, CellError> {
        let expected = |expected| CellError { expected };
        let stored = self.row.get_ref(self.next);
        self.next += 1;
        let stored = stored.map_err(|_| expected("one more column"))?;
        self.read = stored.data_type();
        match stored {
            Stored::Null => Ok(ValueRef::Null),
            Stored::Integer(integer) => Ok(ValueRef::Integer(integer)),
            Stored::Real(real) => Ok(ValueRef::Real(real)),
            Stored::Text(text) => std::str::from_utf8(text)
                .map(ValueRef::Text)
                .map_err(|_| expected("text in UTF-8")),
            Stored::Blob(_) => Err(expected("a number or text")),
        }
    }
}

/// A value as a parameter of a statement.
pub(crate) fn bound(value: &Value) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => Stored::Null,
        Value::Integer(integer) => Stored::Integer(*integer),
        Value::Real(real) => Stored::Real(*real),
        Value::Text(text) => Stored::Text(text.as_bytes()),
    })
}

/// SQLite's integers are signed: what is above 2^63 - 1 is stored as 2^63 - 1.
pub(crate) fn clamped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
