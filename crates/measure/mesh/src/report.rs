//! What tests between places say about distance: correlation and fit of RTT and throughput with it, the window that a
//! throughput implies, and what beats light. It knows rows, not where they came from.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::{median, median_interval};

use crate::fit::{Fit, fit};
use crate::import::rtt_ns;
use crate::place::PlaceName;

mod between;
mod hours;
mod side_by_side;
mod sold;

use between::between_clouds;
pub use between::{BetweenClouds, Effect};
use hours::by_hour;
pub use hours::{ByHour, Hour};
use side_by_side::side_by_side;
pub use side_by_side::{Side, SideBySide};
pub use sold::Sold;
use sold::sold;

/// Minimum RTT of tests for the window estimate: below, limits other than the window bound the rate.
pub const WINDOW_RTT_NS: u64 = 60_000_000;

/// Tests of one group: all of them, or those between two clouds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// `all`, or the two clouds as in `aws->gcp`; `other` is a place without a cloud.
    pub name: String,
    /// Tests that went through.
    pub tests: usize,
    /// Of these, with a distance.
    pub with_distance: usize,
    /// RTT in milliseconds over distance in thousands of kilometres: the slope is to be seen beside the 10.0 of light
    /// in fibre.
    pub rtt: Option<Fit>,
    /// Logarithm (base 10) of the throughput of one connection in bit/s, over distance in thousands of kilometres.
    pub throughput: Option<Fit>,
    /// The same over the logarithm of the distance in kilometres, where all distances are above 0.
    pub throughput_log: Option<Fit>,
    /// Median of RTT over the floor of light in fibre for that distance, of tests over 500 km and more.
    pub stretch: Option<f64>,
}

/// The TCP window that throughput and RTT imply towards a destination.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Cloud, or place where it has no cloud.
    pub to: String,
    /// Tests with an RTT above [`WINDOW_RTT_NS`].
    pub tests: usize,
    /// Median of throughput times RTT, bytes.
    pub median_bytes: f64,
    /// Bounds of that median, 95 %, by order statistics; none for fewer than six tests.
    pub median_interval_bytes: Option<(f64, f64)>,
    /// Mean of the same, bytes.
    pub mean_bytes: f64,
}

/// A test that beats light.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Impossible {
    /// Where it began.
    pub from: String,
    /// Where it went.
    pub to: String,
    /// Distance by the coordinates that were used, metres.
    pub distance_m: u64,
    /// Measured RTT, nanoseconds.
    pub rtt_ns: u64,
}

/// What the tests say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Tests that went through.
    pub tests: usize,
    /// Pairs of places with at least one of them.
    pub pairs: usize,
    /// Tests without a distance.
    pub without_distance: usize,
    /// All tests, then those of each two clouds.
    pub groups: Vec<Group>,
    /// Implied windows, by destination cloud, then by destination.
    pub windows: Vec<Window>,
    /// Tests between clouds beside those within one, at equal distance; none where either is missing.
    pub between_clouds: Option<BetweenClouds>,
    /// Repeated tests by the time of day; none where no pair was tested at different hours.
    pub by_hour: Option<ByHour>,
    /// Throughput beside the bandwidth that sending instances are sold with, by their type.
    pub sold: Vec<Sold>,
    /// Pairs that were tested over private and over public addresses.
    pub side_by_side: Vec<SideBySide>,
    /// Tests that beat light: the coordinates of one of their places are wrong. They are in the fits all the same.
    pub impossible: Vec<Impossible>,
}

/// A test as the fits take it.
struct Point {
    thousand_km: f64,
    rtt_ms: Option<f64>,
    bps: Option<f64>,
}

/// Makes the report; tests that failed are left out.
pub fn report(tests: &[MeshTest]) -> Report {
    let done: Vec<&MeshTest> = tests.iter().filter(|test| test.reason.is_none()).collect();
    let mut by_clouds: BTreeMap<String, Vec<&MeshTest>> = BTreeMap::new();
    let mut pairs = std::collections::BTreeSet::new();
    for test in &done {
        by_clouds.entry(clouds_of(test)).or_default().push(test);
        pairs.insert((from(test), to(test)));
    }
    let mut groups = vec![group("all".into(), &done)];
    if by_clouds.len() > 1 {
        groups.extend(by_clouds.into_iter().map(|(name, tests)| group(name, &tests)));
    }
    Report {
        tests: done.len(),
        pairs: pairs.len(),
        without_distance: done.iter().filter(|test| test.distance_m.is_none()).count(),
        groups,
        windows: windows(&done),
        between_clouds: between_clouds(&done),
        by_hour: by_hour(&done),
        sold: sold(&done),
        side_by_side: side_by_side(&done),
        impossible: done.iter().filter_map(|test| impossible(test)).collect(),
    }
}

fn from(test: &MeshTest) -> PlaceName {
    PlaceName::new(&test.from.cloud, &test.from.region)
}

fn to(test: &MeshTest) -> PlaceName {
    PlaceName::new(&test.to.cloud, &test.to.region)
}

/// The two clouds, as in `aws->gcp`.
fn clouds_of(test: &MeshTest) -> String {
    let word = |cloud: &str| {
        if cloud.is_empty() {
            "other".to_owned()
        } else {
            cloud.to_owned()
        }
    };
    format!("{}->{}", word(&test.from.cloud), word(&test.to.cloud))
}

fn group(name: String, tests: &[&MeshTest]) -> Group {
    let points: Vec<Point> = tests
        .iter()
        .filter_map(|test| {
            Some(Point {
                thousand_km: test.distance_m? as f64 / 1e6,
                rtt_ms: rtt_ns(test).map(|rtt| rtt as f64 / 1e6),
                bps: test.tcp_bps.filter(|bps| *bps > 0).map(|bps| bps as f64),
            })
        })
        .collect();
    let rtts: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| Some((point.thousand_km, point.rtt_ms?)))
        .collect();
    let throughputs: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| Some((point.thousand_km, point.bps?.log10())))
        .collect();
    let log_log: Vec<(f64, f64)> = throughputs
        .iter()
        .map(|(thousand_km, bps)| ((thousand_km * 1e3).log10(), *bps))
        .collect();
    let above_zero = log_log.iter().all(|(distance, _)| distance.is_finite());
    let stretches: Vec<f64> = rtts
        .iter()
        .filter(|(thousand_km, _)| *thousand_km >= 0.5)
        .map(|(thousand_km, rtt)| rtt * 1e6 / crate::distance::fibre_floor_ns(thousand_km * 1e6) as f64)
        .collect();
    Group {
        name,
        tests: tests.len(),
        with_distance: points.len(),
        rtt: fit(&rtts),
        throughput: fit(&throughputs),
        throughput_log: if above_zero { fit(&log_log) } else { None },
        stretch: (!stretches.is_empty()).then(|| median(stretches)),
    }
}

fn windows(tests: &[&MeshTest]) -> Vec<Window> {
    let mut by_cloud: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut by_place: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for test in tests {
        let (Some(bps), Some(rtt)) = (test.tcp_bps, rtt_ns(test)) else {
            continue;
        };
        if rtt <= WINDOW_RTT_NS {
            continue;
        }
        let bytes = bps as f64 * rtt as f64 / 8e9;
        if !test.to.cloud.is_empty() {
            by_cloud.entry(test.to.cloud.clone()).or_default().push(bytes);
        }
        by_place.entry(to(test).to_string()).or_default().push(bytes);
    }
    by_cloud
        .into_iter()
        .chain(by_place)
        .map(|(to, values)| Window {
            to,
            tests: values.len(),
            median_interval_bytes: median_interval(&values),
            mean_bytes: values.iter().sum::<f64>() / values.len() as f64,
            median_bytes: median(values),
        })
        .collect()
}

fn impossible(test: &MeshTest) -> Option<Impossible> {
    test.faster_than_light.then_some(())?;
    Some(Impossible {
        from: from(test).to_string(),
        to: to(test).to_string(),
        distance_m: test.distance_m?,
        rtt_ns: test.rtt_min_ns.or(rtt_ns(test))?,
    })
}
