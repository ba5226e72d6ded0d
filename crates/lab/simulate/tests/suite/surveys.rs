//! What a survey finds out by further tests: the rate at which loss begins, and which ports decide on a route.

use weir_diagnose::measured::FlowTest;
use weir_diagnose::{Diagnosis, Finding, FindingName, Measured, Verdict, diagnose, load};
use weir_link::{FlowRateCap, LinkSpec, LossSpec, QueueSpec, RateSpec, RouteChoice, RouteSpec};
use weir_measure::VideoFormat;
use weir_measure::survey::{LossOnset, SurveyPlan, SurveySummary};
use weir_results::Direction;
use weir_simulate::{HostModel, Path};
use weir_units::{FrameRate, Rate};

use crate::paths::{bench, link, route};

const SECOND: u64 = 1_000_000_000;
/// IP and UDP headers.
const HEADERS: f64 = 28.0;

pub(crate) fn surveyed(link: &LinkSpec, rate: u64) -> (SurveySummary, Diagnosis) {
    let host = HostModel::default();
    let (summary, measured) = surveyed_between(&host, &host, link, rate);
    (summary, diagnose(&measured))
}

pub(crate) fn surveyed_between(
    near: &HostModel,
    far: &HostModel,
    link: &LinkSpec,
    rate: u64,
) -> (SurveySummary, Measured) {
    let mut bench = bench();
    let mut path = Path::new(link, near, far, "far", 7).expect("a path");
    let plan = SurveyPlan {
        format: VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60),
        step_ns: 3 * SECOND,
        max_flows: 16,
        max_bytes: u64::MAX,
    };
    let made = path
        .survey(&plan, &mut bench.store, &mut |_| {})
        .expect("a survey");
    let measured = load(&bench.store, made.run).expect("measured");
    (made.summary, measured)
}

pub(crate) fn the(diagnosis: &Diagnosis, name: FindingName) -> &Finding {
    let found = diagnosis.findings.iter().find(|finding| finding.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {:#?}", diagnosis.findings))
}

/// A clean link whose packets, and those of each flow, are held at this.
fn policed(rate: u64) -> LinkSpec {
    let mut link = link(vec![route(); 2]);
    link.forward.mtu.bytes = 4036;
    link.forward.flow_rate = Some(FlowRateCap { rate, burst: 200_000 });
    link
}

#[track_caller]
fn check_onset(summary: &SurveySummary, flows: u16, packets_at: f64) -> LossOnset {
    let tried: Vec<(Option<Rate>, f64)> = summary.by_rate.iter().map(|row| (row.asked, row.loss)).collect();
    let onset = summary.onset.unwrap_or_else(|| panic!("no onset: {tried:?}"));
    assert_eq!(onset.flows, flows);
    let payload_at = packets_at * f64::from(onset.length) / (f64::from(onset.length) + HEADERS);
    let (low, high) = (onset.carried.0 as f64, onset.lossy.0 as f64);
    assert!(
        low > 0.95 * payload_at && high < 1.05 * payload_at && low < high,
        "{onset:?}, not {payload_at}"
    );
    assert!(summary.by_rate.len() <= 6);
    onset
}

#[test]
fn the_rate_of_a_policer_for_each_flow_is_found_with_one_flow() {
    let (summary, diagnosis) = surveyed(&policed(120_000_000), 400_000_000);
    check_onset(&summary, 1, 120e6);
    let cap = the(&diagnosis, FindingName::FlowRateCap);
    assert!(
        cap.sentence
            .contains("With 1 flow and payloads of 4008 bytes loss begins between")
    );
    // Tests at a rate that one flow carries are no reason to use one.
    let recommended = diagnosis.recommendation.as_ref().expect("settings");
    assert!(recommended.flows >= 5, "{recommended:?}");
    assert_eq!(diagnosis.answer.verdict, Verdict::Carries);
}

#[test]
fn a_policer_whose_bucket_is_smaller_than_a_burst_is_known_by_its_rate_for_shorter_ones() {
    let mut link = policed(300_000_000);
    link.forward.mtu.bytes = 1500;
    link.forward.flow_rate = Some(FlowRateCap {
        rate: 300_000_000,
        burst: 36_000,
    });
    let (summary, diagnosis) = surveyed(&link, 1_000_000_000);
    check_onset(&summary, 1, 300e6);
    let cap = the(&diagnosis, FindingName::FlowRateCap);
    let held = cap.evidence[0].value.as_f64().expect("a rate");
    assert!((held / 300e6 - 1.0).abs() < 0.05, "{cap:#?}");
    assert!(cap.sentence.contains("overflow its bucket"), "{}", cap.sentence);
}

#[test]
fn the_rate_of_a_policer_for_the_path_is_found_and_lower_rates_are_not_the_media_rate() {
    let mut link = policed(150_000_000);
    link.forward.hide_five_tuple = true;
    let (summary, diagnosis) = surveyed(&link, 400_000_000);
    let onset = check_onset(&summary, 8, 150e6);
    assert_eq!(diagnosis.answer.verdict, Verdict::DoesNotCarry);
    let recommended = diagnosis.recommendation.as_ref().expect("settings");
    let lower = format!("lower the rate to less than {}", onset.carried.rounded());
    assert!(recommended.sentence.contains(&lower), "{}", recommended.sentence);
}

#[test]
fn the_rate_of_a_full_link_is_found_behind_its_queue() {
    let full = RouteSpec {
        rate: RateSpec::Fixed(150_000_000),
        queue: QueueSpec::Bytes(400_000),
        ..route()
    };
    let (summary, diagnosis) = surveyed(&link(vec![full]), 200_000_000);
    check_onset(&summary, 8, 150e6);
    let congestion = the(&diagnosis, FindingName::Congestion);
    assert!(
        congestion.sentence.contains("loss begins between"),
        "{congestion:#?}"
    );
    assert_eq!(diagnosis.answer.verdict, Verdict::DoesNotCarry);
}

#[test]
fn loss_that_does_not_depend_on_the_rate_costs_one_test_at_a_lower_one() {
    let lossy = RouteSpec {
        loss: vec![LossSpec::Bernoulli(0.04)],
        ..route()
    };
    let (summary, _) = surveyed(&link(vec![lossy]), 100_000_000);
    assert_eq!((summary.by_rate.len(), summary.onset), (1, None));
    let (summary, _) = surveyed(&link(vec![route()]), 100_000_000);
    assert_eq!((summary.by_rate.len(), summary.onset), (0, None));
}

/// Four routes of different delays, which packets take by this.
fn routed(choice: RouteChoice, hide_five_tuple: bool) -> LinkSpec {
    let of = |delay_ns| RouteSpec { delay_ns, ..route() };
    let mut link = link([300_000, 420_000, 610_000, 900_000].map(of).to_vec());
    link.forward.choice = choice;
    link.forward.hide_five_tuple = hide_five_tuple;
    link
}

#[test]
fn the_ports_that_decide_on_a_route_are_told_apart() {
    for (choice, hide_five_tuple, source, destination, said) in [
        (RouteChoice::FiveTuple, false, true, true, "both decide"),
        (
            RouteChoice::SourcePort,
            false,
            true,
            false,
            "the source port decides",
        ),
        (RouteChoice::FiveTuple, true, false, false, "cannot tell"),
    ] {
        let (summary, diagnosis) = surveyed(&routed(choice, hide_five_tuple), 50_000_000);
        assert_eq!(
            summary.by_source_port.map(|row| (row.flows, row.lost)),
            Some((16, 0))
        );
        let found = the(&diagnosis, FindingName::HashedPorts);
        assert!(found.brief.contains(said), "{found:#?}");
        let routes = |varied: &str| {
            let mut evidence = found
                .evidence
                .iter()
                .filter(|one| one.what.contains("routes of flows"));
            let of = evidence
                .find(|one| one.what.ends_with(varied))
                .expect("a number of routes");
            of.value.as_u64().expect("a number") > 1
        };
        assert_eq!(
            (routes("source port"), routes("destination port")),
            (source, destination)
        );
    }
}

#[test]
fn what_leaves_late_is_not_lost() {
    let near = HostModel {
        stalls_per_second: 15.0,
        stall_mean_ns: 6e7,
        ..HostModel::default()
    };
    let mut link = link(vec![route()]);
    link.forward.routes[0].loss.push(LossSpec::Bernoulli(0.0001));
    let (_, measured) = surveyed_between(&near, &HostModel::default(), &link, 500_000_000);
    // A stall between the trains of two flows is longer than a receiver waits.
    let sent = |test: &&FlowTest| test.direction == Direction::Forward;
    let late: u64 = measured
        .flow_tests
        .iter()
        .filter(sent)
        .map(|test| test.late)
        .sum();
    assert!(late > 20, "{late}");
    let tests = measured
        .flow_tests
        .iter()
        .filter(sent)
        .filter(|test| test.late > 0);
    for test in tests {
        let (loss, bursts) = (test.lost as f64 / test.sent as f64, &test.stream_bursts);
        assert!(loss < 0.0003, "{} of {}", test.lost, test.sent);
        assert_eq!(bursts.iter().map(|burst| burst.length).sum::<u64>(), test.lost);
    }
    let diagnosis = diagnose(&measured);
    let process = the(&diagnosis, FindingName::LossProcess);
    assert!(process.sentence.contains("one by one"), "{process:#?}");
    assert!(diagnosis.explained.iter().all(|said| said.unexplained < 0.05));
}

#[test]
fn bursts_of_loss_last_as_long_as_on_the_path_though_flows_leave_one_after_the_other() {
    // 35 packets on average, all of them lost.
    let mut link = link(vec![route()]);
    link.forward.routes[0].loss = vec![LossSpec::GilbertElliott {
        to_bad: 4.2e-4,
        to_good: 0.0288,
        loss_good: 0.0,
        loss_bad: 1.0,
    }];
    let (_, diagnosis) = surveyed(&link, 250_000_000);
    let process = the(&diagnosis, FindingName::LossProcess);
    let number = |what: &str| {
        let evidence = process.evidence.iter().find(|one| one.what == what);
        evidence.and_then(|one| one.value.as_f64()).expect("a number")
    };
    let (length, loss) = (1.0 / number("from bad to good"), number("loss while bad"));
    assert!((28.0..43.0).contains(&length) && loss > 0.9, "{process:#?}");
}
