//! What a sender and a receiver of media did, second by second, and the frames that came of it. It must not know of
//! single flows and events.

use weir_results::{Record, StoreError, Table};

use super::bins::{Binner, Layout, Name, Rule};
use super::limits::MOST_MEDIA_SECONDS;
use super::streams::{bins_of_at_most, known};
use super::{Named, Source, int};

const SEND: Layout = Layout {
    subject: &[],
    values: &[
        ("duration_ns", Rule::Sum),
        ("receiver_rtt_ns", Rule::Quantile(500)),
        ("frames", Rule::Sum),
        ("frames_skipped", Rule::Sum),
        ("sources", Rule::Sum),
        ("bytes", Rule::Sum),
        ("repairs", Rule::Sum),
        ("retransmitted", Rule::Sum),
        ("trials", Rule::Sum),
        ("refused", Rule::Sum),
        ("unsent", Rule::Sum),
        ("rejected", Rule::Sum),
        ("fec_sources", Rule::Quantile(500)),
        ("fec_window", Rule::Quantile(500)),
        ("cpu_ns", Rule::Sum),
    ],
};

const RECV: Layout = Layout {
    subject: &[Name::Number("sender")],
    values: &[
        ("duration_ns", Rule::Sum),
        ("rtt_ns", Rule::Quantile(500)),
        ("received", Rule::Sum),
        ("bytes", Rule::Sum),
        ("repairs", Rule::Sum),
        ("lost", Rule::Sum),
        ("recovered", Rule::Sum),
        ("retransmitted", Rule::Sum),
        ("overtaken", Rule::Sum),
        ("elsewhere", Rule::Sum),
        ("unrepaired", Rule::Sum),
        ("late", Rule::Sum),
        ("duplicates", Rule::Sum),
        ("rejected", Rule::Sum),
        ("asked", Rule::Sum),
        ("socket_drops", Rule::Sum),
        ("cpu_ns", Rule::Sum),
    ],
};

const FRAMES: Layout = Layout {
    subject: &[],
    values: &[
        ("duration_ns", Rule::Sum),
        ("frames", Rule::Sum),
        ("damaged", Rule::Sum),
        ("lost", Rule::Sum),
        ("dropped", Rule::Sum),
        ("verified", Rule::Sum),
        ("unequal", Rule::Sum),
        ("budget_ns", Rule::Quantile(500)),
        ("delay_count", Rule::Sum),
        ("delay_min_ns", Rule::Smallest),
        ("delay_p50_ns", Rule::Quantile(500)),
        ("delay_p90_ns", Rule::Quantile(500)),
        ("delay_p99_ns", Rule::Quantile(500)),
        ("delay_p999_ns", Rule::Quantile(500)),
        ("delay_max_ns", Rule::Largest),
        ("used_count", Rule::Sum),
        ("used_min_ns", Rule::Smallest),
        ("used_p50_ns", Rule::Quantile(500)),
        ("used_p90_ns", Rule::Quantile(500)),
        ("used_p99_ns", Rule::Quantile(500)),
        ("used_p999_ns", Rule::Quantile(500)),
        ("used_max_ns", Rule::Largest),
    ],
};

pub(super) fn send_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::SendSeconds;
    let bin_ns = bins_of_at_most(MOST_MEDIA_SECONDS, source, table, rows)?;
    let series = Binner::read(source, table, SEND, bin_ns, |binner, record| {
        let Record::SendSecond(row) = record else {
            return;
        };
        binner.add(
            ("", 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.receiver_rtt_ns.map(int).into(),
                row.frames.into(),
                row.frames_skipped.into(),
                row.sources.into(),
                row.bytes.into(),
                row.repairs.into(),
                row.retransmitted.into(),
                row.trials.into(),
                row.refused.into(),
                row.unsent.into(),
                row.rejected.into(),
                row.fec_sources.map(i64::from).into(),
                row.fec_window.map(i64::from).into(),
                row.cpu_ns.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("send_seconds", series)))
}

pub(super) fn recv_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::RecvSeconds;
    let bin_ns = bins_of_at_most(MOST_MEDIA_SECONDS, source, table, rows)?;
    let series = Binner::read(source, table, RECV, bin_ns, |binner, record| {
        let Record::RecvSecond(row) = record else {
            return;
        };
        binner.add(
            ("", row.sender),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.rtt_ns.into(),
                row.received.into(),
                row.bytes.into(),
                row.repairs.into(),
                row.lost.into(),
                row.recovered.into(),
                row.retransmitted.into(),
                row.overtaken.into(),
                row.elsewhere.into(),
                row.unrepaired.into(),
                row.late.into(),
                row.duplicates.into(),
                row.rejected.into(),
                row.asked.into(),
                row.socket_drops.into(),
                row.cpu_ns.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("recv_seconds", series)))
}

pub(super) fn frame_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::FrameSeconds;
    let bin_ns = bins_of_at_most(MOST_MEDIA_SECONDS, source, table, rows)?;
    let series = Binner::read(source, table, FRAMES, bin_ns, |binner, record| {
        let Record::FrameSecond(row) = record else {
            return;
        };
        let (delay, used) = (&row.delay, &row.used);
        binner.add(
            ("", 0),
            source.began(row.unix_ns, row.duration_ns),
            &[
                row.duration_ns.into(),
                row.frames.into(),
                row.damaged.into(),
                row.lost.into(),
                row.dropped.into(),
                row.verified.into(),
                row.unequal.into(),
                row.budget_ns.into(),
                delay.count.into(),
                known(delay, delay.min),
                known(delay, delay.p50),
                known(delay, delay.p90),
                known(delay, delay.p99),
                known(delay, delay.p999),
                known(delay, delay.max),
                used.count.into(),
                known(used, used.min),
                known(used, used.p50),
                known(used, used.p90),
                known(used, used.p99),
                known(used, used.p999),
                known(used, used.max),
            ],
        );
    })?;
    Ok(series.map(|series| ("frame_seconds", series)))
}
