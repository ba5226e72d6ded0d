//! How often changes of route sets and path MTUs are false, and in which test planted ones are found.

use std::collections::BTreeMap;

use weir_record::Direction;
use weir_stats::poisson_interval;
use weir_watch::change::{Change, Metric, Sensitivity, TestWatch, Tested, TestedWay};

use crate::SEEDS;
use crate::noise::{Rerouted, RouteNoise};

/// Tests of ninety days, one every ten minutes.
const TESTS: u64 = 90 * 144;
const TEST_NS: u64 = 600_000_000_000;

/// Changes that are found in so many tests of a path.
fn found(seed: u64, planted: Option<(u64, Rerouted)>, tests: u64) -> Vec<Change> {
    let (mut noise, mut watch) = (
        RouteNoise::new(seed, planted),
        TestWatch::new(Sensitivity::default()),
    );
    let each = (0..tests).flat_map(|test| {
        let (hops, mtu) = noise.next();
        let way = TestedWay { hops, mtu };
        let tested: Tested = BTreeMap::from([(Direction::Reverse, way)]);
        watch.push(test * TEST_NS, &tested)
    });
    each.collect()
}

#[test]
fn routes_and_path_mtus_add_a_tenth_of_the_stated_rate_of_false_alarms_at_most() {
    let alarms: Vec<Change> = (0..SEEDS).flat_map(|seed| found(seed, None, TESTS)).collect();
    println!(
        "{} false alarms of routes and path MTUs on {SEEDS} paths in 90 days",
        alarms.len()
    );
    let (low, _) = poisson_interval(alarms.len() as u64, 0.02);
    assert!(low <= 0.1 * SEEDS as f64, "{alarms:?}");
}

#[test]
fn other_routes_are_found_within_few_tests_and_another_path_mtu_by_the_next_search_but_one() {
    for (name, planted, metric, limit) in [
        ("a route more", Rerouted::More, Metric::RoutesReverse, 2),
        ("a route less", Rerouted::Less, Metric::RoutesReverse, 4),
        ("another route", Rerouted::Other, Metric::RoutesReverse, 2),
        // Every sixth test searches, and the next one confirms it.
        ("another path MTU", Rerouted::Mtu(1400), Metric::MtuReverse, 7),
    ] {
        let at = |seed: u64| 144 + seed * 7_919 % 144;
        let delays: Vec<Option<u64>> = (1_000..1_200)
            .map(|seed| {
                let changes = found(seed, Some((at(seed), planted)), at(seed) + 20);
                let own = changes.iter().filter(|change| change.metric == metric);
                own.map(|change| change.found_ns / TEST_NS)
                    .find(|test| *test >= at(seed))
                    .map(|test| test - at(seed))
            })
            .collect();
        let within = |tests: u64| {
            let found = delays
                .iter()
                .filter(|delay| delay.is_some_and(|delay| delay < tests));
            found.count() as f64 / delays.len() as f64
        };
        println!(
            "{name}: {:.3} found in the first test after it, {:.3} in two, {:.3} in four, {:.3} in seven",
            within(1),
            within(2),
            within(4),
            within(7)
        );
        assert!(within(limit) >= 0.95, "{name}: {}", within(limit));
    }
}
