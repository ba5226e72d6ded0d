//! The loss process, and loss on several flows at once.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};

use super::sample::{
    assert_near, assert_says, clean, dark, lose, losing, named, number, of_tests, the, value, warns, window,
};

fn process(test: FlowTest) -> weir_diagnose::Finding {
    the(&of_tests(vec![test]), FindingName::LossProcess)
}

/// 0 of 24,000: up to 1 - 0.025^(1/24000) = 0.000153692; 3.689 million packets at 8,000 a second are 461 s.
#[test]
fn nothing_lost_is_not_called_zero() {
    let found = process(clean(8, 1000, 8_000));
    assert_eq!(found.severity, Severity::Information);
    assert_eq!(value(&found, "process"), "none seen");
    let high = value(&found, "loss, 95 % bounds")[1].as_f64().unwrap();
    assert!((high - 0.000_153_692).abs() < 1e-8, "{high}");
    assert_says(&found.sentence, "7 min 41 s");
}

/// 4 of 24,000: R's binom.test gives 4.541286e-05 to 4.266774e-04.
#[test]
fn a_few_losses_have_bounds_and_no_kind() {
    let mut test = clean(8, 1000, 8_000);
    for (flow, first) in [(0, 100), (3, 900), (5, 1_700), (6, 2_500)] {
        lose(&mut test, flow, first, 1);
    }
    let found = process(test);
    assert_eq!(value(&found, "process"), "too few to tell");
    let bounds = value(&found, "loss, 95 % bounds");
    let (low, high) = (bounds[0].as_f64().unwrap(), bounds[1].as_f64().unwrap());
    assert!(
        (low / 4.541_286e-5 - 1.0).abs() < 1e-6 && (high / 4.266_774e-4 - 1.0).abs() < 1e-6,
        "{low} {high}"
    );
}

#[test]
fn losses_apart_from_each_other_are_independent() {
    let test = losing(clean(8, 1000, 8_000), 0..8, 97);
    let found = process(test);
    assert_eq!(value(&found, "process"), "independent");
    assert_eq!(number(&found, "lost packets per independent event"), 1.0);
}

/// 40 bursts of 12 packets of the stream: with 8 flows that is one or two of each flow, so that no flow shows a burst.
#[test]
fn bursts_that_are_spread_over_the_flows_are_still_bursts() {
    let mut test = clean(8, 1000, 8_000);
    for burst in 0..40_u64 {
        let start = 200 + burst * 590;
        for sequence in start..start + 12 {
            lose(&mut test, (sequence % 8) as u16, sequence / 8, 1);
        }
    }
    let found = process(test);
    assert_eq!(value(&found, "process"), "bursty");
    assert_eq!(value(&found, "sequence of the process"), "stream");
    // Maximum likelihood of runs of 12 in 24,000 with 480 lost: 40 ends in 480 steps while bad.
    assert_near(number(&found, "from bad to good"), 1.0 / 12.0, 0.02);
    assert_near(number(&found, "from good to bad"), 1.0 / 588.0, 0.05);
    assert!(number(&found, "loss while bad") > 0.99);
    // Each burst is one event: the bounds are those of 40 in 2,000.
    assert_eq!(number(&found, "lost packets per independent event"), 12.0);
    let bounds = value(&found, "loss, 95 % bounds");
    let (low, high) = weir_stats::loss_interval(40, 2_000);
    assert!(
        (bounds[0].as_f64().unwrap() - low).abs() < 1e-12
            && (bounds[1].as_f64().unwrap() - high).abs() < 1e-12
    );
}

/// An outage is a finding of its own and no part of the loss process.
#[test]
fn an_outage_is_left_out() {
    let test = dark(clean(8, 1000, 8_000), [3], 900, 700);
    let found = process(test);
    assert_eq!(value(&found, "process"), "none seen");
}

/// In each of 20 windows all flows lose; then as many losses, each in a window of its own.
#[test]
fn flows_that_lose_at_once_are_told_from_those_that_do_not() {
    let losing = |together: bool| {
        let mut test = super::sample::timed(4, 1000, 8_000, 10);
        for number in 0..20_u64 {
            // Every fifth window of 100 ms: 200 packets of a flow.
            let at = number * 5;
            for flow in 0..4_u16 {
                let place = if together { at } else { at + u64::from(flow) };
                lose(&mut test, flow, place * 200 + 20, 1);
            }
            if together {
                window(&mut test, at, &[0, 1, 2, 3]);
            } else {
                (0..4).for_each(|flow| window(&mut test, at + u64::from(flow), &[flow]));
            }
        }
        of_tests(vec![test])
    };
    let found = the(&losing(true), FindingName::CorrelatedLoss);
    assert_eq!(found.severity, Severity::Notice);
    // The first window begins before the test has begun to be looked at, and the last block ends with the test.
    assert_eq!(number(&found, "windows in which all flows lost"), 20.0);
    assert_eq!(number(&found, "windows in which several flows lost"), 20.0);
    assert!(number(&found, "pairs of flows in the same window") >= 100.0);
    assert!(!warns(&losing(false), FindingName::CorrelatedLoss));
    assert_eq!(named(&losing(false), FindingName::CorrelatedLoss), []);
}
