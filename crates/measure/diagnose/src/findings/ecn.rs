//! Paths that treat packets capable of ECN (RFC 3168) otherwise: they clear the field, so that no router after them can mark a
//! packet, or drop the packet.

use weir_units::{format_count, format_percent};

use crate::analysis::{CHANCE, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of_runs, way};

/// Cleared packets that are no accident: so many, and this share.
const LEAST_CLEARED: u64 = 20;
const LEAST_SHARE: f64 = 0.001;
/// Packets sent of which one would have arrived if only loss of the usual kind were there.
const LEAST_SENT: u64 = 100;

/// Both findings, where packets were sent as capable of ECN.
pub(crate) fn find(steps: &Steps) -> Vec<Finding> {
    let capable = || steps.steps.iter().filter(|step| step.test.plan.ecn);
    let cleared = capable().filter_map(|step| cleared(steps, step)).next();
    let dropped = capable().filter_map(|step| dropped(steps, step)).next();
    cleared.into_iter().chain(dropped).collect()
}

fn cleared(steps: &Steps, step: &Step) -> Option<Finding> {
    let flows = &step.test.flows;
    let cleared: u64 = flows.iter().map(|flow| flow.counts.ecn_cleared).sum();
    let arrived: u64 = flows
        .iter()
        .map(|flow| flow.counts.received + flow.counts.late + flow.counts.duplicates)
        .sum();
    let share = cleared as f64 / arrived.max(1) as f64;
    if cleared < LEAST_CLEARED || share < LEAST_SHARE {
        return None;
    }
    let of_flows = flows.iter().filter(|flow| flow.counts.ecn_cleared > 0).count();
    let way = way(steps.direction);
    Some(Finding {
        name: FindingName::EcnCleared,
        severity: Severity::Notice,
        direction: Some(steps.direction),
        brief: format!("the path clears ECN{way}"),
        sentence: format!(
            "The path clears ECN{way}: {} of {} packets that were sent as capable of it (ECT(0)) arrived as not capable ({}), in {} of \
             {} flows.",
            format_count(cleared),
            format_count(arrived),
            format_percent(share.min(1.0)),
            format_count(of_flows as u64),
            format_count(flows.len() as u64)
        ),
        evidence: vec![
            Evidence::of("packets that arrived as not capable of ECN", cleared),
            Evidence::of("packets that arrived", arrived),
            Evidence::of("flows with such packets", of_flows),
        ],
        query: format!(
            "SELECT flow, sum(ecn_cleared) AS \"packets that arrived as not capable of ECN\", sum(ecn_marked) AS \"marked\" FROM \
             flow_seconds\nWHERE {} GROUP BY flow ORDER BY flow",
            rows_of_runs(&[step.test.run], steps.direction)
        ),
        confidence: Confidence::by_count("ECN field of each packet at both ends", 1.0 - CHANCE),
        action: "Do not count on marks over this path: queues after the router that clears the field drop packets instead. Ask its \
                 operator to leave the ECN field as it is (RFC 3168); scalable congestion control (L4S) must not be used."
            .to_owned(),
    })
}

/// Whether packets were sent as capable of ECN, and none arrived: what that loss looks like says nothing of other packets.
pub(crate) fn is_dropped(step: &Step) -> bool {
    let test = step.test;
    test.plan.ecn && test.received + test.late + test.duplicates == 0 && sent(step) >= LEAST_SENT
}

fn sent(step: &Step) -> u64 {
    step.test.sent.max(step.test.sender.sent)
}

fn dropped(steps: &Steps, step: &Step) -> Option<Finding> {
    let test = step.test;
    if !is_dropped(step) {
        return None;
    }
    let sent = sent(step);
    let plain = steps.steps.iter().filter(|other| !other.test.plan.ecn);
    let beside: u64 = plain.map(|other| other.test.received).sum();
    let way = way(steps.direction);
    let compared = match beside {
        0 => "whether packets without it arrive was not measured".to_owned(),
        beside => format!("{} packets without it arrived", format_count(beside)),
    };
    Some(Finding {
        name: FindingName::EcnDropped,
        severity: Severity::Fault,
        direction: Some(steps.direction),
        brief: format!("no packet capable of ECN arrived{way}"),
        sentence: format!(
            "None of {} packets that were sent as capable of ECN (ECT(0)) arrived{way}; {compared}.",
            format_count(sent)
        ),
        evidence: vec![
            Evidence::of("packets sent as capable of ECN", sent),
            Evidence::of("of these, arrived", test.received),
            Evidence::of("packets not capable of ECN that arrived", beside),
        ],
        query: format!(
            "SELECT sum(received) AS \"of these, arrived\" FROM flow_seconds\nWHERE {}",
            rows_of_runs(&[test.run], steps.direction)
        ),
        confidence: Confidence::by_count(
            "packets capable of ECN beside packets that are not",
            if beside > 0 { 1.0 - CHANCE } else { 0.5 },
        ),
        action: match beside {
            0 => "Repeat the test without --ecn: if packets arrive then, a router drops those that are capable of ECN; if not, a \
                  firewall drops UDP to these ports.",
            _ => "Do not use ECN over this path; ask the operator of the router or firewall that drops these packets to leave the ECN \
                  field alone.",
        }
        .to_owned(),
    })
}
