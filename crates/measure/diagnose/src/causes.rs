//! How sure it is that what a finding names is the cause of what was measured: how often it was, in random networks whose
//! faults are known. It must not know how findings are made.

use crate::finding::{Cause, Finding, FindingName};

/// Networks in which a finding named a fault that was there, with the right numbers, of all in which it was given: those of
/// docs/diagnosis.md, with causes outside the model among them.
const RIGHT: [(FindingName, u32, u32); 12] = [
    (FindingName::Routes, 30, 35),
    (FindingName::RouteLoss, 12, 15),
    (FindingName::Outage, 21, 24),
    (FindingName::LossProcess, 127, 157),
    (FindingName::FiveTupleIgnored, 17, 21),
    (FindingName::FlowRateCap, 56, 56),
    (FindingName::PacketRateCap, 60, 60),
    (FindingName::Congestion, 18, 20),
    (FindingName::PayloadCliff, 173, 174),
    (FindingName::CorrelatedLoss, 4, 4),
    (FindingName::HostLoss, 122, 122),
    (FindingName::LateSender, 20, 20),
];

/// Findings whose causes no network here has, and what else looks the same.
const GUESSED: [(FindingName, &str); 6] = [
    (
        FindingName::Reversals,
        "several paths and the queues of a card look alike",
    ),
    (
        FindingName::AllowanceExceeded,
        "its counters have packets that only waited, and other traffic",
    ),
    (
        FindingName::RateDrop,
        "burst credits, a large bucket and other traffic look alike",
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
