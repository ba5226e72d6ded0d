//! The shares of lost packets that a diagnosis gives to its findings, against the link's own account of what it dropped. It
//! must not know how they were inferred.

use std::collections::BTreeMap;

use weir_diagnose::FindingName;
use weir_results::Direction;
use weir_stats::Counters as _;

use super::is_hidden;
use super::visible::is_visible;
use crate::networks::Fault;
use crate::observed::Observed;

/// Lost packets below which shares are a matter of chance.
pub(super) const LEAST: u64 = 100;

/// What took packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Host,
    Dark,
    Limit,
    Long,
    Loss,
    Unknown,
}

/// What takes the packets of a fault; none where a fault takes none.
fn cause_of(fault: &Fault) -> Option<Cause> {
    match fault {
        Fault::SocketLoss
        | Fault::BacklogLoss { .. }
        | Fault::SendLoss { .. }
        | Fault::Allowance { .. }
        | Fault::ReceiveRing { .. } => Some(Cause::Host),
        Fault::Outage { .. } => Some(Cause::Dark),
        Fault::FlowRateCap { .. } | Fault::PacketRateCap { .. } | Fault::Congestion { .. } => {
            Some(Cause::Limit)
        }
        Fault::PayloadCliff { .. } => Some(Cause::Long),
        Fault::RouteLoss { .. }
        | Fault::IndependentLoss { .. }
        | Fault::BurstLoss { .. }
        | Fault::FiveTupleIgnored { .. } => Some(Cause::Loss),
        _ => None,
    }
}

fn cause(finding: FindingName, observed: &Observed) -> Cause {
    let forward = &observed.network.link.forward;
    match finding {
        // A cap on each flow is one on all of them where all are one.
        FindingName::FiveTupleIgnored if forward.hide_five_tuple && forward.flow_rate.is_some() => {
            Cause::Limit
        }
        FindingName::HostLoss => Cause::Host,
        FindingName::Outage => Cause::Dark,
        FindingName::FlowRateCap | FindingName::PacketRateCap | FindingName::Congestion => Cause::Limit,
        FindingName::PayloadCliff => Cause::Long,
        FindingName::LossProcess | FindingName::RouteLoss | FindingName::FiveTupleIgnored => Cause::Loss,
        _ => Cause::Unknown,
    }
}

/// Half the sum of the differences of all shares, 0 to 1, in forward direction; none where too little was lost, or where no
/// test tells a limit from other loss behind it.
pub fn error_of_shares(observed: &Observed) -> Option<f64> {
    let mut said = observed.diagnosis.explained.iter();
    let said = said.find(|said| said.direction == Direction::Forward)?;
    let is_hidden = |fault: &Fault| {
        matches!(fault, Fault::PayloadCliff { .. } | Fault::IndependentLoss { .. })
            && !is_visible(fault, observed)
    };
    if observed.network.faults().any(is_hidden) {
        return None;
    }
    let mut truth: BTreeMap<Cause, u64> = BTreeMap::new();
    for step in observed
        .survey
        .steps
        .iter()
        .filter(|step| said.runs.contains(&step.run))
    {
        let dropped = step.forward.1.dropped.since(&step.forward.0.dropped);
        let counts = [
            (Cause::Host, step.forward_host_losses),
            (Cause::Dark, dropped.dark),
            (
                Cause::Limit,
                dropped.flow_rate + dropped.packet_rate + dropped.queue,
            ),
            (Cause::Long, dropped.long_packet),
            (Cause::Loss, dropped.loss + dropped.extra_flow),
            (Cause::Unknown, step.middlebox_losses),
        ];
        for (cause, count) in counts {
            *truth.entry(cause).or_default() += count;
        }
    }
    let all: u64 = truth.values().sum();
    if all < LEAST {
        return None;
    }
    let mut differences: BTreeMap<Cause, f64> = BTreeMap::new();
    for (cause, count) in truth {
        differences.insert(cause, count as f64 / all as f64);
    }
    for part in &said.by {
        *differences.entry(cause(part.finding, observed)).or_default() -= part.share;
    }
    *differences.entry(Cause::Unknown).or_default() -= said.unexplained;
    if observed.network.may_miss {
        leave_unexplained(&mut differences, observed);
        // A cap drops before a route is dark: which of them took a packet that both would take does not show.
        exchange(&mut differences, Cause::Limit, Cause::Dark);
    }
    Some(
        differences
            .values()
            .map(|difference| difference.abs())
            .sum::<f64>()
            / 2.0,
    )
}

/// What a fault took that the survey cannot show may be left unexplained, but not explained by something else.
fn leave_unexplained(differences: &mut BTreeMap<Cause, f64>, observed: &Observed) {
    let each = observed.by_fault();
    let has_several = each.len() > 1;
    let hidden = each.iter().filter(|observed| is_hidden(observed, has_several));
    for cause in hidden.filter_map(|observed| cause_of(&observed.network.fault)) {
        exchange(differences, cause, Cause::Unknown);
    }
}

/// Forgives what is missing of a cause as far as too much was said of another.
fn exchange(differences: &mut BTreeMap<Cause, f64>, missing: Cause, instead: Cause) {
    let of = |cause| differences.get(&cause).copied().unwrap_or_default();
    let forgiven = of(missing).max(0.0).min((-of(instead)).max(0.0));
    *differences.entry(missing).or_default() -= forgiven;
    *differences.entry(instead).or_default() += forgiven;
}
