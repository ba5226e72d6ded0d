//! Errors of values in findings against the truth of the network. It must not know whether a finding should be there.

use weir_diagnose::{Finding, FindingName};
use weir_link::RateSpec;
use weir_results::Direction;

use super::{evidence, named, number};
use crate::networks::Fault;
use crate::observed::Observed;

/// A value that a finding gives, beside the true one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The quantity.
    pub name: &'static str,
    /// The finding's value.
    pub said: f64,
    /// The true value, in the same unit.
    pub truth: f64,
    /// Its stated 95 % bounds, if it has any.
    pub bounds: Option<(f64, f64)>,
}

/// All values of a diagnosis whose truth the network knows.
pub fn estimates(observed: &Observed) -> Vec<Estimate> {
    let known: Option<(&str, FindingName, &str, f64)> = match observed.network.fault {
        Fault::IndependentLoss { loss } => Some(("independent loss", FindingName::LossProcess, "loss", loss)),
        Fault::BurstLoss { loss, .. } => Some(("loss in bursts", FindingName::LossProcess, "loss", loss)),
        Fault::FlowRateCap { rate } => Some((
            "cap on each flow",
            FindingName::FlowRateCap,
            "held at",
            rate as f64,
        )),
        Fault::PacketRateCap { rate } => Some((
            "cap on packets per second",
            FindingName::PacketRateCap,
            "held at",
            rate as f64,
        )),
        Fault::Congestion { rate, .. } => Some((
            "rate of a full path",
            FindingName::Congestion,
            "held at",
            rate as f64,
        )),
        Fault::Outage { lasts_ns, .. } => Some((
            "length of an outage",
            FindingName::Outage,
            "lasted",
            lasts_ns as f64,
        )),
        Fault::RttChange { by_ns } => Some((
            "change of the RTT",
            FindingName::RttChange,
            "change",
            by_ns as f64,
        )),
        Fault::SlowRoute { .. } => serialization(observed),
        _ => None,
    };
    let Some((name, finding, what, truth)) = known else {
        return Vec::new();
    };
    let there = |finding: &&Finding| finding.direction != Some(Direction::Reverse);
    let found = named(observed, finding).filter(there);
    found
        .filter_map(|finding| {
            Some(Estimate {
                name,
                said: number(finding, what)?,
                truth,
                bounds: bounds(finding, what),
            })
        })
        .collect()
}

fn serialization(observed: &Observed) -> Option<(&'static str, FindingName, &'static str, f64)> {
    match observed.network.link.forward.routes[0].rate {
        RateSpec::Fixed(rate) => Some((
            "slowest rate, by windows",
            FindingName::WindowGrowth,
            "serialization rate",
            rate as f64,
        )),
        _ => None,
    }
}

fn bounds(finding: &Finding, what: &str) -> Option<(f64, f64)> {
    let values = evidence(finding, &format!("{what}, 95 % bounds"))?.as_array()?;
    match values.as_slice() {
        [low, high] => Some((low.as_f64()?, high.as_f64()?)),
        _ => None,
    }
}
