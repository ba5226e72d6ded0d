//! Questions about hosts.

use weir_diagnose::FindingName;

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

fn late_sender(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::LateSender).next().is_some();
    match observed.network.fault {
        // A stalled receiver is a late sender in reverse direction.
        Fault::SocketLoss => (Truth::Unjudged, Said::Nothing),
        ref fault => simply(*fault == Fault::LateSender, said),
    }
}
