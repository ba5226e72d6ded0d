//! Asks every finding in turn and puts them in order. It must not know how any of them is found.

use weir_measure::VideoFormat;
use weir_results::{Direction, Outcome};
use weir_units::format_percent;

use crate::analysis::process::process;
use crate::analysis::{Step, Steps};
use crate::answer::{Media, answer};
use crate::causes;
use crate::diagnosis::Diagnosis;
use crate::explained::{explain, unexplained};
use crate::finding::{Finding, FindingName, Severity};
use crate::findings::payload_cliff::Cliff;
use crate::findings::{
    address_families, correlated_loss, delay_under_load, ecn, flow_growth, hashed_ports, host_limits,
    host_loss, late_sender, length_growth, limit, loss_process, outage, payload_cliff, rate_drop, reversals,
    route_loss, routes, rtt_change, rtt_level, tcp_window, udp_loss, window_growth,
};
use crate::measured::Measured;
use crate::options::Options;
use crate::recommend::{Facts, recommend};

/// The diagnosis of a run, with the usual options.
pub fn diagnose(measured: &Measured) -> Diagnosis {
    diagnose_with(measured, &Options::default())
}

/// The diagnosis of a run.
pub fn diagnose_with(measured: &Measured, options: &Options) -> Diagnosis {
    let mut findings: Vec<Finding> = Vec::new();
    let mut explained = Vec::new();
    let mut recommended = None;
    for direction in [Direction::Forward, Direction::Reverse] {
        let steps = Steps::new(measured, direction);
        let cliff = payload_cliff::cliff(&steps);
        let mut found = of_direction(&steps, cliff.as_ref(), measured);
        let facts = Facts {
            few_flows: found
                .iter()
                .any(|finding| finding.name == FindingName::FiveTupleIgnored),
            longest_good: cliff.as_ref().map(|cliff| cliff.longest_good()),
        };
        recommended = recommended.or_else(|| recommend(measured, &steps, facts, options));
        if let Some(explanation) = explain(&steps, &found) {
            if let Some(finding) = unexplained(&explanation, &steps) {
                doubt_all(&mut found, explanation.unexplained);
                findings.push(finding);
            }
            explained.push(explanation);
        }
        findings.extend(found);
    }
    findings.extend(of_round_trips(measured));
    findings.extend(address_families::find(measured));
    // Faults first; within a severity in the order of the names.
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.name.cmp(&b.name)));
    Diagnosis {
        run: measured.run.0,
        kind: measured.kind.clone(),
        target: measured.target.clone(),
        answer: answer(media(measured), &findings, recommended.as_ref()),
        explained,
        findings,
        recommendation: recommended.map(|found| found.recommendation),
    }
}

fn media(measured: &Measured) -> Media {
    let rate = measured.media_rate;
    let mut formats = measured.flow_tests.iter().map(|test| test.plan.format);
    let format = formats.find(|format| Some(format.rate().0) == rate);
    Media {
        rate,
        format: format.and_then(VideoFormat::usual_name),
        target: measured.target.clone(),
        kind: measured.kind.clone(),
        interrupted: matches!(measured.outcome, Outcome::Interrupted | Outcome::Failed),
    }
}

fn of_direction(steps: &Steps, cliff: Option<&Cliff>, measured: &Measured) -> Vec<Finding> {
    let mut findings = outage::find(steps);
    findings.extend(limit::find(steps, measured));
    findings.extend(cliff.map(|cliff| payload_cliff::find(cliff, measured)));
    if !findings
        .iter()
        .any(|finding| finding.name == FindingName::FiveTupleIgnored)
    {
        findings.extend(flow_growth::find(steps));
    }
    findings.extend(routes::find(steps));
    findings.extend(hashed_ports::find(steps));
    findings.extend(route_loss::find(steps));
    // Loss of payloads that are too long is no property of the path that shorter ones meet.
    let longest = cliff.map_or(u32::MAX, |cliff| cliff.longest_good());
    let counts = |step: &&Step| step.test.payload <= longest && !ecn::is_dropped(step);
    // What hosts drop comes in bursts of their own.
    let mut plain: Vec<&Step> = steps
        .of_process()
        .into_iter()
        .filter(counts)
        .filter(|step| step.spoiled_by_hosts() <= OF_HOSTS)
        .collect();
    if plain.is_empty() {
        plain = least_by_hosts(steps.unlimited().filter(counts).collect());
    }
    let of_process = |tests: &[&Step], pattern| loss_process::find(&process(tests)?, pattern);
    findings.extend(of_process(&plain, steps.process_pattern));
    if plain.is_empty() {
        let below: Vec<&Step> = steps.below_limit().filter(counts).collect();
        // That slower tests lose nothing is what the limit's finding says.
        findings.extend(of_process(&below, None).filter(|finding| finding.severity > Severity::Information));
    }
    findings.extend(correlated_loss::find(steps));
    findings.extend(reversals::find(steps));
    findings.extend(host_loss::find(steps));
    findings.extend(host_limits::find(steps, measured));
    findings.extend(rate_drop::find(steps, measured));
    findings.extend(udp_loss::find(measured, steps, longest));
    findings.extend(delay_under_load::find(measured, steps));
    findings.extend(late_sender::find(steps));
    findings.extend(ecn::find(steps));
    causes::judge(&mut findings);
    doubt(&mut findings, steps);
    findings
}

/// Those of which hosts dropped the smallest share, as many as it takes for the network's losses to tell.
fn least_by_hosts<'s, 'a>(mut tests: Vec<&'s Step<'a>>) -> Vec<&'s Step<'a>> {
    let by_hosts = |step: &Step| step.lost_to_hosts() / step.test.sent.max(1) as f64;
    tests.sort_by(|a, b| by_hosts(a).total_cmp(&by_hosts(b)));
    let mut lost = 0;
    let first = tests.iter().position(|step| {
        lost += step.network_loss().events;
        lost >= TELLING
    });
    tests.truncate(first.map_or(tests.len(), |first| COMPARED.max(first + 1)));
    tests
}

/// What took a part of the lost packets and is not known may have taken others.
fn doubt_all(findings: &mut [Finding], unexplained: f64) {
    let causes = findings
        .iter_mut()
        .filter(|finding| finding.severity > Severity::Information);
    for cause in causes.filter_map(|finding| finding.confidence.cause.as_mut()) {
        let reason = format!(
            "{} of the lost packets have no explanation",
            format_percent(unexplained)
        );
        cause.doubt(1.0 - unexplained, &reason);
    }
}

/// What needs no flow test.
fn of_round_trips(measured: &Measured) -> Vec<Finding> {
    let mut findings = tcp_window::find(measured);
    findings.extend(rtt_level::find(measured));
    findings.extend(rtt_change::find(measured));
    findings.extend(window_growth::find(measured));
    findings.extend(length_growth::find(measured));
    causes::judge(&mut findings);
    findings
}

/// A test in which hosts dropped a larger share of the lost packets says less of the network than others.
const OF_HOSTS: f64 = 0.005;

/// Packets that the network lost, of which as many tell how.
const TELLING: u64 = 100;
/// Tests that are compared with what is usual of them, at least.
const COMPARED: usize = 3;

/// Findings of the network that loss on hosts could explain.
const OF_LOSS: [FindingName; 5] = [
    FindingName::RouteLoss,
    FindingName::LossProcess,
    FindingName::PayloadCliff,
    FindingName::CorrelatedLoss,
    FindingName::FiveTupleIgnored,
];
/// Findings that a late sender could explain, and how much less sure it makes them.
const OF_TIME: [FindingName; 3] = [
    FindingName::Routes,
    FindingName::Congestion,
    FindingName::CorrelatedLoss,
];
const LATE: f64 = 0.9;

/// Makes causes in the network less sure where hosts could be the cause.
fn doubt(findings: &mut [Finding], steps: &Steps) {
    let lost = |step: &Step| step.test.lost as f64;
    let on_hosts: f64 = steps
        .steps
        .iter()
        .map(|step| host_loss::share(step) * lost(step))
        .sum();
    let share = on_hosts / steps.steps.iter().map(lost).sum::<f64>().max(1.0);
    let late = steps.steps.iter().any(Step::is_late);
    for finding in findings {
        let Some(cause) = &mut finding.confidence.cause else {
            continue;
        };
        if OF_LOSS.contains(&finding.name) && share > 0.0 {
            cause.doubt(1.0 - share, &format!("hosts dropped {}", format_percent(share)));
        }
        if OF_TIME.contains(&finding.name) && late {
            cause.doubt(LATE, "the sender was late");
        }
    }
}
