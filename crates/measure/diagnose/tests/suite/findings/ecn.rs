//! Paths that clear the ECN field, or drop packets that are capable of it.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{FindingName, Severity};

use super::sample::{assert_says, clean, named, number, of_tests, the};

fn capable() -> FlowTest {
    let mut test = clean(8, 1_000, 8_000);
    test.plan.ecn = true;
    test
}

/// 8 flows of 3,000 packets: half of them take a router that clears the field.
#[test]
fn a_path_that_clears_ecn_is_named_with_its_flows() {
    let mut test = capable();
    for flow in &mut test.flows[..4] {
        flow.counts.ecn_cleared = flow.counts.received;
    }
    let found = the(&of_tests(vec![test]), FindingName::EcnCleared);
    assert_eq!(found.severity, Severity::Notice);
    assert_eq!(
        number(&found, "packets that arrived as not capable of ECN"),
        12_000.0
    );
    assert_says(&found.sentence, "50 %");
    assert_says(&found.sentence, "4 of 8 flows");
}

#[test]
fn nothing_is_said_of_a_path_that_leaves_ecn_alone_or_of_a_test_without_it() {
    let mut few = capable();
    few.flows[0].counts.ecn_cleared = 19;
    let mut marked = capable();
    marked.flows[0].counts.ecn_marked = 3_000;
    for test in [few, marked, capable(), clean(8, 1_000, 8_000)] {
        let measured = of_tests(vec![test]);
        assert_eq!(named(&measured, FindingName::EcnCleared), []);
        assert_eq!(named(&measured, FindingName::EcnDropped), []);
    }
}

fn lost(mut test: FlowTest) -> FlowTest {
    (test.lost, test.received, test.bytes) = (test.received, 0, 0);
    for flow in &mut test.flows {
        (flow.counts.lost, flow.counts.received, flow.counts.bytes) = (flow.counts.received, 0, 0);
    }
    test
}

#[test]
fn packets_without_ecn_tell_a_router_that_drops_it_from_a_firewall() {
    let beside = of_tests(vec![clean(8, 1_000, 8_000), lost(capable())]);
    let found = the(&beside, FindingName::EcnDropped);
    assert_eq!(found.severity, Severity::Fault);
    assert_eq!(number(&found, "packets sent as capable of ECN"), 24_000.0);
    assert_says(&found.sentence, "24,000 packets without it arrived");
    let measured = of_tests(vec![lost(capable())]);
    assert_eq!(named(&measured, FindingName::LossProcess), []);
    assert_eq!(named(&measured, FindingName::UnexplainedLoss), []);
    let alone = the(&measured, FindingName::EcnDropped);
    assert!(alone.confidence.level < found.confidence.level);
    assert_says(&alone.action, "without --ecn");
    assert_eq!(
        named(
            &of_tests(vec![lost(clean(8, 1_000, 8_000))]),
            FindingName::EcnDropped
        ),
        []
    );
}
