//! Requests, stalls and bit rates of an origin's viewers, by second and over all of them. It must not know of
//! causes of failures and of what origins report.

use weir_results::{LoadHistogram, Record, StoreError, Table};
use weir_stats::DurationHistogram;

use super::bins::{Binner, Layout, Name, Rule};
use super::limits::MOST_LOAD_SECONDS;
use super::shares::{WHOLE, shares};
use super::streams::{bins_of_at_most, known};
use super::{Named, Source};
use crate::data::{Series, Values};

/// What sessions differ in: as the store calls it, as it is called here, and what one of the store's values is.
const MEASURES: [(&str, &str, f64); 3] = [
    ("startup", "startup", 1.0),
    ("rebuffer_ppm", "rebuffer", 1e-6),
    ("bitrate", "bitrate", 1.0),
];

/// Kinds of requests; what another Weir may call another name is `other`.
const KINDS: [&str; 6] = ["manifest", "init", "audio", "video", "subtitle", "key"];

const REQUESTS: Layout = Layout {
    subject: &[Name::Word("kind")],
    values: &[
        ("duration_ns", Rule::Sum),
        ("requests", Rule::Sum),
        ("failed", Rule::Sum),
        ("body_bytes", Rule::Sum),
        ("all_bytes", Rule::Sum),
        ("connections", Rule::Sum),
        ("first_byte_p50_ns", Rule::Quantile(500)),
        ("first_byte_p90_ns", Rule::Quantile(500)),
        ("first_byte_p99_ns", Rule::Quantile(500)),
        ("first_byte_max_ns", Rule::Largest),
        ("last_byte_min_ns", Rule::Smallest),
        ("last_byte_p50_ns", Rule::Quantile(500)),
        ("last_byte_p90_ns", Rule::Quantile(500)),
        ("last_byte_p99_ns", Rule::Quantile(500)),
        ("last_byte_p999_ns", Rule::Quantile(500)),
        ("last_byte_max_ns", Rule::Largest),
    ],
};

const VIEWERS: Layout = Layout {
    subject: &[],
    values: &[
        ("duration_ns", Rule::Sum),
        ("viewers", Rule::Largest),
        ("arrivals", Rule::Sum),
        ("sessions", Rule::Sum),
        ("gave_up", Rule::Sum),
        ("played_ns", Rule::Sum),
        ("stalls", Rule::Sum),
        ("stalled_ns", Rule::Sum),
        ("switches", Rule::Sum),
        ("startup_count", Rule::Sum),
        ("startup_p50_ns", Rule::Quantile(500)),
        ("startup_p99_ns", Rule::Quantile(500)),
        ("schedule_error_count", Rule::Sum),
        ("schedule_error_p99_ns", Rule::Quantile(500)),
        ("cpu_ns", Rule::Sum),
    ],
};

fn kind(name: &str) -> &'static str {
    KINDS.into_iter().find(|known| *known == name).unwrap_or("other")
}

pub(super) fn load_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::LoadSeconds;
    let bin_ns = bins_of_at_most(MOST_LOAD_SECONDS, source, table, rows)?;
    let series = Binner::read(source, table, REQUESTS, bin_ns, |binner, record| {
        let Record::LoadSecond(row) = record else {
            return;
        };
        let (first, last) = (&row.first_byte, &row.last_byte);
        binner.add(
            (kind(&row.kind), 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.requests.into(),
                row.failed.into(),
                row.body_bytes.into(),
                row.all_bytes.into(),
                row.connections.into(),
                known(first, first.p50),
                known(first, first.p90),
                known(first, first.p99),
                known(first, first.max),
                known(last, last.min),
                known(last, last.p50),
                known(last, last.p90),
                known(last, last.p99),
                known(last, last.p999),
                known(last, last.max),
            ],
        );
    })?;
    Ok(series.map(|series| ("load_seconds", series)))
}

pub(super) fn viewer_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::ViewerSeconds;
    let bin_ns = bins_of_at_most(MOST_LOAD_SECONDS, source, table, rows)?;
    let series = Binner::read(source, table, VIEWERS, bin_ns, |binner, record| {
        let Record::ViewerSecond(row) = record else {
            return;
        };
        let (startup, late) = (&row.startup, &row.schedule_error);
        binner.add(
            ("", 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.viewers.into(),
                row.arrivals.into(),
                row.sessions.into(),
                row.gave_up.into(),
                row.played_ns.into(),
                row.stalls.into(),
                row.stalled_ns.into(),
                row.switches.into(),
                startup.count.into(),
                known(startup, startup.p50),
                known(startup, startup.p99),
                late.count.into(),
                known(late, late.p99),
                row.cpu_ns.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("viewer_seconds", series)))
}

/// The distributions over sessions, each counting alike, of all of the run together.
pub(super) fn viewer_distribution(source: Source<'_>) -> Result<Named, StoreError> {
    let mut found = MEASURES.map(|_| DurationHistogram::new());
    let mut rows = 0;
    let table = Table::LoadHistograms;
    source
        .store
        .each_record::<StoreError>(source.run, table, |record| {
            let Record::LoadHistogram(row) = record else {
                return Ok(());
            };
            let measure = MEASURES.iter().position(|(stored, ..)| *stored == row.time);
            let whole = histogram(&row).filter(|_| row.kind == "viewers");
            if let Some((measure, whole)) = measure.zip(whole) {
                found[measure].merge(&whole);
                rows += 1;
            }
            Ok(())
        })?;
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for ((_, name, unit), histogram) in MEASURES.into_iter().zip(&found) {
        for share in shares(histogram.count()) {
            let whole = WHOLE as f64;
            // Half a part less, so that rounding does not make a place of the next one.
            if let Some(value) = histogram.quantile((share as f64 - 0.5) / whole) {
                columns.0.push(name.into());
                columns.1.push(Some(share as f64 / whole));
                columns.2.push(Some(value as f64 * unit));
            }
        }
    }
    let columns = vec![
        ("measure", Values::Words(columns.0)),
        ("share", Values::Reals(columns.1)),
        ("value", Values::Reals(columns.2)),
    ];
    Ok((rows > 0).then(|| ("viewer_distribution", Series::new(rows, None, columns))))
}

/// A distribution as the store keeps it; none for what is none.
fn histogram(row: &LoadHistogram) -> Option<DurationHistogram> {
    let buckets: Vec<(i64, u64)> = serde_json::from_str(&row.buckets).ok()?;
    DurationHistogram::from_buckets(&buckets, row.min_ns, row.max_ns, i128::from(row.sum_ns))
}
