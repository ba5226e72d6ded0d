//! A rate that falls during a test and stays lower.

use weir_diagnose::measured::{FlowTest, InstanceType};
use weir_diagnose::{FindingName, Measured, Severity};

use super::sample::{assert_says, diagnosed, named, number, of_tests, the, timed, warns};

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
    recount(&mut test);
    test
}

/// Sums up what the slots have.
fn recount(test: &mut FlowTest) {
    test.received = test.slots.iter().map(|slot| slot.received).sum();
    test.lost = test.sent - test.received;
    for (index, flow) in test.flows.iter_mut().enumerate() {
        let of_flow = || test.slots.iter().filter(|slot| usize::from(slot.flow) == index);
        flow.counts.received = of_flow().map(|slot| slot.received).sum();
        flow.counts.lost = of_flow().map(|slot| slot.lost).sum();
    }
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
fn what_was_held_stands_beside_what_the_instances_are_sold_with() {
    let of = |cloud: &str, name: &str| {
        Some(InstanceType {
            cloud: cloud.into(),
            name: name.into(),
        })
    };
    let mut measured = of_tests(vec![falling(70, 0.25)]);
    measured.local.instance = of("aws", "t3.micro");
    measured.remote.instance = of("gcp", "nobody-knows-8");
    let found = the(&measured, FindingName::RateDrop);
    // instances.csv: 64 Mbit/s for 0.0104 USD an hour; 16 Mbit/s were held.
    assert_says(
        &found.sentence,
        "The sending instance, aws t3.micro, is sold with a baseline of 64.00 Mbit/s",
    );
    assert_says(
        &found.sentence,
        "bursts of 5.000 Gbit/s (unverified): 25 % of the baseline was held",
    );
    assert_says(
        &found.sentence,
        "a sustained Gbit/s of this type costs 0.162 USD an hour (unverified)",
    );
    assert_says(
        &found.sentence,
        "gcp nobody-knows-8, is not in Weir's table of instances",
    );
    assert_eq!(number(&found, "baseline of the sending instance"), 64e6);
    assert_eq!(number(&found, "burst of the sending instance"), 5e9);
    // In the other direction the far instance sends; without types nothing is said.
    assert!(
        found
            .evidence
            .iter()
            .all(|one| !one.what.contains("receiving instance"))
    );
    let without = the(&of_tests(vec![falling(70, 0.25)]), FindingName::RateDrop);
    assert!(!without.sentence.contains("instance, "), "{}", without.sentence);
}

/// What of the lost packets each finding explains.
fn shares(measured: &Measured) -> Vec<(FindingName, f64)> {
    let explained = diagnosed(measured).explained;
    explained
        .iter()
        .flat_map(|way| &way.by)
        .map(|by| (by.finding, by.share))
        .collect()
}

#[test]
fn a_drop_and_a_limit_do_not_explain_the_same_packets() {
    let limits = [
        FindingName::Congestion,
        FindingName::FlowRateCap,
        FindingName::PacketRateCap,
        FindingName::FiveTupleIgnored,
    ];
    // One test that lost much since the drop, as evenly as at a limit: the drop explains it all, and nothing else does.
    let measured = of_tests(vec![falling(70, 0.25)]);
    let serious = |name| warns(&measured, name);
    assert!(serious(FindingName::RateDrop));
    for name in limits
        .into_iter()
        .chain([FindingName::LossProcess, FindingName::UnexplainedLoss])
    {
        assert!(!serious(name), "{name}");
    }
    let found = shares(&measured);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0 == FindingName::RateDrop && found[0].1 > 0.99,
        "{found:?}"
    );

    // Loss that was there before the drop stays the network's.
    let mut lossy = falling(70, 0.25);
    for slot in &mut lossy.slots {
        let lost = slot.received / 50;
        (slot.received, slot.lost) = (slot.received - lost, slot.lost + lost);
    }
    recount(&mut lossy);
    let found = shares(&of_tests(vec![lossy]));
    let by_drop = found
        .iter()
        .find(|(name, _)| *name == FindingName::RateDrop)
        .unwrap()
        .1;
    // 50 s of 75 % beside 2 % of what is left: of 480,000 packets before and 400,000 after, 9,600 and some 8,000 are no drop's.
    assert!((0.93..0.99).contains(&by_drop), "{found:?}");
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
