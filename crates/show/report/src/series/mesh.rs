//! Tests between places, the places, and what the tests say about distance. It must not know how a test is made, nor how a
//! line is fitted: that is `weir-mesh`'s.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_mesh::fit::Fit;
use weir_mesh::import::rtt_ns;
use weir_mesh::place::PlaceName;
use weir_mesh::report::{Report, report};
use weir_results::{MeshEnd, MeshFilter, MeshTest, RunId, Store, StoreError};

use super::int;
use super::limits::{MOST_MESH_TESTS, MOST_REASON_CHARACTERS};
use crate::data::{Series, Values};

/// The series of all tests of these runs; none without tests. Times count from `started_unix_ns`. Fits and windows are of
/// all tests, also where there are more than the page gets.
pub(super) fn series(
    store: &Store,
    runs: &[RunId],
    started_unix_ns: u64,
) -> Result<BTreeMap<&'static str, Series>, StoreError> {
    let filter = MeshFilter {
        runs: runs.to_vec(),
        failed: true,
    };
    let tests: Vec<MeshTest> = store
        .mesh_tests(&filter)?
        .into_iter()
        .map(|(_, test)| test)
        .collect();
    if tests.is_empty() {
        return Ok(BTreeMap::new());
    }
    let report = report(&tests);
    let shown = &tests[..tests.len().min(MOST_MESH_TESTS)];
    let mut found = BTreeMap::from([
        (
            "mesh_tests",
            Series {
                left_out: (tests.len() - shown.len()) as u64,
                ..mesh_tests(shown, started_unix_ns)
            },
        ),
        ("mesh_places", mesh_places(shown)),
    ]);
    found.extend(fits(&report).map(|series| ("mesh_fits", series)));
    found.extend(windows(&report).map(|series| ("mesh_windows", series)));
    Ok(found)
}

fn name(end: &MeshEnd) -> String {
    PlaceName::new(&end.cloud, &end.region).to_string()
}

fn words<T>(rows: &[T], word: impl Fn(&T) -> String) -> Values {
    Values::Words(rows.iter().map(|row| Cow::Owned(word(row))).collect())
}

fn counts<T>(rows: &[T], count: impl Fn(&T) -> Option<u64>) -> Values {
    Values::Integers(rows.iter().map(|row| count(row).map(int)).collect())
}

/// JSON has no words for what is not a number.
fn reals<T>(rows: &[T], real: impl Fn(&T) -> Option<f64>) -> Values {
    let finite = |row: &T| real(row).filter(|value| value.is_finite());
    Values::Reals(rows.iter().map(finite).collect())
}

fn mesh_tests(tests: &[MeshTest], started_unix_ns: u64) -> Series {
    let at = |test: &MeshTest| Some(int(test.unix_ns).saturating_sub(int(started_unix_ns)));
    let reason = |test: &MeshTest| {
        let reason = test.reason.as_deref().unwrap_or_default();
        reason.chars().take(MOST_REASON_CHARACTERS).collect()
    };
    let control = |test: &MeshTest| test.congestion_control.clone().unwrap_or_default();
    let survey = |test: &MeshTest| test.details.get("survey_run")?.as_u64();
    let columns = vec![
        ("at_ns", Values::Integers(tests.iter().map(at).collect())),
        ("source", words(tests, |test| test.source.clone())),
        ("reason", words(tests, reason)),
        ("from", words(tests, |test| name(&test.from))),
        ("to", words(tests, |test| name(&test.to))),
        ("from_host", words(tests, |test| test.from.host.clone())),
        ("to_host", words(tests, |test| test.to.host.clone())),
        ("distance_m", counts(tests, |test| test.distance_m)),
        (
            "faster_than_light",
            counts(tests, |test| Some(u64::from(test.faster_than_light))),
        ),
        ("rtt_ns", counts(tests, rtt_ns)),
        ("rtt_min_ns", counts(tests, |test| test.rtt_min_ns)),
        ("rtt_p95_ns", counts(tests, |test| test.rtt_p95_ns)),
        ("rtt_max_ns", counts(tests, |test| test.rtt_max_ns)),
        ("tcp_bps", counts(tests, |test| test.tcp_bps)),
        ("tcp_streams", counts(tests, |test| test.tcp_streams)),
        ("tcp_streams_bps", counts(tests, |test| test.tcp_streams_bps)),
        ("tcp_retransmits", counts(tests, |test| test.tcp_retransmits)),
        ("tcp_cwnd_bytes", counts(tests, |test| test.tcp_cwnd_bytes)),
        ("tcp_rtt_ns", counts(tests, |test| test.tcp_rtt_ns)),
        (
            "tcp_streams_retransmits",
            counts(tests, |test| test.tcp_streams_retransmits),
        ),
        (
            "tcp_streams_cwnd_bytes",
            counts(tests, |test| test.tcp_streams_cwnd_bytes),
        ),
        (
            "tcp_streams_rtt_ns",
            counts(tests, |test| test.tcp_streams_rtt_ns),
        ),
        ("congestion_control", words(tests, control)),
        ("from_window_bytes", counts(tests, |test| test.from_window_bytes)),
        ("to_window_bytes", counts(tests, |test| test.to_window_bytes)),
        ("udp_bps", counts(tests, |test| test.udp_bps)),
        ("udp_loss", reals(tests, |test| test.udp_loss)),
        ("udp_jitter_ns", counts(tests, |test| test.udp_jitter_ns)),
        ("udp_pdv_ns", counts(tests, |test| test.udp_pdv_ns)),
        ("udp_reordered", counts(tests, |test| test.udp_reordered)),
        ("survey_run", counts(tests, survey)),
    ];
    Series::new(tests.len() as u64, None, columns)
}

/// Every place of these tests, with the first coordinates that were used for it.
fn mesh_places(tests: &[MeshTest]) -> Series {
    let mut places: BTreeMap<String, &MeshEnd> = BTreeMap::new();
    for end in tests.iter().flat_map(|test| [&test.from, &test.to]) {
        let known = places.entry(name(end)).or_insert(end);
        if known.latitude.is_none() {
            *known = end;
        }
    }
    let places: Vec<(String, &MeshEnd)> = places.into_iter().collect();
    let columns = vec![
        ("place", words(&places, |(name, _)| name.clone())),
        ("cloud", words(&places, |(_, end)| end.cloud.clone())),
        ("latitude", reals(&places, |(_, end)| end.latitude)),
        ("longitude", reals(&places, |(_, end)| end.longitude)),
    ];
    Series::new(places.len() as u64, None, columns)
}

/// A fit for each group of tests and each quantity; none where nothing could be fitted.
fn fits(report: &Report) -> Option<Series> {
    let of_group = |group: &weir_mesh::report::Group| {
        let both = [("rtt", group.rtt), ("throughput", group.throughput)];
        let name = group.name.clone();
        both.into_iter()
            .filter_map(move |(quantity, fit)| Some((name.clone(), quantity, fit?)))
            .collect::<Vec<(String, &'static str, Fit)>>()
    };
    let rows: Vec<(String, &'static str, Fit)> = report.groups.iter().flat_map(of_group).collect();
    let fit = |value: fn(&Fit) -> Option<f64>| reals(&rows, move |(_, _, fit)| value(fit));
    let columns = vec![
        ("group", words(&rows, |(group, ..)| group.clone())),
        (
            "quantity",
            words(&rows, |(_, quantity, _)| (*quantity).to_owned()),
        ),
        ("points", counts(&rows, |(_, _, fit)| Some(fit.points as u64))),
        ("correlation", fit(|fit| Some(fit.correlation))),
        ("correlation_low", fit(|fit| Some(fit.correlation_interval?.0))),
        ("correlation_high", fit(|fit| Some(fit.correlation_interval?.1))),
        ("slope", fit(|fit| Some(fit.slope))),
        ("slope_low", fit(|fit| Some(fit.slope_interval.0))),
        ("slope_high", fit(|fit| Some(fit.slope_interval.1))),
        ("intercept", fit(|fit| Some(fit.intercept))),
        ("deviation", fit(|fit| Some(fit.deviation))),
    ];
    (!rows.is_empty()).then(|| Series::new(rows.len() as u64, None, columns))
}

fn windows(report: &Report) -> Option<Series> {
    let rows = &report.windows;
    let columns = vec![
        ("to", words(rows, |window| window.to.clone())),
        ("tests", counts(rows, |window| Some(window.tests as u64))),
        ("median_bytes", reals(rows, |window| Some(window.median_bytes))),
        (
            "median_low_bytes",
            reals(rows, |window| Some(window.median_interval_bytes?.0)),
        ),
        (
            "median_high_bytes",
            reals(rows, |window| Some(window.median_interval_bytes?.1)),
        ),
        ("mean_bytes", reals(rows, |window| Some(window.mean_bytes))),
    ];
    (!rows.is_empty()).then(|| Series::new(rows.len() as u64, None, columns))
}
