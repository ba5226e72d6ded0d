//! Questions about hosts.

use weir_diagnose::FindingName;
use weir_measure::flows::{DirectionSummary, HostLimit};
use weir_measure::survey::StepSummary;

use super::{Question, Said, Truth, serious, simply};
use crate::networks::Fault;
use crate::observed::Observed;

/// Minimum number of packets lost on hosts for this question.
const TELLING: u64 = 20;

/// Loss on a host.
pub(super) const HOST_LOSS: Question = Question {
    name: "loss on a host",
    right: "said",
    answer: host_loss,
};

/// A sender behind its schedule.
pub(super) const LATE_SENDER: Question = Question {
    name: "late sender",
    right: "said",
    answer: late_sender,
};

/// An allowance of an instance that was exceeded.
pub(super) const ALLOWANCE: Question = Question {
    name: "allowance of an instance exceeded",
    right: "said",
    answer: allowance,
};

/// A receive ring that was full.
pub(super) const RECEIVE_RING: Question = Question {
    name: "receive ring full",
    right: "said",
    answer: receive_ring,
};

/// CPU time that the hypervisor gave to others.
pub(super) const STOLEN_CPU: Question = Question {
    name: "CPU time stolen",
    right: "said",
    answer: stolen_cpu,
};

/// Packets that hosts lost in the whole survey.
pub(super) fn lost_on_hosts(observed: &Observed) -> u64 {
    let steps = observed.survey.steps.iter();
    steps
        .map(|step| step.forward_host_losses + step.reverse_host_losses)
        .sum()
}

fn host_loss(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::HostLoss).next().is_some();
    match lost_on_hosts(observed) {
        0 => simply(false, said),
        TELLING.. => simply(true, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

/// A finding about what drops packets on a host: as the loss itself, to be said only if it took enough.
fn dropped_by(is_planted: bool, name: FindingName, observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, name).next().is_some();
    match lost_on_hosts(observed) {
        1..TELLING if is_planted => (Truth::Unjudged, Said::Nothing),
        lost => simply(is_planted && lost > 0, said),
    }
}

fn allowance(observed: &Observed) -> (Truth, Said) {
    let is_planted = matches!(observed.network.fault, Fault::Allowance { .. });
    dropped_by(is_planted, FindingName::AllowanceExceeded, observed)
}

fn receive_ring(observed: &Observed) -> (Truth, Said) {
    let is_planted = matches!(observed.network.fault, Fault::ReceiveRing { .. });
    dropped_by(is_planted, FindingName::ReceiveQueueFull, observed)
}

fn stolen_cpu(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::CpuStolen).next().is_some();
    simply(matches!(observed.network.fault, Fault::StolenCpu { .. }), said)
}

/// Whether a sender did not keep up with a test, by the measurement's own limits.
pub(super) fn was_late(observed: &Observed) -> bool {
    let late = |limit| matches!(limit, HostLimit::SenderLate { .. } | HostLimit::SenderSlow { .. });
    observed.survey.steps.iter().any(|step| match &step.summary {
        StepSummary::Flows(found) => {
            let ways = [&found.forward, &found.reverse].into_iter().flatten();
            ways.filter_map(DirectionSummary::host_limit).any(late)
        }
        _ => false,
    })
}

fn late_sender(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::LateSender).next().is_some();
    match observed.network.fault {
        // A stalled receiver is a late sender in reverse direction.
        Fault::SocketLoss => (Truth::Unjudged, Said::Nothing),
        // Stolen time may make a sender late, or not.
        Fault::StolenCpu { .. } => (Truth::Unjudged, Said::Nothing),
        // Heavy tails make a sender late that was not meant to be.
        _ if observed.network.may_miss && was_late(observed) => simply(true, said),
        ref fault => simply(*fault == Fault::LateSender, said),
    }
}
