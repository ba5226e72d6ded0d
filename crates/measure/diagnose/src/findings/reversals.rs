//! Packets of one flow that overtook each other: more than one path for one flow, or receive queues of the host.

use weir_stats::{Counted, equal_rates};
use weir_units::{format_count, format_percent};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, time, way};

/// From this share of packets on, overtaking is a property of the network.
const MANY: f64 = 1e-3;

/// The finding, from the test with the largest share of reversals.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    most(steps).map(|step| describe(step, counted(step)))
}

/// Whether the share of packets that overtake others is one of the network.
pub(crate) fn is_of_network(steps: &Steps) -> bool {
    most(steps).is_some_and(|step| counted(step).rate() >= MANY)
}

fn most<'s, 'a>(steps: &'s Steps<'a>) -> Option<&'s Step<'a>> {
    let share = |step: &&Step| counted(step).rate();
    let some = steps.steps.iter().filter(|step| counted(step).events > 0);
    some.max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn counted(step: &Step) -> Counted {
    Counted {
        events: step.test.flows.iter().map(|flow| flow.counts.reversals).sum(),
        trials: step.test.received,
    }
}

fn describe(step: &Step, all: Counted) -> Finding {
    let flows = &step.test.flows;
    let by_flow: Vec<Vec<Counted>> = flows
        .iter()
        .map(|flow| {
            vec![Counted {
                events: flow.counts.reversals.min(flow.counts.received),
                trials: flow.counts.received,
            }]
        })
        .collect();
    let alike = equal_rates(&by_flow).map_or(1.0, |test| test.p_value);
    let many = all.rate() >= MANY;
    let affected = flows.iter().filter(|flow| flow.counts.reversals > 0).count();
    let spread = time(step.queueing.p99_ns);
    let (meaning, action) = if many {
        (
            format!(
                "the network sends packets of one flow over paths of different delay, or delays them at random; P99 of the \
                 delay is {spread} above the minimum."
            ),
            format!(
                "Set the reordering buffer to at least {spread}, and declare no packet lost earlier; flows do not separate \
                 the routes of such a network."
            ),
        )
    } else {
        (
            "this is usual where the receiving card spreads packets over several queues and cores."
                .to_owned(),
            "Nothing to do: any reordering buffer absorbs them.".to_owned(),
        )
    };
    Finding {
        name: FindingName::Reversals,
        severity: if many {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: Some(step.test.direction),
        brief: format!(
            "{} of packets arrived out of order{}",
            format_percent(all.rate()),
            way(step.test.direction)
        ),
        sentence: format!(
            "{} of packets ({} of {}) arrived out of order within their flow{}, on {affected} of {} flows: {meaning}",
            format_percent(all.rate()),
            format_count(all.events),
            format_count(all.trials),
            way(step.test.direction),
            flows.len()
        ),
        evidence: vec![
            Evidence::of("share of packets", all.rate()),
            Evidence::of(
                "reversals",
                flows.iter().map(|flow| flow.counts.reversals).collect::<Vec<_>>(),
            ),
            Evidence::of(
                "packets received",
                flows.iter().map(|flow| flow.counts.received).collect::<Vec<_>>(),
            ),
            Evidence::of("p-value of equal shares on all flows", alike),
        ],
        query: format!(
            "SELECT flow, sum(reversals) AS reversals, sum(received) AS \"packets received\" FROM flow_seconds\nWHERE {} \
             GROUP BY flow ORDER BY flow",
            rows_of(step.test.run, step.test.direction)
        ),
        confidence: Confidence::by_count("count of every packet, against 0.1 % of packets", 1.0),
        action,
    }
}
