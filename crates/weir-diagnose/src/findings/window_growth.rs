//! How the RTT grows within a window of packets sent back to back: queueing, and the rate of the slowest part.

use weir_stats::{Line, line, median, median_interval, signed_rank};
use weir_units::{format_percent, format_rate};

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{Measured, RttTest, WindowGrowth};
use crate::words::time;

const CHANCE: f64 = 0.005;
/// Windows of fewer packets say little about growth.
const LEAST_PACKETS: u32 = 4;
/// Fewer windows say little of what is usual.
const LEAST_WINDOWS: usize = 8;
/// A rate this little above the media's leaves no room.
const ROOM: f64 = 1.1;

/// The finding, where the RTT grows.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let test = measured.rtt.as_ref()?;
    let windows: Vec<WindowGrowth> = test
        .windows
        .iter()
        .filter(|window| window.packets >= LEAST_PACKETS)
        .copied()
        .collect();
    if windows.len() < LEAST_WINDOWS {
        return None;
    }
    let slopes: Vec<f64> = windows.iter().map(|window| window.rtt_slope_ns).collect();
    let grows = signed_rank(&slopes)?;
    if grows.p_value >= CHANCE || grows.shift <= 0.0 {
        return None;
    }
    Some(describe(test, &windows, grows.p_value, measured))
}

/// The rate of the slowest part, with its bounds: from how the spacing of answers grows with the length of packets. What
/// each packet costs whatever its length is then no part of it.
fn rate(windows: &[WindowGrowth]) -> Option<(Line, f64, (f64, f64))> {
    let points: Vec<(f64, f64)> = windows
        .iter()
        .map(|window| (f64::from(window.length), window.spacing_ns))
        .collect();
    let fitted = line(&points)?;
    let (low, high) = fitted.slope_interval;
    let certain = fitted.p_value < CHANCE && low > 0.0;
    certain.then(|| (fitted, 8e9 / fitted.slope, (8e9 / high, 8e9 / low)))
}

fn describe(test: &RttTest, windows: &[WindowGrowth], p_value: f64, measured: &Measured) -> Finding {
    let slopes: Vec<f64> = windows.iter().map(|window| window.rtt_slope_ns).collect();
    let middle = median(slopes.clone());
    let (low, high) = median_interval(&slopes).unwrap_or((middle, middle));
    let spacing = median(windows.iter().map(|window| window.spacing_ns).collect());
    let mut evidence = vec![
        Evidence::of("windows", windows.len()),
        Evidence::in_unit("growth from packet to packet", middle.round(), "ns"),
        Evidence::in_unit("the same, 95 % bounds", vec![low.round(), high.round()], "ns"),
        Evidence::in_unit("time between answers", spacing.round(), "ns"),
        Evidence::of("packets answered", test.sent - test.lost),
    ];
    let found = rate(windows);
    let serial = found.map_or(String::new(), |(_, rate, (least, most))| {
        format!(
            " Answers come apart by what {} sends in that time (95 %: {} to {}), beside the cost of each packet: the slowest \
             part of the path, or a host.",
            format_rate(rate as u64),
            format_rate(least as u64),
            format_rate(most as u64)
        )
    });
    if let Some((fitted, rate, (least, most))) = found {
        evidence.push(Evidence::in_unit("serialization rate", rate.round(), "bit/s"));
        evidence.push(Evidence::in_unit(
            "the same rate, 95 % bounds",
            vec![least.round(), most.round()],
            "bit/s",
        ));
        evidence.push(Evidence::in_unit(
            "cost of each packet",
            fitted.intercept.round(),
            "ns",
        ));
    }
    let tight = match (found, measured.media_rate) {
        (Some((_, _, (_, most))), Some(media)) => most < ROOM * media as f64,
        _ => false,
    };
    let share = middle / test.rtt.map_or(1.0, |rtt| rtt.p50.max(1) as f64);
    Finding {
        name: FindingName::WindowGrowth,
        severity: if tight {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: None,
        sentence: format!(
            "packets sent back to back queue up: the RTT grows by {} ({} of the median RTT) from one packet of a window to \
             the next (95 %: {} to {}).{serial}",
            time(middle),
            format_percent(share),
            time(low),
            time(high)
        ),
        evidence,
        query: format!(
            "SELECT count(*) AS \"packets answered\" FROM rtt_packets WHERE run_id = {} AND NOT lost",
            test.run
        ),
        confidence: Confidence::by_test(
            "Wilcoxon signed-rank test that the RTT does not grow within windows",
            p_value,
        ),
        action: if tight {
            "The media need more than that: a lower rate, or a path with a faster link.".to_owned()
        } else {
            "Send short bursts and let packets have a rest between them where delay matters.".to_owned()
        },
    }
}
