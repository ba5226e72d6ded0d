//! Counters of all paths as metrics. It must not know who reads them, or in which form.

use weir_alarm::Exposition;
use weir_record::WatchCell;

use super::path::Path;
use crate::flows::FlowTotal;

/// Upper bounds of RTTs, seconds: within a region, between regions, around the world.
const BOUNDS: [f64; 18] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5,
    1.0, 5.0,
];

/// What a counter takes from a cell.
type Count = fn(&WatchCell) -> u64;

/// What a counter takes from a flow.
type FlowCount = fn(&FlowTotal) -> u64;

/// The page.
pub(super) fn page(paths: &[Path]) -> Exposition {
    let totals: Vec<WatchCell> = paths
        .iter()
        .map(|path| path.open_cells().total().clone())
        .collect();
    let labels = |path: &Path| {
        let (from, to) = path.names();
        [("from", from.to_owned()), ("to", to.to_owned())]
    };
    let all: Vec<_> = paths.iter().map(labels).zip(&totals).zip(paths).collect();
    let mut page = Exposition::default();
    let counters: [(&str, &str, Count); 3] = [
        ("sent", "RTT packets sent that have a result.", |cell| cell.sent),
        ("lost", "Of those, not answered in time.", |cell| cell.lost),
        ("duplicate", "Extra replies.", |cell| cell.duplicates),
    ];
    for (name, help, of) in counters {
        let mut family = page.counter(&format!("weir_watch_{name}"), "packets", help);
        for ((labels, cell), _) in &all {
            family.sample(&borrowed(labels), of(cell));
        }
    }
    let mut family = page.histogram("weir_watch_rtt", "seconds", "RTT between applications.");
    for ((labels, cell), _) in &all {
        family.buckets(&borrowed(labels), &at_most(cell), (cell.rtt.count(), sum_s(cell)));
    }
    let mut family = page.gauge("weir_watch_hops", "", "Hops to the far host.");
    for ((labels, cell), _) in &all {
        if let Some(hops) = cell.hops {
            family.sample(&borrowed(labels), hops);
        }
    }
    let mut family = page.gauge(
        "weir_watch_unreachable",
        "",
        "Whether nothing is answered: the alarm stands.",
    );
    for ((labels, _), path) in &all {
        family.sample(&borrowed(labels), u8::from(path.is_unreachable()));
    }
    let counters: [(&str, &str, FlowCount); 2] = [
        ("sent", "Packets of flow tests.", |total| total.sent),
        ("lost", "Of those, not received.", |total| total.lost),
    ];
    for (name, help, of) in counters {
        let mut family = page.counter(&format!("weir_watch_flow_{name}"), "packets", help);
        for ((labels, _), path) in &all {
            for (direction, flow, total) in path.flows.totals() {
                let [from, to] = borrowed(labels);
                let flow = flow.to_string();
                family.sample(&[from, to, ("direction", direction), ("flow", &flow)], of(&total));
            }
        }
    }
    let mut family = page.counter("weir_watch_dark_flows", "", "Flows that went dark.");
    for ((labels, _), path) in &all {
        family.sample(&borrowed(labels), path.went_dark);
    }
    let mut family = page.gauge("weir_watch_rule_alarm", "", "Whether the alarm of a rule stands.");
    for ((labels, _), path) in &all {
        for (rule, stands) in path.rules.standing() {
            let [from, to] = borrowed(labels);
            family.sample(&[from, to, ("rule", rule)], u8::from(stands));
        }
    }
    let mut family = page.counter(
        "weir_watch_changes",
        "",
        "Changes found since the watcher started.",
    );
    for ((labels, _), path) in &all {
        for (metric, count) in &path.changes {
            let [from, to] = borrowed(labels);
            family.sample(&[from, to, ("metric", metric)], count);
        }
    }
    page
}

fn borrowed<'a>(labels: &'a [(&'a str, String); 2]) -> [(&'a str, &'a str); 2] {
    [0, 1].map(|place| (labels[place].0, labels[place].1.as_str()))
}

/// Values at or below each bound. A value counts as the middle of its bucket, within 0.4 %.
fn at_most(cell: &WatchCell) -> Vec<(f64, u64)> {
    let mut buckets = cell.rtt.buckets().peekable();
    let mut count = 0;
    let of_bound = |bound: f64| {
        while let Some((_, _, more)) =
            buckets.next_if(|(low, width, _)| (low + width / 2) as f64 <= bound * 1e9)
        {
            count += more;
        }
        (bound, count)
    };
    BOUNDS.into_iter().map(of_bound).collect()
}

/// Sum of all values, seconds, within 0.4 %.
fn sum_s(cell: &WatchCell) -> f64 {
    let each = cell.rtt.buckets();
    each.map(|(low, width, count)| (low + width / 2) as f64 * 1e-9 * count as f64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_at_or_below_each_bound() {
        let mut cell = WatchCell::default();
        for rtt_us in [90, 240, 260, 9_000, 48_000, 48_500, 300_001, 9_000_000] {
            cell.rtt.record(rtt_us * 1_000);
        }
        let counts: Vec<u64> = at_most(&cell).iter().map(|(_, count)| *count).collect();
        let expected = 90e-6 + 240e-6 + 260e-6 + 9e-3 + 48e-3 + 48.5e-3 + 0.300001 + 9.0;
        assert!((sum_s(&cell) / expected - 1.0).abs() < 0.004);
        assert_eq!(counts, [1, 2, 3, 3, 3, 3, 4, 4, 4, 6, 6, 6, 6, 6, 6, 7, 7, 7]);
    }
}
