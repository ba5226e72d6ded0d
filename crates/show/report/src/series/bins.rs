//! Sums rows into bins of time, row by row. It must not know what the rows tell, only how each of their values is
//! put together.

use std::collections::BTreeMap;

use weir_results::{Record, StoreError, Subjects, Table};

use super::Source;
use crate::data::{Series, Values};

const SECOND_NS: u64 = 1_000_000_000;
/// Lengths that people count time in, seconds; longer ones are days.
const LENGTHS: [u64; 19] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
];
const DAY: u64 = 86_400;

/// How the values of a column become that of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Sum,
    Smallest,
    Largest,
    /// The quantile of the values, per mille, by nearest rank: the smallest value that so many of them do not exceed.
    Quantile(u64),
    Mean,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Int(super::int(count))
    }
}

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Cell::Null, Cell::Int)
    }
}

impl Cell {
    fn int(&self) -> Option<i64> {
        match self {
            Cell::Int(value) => Some(*value),
            _ => None,
        }
    }

    fn real(&self) -> Option<f64> {
        match self {
            Cell::Real(value) => Some(*value),
            _ => None,
        }
    }
}

/// Whom a row is about: a direction or side, and a flow or sender where there are several.
pub(super) type Subject = (&'static str, u16);

/// A column that tells the subject.
#[derive(Clone, Copy)]
pub(super) enum Name {
    /// Of its word, one of these; any other is `other`.
    Word(&'static str, &'static [&'static str]),
    /// Of its number.
    Number(&'static str),
}

/// The columns that tell the subject, and the columns of values with their rules.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) subject: &'static [Name],
    pub(super) values: &'static [(&'static str, Rule)],
}

/// The rank of a quantile, from 1.
pub(super) fn rank(per_mille: u64, count: u64) -> u64 {
    let exact = u128::from(per_mille) * u128::from(count);
    u64::try_from(exact.div_ceil(1000)).unwrap_or(count).max(1)
}

/// The shortest bins, of a length that people count in and not below `least` seconds, with which a table has no more
/// than `most` of them.
pub(super) fn shortest(
    source: Source<'_>,
    table: Table,
    subjects: Subjects,
    least: u64,
    most: u64,
) -> Result<u64, StoreError> {
    let mut seconds = counted_in(least);
    loop {
        let bin_ns = seconds * SECOND_NS;
        let bins = source
            .store
            .count_bins(source.run, table, subjects, source.started_unix_ns, bin_ns)?;
        // Bins n times as long are at least an n-th as many, so those in between need not be tried.
        let needed = seconds.saturating_mul(bins).div_ceil(most.max(1));
        if needed <= seconds || seconds > u64::MAX / SECOND_NS / 4 {
            return Ok(bin_ns);
        }
        seconds = counted_in(needed);
    }
}

/// The next length that people count in, seconds.
fn counted_in(seconds: u64) -> u64 {
    LENGTHS
        .into_iter()
        .find(|length| *length >= seconds)
        .unwrap_or_else(|| seconds.div_ceil(DAY).saturating_mul(DAY))
}

/// Rows on their way into bins.
pub(super) struct Binner {
    layout: Layout,
    bin_ns: Option<u64>,
    rows: u64,
    /// A row came that belongs before what is done already.
    disordered: bool,
    subjects: BTreeMap<Subject, Lane>,
}

/// The entries of one subject.
#[derive(Default)]
struct Lane {
    /// Where the bin that is being filled begins.
    open_at: i64,
    /// Its values so far; empty before the first row.
    open: Vec<Gathered>,
    at: Vec<i64>,
    values: Vec<Vec<Cell>>,
}

/// The values of a column in the bin that is being filled.
enum Gathered {
    Sum(Option<i64>),
    Smallest(Option<i64>),
    Largest(Option<i64>),
    Quantile(u64, Vec<i64>),
    Mean(f64, u64),
}

impl Gathered {
    fn new(rule: Rule) -> Self {
        match rule {
            Rule::Sum => Gathered::Sum(None),
            Rule::Smallest => Gathered::Smallest(None),
            Rule::Largest => Gathered::Largest(None),
            Rule::Quantile(per_mille) => Gathered::Quantile(per_mille, Vec::new()),
            Rule::Mean => Gathered::Mean(0.0, 0),
        }
    }

    fn take(&mut self, value: Cell) {
        match (self, value) {
            (Gathered::Sum(sum), Cell::Int(value)) => {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
            (Gathered::Smallest(least), Cell::Int(value)) => {
                *least = Some(least.map_or(value, |least| least.min(value)));
            }
            (Gathered::Largest(most), Cell::Int(value)) => {
                *most = Some(most.map_or(value, |most| most.max(value)));
            }
            (Gathered::Quantile(_, all), Cell::Int(value)) => all.push(value),
            (Gathered::Mean(sum, count), Cell::Real(value)) => {
                *sum += value;
                *count += 1;
            }
            // What was not measured changes nothing; a column has values of one kind.
            _ => {}
        }
    }

    fn value(self) -> Cell {
        match self {
            Gathered::Sum(value) | Gathered::Smallest(value) | Gathered::Largest(value) => value.into(),
            Gathered::Quantile(per_mille, mut all) => {
                all.sort_unstable();
                let place = rank(per_mille, all.len() as u64) - 1;
                let value = usize::try_from(place).ok().and_then(|place| all.get(place));
                value.copied().into()
            }
            Gathered::Mean(_, 0) => Cell::Null,
            Gathered::Mean(sum, count) => Cell::Real(sum / count as f64),
        }
    }
}

impl Lane {
    /// Ends the bin that is being filled.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.at.push(self.open_at);
        self.values.resize_with(self.open.len(), Vec::new);
        for (column, gathered) in self.values.iter_mut().zip(self.open.drain(..)) {
            column.push(gathered.value());
        }
    }
}

impl Binner {
    pub(super) fn new(layout: Layout, bin_ns: Option<u64>) -> Self {
        Binner {
            layout,
            bin_ns,
            rows: 0,
            disordered: false,
            subjects: BTreeMap::new(),
        }
    }

    /// A series made from all rows of a table. Rows lie in the order of their time unless a clock was set back; only
    /// then they are read a second time, sorted.
    pub(super) fn read(
        source: Source<'_>,
        table: Table,
        layout: Layout,
        bin_ns: Option<u64>,
        mut add: impl FnMut(&mut Binner, Record),
    ) -> Result<Option<Series>, StoreError> {
        let mut binner = Binner::new(layout, bin_ns);
        source.store.each_record(source.run, table, |record| {
            add(&mut binner, record);
            Ok(())
        })?;
        if !binner.disordered {
            return Ok(binner.into_series());
        }
        Binner::read_sorted(source, table, layout, bin_ns, add)
    }

    /// The same from rows that are sorted first.
    pub(super) fn read_sorted(
        source: Source<'_>,
        table: Table,
        layout: Layout,
        bin_ns: Option<u64>,
        mut add: impl FnMut(&mut Binner, Record),
    ) -> Result<Option<Series>, StoreError> {
        let mut binner = Binner::new(layout, bin_ns);
        source.store.each_record_by_time(source.run, table, |record| {
            add(&mut binner, record);
            Ok(())
        })?;
        Ok(binner.into_series())
    }

    pub(super) fn disordered(&self) -> bool {
        self.disordered
    }

    /// Adds a row that begins at `at`; its values are in the order of the layout.
    pub(super) fn add(&mut self, subject: Subject, at: i64, values: &[Cell]) {
        debug_assert_eq!(values.len(), self.layout.values.len());
        if self.disordered {
            return;
        }
        self.rows += 1;
        let bin = match self.bin_ns {
            None => at,
            Some(length) => {
                let length = super::int(length).max(1);
                at.div_euclid(length).saturating_mul(length)
            }
        };
        let lane = self.subjects.entry(subject).or_default();
        if !(lane.open.is_empty() && lane.at.is_empty()) && bin < lane.open_at {
            self.disordered = true;
            return;
        }
        if bin > lane.open_at || self.bin_ns.is_none() {
            lane.close();
        }
        if lane.open.is_empty() {
            lane.open_at = bin;
            lane.open = self
                .layout
                .values
                .iter()
                .map(|(_, rule)| Gathered::new(*rule))
                .collect();
        }
        for (gathered, value) in lane.open.iter_mut().zip(values) {
            gathered.take(*value);
        }
    }

    /// The series, by subject and then by time; none without rows.
    pub(super) fn into_series(mut self) -> Option<Series> {
        if self.rows == 0 {
            return None;
        }
        for lane in self.subjects.values_mut() {
            lane.close();
        }
        let lanes = &self.subjects;
        let each = |value: fn(&Subject) -> i64| {
            let of_lane = |(subject, lane): (&Subject, &Lane)| vec![Some(value(subject)); lane.at.len()];
            lanes.iter().flat_map(of_lane).collect()
        };
        let mut columns = Vec::new();
        for name in self.layout.subject {
            columns.push(match name {
                Name::Word(name, _) => {
                    let words = lanes
                        .iter()
                        .flat_map(|((word, _), lane)| vec![(*word).into(); lane.at.len()]);
                    (*name, Values::Words(words.collect()))
                }
                Name::Number(name) => (*name, Values::Integers(each(|(_, number)| i64::from(*number)))),
            });
        }
        let times = lanes.values().flat_map(|lane| lane.at.iter().copied().map(Some));
        columns.push(("at_ns", Values::Integers(times.collect())));
        for (place, (name, rule)) in self.layout.values.iter().enumerate() {
            let cells = lanes.values().filter_map(|lane| lane.values.get(place)).flatten();
            let values = if *rule == Rule::Mean {
                Values::Reals(cells.map(Cell::real).collect())
            } else {
                Values::Integers(cells.map(Cell::int).collect())
            };
            columns.push((*name, values));
        }
        Some(Series::new(self.rows, self.bin_ns, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        subject: &[Name::Word("direction", &["forward", "reverse"])],
        values: &[
            ("sum", Rule::Sum),
            ("least", Rule::Smallest),
            ("most", Rule::Largest),
            ("median", Rule::Quantile(500)),
            ("mean", Rule::Mean),
        ],
    };

    fn row(value: i64, mean: f64) -> [Cell; 5] {
        let int = Cell::Int(value);
        let mean = if mean.is_nan() {
            Cell::Null
        } else {
            Cell::Real(mean)
        };
        [int, int, int, int, mean]
    }

    #[test]
    fn values_are_put_together_by_their_rules_in_bins_that_begin_at_0() {
        let mut binner = Binner::new(LAYOUT, Some(10));
        for (at, value, mean) in [(-1, 7, 1.0), (0, 5, 2.0), (9, 1, 4.0), (35, 2, f64::NAN)] {
            binner.add(("forward", 0), at, &row(value, mean));
        }
        binner.add(("forward", 0), 39, &[Cell::Null; 5]);
        let series = binner.into_series().expect("rows");
        let ints = |values: [i64; 3]| Some(Values::Integers(values.map(Some).to_vec()));
        assert_eq!(series.column("at_ns").cloned_ints(), ints([-10, 0, 30]));
        assert_eq!(series.column("sum").cloned_ints(), ints([7, 6, 2]));
        assert_eq!(series.column("least").cloned_ints(), ints([7, 1, 2]));
        assert_eq!(series.column("most").cloned_ints(), ints([7, 5, 2]));
        assert_eq!(series.column("median").cloned_ints(), ints([7, 1, 2]));
        let means = vec![Some(1.0), Some(3.0), None];
        assert_eq!(series.column("mean"), Some(&Values::Reals(means)));
        assert_eq!((series.rows, series.left_out), (5, 0));
    }

    trait ClonedInts {
        fn cloned_ints(self) -> Option<Values>;
    }

    impl ClonedInts for Option<&Values> {
        fn cloned_ints(self) -> Option<Values> {
            match self? {
                Values::Integers(values) => Some(Values::Integers(values.clone())),
                _ => None,
            }
        }
    }

    #[test]
    fn without_bins_every_row_is_an_entry_even_two_of_one_time() {
        let mut binner = Binner::new(LAYOUT, None);
        for at in [3, 3, 4] {
            binner.add(("forward", 0), at, &row(at, 0.5));
        }
        assert!(!binner.disordered());
        let series = binner.into_series().expect("rows");
        let times = vec![Some(3), Some(3), Some(4)];
        assert_eq!(series.column("at_ns"), Some(&Values::Integers(times)));
    }

    #[test]
    fn a_row_from_before_is_noticed_in_its_own_subject_only() {
        let mut binner = Binner::new(LAYOUT, Some(10));
        binner.add(("forward", 0), 25, &row(1, 0.0));
        binner.add(("reverse", 0), 5, &row(1, 0.0));
        binner.add(("forward", 0), 21, &row(1, 0.0));
        assert!(!binner.disordered());
        binner.add(("forward", 0), 19, &row(1, 0.0));
        assert!(binner.disordered());
    }

    #[test]
    fn ranks_are_the_nearest() {
        // The 90 % quantile of 1 .. 10 is 9, that of 1 .. 11 is 10.
        for (per_mille, count, expected) in [(900, 10, 9), (900, 11, 10), (500, 2, 1), (500, 1, 1), (0, 5, 1)]
        {
            assert_eq!(rank(per_mille, count), expected, "{per_mille} of {count}");
        }
    }
}
