//! What a load adds to the RTT: round trips beside it wait in the queues that it fills. TCP fills them until it is held, and
//! says its own RTT; media are sent at their rate, and wait as long as their one-way delay is above the smallest.

use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, RunId};
use weir_stats::median;
use weir_units::{count_of, format_count, format_rate};

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
    let loaded = match tcp {
        Some((run, test)) => of_tcp(*run, test, media),
        None => of_media(media?, idle_ns),
    };
    Some(describe(loaded, idle_ns))
}

/// Median RTT of packets with nothing in front of them.
fn idle(rtt: &RttTest) -> Option<f64> {
    let rtts = rtt.idle_rtts_ns();
    (!rtts.is_empty()).then(|| median(rtts))
}

fn round_trips(rtt_ns: f64) -> u64 {
    (MINUTE_NS / rtt_ns.max(1.0)).round() as u64
}

/// A load, and the RTT with it.
struct Loaded {
    direction: Direction,
    load: String,
    rtt_ns: f64,
    /// What else waited.
    beside: Option<String>,
    /// A count of the load, and the query that yields it.
    count: (Evidence, String),
    /// How the RTT was measured.
    by: &'static str,
}

fn of_tcp(run: RunId, test: &TcpSummary, media: Option<&Step>) -> Loaded {
    let goodput = format_rate(test.goodput.0);
    let waited = |step: &Step| {
        format!(
            "; media over {} waited {} at P50, {} at P99",
            count_of(step.flow_count() as u64, "flow"),
            time(step.queueing.median_ns),
            time(step.queueing.p99_ns)
        )
    };
    Loaded {
        direction: test.direction,
        load: format!("TCP ({}, {goodput})", count_of(test.streams.into(), "connection")),
        rtt_ns: test.rtt_ns as f64,
        beside: media.map(waited),
        count: (
            Evidence::of("connections", test.streams),
            format!("SELECT max(streams) AS \"connections\" FROM tcp_seconds\nWHERE run_id = {run}"),
        ),
        by: "the mean of the connections' smoothed RTTs at the end, by the sender's kernel, against the median of first packets",
    }
}

fn of_media(step: &Step, idle_ns: f64) -> Loaded {
    let test = step.test;
    Loaded {
        direction: test.direction,
        load: format!("media over {}", count_of(step.flow_count() as u64, "flow")),
        rtt_ns: idle_ns + step.queueing.median_ns.max(0.0),
        beside: None,
        count: (
            Evidence::of("packets received", test.received),
            format!(
                "SELECT sum(received) AS \"packets received\" FROM flow_seconds\nWHERE {}",
                rows_of(test.run, test.direction)
            ),
        ),
        by: "the median one-way delay above the smallest, added to the median of first packets",
    }
}

fn describe(loaded: Loaded, idle_ns: f64) -> Finding {
    let Loaded {
        direction, rtt_ns, ..
    } = loaded;
    let is_felt = rtt_ns - idle_ns >= FELT_NS && rtt_ns >= GROWN * idle_ns;
    let (severity, action) = if is_felt {
        (
            Severity::Notice,
            "Let whoever sends bulk data here pace it ('weir origin --pace', tc fq), or manage the queue (FQ-CoDel, CAKE) where \
             the path is narrowest: it delays all that shares it.",
        )
    } else {
        (
            Severity::Information,
            "Nothing: calls and games beside such a load do not feel it.",
        )
    };
    let (trips, idle_trips) = (round_trips(rtt_ns), round_trips(idle_ns));
    let (under, without) = (time(rtt_ns), time(idle_ns));
    let (count, query) = loaded.count;
    Finding {
        name: FindingName::DelayUnderLoad,
        severity,
        direction: Some(direction),
        brief: format!("RTT {under} under load{}, {without} without", way(direction)),
        sentence: format!(
            "under a load of {}{} the RTT is {under}, {} round trips a minute; without load it is {without}, {} round trips a \
             minute{}.",
            loaded.load,
            way(direction),
            format_count(trips),
            format_count(idle_trips),
            loaded.beside.unwrap_or_default()
        ),
        evidence: vec![
            count,
            Evidence::in_unit("RTT under load", rtt_ns.round(), "ns"),
            Evidence::in_unit("RTT without load", idle_ns.round(), "ns"),
            Evidence::in_unit("responsiveness under load", trips, "round trips/min"),
            Evidence::in_unit("responsiveness without load", idle_trips, "round trips/min"),
        ],
        query,
        confidence: Confidence::by_count(loaded.by, 1.0),
        action: action.to_owned(),
    }
}
