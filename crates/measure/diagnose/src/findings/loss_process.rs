//! How often packets are lost, and whether one by one or in bursts.

use weir_results::RunId;
use weir_units::{format_count, format_duration, format_percent};

use super::{loss_pattern, severity_of_loss};
use crate::analysis::Pattern;
use crate::analysis::process::{CHANCE, Kind, LossProcess};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of_runs, way};

/// Upper bound of the expected number of events after none were seen, 95 % (two-sided, as all bounds here).
const NONE_SEEN: f64 = 3.689;

/// The finding; losses with a pattern are no process.
pub(crate) fn find(process: &LossProcess, pattern: Option<Pattern>) -> Option<Finding> {
    let direction = process.steps.first()?.test.direction;
    let pattern = pattern.filter(|_| process.kind != Kind::NoneSeen);
    let (low, high) = process.interval;
    let bounds = format!("{} to {}", format_percent(low), format_percent(high));
    let lost = format_count(process.loss.events);
    let sent = format_count(process.loss.trials);
    let rate = format_percent(process.loss.rate());
    let of_all = format!(
        "{rate} of packets were lost{} ({lost} of {sent}; 95 %",
        way(direction)
    );
    let sentence = match (pattern, process.kind) {
        (Some(pattern), _) => format!(
            "{of_all}: {bounds}), {}. {}",
            loss_pattern::brief(pattern),
            loss_pattern::reason(pattern)
        ),
        (None, Kind::NoneSeen) => format!(
            "none of {sent} packets was lost{}. A loss rate of up to {} is possible (95 %). {}",
            way(direction),
            format_percent(high),
            for_millionth(process)
        ),
        (None, Kind::TooFew) => format!("{of_all}: {bounds}), too few to tell single losses from bursts."),
        (None, Kind::Independent) => {
            format!("{of_all}: {bounds}), one by one: loss is independent (no bursts).")
        }
        (None, Kind::Bursty) => {
            format!(
                "{of_all}, bursts allowed for: {bounds}), in bursts: {}",
                bursts(process)
            )
        }
    };
    let of_all = format!("{rate} of packets lost{}", way(direction));
    let brief = match (pattern, process.kind) {
        (Some(pattern), _) => format!("{of_all}, {}", loss_pattern::brief(pattern)),
        (None, Kind::NoneSeen) => format!("none of {sent} packets lost{}", way(direction)),
        (None, Kind::TooFew) => format!("{of_all} ({lost} of {sent})"),
        (None, Kind::Independent) => format!("{of_all}, one by one"),
        (None, Kind::Bursty) => format!("{of_all}, in bursts"),
    };
    Some(Finding {
        name: FindingName::LossProcess,
        severity: if process.kind == Kind::NoneSeen {
            Severity::Information
        } else {
            severity_of_loss(process.loss.rate())
        },
        direction: Some(direction),
        brief,
        sentence,
        evidence: evidence(process)
            .into_iter()
            .chain(pattern.map(loss_pattern::evidence))
            .collect(),
        query: query(process, direction),
        confidence: pattern.map_or_else(|| confidence(process), loss_pattern::confidence),
        action: pattern.map_or_else(|| action(process.kind), loss_pattern::action),
    })
}

/// How long a test has to be to show a loss of one in a million as less than that.
fn for_millionth(process: &LossProcess) -> String {
    let packets: f64 = process.steps.iter().map(|step| step.test.sent as f64).sum();
    let time: f64 = process.steps.iter().map(|step| step.test.active_ns as f64).sum();
    let needed = NONE_SEEN / 1e-6;
    if packets >= needed {
        return "That is below 0.0001 %.".to_owned();
    }
    format!(
        "To show less than 0.0001 % takes {} without a loss at this rate.",
        format_duration((needed * time / packets.max(1.0)) as u64)
    )
}

fn bursts(process: &LossProcess) -> String {
    let Some(fit) = &process.fit else {
        return format!("{:.1} packets at a time.", process.packets_per_event);
    };
    let found = fit.process;
    let inverse = |bounds: (f64, f64)| (1.0 / bounds.1, 1.0 / bounds.0);
    let (short, long) = inverse(fit.to_good);
    let rest = if found.loss_good > 0.0 {
        format!(" Outside of bursts {} are lost.", format_percent(found.loss_good))
    } else {
        String::new()
    };
    format!(
        "bursts last {:.1} packets of the {} on average (95 %: {short:.1} to {long:.1}), one begins every {} packets, and {} \
         of the packets within are lost.{rest}",
        1.0 / found.to_good,
        process.level,
        format_count((1.0 / found.to_bad).round() as u64),
        format_percent(found.loss_bad)
    )
}

fn evidence(process: &LossProcess) -> Vec<Evidence> {
    let name = match process.kind {
        Kind::NoneSeen => "none seen",
        Kind::TooFew => "too few to tell",
        Kind::Independent => "independent",
        Kind::Bursty => "bursty",
    };
    let mut steps = process.steps.clone();
    steps.sort_by_key(|step| step.test.run);
    let mut evidence = vec![
        Evidence::of("process", name),
        Evidence::of("loss", process.loss.rate()),
        Evidence::of("loss, 95 % bounds", vec![process.interval.0, process.interval.1]),
        Evidence::of(
            "packets lost",
            steps.iter().map(|step| step.test.lost).collect::<Vec<_>>(),
        ),
        Evidence::of(
            "packets received",
            steps.iter().map(|step| step.test.received).collect::<Vec<_>>(),
        ),
        Evidence::of("lost packets per independent event", process.packets_per_event),
    ];
    if let Some(fit) = &process.fit {
        let bounds = |name: &str, value: f64, (low, high): (f64, f64)| {
            [
                Evidence::of(name, value),
                Evidence::of(format!("{name}, 95 % bounds"), vec![low, high]),
            ]
        };
        evidence.push(Evidence::of("sequence of the process", process.level));
        evidence.extend(bounds("from good to bad", fit.process.to_bad, fit.to_bad));
        evidence.extend(bounds("from bad to good", fit.process.to_good, fit.to_good));
        evidence.extend(bounds("loss while bad", fit.process.loss_bad, fit.loss_bad));
        evidence.push(Evidence::of("loss while good", fit.process.loss_good));
    }
    evidence
}

fn query(process: &LossProcess, direction: weir_results::Direction) -> String {
    let runs: Vec<RunId> = process.steps.iter().map(|step| step.test.run).collect();
    format!(
        "SELECT run_id, sum(lost) AS \"packets lost\", sum(received) AS \"packets received\" FROM flow_seconds\nWHERE {} \
         GROUP BY run_id ORDER BY run_id",
        rows_of_runs(&runs, direction)
    )
}

fn confidence(process: &LossProcess) -> Confidence {
    match process.kind {
        Kind::NoneSeen | Kind::TooFew => {
            Confidence::by_count("Clopper-Pearson bounds of independent losses", 0.95)
        }
        Kind::Independent => Confidence {
            test: format!(
                "Wald-Wolfowitz runs test and test of the distances between losses: {}",
                if process.p_value < CHANCE {
                    "the bursts that they find lose hardly more than the mean"
                } else {
                    "neither rejects independence"
                }
            ),
            p_value: Some(process.p_value),
            level: 0.95,
            cause: None,
        },
        Kind::Bursty => Confidence::by_test(
            "Wald-Wolfowitz runs test and test of the distances between losses (Bonferroni)",
            process.p_value,
        ),
    }
}

fn action(kind: Kind) -> String {
    match kind {
        Kind::NoneSeen => "Confirm with 'weir flows' for hours before relying on it; light FEC costs little.",
        Kind::TooFew => "Measure longer with 'weir flows' to see what kind of loss it is.",
        Kind::Independent => "Use FEC: a few repair packets per span repair nearly all of it.",
        Kind::Bursty => "Spread packets over flows at random, and use FEC with a span several times the length of a burst, or ARQ.",
    }
    .to_owned()
}
