//! Tests between clouds beside tests within a cloud: their differences at equal distance, by a regression on the distance and on
//! which of both a test is. It must not know where tests came from.

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::{Slope, plane};

use crate::import::rtt_ns;

/// A difference with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The difference, or the factor.
    pub value: f64,
    /// Its bounds, 95 %.
    pub interval: (f64, f64),
    /// Probability of a difference as large as this, if there were none.
    pub p_value: f64,
}

/// What it changes that a test is between two clouds, and not within one, at equal distance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BetweenClouds {
    /// Tests within a cloud, with a distance.
    pub within: usize,
    /// Tests between two clouds, with a distance.
    pub between: usize,
    /// RTT that it adds, milliseconds.
    pub rtt_ms: Option<Effect>,
    /// Factor of the throughput of one connection.
    pub throughput: Option<Effect>,
}

/// The comparison. As in the fits, tests count as independent, and log10 of the throughput as a line over the distance.
pub(super) fn between_clouds(tests: &[&MeshTest]) -> Option<BetweenClouds> {
    let placed = tests.iter().filter_map(|test| {
        let in_clouds = !test.from.cloud.is_empty() && !test.to.cloud.is_empty();
        let distance_m = test.distance_m.filter(|_| in_clouds)?;
        let is_between = test.from.cloud != test.to.cloud;
        Some((distance_m as f64 / 1e6, is_between, *test))
    });
    let placed: Vec<(f64, bool, &MeshTest)> = placed.collect();
    let between = placed.iter().filter(|(_, is_between, _)| *is_between).count();
    let within = placed.len() - between;
    if between == 0 || within == 0 {
        return None;
    }
    let over = |value: &dyn Fn(&MeshTest) -> Option<f64>| {
        let points = placed.iter().filter_map(|(thousand_km, is_between, test)| {
            Some((*thousand_km, f64::from(*is_between), value(test)?))
        });
        plane(&points.collect::<Vec<_>>()).map(|(_, between)| between)
    };
    let rtt = over(&|test| rtt_ns(test).map(|ns| ns as f64 / 1e6));
    let throughput = over(&|test| {
        let bps = test.tcp_bps.filter(|bps| *bps > 0)?;
        Some((bps as f64).log10())
    });
    let effect = |slope: Slope, of: fn(f64) -> f64| Effect {
        value: of(slope.rise),
        interval: (of(slope.interval.0), of(slope.interval.1)),
        p_value: slope.p_value,
    };
    Some(BetweenClouds {
        within,
        between,
        rtt_ms: rtt.map(|slope| effect(slope, |ms| ms)),
        throughput: throughput.map(|slope| effect(slope, |log| 10f64.powf(log))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_record::MeshEnd;

    fn end(cloud: &str) -> MeshEnd {
        MeshEnd {
            cloud: cloud.into(),
            ..MeshEnd::default()
        }
    }

    /// 15 ms per 1,000 km, and a tenth of the throughput each 5,000 km; between clouds 8 ms more and 0.8 of the throughput; both
    /// with deviations that cancel out within each kind.
    fn tests() -> Vec<MeshTest> {
        let mut tests = Vec::new();
        for (index, km) in (1_000..=10_000).step_by(1_000).enumerate() {
            for (to, more_ms, factor) in [("aws", 0.0, 1.0), ("gcp", 8.0, 0.8)] {
                // Between clouds, distances are longer, which must not count.
                let km = if to == "gcp" { km + 3_000 } else { km };
                let off = if index % 2 == 0 { 1.0 } else { -1.0 };
                let rtt_ms = 15.0 * km as f64 / 1e3 + more_ms + off;
                let bps = 1e9 * 10f64.powf(-(km as f64) / 5e3 + 0.02 * off) * factor;
                tests.push(MeshTest {
                    from: end("aws"),
                    to: end(to),
                    distance_m: Some(km * 1_000),
                    rtt_p50_ns: Some((rtt_ms * 1e6) as u64),
                    tcp_bps: Some(bps as u64),
                    ..MeshTest::default()
                });
            }
        }
        tests
    }

    #[test]
    fn the_difference_is_that_at_equal_distance() {
        let tests = tests();
        let found = between_clouds(&tests.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.within, found.between), (10, 10));
        let (rtt, throughput) = (found.rtt_ms.unwrap(), found.throughput.unwrap());
        let holds = |effect: &Effect, value: f64, near: f64| {
            let (low, high) = effect.interval;
            low < value && value < high && (effect.value - value).abs() < near
        };
        assert!(holds(&rtt, 8.0, 0.3) && rtt.p_value < 1e-6, "{rtt:?}");
        assert!(
            holds(&throughput, 0.8, 0.02) && throughput.p_value < 1e-4,
            "{throughput:?}"
        );
    }

    #[test]
    fn tests_of_one_kind_or_without_distance_or_cloud_are_no_comparison() {
        let all = tests();
        let within: Vec<&MeshTest> = all.iter().filter(|test| test.to.cloud == "aws").collect();
        assert_eq!(between_clouds(&within), None);
        assert_eq!(between_clouds(&[]), None);
        let mut unplaced = all;
        for test in &mut unplaced {
            if test.to.cloud == "gcp" {
                test.distance_m = None;
            }
        }
        assert_eq!(between_clouds(&unplaced.iter().collect::<Vec<_>>()), None);
    }
}
