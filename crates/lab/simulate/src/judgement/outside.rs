//! Answers to causes of loss that the diagnosis has no name for: it should leave them unexplained, or name what is true of them.
//! It must not know how it decides.

use weir_diagnose::FindingName;
use weir_results::Direction;
use weir_stats::Counters as _;

use super::shares::LEAST;
use super::{named, number};
use crate::networks::{Fault, Outside};
use crate::observed::Observed;

/// The larger part.
const MOST_OF_IT: f64 = 0.5;
/// A rate is right within this share.
const RATE: f64 = 0.1;

/// What a diagnosis makes of such a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutsideAnswer {
    /// It leaves the larger part unexplained.
    Unexplained,
    /// It explains it by what is true, as far as it goes.
    Honest,
    /// It explains the larger part by something else.
    Wrong,
}

/// The answer to a cause outside the model; none where there is no such cause, or it took fewer than 100 packets of the forward
/// tests that the shares are about.
pub fn answer_to_outside(observed: &Observed) -> Option<(Outside, OutsideAnswer)> {
    let Fault::Outside(cause) = observed.network.fault else {
        return None;
    };
    let mut said = observed.diagnosis.explained.iter();
    let said = said.find(|said| said.direction == Direction::Forward)?;
    let steps = observed.survey.steps.iter();
    let taken: u64 = steps
        .filter(|step| said.runs.contains(&step.run))
        .map(|step| step.middlebox_losses + step.forward.1.dropped.since(&step.forward.0.dropped).queue)
        .sum();
    if taken < LEAST {
        return None;
    }
    // Hosts lose packets of their own.
    let is_wrong = |finding| finding != FindingName::HostLoss && !is_honest(cause, finding, observed);
    let wrong: f64 = said
        .by
        .iter()
        .filter(|part| is_wrong(part.finding))
        .map(|part| part.share)
        .sum();
    let answer = if said.unexplained >= MOST_OF_IT {
        OutsideAnswer::Unexplained
    } else if wrong < MOST_OF_IT {
        OutsideAnswer::Honest
    } else {
        OutsideAnswer::Wrong
    };
    Some((cause, answer))
}

/// Whether a finding is true of the cause: both buckets cap each flow, and a rate that falls below the media's is a full path.
fn is_honest(cause: Outside, finding: FindingName, observed: &Observed) -> bool {
    let (name, least, most) = match cause {
        Outside::TwoBuckets { committed, peak } => (FindingName::FlowRateCap, committed, peak),
        Outside::VaryingRate { least, most } => (FindingName::Congestion, least, most),
        Outside::Periodic | Outside::Content | Outside::ReplayWindow | Outside::SlowPath => return false,
    };
    let range = (1.0 - RATE) * least..=(1.0 + RATE) * most;
    let mut found = named(observed, name).filter(|found| found.direction != Some(Direction::Reverse));
    finding == name && found.all(|found| number(found, "held at").is_none_or(|rate| range.contains(&rate)))
}
