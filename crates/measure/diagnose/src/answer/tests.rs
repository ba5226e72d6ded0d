use super::*;
use crate::finding::{Confidence, Evidence};

const GBIT: u64 = 1_000_000_000;

fn media() -> Media {
    Media {
        rate: Some(2_485_954_045),
        format: Some("1080p59.94-422-10".into()),
        target: "far".into(),
        kind: "survey".into(),
        interrupted: false,
    }
}

/// Six tests on schedule, 174 of 628,000 packets lost, and FEC that repairs them.
fn good() -> Recommended {
    Recommended {
        recommendation: Recommendation {
            flows: 8,
            payload: 8952,
            burst: None,
            measured_together: true,
            recovery: Recovery::Fec {
                overhead: 3.0 / 640.0,
                repair_packets: 3,
                span_packets: 640,
                latency_ns: 18_300_000,
            },
            target_loss: 8e-9,
            expected_loss: 2.8e-4,
            expected_residual_loss: 1e-9,
            expected_residual_interval: (1e-10, 5e-9),
            meets_target: true,
            longer_test_ns: None,
            simulated_residual_loss: None,
            check: None,
            compared: Vec::new(),
            latency_ns: 23_300_000,
            survival: Vec::new(),
            sentence: String::new(),
        },
        load: Load::Carried,
        carried: None,
        basis: Basis {
            direction: Direction::Forward,
            tests: 6,
            left_out: 0,
            duration_ns: 30 * GBIT,
            rate: Some(2_485_954_045),
            lowest_rate: Some(2_485_954_045),
            packets: 628_000,
            lost: 174,
            late_tests: 0,
            host_loss_tests: 0,
            interrupted: false,
            residual_loss: None,
            target_loss: None,
            sentence: String::new(),
        },
    }
}

fn finding(severity: Severity, brief: &str) -> Finding {
    Finding {
        name: FindingName::RouteLoss,
        severity,
        direction: Some(Direction::Forward),
        brief: brief.into(),
        sentence: format!("{brief}, and more."),
        evidence: vec![Evidence::in_unit("delay", 17_367_039, "ns")],
        query: "SELECT 1".into(),
        confidence: Confidence::by_count("count", 1.0),
        action: "Nothing to do.".into(),
    }
}

fn of(found: &Recommended) -> Answer {
    answer(media(), &[], Some(found))
}

#[track_caller]
fn assert_says(text: &str, part: &str) {
    assert!(text.contains(part), "'{part}' is not in: {text}");
}

#[test]
fn a_path_that_carries_the_media_with_repair() {
    let worst = finding(Severity::Fault, "route B loses 0.028 % of its packets");
    let found = answer(media(), &[worst], Some(&good()));
    assert_eq!(found.verdict, Verdict::CarriesWithRepair);
    assert_eq!(
        found.lines(),
        [
            "Yes, with repair: this path carries 1080p59.94-422-10 (2.486 Gbit/s) with 8 flows, payload 8952 bytes, FEC 3 \
             per 640 (0.47 % more, 18.3 ms).",
            "Worst: route B loses 0.028 % of its packets.",
            "Rests on: 6 flow tests of 5.00 s at 2.486 Gbit/s, 628,000 packets, 174 lost (0.028 %); sender on schedule, no \
             loss on hosts; residual loss at most 5.0e-9 (95 %), target 8.0e-9.",
        ]
    );
}

#[test]
fn a_survey_that_ended_early_says_so() {
    let survey = Media {
        interrupted: true,
        ..media()
    };
    let found = answer(survey, &[], Some(&good()));
    let basis = found.basis.as_ref().expect("flow tests");
    assert!(basis.interrupted);
    assert_says(
        &basis.sentence,
        "the survey was interrupted, and what it had not measured yet is unknown",
    );
}

#[test]
fn a_path_that_needs_no_recovery() {
    let mut found = good();
    found.recommendation.recovery = Recovery::None;
    let found = answer(
        media(),
        &[finding(Severity::Information, "one route")],
        Some(&found),
    );
    assert_eq!((found.verdict, &found.worst), (Verdict::Carries, &None));
    assert!(found.sentence.starts_with("Yes: ") && found.sentence.contains("no FEC and no ARQ"));
    assert_eq!(found.lines()[1], "Worst: no fault and no notice.");
}

#[test]
fn settings_that_were_not_tested_together_are_to_be_confirmed() {
    let mut found = good();
    found.recommendation.measured_together = false;
    let next = of(&found).next.expect("a next step");
    assert_says(
        &next,
        "'weir flows far --flows 8 --length 8952 --format 1080p59.94-422-10'",
    );
    let media = Media {
        format: None,
        target: "far;rm".into(),
        ..media()
    };
    assert_eq!(
        answer(media, &[], Some(&found)).next,
        None,
        "no command for a shell"
    );
}

#[test]
fn a_path_that_does_not_carry_the_media() {
    let full = |load: Load| {
        let mut found = good();
        found.load = load;
        found.carried = Some(1_864_465_534);
        found.recommendation.recovery = Recovery::None;
        found.recommendation.expected_loss = 0.25;
        of(&found)
    };
    let never = full(Load::TooMuch);
    assert_eq!((never.verdict, &never.settings), (Verdict::DoesNotCarry, &None));
    assert_says(&never.sentence, "the best of 6 flow tests");
    assert_says(&never.sentence, "lost 25 %");
    assert_says(&never.next.expect("a next step"), "less than 1.864 Gbit/s");
    let sometimes = full(Load::AtTimes);
    assert_eq!(sometimes.verdict, Verdict::DoesNotCarry);
    assert_says(&sometimes.sentence, "only at times");
    let lossy = full(Load::Carried);
    assert_eq!(lossy.verdict, Verdict::DoesNotCarry);
    assert_says(&lossy.sentence, "loses 25 %");
    let mut beyond = good();
    beyond.recommendation.meets_target = false;
    assert_eq!(of(&beyond).verdict, Verdict::DoesNotCarry, "above the target");
}

#[test]
fn a_run_without_a_flow_test_does_not_tell() {
    let survey = answer(media(), &[], None);
    assert_eq!((survey.verdict, &survey.basis), (Verdict::CannotSay, &None));
    assert_says(&survey.sentence, "ended without a flow test");
    let rtt = Media {
        rate: None,
        format: None,
        kind: "rtt".into(),
        ..media()
    };
    let lines = answer(rtt, &[], None).lines();
    assert_eq!(
        lines,
        [
            "Cannot say whether this path carries media: this run has no flow test.",
            "Worst: no fault and no notice.",
            "Next: measure with 'weir survey far'.",
        ]
    );
}

#[test]
fn flows_without_a_rate_and_few_packets_do_not_tell() {
    let mut unpaced = good();
    unpaced.basis.rate = None;
    let none = Media {
        rate: None,
        ..media()
    };
    assert_says(&answer(none, &[], Some(&unpaced)).sentence, "without a rate");
    let mut few = good();
    (few.basis.packets, few.basis.lost) = (840, 0);
    let found = of(&few);
    assert_eq!((found.verdict, found.settings), (Verdict::CannotSay, None));
    assert_says(&found.sentence, "840 packets are too few");
    // A tenth of them lost is plain enough.
    few.basis.lost = 84;
    few.recommendation.expected_loss = 0.1;
    assert_eq!(of(&few).verdict, Verdict::DoesNotCarry);
}

#[test]
fn late_senders_and_loss_on_hosts_are_in_what_it_rests_on() {
    let mut found = good();
    (found.basis.late_tests, found.basis.host_loss_tests) = (2, 1);
    let some = of(&found);
    assert_eq!(some.verdict, Verdict::CarriesWithRepair);
    let basis = some.basis.expect("a basis").sentence;
    assert_says(
        &basis,
        "did not keep its schedule in 2 of them, hosts dropped packets in 1 of them",
    );
    found.basis.late_tests = 6;
    let all = of(&found);
    assert_eq!((all.verdict, &all.settings), (Verdict::CannotSay, &None));
    assert_says(&all.sentence, "schedule in any of 6 flow tests");
    assert!(all.next.expect("a next step").contains("lower rate"));
    (found.basis.late_tests, found.basis.host_loss_tests) = (0, 6);
    assert_eq!(
        of(&found).verdict,
        Verdict::CarriesWithRepair,
        "the recovery repairs that, too"
    );
    found.recommendation.expected_residual_loss = 1e-3;
    assert_eq!(of(&found).verdict, Verdict::CannotSay);
    found.basis.left_out = 3;
    let basis = of(&found).basis.expect("a basis").sentence;
    assert!(basis.contains("3 more left out"), "{basis}");
}

#[test]
fn tests_at_a_lower_rate_do_not_tell_of_the_full_one() {
    let mut found = good();
    (found.basis.rate, found.basis.lowest_rate) = (Some(GBIT), Some(GBIT));
    let lower = of(&found);
    assert_eq!(lower.verdict, Verdict::CannotSay);
    assert!(lower.settings.is_some());
    assert_says(
        &lower.sentence,
        "no flow test had that rate. At 1.000 Gbit/s it carries media with 8 flows",
    );
    found.basis.left_out = 5;
    assert_says(&of(&found).sentence, "a host could not keep up with that rate");
    // What a path does not carry at a lower rate, it does not carry at all.
    found.load = Load::TooMuch;
    assert_eq!(of(&found).verdict, Verdict::DoesNotCarry);
}

#[test]
fn more_flows_than_were_tested_are_to_be_tested() {
    let mut found = good();
    found.load = Load::Untried;
    found.recommendation.expected_loss = 0.22;
    let untried = of(&found);
    assert_eq!(untried.verdict, Verdict::CannotSay);
    assert_eq!(untried.basis.expect("a basis").residual_loss, None);
    assert_says(&untried.next.expect("a next step"), "weir flows far --flows 8");
}

#[test]
fn rates_are_written_as_the_command_line_reads_them() {
    let media = |rate: u64| Media {
        rate: Some(rate),
        format: None,
        ..media()
    };
    let command = |rate: u64| {
        let mut found = good();
        found.recommendation.measured_together = false;
        found.basis.rate = Some(rate);
        answer(media(rate), &[], Some(&found)).next.expect("a command")
    };
    assert!(command(2_500_000_000).contains("--rate 2.5Gbit/s'"));
    assert!(command(20_000_000).contains("--rate 20Mbit/s'"));
}
