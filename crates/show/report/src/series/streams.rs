//! What a stream did, second by second, at its receiver and at its sender. It must not know of single flows.

use weir_results::{Record, StoreError, Subjects, Table};
use weir_stats::Quantiles;

use super::bins::{Binner, Cell, Layout, Name, Rule, shortest};
use super::limits::MOST_SECONDS;
use super::{Named, Source};

const STREAM: Layout = Layout {
    subject: &[Name::Word("direction")],
    values: &[
        ("duration_ns", Rule::Sum),
        ("received", Rule::Sum),
        ("bytes", Rule::Sum),
        ("lost", Rule::Sum),
        ("late", Rule::Sum),
        ("duplicates", Rule::Sum),
        ("reordered", Rule::Sum),
        ("owd_min_ns", Rule::Smallest),
        ("owd_p50_ns", Rule::Quantile(500)),
        ("owd_p99_ns", Rule::Quantile(500)),
        ("owd_max_ns", Rule::Largest),
    ],
};

const SENDER: Layout = Layout {
    subject: &[Name::Word("direction")],
    values: &[
        ("duration_ns", Rule::Sum),
        ("sent", Rule::Sum),
        ("bytes", Rule::Sum),
        ("refused", Rule::Sum),
        ("schedule_error_p50_ns", Rule::Quantile(500)),
        ("schedule_error_p99_ns", Rule::Quantile(500)),
        ("schedule_error_max_ns", Rule::Largest),
        ("cpu_ns", Rule::Sum),
    ],
};

/// The bins that a table of seconds needs; none where every row has an entry of its own.
pub(super) fn bins_for(source: Source<'_>, table: Table, rows: u64) -> Result<Option<u64>, StoreError> {
    bins_of_at_most(MOST_SECONDS, source, table, rows)
}

/// The same where there may be `most` bins.
pub(super) fn bins_of_at_most(
    most: u64,
    source: Source<'_>,
    table: Table,
    rows: u64,
) -> Result<Option<u64>, StoreError> {
    if rows <= most {
        return Ok(None);
    }
    // Rows are seconds, so that shorter bins would be too many: they need not be counted.
    let least = rows.div_ceil(most);
    shortest(source, table, Subjects::Each, least, most).map(Some)
}

/// A quantile of a row; none where there were no values.
pub(super) fn known(quantiles: &Quantiles, value: i64) -> Cell {
    if quantiles.count == 0 {
        Cell::Null
    } else {
        Cell::Int(value)
    }
}

pub(super) fn stream_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::StreamSeconds;
    let bin_ns = bins_for(source, table, rows)?;
    let series = Binner::read(source, table, STREAM, bin_ns, |binner, record| {
        let Record::StreamSecond(direction, row) = record else {
            return;
        };
        let owd = &row.owd;
        binner.add(
            (direction.as_str(), 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.received.into(),
                row.bytes.into(),
                row.lost.into(),
                row.late.into(),
                row.duplicates.into(),
                row.reordered.into(),
                known(owd, owd.min),
                known(owd, owd.p50),
                known(owd, owd.p99),
                known(owd, owd.max),
            ],
        );
    })?;
    Ok(series.map(|series| ("stream_seconds", series)))
}

pub(super) fn sender_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::SenderSeconds;
    let bin_ns = bins_for(source, table, rows)?;
    let series = Binner::read(source, table, SENDER, bin_ns, |binner, record| {
        let Record::SenderSecond(direction, row) = record else {
            return;
        };
        let late = &row.schedule_error;
        binner.add(
            (direction.as_str(), 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.counts.sent.into(),
                row.counts.bytes.into(),
                row.counts.refused.into(),
                known(late, late.p50),
                known(late, late.p99),
                known(late, late.max),
                row.cpu_ns.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("sender_seconds", series)))
}
