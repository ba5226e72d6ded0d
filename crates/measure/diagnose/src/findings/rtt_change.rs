//! The RTT against earlier tests of the same pair of hosts, or of hosts in the same places: since when it is another.

use weir_stats::{RankTest, mann_whitney, median, nearest, signed_rank};
use weir_units::format_percent;

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{FirstPacket, Measured, RttBlock, RttTest};
use crate::words::time;

/// A change is believed below this chance.
const CHANCE: f64 = 0.01;
/// A smaller change matters to nobody.
const LEAST_SHARE: f64 = 0.05;
const LEAST_NS: f64 = 10_000.0;
/// Ratio of the difference between levels to that of runs from their level, at least.
const STEADIER: f64 = 4.0;

/// The finding, where the RTT changed and stayed so until now.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let now = measured.rtt.as_ref()?;
    let all: Vec<&RttTest> = measured.earlier_rtt.iter().chain([now]).collect();
    let network = all.iter().all(|test| has_network_times(test));
    let levels: Vec<f64> = all.iter().map(|test| level(test, network)).collect();
    let first = change_point(&levels)?;
    let (before, after) = all.split_at(first);
    let (test, compared) = compare(before, after, network)?;
    let (was, is) = (median(levels[..first].to_vec()), median(levels[first..].to_vec()));
    // As many places were looked at as there are runs before this one.
    let p_value = (test.p_value * (all.len() - 1) as f64).min(1.0);
    let large = test.shift.abs() >= LEAST_NS && test.shift.abs() >= LEAST_SHARE * was;
    (p_value < CHANCE && large).then(|| {
        describe(&Change {
            last: before[first - 1],
            first: after[0],
            now,
            runs: all.len(),
            was,
            is,
            shift: test.shift,
            p_value,
            compared,
            network,
        })
    })
}

/// What changed, and by which test.
struct Change<'m> {
    /// The last test before it, and the first after it.
    last: &'m RttTest,
    first: &'m RttTest,
    now: &'m RttTest,
    runs: usize,
    was: f64,
    is: f64,
    shift: f64,
    p_value: f64,
    compared: &'static str,
    network: bool,
}

/// The first run of another level: such that no run before it is as high, or as low, as any from it on, and the runs of both
/// sides differ least from their middles, and much less than these from each other.
fn change_point(levels: &[f64]) -> Option<usize> {
    let is_apart = |first: &usize| {
        let (before, after) = levels.split_at(*first);
        let highest = |side: &[f64]| side.iter().copied().fold(f64::MIN, f64::max);
        let lowest = |side: &[f64]| side.iter().copied().fold(f64::MAX, f64::min);
        highest(before) < lowest(after) || highest(after) < lowest(before)
    };
    let off = |first: &usize| {
        let (before, after) = levels.split_at(*first);
        let side = |side: &[f64]| {
            let middle = median(side.to_vec());
            side.iter().map(|level| (level - middle).abs()).sum::<f64>()
        };
        side(before) + side(after)
    };
    let varies_less = |first: &usize| {
        let (before, after) = levels.split_at(*first);
        let step = (median(before.to_vec()) - median(after.to_vec())).abs();
        off(first) / levels.len() as f64 <= step / STEADIER
    };
    let splits = (1..levels.len()).filter(is_apart).filter(varies_less);
    splits.min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// Nearly every block has a value by kernel timestamps.
fn has_network_times(test: &RttTest) -> bool {
    let with = test.blocks.iter().filter(|block| block.network_p90_ns.is_some());
    let with = with.count();
    with * 10 >= test.blocks.len() * 9 && with > 0
}

fn value(block: &RttBlock, network: bool) -> f64 {
    block.network_p90_ns.filter(|_| network).unwrap_or(block.p90_ns) as f64
}

fn level(test: &RttTest, network: bool) -> f64 {
    median(test.blocks.iter().map(|block| value(block, network)).collect())
}

/// Compares the P90 of each second: second by second, of the last run before and the first after, where lengths or windows
/// move, so that only equals are compared, and all with all where they do not.
fn compare(before: &[&RttTest], after: &[&RttTest], network: bool) -> Option<(RankTest, &'static str)> {
    let (last, first) = (before.last()?, after.first()?);
    if first.plan.length.moves() || first.plan.window.moves() {
        let same = |block: &RttBlock| {
            let mut others = last.blocks.iter();
            let same = others.find(|other| other.first_window == block.first_window)?;
            Some(value(block, network) - value(same, network))
        };
        let differences: Vec<f64> = first.blocks.iter().filter_map(same).collect();
        let test = "Wilcoxon signed-rank test of the P90 of each second, second by second (Bonferroni over the runs)";
        return Some((signed_rank(&differences)?, test));
    }
    let values = |tests: &[&RttTest]| -> Vec<f64> {
        let blocks = tests.iter().flat_map(|test| &test.blocks);
        blocks.map(|block| value(block, network)).collect()
    };
    let test = "Mann-Whitney test of the P90 of each second (Bonferroni over the runs)";
    Some((mann_whitney(&values(before), &values(after))?, test))
}

/// Of the first packets of all windows; in a long test, of an even choice of them.
fn p90(test: &RttTest, network: bool) -> u64 {
    let packets = test.first_packets.iter();
    let of = |packet: &FirstPacket| packet.network_rtt_ns.filter(|_| network).unwrap_or(packet.rtt_ns);
    nearest(packets.map(of).collect(), 0.9).unwrap_or(0)
}

fn describe(change: &Change) -> Finding {
    let longer = change.shift > 0.0;
    let column = if change.network {
        "network_rtt_ns"
    } else {
        "rtt_ns"
    };
    let what = if change.network { "in the network " } else { "" };
    let is_new = change.first.run == change.now.run;
    let (by, than) = (
        time(change.shift.abs()),
        if longer { "longer" } else { "shorter" },
    );
    let since = if is_new {
        format!("than in run {}", change.last.run)
    } else {
        format!("since run {}", change.first.run)
    };
    let mut p90s = [change.last, change.now].map(|test| (test.run, p90(test, change.network)));
    p90s.sort();
    Finding {
        name: FindingName::RttChange,
        severity: if is_new {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: None,
        brief: format!("P90 of the RTT {by} {than} {since}"),
        sentence: format!(
            "the P90 of the RTT {what}is {by} {than} {since}: {} against {} ({}), in {} runs of this pair.",
            time(change.is),
            time(change.was),
            format_percent(change.shift / change.was),
            change.runs
        ),
        evidence: vec![
            Evidence::in_unit("change", change.shift.round(), "ns"),
            Evidence::in_unit("P90 before", change.was.round(), "ns"),
            Evidence::in_unit("P90 since then", change.is.round(), "ns"),
            Evidence::of("first run since then", change.first.run.0),
            Evidence::of("run_id", p90s.map(|(run, _)| run.0).to_vec()),
            Evidence::in_unit("P90 of the run", p90s.map(|(_, p90)| p90).to_vec(), "ns"),
        ],
        query: format!(
            "SELECT run_id, rtt AS \"P90 of the run\" FROM (\n  SELECT run_id, {column} AS rtt, count(*) OVER run AS packets, \
             row_number() OVER (run ORDER BY {column}) AS place\n  FROM rtt_packets WHERE run_id IN ({}, {}) AND position = 0 AND \
             NOT lost WINDOW run AS (PARTITION BY run_id)\n) WHERE place = 1 + CAST(0.9 * (packets - 1) AS INTEGER) ORDER BY \
             run_id",
            change.last.run, change.now.run
        ),
        confidence: Confidence::by_test(change.compared, change.p_value),
        action: if longer {
            "A host may have moved, or the route changed: restart or move the instance if the media need the shorter RTT."
                .to_owned()
        } else {
            "Nothing to do; ARQ can use less latency.".to_owned()
        },
    }
}
