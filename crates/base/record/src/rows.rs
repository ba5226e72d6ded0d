//! Declares records: from one list of a record's fields follow its struct, the columns of its table, how a row is written
//! and read, and how two rows are merged. It does not know files or runs.

use weir_stats::Quantiles;

/// Merging of records, for a writer that is behind.
pub(crate) trait Merge {
    /// Whether its rows are merged: those that sum up a period. Two events added up would be one that never happened.
    const MERGES: bool;

    /// What two records must have in common to be merged.
    fn subject(&self) -> String;

    /// Adds a record of the same subject to this one, into which `parts` were merged so far.
    fn merge(&mut self, row: &Self, parts: u32);
}

/// Declares structs whose fields are the columns of a table: `field: Type`, then `as "column"` if the column has another
/// name, then, in a table whose rows are merged, `=> rule` for how the values of two rows become one (see
/// [`merge_field`]). Either each field has a rule or none has.
///
/// The columns themselves, with their types and order, are in `schema.sql`; a test compares the two.
macro_rules! records {
    ($(
        $(#[$about:meta])*
        pub struct $record:ident {
            $($(#[$field_about:meta])* $field:ident: $type:ty $(as $column:literal)? $(=> $rule:ident)?,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $record {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $crate::cells::Cell for $record {
            fn columns(prefix: &str, columns: &mut Vec<String>) {
                $(
                    let column = [$($column,)? stringify!($field)][0];
                    <$type as $crate::cells::Cell>::columns(&$crate::cells::joined(prefix, column), columns);
                )*
            }

            fn put(&self, values: &mut Vec<$crate::cells::Value>) {
                $($crate::cells::Cell::put(&self.$field, values);)*
            }

            fn take(cells: &mut dyn $crate::cells::Cells) -> Result<Self, $crate::cells::CellError> {
                // Fields are evaluated in the order written here, the order of the columns.
                Ok($record { $($field: $crate::cells::Cell::take(cells)?,)* })
            }
        }

        impl $crate::rows::Merge for $record {
            const MERGES: bool = {
                let rules = [$($(stringify!($rule),)?)* ""].len() - 1;
                let fields = [$(stringify!($field)),*].len();
                assert!(rules == 0 || rules == fields, "a field of a merged record has no rule");
                rules > 0
            };

            fn subject(&self) -> String {
                // Quoted as in Rust, so that no two subjects look alike.
                let fields: &[&dyn std::fmt::Debug] = &[$($crate::rows::same_field!(self.$field $(, $rule)?)),*];
                format!("{fields:?}")
            }

            #[allow(unused_variables)]
            fn merge(&mut self, row: &Self, parts: u32) {
                let sum = self;
                $($($crate::rows::merge_field!(sum, row, parts, $field, $rule);)?)*
            }
        }
    )*};
}
pub(crate) use records;

/// A field that merged rows have in common; nothing for others.
macro_rules! same_field {
    ($field:expr, same) => {
        &$field
    };
    ($field:expr $(, $rule:ident)?) => {
        &()
    };
}
pub(crate) use same_field;

/// The rules by which the values of two rows become one.
macro_rules! merge_field {
    // A part of the subject: rows with another value stay apart.
    ($sum:ident, $row:ident, $parts:ident, $field:ident, same) => {};
    // A count. It saturates, since counts come from a peer that may be faulty.
    ($sum:ident, $row:ident, $parts:ident, $field:ident, sum) => {
        $sum.$field = $sum.$field.saturating_add($row.$field)
    };
    // A time or a maximum.
    ($sum:ident, $row:ident, $parts:ident, $field:ident, max) => {
        $sum.$field = $sum.$field.max($row.$field)
    };
    // A share of time.
    ($sum:ident, $row:ident, $parts:ident, $field:ident, mean) => {
        $sum.$field += ($row.$field - $sum.$field) / (f64::from($parts) + 1.0)
    };
    // A state: the later one stays. `unix_ns` is an earlier field, and by now that of the later row.
    ($sum:ident, $row:ident, $parts:ident, $field:ident, later) => {
        if $row.unix_ns == $sum.unix_ns {
            $sum.$field = $row.$field;
        }
    };
    ($sum:ident, $row:ident, $parts:ident, $field:ident, counts) => {
        weir_stats::Counters::add(&mut $sum.$field, &$row.$field)
    };
    ($sum:ident, $row:ident, $parts:ident, $field:ident, quantiles) => {
        $crate::rows::merge_quantiles(&mut $sum.$field, &$row.$field)
    };
}
pub(crate) use merge_field;

/// Count, smallest and largest stay exact; a quantile of the whole lies at or below the larger of the two
/// parts' quantiles, which is what stays.
pub(crate) fn merge_quantiles(sum: &mut Quantiles, row: &Quantiles) {
    if row.count == 0 {
        return;
    }
    if sum.count == 0 {
        *sum = *row;
        return;
    }
    sum.count = sum.count.saturating_add(row.count);
    sum.min = sum.min.min(row.min);
    sum.p50 = sum.p50.max(row.p50);
    sum.p90 = sum.p90.max(row.p90);
    sum.p99 = sum.p99.max(row.p99);
    sum.p999 = sum.p999.max(row.p999);
    sum.max = sum.max.max(row.max);
}
