//! Questions about the RTT.

use weir_diagnose::FindingName;

use super::{Question, Said, Truth, named, serious, simply};
use crate::networks::Fault;
use crate::observed::Observed;

/// The RTT changed.
pub(super) const CHANGE: Question = Question {
    name: "RTT changed since the last run",
    right: "said",
    answer: change,
};

/// The RTT grows with the position in a window.
pub(super) const WINDOW: Question = Question {
    name: "RTT grows within a window",
    right: "said",
    answer: window,
};

/// The RTT grows with the length.
pub(super) const LENGTH: Question = Question {
    name: "RTT grows with the length",
    right: "said",
    answer: length,
};

fn change(observed: &Observed) -> (Truth, Said) {
    let said = serious(observed, FindingName::RttChange).next().is_some();
    match observed.network.fault {
        Fault::RttChange { .. } => simply(true, said),
        _ if observed.network.before.is_some() => simply(false, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

fn window(observed: &Observed) -> (Truth, Said) {
    let said = named(observed, FindingName::WindowGrowth).next().is_some();
    match observed.network.fault {
        Fault::SlowRoute { .. } => simply(true, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

fn length(observed: &Observed) -> (Truth, Said) {
    let said = named(observed, FindingName::LengthGrowth).next().is_some();
    match observed.network.fault {
        Fault::SlowRoute { .. } => simply(true, said),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}
