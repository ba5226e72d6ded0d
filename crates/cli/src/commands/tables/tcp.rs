//! TCP throughput over windows and connections as a table.

use crate::units::{format_bytes, format_count, format_duration, format_percent};
use weir_measure::tcp_sweep::{FULL, Filled, Limit, SweepSummary, WindowTest};

use super::{or_dash, table, titled};

/// The tests, and the number of connections that fill the path.
pub fn tcp(summary: &SweepSummary) -> String {
    let mut rows = table(&[
        "window",
        "announced",
        "streams",
        "goodput",
        "window / RTT",
        "share",
        "RTT",
        "retransmits",
        "limit",
    ]);
    for row in &summary.tests {
        rows.add_row(cells(row));
    }
    let mut text = titled("TCP throughput", &rows);
    if let Some(fill) = &summary.fill {
        text.push_str(&format!("{}\n", filled(fill)));
    }
    if summary.hit_byte_limit {
        text.push_str("note: --max-bytes ended the tests early\n");
    }
    text
}

fn cells(row: &WindowTest) -> Vec<String> {
    let WindowTest {
        test,
        window_rate,
        limit,
    } = row;
    let window = test.window.as_ref();
    let share = window_rate.filter(|rate| rate.0 > 0);
    vec![
        window.map_or("kernel's".to_owned(), |window| format_bytes(window.asked_bytes)),
        or_dash(window.and_then(|window| window.announced_bytes), format_bytes),
        test.streams.to_string(),
        test.goodput.rounded(),
        or_dash(*window_rate, |rate| rate.rounded()),
        or_dash(share, |rate| {
            format!("{:.0} %", 100.0 * test.goodput.0 as f64 / rate.0 as f64)
        }),
        format_duration(test.rtt_ns),
        format_count(test.retransmits),
        or_dash(*limit, |limit| {
            match limit {
                Limit::Window => "window",
                Limit::SendBuffer => "send buffer",
                Limit::Path => "path",
            }
            .to_owned()
        }),
    ]
}

fn filled(fill: &Filled) -> String {
    let (rate, full) = (fill.rate.rounded(), format_percent(FULL));
    match fill.streams {
        Some(1) => format!("1 connection fills the path: at least {full} of {rate}"),
        Some(streams) => format!("{streams} connections fill the path: at least {full} of {rate}"),
        None => format!(
            "the path is not full: {} connections carried {rate}, and more connections may carry more",
            fill.most_streams
        ),
    }
}
