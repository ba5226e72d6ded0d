//! Measurements made by hand: what a receiver would have stored of a stream whose every packet is known.

use weir_diagnose::measured::*;
use weir_diagnose::{Diagnosis, Finding, FindingName, Measured, Severity, diagnose};
use weir_measure::VideoFormat;
use weir_measure::flows::FlowsPlan;
use weir_results::{Direction, FlowBurst, LossWindow, Outcome, RunId, Silence, StreamBurst};
use weir_stats::FlowCounts;
use weir_units::{FrameRate, Rate};
use weir_wire::SpreadKind;

pub const SECOND: u64 = 1_000_000_000;
/// When every test began.
pub const START: u64 = 1_700_000_000 * SECOND;
/// Smallest delay of a path without anything on it.
pub const DELAY: i64 = 200_000;

/// Nothing measured yet.
pub fn nothing() -> Measured {
    Measured {
        run: RunId(1),
        kind: "survey".into(),
        target: "far".into(),
        outcome: Outcome::Finished,
        media_rate: None,
        header_bytes: 28,
        interface_mtu: Some(9000),
        local: Traits::default(),
        remote: Traits::default(),
        mtu: None,
        rtt: None,
        earlier_rtt: Vec::new(),
        tcp: Vec::new(),
        flow_tests: Vec::new(),
        families: Vec::new(),
    }
}

/// A run of these tests.
pub fn of_tests(flow_tests: Vec<FlowTest>) -> Measured {
    let media_rate = flow_tests.iter().filter_map(|test| test.asked).max();
    let flow_tests = flow_tests
        .into_iter()
        .enumerate()
        .map(|(index, test)| FlowTest {
            run: RunId(index as i64 + 2),
            ..test
        })
        .collect();
    Measured {
        media_rate,
        flow_tests,
        ..nothing()
    }
}

/// Diagnosed without trials.
pub fn diagnosed(measured: &Measured) -> Diagnosis {
    diagnose(measured)
}

/// The findings of this name.
pub fn named(measured: &Measured, name: FindingName) -> Vec<Finding> {
    let found = diagnosed(measured).findings;
    found.into_iter().filter(|finding| finding.name == name).collect()
}

/// The one finding of this name; panics where there is another number of them.
pub fn the(measured: &Measured, name: FindingName) -> Finding {
    let mut found = named(measured, name);
    assert_eq!(found.len(), 1, "{name}: {found:#?}");
    found.remove(0)
}

/// Whether there is one that a person has to look at.
pub fn warns(measured: &Measured, name: FindingName) -> bool {
    named(measured, name)
        .iter()
        .any(|finding| finding.severity > Severity::Information)
}

/// A number of the evidence.
pub fn number(finding: &Finding, what: &str) -> f64 {
    value(finding, what)
        .as_f64()
        .unwrap_or_else(|| panic!("{what} is no number: {finding:#?}"))
}

/// A value of the evidence.
pub fn value(finding: &Finding, what: &str) -> serde_json::Value {
    let found = finding.evidence.iter().find(|evidence| evidence.what == what);
    found
        .unwrap_or_else(|| panic!("no '{what}' in {finding:#?}"))
        .value
        .clone()
}

/// The text has this part.
#[track_caller]
pub fn assert_says(text: &str, part: &str) {
    assert!(text.contains(part), "'{part}' is not in: {text}");
}

/// The number is what is expected, but for this share of it.
#[track_caller]
pub fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found}, not {expected}");
}

/// A test of three seconds, `per_second` packets of `payload` bytes a second in turn on each of `flows` flows, of which
/// nothing is lost.
pub fn clean(flows: u16, payload: u32, per_second: u64) -> FlowTest {
    timed(flows, payload, per_second, 3)
}

/// The same for `seconds` seconds.
pub fn timed(flows: u16, payload: u32, per_second: u64, seconds: u32) -> FlowTest {
    assert_eq!(per_second % u64::from(flows), 0, "flows get equal numbers");
    let each = per_second / u64::from(flows);
    let rate = Rate(per_second * u64::from(payload) * 8);
    let plan = FlowsPlan {
        format: VideoFormat::of_rate(rate, FrameRate::NTSC_60),
        flows,
        length: payload,
        spread: SpreadKind::RoundRobin,
        burst: Some(1),
        duration_ns: u64::from(seconds) * SECOND,
        ..FlowsPlan::default()
    };
    let of_flow = |flow: u16| Flow {
        port: 5000 + flow,
        sent: each * u64::from(seconds),
        counts: FlowCounts {
            received: each * u64::from(seconds),
            bytes: each * u64::from(seconds) * u64::from(payload),
            ..FlowCounts::default()
        },
    };
    let slot = |slot: u32, flow: u16| FlowSlot {
        slot,
        flow,
        received: each,
        delay: Some(SlotDelay {
            min: DELAY,
            p50: DELAY + 2_000,
            p99: DELAY + 9_000,
        }),
        ..FlowSlot::default()
    };
    let packets = per_second * u64::from(seconds);
    FlowTest {
        asked: Some(rate.0),
        started_unix_ns: START,
        active_ns: u64::from(seconds) * SECOND,
        sent: packets,
        received: packets,
        bytes: packets * u64::from(payload),
        flows: (0..flows).map(of_flow).collect(),
        slots: (0..seconds)
            .flat_map(|at| (0..flows).map(move |flow| slot(at, flow)))
            .collect(),
        sender: SenderCounts {
            sent: packets,
            duration_ns: u64::from(seconds) * SECOND,
            schedule_p99_ns: 100_000,
            worst_second_p99_ns: 150_000,
            ..SenderCounts::default()
        },
        ..FlowTest::new(RunId(1), Direction::Forward, plan)
    }
}

/// Packets of one flow from one to the next, nanoseconds.
fn gap_ns(test: &FlowTest) -> u64 {
    test.active_ns / test.flows[0].sent
}

/// Loses `length` packets of `flow` from its `first` on, as the account would note it.
pub fn lose(test: &mut FlowTest, flow: u16, first: u64, length: u64) {
    let (flows, gap, reorder) = (test.flows.len() as u64, gap_ns(test), test.plan.reorder_ns);
    let last_slot = test.slots.iter().map(|slot| slot.slot).max().unwrap_or(0);
    for sequence in first..first + length {
        let at = (sequence * gap / SECOND).min(u64::from(last_slot)) as u32;
        let found = test
            .slots
            .iter_mut()
            .find(|slot| slot.slot == at && slot.flow == flow);
        let slot = found.expect("a slot of the test");
        slot.received -= 1;
        slot.lost += 1;
        test.stream_bursts.push(StreamBurst {
            unix_ns: START + sequence * gap + reorder,
            first_sequence: sequence * flows + u64::from(flow),
            length: 1,
        });
    }
    test.stream_bursts.sort_by_key(|burst| burst.first_sequence);
    let ended = START + (first + length) * gap;
    let counts = &mut test.flows[usize::from(flow)].counts;
    counts.received -= length;
    counts.lost += length;
    counts.bursts += 1;
    test.received -= length;
    test.lost += length;
    test.bytes -= length * u64::from(test.payload);
    test.flow_bursts.push(FlowBurst {
        unix_ns: ended + reorder,
        flow,
        port: 5000 + flow,
        first_sequence: first,
        length,
        received_before: first,
        bytes_before: first * u64::from(test.payload),
        bursts_before: counts.bursts,
    });
    if length * gap >= 100_000_000 {
        test.silences.push(Silence {
            unix_ns: START + first.saturating_sub(1) * gap,
            flow,
            duration_ns: (length + 1) * gap,
        });
    }
}

/// Loses single packets of `flow`, `every` packets apart.
pub fn lose_every(test: &mut FlowTest, flow: u16, every: u64) {
    let sent = test.flows[usize::from(flow)].sent;
    // Each flow begins at another place, so that no two lose at the same time.
    for first in (1 + u64::from(flow) * 7..sent).step_by(every as usize) {
        lose(test, flow, first, 1);
    }
}

/// The test, of which each of these flows loses single packets, `every` packets apart.
pub fn losing(mut test: FlowTest, flows: impl IntoIterator<Item = u16>, every: u64) -> FlowTest {
    flows
        .into_iter()
        .for_each(|flow| lose_every(&mut test, flow, every));
    test
}

/// The test, of which each of these flows loses `length` packets from its `first` on.
pub fn dark(mut test: FlowTest, flows: impl IntoIterator<Item = u16>, first: u64, length: u64) -> FlowTest {
    flows
        .into_iter()
        .for_each(|flow| lose(&mut test, flow, first, length));
    test
}

/// Loses packets of `flow` at random, this share of them: an MMIX linear congruential generator with a seed for each
/// flow and length.
pub fn lose_randomly(test: &mut FlowTest, flow: u16, share: f64) {
    let mut state = u64::from(flow) << 32 | u64::from(test.payload);
    for first in 0..test.flows[usize::from(flow)].sent {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if (state >> 11) as f64 / (1_u64 << 53) as f64 <= share {
            lose(test, flow, first, 1);
        }
    }
}

/// Adds to the delays of a flow.
pub fn delay(test: &mut FlowTest, flow: u16, by: i64) {
    for slot in test.slots.iter_mut().filter(|slot| slot.flow == flow) {
        if let Some(delay) = &mut slot.delay {
            delay.min += by;
            delay.p50 += by;
            delay.p99 += by;
        }
    }
}

/// A window of 100 ms in which these flows lost one packet each.
pub fn window(test: &mut FlowTest, number: u64, flows: &[u16]) {
    test.loss_windows.push(LossWindow {
        unix_ns: START + number * 100_000_000,
        duration_ns: 100_000_000,
        lost: flows.len() as u64,
        flows_losing: flows.len() as u32,
        flows: flows.to_vec(),
    });
}
