//! Repeated tests of a pair by the time of day: what a pair carries at an hour beside its own median, so that pairs of all
//! distances count alike. It must not know where tests came from.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::{median, median_interval};

const HOUR_NS: u64 = 3_600_000_000_000;
/// Fewest tests of a pair that have a median of their own.
const FEWEST: usize = 3;

/// Tests in one hour of the day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hour {
    /// Hour of the day, UTC, 0 to 23.
    pub hour: u8,
    /// Tests.
    pub tests: usize,
    /// Median of throughput over the median of the test's pair.
    pub median: f64,
    /// Its bounds, 95 %, by order statistics; none for fewer than six tests.
    pub median_interval: Option<(f64, f64)>,
}

/// Spread of repeated tests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByHour {
    /// Pairs with at least three tests at two or more hours.
    pub pairs: usize,
    /// Their tests.
    pub tests: usize,
    /// Days, UTC, with one of them.
    pub days: usize,
    /// 10th and 90th percentile of throughput over the median of the test's pair, all hours.
    pub spread: (f64, f64),
    /// Hours with tests.
    pub hours: Vec<Hour>,
}

/// The spread of the throughput of one connection.
pub(super) fn by_hour(tests: &[&MeshTest]) -> Option<ByHour> {
    let mut by_pair: BTreeMap<_, Vec<(u64, f64)>> = BTreeMap::new();
    for test in tests {
        if let Some(bps) = test.tcp_bps.filter(|bps| *bps > 0) {
            let pair = (super::from(test), super::to(test));
            by_pair.entry(pair).or_default().push((test.unix_ns, bps as f64));
        }
    }
    by_pair.retain(|_, tests| {
        let hours: BTreeSet<u64> = tests.iter().map(|(unix_ns, _)| unix_ns / HOUR_NS).collect();
        tests.len() >= FEWEST && hours.len() > 1
    });
    let mut by_hour: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    let mut days = BTreeSet::new();
    for tests in by_pair.values() {
        let usual = median(tests.iter().map(|(_, bps)| *bps).collect());
        for (unix_ns, bps) in tests {
            let hours = unix_ns / HOUR_NS;
            days.insert(hours / 24);
            by_hour.entry((hours % 24) as u8).or_default().push(bps / usual);
        }
    }
    let mut all: Vec<f64> = by_hour.values().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get((share * all.len().saturating_sub(1) as f64).round() as usize);
    Some(ByHour {
        pairs: by_pair.len(),
        tests: all.len(),
        days: days.len(),
        spread: (*at(0.1)?, *at(0.9)?),
        hours: by_hour
            .into_iter()
            .map(|(hour, shares)| Hour {
                hour,
                tests: shares.len(),
                median_interval: median_interval(&shares),
                median: median(shares),
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_record::MeshEnd;

    fn test(to: &str, hour: u64, bps: u64) -> MeshTest {
        let end = |region: &str| MeshEnd {
            cloud: "aws".into(),
            region: region.into(),
            ..MeshEnd::default()
        };
        MeshTest {
            unix_ns: hour * HOUR_NS + 1,
            from: end("us-east-1"),
            to: end(to),
            tcp_bps: Some(bps),
            ..MeshTest::default()
        }
    }

    #[test]
    fn pairs_of_all_rates_count_alike_and_a_busy_hour_shows() {
        let mut tests = Vec::new();
        // A week of hours; at 20 UTC both pairs carry half.
        for hour in 0..7 * 24 {
            let share = if hour % 24 == 20 { 0.5 } else { 1.0 };
            tests.push(test("near", hour, (1e9 * share) as u64));
            tests.push(test("far", hour, (2e7 * share) as u64));
        }
        // One that was tested once.
        tests.push(test("once", 3, 1));
        let found = by_hour(&tests.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.pairs, found.tests, found.days), (2, 7 * 24 * 2, 7));
        assert_eq!(found.hours.len(), 24);
        for hour in &found.hours {
            let expected = if hour.hour == 20 { 0.5 } else { 1.0 };
            assert_eq!((hour.tests, hour.median), (14, expected));
            assert_eq!(hour.median_interval, Some((expected, expected)));
        }
        assert_eq!(found.spread, (1.0, 1.0));
    }

    #[test]
    fn tests_within_an_hour_are_no_repeats_over_the_day() {
        let tests = [test("near", 3, 1), test("near", 3, 2), test("near", 3, 3)];
        assert_eq!(by_hour(&tests.iter().collect::<Vec<_>>()), None);
        assert_eq!(by_hour(&[]), None);
    }
}
