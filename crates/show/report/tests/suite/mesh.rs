//! Tests between places: against SQL on the database, and against lines that were laid by hand.

use serde_json::{Value, json};
use weir_results::{MeshEnd, MeshTest};

use crate::sample::{SECOND, START, Sample, column};

/// Milliseconds for each thousand kilometres, and at distance 0.
const SLOPE: f64 = 15.0;
const INTERCEPT: f64 = 2.0;
/// Decades of throughput for each thousand kilometres.
const FALL: f64 = -0.1;

fn end(cloud: &str, region: &str, longitude: f64) -> MeshEnd {
    MeshEnd {
        cloud: cloud.into(),
        region: region.into(),
        zone: String::new(),
        host: format!("host-{region}"),
        latitude: Some(0.0),
        longitude: Some(longitude),
    }
}

/// Twelve tests of two clouds on exact lines, one of which beats light, and one that failed.
pub fn mesh_tests() -> Vec<MeshTest> {
    let mut tests: Vec<MeshTest> = (1..=12u64)
        .map(|number| {
            let thousand_km = number as f64;
            let cloud = if number % 2 == 0 { "aws" } else { "gcp" };
            MeshTest {
                unix_ns: START + number * SECOND,
                source: "weir".into(),
                from: end("aws", "eu-west-1", 0.0),
                to: end(cloud, &format!("place-{number}"), thousand_km * 9.0),
                distance_m: Some(number * 1_000_000),
                faster_than_light: number == 5,
                rtt_p50_ns: Some(((INTERCEPT + SLOPE * thousand_km) * 1e6).round() as u64),
                tcp_bps: Some(10f64.powf(9.0 + FALL * thousand_km).round() as u64),
                udp_loss: Some(0.25),
                bytes: 1_000,
                details: json!({ "survey_run": number }),
                ..MeshTest::default()
            }
        })
        .collect();
    tests.push(MeshTest {
        unix_ns: START + 20 * SECOND,
        source: "weir".into(),
        reason: Some("no answer ".repeat(100)),
        from: end("aws", "eu-west-1", 0.0),
        to: end("", "cellar", 1.0),
        details: json!({}),
        ..MeshTest::default()
    });
    tests
}

fn words(series: &Value, name: &str) -> Vec<String> {
    let values = series["columns"][name]["values"].as_array().unwrap();
    values
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn tests_places_and_lines_are_those_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("mesh", None, &[]);
    sample.store.add_mesh_tests(run, &mesh_tests()).unwrap();
    let document = sample.document(&[run]);
    assert!(document.get("mesh").is_none(), "one run draws its own");
    let series = &document["runs"][0]["series"];
    for (name, sql) in [
        ("rtt_ns", "SELECT rtt_p50_ns FROM mesh_tests ORDER BY unix_ns"),
        ("tcp_bps", "SELECT tcp_bps FROM mesh_tests ORDER BY unix_ns"),
        ("distance_m", "SELECT distance_m FROM mesh_tests ORDER BY unix_ns"),
        (
            "at_ns",
            "SELECT unix_ns - (SELECT started_unix_ns FROM runs) FROM mesh_tests ORDER BY unix_ns",
        ),
        (
            "survey_run",
            "SELECT json_extract(details, '$.survey_run') FROM mesh_tests ORDER BY unix_ns",
        ),
    ] {
        assert_eq!(
            column(&document, "mesh_tests", name),
            sample.sql::<Option<i64>>(sql)
        );
    }
    let reasons = words(&series["mesh_tests"], "reason");
    assert_eq!((reasons[0].as_str(), reasons[12].len()), ("", 300));
    assert_eq!(words(&series["mesh_places"], "place").len(), 14);
    assert!(words(&series["mesh_places"], "place").contains(&"cellar".to_owned()));

    let fits = &series["mesh_fits"];
    let groups = words(fits, "group");
    assert_eq!(
        groups,
        ["all", "all", "aws->aws", "aws->aws", "aws->gcp", "aws->gcp"]
    );
    let value = |name: &str, at: usize| fits["columns"][name]["values"][at].as_f64().unwrap();
    let near = |value: f64, expected: f64| (value - expected).abs() < 1e-6;
    for rtt in [0, 2, 4] {
        assert!(near(value("slope", rtt), SLOPE) && near(value("intercept", rtt), INTERCEPT));
        let throughput = rtt + 1;
        assert!(near(value("slope", throughput), FALL) && near(value("intercept", throughput), 9.0));
    }
    // Towards the two clouds, and the nine places with an RTT above 60 ms.
    assert_eq!(words(&series["mesh_windows"], "to").len(), 11);
}

#[test]
fn runs_with_tests_are_drawn_together_too() {
    let mut sample = Sample::new();
    let (first, second) = (sample.run("mesh", None, &[]), sample.run("mesh", None, &[]));
    let other = sample.run("rtt", None, &[]);
    let (some, rest) = {
        let mut tests = mesh_tests();
        let rest = tests.split_off(4);
        (tests, rest)
    };
    sample.store.add_mesh_tests(first, &some).unwrap();
    sample.store.add_mesh_tests(second, &rest).unwrap();
    let document = sample.document(&[second, first, other]);
    let mesh = &document["mesh"];
    assert_eq!(mesh["runs"], json!([second.0, first.0]));
    assert_eq!(mesh["started_unix_ns"], json!(START));
    assert_eq!(mesh["series"]["mesh_tests"]["rows"], 13);
    assert_eq!(document["runs"][0]["series"]["mesh_tests"]["rows"], 9);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/schemas/report-data.schema.json"
    ));
    let schema: Value = serde_json::from_str(&schema.unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let said: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| error.to_string())
        .collect();
    assert!(said.is_empty(), "{said:#?}");
}
