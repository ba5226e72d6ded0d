//! UDP that loses packets where TCP, as fast, does not: then it is not the path that is full, but UDP that is held back.

use weir_measure::tcp_throughput::TcpSummary;
use weir_results::RunId;
use weir_stats::{Counted, loss_interval};
use weir_units::{format_count, format_percent, format_rate};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName};
use crate::findings::severity_of_loss;
use crate::measured::Measured;
use crate::words::{loss, rows_of, way};

/// UDP loses at least this multiple of what TCP sends again.
const TIMES: f64 = 4.0;
/// MTU where the path's is unknown: long segments are few, which makes the share of those sent again too large rather than
/// too small.
const MTU: u32 = 9000;
/// IP and TCP header bytes of a segment.
const HEADERS: u32 = 52;
/// Level of [`loss_interval`].
const LEVEL: f64 = 0.95;

/// A test of each.
struct Both<'s, 'a> {
    udp: &'s Step<'a>,
    tcp: &'s TcpSummary,
    run: RunId,
    /// TCP's segments sent again, of all.
    again: Counted,
}

/// The finding of a direction: the test of UDP with the least loss, against the fastest of TCP. `longest` is the longest
/// payload below a cliff, which TCP's segments never meet.
pub(crate) fn find(measured: &Measured, steps: &Steps, longest: u32) -> Option<Finding> {
    let (run, tcp) = measured
        .tcp
        .iter()
        .filter(|(_, test)| test.direction == steps.direction)
        .max_by_key(|(_, test)| test.goodput)?;
    let slower = |step: &&Step| step.test.asked.is_some_and(|rate| rate <= tcp.goodput.0);
    let udp = steps
        .steps
        .iter()
        .filter(|step| step.test.payload <= longest && !step.is_limited_by_host())
        .filter(slower)
        .min_by(|a, b| a.network_loss().rate().total_cmp(&b.network_loss().rate()))?;
    let mtu = measured.mtu.as_ref().and_then(|(_, mtu)| mtu.smallest());
    let segment = mtu.unwrap_or(MTU).saturating_sub(HEADERS).max(1);
    let again = Counted {
        events: tcp.retransmits,
        trials: tcp.bytes / u64::from(segment),
    };
    let (least, most) = (bounds(udp.network_loss()).0, bounds(again).1);
    let run = *run;
    (least > TIMES * most).then(|| describe(&Both { udp, tcp, run, again }))
}

fn bounds(count: Counted) -> (f64, f64) {
    loss_interval(count.events, count.trials)
}

fn describe(both: &Both) -> Finding {
    let (test, lost) = (both.udp.test, both.udp.network_loss());
    let again = both.again;
    let direction = test.direction;
    Finding {
        name: FindingName::UdpLoss,
        severity: severity_of_loss(lost.rate()),
        direction: Some(direction),
        brief: format!(
            "UDP loses {} where TCP, as fast, sends {} again{}",
            format_percent(lost.rate()),
            format_percent(again.rate()),
            way(direction)
        ),
        sentence: format!(
            "UDP at {} lost {}{}, while TCP carried {} over the same path and sent {} of its segments again: UDP itself is \
             policed, or has a lower class.",
            format_rate(test.asked.unwrap_or(0)),
            loss(lost),
            way(direction),
            format_rate(both.tcp.goodput.0),
            format_percent(again.rate())
        ),
        evidence: vec![
            Evidence::of("packets lost", test.lost),
            Evidence::in_unit("goodput of TCP", both.tcp.goodput.0, "bit/s"),
            Evidence::of("segments of TCP sent again", both.tcp.retransmits),
            Evidence::of("run of TCP", both.run.0),
        ],
        query: format!(
            "SELECT sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE {}",
            rows_of(test.run, direction)
        ),
        confidence: Confidence::by_count(
            format!(
                "bounds of {} (Clopper-Pearson) of UDP's loss and of TCP's segments sent again, {} times apart at least",
                format_percent(LEVEL),
                format_count(TIMES as u64)
            ),
            LEVEL,
        ),
        action: "Ask the provider whether UDP is policed here; try other ports ('weir agent --udp-ports'), and less per flow.".to_owned(),
    }
}
