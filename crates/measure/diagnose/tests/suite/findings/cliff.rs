//! Loss that begins above a payload length.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};

use super::sample::{clean, lose_randomly, number, of_tests, the, warns};

const LENGTHS: [u32; 5] = [1200, 1400, 3900, 6000, 8100];

/// Each length with 8 flows, of which `lossy` lose 2 % where the length is above 1400.
fn by_length(lossy: &[u16]) -> Vec<FlowTest> {
    LENGTHS
        .into_iter()
        .map(|length| {
            let mut test = clean(8, length, 8_000);
            for flow in lossy.iter().filter(|_| length > 1400) {
                lose_randomly(&mut test, *flow, 0.02);
            }
            test
        })
        .collect()
}

#[test]
fn loss_of_long_packets_on_all_flows_is_a_cliff() {
    let measured = of_tests(by_length(&[0, 1, 2, 3, 4, 5, 6, 7]));
    let found = the(&measured, FindingName::PayloadCliff);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "longest payload without that loss"), 1400.0);
    assert_eq!(number(&found, "shortest payload with it"), 3900.0);
    assert!(found.action.contains("1400 bytes"), "{}", found.action);
}

/// The route that loses has other flows in each test, and in those of the short payloads none: chance, and no cliff.
#[test]
fn loss_on_one_flow_of_the_long_tests_is_none() {
    assert!(!warns(&of_tests(by_length(&[3])), FindingName::PayloadCliff));
}

#[test]
fn the_same_loss_at_every_length_and_less_loss_of_long_ones_are_none() {
    let everywhere = |keeps: fn(u32) -> bool| {
        let tests = LENGTHS.into_iter().map(|length| {
            let mut test = clean(8, length, 8_000);
            for flow in (0..8).filter(|_| keeps(length)) {
                lose_randomly(&mut test, flow, 0.02);
            }
            test
        });
        of_tests(tests.collect())
    };
    assert!(!warns(&everywhere(|_| true), FindingName::PayloadCliff));
    assert!(!warns(
        &everywhere(|length| length <= 1400),
        FindingName::PayloadCliff
    ));
}
