//! The published results of intercloud-throughput, against an independent computation that is kept beside this
//! (`data/make_intercloud.py`). The data are in the folder that `WEIR_SHARED_DATA` names, else in `../shared/data`
//! beside the checkout.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_mesh::import::{ImportOptions, Imported, import, read_locations};
use weir_mesh::place::Places;
use weir_mesh::report::{Report, report};
use weir_rig::shared_data;

fn published() -> Option<PathBuf> {
    shared_data("", "published results")
}

fn data(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn imported(folder: &Path, places: &Places, as_published: bool) -> Imported {
    let options = ImportOptions {
        as_published,
        pair: None,
    };
    let bytes = data(folder, "intercloud-results-within-cloud.csv");
    import("results.csv", &bytes, places, &options).unwrap()
}

/// The places of the tool's own table, with the longitude mended.
fn their_places(folder: &Path) -> Places {
    let (places, notes) = read_locations("locations.csv", &data(folder, "intercloud-locations.csv")).unwrap();
    assert!(
        notes.len() == 1 && notes[0].contains("southamerica-east1"),
        "{notes:?}"
    );
    places
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../data/intercloud.json")).unwrap()
}

fn assert_near(what: &str, found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    // Distances are rounded to metres, rates to bits and RTTs to nanoseconds.
    assert!(
        (found - expected).abs() <= 2e-6 * expected.abs(),
        "{what}: {found}, not {expected}"
    );
}

fn assert_equal(report: &Report, expected: &Value) {
    for group in &report.groups {
        let fits = [
            ("rtt", group.rtt),
            ("throughput", group.throughput),
            ("throughput_log", group.throughput_log),
        ];
        for (name, fit) in fits {
            let (fit, wanted) = (fit.unwrap(), &expected["groups"][&group.name][name]);
            let what = format!("{} {name}", group.name);
            assert_eq!(fit.points as u64, wanted["points"], "{what}");
            let (low, high) = fit.correlation_interval.unwrap();
            assert_near(&what, fit.correlation, &wanted["correlation"]);
            assert_near(&what, low, &wanted["correlation_interval"][0]);
            assert_near(&what, high, &wanted["correlation_interval"][1]);
            assert_near(&what, fit.slope, &wanted["slope"]);
            assert_near(&what, fit.slope_interval.0, &wanted["slope_interval"][0]);
            assert_near(&what, fit.slope_interval.1, &wanted["slope_interval"][1]);
            assert_near(&what, fit.intercept, &wanted["intercept"]);
        }
    }
    for cloud in ["aws", "gcp"] {
        let window = report.windows.iter().find(|window| window.to == cloud).unwrap();
        let wanted = &expected["windows"][cloud];
        assert_eq!(window.tests as u64, wanted["tests"], "{cloud}");
        assert_near(cloud, window.median_bytes, &wanted["median_bytes"]);
        assert_near(cloud, window.mean_bytes, &wanted["mean_bytes"]);
        let (low, high) = window.median_interval_bytes.unwrap();
        assert!(low <= window.median_bytes && window.median_bytes <= high);
    }
}

#[test]
fn all_rows_are_taken_and_say_what_an_independent_computation_says() {
    let Some(folder) = published() else { return };
    let imported = imported(&folder, &their_places(&folder), false);
    assert_eq!(imported.tests.len(), 1_078);
    let (report, expected) = (report(&imported.tests), expected());
    assert_eq!((report.tests, report.without_distance), (1_078, 0));
    assert_eq!(report.groups.len(), 3, "all, and two clouds");
    assert_equal(&report, &expected);
    // Their table has Montreal in the west of Ontario.
    assert_eq!(report.impossible.len() as u64, expected["impossible"]);
    assert!(
        report
            .impossible
            .iter()
            .all(|test| test.from.contains("northeast1") || test.to.contains("northeast1"))
    );
}

#[test]
fn with_our_own_places_nothing_beats_light_and_the_figures_stay_close() {
    let Some(folder) = published() else { return };
    let report = report(&imported(&folder, Places::known(), false).tests);
    assert_eq!((report.without_distance, report.impossible.len()), (0, 0));
    let all = &report.groups[0];
    let theirs = expected();
    for (name, fit) in [("rtt", all.rtt), ("throughput", all.throughput)] {
        let r = theirs["groups"]["all"][name]["correlation"].as_f64().unwrap();
        assert!((fit.unwrap().correlation - r).abs() < 0.005, "{name}");
    }
    let stretch = all.stretch.unwrap();
    assert!(stretch > 1.0, "light is faster than any network: {stretch}");
}

#[test]
fn the_unit_is_corrected_and_said_or_left_as_published() {
    let Some(folder) = published() else { return };
    let (corrected, published) = (
        imported(&folder, Places::known(), false),
        imported(&folder, Places::known(), true),
    );
    let rate = |imported: &Imported| imported.tests[0].tcp_bps.unwrap();
    // The first row: 350,355,456 bytes in 10 s.
    assert_eq!((rate(&corrected), rate(&published)), (280_284_365, 350_355_456));
    assert_eq!(corrected.tests[0].bytes, 350_355_456);
    assert!(
        corrected.notes[0].contains("--as-published"),
        "{:?}",
        corrected.notes
    );
    assert!(
        published.notes[0].contains("25 % too high"),
        "{:?}",
        published.notes
    );
    assert!(
        corrected
            .tests
            .iter()
            .all(|test| test.bytes.is_multiple_of(131_072))
    );
}

#[test]
fn a_line_that_cannot_be_is_named() {
    let options = ImportOptions::default();
    let header =
        "timestamp,run_id,from_cloud,from_region,to_cloud,to_region,bitrate_Bps,avgrtt,gcp_vm,aws_vm\n";
    let good = "2022-02-14T08:56:37Z,a,AWS,eu-west-1,AWS,eu-central-1,131072.0,23.541,,t3.nano\n";
    let read = |text: String| import("f.csv", text.as_bytes(), Places::known(), &options);
    assert_eq!(read(format!("{header}{good}")).unwrap().tests.len(), 1);
    for (from, to) in [
        ("AWS,eu-west", "IBM,eu-west"),
        ("131072.0", "-1"),
        ("131072.0", "NaN"),
        ("23.541", ""),
        ("2022-02-14T", "x"),
        ("23.541", "1e99"),
    ] {
        let error = read(format!("{header}{good}{}", good.replace(from, to)))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("f.csv: line 3:") && error.lines().count() == 1,
            "{error}"
        );
    }
    for (text, part) in [("", "it is empty"), ("a,b\n1,2\n", "missing column 'timestamp'")] {
        let error = read(text.to_owned()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // A region that the table does not have is kept, without a distance.
    let odd = read(format!("{header}{}", good.replace("eu-central-1", "eu-moon-1"))).unwrap();
    assert_eq!(
        (
            odd.tests[0].distance_m,
            odd.notes.iter().any(|note| note.contains("aws:eu-moon-1"))
        ),
        (None, true)
    );
}
