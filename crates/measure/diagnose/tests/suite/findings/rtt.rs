//! The RTT: its level, its change, and how it grows.

use weir_diagnose::measured::{FirstPacket, NetworkGrowth, RttBlock, RttTest, WindowGrowth};
use weir_diagnose::{FindingName, Measured, Severity};
use weir_measure::rtt::{RttPlan, Span};
use weir_results::RunId;
use weir_stats::Quantiles;

use super::sample::{assert_near, assert_says, named, nothing, number, the, value};

/// Ten seconds whose P90s are these, nanoseconds.
fn test(run: i64, p90s: [u64; 10]) -> RttTest {
    let block = |(index, p90_ns): (usize, u64)| RttBlock {
        first_window: index as u64,
        count: 10,
        p90_ns,
        network_p90_ns: None,
    };
    RttTest {
        run: RunId(run),
        plan: RttPlan::default(),
        started_unix_ns: 0,
        sent: 100,
        lost: 0,
        rtt: Some(Quantiles {
            count: 100,
            min: 130_000,
            p50: 150_000,
            p90: 190_000,
            p99: 300_000,
            p999: 400_000,
            max: 400_000,
        }),
        blocks: p90s.into_iter().enumerate().map(block).collect(),
        first_packets: Vec::new(),
        windows: Vec::new(),
    }
}

fn around(level: u64) -> [u64; 10] {
    [0, 700, 300, 1_100, 500, 900, 200, 1_300, 400, 800].map(|more| level + more)
}

fn of(now: RttTest, before: impl IntoIterator<Item = RttTest>) -> Measured {
    Measured {
        kind: "rtt".into(),
        rtt: Some(now),
        earlier_rtt: before.into_iter().collect(),
        ..nothing()
    }
}

#[test]
fn the_level_is_told_with_its_quantiles() {
    let found = the(&of(test(5, around(130_000)), None), FindingName::RttLevel);
    assert_eq!(found.severity, Severity::Information);
    assert_says(&found.sentence, "130 us");
    assert_says(&found.sentence, "190 us");
    assert_eq!(number(&found, "P90"), 190_000.0);
    assert_eq!(named(&nothing(), FindingName::RttLevel), []);
}

/// All ten values lie above the ten before: of 184,756 ways to mix them, 2 are as far apart.
#[test]
fn a_longer_way_than_last_time_is_told() {
    let found = the(
        &of(test(9, around(190_000)), Some(test(5, around(130_000)))),
        FindingName::RttChange,
    );
    assert_eq!(found.severity, Severity::Notice);
    assert!((number(&found, "change") - 60_000.0).abs() < 200.0, "{found:#?}");
    // Ties between the two runs of the same pattern are none: the level differs by more than the pattern spreads.
    assert!(
        (found.confidence.p_value.unwrap() - 2.0 / 184_756.0).abs() < 1e-9,
        "{:?}",
        found.confidence
    );
    assert_says(&found.sentence, "longer than in run 5");
    assert_eq!(value(&found, "run_id"), serde_json::json!([5, 9]));
    assert_eq!(number(&found, "P90 since then"), 190_600.0);
}

/// Of seven runs the last three are longer: the change is one of some days ago, and no news.
#[test]
fn a_change_of_some_runs_ago_is_told_with_its_run() {
    let levels = [130_000, 131_000, 129_000, 130_500, 190_000, 191_000];
    let earlier = (1..).zip(levels).map(|(run, level)| test(run, around(level)));
    let found = the(
        &of(test(7, around(189_000)), earlier.clone()),
        FindingName::RttChange,
    );
    assert_eq!(found.severity, Severity::Information);
    assert_eq!(number(&found, "first run since then"), 5.0);
    assert_says(&found.sentence, "longer since run 5");
    assert_says(&found.sentence, "in 7 runs of this pair");

    // Back again: no level is apart from all before and after it.
    assert_eq!(
        named(&of(test(7, around(130_200)), earlier), FindingName::RttChange),
        []
    );
}

/// What varies from run to run by more than it changed has not changed.
#[test]
fn runs_that_vary_have_no_change() {
    let levels = [130_000, 190_000, 140_000, 200_000, 135_000];
    let earlier = (1..).zip(levels).map(|(run, level)| test(run, around(level)));
    assert_eq!(
        named(&of(test(6, around(195_000)), earlier), FindingName::RttChange),
        []
    );
}

#[test]
fn small_changes_and_first_runs_are_none() {
    // 4 us are 3 %.
    let near = of(test(9, around(134_000)), Some(test(5, around(130_000))));
    assert_eq!(named(&near, FindingName::RttChange), []);
    // 9 us are 7 %, but less than anybody notices.
    let little = of(test(9, around(139_000)), Some(test(5, around(130_000))));
    assert_eq!(named(&little, FindingName::RttChange), []);
    assert_eq!(
        named(&of(test(9, around(130_000)), None), FindingName::RttChange),
        []
    );
}

/// Where the length moves, so does the RTT within a test: only the same seconds are compared.
#[test]
fn sweeps_are_compared_second_by_second() {
    let moving = |run: i64, by: u64| {
        let mut swept = test(
            run,
            std::array::from_fn(|second| 130_000 + 40_000 * second as u64 + by),
        );
        swept.plan.length = Span { from: 100, to: 8_000 };
        swept
    };
    // The differences are all the same: ties, so that the normal approximation has the say.
    let found = the(&of(moving(9, 30_000), Some(moving(5, 0))), FindingName::RttChange);
    assert_eq!(number(&found, "change"), 30_000.0);
    assert!(found.confidence.test.contains("second by second"));
    assert_eq!(
        named(&of(moving(9, 5_000), Some(moving(5, 0))), FindingName::RttChange),
        []
    );
}

/// Windows of 16 packets of 1,000 to 8,700 bytes that leave a transmitter of 1 Gbit/s: 8 ns a byte.
fn slow_link() -> RttTest {
    let mut slow = test(5, around(130_000));
    slow.windows = (0..24_u32)
        .map(|index| {
            let length = 1_000 + index * 350;
            let spacing_ns = 8.0 * f64::from(length + 28) + f64::from(index % 3) * 20.0;
            WindowGrowth {
                window: u64::from(index),
                packets: 16,
                length,
                rtt_slope_ns: spacing_ns - 2_000.0,
                spacing_ns,
                network: Some(NetworkGrowth {
                    rtt_slope_ns: spacing_ns - 2_000.0,
                    forward_slope_ns: spacing_ns - 2_000.0,
                    spacing_ns,
                }),
            }
        })
        .collect();
    slow
}

#[test]
fn packets_that_queue_tell_the_rate_of_the_slowest_part() {
    let found = the(&of(slow_link(), None), FindingName::WindowGrowth);
    assert_eq!(found.severity, Severity::Information);
    assert_near(number(&found, "serialization rate"), 1e9, 0.01);
    let media = Measured {
        media_rate: Some(2_000_000_000),
        ..of(slow_link(), None)
    };
    assert_eq!(the(&media, FindingName::WindowGrowth).severity, Severity::Notice);
}

#[test]
fn packets_that_come_as_they_were_sent_do_not_queue() {
    let mut fast = slow_link();
    for (index, window) in fast.windows.iter_mut().enumerate() {
        let noise = [300.0, -300.0][index % 2];
        window.rtt_slope_ns = noise;
        if let Some(network) = &mut window.network {
            network.rtt_slope_ns = noise;
            network.forward_slope_ns = noise;
        }
    }
    assert_eq!(named(&of(fast, None), FindingName::WindowGrowth), []);
}

/// One packet a window, 16 ns for each byte there and back: links of 1 Gbit/s each way. Others are later, none earlier.
fn lengths(step: u64) -> RttTest {
    let mut swept = test(5, around(130_000));
    swept.first_packets = (0..96_u32)
        .map(|index| {
            let length = 100 + index * 190;
            let late = [0, 9_000, 400, 22_000][index as usize % 4];
            let fragments = u64::from(length > 8_972) * step;
            let rtt_ns = 100_000 + 16 * u64::from(length) + late + fragments;
            FirstPacket {
                length,
                rtt_ns,
                network_rtt_ns: Some(rtt_ns),
            }
        })
        .collect();
    swept
}

#[test]
fn long_packets_take_longer_by_what_links_need() {
    let found = the(&of(lengths(0), None), FindingName::LengthGrowth);
    assert_eq!(found.severity, Severity::Information);
    assert!((number(&found, "growth") - 16.0).abs() < 0.5, "{found:#?}");
    assert_says(&found.sentence, "1.0");
    assert_says(&found.sentence, "Gbit/s");
    let mut flat = lengths(0);
    for packet in &mut flat.first_packets {
        packet.network_rtt_ns = Some(100_000 + u64::from(packet.length * 7919 % 1000));
    }
    assert_eq!(named(&of(flat, None), FindingName::LengthGrowth), []);
}

/// Payloads above 9000 - 28 bytes go as fragments, which takes 30 us more here.
#[test]
fn a_step_at_the_mtu_is_fragmentation() {
    let found = the(&of(lengths(30_000), None), FindingName::LengthGrowth);
    assert_eq!(found.severity, Severity::Notice);
    assert!(
        (number(&found, "step at the MTU") - 30_000.0).abs() < 5_000.0,
        "{found:#?}"
    );
    assert_says(&found.action, "8972");
}
