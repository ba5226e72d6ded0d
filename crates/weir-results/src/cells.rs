//! Between a field of a record and the column or columns that hold it. It knows types, not tables.

use rusqlite::Row;
use rusqlite::types::Value;

use crate::record::{Direction, Quantiles, Side};

/// Walks the columns of a row from left to right.
pub(crate) struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(row: &'a Row<'a>) -> Self {
        Cells { row, next: 0 }
    }

    fn get<T: rusqlite::types::FromSql>(&mut self) -> rusqlite::Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }

    /// Whether the next cell is this word; compares where it lies, since a long run has millions of them.
    fn is(&mut self, word: &str) -> rusqlite::Result<bool> {
        let index = self.next;
        self.next += 1;
        let cell = self.row.get_ref(index)?;
        let text = cell.as_str().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, cell.data_type(), Box::new(error))
        })?;
        Ok(text == word)
    }
}

/// A field of a record; most are one column.
pub(crate) trait Cell: Sized {
    fn put(&self, values: &mut Vec<Value>);
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self>;
}

/// SQLite's integers are signed: a count beyond 2^63 - 1 (only a faulty peer sends one) is stored as that
/// rather than stopping the whole run's writer.
pub(crate) fn clamped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Cell for u64 {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Integer(clamped(*self)));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

impl Cell for Option<u64> {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(self.map_or(Value::Null, |count| Value::Integer(clamped(count))));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

/// Types that SQLite holds as they are.
macro_rules! plain_cell {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn put(&self, values: &mut Vec<Value>) {
                values.push(self.clone().into());
            }
            fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
                cells.get()
            }
        }
    )*};
}
plain_cell!(u32, i64, bool, String, Option<i64>, Option<i32>, Option<u32>);

impl Cell for u16 {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Integer((*self).into()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

impl Cell for Option<u16> {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(self.map_or(Value::Null, |number| Value::Integer(number.into())));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        cells.get()
    }
}

impl Cell for f64 {
    /// NULL for what is not a number: neither SQLite nor JSON has those.
    fn put(&self, values: &mut Vec<Value>) {
        values.push(if self.is_finite() {
            Value::Real(*self)
        } else {
            Value::Null
        });
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        Ok(cells.get::<Option<f64>>()?.unwrap_or(f64::NAN))
    }
}

impl Cell for Quantiles {
    /// NULL for all but the count where there were no values, so that averages in SQL leave those rows out.
    fn put(&self, values: &mut Vec<Value>) {
        self.count.put(values);
        for value in [self.min, self.p50, self.p90, self.p99, self.p999, self.max] {
            values.push(if self.count == 0 {
                Value::Null
            } else {
                Value::Integer(value)
            });
        }
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        let count = cells.get()?;
        let mut value = || Ok::<i64, rusqlite::Error>(cells.get::<Option<i64>>()?.unwrap_or_default());
        Ok(Quantiles {
            count,
            min: value()?,
            p50: value()?,
            p90: value()?,
            p99: value()?,
            p999: value()?,
            max: value()?,
        })
    }
}

impl Cell for Direction {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Text(self.as_str().to_owned()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        // The table's CHECK admits only these two.
        Ok(if cells.is("reverse")? {
            Direction::Reverse
        } else {
            Direction::Forward
        })
    }
}

impl Cell for Side {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Text(self.as_str().to_owned()));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        Ok(if cells.is("remote")? {
            Side::Remote
        } else {
            Side::Local
        })
    }
}

impl Cell for Vec<u16> {
    /// A JSON array, so that SQL can take it apart with `json_each`.
    fn put(&self, values: &mut Vec<Value>) {
        let numbers: Vec<String> = self.iter().map(u16::to_string).collect();
        values.push(Value::Text(format!("[{}]", numbers.join(","))));
    }
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        let index = cells.next;
        let text: String = cells.get()?;
        serde_json::from_str(&text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
        })
    }
}
