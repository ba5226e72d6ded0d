//! Questions about rates, lengths and numbers of flows.

use weir_diagnose::FindingName;

use super::{Question, Said, Truth, checked, is_hidden, number, serious, simply};
use crate::networks::Fault;
use crate::observed::Observed;

/// A rate is right within this share.
const RATE: f64 = 0.1;
/// Header bytes before a payload.
const HEADERS: f64 = 28.0;

/// More flows make it worse.
pub(super) const FIVE_TUPLE: Question = Question {
    name: "5-tuple not honoured",
    right: "said",
    answer: five_tuple,
};

/// A cap on each flow.
pub(super) const FLOW_RATE: Question = Question {
    name: "cap on the rate of each flow",
    right: "the rate within 10 %",
    answer: flow_rate,
};

/// A cap on packets per second.
pub(super) const PACKET_RATE: Question = Question {
    name: "cap on packets per second",
    right: "the number within 10 %",
    answer: packet_rate,
};

/// A congested path.
pub(super) const CONGESTION: Question = Question {
    name: "congestion",
    right: "said, and the rate, if told, within 10 %",
    answer: congestion,
};

/// Loss of long packets.
pub(super) const PAYLOAD_CLIFF: Question = Question {
    name: "payload cliff",
    right: "between the right two lengths",
    answer: payload_cliff,
};

fn five_tuple(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::FiveTupleIgnored).next().is_some();
    match observed.network.fault {
        Fault::FiveTupleIgnored { .. } => simply(true, said),
        _ if observed.network.link.forward.hide_five_tuple => (Truth::Unjudged, Said::Nothing),
        _ => simply(false, said),
    }
}

fn held_at(observed: &Observed, name: FindingName, truth: Option<u64>) -> (Truth, Said) {
    let found = serious(observed, name).next();
    let held = found.and_then(|finding| number(finding, "held at"));
    // If a queue is shorter than a burst, the rate behind it may be unknown, and is then not reported.
    let right = held
        .zip(truth)
        .is_none_or(|(held, truth)| (held / truth as f64 - 1.0).abs() <= RATE);
    checked(truth.is_some(), found.is_some(), right)
}

fn flow_rate(observed: &Observed) -> (Truth, Said) {
    let truth = match observed.network.fault {
        Fault::FlowRateCap { rate } => Some(rate),
        _ => None,
    };
    held_at(observed, FindingName::FlowRateCap, truth)
}

fn packet_rate(observed: &Observed) -> (Truth, Said) {
    let truth = match observed.network.fault {
        Fault::PacketRateCap { rate } => Some(rate),
        _ => None,
    };
    held_at(observed, FindingName::PacketRateCap, truth)
}

fn congestion(observed: &Observed) -> (Truth, Said) {
    let truth = match observed.network.fault {
        Fault::Congestion { rate, .. } => Some(rate),
        _ => None,
    };
    let fault = &observed.network.fault;
    let is_cap = matches!(fault, Fault::FlowRateCap { .. } | Fault::PacketRateCap { .. });
    if is_cap && is_hidden(observed, true) {
        // A limit of which nothing tells the kind is called so.
        return (Truth::Unjudged, Said::Nothing);
    }
    held_at(observed, FindingName::Congestion, truth)
}

fn payload_cliff(observed: &Observed) -> (Truth, Said) {
    let found = serious(observed, FindingName::PayloadCliff).next();
    let Fault::PayloadCliff { above, .. } = observed.network.fault else {
        return simply(false, found.is_some());
    };
    let right = found.is_some_and(|finding| {
        let good = number(finding, "longest payload without that loss");
        let bad = number(finding, "shortest payload with it");
        let above = f64::from(above);
        good.is_some_and(|good| good + HEADERS <= above) && bad.is_some_and(|bad| bad + HEADERS > above)
    });
    checked(true, found.is_some(), right)
}
