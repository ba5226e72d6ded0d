//! Conversion between a record's field and its column or columns. It knows types, not tables, and no database.

use weir_stats::{
    ArrivalCounters, Counters, FlowCounts, FrameCounters, HostCounts, Quantiles, SendCounts, SenderCounters,
};

use crate::sides::{Direction, Side};

/// A value to store in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number, or a truth value as 0 or 1.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
}

/// A value that was stored in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'v> {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(&'v str),
}

/// A stored value that is not one of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expected} is expected")]
pub struct CellError {
    /// What the field takes.
    pub expected: &'static str,
}

/// The columns of a stored row, from left to right.
pub trait Cells {
    /// The next column's value.
    ///
    /// # Errors
    /// When it has none that a field could take.
    fn next(&mut self) -> Result<ValueRef<'_>, CellError>;
}

/// A field of a record, or all of them; most fields are one column.
pub trait Cell: Sized {
    /// Appends the names of its columns, for a field of this name.
    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(name.to_owned());
    }
    /// Appends the values of its columns.
    fn put(&self, values: &mut Vec<Value>);
    /// Takes the values of its columns.
    ///
    /// # Errors
    /// When they are not those of this field.
    fn take(cells: &mut dyn Cells) -> Result<Self, CellError>;
}

/// The name of a column of a field that has several; the fields of a whole record have no name before theirs.
pub(crate) fn joined(field: &str, column: &str) -> String {
    if field.is_empty() {
        column.to_owned()
    } else {
        format!("{field}_{column}")
    }
}

/// A field that is one column.
trait Scalar: Sized {
    fn value(&self) -> Value;
    fn of(value: ValueRef<'_>) -> Result<Self, CellError>;
}

impl<T: Scalar> Cell for T {
    fn put(&self, values: &mut Vec<Value>) {
        values.push(self.value());
    }
    fn take(cells: &mut dyn Cells) -> Result<Self, CellError> {
        T::of(cells.next()?)
    }
}

fn expected<T>(expected: &'static str) -> Result<T, CellError> {
    Err(CellError { expected })
}

/// NULL for none.
impl<T: Scalar> Scalar for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Scalar::value)
    }
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::of(value).map(Some),
        }
    }
}

/// Whole numbers. Columns are signed: a count above 2^63 - 1 (only a faulty peer sends one) is stored as 2^63 - 1 rather than
/// stopping the run's writer.
macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Scalar for $type {
            fn value(&self) -> Value {
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
            fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
                let ValueRef::Integer(integer) = value else {
                    return expected("a whole number");
                };
                <$type>::try_from(integer).or_else(|_| expected("a whole number within the range of the column"))
            }
        }
    )*};
}
integers!(u16, i32, u32, i64, u64);

impl Scalar for bool {
    fn value(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        i64::of(value).map(|integer| integer != 0)
    }
}

impl Scalar for f64 {
    /// NULL for NaN and infinity: neither SQLite nor JSON has them.
    fn value(&self) -> Value {
        if self.is_finite() {
            Value::Real(*self)
        } else {
            Value::Null
        }
    }
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        match value {
            ValueRef::Null => Ok(f64::NAN),
            ValueRef::Integer(integer) => Ok(integer as f64),
            ValueRef::Real(real) => Ok(real),
            ValueRef::Text(_) => expected("a number"),
        }
    }
}

fn text(value: ValueRef<'_>) -> Result<&str, CellError> {
    match value {
        ValueRef::Text(text) => Ok(text),
        _ => expected("text"),
    }
}

impl Scalar for String {
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        text(value).map(str::to_owned)
    }
}

/// Words of which the table's CHECK admits only these two. They are compared without a copy, since a long run has millions.
macro_rules! words {
    ($($type:ident: $first:ident or $second:ident),*) => {$(
        impl Scalar for $type {
            fn value(&self) -> Value {
                Value::Text(self.as_str().to_owned())
            }
            fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
                let second = text(value)? == $type::$second.as_str();
                Ok(if second { $type::$second } else { $type::$first })
            }
        }
    )*};
}
words!(Direction: Forward or Reverse, Side: Local or Remote);

impl Scalar for Vec<u16> {
    /// A JSON array, so that SQL can read it with `json_each`.
    fn value(&self) -> Value {
        let numbers: Vec<String> = self.iter().map(u16::to_string).collect();
        Value::Text(format!("[{}]", numbers.join(",")))
    }
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        serde_json::from_str(text(value)?).or_else(|_| expected("a JSON array of numbers"))
    }
}

impl Scalar for serde_json::Value {
    /// JSON text.
    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
    /// Invalid JSON, edited by hand, counts as empty.
    fn of(value: ValueRef<'_>) -> Result<Self, CellError> {
        Ok(serde_json::from_str(text(value)?).unwrap_or_default())
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
            Some(value).filter(|_| self.count > 0).put(values);
        }
    }
    fn take(cells: &mut dyn Cells) -> Result<Self, CellError> {
        let count = u64::take(cells)?;
        let mut value = || <Option<i64> as Cell>::take(cells).map(Option::unwrap_or_default);
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
macro_rules! counts {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            fn columns(_: &str, columns: &mut Vec<String>) {
                columns.extend(<$type>::NAMES.iter().map(ToString::to_string));
            }
            fn put(&self, values: &mut Vec<Value>) {
                self.values().for_each(|count| count.put(values));
            }
            fn take(cells: &mut dyn Cells) -> Result<Self, CellError> {
                let counts: Vec<u64> = <$type>::NAMES.iter().map(|_| u64::take(cells)).collect::<Result<_, _>>()?;
                Ok(<$type>::from_values(counts))
            }
        }
    )*};
}
counts!(
    ArrivalCounters,
    FlowCounts,
    FrameCounters,
    HostCounts,
    SendCounts,
    SenderCounters
);
