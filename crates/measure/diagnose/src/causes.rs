//! How sure it is that what a finding names is the cause of what was measured: how often it was, in random networks whose
//! faults are known. It must not know how findings are made.

use crate::finding::{Cause, Finding, FindingName};

/// Networks in which a finding named a fault that was there, with the right numbers, of all in which it was given:
/// docs/diagnosis.md, "Several faults".
const RIGHT: [(FindingName, u32, u32); 11] = [
    (FindingName::Routes, 21, 22),
    (FindingName::RouteLoss, 11, 11),
    (FindingName::Outage, 18, 19),
    (FindingName::LossProcess, 89, 89),
    (FindingName::FiveTupleIgnored, 13, 13),
    (FindingName::FlowRateCap, 50, 50),
    (FindingName::PacketRateCap, 56, 56),
    (FindingName::Congestion, 12, 13),
    (FindingName::PayloadCliff, 98, 98),
    (FindingName::CorrelatedLoss, 9, 9),
    (FindingName::HostLoss, 76, 76),
];

/// Findings whose causes no network here has, and what else looks the same.
const GUESSED: [(FindingName, &str); 4] = [
    (
        FindingName::Reversals,
        "several paths and the queues of a card look alike",
    ),
    (
        FindingName::RttChange,
        "another machine and another route look alike",
    ),
    (
        FindingName::TcpWindow,
        "a small window and a program that reads slowly look alike",
    ),
    (
        FindingName::UdpLoss,
        "a policer of UDP and a lower class look alike",
    ),
];

/// Gives each finding that names a cause how sure that is.
pub(crate) fn judge(findings: &mut [Finding]) {
    for finding in findings {
        finding.confidence.cause = cause(finding.name);
    }
}

fn cause(name: FindingName) -> Option<Cause> {
    let judged = RIGHT
        .iter()
        .find(|(judged, ..)| *judged == name)
        .map(|(_, right, of)| Cause {
            // Laplace's rule of succession: a few networks make nothing sure.
            level: Some(f64::from(right + 1) / f64::from(of + 2)),
            because: format!("right in {right} of {of} random networks in which it was found"),
        });
    let guessed = GUESSED
        .iter()
        .find(|(guessed, _)| *guessed == name)
        .map(|(_, alike)| Cause {
            level: None,
            because: format!("not judged: {alike}"),
        });
    judged.or(guessed)
}
