//! How much of the lost packets each finding explains, and what none does. It must not know how findings are made.

use serde::{Deserialize, Serialize};
use weir_results::{Direction, RunId};
use weir_units::{count_of, format_count, format_percent};

use crate::analysis::expected::Expected;
use crate::analysis::{RateDrop, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::findings::loss_pattern;
use crate::words::{rows_of, way};

/// More than this share without an explanation is what a diagnosis begins with.
const MUCH: f64 = 0.05;
/// Fewer packets than this need no explanation.
const LEAST: f64 = 20.0;

/// What explains the lost packets of a direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Which way.
    pub direction: Direction,
    /// Runs of the flow tests that it is about: those with which hosts kept up.
    pub runs: Vec<RunId>,
    /// Packets lost in them.
    pub lost: u64,
    /// The findings that explain some, the most first.
    pub by: Vec<ExplainedBy>,
    /// Share that none explains, 0 to 1.
    pub unexplained: f64,
}

/// A finding's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedBy {
    /// The finding.
    pub finding: FindingName,
    /// Share of the lost packets, 0 to 1.
    pub share: f64,
}

/// Packets of a test by cause.
#[derive(Default)]
struct Causes {
    host: f64,
    dark: f64,
    drop: f64,
    limit: f64,
    long: f64,
    everywhere: f64,
    unexplained: f64,
}

/// What the findings of a direction explain; none where nothing was lost.
pub(crate) fn explain(steps: &Steps, findings: &[Finding]) -> Option<Explained> {
    let each: Vec<Causes> = of_steps(steps).map(|(_, causes)| causes).collect();
    let all = |of: fn(&Causes) -> f64| each.iter().map(of).sum::<f64>();
    let lost: u64 = steps.steps.iter().map(|step| step.test.lost).sum();
    if lost == 0 {
        return None;
    }
    let found = |names: &[FindingName]| {
        let serious =
            |finding: &&Finding| names.contains(&finding.name) && finding.severity > Severity::Information;
        findings.iter().find(serious).map(|finding| finding.name)
    };
    let of_limit = [
        FindingName::FlowRateCap,
        FindingName::PacketRateCap,
        FindingName::Congestion,
        FindingName::FiveTupleIgnored,
    ];
    // Routes that lose unequally and a loss that grows with the flows say more of the same packets than a process does, and no
    // process of a path has a pattern.
    let has_pattern = steps.process_pattern.is_some();
    let process = |finding: &&Finding| finding.name == FindingName::LossProcess && !has_pattern;
    let everywhere = found(&[FindingName::RouteLoss])
        .or_else(|| found(&[FindingName::EcnDropped]))
        .or_else(|| found(&[FindingName::FiveTupleIgnored]))
        .or_else(|| findings.iter().find(process).map(|finding| finding.name));
    let parts = [
        (found(&[FindingName::HostLoss]), all(|causes| causes.host)),
        (found(&[FindingName::Outage]), all(|causes| causes.dark)),
        (found(&[FindingName::RateDrop]), all(|causes| causes.drop)),
        (found(&of_limit), all(|causes| causes.limit)),
        // Where every test of short payloads met a limit, the loss of long ones is all that is known of the rest.
        (
            found(&[FindingName::PayloadCliff]).or(everywhere),
            all(|causes| causes.long),
        ),
        (everywhere, all(|causes| causes.everywhere)),
    ];
    let share = |packets: f64| packets.round() / lost as f64;
    let mut by: Vec<ExplainedBy> = Vec::new();
    for (finding, packets) in parts {
        let Some(finding) = finding.filter(|_| packets >= 0.5) else {
            continue;
        };
        match by.iter_mut().find(|known| known.finding == finding) {
            Some(known) => known.share += share(packets),
            None => by.push(ExplainedBy {
                finding,
                share: share(packets),
            }),
        }
    }
    by.sort_by(|a, b| b.share.total_cmp(&a.share));
    let unexplained = (1.0 - by.iter().map(|part| part.share).sum::<f64>()).max(0.0);
    Some(Explained {
        direction: steps.direction,
        runs: steps.steps.iter().map(|step| step.test.run).collect(),
        lost,
        by,
        unexplained,
    })
}

fn of_steps<'s, 'a>(steps: &'s Steps<'a>) -> impl Iterator<Item = (&'s Step<'a>, Causes)> {
    let is_own = steps.is_limit_a_drop();
    let of = move |(index, step): (usize, &'s Step<'a>)| {
        // What a limit of other tests explains, too, is the limit's.
        let drop = step.drop.filter(|_| is_own || !steps.is_limited(index));
        let expected = steps.expected.get(&index);
        (step, causes(step, drop, expected))
    };
    (0..).zip(&steps.steps).map(of)
}

/// What took the lost packets of a test: dark times and a drop of the rate are counted; the rest goes to hosts as far as they count it, and to
/// what the inference expects; a difference goes to what varies most.
fn causes(step: &Step, drop: Option<RateDrop>, expected: Option<&Expected>) -> Causes {
    let lost = step.test.lost as f64;
    let dark = (step.dark_of_network() as f64).min(lost);
    let host = step.lost_to_hosts().min(lost - dark);
    let rest = lost - dark - host;
    let drop = drop.map_or(0.0, |drop| drop.lost(step.test).min(rest));
    let rest = rest - drop;
    let sent = (step.test.sent as f64 - dark - step.lost_to_sender()).max(1.0);
    let Some(expected) = expected.filter(|_| drop == 0.0) else {
        return Causes {
            host,
            dark,
            drop,
            everywhere: rest,
            ..Causes::default()
        };
    };
    let all = expected.all() * sent;
    let unexplained = if rest > expected.most() * sent {
        rest - all
    } else {
        0.0
    };
    let explained = rest - unexplained;
    let means = [expected.limit, expected.long, expected.everywhere, host / sent];
    let [of_limit, of_long, of_everywhere] = expected.variances;
    let of_host = step.host_error() * host / sent;
    let variances = [
        of_limit,
        of_long,
        of_everywhere + expected.worst_route.powi(2),
        of_host.powi(2),
    ];
    let surplus = (explained - all) / variances.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let part = |(mean, variance): (f64, f64)| (mean * sent + surplus * variance).max(0.0);
    let parts = [0, 1, 2, 3].map(|cause| part((means[cause], variances[cause])));
    let scale = (explained + host) / parts.iter().sum::<f64>().max(f64::EPSILON);
    let [limit, long, everywhere, host] = parts.map(|part| part * scale);
    Causes {
        host,
        dark,
        drop,
        limit,
        long,
        everywhere,
        unexplained,
    }
}

/// The finding that comes before all others, where much of the loss has no explanation.
pub(crate) fn unexplained(explained: &Explained, steps: &Steps) -> Option<Finding> {
    let packets = explained.unexplained * explained.lost as f64;
    if explained.unexplained <= MUCH || packets < LEAST {
        return None;
    }
    let of_pattern = |causes: &Causes| steps.process_pattern.map_or(0.0, |_| causes.everywhere);
    let (step, most) = of_steps(steps)
        .map(|(step, causes)| (step, causes.unexplained + of_pattern(&causes)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let test = step.test;
    let share = format_percent(explained.unexplained);
    let (lost, flows, payload) = (format_count(explained.lost), step.flow_count(), test.payload);
    let place = format!(
        "{} with payloads of {payload} bytes",
        count_of(flows as u64, "flow")
    );
    let reason = steps.pattern.map(loss_pattern::reason);
    let reason = reason.map_or_else(String::new, |reason| format!(" {reason}"));
    let again = || {
        format!(
            "Do not trust a single cause yet. Repeat 'weir flows --flows {flows} --length {payload} --for 1min' at different \
             times and at half the rate: loss that comes and goes has another cause than loss that stays or varies with the rate."
        )
    };
    let action = steps.pattern.map_or_else(again, loss_pattern::action);
    Some(Finding {
        name: FindingName::UnexplainedLoss,
        severity: Severity::Fault,
        direction: Some(explained.direction),
        brief: format!(
            "{share} of the lost packets have no explanation{}",
            way(explained.direction)
        ),
        sentence: format!(
            "{share} of {lost} lost packets have no explanation{}: no limit, no length, no outage, no host and no steady loss \
             accounts for them. The test of {place} has the most.{reason}",
            way(explained.direction)
        ),
        evidence: vec![
            Evidence::of(
                "share of lost packets without an explanation",
                explained.unexplained,
            ),
            Evidence::of("packets without an explanation in that test", most.round()),
            Evidence::of("packets lost", test.lost),
        ],
        query: format!(
            "SELECT sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE {}",
            rows_of(test.run, test.direction)
        ),
        confidence: Confidence::by_count(
            "lost packets beyond three standard deviations of what all findings together predict for each test, and those \
             with a pattern",
            0.95,
        ),
        action,
    })
}
