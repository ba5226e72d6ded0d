//! What limits the stream below its rate: a cap on each flow, a cap on packets per second, a full path, or a cap on all
//! flows together, as in a network that does not tell flows apart.

use weir_results::{Direction, RunId};
use weir_units::{count_of, format_bytes, format_count, format_rate};

use crate::analysis::limit::{Limit, LimitKind};
use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::findings::window_growth::{self, Rate};
use crate::measured::Measured;
use crate::words::{rows_of_runs, time, way};

/// The slowest link is the limit's if it sends at no less than what came through, over this.
const ALIKE: f64 = 1.1;
/// Longest that a frame of media takes to send, at 24 frames a second.
const FRAME_NS: f64 = 4.2e7;

/// The finding, where a limit was met.
pub(crate) fn find(steps: &Steps, measured: &Measured) -> Option<Finding> {
    let limit = steps.limit.as_ref().filter(|_| !steps.is_limit_a_drop())?;
    let forward = steps.direction == Direction::Forward;
    let slowest = window_growth::slowest(measured)
        .filter(|rate| forward && limit.kind == LimitKind::Path && rate.bits >= limit.range.1 / ALIKE);
    let first = steps.steps.get(*limit.steps.first()?)?;
    let limited = match limit.kind {
        LimitKind::FlowRate => flow_rate(limit, first),
        LimitKind::PacketRate => packet_rate(limit, first, steps.header_bytes),
        LimitKind::Path => path(limit, steps, slowest.as_ref()),
        LimitKind::Together => together(limit, first),
    };
    Some(Finding {
        name: limited.name,
        severity: Severity::Fault,
        direction: Some(steps.direction),
        brief: limited.brief.replace("{way}", way(steps.direction)),
        sentence: limited.sentence.replace("{way}", way(steps.direction))
            + &onset_in_words(limit, steps)
            + &of_long_bursts(limit)
            + &of_credit(limit),
        evidence: evidence(limit, steps, slowest.as_ref()),
        query: query(limit, steps),
        confidence: confidence(limit),
        action: limited.action,
    })
}

/// What a limit is called, and what is said about it; `{way}` stands for the direction.
struct Limited {
    name: FindingName,
    brief: String,
    sentence: String,
    action: String,
}

/// The rate at which loss begins, where tests at several rates agree with the limit.
fn onset_in_words(limit: &Limit, steps: &Steps) -> String {
    let onset = steps.onset.as_ref().filter(|_| limit.between.is_some());
    onset.map_or(String::new(), |onset| {
        format!(
            " With {} and payloads of {} bytes loss begins between {} and {} of payload.",
            count_of(onset.flows.into(), "flow"),
            onset.length,
            onset.carried.rounded(),
            onset.lossy.rounded()
        )
    })
}

/// What is said of bursts that are longer than a bucket.
fn of_long_bursts(limit: &Limit) -> String {
    let let_through = limit.of_long_bursts.map(|value| match limit.kind {
        LimitKind::PacketRate => format!("{} packets per second", format_count(value.round() as u64)),
        _ => rate(value),
    });
    let_through.map_or(String::new(), |let_through| {
        format!(
            " Of the longer bursts of faster tests only {let_through} came through: they overflow its bucket."
        )
    })
}

/// What is said of more that comes through at first.
fn of_credit(limit: &Limit) -> String {
    let quantity = limit.value * limit.credit_s;
    let more = match limit.kind {
        _ if quantity <= 0.0 => return String::new(),
        LimitKind::Path => return String::new(),
        LimitKind::FlowRate => format!("{} more of each flow", format_bytes((quantity / 8.0) as u64)),
        LimitKind::Together => format!("{} more", format_bytes((quantity / 8.0) as u64)),
        LimitKind::PacketRate => format!("{} more packets", format_count(quantity as u64)),
    };
    format!(" At first some {more} came through, out of a bucket that began full: a longer test loses more.")
}

fn rate(bits: f64) -> String {
    format_rate(bits.round().max(0.0) as u64)
}

fn asked(step: &Step) -> f64 {
    step.test.asked.unwrap_or(0) as f64
}

fn flow_rate(limit: &Limit, first: &Step) -> Limited {
    let flows = (asked(first) / (0.8 * limit.value)).ceil().max(2.0);
    let held = if limit.varies() {
        format!("{} to {}", rate(limit.range.0), rate(limit.range.1))
    } else {
        rate(limit.value)
    };
    Limited {
        name: FindingName::FlowRateCap,
        brief: format!("each flow is limited to {held}{{way}}"),
        sentence: format!(
            "each flow is limited to {held}{{way}}, headers included: with fewer flows the rest of the media is lost, with \
             more flows the total rate grows, and the delay shows no queue.",
        ),
        action: format!("Use at least {flows:.0} flows, so that each needs at most 80 % of that."),
    }
}

fn packet_rate(limit: &Limit, first: &Step, header_bytes: u32) -> Limited {
    let payload = (asked(first) / 8.0 / (0.8 * limit.value)).ceil();
    let packet = payload + f64::from(header_bytes);
    let packets = format_count(limit.value.round() as u64);
    Limited {
        name: FindingName::PacketRateCap,
        brief: format!("the path is limited to {packets} packets per second{{way}}"),
        sentence: format!(
            "packets per second are limited to {packets}{{way}}, whatever the number of flows: short payloads lose, long \
             ones pass."
        ),
        action: format!(
            "Use payloads of {payload:.0} bytes or more ({packet:.0} bytes of IP packet), so that the media need at most \
             80 % of that."
        ),
    }
}

fn path(limit: &Limit, steps: &Steps, slowest: Option<&Rate>) -> Limited {
    let queue = limit
        .steps
        .iter()
        .map(|index| steps.steps[*index].queueing.p99_ns)
        .fold(0.0, f64::max);
    let varies = limit.varies() || limit.drifts;
    // A sender's bursts end within a frame, and each is like the others: what fills a queue for longer, or less and less, is not their
    // length.
    let cut = varies && queue < FRAME_NS && !limit.drifts;
    let range = if varies {
        format!("{} to {}", rate(limit.range.0), rate(limit.range.1))
    } else {
        rate(limit.value)
    };
    let sentence = match slowest.filter(|_| cut) {
        Some(slowest) => format!(
            "the path is full{{way}}: its slowest link sends at {}, and the queue in front of it ends after {}, which is \
             shorter than a burst of the sender, so that only {range} of IP packets come through.",
            rate(slowest.bits),
            time(queue)
        ),
        None if varies && !cut => format!(
            "the path is full{{way}}: it carried {range} of IP packets, varying with time, and a queue of up to {} builds up \
             before packets are lost.",
            time(queue)
        ),
        None => format!(
            "the path is full{{way}}: it carries {range} of IP packets, whatever the payload length, and a queue of up to \
             {} builds up before packets are lost.",
            time(queue)
        ),
    };
    let held = limit.between.map_or(limit.range.0, |(carried, _)| carried);
    let carried = slowest
        .filter(|_| !limit.drifts)
        .map_or(held, |slowest| slowest.bits);
    let mut action = format!(
        "Send at less than {}, or find what else uses the path; neither more flows nor FEC help.",
        rate(0.95 * carried)
    );
    if cut {
        action.push_str(" Shorter bursts ('weir flows --burst') lose less in front of a short queue.");
    }
    Limited {
        name: FindingName::Congestion,
        brief: format!("the path is full{{way}}: it carries {range}"),
        sentence,
        action,
    }
}

fn together(limit: &Limit, first: &Step) -> Limited {
    if !limit.flows_swept {
        return Limited {
            name: FindingName::Congestion,
            brief: format!(
                "the stream is limited to {}{{way}}, without a queue",
                rate(limit.value)
            ),
            sentence: format!(
                "the stream is limited to {} of IP packets{{way}} without a queue: a limit on each flow, on packets per \
                 second or on the total.",
                rate(limit.value)
            ),
            action: "Run 'weir survey', whose sweeps over flows and lengths tell these apart.".to_owned(),
        };
    }
    Limited {
        name: FindingName::FiveTupleIgnored,
        brief: format!("all flows together are limited to {}{{way}}", rate(limit.value)),
        sentence: format!(
            "all flows together are limited to {} of IP packets{{way}}, whatever their number, and without a queue: the \
             network treats them as one flow (it ignores the inner 5-tuple), or limits the host as a whole. The media \
             need {}.",
            rate(limit.value),
            rate(asked(first))
        ),
        action:
            "More flows do not help here: use one or few, a lower rate, or an instance with a higher limit."
                .to_owned(),
    }
}

fn confidence(limit: &Limit) -> Confidence {
    let agreement = "the limited tests agree within 5 %, no other test passed more";
    match limit.kind {
        LimitKind::Path => Confidence::by_count(
            "queueing delay that never ends, or is longer than a sender's bursts, in most tests with loss",
            0.99,
        ),
        _ => Confidence::by_test(
            format!(
                "{agreement}; pieces of the stream lose more alike than independent losses would (binomial)"
            ),
            limit.steady,
        ),
    }
}

fn evidence(limit: &Limit, steps: &Steps, slowest: Option<&Rate>) -> Vec<Evidence> {
    let chosen: Vec<&Step> = limit.steps.iter().map(|index| &steps.steps[*index]).collect();
    let unit = if limit.kind == LimitKind::PacketRate {
        "packets/s"
    } else {
        "bit/s"
    };
    // Where a short queue cuts bursts, what came through is not what the path could carry.
    let held = slowest
        .filter(|_| !limit.drifts)
        .map(|rate| rate.bits)
        .or_else(|| (!limit.varies()).then_some(limit.value))
        .map(|value| Evidence::in_unit("held at", value.round(), unit));
    let mut evidence: Vec<Evidence> = held.into_iter().collect();
    evidence.extend(limit.between.map(|(carried, lossy)| {
        let between = vec![carried.round(), lossy.round()];
        Evidence::in_unit("loss begins between", between, unit)
    }));
    evidence.extend([
        Evidence::in_unit("range", vec![limit.range.0.round(), limit.range.1.round()], unit),
        Evidence::of(
            "flows",
            chosen.iter().map(|step| step.flow_count()).collect::<Vec<_>>(),
        ),
        Evidence::in_unit(
            "payload",
            chosen.iter().map(|step| step.test.payload).collect::<Vec<_>>(),
            "bytes",
        ),
        Evidence::of(
            "packets received",
            chosen.iter().map(|step| step.test.received).collect::<Vec<_>>(),
        ),
        Evidence::of(
            "packets lost",
            chosen.iter().map(|step| step.test.lost).collect::<Vec<_>>(),
        ),
        Evidence::in_unit(
            "median delay above the smallest",
            chosen
                .iter()
                .map(|step| step.queueing.median_ns.round())
                .collect::<Vec<_>>(),
            "ns",
        ),
    ]);
    evidence
}

fn query(limit: &Limit, steps: &Steps) -> String {
    let runs: Vec<RunId> = limit
        .steps
        .iter()
        .map(|index| steps.steps[*index].test.run)
        .collect();
    format!(
        "SELECT run_id, sum(received) AS \"packets received\", sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE {} \
         GROUP BY run_id ORDER BY run_id",
        rows_of_runs(&runs, steps.direction)
    )
}
