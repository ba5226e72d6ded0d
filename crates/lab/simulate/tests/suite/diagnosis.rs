//! A few random networks of each kind, diagnosed: a small part of the table in `docs/diagnosis.md`, of which
//! `make diagnosis` makes all. Seeds are fixed, so that each run gives the same answer.

use weir_diagnose::FindingName;
use weir_simulate::judgement::{QUESTIONS, Said, Truth};
use weir_simulate::networks::{Draw, Kind, draw};
use weir_simulate::{Judged, JudgingPlan, Tally, judge, observe};
use weir_stats::binomial_at_least;

/// Hit rate that the diagnosis promises.
const HITS: f64 = 0.95;
const FALSE_ALARMS: f64 = 0.02;
/// Significance level: the promise counts as broken if the observed failures have a lower probability under it.
const CHANCE: f64 = 1e-3;
const EACH: u64 = 1;
/// The first number whose networks have all that is asked for.
const FIRST: u64 = 1001;

/// Share of networks with two and three faults, all of whose faults are to be found, with the right numbers; and of those
/// whose explained shares are to be right.
const WHOLE: [(usize, f64); 2] = [(2, 0.92), (3, 0.85)];
const SHARES: f64 = 0.95;
/// Share of networks in which the loss of every test is within the bounds of the twin; and of those with its P99.
const TWINS: f64 = 0.9;
const COMBINED: u64 = 5;

fn judged(draws: Vec<Draw>, each: u64, twins: bool) -> Judged {
    let plan = JudgingPlan {
        draws,
        numbers: FIRST..FIRST + each,
        seed: 1,
        threads: std::thread::available_parallelism().map_or(1, |cores| cores.get().min(2)),
        twins,
        settings: false,
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    judge(&plan, directory.path(), &|_, _, _| {}).expect("networks that can be judged")
}

fn failures_are_chance(failures: u64, of: u64, rate: f64) -> bool {
    binomial_at_least(failures, of, rate) >= CHANCE
}

#[test]
fn hits_false_alarms_and_shares_of_the_loss_are_as_promised() {
    let judged = judged(Kind::ALL.map(Draw::One).to_vec(), EACH, false);
    assert!(judged.failed.is_empty(), "{:?}", judged.failed);
    let (mut hits, mut alarms) = (Tally::default(), Tally::default());
    for (question, answers) in QUESTIONS.iter().zip(&judged.answers) {
        let (name, wrong) = (question.name, &answers.wrong);
        let missed = answers.hits.of - answers.hits.yes;
        assert!(answers.hits.of > 0, "{name}: no network has it");
        assert!(
            failures_are_chance(missed, answers.hits.of, 1.0 - HITS),
            "{name}: {missed} of {} missed: {wrong:?}",
            answers.hits.of
        );
        assert!(
            failures_are_chance(answers.alarms.yes, answers.alarms.of, FALSE_ALARMS),
            "{name}: {} false alarms in {}: {wrong:?}",
            answers.alarms.yes,
            answers.alarms.of
        );
        hits.yes += answers.hits.yes;
        hits.of += answers.hits.of;
        alarms.yes += answers.alarms.yes;
        alarms.of += answers.alarms.of;
    }
    // A network with one fault has no loss of doubtful origin.
    for (draw, shares) in &judged.shares {
        assert_eq!(shares.yes, shares.of, "{draw:?}");
    }
    assert!(
        failures_are_chance(hits.of - hits.yes, hits.of, 1.0 - HITS),
        "{hits:?}"
    );
    assert!(
        failures_are_chance(alarms.yes, alarms.of, FALSE_ALARMS),
        "{alarms:?}"
    );
}

#[test]
fn several_faults_at_once_are_all_found_their_shares_of_the_loss_are_right_and_so_is_the_twin() {
    let draws = WHOLE.map(|(count, _)| Draw::Several(count));
    let judged = judged(draws.to_vec(), COMBINED, true);
    assert!(judged.failed.is_empty(), "{:?}", judged.failed);
    let wrong: Vec<_> = judged.answers.iter().flat_map(|answers| &answers.wrong).collect();
    for (count, promised) in WHOLE {
        let draw = Draw::Several(count);
        let (whole, shares) = (judged.whole[&draw], judged.shares[&draw]);
        assert_eq!(whole.of, COMBINED);
        let missed = whole.of - whole.yes;
        assert!(
            failures_are_chance(missed, whole.of, 1.0 - promised),
            "{whole:?}: {wrong:?}"
        );
        assert!(
            failures_are_chance(shares.of - shares.yes, shares.of, 1.0 - SHARES),
            "{shares:?}"
        );
        let twins = &judged.twins[&draw];
        for (what, right) in [("loss", twins.networks), ("P99", twins.delays)] {
            assert_eq!(right.of, COMBINED);
            assert!(
                failures_are_chance(right.of - right.yes, right.of, 1.0 - TWINS),
                "{what}: {twins:?}"
            );
        }
    }
}

/// Its flows are dark meanwhile, which is no outage of the network.
#[test]
fn what_a_host_dropped_while_it_stood_still_is_its_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let network = draw(Kind::SocketLoss, 7_700_311, 3);
    let observed = observe(&network, &directory.path().join("weir.db")).expect("an observed network");
    let said = &observed.diagnosis.explained[0];
    assert_eq!(said.by[0].finding, FindingName::HostLoss);
    assert!(said.lost > 100 && said.unexplained < 0.05, "{said:?}");
}

#[test]
fn a_diagnosis_that_says_nothing_or_too_much_is_judged_so() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let network = draw(Kind::PayloadCliff, 1, 1000);
    let mut observed = observe(&network, &directory.path().join("weir.db")).expect("an observed network");
    let answers = |observed: &_| QUESTIONS.map(|question| (question.answer)(observed));
    let right = answers(&observed);
    let cliff = QUESTIONS
        .iter()
        .position(|question| question.name == "payload cliff")
        .expect("the question");
    assert_eq!(right[cliff], (Truth::Present, Said::Right));

    let said = std::mem::take(&mut observed.diagnosis.findings);
    let nothing = answers(&observed);
    assert_eq!(nothing[cliff], (Truth::Present, Said::Nothing));

    // The same finding under another name is an alarm; with another length it is wrong.
    observed.diagnosis.findings = said;
    for finding in &mut observed.diagnosis.findings {
        if finding.name == FindingName::PayloadCliff {
            finding.evidence[0].value = 0.into();
            finding.evidence[1].value = 500.into();
        }
    }
    assert_eq!(answers(&observed)[cliff], (Truth::Present, Said::Wrong));
    for finding in &mut observed.diagnosis.findings {
        if finding.name == FindingName::PayloadCliff {
            finding.name = FindingName::FiveTupleIgnored;
        }
    }
    let five_tuple = QUESTIONS
        .iter()
        .position(|question| question.name == "5-tuple not honoured")
        .expect("the question");
    assert_eq!(answers(&observed)[five_tuple], (Truth::Absent, Said::Right));
}
