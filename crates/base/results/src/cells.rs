//! Conversion between a record's field and its column or columns. It knows types, not tables.

use rusqlite::Row;
use rusqlite::types::{FromSql, Value};

use crate::sides::{Direction, Side};
use weir_stats::{Counters, FlowCounts, Quantiles, SendCounts};

/// Walks the columns of a row from left to right.
pub(crate) struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(row: &'a Row<'a>) -> Self {
        Cells { row, next: 0 }
    }

    fn get<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }

    /// Whether the next cell is this word; compares without copying, since a long run has millions of them.
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

/// A field of a record, or all of them; most fields are one column.
pub(crate) trait Cell: Sized {
    /// Appends the names of its columns, for a field of this name.
    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(name.to_owned());
    }
    /// Appends the values of its columns.
    fn put(&self, values: &mut Vec<Value>);
    /// Takes the values of its columns.
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self>;
}

/// The name of a column of a field that has several; the fields of a whole record have no name before theirs.
pub(crate) fn joined(field: &str, column: &str) -> String {
    if field.is_empty() {
        column.to_owned()
    } else {
        format!("{field}_{column}")
    }
}

/// SQLite's integers are signed: a count above 2^63 - 1 (only a faulty peer sends one) is stored as 2^63 - 1
/// rather than stopping the run's writer.
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

/// NULL for none.
impl<T: Cell + FromSql> Cell for Option<T> {
    fn put(&self, values: &mut Vec<Value>) {
        match self {
            Some(value) => value.put(values),
            None => values.push(Value::Null),
        }
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
plain_cell!(u16, i32, u32, i64, bool, String);

impl Cell for f64 {
    /// NULL for NaN and infinity: neither SQLite nor JSON has them.
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
    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(joined(name, "count"));
        columns.extend(["min", "p50", "p90", "p99", "p999", "max"].map(|of| format!("{name}_{of}_ns")));
    }
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

/// Sets of counters, one column each, of the counter's name.
macro_rules! counts_cell {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn columns(_: &str, columns: &mut Vec<String>) {
                columns.extend(<$type>::NAMES.iter().map(ToString::to_string));
            }
            fn put(&self, values: &mut Vec<Value>) {
                self.values().for_each(|count| count.put(values));
            }
            fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
                let counts: Vec<u64> = <$type>::NAMES.iter().map(|_| cells.get()).collect::<Result<_, _>>()?;
                Ok(<$type>::from_values(counts))
            }
        }
    )*};
}
counts_cell!(FlowCounts, SendCounts);

/// Words of which the table's CHECK admits only these two.
macro_rules! word_cell {
    ($($type:ident: $first:ident or $second:ident),*) => {$(
        impl Cell for $type {
            fn put(&self, values: &mut Vec<Value>) {
                values.push(Value::Text(self.as_str().to_owned()));
            }
            fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
                let second = cells.is($type::$second.as_str())?;
                Ok(if second { $type::$second } else { $type::$first })
            }
        }
    )*};
}
word_cell!(Direction: Forward or Reverse, Side: Local or Remote);

impl Cell for Vec<u16> {
    /// A JSON array, so that SQL can read it with `json_each`.
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

impl Cell for serde_json::Value {
    /// JSON text.
    fn put(&self, values: &mut Vec<Value>) {
        values.push(Value::Text(self.to_string()));
    }
    /// Invalid JSON, edited by hand, counts as empty.
    fn take(cells: &mut Cells<'_>) -> rusqlite::Result<Self> {
        Ok(serde_json::from_str(&cells.get::<String>()?).unwrap_or_default())
    }
}
