//! How many flows, and which payload.

use std::collections::BTreeMap;

use crate::analysis::limit::LimitKind;
use crate::analysis::{Step, Steps};

use super::Facts;
use crate::answer::{Load, is_at};

/// Flows to prefer when their number makes no difference.
const USUAL_FLOWS: u16 = 8;
/// Flows for each route that is seen, so that each of them carries some.
const FLOWS_PER_ROUTE: usize = 4;
/// Nobody sends each packet more than three times.
const MOST_LOSS: f64 = 0.67;
/// Share of a cap that a flow may use.
const ROOM: f64 = 0.8;

/// Chosen settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    pub flows: u16,
    pub payload: u32,
    /// Whether the path carries the rate at all.
    pub load: Load,
}

/// The longest payload that carries well, and as many flows as the network rewards.
pub(super) fn choose(steps: &Steps, facts: Facts) -> Option<Settings> {
    let longest = facts.longest_good.unwrap_or(u32::MAX);
    let mut usable: Vec<&Step> = steps
        .plain()
        .filter(|step| step.test.payload <= longest)
        .collect();
    // More flows than were tried get round a limit on each; nothing gets round the others.
    let flow_limit = steps
        .limit
        .as_ref()
        .is_some_and(|limit| limit.kind == LimitKind::FlowRate);
    let load = if usable.is_empty() && steps.limit.is_some() && !flow_limit {
        Load::TooMuch
    } else if full_at_times(steps, &usable) {
        Load::AtTimes
    } else {
        Load::Carried
    };
    if usable.is_empty() {
        usable = least_loss(steps);
    }
    let payload = usable.iter().map(|step| step.test.payload).max()?;
    let tested: Vec<u16> = usable.iter().map(|step| step.flow_count() as u16).collect();
    let wanted = wanted_flows(steps, facts, &tested).filter(|_| load == Load::Carried);
    let flows = match wanted {
        Some(wanted) => wanted,
        None => nearest(&tested, USUAL_FLOWS)?,
    };
    Some(Settings { flows, payload, load })
}

/// Packets that a flow may send back to back where something is limited: a bucket may hold no longer bursts than those that passed, or
/// of which most came through. None where the usual ones are as short.
pub(super) fn burst(steps: &Steps, settings: &Settings, usual: u32) -> Option<u32> {
    let limit = steps.limit.as_ref()?;
    let of_flow = |step: &Step| step.test.plan.burst_packets() / (step.flow_count() as u32).max(1);
    let has_no_more_flows = |step: &&Step| step.flow_count() <= usize::from(settings.flows);
    let passed = steps.plain().filter(has_no_more_flows).map(of_flow).min();
    let tested = passed.or_else(|| steps.steps.iter().map(of_flow).min())?;
    let short = match limit.of_long_bursts {
        Some(_) => tested.min(usual / u32::from(settings.flows).max(1)),
        None => tested,
    };
    Some(short.max(1)).filter(|burst| *burst < usual)
}

/// Other payloads that were tested at the media's rate and met no limit, each with its tests and the flows with which it lost least,
/// the cheapest first if each lost packet is sent once more.
pub(super) fn others<'s, 'a>(
    steps: &'s Steps<'a>,
    chosen: &Settings,
    rate: u64,
) -> Vec<(Settings, Vec<&'s Step<'a>>)> {
    let limited = steps.limit.as_ref().map_or(&[][..], |limit| &limit.steps);
    let mut by_payload: BTreeMap<u32, Vec<&Step>> = BTreeMap::new();
    for (index, step) in steps.steps.iter().enumerate() {
        let is_telling = is_at(step.test.asked, rate) && !limited.contains(&index);
        if is_telling && step.loss().rate() < MOST_LOSS && step.test.payload != chosen.payload {
            by_payload.entry(step.test.payload).or_default().push(step);
        }
    }
    let cost = |(settings, tests): &(Settings, Vec<&Step>)| {
        let loss = tests.iter().map(|step| step.loss().rate()).fold(0.0, f64::max);
        (1.0 + loss) * (1.0 + f64::from(steps.header_bytes) / f64::from(settings.payload))
    };
    let least = |tests: &[&Step]| {
        let by_loss = |a: &&&Step, b: &&&Step| a.loss().rate().total_cmp(&b.loss().rate());
        Some(tests.iter().min_by(by_loss)?.flow_count() as u16)
    };
    let settings = |(payload, tests): (u32, Vec<&'s Step<'a>>)| {
        let flows = least(&tests)?;
        let load = Load::Carried;
        Some((Settings { flows, payload, load }, tests))
    };
    let mut others: Vec<_> = by_payload.into_iter().filter_map(settings).collect();
    others.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    others
}

/// A full path does not care for payloads and flows: one that passed some tests and not others of the same payload, at
/// no higher rate, has room at times.
fn full_at_times(steps: &Steps, usable: &[&Step]) -> bool {
    let Some(limit) = steps.limit.as_ref().filter(|limit| limit.kind == LimitKind::Path) else {
        return false;
    };
    let limited = |index: &usize| steps.steps.get(*index);
    limit.steps.iter().filter_map(limited).any(|full| {
        let alike =
            |step: &&Step| step.test.payload == full.test.payload && step.test.asked >= full.test.asked;
        usable.iter().any(alike)
    })
}

/// What the findings ask for; none where any number will do.
fn wanted_flows(steps: &Steps, facts: Facts, tested: &[u16]) -> Option<u16> {
    if facts.few_flows {
        return steps.steps.iter().map(|step| step.flow_count() as u16).min();
    }
    let limit = steps.limit.as_ref();
    if let Some(limit) = limit.filter(|limit| limit.kind == LimitKind::FlowRate) {
        let asked = steps.steps.iter().filter_map(|step| step.test.asked).max()? as f64;
        let needed = (asked / (ROOM * limit.value)).ceil().min(f64::from(u16::MAX)) as u16;
        return Some(needed.max(USUAL_FLOWS));
    }
    let routes = steps
        .steps
        .iter()
        .map(|step| step.routes.members.len())
        .max()
        .unwrap_or(1);
    let wanted = (FLOWS_PER_ROUTE * routes) as u16;
    if routes < 2 || wanted <= USUAL_FLOWS {
        return None;
    }
    nearest(tested, wanted)
}

fn nearest(tested: &[u16], wanted: u16) -> Option<u16> {
    tested
        .iter()
        .copied()
        .min_by_key(|flows| (flows.abs_diff(wanted), *flows))
}

/// Where everything met a limit: what lost least.
fn least_loss<'s, 'a>(steps: &'s Steps<'a>) -> Vec<&'s Step<'a>> {
    let rate = |step: &&Step| step.loss().rate();
    steps
        .steps
        .iter()
        .min_by(|a, b| rate(a).total_cmp(&rate(b)))
        .into_iter()
        .collect()
}
