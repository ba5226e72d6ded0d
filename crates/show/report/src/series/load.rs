//! Startup, stalls and bit rates of an origin's viewers, over all of them. It must not know of seconds.

use weir_results::{LoadHistogram, Record, StoreError, Table};
use weir_stats::DurationHistogram;

use super::shares::{WHOLE, shares};
use super::{Named, Source};
use crate::data::{Series, Values};

/// What sessions differ in: as the store calls it, as it is called here, and what one of the store's values is.
const MEASURES: [(&str, &str, f64); 3] = [
    ("startup", "startup", 1.0),
    ("rebuffer_ppm", "rebuffer", 1e-6),
    ("bitrate", "bitrate", 1.0),
];

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
