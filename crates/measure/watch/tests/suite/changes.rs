//! How often change points are false, and how soon planted changes are found.

use weir_stats::binomial_at_least;
use weir_watch::change::{Change, MINUTE_NS, Metric, Sensitivity, Watch};

use crate::SEEDS;
use crate::noise::{Noise, Planted};

const DAYS: u64 = 90;

/// Changes that are found on a path in so many minutes.
fn found(seed: u64, planted: Option<(u64, Planted)>, minutes: u64) -> Vec<Change> {
    let (mut noise, mut watch) = (Noise::new(seed, planted), Watch::new(Sensitivity::default()));
    (0..minutes).flat_map(|_| watch.push(&noise.next())).collect()
}

/// Runs a function of each seed on two threads.
fn each<T: Send>(seeds: std::ops::Range<u64>, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = (seeds.start + seeds.end) / 2;
    std::thread::scope(|scope| {
        let second = scope.spawn(|| (half..seeds.end).map(&run).collect::<Vec<T>>());
        let mut all: Vec<T> = (seeds.start..half).map(&run).collect();
        all.extend(second.join().unwrap());
        all
    })
}

/// The stated rate is one alarm a path in 90 days, so that a share of 1 - 1/e of paths has one or more.
#[track_caller]
fn assert_rate_of_false_alarms(seeds: std::ops::Range<u64>) {
    let count = seeds.end - seeds.start;
    let alarms = each(seeds, |seed| found(seed, None, DAYS * 1440));
    let with = alarms.iter().filter(|alarms| !alarms.is_empty()).count() as u64;
    let all: usize = alarms.iter().map(Vec::len).sum();
    let p_value = binomial_at_least(with, count, 1.0 - (-1.0f64).exp());
    let of = |metric| {
        alarms
            .iter()
            .flatten()
            .filter(|change| change.metric == metric)
            .count()
    };
    println!(
        "{with} of {count} paths have false alarms, {all} in all (P50 {}, P90 {}, loss {}, hops {}); p = {p_value:.3}",
        of(Metric::P50),
        of(Metric::P90),
        of(Metric::Loss),
        of(Metric::Hops)
    );
    assert!(
        p_value > 0.01 && all as u64 <= count + 3 * (count as f64).sqrt() as u64,
        "{all} alarms, p {p_value}"
    );
}

#[test]
fn false_alarms_are_within_the_stated_rate() {
    assert_rate_of_false_alarms(0..SEEDS);
}

/// Planted changes of this kind that are found within ten minutes, as a share; and the mean delay in minutes.
fn found_in_time(
    seeds: std::ops::Range<u64>,
    metric: Metric,
    planted: impl Fn(u64) -> Planted + Sync,
) -> (f64, f64) {
    let delays = each(seeds, |seed| {
        // Some time of the second day.
        let at = 1440 + seed * 7_919 % 1440;
        let changes = found(seed, Some((at, planted(seed))), at + 30);
        let after = changes
            .iter()
            .filter(|change| change.metric == metric && change.found_ns > at * MINUTE_NS);
        after.map(|change| change.found_ns / MINUTE_NS - at).next()
    });
    let in_time: Vec<u64> = delays
        .iter()
        .flatten()
        .copied()
        .filter(|delay| *delay <= 10)
        .collect();
    let mean = in_time.iter().sum::<u64>() as f64 / in_time.len().max(1) as f64;
    (in_time.len() as f64 / delays.len() as f64, mean)
}

#[test]
fn changes_of_five_per_cent_and_more_are_found_within_ten_minutes() {
    let spread = |seed: u64, low: f64, high: f64| low * (high / low).powf((seed % 20) as f64 / 19.0);
    type Case = (&'static str, Metric, Box<dyn Fn(u64) -> Planted + Sync>);
    let cases: Vec<Case> = vec![
        ("P90 +5 %", Metric::P90, Box::new(|_| Planted::P90(1.05))),
        (
            "P90 +5 to +50 %",
            Metric::P90,
            Box::new(move |seed| Planted::P90(1.0 + spread(seed, 0.05, 0.5))),
        ),
        (
            "route +5 to +50 %",
            Metric::P50,
            Box::new(move |seed| Planted::Rtt(1.0 + spread(seed, 0.05, 0.5))),
        ),
        (
            "route -5 to -30 %",
            Metric::P50,
            Box::new(move |seed| Planted::Rtt(1.0 - spread(seed, 0.05, 0.3))),
        ),
        (
            "loss 1 to 10 %",
            Metric::Loss,
            Box::new(move |seed| Planted::Loss(spread(seed, 0.01, 0.1))),
        ),
        ("hops", Metric::Hops, Box::new(|_| Planted::Hops(2))),
    ];
    for (name, metric, planted) in cases {
        let (share, mean) = found_in_time(1_000..1_200, metric, planted);
        println!("{name}: {share:.3} within ten minutes, {mean:.1} minutes on average");
        assert!(share >= 0.95, "{name}: {share}");
    }
    let (share, mean) = found_in_time(1_000..1_200, Metric::P90, |_| Planted::P90(1.03));
    println!("P90 +3 %: {share:.3} within ten minutes, {mean:.1} minutes on average");
}
