//! What an emulated link did, second by second. It must not know what ran across it.

use weir_results::{Record, StoreError, Table};

use super::bins::{Binner, Layout, Name, Rule};
use super::streams::{bins_for, known};
use super::{Named, Source};

const LINK: Layout = Layout {
    subject: &[Name::Word("direction")],
    values: &[
        ("duration_ns", Rule::Sum),
        ("offered", Rule::Sum),
        ("offered_bytes", Rule::Sum),
        ("delivered", Rule::Sum),
        ("delivered_bytes", Rule::Sum),
        ("dropped_too_big", Rule::Sum),
        ("dropped_long_packet", Rule::Sum),
        ("dropped_flow_rate", Rule::Sum),
        ("dropped_packet_rate", Rule::Sum),
        ("dropped_extra_flow", Rule::Sum),
        ("dropped_dark", Rule::Sum),
        ("dropped_loss", Rule::Sum),
        ("dropped_queue", Rule::Sum),
        ("duplicated", Rule::Sum),
        ("corrupted", Rule::Sum),
        ("own_losses", Rule::Sum),
        // The row has the most since the link began.
        ("most_queued_bytes", Rule::Largest),
        ("lateness_count", Rule::Sum),
        ("lateness_min_ns", Rule::Smallest),
        ("lateness_p50_ns", Rule::Quantile(500)),
        ("lateness_p90_ns", Rule::Quantile(500)),
        ("lateness_p99_ns", Rule::Quantile(500)),
        ("lateness_p999_ns", Rule::Quantile(500)),
        ("lateness_max_ns", Rule::Largest),
        ("cpu_ns", Rule::Sum),
    ],
};

pub(super) fn link_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::LinkSeconds;
    let bin_ns = bins_for(source, table, rows)?;
    let series = Binner::read(source, table, LINK, bin_ns, |binner, record| {
        let Record::LinkSecond(direction, row) = record else {
            return;
        };
        let late = &row.lateness;
        binner.add(
            (direction.as_str(), 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.offered.into(),
                row.offered_bytes.into(),
                row.delivered.into(),
                row.delivered_bytes.into(),
                row.dropped_too_big.into(),
                row.dropped_long_packet.into(),
                row.dropped_flow_rate.into(),
                row.dropped_packet_rate.into(),
                row.dropped_extra_flow.into(),
                row.dropped_dark.into(),
                row.dropped_loss.into(),
                row.dropped_queue.into(),
                row.duplicated.into(),
                row.corrupted.into(),
                row.own_losses.into(),
                row.most_queued_bytes.into(),
                late.count.into(),
                known(late, late.min),
                known(late, late.p50),
                known(late, late.p90),
                known(late, late.p99),
                known(late, late.p999),
                known(late, late.max),
                row.cpu_ns.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("link_seconds", series)))
}
