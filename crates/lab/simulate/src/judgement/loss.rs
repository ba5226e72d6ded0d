//! Questions about lost packets.

use weir_diagnose::{Finding, FindingName};
use weir_results::Direction;

use super::hosts::lost_on_hosts;
use super::{Question, Said, Truth, checked, evidence, number, routes_of, run_of, serious, simply};
use crate::networks::Fault;
use crate::observed::Observed;

/// Maximum factor between the estimate and the true loss rate of a route.
const LOSS_FACTOR: f64 = 2.0;
/// Maximum error of an outage's length: this time plus this share.
const OUTAGE_NS: f64 = 3e7;
const OUTAGE_SHARE: f64 = 0.1;

/// Loss on some routes.
pub(super) const ROUTE_LOSS: Question = Question {
    name: "loss on some routes",
    right: "loss of the worst route within a factor of 2",
    answer: route_loss,
};

/// Flows that were dark.
pub(super) const OUTAGE: Question = Question {
    name: "outage",
    right: "exactly the dark flows, length within 10 % and 30 ms",
    answer: outage,
};

/// Loss in bursts.
pub(super) const BURSTS: Question = Question {
    name: "loss process: bursts",
    right: "called bursty",
    answer: bursts,
};

/// Independent loss.
pub(super) const INDEPENDENT: Question = Question {
    name: "loss process: independent",
    right: "called independent",
    answer: independent,
};

/// Loss of several flows at once.
pub(super) const CORRELATED: Question = Question {
    name: "correlated loss",
    right: "said",
    answer: correlated,
};

fn route_loss(observed: &Observed) -> (Truth, Said) {
    let mut said = serious(observed, FindingName::RouteLoss);
    match &observed.network.fault {
        Fault::RouteLoss { loss } => {
            let worst = loss.iter().copied().fold(0.0, f64::max);
            let found = said.next();
            let right = found
                .and_then(worst_loss)
                .is_some_and(|found| (worst / LOSS_FACTOR..=worst * LOSS_FACTOR).contains(&found));
            checked(true, found.is_some(), right)
        }
        Fault::Outage { .. } => (Truth::Unjudged, Said::Nothing),
        _ => simply(false, said.next().is_some()),
    }
}

fn worst_loss(finding: &Finding) -> Option<f64> {
    let counts = |what| -> Option<Vec<f64>> {
        let values = evidence(finding, what)?.as_array()?;
        values.iter().map(serde_json::Value::as_f64).collect()
    };
    let lost = counts("packets lost on each route")?;
    let sent = counts("packets sent on each route")?;
    lost.iter()
        .zip(&sent)
        .map(|(lost, sent)| lost / sent.max(1.0))
        .reduce(f64::max)
}

fn outage(observed: &Observed) -> (Truth, Said) {
    let said: Vec<&Finding> = serious(observed, FindingName::Outage).collect();
    match observed.network.fault {
        Fault::Outage {
            route,
            step,
            lasts_ns,
            ..
        } => {
            let Some(truth) = observed.survey.steps.get(step as usize) else {
                return (Truth::Unjudged, Said::Nothing);
            };
            let routes = routes_of(truth, Direction::Forward);
            let dark: Vec<u64> = (0..)
                .zip(&routes)
                .filter(|(_, of_flow)| route.is_none() || **of_flow == route)
                .map(|(flow, _)| flow)
                .collect();
            let right = |finding: &&&Finding| {
                run_of(finding) == Some(truth.run)
                    && lists(finding, "flow", &dark)
                    && lasted(finding, lasts_ns)
            };
            let rights = said.iter().filter(right).count();
            checked(!dark.is_empty(), !said.is_empty(), rights == 1 && said.len() == 1)
        }
        // A burst or a stall may well be long enough to be one.
        Fault::BurstLoss { .. } | Fault::SharedBursts { .. } | Fault::SocketLoss => {
            (Truth::Unjudged, Said::Nothing)
        }
        Fault::LateSender if lost_on_hosts(observed) > 0 => (Truth::Unjudged, Said::Nothing),
        _ if observed.network.may_miss && lost_on_hosts(observed) > 0 => (Truth::Unjudged, Said::Nothing),
        _ => simply(false, !said.is_empty()),
    }
}

fn lists(finding: &Finding, what: &str, expected: &[u64]) -> bool {
    let values = evidence(finding, what).and_then(serde_json::Value::as_array);
    values.is_some_and(|values| {
        values
            .iter()
            .map(serde_json::Value::as_u64)
            .eq(expected.iter().map(|flow| Some(*flow)))
    })
}

fn lasted(finding: &Finding, truth: u64) -> bool {
    let truth = truth as f64;
    number(finding, "lasted").is_some_and(|lasted| (lasted - truth).abs() <= OUTAGE_NS + OUTAGE_SHARE * truth)
}

/// Whether the loss process has this name.
fn called(observed: &Observed, word: &str) -> bool {
    let findings = observed.diagnosis.findings.iter();
    findings
        .filter(|finding| {
            finding.name == FindingName::LossProcess && finding.direction == Some(Direction::Forward)
        })
        .any(|finding| evidence(finding, "process").and_then(serde_json::Value::as_str) == Some(word))
}

fn bursts(observed: &Observed) -> (Truth, Said) {
    let said = called(observed, "bursty");
    match observed.network.fault {
        Fault::BurstLoss { .. } => simply(true, said),
        Fault::IndependentLoss { .. }
        | Fault::RouteLoss { .. }
        | Fault::BacklogLoss { .. }
        | Fault::Allowance { .. }
        | Fault::ReceiveRing { .. } => simply(false, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

fn independent(observed: &Observed) -> (Truth, Said) {
    let said = called(observed, "independent");
    match observed.network.fault {
        Fault::IndependentLoss { .. } => simply(true, said),
        Fault::BurstLoss { .. } => simply(false, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

fn correlated(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::CorrelatedLoss).next().is_some();
    match observed.network.fault {
        Fault::SharedBursts { .. } => simply(true, said),
        // Flows share the cause of the loss here, too: a route, a host or a queue.
        Fault::BurstLoss { .. }
        | Fault::Outage { .. }
        | Fault::SocketLoss
        | Fault::Congestion { .. }
        | Fault::PacketRateCap { .. }
        | Fault::FlowRateCap { .. } => (Truth::Unjudged, Said::Nothing),
        Fault::LateSender if lost_on_hosts(observed) > 0 => (Truth::Unjudged, Said::Nothing),
        _ if observed.network.may_miss && lost_on_hosts(observed) > 0 => (Truth::Unjudged, Said::Nothing),
        _ => simply(false, said),
    }
}
