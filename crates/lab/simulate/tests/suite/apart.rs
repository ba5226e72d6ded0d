//! The second generator's networks do to packets what their truth says: link counters against the drawn numbers.

use std::ops::Range;

use weir_diagnose::{ExplainedBy, FindingName};
use weir_measure::flows::FlowsPlan;
use weir_measure::survey::Step;
use weir_results::Direction;
use weir_simulate::judgement::{OutsideAnswer, answer_to_outside, error_of_shares};
use weir_simulate::networks::{Fault, Network, Outside, draw_apart, draw_outside};
use weir_simulate::{Middlebox, Observed, StepTruth, observe};
use weir_stats::{Counters as _, LinkDrops};

use crate::paths::forward;

/// Bytes of the longest burst of a sender.
const BURST: f64 = 262_144.0;
/// Media of less is simulated quickly, bits per second.
const CHEAP: u64 = 300_000_000;
/// IP and UDP headers.
const HEADERS: f64 = 28.0;

/// Of each kind of fault, a network with a low media rate.
fn planted(is: fn(&Fault) -> bool) -> Observed {
    let network = (0..1000)
        .map(|number| draw_apart(1, 5, number))
        .find(|network| is(&network.fault) && is_cheap(network));
    observed(&network.expect("a network with the fault"))
}

fn is_cheap(network: &Network) -> bool {
    network.plan.format.rate().0 < CHEAP
}

fn observed(network: &Network) -> Observed {
    let directory = tempfile::tempdir().expect("a temporary directory");
    observe(network, &directory.path().join("weir.db")).expect("an observed network")
}

struct Met {
    plan: FlowsPlan,
    offered: f64,
    passed: f64,
    dropped: LinkDrops,
    on_hosts: u64,
}

fn forward_tests(observed: &Observed) -> Vec<Met> {
    let steps = observed.survey.steps.iter();
    let met = |step: &StepTruth| match &step.step {
        Step::Flows(plan) if plan.ways.forward() => Some(Met {
            plan: plan.clone(),
            offered: (step.forward.1.offered - step.forward.0.offered) as f64,
            // Without the probes of the clock watch.
            passed: forward(step).received as f64,
            dropped: step.forward.1.dropped.since(&step.forward.0.dropped),
            on_hosts: step.forward_host_losses,
        }),
        _ => None,
    };
    steps.filter_map(met).collect()
}

/// Whether a count is what a probability gives, within five standard deviations.
fn is_share(count: u64, of: f64, probability: f64) -> bool {
    let expected = of * probability;
    (count as f64 - expected).abs() <= 5.0 * expected.sqrt() + 5.0
}

#[test]
fn independent_loss_is_as_planted() {
    let observed = planted(|fault| matches!(fault, Fault::IndependentLoss { loss } if *loss > 1e-3));
    let Fault::IndependentLoss { loss } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    for test in forward_tests(&observed) {
        assert!(
            is_share(test.dropped.loss, test.offered, loss),
            "{test:?}",
            test = test.dropped
        );
    }
}

#[test]
fn heavy_tailed_bursts_lose_what_was_planted() {
    let observed = planted(|fault| matches!(fault, Fault::BurstLoss { loss, .. } if *loss > 1e-2));
    let Fault::BurstLoss { loss, .. } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    let tests = forward_tests(&observed);
    let lost: u64 = tests.iter().map(|test| test.dropped.loss).sum();
    let offered: f64 = tests.iter().map(|test| test.offered).sum();
    let ratio = lost as f64 / offered / loss;
    // The tail makes the loss of a survey vary.
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_cliff_takes_its_share_of_long_packets_only() {
    let observed = planted(|fault| matches!(fault, Fault::PayloadCliff { .. }));
    let Fault::PayloadCliff { above, loss } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    let tests = forward_tests(&observed);
    let is_long = |test: &Met| test.plan.length + 28 > above;
    assert!(tests.iter().any(is_long) && !tests.iter().all(is_long));
    for test in &tests {
        let expected = if is_long(test) { loss } else { 0.0 };
        assert!(
            is_share(test.dropped.long_packet, test.offered, expected),
            "{above} {:?}",
            test.dropped
        );
    }
}

#[test]
fn a_policer_passes_its_rate() {
    let observed = planted(|fault| matches!(fault, Fault::FlowRateCap { .. }));
    let cap = observed.network.link.forward.flow_rate.expect("a cap");
    let tests = forward_tests(&observed);
    let mut capped = 0;
    for test in tests
        .iter()
        .filter(|test| test.plan.flows == 1 && test.dropped.flow_rate > 100)
    {
        // A test ends with a frame.
        let frame_rate = test.plan.format.frame_rate;
        let seconds = frame_rate.start_ns(frame_rate.frames_in(test.plan.duration_ns)) as f64 / 1e9;
        let bits = test.passed * (f64::from(test.plan.length) + HEADERS) * 8.0;
        let most = cap.rate as f64 * seconds + cap.burst as f64 * 8.0;
        // Less than the whole rate only where the bucket is smaller than a burst of the sender.
        let least = if cap.burst as f64 > 2.0 * BURST {
            0.98 * cap.rate as f64 * seconds
        } else {
            0.0
        };
        assert!(
            (least..1.02 * most).contains(&bits),
            "{cap:?} {bits} in {seconds} s"
        );
        capped += 1;
    }
    assert!(capped > 0, "no test met {cap:?}");
}

#[test]
fn a_packet_limit_passes_its_rate() {
    let observed = planted(|fault| matches!(fault, Fault::PacketRateCap { rate: ..=5_000 }));
    let cap = observed.network.link.forward.packet_rate.expect("a cap");
    let tests = forward_tests(&observed);
    let limited: Vec<&Met> = tests
        .iter()
        .filter(|test| test.dropped.packet_rate > 100)
        .collect();
    assert!(!limited.is_empty(), "no test met {cap:?}");
    for test in limited {
        let seconds = test.plan.duration_ns as f64 / 1e9;
        let most = 1.02 * (cap.rate as f64 * seconds + cap.burst as f64);
        let whole = cap.burst as f64 * f64::from(test.plan.length) > 2.0 * BURST;
        let least = if whole {
            0.98 * cap.rate as f64 * seconds
        } else {
            0.0
        };
        assert!(
            (least..most).contains(&test.passed),
            "{cap:?} {} in {seconds} s",
            test.passed
        );
    }
}

#[test]
fn a_full_path_passes_its_rate() {
    let observed =
        planted(|fault| matches!(fault, Fault::Congestion { queue_ns, .. } if *queue_ns > 50_000_000));
    let Fault::Congestion { rate, queue_ns } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    let media = observed.network.plan.format;
    let tests = forward_tests(&observed);
    // Tests at lower rates look for the one at which the path is full.
    for test in tests.iter().filter(|test| test.plan.format == media) {
        let seconds = test.plan.duration_ns as f64 / 1e9;
        let bits = test.passed * (f64::from(test.plan.length) + HEADERS) * 8.0;
        let filled = seconds + queue_ns as f64 / 1e9;
        // Cross traffic leaves the rate in the mean over half a second.
        let range = 0.95 * rate as f64 * seconds..1.05 * rate as f64 * filled;
        assert!(
            test.dropped.queue > 0 && range.contains(&bits),
            "{bits} {range:?}"
        );
    }
}

#[test]
fn hosts_drop_what_was_planted() {
    let observed = planted(|fault| matches!(fault, Fault::BacklogLoss { loss } if *loss > 1e-3));
    let Fault::BacklogLoss { loss } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    let tests = forward_tests(&observed);
    let lost: u64 = tests.iter().map(|test| test.on_hosts).sum();
    let passed: f64 = tests.iter().map(|test| test.passed).sum();
    assert!(is_share(lost, passed, loss), "{lost} of {passed}, not {loss}");
}

#[test]
fn an_outage_darkens_its_test_alone() {
    let observed = planted(|fault| {
        matches!(
            fault,
            Fault::Outage {
                route: None,
                step: 2..=4,
                ..
            }
        )
    });
    let Fault::Outage { step, lasts_ns, .. } = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    for (index, met) in (0..).zip(&observed.survey.steps) {
        let dark = met.forward.1.dropped.dark - met.forward.0.dropped.dark;
        assert_eq!(dark > 0, index == step, "{dark} in step {index}, not in {step}");
    }
    let met = &forward_tests(&observed)[step as usize - 2];
    let share = met.dropped.dark as f64 / met.offered;
    let expected = lasts_ns as f64 / met.plan.duration_ns as f64;
    // A burst of the sender more or less, of tens in a test.
    assert!((share - expected).abs() < 0.1, "{share} {expected}");
}

/// The answer to a network with a cause outside the model, and what is said of its lost packets.
fn answered(is: fn(&Network) -> bool) -> (OutsideAnswer, String) {
    answered_at(0..CHEAP, is)
}

/// The same to one whose media has such a rate, bits per second.
fn answered_at(rates: Range<u64>, is: fn(&Network) -> bool) -> (OutsideAnswer, String) {
    let networks = (0..1000).map(|number| draw_outside(5, number));
    let mut answered = networks
        .filter(|network| is(network) && rates.contains(&network.plan.format.rate().0))
        .map(|network| observed(&network))
        .filter_map(|observed| Some((answer_to_outside(&observed)?.1, observed)));
    let (answer, observed) = answered
        .next()
        .expect("a network that loses packets by the cause");
    let findings = observed.diagnosis.findings.iter();
    let said: Vec<&str> = findings.map(|finding| finding.sentence.as_str()).collect();
    (answer, said.join("\n"))
}

#[test]
fn loss_of_one_packet_in_a_number_is_neither_a_limit_nor_chance() {
    // One in eight is as much as a limit takes, and as even.
    let (answer, said) =
        answered(|network| matches!(network.middlebox, Some(Middlebox::Content { mask: 7, .. })));
    assert_eq!(answer, OutsideAnswer::Unexplained, "{said}");
    assert!(said.contains("one in every 8. "), "{said}");
}

#[test]
fn loss_of_what_is_overtaken_is_no_loss_process() {
    let (answer, said) = answered(|network| {
        matches!(
            network.middlebox,
            Some(Middlebox::ReplayWindow { window: 32, .. })
        )
    });
    assert_eq!(answer, OutsideAnswer::Unexplained, "{said}");
    assert!(
        said.contains("something loses them by what is sent around them"),
        "{said}"
    );
}

#[test]
fn loss_that_spares_the_last_of_each_burst_is_no_loss_process() {
    // At lower rates bursts are not much longer than that.
    let (answer, said) = answered_at(700_000_000..1_200_000_000, |network| {
        matches!(network.middlebox, Some(Middlebox::ReplayWindow { window: 8, .. }))
    });
    assert_eq!(answer, OutsideAnswer::Unexplained, "{said}");
    assert!(
        said.contains("hardly any of them among the last 8 of what is sent back to back"),
        "{said}"
    );
}

#[test]
fn loss_at_certain_times_is_no_loss_process() {
    let (answer, said) = answered(|network| {
        matches!(
            network.middlebox,
            Some(Middlebox::Periodic {
                period_ns: ..8_000_000_000,
                lasts_ns: 300_000_000..1_000_000_000,
                loss: 0.1..
            })
        )
    });
    assert_eq!(answer, OutsideAnswer::Unexplained, "{said}");
    assert!(said.contains("at certain times"), "{said}");
}

#[test]
fn a_cause_outside_the_model_has_to_stay_unexplained_or_be_described_truly() {
    let is_policed = |network: &Network| {
        matches!(network.fault, Fault::Outside(Outside::TwoBuckets { .. })) && is_cheap(network)
    };
    let network = (0..1000).map(|number| draw_outside(5, number)).find(is_policed);
    let mut observed = observed(&network.expect("a policer with two buckets"));
    let mut answer = |by: Option<FindingName>| {
        let forward = &mut observed.diagnosis.explained[0];
        forward.unexplained = if by.is_some() { 0.0 } else { 1.0 };
        forward.by = by
            .map(|finding| ExplainedBy { finding, share: 1.0 })
            .into_iter()
            .collect();
        answer_to_outside(&observed).expect("an answer").1
    };
    assert_eq!(answer(None), OutsideAnswer::Unexplained);
    assert_eq!(answer(Some(FindingName::PayloadCliff)), OutsideAnswer::Wrong);
    assert_eq!(answer(Some(FindingName::LossProcess)), OutsideAnswer::Wrong);

    let Fault::Outside(Outside::TwoBuckets { committed, peak }) = observed.network.fault else {
        panic!("{:?}", observed.network.fault)
    };
    let mut capped_at = |rate: f64| {
        let forward = &mut observed.diagnosis.explained[0];
        forward.by[0].finding = FindingName::FlowRateCap;
        let mut cap = observed.diagnosis.findings[0].clone();
        cap.name = FindingName::FlowRateCap;
        cap.direction = Some(Direction::Forward);
        cap.evidence.truncate(1);
        cap.evidence[0].what = "held at".into();
        cap.evidence[0].value = rate.into();
        observed.diagnosis.findings = vec![cap];
        answer_to_outside(&observed).expect("an answer").1
    };
    assert_eq!(capped_at(committed), OutsideAnswer::Honest);
    assert_eq!(capped_at(1.2 * peak), OutsideAnswer::Wrong);
}

/// Shares of the loss of networks with three faults, by seed and number, within five points of the truth.
#[track_caller]
fn shares_are_right(networks: &[(u64, u64)]) {
    for (seed, number) in networks {
        let observed = observed(&draw_apart(3, *seed, *number));
        let error = error_of_shares(&observed).expect("a network that loses packets");
        assert!(
            error < 0.05,
            "network {number} of {seed}: off by {error:.2}: {:#?}",
            observed.diagnosis.explained
        );
    }
}

#[test]
fn a_bucket_cuts_the_bursts_of_a_late_sender() {
    shares_are_right(&[(1_732_584_193, 68), (1_201_320_412, 28)]);
}

#[test]
fn a_limit_lets_as_much_through_at_every_rate() {
    shares_are_right(&[(1_732_584_193, 25)]);
}

#[test]
fn a_cap_on_each_flow_and_a_length_take_as_much() {
    shares_are_right(&[(1_201_320_412, 49)]);
}

#[test]
fn loss_beside_a_full_path_is_not_its_own() {
    shares_are_right(&[(577_215_664, 47)]);
}

#[test]
fn chance_losses_are_those_of_what_varies() {
    shares_are_right(&[(1_732_584_193, 100), (1_201_320_412, 25)]);
}
