//! An RTT test as text.

use crate::units::{format_count, format_duration, format_signed_duration};
use weir_measure::rtt::{GroupRow, RttSummary};

use super::{loss, quantile_table, table, titled};

/// Maximum number of groups of packets shown by length or position; the store has all of them.
const MOST_GROUPS: usize = 10;

/// An RTT test.
pub fn rtt(summary: &RttSummary) -> String {
    let mut text = format!(
        "{} packets sent, lost {}",
        format_count(summary.sent),
        loss(summary.lost, summary.loss, summary.loss_interval)
    );
    if let (Some(there), Some(back)) = (summary.lost_forward, summary.lost_reverse)
        && summary.lost > 0
    {
        text.push_str(&format!(
            ": {} on the forward path, {} on the return path",
            format_count(there),
            format_count(back)
        ));
    }
    text.push_str(&format!(
        "; {} late, {} duplicates\n\n",
        format_count(summary.late),
        format_count(summary.duplicates)
    ));
    let times = quantile_table(&[
        ("RTT, application to application", &summary.rtt),
        (
            &format!("RTT on the network ({} timestamps)", summary.timestamps),
            &summary.network_rtt,
        ),
        ("time in both applications", &summary.application),
        ("one-way delay, forward (estimate)", &summary.owd_forward),
        ("one-way delay, return (estimate)", &summary.owd_reverse),
    ]);
    text.push_str(&titled("times", &times));
    text.push_str(&format!(
        "jitter {} (RFC 3550), IPDV mean {} P99 {}",
        format_duration(summary.jitter_ns as u64),
        format_duration(summary.ipdv_mean_ns as u64),
        format_signed_duration(summary.ipdv_p99_ns)
    ));
    if let Some(hops) = summary.delta_ttl {
        text.push_str(&format!(", TTL decreased by {hops}"));
    }
    if let Some(clock) = &summary.clock {
        text.push_str(&format!(
            "\nclock offset {} ± {} (estimate)",
            format_signed_duration(clock.offset_ns),
            format_duration(clock.uncertainty_ns)
        ));
    }
    text.push_str("\n\n");
    text.push_str(&groups("P90 by packet length", "bytes", &summary.by_length));
    text.push_str(&groups(
        "P90 by position in the window",
        "position",
        &summary.by_position,
    ));
    text
}

fn groups(title: &str, key: &str, rows: &[GroupRow]) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let mut shown = table(&[key, "packets", "P90"]);
    let step = rows.len().div_ceil(MOST_GROUPS);
    let last = rows.len() - 1;
    for (_, row) in rows
        .iter()
        .enumerate()
        .filter(|(index, _)| index % step == 0 || *index == last)
    {
        let name = if row.low == row.high {
            row.low.to_string()
        } else {
            format!("{}..{}", row.low, row.high)
        };
        shown.add_row([name, format_count(row.count), format_signed_duration(row.p90_ns)]);
    }
    titled(title, &shown)
}
