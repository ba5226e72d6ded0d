//! Paths and films that were measured, in place of what a file assumes.

use std::time::Duration;

use weir_pacing::Burst;
use weir_player::recorded::{Film, Trace};
use weir_population::{Check, Household, Measured, MeasuredPath, Population, Variant, paths_of_mesh, play};
use weir_record::{MeshEnd, MeshTest};

use crate::small::{changed, population};

fn over(measured: &Measured, text: &str) -> Population {
    measured
        .over(population(text))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn traced(text: &str) -> Measured {
    let trace = Trace::read(text).unwrap_or_else(|error| panic!("{error}"));
    Measured {
        paths: vec![MeasuredPath::of_trace("mine".to_owned(), &trace)],
        film: None,
    }
}

/// 12 Mbit/s for a second, 4 for three: 6 in the mean; the latency of the trace is its round-trip time.
#[test]
fn a_household_has_the_rates_of_a_trace_from_any_of_its_steps_on() {
    let measured = traced(
        r#"[{"duration_ms": 1000, "bandwidth_kbps": 12000, "latency_ms": 30},
            {"duration_ms": 3000, "bandwidth_kbps": 4000, "latency_ms": 30}]"#,
    );
    let population = over(&measured, &changed(&[], ""));
    let households: Vec<Household> = (0..20)
        .map(|number| Household::draw(&population, 1, number).expect("a household"))
        .collect();
    for household in &households {
        assert_eq!(household.line.rates, (6_000_000, 20_000_000));
        assert_eq!(household.line.rtt_ns, 30_000_000);
    }
    let played: Vec<u64> = households[..6]
        .iter()
        .map(|household| {
            let played = play(household, &population.variants[0], population.grants, 0).expect("a line");
            assert!(played.session.finished, "{:?}", played.session);
            played.session.throughput
        })
        .collect();
    // No segment is faster than the fastest step, and those of 2 Mbit/s for 4 s meet both.
    assert!(played.iter().all(|rate| *rate < 12_000_000), "{played:?}");
    assert!(
        played.iter().any(|rate| *rate != played[0]),
        "all begin at the same step: {played:?}"
    );
}

/// One packet of 1,000 bytes of payload and the request, at 20 Mbit/s, and a round trip of 40 ms.
#[test]
fn segments_have_the_sizes_of_the_film() {
    let film = r#"{"segment_duration_ms": 2000, "bitrates_kbps": [100, 300],
        "segment_sizes_bits": [[8000, 80000], [400000, 900000]]}"#;
    let measured = Measured {
        paths: Vec::new(),
        film: Some(Film::read(film).expect("a film").into()),
    };
    let population = over(&measured, &changed(&[], ""));
    let household = Household::draw(&population, 1, 0).expect("a household");
    assert_eq!(household.length, Duration::from_secs(80));
    let session = play(&household, &population.variants[0], population.grants, 0)
        .expect("a line")
        .session;
    let expected = 40e6 + 8.0 * (1_000.0 + 52.0 + 652.0) / 20e6 * 1e9;
    let startup = session.startup_ns.expect("a picture") as f64;
    assert!(
        (startup / expected - 1.0).abs() < 0.001,
        "{startup} beside {expected}"
    );
    assert!(
        population.inputs.contains("2 segments, 2 rungs"),
        "{}",
        population.inputs
    );
}

#[test]
fn what_cannot_be_played_is_refused_in_one_line() {
    let slow = traced("1s 50kbit/s\n1s 60kbit/s");
    let film = r#"{"segment_duration_ms": 60000, "bitrates_kbps": [100], "segment_sizes_bits": [[8000]]}"#;
    let long = Measured {
        paths: Vec::new(),
        film: Some(Film::read(film).expect("a film").into()),
    };
    for (measured, parts) in [(slow, ["path mine", "100kbit/s"]), (long, ["film", "television"])] {
        let error = measured
            .over(population(&changed(&[], "")))
            .expect_err("a mistake")
            .to_string();
        assert!(error.lines().count() == 1, "{error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

fn test(from: &str, to: &str, rtt_ms: u64, mbits: Option<u64>) -> MeshTest {
    let end = |region: &str| MeshEnd {
        cloud: "aws".to_owned(),
        region: region.to_owned(),
        ..MeshEnd::default()
    };
    MeshTest {
        from: end(from),
        to: end(to),
        rtt_p50_ns: Some(rtt_ms * 1_000_000),
        tcp_bps: mbits.map(|mbits| mbits * 1_000_000),
        ..MeshTest::default()
    }
}

#[test]
fn pairs_of_a_mesh_are_paths_with_the_medians_of_their_tests() {
    let tests = [
        test("a", "b", 10, Some(100)),
        test("a", "b", 14, Some(300)),
        test("a", "b", 12, Some(200)),
        test("b", "a", 9, None),
    ];
    let (paths, left_out) = paths_of_mesh(&tests);
    assert_eq!((paths.len(), left_out), (1, 1));
    assert_eq!(
        (paths[0].name.as_str(), paths[0].rtt_ns),
        ("aws/a to aws/b", Some(12_000_000))
    );
    let measured = Measured { paths, film: None };
    let household = Household::draw(&over(&measured, &changed(&[], "")), 1, 0).expect("a household");
    assert_eq!(household.line.rates.0, 200_000_000);
    assert_eq!(household.line.rtt_ns, 12_000_000);
}

/// The lab's title comes from the far end: its link has the household's directions reversed.
#[test]
fn a_check_is_one_household_for_the_lab() {
    let more = "\n[[neighbour]]\nname = \"call\"\nkind = \"call\"\nshare = 0.1\n";
    let text = changed(&[("up-rate = \"20Mbit/s\"", "up-rate = \"5Mbit/s\"")], more);
    let chosen = Variant {
        pace_factor: Some(1.5),
        pace_burst: Burst::Packets(1),
        ..Variant::new("chosen".to_owned(), "top:1.5".parse().expect("a pace"))
    };
    let check = Check::new(&population(&text), &chosen, 2).unwrap_or_else(|error| panic!("{error}"));
    let scenario = &check.scenario;
    assert_eq!((scenario.variants.len(), scenario.repeats), (2, 2));
    assert_eq!(scenario.variants[1].origin.bounds.factor, 1.5);
    assert_eq!(scenario.variants[1].origin.burst, Burst::Packets(1));
    assert_eq!(scenario.cases[0].neighbours[0].name, "call");
    let rate = |direction: &weir_link::DirectionSpec| format!("{:?}", direction.routes[0].rate);
    assert!(rate(&scenario.link.reverse).contains("20000000"));
    assert!(rate(&scenario.link.forward).contains("5000000"));
}
