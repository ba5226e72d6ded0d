//! What a load adds to the RTT: round trips beside it wait in the queues that it fills. TCP fills them until it is held, and
//! says its own RTT; media are sent at their rate, and wait as long as their one-way delay is above the smallest.

use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, RunId};
use weir_stats::median;
use weir_units::{format_count, format_rate};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{Measured, RttTest};
use crate::words::{rows_of, time, way};

/// A call or a game beside the load feels it from here on.
const FELT_NS: f64 = 20e6;
/// And it is the load that does it if the RTT is this multiple of that without.
const GROWN: f64 = 2.0;
const MINUTE_NS: f64 = 60e9;

/// The finding of a direction, where the RTT without a load is known, and that with one.
pub(crate) fn find(measured: &Measured, steps: &Steps) -> Option<Finding> {
    let idle_ns = idle(measured.rtt.as_ref()?)?;
    let tcp = measured
        .tcp
        .iter()
        .filter(|(_, test)| test.direction == steps.direction && test.rtt_ns > 0)
        .max_by_key(|(_, test)| test.rtt_ns);
    let media = steps
        .steps
        .iter()
        .filter(|step| !step.is_limited_by_host() && step.test.received > 0)
        .max_by(|a, b| a.queueing.median_ns.total_cmp(&b.queueing.median_ns));
    match (tcp, media) {
        (Some((run, test)), media) => Some(of_tcp(*run, test, idle_ns, media)),
        (None, Some(step)) => Some(of_media(step, idle_ns)),
        (None, None) => None,
    }
}

/// Median RTT of packets with nothing in front of them.
fn idle(rtt: &RttTest) -> Option<f64> {
    let rtts = rtt.idle_rtts_ns();
    (!rtts.is_empty()).then(|| median(rtts))
}

fn round_trips(rtt_ns: f64) -> u64 {
    (MINUTE_NS / rtt_ns.max(1.0)).round() as u64
}

/// What packets of media waited.
fn waited(step: &Step) -> String {
    format!(
        "media over {} flows waited {} at P50, {} at P99",
        step.flow_count(),
        time(step.queueing.median_ns),
        time(step.queueing.p99_ns)
    )
}

fn of_tcp(run: RunId, test: &TcpSummary, idle_ns: f64, media: Option<&Step>) -> Finding {
    let load = format!(
        "TCP ({} connection{}, {})",
        test.streams,
        if test.streams == 1 { "" } else { "s" },
        format_rate(test.goodput.0)
    );
    let mut found = describe(test.direction, &load, idle_ns, test.rtt_ns as f64);
    if let Some(step) = media {
        found.sentence = format!("{}; {}.", found.sentence.trim_end_matches('.'), waited(step));
    }
    let count = Evidence::of("connections", test.streams);
    found.evidence.insert(0, count);
    found.query = format!("SELECT max(streams) AS \"connections\" FROM tcp_seconds\nWHERE run_id = {run}");
    found.confidence = Confidence::by_count(
        "the mean of the connections' smoothed RTTs at the end, by the sender's kernel, against the median of first packets",
        1.0,
    );
    found
}

fn of_media(step: &Step, idle_ns: f64) -> Finding {
    let test = step.test;
    let loaded_ns = idle_ns + step.queueing.median_ns.max(0.0);
    let load = format!("media over {} flows", step.flow_count());
    let mut found = describe(test.direction, &load, idle_ns, loaded_ns);
    let received = Evidence::of("packets received", test.received);
    found.evidence.insert(0, received);
    found.query = format!(
        "SELECT sum(received) AS \"packets received\" FROM stream_seconds\nWHERE {}",
        rows_of(test.run, test.direction)
    );
    found.confidence = Confidence::by_count(
        "the median one-way delay above the smallest, added to the median of first packets",
        1.0,
    );
    found
}

/// All but the counts, and where they come from.
fn describe(direction: Direction, load: &str, idle_ns: f64, loaded_ns: f64) -> Finding {
    let is_felt = loaded_ns - idle_ns >= FELT_NS && loaded_ns >= GROWN * idle_ns;
    let (trips, idle_trips) = (round_trips(loaded_ns), round_trips(idle_ns));
    let action = if is_felt {
        "Let whoever sends bulk data here pace it ('weir origin --pace', tc fq), or manage the queue (FQ-CoDel, CAKE) where \
         the path is narrowest: it delays all that shares it."
    } else {
        "Nothing: calls and games beside such a load do not feel it."
    };
    Finding {
        name: FindingName::DelayUnderLoad,
        severity: if is_felt {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: Some(direction),
        brief: format!(
            "RTT {} under load{}, {} without",
            time(loaded_ns),
            way(direction),
            time(idle_ns)
        ),
        sentence: format!(
            "under a load of {load}{} the RTT is {}, {} round trips a minute; without load it is {}, {} round trips a minute.",
            way(direction),
            time(loaded_ns),
            format_count(trips),
            time(idle_ns),
            format_count(idle_trips)
        ),
        evidence: vec![
            Evidence::in_unit("RTT under load", loaded_ns.round(), "ns"),
            Evidence::in_unit("RTT without load", idle_ns.round(), "ns"),
            Evidence::in_unit("responsiveness under load", trips, "round trips/min"),
            Evidence::in_unit("responsiveness without load", idle_trips, "round trips/min"),
        ],
        query: String::new(),
        confidence: Confidence::by_count("", 1.0),
        action: action.to_owned(),
    }
}
