//! Values of records by the names of their columns. It must not know what the columns mean, but for those of time.

use weir_results::{Record, Table, Value};

use super::Source;
use super::bins::{Binner, Cell, Layout, Name};

/// Length of a row of a table of seconds without durations.
const SECOND_NS: i64 = 1_000_000_000;

/// Where the values of a layout are among those of a table's records.
pub(super) struct Columns {
    word: Option<(usize, &'static [&'static str])>,
    number: Option<usize>,
    unix_ns: Option<usize>,
    duration_ns: Option<usize>,
    places: Vec<Option<usize>>,
    /// The values of the row that is looked at.
    row: Vec<Value>,
}

impl Columns {
    pub(super) fn of(table: Table, layout: Layout) -> Self {
        let names = table.columns();
        let place = |name: &str| names.iter().position(|known| known == name);
        let (mut word, mut number) = (None, None);
        for name in layout.subject {
            match name {
                Name::Word(name, words) => word = place(name).map(|place| (place, *words)),
                Name::Number(name) => number = place(name),
            }
        }
        Columns {
            word,
            number,
            unix_ns: place("unix_ns"),
            duration_ns: place("duration_ns"),
            places: layout.values.iter().map(|(name, _)| place(name)).collect(),
            row: Vec::new(),
        }
    }

    /// Adds a record of a period, which ends at its time.
    pub(super) fn add(&mut self, source: Source<'_>, binner: &mut Binner, record: &Record) {
        self.row.clear();
        record.put(&mut self.row);
        let value = |place: Option<usize>| place.and_then(|place| self.row.get(place));
        let integer = |place| match value(place) {
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        };
        let word = self.word.map_or("", |(place, words)| match self.row.get(place) {
            Some(Value::Text(word)) => words.iter().find(|known| *known == word).unwrap_or(&"other"),
            _ => "other",
        });
        let number = integer(self.number).and_then(|number| u16::try_from(number).ok());
        let ended = source.at(integer(self.unix_ns).unwrap_or(0).unsigned_abs());
        let at = ended.saturating_sub(integer(self.duration_ns).unwrap_or(SECOND_NS));
        let cells: Vec<Cell> = self.places.iter().map(|place| cell(value(*place))).collect();
        binner.add((word, number.unwrap_or(0)), at, &cells);
    }
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        Some(Value::Integer(value)) => Cell::Int(*value),
        Some(Value::Real(value)) => Cell::Real(*value),
        _ => Cell::Null,
    }
}
