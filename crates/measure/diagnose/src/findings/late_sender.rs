//! A sender that could not keep its schedule: what looks like jitter or loss of the network may be its own.

use weir_measure::flows::LEAST_SENT;
use weir_units::{format_count, format_percent};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, time, way};

/// The finding, from the test whose sender was the latest.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    steps
        .with_set_aside()
        .filter(|step| step.is_late() || step.test.sender.refused > 0)
        .max_by_key(|step| step.test.sender.schedule_p99_ns)
        .map(describe)
}

fn describe(step: &Step) -> Finding {
    let sender = &step.test.sender;
    let mut said = vec![format!(
        "P99 of the delay behind the schedule {}",
        time(sender.schedule_p99_ns as f64)
    )];
    if let Some(share) = step.sent_share().filter(|share| *share < LEAST_SENT) {
        said.push(format!(
            "only {} of the packets were sent in time",
            format_percent(share)
        ));
    }
    if sender.refused > 0 {
        said.push(format!(
            "its kernel refused {} packets",
            format_count(sender.refused)
        ));
    }
    let busy = step.test.sending_host.most_busy_cores;
    Finding {
        name: FindingName::LateSender,
        severity: Severity::Notice,
        direction: Some(step.test.direction),
        brief: format!(
            "the sender did not keep its schedule{}: {}",
            way(step.test.direction),
            said.last().map_or("", String::as_str)
        ),
        sentence: format!(
            "the sender did not keep its schedule{} ({} flows, {} bytes): {}. The delay and loss that this causes are not \
             the network's.",
            way(step.test.direction),
            step.flow_count(),
            step.test.payload,
            said.join("; ")
        ),
        evidence: vec![
            Evidence::in_unit(
                "P99 of the delay behind the schedule",
                sender.schedule_p99_ns,
                "ns",
            ),
            Evidence::in_unit("the same in the worst second", sender.worst_second_p99_ns, "ns"),
            Evidence::of("packets sent", sender.sent),
            Evidence::of("packets refused", sender.refused),
            Evidence::in_unit("CPU time of the sending threads", sender.cpu_ns, "ns"),
            Evidence::in_unit("most cores busy on its host", busy, "cores"),
        ],
        query: format!(
            "SELECT sum(sent) AS \"packets sent\", sum(refused) AS \"packets refused\",\n       max(schedule_error_p99_ns) AS \
             \"the same in the worst second\" FROM sender_seconds\nWHERE {}",
            rows_of(step.test.run, step.test.direction)
        ),
        confidence: Confidence::by_count(
            "the sender's own clock, against 5 ms and 99 % of the packets",
            1.0,
        ),
        action:
            "Use a larger or less busy host, or a lower rate, and measure again before judging the network."
                .to_owned(),
    }
}
