//! The RTT against the last test of the same pair of hosts.

use weir_stats::{RankTest, mann_whitney, median, signed_rank};
use weir_units::format_percent;

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{Measured, RttBlock, RttTest};
use crate::words::time;

/// A change is believed below this chance.
const CHANCE: f64 = 0.01;
/// A smaller change matters to nobody.
const LEAST_SHARE: f64 = 0.05;
const LEAST_NS: f64 = 10_000.0;

/// The finding, where the RTT changed.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let (now, before) = (measured.rtt.as_ref()?, measured.previous_rtt.as_ref()?);
    let network = has_network_times(now) && has_network_times(before);
    let level = |test: &RttTest| median(test.blocks.iter().map(|block| value(block, network)).collect());
    let (was, is) = (level(before), level(now));
    let (test, compared) = compare(before, now, network)?;
    let large = test.shift.abs() >= LEAST_NS && test.shift.abs() >= LEAST_SHARE * was;
    (test.p_value < CHANCE && large).then(|| {
        describe(
            now,
            before,
            &Change {
                was,
                is,
                test,
                compared,
                network,
            },
        )
    })
}

/// What changed, and by which test.
struct Change {
    was: f64,
    is: f64,
    test: RankTest,
    compared: &'static str,
    network: bool,
}

/// Nearly every block has a smallest RTT by kernel timestamps.
fn has_network_times(test: &RttTest) -> bool {
    let with = test
        .blocks
        .iter()
        .filter(|block| block.network_min_ns.is_some())
        .count();
    with * 10 >= test.blocks.len() * 9 && with > 0
}

fn value(block: &RttBlock, network: bool) -> f64 {
    block.network_min_ns.filter(|_| network).unwrap_or(block.min_ns) as f64
}

/// Compares the smallest RTT of each second: second by second where lengths or windows move, so that only equals are
/// compared, and all with all where they do not.
fn compare(before: &RttTest, now: &RttTest, network: bool) -> Option<(RankTest, &'static str)> {
    if now.plan.length.moves() || now.plan.window.moves() {
        let differences: Vec<f64> = now
            .blocks
            .iter()
            .filter_map(|block| {
                let same = before
                    .blocks
                    .iter()
                    .find(|other| other.first_window == block.first_window)?;
                Some(value(block, network) - value(same, network))
            })
            .collect();
        let test = "Wilcoxon signed-rank test of the smallest RTT of each second, second by second";
        return Some((signed_rank(&differences)?, test));
    }
    let values = |test: &RttTest| {
        test.blocks
            .iter()
            .map(|block| value(block, network))
            .collect::<Vec<_>>()
    };
    let test = "Mann-Whitney test of the smallest RTT of each second";
    Some((mann_whitney(&values(before), &values(now))?, test))
}

fn describe(now: &RttTest, before: &RttTest, change: &Change) -> Finding {
    let longer = change.test.shift > 0.0;
    let column = if change.network {
        "network_rtt_ns"
    } else {
        "rtt_ns"
    };
    let what = if change.network { "in the network " } else { "" };
    let mut smallest = [before, now].map(|test| {
        let values = test
            .blocks
            .iter()
            .map(|block| value(block, change.network) as u64);
        (test.run, values.min().unwrap_or(0))
    });
    smallest.sort();
    Finding {
        name: FindingName::RttChange,
        severity: Severity::Notice,
        direction: None,
        brief: format!(
            "minimum RTT {} {} than in run {}",
            time(change.test.shift.abs()),
            if longer { "longer" } else { "shorter" },
            before.run
        ),
        sentence: format!(
            "the smallest RTT of each second {what}is {} {} than in run {}: {} against {} ({}).",
            time(change.test.shift.abs()),
            if longer { "longer" } else { "shorter" },
            before.run,
            time(change.is),
            time(change.was),
            format_percent(change.test.shift / change.was)
        ),
        evidence: vec![
            Evidence::in_unit("change", change.test.shift.round(), "ns"),
            Evidence::in_unit("median of the seconds before", change.was.round(), "ns"),
            Evidence::in_unit("median of the seconds now", change.is.round(), "ns"),
            Evidence::of("run_id", smallest.map(|(run, _)| run.0).to_vec()),
            Evidence::in_unit("smallest RTT", smallest.map(|(_, value)| value).to_vec(), "ns"),
        ],
        query: format!(
            "SELECT run_id, min({column}) AS \"smallest RTT\" FROM rtt_packets\nWHERE run_id IN ({}, {}) AND position = 0 AND \
             NOT lost GROUP BY run_id ORDER BY run_id",
            before.run, now.run
        ),
        confidence: Confidence::by_test(change.compared, change.test.p_value),
        action: if longer {
            "A host may have moved, or the route changed: restart or move the instance if the media need the shorter RTT."
                .to_owned()
        } else {
            "Nothing to do; ARQ can use less latency.".to_owned()
        },
    }
}
