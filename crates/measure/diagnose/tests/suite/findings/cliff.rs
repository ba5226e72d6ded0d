//! Loss that begins above a payload length.

use weir_diagnose::{FindingName, Measured, Severity};

use super::sample::{assert_says, clean, lose_randomly, number, of_tests, the, warns};

const LENGTHS: [u32; 5] = [1200, 1400, 3900, 6000, 8100];

/// Each length with 8 flows, of which `lossy` lose 2 % at the lengths that `loses` says.
fn by_length(lossy: impl IntoIterator<Item = u16> + Clone, loses: fn(u32) -> bool) -> Measured {
    let tests = LENGTHS.map(|length| {
        let mut test = clean(8, length, 8_000);
        for flow in lossy.clone().into_iter().filter(|_| loses(length)) {
            lose_randomly(&mut test, flow, 0.02);
        }
        test
    });
    of_tests(tests.to_vec())
}

fn is_long(length: u32) -> bool {
    length > 1400
}

#[test]
fn loss_of_long_packets_on_all_flows_is_a_cliff() {
    let measured = by_length(0..8, is_long);
    let found = the(&measured, FindingName::PayloadCliff);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "longest payload without that loss"), 1400.0);
    assert_eq!(number(&found, "shortest payload with it"), 3900.0);
    assert_says(&found.action, "1400 bytes");
}

/// The route that loses has other flows in each test, and in those of the short payloads none: chance, and no cliff.
#[test]
fn loss_on_one_flow_of_the_long_tests_is_none() {
    assert!(!warns(&by_length([3], is_long), FindingName::PayloadCliff));
}

#[test]
fn the_same_loss_at_every_length_and_less_loss_of_long_ones_are_none() {
    for loses in [|_| true, |length| !is_long(length)] {
        assert!(!warns(&by_length(0..8, loses), FindingName::PayloadCliff));
    }
}
