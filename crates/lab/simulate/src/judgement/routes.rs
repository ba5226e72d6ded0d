//! Questions about routes.

use std::collections::BTreeMap;

use weir_diagnose::{Finding, FindingName, Severity};
use weir_results::Direction;

use super::{Question, Said, Truth, evidence, named, routes_of, simply, step_of};
use crate::networks::Fault;
use crate::observed::Observed;

/// How many routes, and which flow is on which.
pub(super) const ROUTES: Question = Question {
    name: "routes",
    right: "every flow on its route, both ways",
    answer: routes,
};

/// Packets of one flow take several paths.
pub(super) const SEVERAL_PATHS: Question = Question {
    name: "reversals: several paths for a flow",
    right: "said to be the network's",
    answer: several_paths,
};

/// Packets of one flow overtake each other on the host.
pub(super) const RECEIVE_QUEUES: Question = Question {
    name: "reversals: receive queues",
    right: "said to be few",
    answer: receive_queues,
};

fn routes(observed: &Observed) -> (Truth, Said) {
    let claims: Vec<&Finding> = named(observed, FindingName::Routes)
        .filter(|finding| evidence(finding, "routes").and_then(serde_json::Value::as_u64) > Some(1))
        .collect();
    match observed.network.fault {
        Fault::Routes => {
            let right = |finding: &&&Finding| groups(observed, finding).is_some_and(|groups| groups.same);
            let wrong = claims.iter().any(|finding| !right(&finding));
            let said = match (claims.len(), wrong) {
                (0, _) => Said::Nothing,
                (2, false) => Said::Right,
                _ => Said::Wrong,
            };
            (Truth::Present, said)
        }
        // Loss and outages also distinguish routes; but flows of one route must not be separated.
        Fault::RouteLoss { .. } | Fault::Outage { .. } => {
            let torn = |finding: &&Finding| groups(observed, finding).is_none_or(|groups| groups.torn);
            simply(false, claims.iter().any(torn))
        }
        Fault::BurstLoss { .. } if observed.network.may_miss => {
            let torn = |finding: &&Finding| groups(observed, finding).is_none_or(|groups| groups.torn);
            simply(false, claims.iter().any(torn))
        }
        _ => simply(false, !claims.is_empty()),
    }
}

/// A finding's name for an unknown route of a flow.
const UNKNOWN: &str = "?";

/// The finding's division of the flows, against the truth.
struct Groups {
    /// Two flows are on one route exactly if the finding says so.
    same: bool,
    /// Flows of one route are said to be on several.
    torn: bool,
}

fn groups(observed: &Observed, finding: &Finding) -> Option<Groups> {
    let step = step_of(observed, finding)?;
    let truth = routes_of(step, finding.direction.unwrap_or(Direction::Forward));
    let said: Vec<&str> = evidence(finding, "route of each flow")?
        .as_array()?
        .iter()
        .filter_map(serde_json::Value::as_str)
        .collect();
    if said.len() != truth.len() {
        return None;
    }
    let mut said_of: BTreeMap<Option<u16>, Vec<&str>> = BTreeMap::new();
    let mut truth_of: BTreeMap<&str, Vec<Option<u16>>> = BTreeMap::new();
    let known = |(said, _): &(&&str, &Option<u16>)| **said != UNKNOWN;
    for (said, truth) in said.iter().zip(&truth).filter(known) {
        said_of.entry(*truth).or_default().push(said);
        truth_of.entry(said).or_default().push(*truth);
    }
    let alike = |values: &Vec<&str>| values.windows(2).all(|pair| pair[0] == pair[1]);
    let torn = !said_of.values().all(alike);
    let joined = truth_of
        .values()
        .any(|values| values.windows(2).any(|pair| pair[0] != pair[1]));
    Some(Groups {
        same: !torn && !joined,
        torn,
    })
}

fn several_paths(observed: &Observed) -> (Truth, Said) {
    let said = named(observed, FindingName::Reversals).any(|finding| finding.severity >= Severity::Notice);
    simply(observed.network.fault == Fault::PerPacketRoutes, said)
}

fn receive_queues(observed: &Observed) -> (Truth, Said) {
    let said = named(observed, FindingName::Reversals).any(|finding| finding.severity < Severity::Notice);
    match observed.network.fault {
        Fault::ReceiveQueues { .. } => simply(true, said),
        _ => simply(false, said),
    }
}
