//! Flows that delivered nothing for a while although packets were sent on them: one flow, several, or all.

use weir_units::{format_count, format_duration};

use crate::analysis::{Outage, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::FlowTest;
use crate::words::{flows_with_ports, list, rows_of, way};

/// All findings of this name.
pub(crate) fn find(steps: &Steps) -> Vec<Finding> {
    let all = steps.outages();
    all.map(|(step, outage)| describe(step.test, outage)).collect()
}

fn describe(test: &FlowTest, outage: &Outage) -> Finding {
    let longest = outage
        .parts
        .iter()
        .map(|part| part.duration_ns)
        .max()
        .unwrap_or(0);
    let start = outage
        .parts
        .iter()
        .map(|part| part.from_unix_ns)
        .min()
        .unwrap_or(0);
    let since = start.saturating_sub(test.started_unix_ns);
    let lost = outage.lost();
    let (who, meaning, action) = meaning(test, outage);
    let chance = outage.parts.iter().map(|part| part.chance).fold(0.0, f64::max);
    let which = match outage.flows[..] {
        [flow] if test.flows.len() > 1 => format!("flow {flow}"),
        ref dark if dark.len() < test.flows.len() => format!("{} of {} flows", dark.len(), test.flows.len()),
        _ => who.clone(),
    };
    Finding {
        name: FindingName::Outage,
        severity: Severity::Fault,
        direction: Some(test.direction),
        brief: format!(
            "{which} delivered nothing for {}{}",
            format_duration(longest),
            way(test.direction)
        ),
        sentence: format!(
            "{who} delivered nothing{} for {}, from {} into the test: {} packets lost. {meaning}",
            way(test.direction),
            format_duration(longest),
            format_duration(since),
            format_count(lost),
        ),
        evidence: evidence(test, outage, start, longest),
        query: query(test, outage),
        confidence: Confidence::by_test(
            "probability of a run of losses this long, at the loss rate of the rest of the flow",
            chance,
        ),
        action,
    }
}

fn meaning(test: &FlowTest, outage: &Outage) -> (String, String, String) {
    let all = test.flows.len();
    let share = outage.flows.len() as f64 / all.max(1) as f64 * 100.0;
    if all == 1 {
        let advice =
            "Split the media into several flows, so that one broken route affects a part of it only.";
        (
            "the only flow".to_owned(),
            "One flow cannot tell a broken route from a stopped host.".to_owned(),
            advice.to_owned(),
        )
    } else if outage.flows.len() == all {
        (
            format!("all {all} flows"),
            "A shared part stopped: a host, its link, or the only route.".to_owned(),
            "Look at both hosts first (steal time, live migration, a stalled receiver), then keep a second host or \
             path ready: no FEC covers this, and ARQ needs a latency longer than the outage."
                .to_owned(),
        )
    } else {
        let who = flows_with_ports(test, &outage.flows);
        let meaning = if outage.flows.len() == 1 {
            format!(
                "The other {} went on: that flow's route broke, until the network's control plane repaired it or moved \
                 the flow.",
                all - 1
            )
        } else {
            format!(
                "The other {} went on: these share a route that broke, until the network's control plane repaired it.",
                all - outage.flows.len()
            )
        };
        let action = format!(
            "Use FEC that repairs {share:.1} % of the packets, or ARQ, which retransmits on the other flows; with more flows \
             each carries less of the media."
        );
        (who, meaning, action)
    }
}

fn evidence(test: &FlowTest, outage: &Outage, start: u64, longest: u64) -> Vec<Evidence> {
    let lost: Vec<u64> = outage.parts.iter().map(|part| part.lost).collect();
    let kind = match outage.flows.len() {
        count if count == test.flows.len() && count > 1 => "all flows",
        1 => "one flow",
        _ => "several flows",
    };
    vec![
        Evidence::of("dark", kind),
        Evidence::of("flow", outage.flows.clone()),
        Evidence::of("packets lost in a row", lost),
        Evidence::in_unit("began", start, "Unix ns"),
        Evidence::in_unit("lasted", longest, "ns"),
    ]
}

fn query(test: &FlowTest, outage: &Outage) -> String {
    let shortest = outage.parts.iter().map(|part| part.lost).min().unwrap_or(0);
    let first = outage
        .parts
        .iter()
        .map(|part| part.noticed_unix_ns)
        .min()
        .unwrap_or(0);
    let last = outage
        .parts
        .iter()
        .map(|part| part.noticed_unix_ns)
        .max()
        .unwrap_or(0);
    format!(
        "SELECT flow, port, length_packets AS \"packets lost in a row\", unix_ns FROM flow_bursts\n\
         WHERE {} AND flow IN ({}) AND length_packets >= {shortest} AND unix_ns BETWEEN {first} AND {last}\n\
         ORDER BY flow",
        rows_of(test.run, test.direction),
        list(&outage.flows).replace(" and ", ", "),
    )
}
