//! TCP that is held by its window: a sender may have no more under way than the receiver's window and its own buffer allow,
//! so that a connection carries a window per round trip, whatever the path could.

use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, RunId};
use weir_units::{count_of, format_bytes, format_duration, format_percent, format_rate};

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::Measured;

/// Share of the time that a window holds a connection from which on it is what limits it: a sender that is held goes on with
/// every acknowledgement, and one that paces is not held between them.
const HELD: f64 = 0.2;
/// A test that carried this many times as much shows that the path could: else a slow reader may hold the window as well.
const MORE: f64 = 1.25;
/// Loss up to which a flow test shows that a path carries its rate.
const CARRIED: f64 = 0.001;

/// The finding of each direction, of the test with the fewest connections that a window held.
pub(crate) fn find(measured: &Measured) -> Vec<Finding> {
    let of = |direction: Direction| {
        let held = |(_, test): &&(RunId, TcpSummary)| {
            let could = path_rate(measured, test) as f64 >= MORE * test.goodput.0 as f64;
            test.direction == direction && share(test) >= HELD && could
        };
        let fewest = measured
            .tcp
            .iter()
            .filter(held)
            .min_by_key(|(_, test)| test.streams);
        fewest.map(|(run, test)| describe(*run, test, path_rate(measured, test)))
    };
    [Direction::Forward, Direction::Reverse]
        .into_iter()
        .filter_map(of)
        .collect()
}

fn share(test: &TcpSummary) -> f64 {
    test.receiver_limited
        .unwrap_or(0.0)
        .max(test.sender_limited.unwrap_or(0.0))
}

/// The highest rate that any test carried in that direction.
fn path_rate(measured: &Measured, held: &TcpSummary) -> u64 {
    let tcp = measured
        .tcp
        .iter()
        .filter(|(_, test)| test.direction == held.direction);
    let tcp = tcp.map(|(_, test)| test.goodput.0);
    let flows = measured
        .flow_tests
        .iter()
        .filter(|test| test.direction == held.direction);
    let carried = flows.filter(|test| test.lost as f64 <= CARRIED * test.sent as f64);
    tcp.chain(carried.filter_map(|test| test.asked))
        .max()
        .unwrap_or(0)
}

fn describe(run: RunId, test: &TcpSummary, path_rate: u64) -> Finding {
    let streams = u64::from(test.streams.max(1));
    let window = |rate: u64| (rate as f64 / 8.0 * test.rtt_ns as f64 / 1e9) as u64;
    let (used, needed) = (window(test.goodput.0 / streams), window(path_rate));
    let by_receiver = test.receiver_limited >= test.sender_limited;
    let (whose, key) = if by_receiver {
        ("the receiver's window", "net.ipv4.tcp_rmem at the receiver")
    } else {
        ("the send buffer", "net.ipv4.tcp_wmem at the sender")
    };
    let connections = needed.div_ceil(used.max(1));
    let action = format!(
        "Allow windows of {} ({key}), or use {connections} connections; UDP is not concerned.",
        format_bytes(needed)
    );
    Finding {
        name: FindingName::TcpWindow,
        severity: Severity::Notice,
        direction: Some(test.direction),
        brief: format!(
            "{whose} holds TCP at {}: {} per RTT",
            format_rate(test.goodput.0),
            format_bytes(used * streams)
        ),
        sentence: format!(
            "{whose} held TCP for {} of the time: {} carried {}, {} per RTT of {} each. To fill {}, \
             the most that a test carried, takes {}.",
            format_percent(share(test)),
            count_of(streams, "connection"),
            format_rate(test.goodput.0),
            format_bytes(used),
            format_duration(test.rtt_ns),
            format_rate(path_rate),
            format_bytes(needed)
        ),
        evidence: vec![
            Evidence::in_unit("bytes", test.bytes, "bytes"),
            Evidence::of("connections", test.streams),
            Evidence::in_unit("goodput", test.goodput.0, "bit/s"),
            Evidence::in_unit("RTT", test.rtt_ns, "ns"),
            Evidence::in_unit("window used", used, "bytes"),
            Evidence::in_unit("window that would fill the path", needed, "bytes"),
        ],
        query: format!(
            "SELECT sum(bytes) AS \"bytes\", max(streams) AS \"connections\" FROM tcp_seconds\nWHERE run_id = {run}"
        ),
        confidence: Confidence::by_count(
            "time that the sender's kernel counts as held (tcpi_rwnd_limited, tcpi_sndbuf_limited)",
            1.0,
        ),
        action,
    }
}
