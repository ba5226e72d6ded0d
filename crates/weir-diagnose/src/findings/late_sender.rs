//! A sender that could not hold its schedule: what looks like the network's jitter or loss may be its own.

use weir_units::{format_count, format_percent};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, time, way};

/// A sender this late for one burst in a hundred was not in time.
const LATE_NS: i64 = 5_000_000;
/// A sender that sent less than this share of what it should have.
const LEAST_SENT: f64 = 0.99;

/// The finding, from the test whose sender was the latest.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    steps
        .steps
        .iter()
        .filter(|step| is_late(step))
        .max_by_key(|step| step.test.sender.schedule_p99_ns)
        .map(describe)
}

/// Share of the packets that the schedule asked for, as far as seconds with a row tell.
fn sent_share(step: &Step) -> Option<f64> {
    let (test, sender) = (step.test, &step.test.sender);
    let due = test.asked? as f64 * sender.duration_ns as f64 / 8e9 / f64::from(test.payload.max(1));
    (due >= 1_000.0).then(|| sender.sent as f64 / due)
}

fn is_late(step: &Step) -> bool {
    let sender = &step.test.sender;
    sender.schedule_p99_ns > LATE_NS
        || sender.refused > 0
        || sent_share(step).is_some_and(|share| share < LEAST_SENT)
}

fn describe(step: &Step) -> Finding {
    let sender = &step.test.sender;
    let mut said = vec![format!(
        "one burst in a hundred left {} late or more",
        time(sender.schedule_p99_ns as f64)
    )];
    if let Some(share) = sent_share(step).filter(|share| *share < LEAST_SENT) {
        said.push(format!(
            "only {} of the packets were sent in time",
            format_percent(share)
        ));
    }
    if sender.refused > 0 {
        said.push(format!(
            "its kernel had no room for {} packets",
            format_count(sender.refused)
        ));
    }
    let busy = step.test.sending_host.most_busy_cores;
    Finding {
        name: FindingName::LateSender,
        severity: Severity::Notice,
        direction: Some(step.test.direction),
        sentence: format!(
            "the sender did not hold its schedule{} ({} flows, {} bytes): {}. What delay and loss that made is not the \
             network's.",
            way(step.test.direction),
            step.flow_count(),
            step.test.payload,
            said.join("; ")
        ),
        evidence: vec![
            Evidence::in_unit("P99 of the delay behind the schedule", sender.schedule_p99_ns, "ns"),
            Evidence::in_unit("the same in the worst second", sender.worst_second_p99_ns, "ns"),
            Evidence::of("packets sent", sender.sent),
            Evidence::of("packets refused", sender.refused),
            Evidence::in_unit("CPU time of the sending thread", sender.cpu_ns, "ns"),
            Evidence::in_unit("most cores busy on its host", busy, "cores"),
        ],
        query: format!(
            "SELECT sum(sent) AS \"packets sent\", sum(refused) AS \"packets refused\",\n       max(schedule_error_p99_ns) AS \
             \"the same in the worst second\" FROM sender_seconds\nWHERE {}",
            rows_of(step.test.run, step.test.direction)
        ),
        confidence: Confidence::by_count("the sender's own clock, against 5 ms and 99 % of the packets", 1.0),
        action: "Give it a larger or a less busy host, or a lower rate, and measure again before judging the network."
            .to_owned(),
    }
}
