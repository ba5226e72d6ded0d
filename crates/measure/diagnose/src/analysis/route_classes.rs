//! Which flows of a test took one route, as far as delay, loss and outages tell.

use weir_stats::{Counted, Variation, rate_classes};

use super::outages::Outage;
use super::process::is_clumped;
use super::step::Step;

/// Chance at which flows of one delay may be divided by their loss, for the same reason.
const LOSS_CHANCE: f64 = 0.001;

/// Classes of flows whose loss differs by less than this factor are one: bursts make such differences.
const TIMES: f64 = 2.0;

/// Flows that cannot be told apart by delay, loss or outages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteClass {
    /// Its flows, ascending.
    pub flows: Vec<u16>,
    /// Mean delay above the lowest level, nanoseconds.
    pub level_ns: f64,
    /// Packets lost outside of outages.
    pub loss: Counted,
}

/// Joins classes, given in ascending order of loss, whose loss is not several times that of the class below.
pub(crate) fn joined(classes: Vec<Vec<usize>>, counts: &[Counted]) -> Vec<Vec<usize>> {
    let of =
        |class: &[usize]| weir_stats::total(&class.iter().map(|index| counts[*index]).collect::<Vec<_>>());
    let mut joined: Vec<Vec<usize>> = Vec::new();
    for class in classes {
        match joined.last_mut() {
            Some(below) if of(&class).rate() < TIMES * of(below).rate() => {
                below.extend(class);
                below.sort_unstable();
            }
            _ => joined.push(class),
        }
    }
    joined
}

/// What the flows that lose least lost, and those that lose most, where flows lose unequally without a host's doing: they take
/// different routes.
pub(crate) fn least_and_most(step: &Step) -> Option<(Counted, Counted)> {
    let has_hosts = step.host_share() > 0.0 && !step.lost_singly_on_host();
    if has_hosts || !step.outages.is_empty() {
        return None;
    }
    // What hosts drop one by one they drop of all flows alike.
    let by_host = step.host_share() * step.loss().rate();
    let classes = rate_classes(&step.events, LOSS_CHANCE, Variation::within(&step.events));
    let classes = if is_clumped(step) {
        joined(classes, &step.flow_loss)
    } else {
        classes
    };
    let loss = |flows: &Vec<usize>| {
        let counts: Vec<Counted> = flows.iter().map(|flow| step.flow_loss[*flow]).collect();
        let all = weir_stats::total(&counts);
        let by_host = (by_host * all.trials as f64).round() as u64;
        Counted {
            events: all.events.saturating_sub(by_host),
            ..all
        }
    };
    let ends = classes.first().zip(classes.last());
    ends.filter(|_| classes.len() > 1)
        .map(|(least, most)| (loss(least), loss(most)))
}

/// The routes of a step as far as they can be told apart: first by delay, then by loss, of which
/// `variation` in time is known, then by who was dark together; by delay alone without `variation`, where something
/// else explains the loss.
pub(crate) fn classes(step: &Step, variation: Option<Variation>) -> Vec<RouteClass> {
    let mut classes: Vec<(Vec<u16>, f64)> = Vec::new();
    for (members, level) in step.routes.members.iter().zip(&step.routes.levels_ns) {
        let events: Vec<Vec<Counted>> = members
            .iter()
            .map(|flow| step.events[usize::from(*flow)].clone())
            .collect();
        let counts: Vec<Counted> = members
            .iter()
            .map(|flow| step.flow_loss[usize::from(*flow)])
            .collect();
        let parts = match variation {
            Some(variation) => joined(rate_classes(&events, LOSS_CHANCE, variation), &counts),
            None => vec![(0..members.len()).collect()],
        };
        for part in parts {
            classes.push((part.into_iter().map(|index| members[index]).collect(), *level));
        }
    }
    let partial = |outage: &&Outage| variation.is_some() && outage.flows.len() < step.flow_count();
    for outage in step.outages.iter().filter(partial) {
        classes = classes
            .into_iter()
            .flat_map(|(flows, level)| {
                let (dark, lit): (Vec<u16>, Vec<u16>) =
                    flows.into_iter().partition(|flow| outage.flows.contains(flow));
                [(lit, level), (dark, level)]
            })
            .filter(|(flows, _)| !flows.is_empty())
            .collect();
    }
    let loss = |flows: &[u16]| {
        let counts: Vec<Counted> = flows
            .iter()
            .map(|flow| step.flow_loss[usize::from(*flow)])
            .collect();
        weir_stats::total(&counts)
    };
    classes
        .into_iter()
        .map(|(flows, level_ns)| RouteClass {
            loss: loss(&flows),
            flows,
            level_ns,
        })
        .collect()
}
