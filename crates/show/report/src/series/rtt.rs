//! What a windowed RTT test found: over time, as a distribution, by packet length and by position in the window. It
//! must not know what the times mean.

use std::collections::BTreeMap;

use weir_results::{Record, RttGroup, RttGroups, StoreError, Subjects, Table};

use super::bins::{Binner, Layout, Rule, rank, shortest};
use super::limits::{MOST_LENGTHS, MOST_SECONDS};
use super::shares::{WHOLE, shares};
use super::{Source, int};
use crate::data::{Series, Values};

const SECONDS: Layout = Layout {
    // Of its subject, which is the same for all, nothing is shown.
    subject: &[],
    values: &[
        ("sent", Rule::Sum),
        ("lost", Rule::Sum),
        ("rtt_min_ns", Rule::Smallest),
        ("rtt_p50_ns", Rule::Quantile(500)),
        ("rtt_p90_ns", Rule::Quantile(900)),
        ("rtt_p99_ns", Rule::Quantile(990)),
        ("rtt_max_ns", Rule::Largest),
        ("network_p50_ns", Rule::Quantile(500)),
    ],
};

/// Quantiles of a group of packets, per mille.
const QUANTILES: [u64; 3] = [500, 900, 990];

/// `rtt_seconds`, `rtt_distribution`, `rtt_by_length` and `rtt_by_position`.
pub(super) fn series(source: Source<'_>, rows: u64) -> Result<Vec<(&'static str, Series)>, StoreError> {
    let mut found = Vec::new();
    found.extend(seconds(source)?.map(|series| ("rtt_seconds", series)));
    found.extend(distribution(source)?.map(|series| ("rtt_distribution", series)));
    let (lengths, first, last) = source.store.rtt_lengths(source.run)?;
    let width = if lengths > MOST_LENGTHS {
        (last - first + 1).div_ceil(MOST_LENGTHS)
    } else {
        1
    };
    let from = if width > 1 { first } else { 0 };
    let groups = RttGroups::Lengths { first: from, width };
    let name = |group: u64| from.saturating_add((group + 1) * width - 1).min(last);
    found.push(("rtt_by_length", grouped(source, rows, groups, "length", name)?));
    let groups = RttGroups::Positions;
    found.push((
        "rtt_by_position",
        grouped(source, rows, groups, "position", |group| group)?,
    ));
    Ok(found)
}

fn seconds(source: Source<'_>) -> Result<Option<Series>, StoreError> {
    let table = Table::RttPackets;
    let bin_ns = shortest(source, table, Subjects::Together, 1, MOST_SECONDS)?;
    Binner::read(source, table, SECONDS, Some(bin_ns), |binner, record| {
        let Record::RttPacket(packet) = record else {
            return;
        };
        let rtt = packet.rtt_ns.filter(|_| !packet.lost).map(int).into();
        let network = packet.network_rtt_ns.filter(|_| !packet.lost).map(int).into();
        let (sent, lost) = (1u64.into(), u64::from(packet.lost).into());
        let at = source.at(packet.sent_unix_ns);
        binner.add(("", 0), at, &[sent, lost, rtt, rtt, rtt, rtt, rtt, network]);
    })
}

fn distribution(source: Source<'_>) -> Result<Option<Series>, StoreError> {
    let groups = source.store.rtt_groups(source.run, RttGroups::All)?;
    let packets: u64 = groups.iter().map(|group| group.answered).sum();
    if packets == 0 {
        return Ok(None);
    }
    let shares = shares(packets);
    let place = |share: u64| {
        let exact = (u128::from(share) * u128::from(packets)).div_ceil(u128::from(WHOLE));
        u64::try_from(exact).unwrap_or(packets).max(1)
    };
    let places: Vec<u64> = shares.iter().map(|share| place(*share)).collect();
    let (mut seen, mut values) = (0u64, Vec::with_capacity(places.len()));
    source.store.each_rtt(source.run, RttGroups::All, |_, rtt| {
        seen += 1;
        while places.get(values.len()) == Some(&seen) {
            values.push(Some(int(rtt)));
        }
    })?;
    let shares = shares.iter().map(|share| Some(*share as f64 / WHOLE as f64));
    let columns = [
        ("share", Values::Reals(shares.collect())),
        ("rtt_ns", Values::Integers(values)),
    ];
    Ok(Some(Series::new(packets, None, columns.into())))
}

/// One entry for each group, which `name` gives its name.
fn grouped(
    source: Source<'_>,
    rows: u64,
    groups: RttGroups,
    key: &'static str,
    name: impl Fn(u64) -> u64,
) -> Result<Series, StoreError> {
    let found = source.store.rtt_groups(source.run, groups)?;
    let counts: BTreeMap<u64, RttGroup> = found.into_iter().map(|group| (group.group, group)).collect();
    let mut quantiles: BTreeMap<u64, [Option<i64>; 3]> = BTreeMap::new();
    let (mut current, mut place) = (None, 0);
    source.store.each_rtt(source.run, groups, |group, rtt| {
        if current != Some(group) {
            (current, place) = (Some(group), 0);
        }
        place += 1;
        let answered = counts.get(&group).map_or(0, |counts| counts.answered);
        let found = quantiles.entry(group).or_default();
        for (value, per_mille) in found.iter_mut().zip(QUANTILES) {
            if place == rank(per_mille, answered) {
                *value = Some(int(rtt));
            }
        }
    })?;
    let column =
        |value: &dyn Fn(&RttGroup) -> Option<i64>| Values::Integers(counts.values().map(value).collect());
    let quantile = |place: usize| {
        let of_group = |group: &RttGroup| quantiles.get(&group.group).and_then(|found| found[place]);
        column(&of_group)
    };
    let columns = vec![
        (key, column(&|group| Some(int(name(group.group))))),
        ("count", column(&|group| Some(int(group.answered)))),
        ("lost", column(&|group| Some(int(group.lost)))),
        ("rtt_p50_ns", quantile(0)),
        ("rtt_p90_ns", quantile(1)),
        ("rtt_p99_ns", quantile(2)),
    ];
    Ok(Series::new(rows, None, columns))
}
