//! A rate that falls during a test and stays lower.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};

use super::sample::{assert_says, named, number, of_tests, the, timed};

const PER_SECOND: u64 = 8_000;

/// Two minutes, of which `share` of the packets arrive from `at` on, up and down by a tenth.
fn falling(at: u32, share: f64) -> FlowTest {
    let mut test = timed(8, 1000, PER_SECOND, 120);
    for slot in test.slots.iter_mut().filter(|slot| slot.slot >= at) {
        let wave = 1.0 + 0.1 * f64::from(slot.slot % 3) - 0.1;
        let left = (slot.received as f64 * share * wave).min(slot.received as f64) as u64;
        slot.lost = slot.received - left;
        slot.received = left;
    }
    test.received = test.slots.iter().map(|slot| slot.received).sum();
    test.lost = test.sent - test.received;
    for (index, flow) in test.flows.iter_mut().enumerate() {
        let of_flow = || test.slots.iter().filter(|slot| usize::from(slot.flow) == index);
        flow.counts.received = of_flow().map(|slot| slot.received).sum();
        flow.counts.lost = of_flow().map(|slot| slot.lost).sum();
    }
    test
}

#[test]
fn the_end_of_burst_credits_is_found_with_the_allowance_as_evidence() {
    let mut test = falling(70, 0.25);
    // The hypervisor held back a few packets before, and all that are missing after.
    test.throttled.insert(3, 10);
    test.throttled.extend((70..120).map(|slot| (slot, 6_000)));
    let found = the(&of_tests(vec![test]), FindingName::RateDrop);
    assert_eq!(found.severity, Severity::Fault);
    // 8,000 packets of 8,000 bits a second, and a quarter of that.
    assert_eq!(number(&found, "rate before"), 64e6);
    assert_eq!(number(&found, "rate after"), 16e6);
    assert_eq!(number(&found, "time until the drop"), 70.0);
    assert_eq!(number(&found, "packets received before"), 560_000.0);
    assert_eq!(number(&found, "packets that allowances held back before"), 10.0);
    assert_eq!(
        number(&found, "packets that allowances held back after"),
        300_000.0
    );
    // 48 Mbit/s for 70 s.
    assert_says(&found.sentence, "burst credits were spent, some 420 MB");
    assert_says(&found.brief, "from 64.00 Mbit/s to 16.00 Mbit/s after 1 min 10 s");
}

#[test]
fn a_drop_that_no_allowance_counts_is_found_and_not_blamed_on_the_instance() {
    let found = the(&of_tests(vec![falling(40, 0.5)]), FindingName::RateDrop);
    assert_says(&found.sentence, "look alike");
}

#[test]
fn steady_rates_rises_outages_and_short_dips_are_no_drop() {
    let none = |test: FlowTest| assert_eq!(named(&of_tests(vec![test]), FindingName::RateDrop), []);
    none(timed(8, 1000, PER_SECOND, 120));
    // Slower from the start on, and for the last five seconds.
    none(falling(0, 0.5));
    none(falling(115, 0.5));
    // A little slower.
    none(falling(60, 0.97));
    // Dark from a minute on.
    none(falling(60, 0.0));
    // Up again.
    let mut dip = falling(40, 0.5);
    for slot in dip.slots.iter_mut().filter(|slot| slot.slot >= 80) {
        (slot.received, slot.lost) = (slot.received + slot.lost, 0);
    }
    none(dip);
}
