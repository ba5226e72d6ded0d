//! Settings for media and their recovery.

use weir_diagnose::measured::{FlowTest, RttTest};
use weir_diagnose::{
    FindingName, Measured, Options, Recommendation, Recovery, Severity, Verdict, diagnose_with,
};
use weir_measure::rtt::RttPlan;
use weir_results::RunId;
use weir_stats::Quantiles;

use super::sample::{assert_says, clean, dark, diagnosed, lose, losing, of_tests, the};

fn recommended(measured: &Measured) -> Recommendation {
    diagnosed(measured).recommendation.expect("a recommendation")
}

fn with_rtt(measured: Measured) -> Measured {
    let rtt = Quantiles {
        count: 1_000,
        min: 400_000,
        p50: 500_000,
        p90: 700_000,
        p99: 1_000_000,
        p999: 2_000_000,
        max: 2_000_000,
    };
    Measured {
        rtt: Some(RttTest {
            run: RunId(99),
            plan: RttPlan::default(),
            started_unix_ns: 0,
            sent: 1_000,
            lost: 0,
            rtt: Some(rtt),
            blocks: Vec::new(),
            first_packets: Vec::new(),
            windows: Vec::new(),
        }),
        ..measured
    }
}

/// Lengths of 1,200 and 8,000 bytes, and flows of 1 to 16, nothing lost.
fn sweep() -> Vec<FlowTest> {
    let mut tests = vec![clean(8, 1200, 80_000)];
    tests.extend([1, 2, 4, 8, 16].map(|flows| clean(flows, 8000, 12_000)));
    tests
}

#[test]
fn a_clean_path_gets_the_usual_flows_and_the_longest_payload() {
    let found = recommended(&of_tests(sweep()));
    assert_eq!(
        (found.flows, found.payload, found.measured_together),
        (8, 8000, true)
    );
    // 420,000 packets without a loss leave up to 0.00088 %, more than one packet an hour. Nothing is spent on that.
    assert_eq!((found.recovery, found.meets_target), (Recovery::None, false));
    assert_says(&found.sentence, "No packet was lost");
    // 3.7 times as long as it takes to lose one packet at the target, an hour.
    let hours = found.longer_test_ns.expect("a longer test") as f64 / 3.6e12;
    assert!((3.6..3.8).contains(&hours), "{hours}");
    let answer = diagnosed(&of_tests(sweep())).answer;
    assert_eq!(answer.verdict, Verdict::Carries, "{}", answer.sentence);
    // Retransmission costs nothing before something is lost.
    let found = recommended(&with_rtt(of_tests(sweep())));
    assert!(matches!(found.recovery, Recovery::Arq { .. }), "{found:#?}");
}

#[test]
fn an_aim_that_is_met_needs_no_recovery() {
    let options = Options {
        target_loss: Some(1e-4),
        ..Options::default()
    };
    let found = diagnose_with(&of_tests(sweep()), &options)
        .recommendation
        .expect("a recommendation");
    assert_eq!(found.recovery, Recovery::None);
    assert_eq!(found.check, None);
}

/// 0.1 % of independent loss and an aim of 1e-6. A block of n + r packets with r repairs keeps
/// sum over j > r of j P(j lost) / (n + r): computed here by plain factorials for the recommended n and r, and for one
/// repair less, which has to miss the aim at the upper bound of the loss.
#[test]
fn the_code_is_the_weakest_that_meets_the_aim() {
    let test = losing(clean(8, 8000, 16_000), 0..8, 1_000);
    assert_eq!(test.lost, 48);
    let options = Options {
        target_loss: Some(1e-6),
        ..Options::default()
    };
    let measured = of_tests(vec![test]);
    let found = diagnose_with(&measured, &options)
        .recommendation
        .expect("a recommendation");
    let Recovery::Fec {
        span_packets,
        repair_packets,
        overhead,
        latency_ns,
    } = found.recovery
    else {
        panic!("{found:#?}")
    };
    assert_eq!(overhead, f64::from(repair_packets) / f64::from(span_packets));
    // 16,000 packets a second.
    assert_eq!(latency_ns, u64::from(span_packets) * 62_500);
    let (_, upper) = weir_stats::loss_interval(48, 48_000);
    let by_hand = |loss: f64, repairs: u32| -> f64 {
        let block = span_packets + repairs;
        let mut left = 0.0;
        for lost in repairs + 1..=block {
            let ways: f64 = (0..lost)
                .map(|i| f64::from(block - i) / f64::from(i + 1))
                .product();
            left +=
                f64::from(lost) * ways * loss.powi(lost as i32) * (1.0 - loss).powi((block - lost) as i32);
        }
        left / f64::from(block)
    };
    assert!(
        (found.expected_residual_loss / by_hand(0.001, repair_packets) - 1.0).abs() < 1e-6,
        "{found:#?}"
    );
    assert!(
        by_hand(upper, repair_packets) <= 1e-6 && by_hand(upper, repair_packets - 1) > 1e-6,
        "{found:#?}"
    );
    let bounds = found.expected_residual_interval;
    assert!(
        (bounds.1 / by_hand(upper, repair_packets) - 1.0).abs() < 1e-6,
        "{bounds:?}"
    );
}

/// Bursts of 100 packets: FEC would have to be as large, retransmission need not.
#[test]
fn long_bursts_are_for_retransmission_where_the_rtt_is_known() {
    let mut test = clean(1, 1000, 8_000);
    for burst in 0..20 {
        lose(&mut test, 0, 500 + 1_100 * burst, 100);
    }
    let found = recommended(&with_rtt(of_tests(vec![test.clone()])));
    let Recovery::Arq { latency_ns, rounds } = found.recovery else {
        panic!("{found:#?}")
    };
    // Each round is an RTT of 1 ms that 99 of 100 packets keep, and a millisecond to notice.
    assert_eq!(latency_ns, Some(2_000_000 + u64::from(rounds - 1) * 2_500_000));
    // In 3 ms there is time for one round only, and then for a code or longer waits.
    let options = Options {
        latency_ns: Some(3_000_000),
        ..Options::default()
    };
    let hasty = diagnose_with(&with_rtt(of_tests(vec![test.clone()])), &options);
    let compared = hasty.recommendation.expect("a recommendation").compared;
    let rounds = compared
        .iter()
        .filter(|one| matches!(one.recovery, Recovery::Arq { latency_ns: Some(ns), .. } if ns <= 3_000_000));
    assert_eq!(rounds.count(), 1, "{compared:#?}");
    // Without an RTT nobody can say how long retransmission takes.
    let blind = recommended(&of_tests(vec![test]));
    match blind.recovery {
        Recovery::Arq { latency_ns, .. } => assert_eq!(latency_ns, None),
        Recovery::Fec { overhead, .. } => assert!(overhead > 0.1),
        Recovery::None => panic!("{blind:#?}"),
    }
}

/// One of 16 flows was dark: FEC that repairs a sixteenth of the packets and the loss besides.
#[test]
fn an_outage_of_one_flow_is_covered_by_the_code() {
    let test = dark(clean(16, 8000, 16_000), [5], 500, 300);
    let found = recommended(&of_tests(vec![test]));
    let Recovery::Fec {
        overhead,
        span_packets,
        repair_packets,
        ..
    } = found.recovery
    else {
        panic!("{found:#?}")
    };
    let dark = (f64::from(span_packets + repair_packets) / 16.0).ceil();
    assert!(f64::from(repair_packets) > dark && overhead < 0.2, "{found:#?}");
    assert_says(&found.sentence, "6.25 %");
}

#[test]
fn a_network_that_does_badly_with_flows_gets_few() {
    let of = |count: u16| losing(clean(count, 1000, 8_000), 0..count, 1_000 / u64::from(count));
    let measured = of_tests([1, 2, 4, 8].map(of).to_vec());
    the(&measured, FindingName::FiveTupleIgnored);
    let found = recommended(&measured);
    assert_eq!(found.flows, 1);
    // 24 of 24,000: the loss of one flow, not of all.
    assert!((found.expected_loss - 0.001).abs() < 1e-9, "{found:#?}");
}

#[test]
fn payloads_stay_below_a_cliff() {
    let long = [3900, 8000].map(|length| losing(clean(8, length, 8_000), 0..8, 50));
    let found = recommended(&of_tests([&[clean(8, 1400, 8_000)], &long[..]].concat()));
    assert_eq!(found.payload, 1400);
    assert!(found.expected_loss < 0.001);
}

#[test]
fn a_run_without_flows_has_no_recommendation() {
    assert_eq!(diagnosed(&with_rtt(of_tests(Vec::new()))).recommendation, None);
}

/// A sender that was late with 2.5 Gbit/s, and a repeat of each test at 1 Gbit/s that was not.
#[test]
fn tests_that_a_host_did_not_keep_up_with_count_no_more_than_their_repeats() {
    let late = |flows: u16| {
        let mut test = losing(clean(flows, 8000, 40_000), 0..flows, 50);
        test.sender.schedule_p99_ns = 20_000_000;
        test
    };
    let tests = vec![late(4), clean(4, 8000, 16_000), late(8), clean(8, 8000, 16_000)];
    let found = diagnosed(&of_tests(tests));
    let late = found
        .findings
        .iter()
        .find(|one| one.name == FindingName::LateSender);
    assert!(late.is_some(), "the host is found: {found:#?}");
    let harm = found.findings.iter().find(|one| one.severity == Severity::Fault);
    assert_eq!(harm, None, "the loss of a late sender is none of the network's");
    let answer = found.answer;
    let basis = answer.basis.expect("a basis");
    assert_eq!((basis.tests, basis.left_out, basis.lost), (2, 2, 0));
    assert_eq!(
        (answer.verdict, basis.rate),
        (Verdict::CannotSay, Some(1_024_000_000)),
        "{}",
        answer.sentence
    );
    assert_says(&answer.sentence, "a host could not keep up with that rate");
}

#[test]
fn late_tests_without_repeats_stand_and_the_answer_says_so() {
    let mut test = clean(8, 8000, 40_000);
    test.sender.schedule_p99_ns = 20_000_000;
    let found = diagnosed(&of_tests(vec![test]));
    assert_eq!(found.answer.verdict, Verdict::CannotSay);
    assert_says(&found.answer.sentence, "did not keep its schedule");
}
