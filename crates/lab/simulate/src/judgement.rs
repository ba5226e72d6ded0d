//! Whether a diagnosis of a network with known properties is right. It must not know how findings are made: it
//! uses only their names, directions, evidence and severities.

mod accuracy;
mod caps;
mod hosts;
mod loss;
mod outside;
mod routes;
mod rtt;
mod shares;
mod visible;

use serde_json::Value;
use weir_diagnose::{Finding, FindingName, Severity};
use weir_results::{Direction, RunId};

use crate::observed::Observed;
use crate::path::StepTruth;

pub use accuracy::{Estimate, estimates};
pub use outside::{OutsideAnswer, answer_to_outside};
pub use shares::error_of_shares;
use visible::{is_met, is_visible};

/// Whether a network has the property of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It has.
    Present,
    /// It has not.
    Absent,
    /// In between, or with a property that looks the same.
    Unjudged,
}

/// The answer of the diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Present, with the right numbers.
    Right,
    /// Present, with wrong numbers.
    Wrong,
    /// No finding.
    Nothing,
}

/// One question about every network.
#[derive(Clone, Copy)]
pub struct Question {
    /// Its name in the table.
    pub name: &'static str,
    /// When an answer is right.
    pub right: &'static str,
    /// Truth and answer for a network.
    pub answer: fn(&Observed) -> (Truth, Said),
}

impl Question {
    /// Truth and answer for a network that is seen once with each of its faults: it has what any of them gives it, and is
    /// without what none does.
    pub fn of_all(&self, each: &[Observed]) -> (Truth, Said) {
        let worst = |so_far: (Truth, Said), answer: (Truth, Said)| match (so_far.0, answer.0) {
            (Truth::Present, _) => so_far,
            (_, Truth::Present) => answer,
            (Truth::Unjudged, _) => so_far,
            // What one of the faults shows is no false alarm.
            (Truth::Absent, Truth::Absent) if so_far.1 == Said::Nothing => so_far,
            _ => answer,
        };
        let several = each.len() > 1;
        let answers = each.iter().map(|observed| match (self.answer)(observed) {
            (Truth::Present, said) if is_hidden(observed, several) => (Truth::Unjudged, said),
            answer => answer,
        });
        answers.reduce(worst).unwrap_or((Truth::Unjudged, Said::Nothing))
    }
}

/// Whether the first fault of a network cannot be found, since no test met it or others hide it there. What a single fault of
/// the first generator does is judged wherever its question says so: its ranges see to it that the survey meets it.
pub(crate) fn is_hidden(observed: &Observed, has_several: bool) -> bool {
    let (fault, may_miss) = (&observed.network.fault, observed.network.may_miss);
    (has_several || may_miss) && !is_visible(fault, observed) || may_miss && !is_met(fault, observed)
}

/// All questions, in the order of the table.
pub const QUESTIONS: [Question; 21] = [
    routes::ROUTES,
    loss::ROUTE_LOSS,
    loss::OUTAGE,
    loss::BURSTS,
    loss::INDEPENDENT,
    caps::FIVE_TUPLE,
    caps::FLOW_RATE,
    caps::PACKET_RATE,
    caps::CONGESTION,
    caps::PAYLOAD_CLIFF,
    routes::SEVERAL_PATHS,
    routes::RECEIVE_QUEUES,
    loss::CORRELATED,
    hosts::HOST_LOSS,
    hosts::LATE_SENDER,
    hosts::ALLOWANCE,
    hosts::RECEIVE_RING,
    hosts::STOLEN_CPU,
    rtt::CHANGED,
    rtt::WINDOW,
    rtt::LENGTH,
];

/// Findings of that name above the severity of information.
fn serious(observed: &Observed, name: FindingName) -> impl Iterator<Item = &Finding> {
    named(observed, name).filter(|finding| finding.severity >= Severity::Notice)
}

fn named(observed: &Observed, name: FindingName) -> impl Iterator<Item = &Finding> {
    let findings = observed.diagnosis.findings.iter();
    findings.filter(move |finding| finding.name == name)
}

fn evidence<'f>(finding: &'f Finding, what: &str) -> Option<&'f Value> {
    let found = finding.evidence.iter().find(|evidence| evidence.what == what);
    found.map(|evidence| &evidence.value)
}

fn number(finding: &Finding, what: &str) -> Option<f64> {
    evidence(finding, what)?.as_f64()
}

/// The run that a finding's query reads, if it reads one.
fn run_of(finding: &Finding) -> Option<RunId> {
    let after = finding.query.split("run_id = ").nth(1)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(RunId)
}

fn step_of<'o>(observed: &'o Observed, finding: &Finding) -> Option<&'o StepTruth> {
    let run = run_of(finding)?;
    observed.survey.steps.iter().find(|step| step.run == run)
}

/// The one route of each flow of a step; none if a flow took several, or none of its packets arrived.
fn routes_of(step: &StepTruth, direction: Direction) -> Vec<Option<u16>> {
    let used = match direction {
        Direction::Forward => &step.forward_routes,
        Direction::Reverse => &step.reverse_routes,
    };
    let single = |routes: &std::collections::BTreeMap<u16, u64>| match routes.len() {
        1 => routes.keys().next().copied(),
        _ => None,
    };
    used.flows.iter().map(single).collect()
}

/// A finding that should be there, or should not: right if it is.
fn simply(present: bool, said: bool) -> (Truth, Said) {
    let truth = if present { Truth::Present } else { Truth::Absent };
    (truth, if said { Said::Right } else { Said::Nothing })
}

/// The same; `right` tells whether the finding's values are right.
fn checked(present: bool, said: bool, right: bool) -> (Truth, Said) {
    match simply(present, said) {
        (truth, Said::Right) if !right => (truth, Said::Wrong),
        answer => answer,
    }
}
