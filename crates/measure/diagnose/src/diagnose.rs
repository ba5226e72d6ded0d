//! Asks every finding in turn and puts them in order. It must not know how any of them is found.

use weir_measure::VideoFormat;
use weir_results::Direction;
use weir_units::format_percent;

use crate::analysis::process::process;
use crate::analysis::{Step, Steps};
use crate::answer::{Media, answer};
use crate::diagnosis::Diagnosis;
use crate::explained::{explain, unexplained};
use crate::finding::{Finding, FindingName};
use crate::findings::payload_cliff::Cliff;
use crate::findings::{
    correlated_loss, flow_growth, host_loss, late_sender, length_growth, limit, loss_process, outage,
    payload_cliff, reversals, route_loss, routes, rtt_change, rtt_level, tcp_window, window_growth,
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
        let found = of_direction(&steps, cliff.as_ref(), measured);
        let facts = Facts {
            few_flows: found
                .iter()
                .any(|finding| finding.name == FindingName::FiveTupleIgnored),
            longest_good: cliff.as_ref().map(|cliff| cliff.longest_good()),
        };
        recommended = recommended.or_else(|| recommend(measured, &steps, facts, options));
        if let Some(explanation) = explain(&steps, &found) {
            findings.extend(unexplained(&explanation, &steps));
            explained.push(explanation);
        }
        findings.extend(found);
    }
    findings.extend(rtt_level::find(measured));
    findings.extend(rtt_change::find(measured));
    findings.extend(window_growth::find(measured));
    findings.extend(length_growth::find(measured));
    findings.extend(tcp_window::find(measured));
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
    findings.extend(route_loss::find(steps));
    // Loss of payloads that are too long is no property of the path that shorter ones meet.
    let longest = cliff.map_or(u32::MAX, |cliff| cliff.longest_good());
    let mut plain: Vec<&Step> = steps
        .plain()
        .filter(|step| step.test.payload <= longest)
        .collect();
    if plain.is_empty() {
        let short = |step: &&Step| step.test.payload <= longest;
        plain = steps.unlimited().filter(short).collect();
    }
    findings.extend(process(&plain).as_ref().and_then(loss_process::find));
    findings.extend(correlated_loss::find(steps));
    findings.extend(reversals::find(steps));
    findings.extend(host_loss::find(steps));
    findings.extend(late_sender::find(steps));
    doubt(&mut findings, steps);
    findings
}

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

/// Makes what is said of the network less sure where hosts could be the cause of it.
fn doubt(findings: &mut [Finding], steps: &Steps) {
    let lost = |step: &Step| step.test.lost as f64;
    let on_hosts: f64 = steps
        .steps
        .iter()
        .map(|step| host_loss::share(step) * lost(step))
        .sum();
    let share = on_hosts / steps.steps.iter().map(lost).sum::<f64>().max(1.0);
    let late = steps.steps.iter().any(Step::is_late);
    for finding in findings.iter_mut() {
        let confidence = &mut finding.confidence;
        if OF_LOSS.contains(&finding.name) && share > 0.0 {
            confidence.level *= 1.0 - share;
            confidence.test.push_str(&format!(
                "; less sure since hosts dropped {}",
                format_percent(share)
            ));
        }
        if OF_TIME.contains(&finding.name) && late {
            confidence.level *= LATE;
            confidence.test.push_str("; less sure since the sender was late");
        }
    }
}
