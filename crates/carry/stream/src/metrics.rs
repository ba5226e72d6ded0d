//! The totals of a stream as metrics. It must not know how they are served.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use weir_alarm::{Exposition, Family, MetricsServer};
use weir_stats::SenderCounters;

use crate::alarms::Alarms;
use crate::recv::report::FlowMetrics;
use crate::recv::summary::{RecvSummary, SenderSummary};
use crate::send::summary::SendSummary;
use crate::{EventKind, RecvLive, SendLive, StreamError, Watch};

/// What every page has besides totals.
pub(crate) struct Context<'a> {
    pub alarms: &'a Alarms,
    pub events: &'a BTreeMap<EventKind, u64>,
}

/// Serves metrics at an address, if there is one.
pub(crate) fn serve(
    address: Option<SocketAddr>,
    watch: &dyn Watch,
) -> Result<Option<MetricsServer>, StreamError> {
    let Some(address) = address else { return Ok(None) };
    let server = MetricsServer::start(address).map_err(|error| {
        StreamError::Parameters(format!(
            "cannot serve metrics at {address}: {error}; choose another address or port with --metrics"
        ))
    })?;
    watch.metrics(server.address());
    Ok(Some(server))
}

/// Name, unit, meaning and value of a counter.
type Counter<T> = (&'static str, &'static str, &'static str, fn(&T) -> u64);

const SENT: [Counter<SenderCounters>; 10] = [
    ("frames", "", "Frames sent.", |it| it.frames),
    ("skipped", "frames", "Input frames that were not sent.", |it| {
        it.frames_skipped
    }),
    (
        "source",
        "packets",
        "Source packets sent, without retransmissions.",
        |it| it.sources,
    ),
    ("sent", "bytes", "UDP payload sent.", |it| it.bytes),
    ("repair", "packets", "Repair packets sent.", |it| it.repairs),
    (
        "retransmitted",
        "packets",
        "Packets retransmitted on request.",
        |it| it.retransmitted,
    ),
    (
        "probe",
        "packets",
        "Copies sent to probe flows, and of last packets.",
        |it| it.trials,
    ),
    (
        "late_request",
        "packets",
        "Requests for packets no longer kept, or too late.",
        |it| it.refused,
    ),
    (
        "unsent",
        "packets",
        "Packets dropped because the socket buffer was full.",
        |it| it.unsent,
    ),
    (
        "rejected",
        "packets",
        "Feedback that was not from the receiver, damaged, or not newer than the last.",
        |it| it.rejected,
    ),
];

/// Names, units and meanings of a receiver's counters of one sender.
type OfSender = (
    &'static str,
    &'static str,
    &'static str,
    fn(&SenderSummary) -> u64,
);
const RECEIVED: [OfSender; 13] = [
    ("received", "bytes", "UDP payload received.", |it| it.bytes),
    ("source", "packets", "Source packets received.", |it| it.received),
    ("repair", "packets", "Repair packets received.", |it| it.repairs),
    (
        "lost",
        "packets",
        "Source packets declared lost, overtaken ones included.",
        |it| it.missed,
    ),
    ("recovered", "packets", "Lost packets repaired by FEC.", |it| {
        it.recovered
    }),
    (
        "retransmitted",
        "packets",
        "Lost packets repaired by ARQ.",
        |it| it.retransmitted,
    ),
    (
        "overtaken",
        "packets",
        "Packets declared lost that arrived without retransmission.",
        |it| it.overtaken,
    ),
    (
        "elsewhere",
        "packets",
        "Lost packets received from another sender.",
        |it| it.elsewhere,
    ),
    (
        "unrepaired",
        "packets",
        "Lost packets not repaired: residual loss.",
        |it| it.unrepaired,
    ),
    (
        "late",
        "packets",
        "Packets that arrived after their frame was output.",
        |it| it.late,
    ),
    ("duplicate", "packets", "Duplicates.", |it| it.duplicates),
    (
        "rejected",
        "packets",
        "Datagrams that were not the sender's, or not valid.",
        |it| it.rejected,
    ),
    (
        "socket_dropped",
        "packets",
        "Packets that the kernel dropped at the sockets.",
        |it| it.socket_drops,
    ),
];

/// The page of a sender.
pub(crate) fn sent(
    summary: &SendSummary,
    live: &SendLive,
    is_connected: bool,
    context: &Context<'_>,
) -> String {
    let mut page = Exposition::default();
    for (name, unit, help, of) in SENT {
        page.counter(&format!("weir_send_{name}"), unit, help)
            .sample(&[], of(&summary.counts));
    }
    page.counter(
        "weir_send_receivers",
        "",
        "Receivers served, one after the other.",
    )
    .sample(&[], summary.receivers);
    page.gauge("weir_send_connected", "", "Whether a receiver is connected.")
        .sample(&[], u8::from(is_connected));
    if let Some(rtt_ns) = live.rtt_ns {
        page.gauge("weir_send_rtt", "seconds", "Round-trip time to the receiver.")
            .sample(&[], in_seconds(rtt_ns));
    }
    let mut used = page.gauge("weir_send_flow_used", "", "Whether the flow carries its share.");
    for flow in 0..live.flows.1 {
        let is_used = !context.alarms.is_unused(0, flow);
        used.sample(&[("flow", &flow.to_string())], u8::from(is_used));
    }
    let mut standing = page.gauge("weir_send_alarm", "", ALARM);
    for kind in EventKind::ALARMS {
        let stands = context.alarms.stands(kind, None);
        standing.sample(&[("alarm", kind.as_str())], u8::from(stands));
    }
    events(page.counter("weir_send_events", "", EVENTS), context);
    page.text()
}

const ALARM: &str = "Whether the alarm stands.";
const EVENTS: &str = "Recorded events, by kind; an alarm that is raised and cleared has two.";

/// The page of a receiver. `flows` are those of running sessions, by sender and flow.
pub(crate) fn received(
    summary: &RecvSummary,
    live: &RecvLive,
    connected: &[bool],
    flows: &BTreeMap<(u16, u16), FlowMetrics>,
    context: &Context<'_>,
) -> String {
    let mut page = Exposition::default();
    let senders: Vec<(String, &SenderSummary)> = (0..)
        .map(|number: usize| number.to_string())
        .zip(&summary.senders)
        .collect();
    let labels = |at: usize| {
        let (number, sender) = &senders[at];
        [("sender", number.as_str()), ("from", sender.from.as_str())]
    };
    for (name, unit, help, of) in RECEIVED {
        let mut family = page.counter(&format!("weir_recv_{name}"), unit, help);
        for (at, (_, sender)) in senders.iter().enumerate() {
            family.sample(&labels(at), of(sender));
        }
    }
    let mut rtt = page.gauge("weir_recv_rtt", "seconds", "Round-trip time to the sender.");
    for (at, (_, sender)) in senders.iter().enumerate() {
        rtt.sample(&labels(at), in_seconds(sender.rtt_ns));
    }
    let mut is_connected = page.gauge("weir_recv_connected", "", "Whether the sender is connected.");
    for at in 0..senders.len() {
        let connected = connected.get(at).copied().unwrap_or(false);
        is_connected.sample(&labels(at), u8::from(connected));
    }
    let mut of_flows = |name: &str, unit: &str, help: &str, of: &dyn Fn((u16, u16), &FlowMetrics) -> u64| {
        let mut family = page.gauge(&format!("weir_recv_flow_{name}"), unit, help);
        for (&(sender, flow), counts) in flows {
            let [number, from] = labels(usize::from(sender));
            family.sample(
                &[number, from, ("flow", &flow.to_string())],
                of((sender, flow), counts),
            );
        }
    };
    of_flows(
        "received",
        "packets",
        "Packets of the flow in this session.",
        &|_, it| it.received,
    );
    of_flows(
        "missing",
        "packets",
        "Missing packets of the flow in this session.",
        &|_, it| it.missing,
    );
    of_flows(
        "used",
        "",
        "Whether the sender uses the flow.",
        &|(sender, flow), _| u64::from(!context.alarms.is_unused(sender, flow)),
    );
    frames(&mut page, live);
    let mut standing = page.gauge("weir_recv_alarm", "", ALARM);
    for kind in EventKind::ALARMS {
        if kind == EventKind::HeldUp {
            let stands = context.alarms.stands(kind, None);
            standing.sample(&[("alarm", kind.as_str())], u8::from(stands));
            continue;
        }
        for at in 0..senders.len() {
            let [number, from] = labels(at);
            let stands = context.alarms.stands(kind, Some(at as u16));
            standing.sample(&[("alarm", kind.as_str()), number, from], u8::from(stands));
        }
    }
    events(page.counter("weir_recv_events", "", EVENTS), context);
    page.text()
}

fn frames(page: &mut Exposition, live: &RecvLive) {
    page.counter("weir_recv_frames", "", "Frames of the output.")
        .sample(&[("state", "complete")], live.frames)
        .sample(&[("state", "concealed")], live.concealed)
        .sample(&[("state", "dropped")], live.dropped);
    page.gauge("weir_recv_budget", "seconds", "The latency budget.")
        .sample(&[], in_seconds(live.budget_ns));
    page.gauge(
        "weir_recv_budget_used",
        "seconds",
        "Part of the budget that a frame used, maximum of the last second.",
    )
    .sample(&[], in_seconds(live.used_ns));
}

fn events(mut family: Family<'_>, context: &Context<'_>) {
    for (kind, count) in context.events {
        family.sample(&[("event", kind.as_str())], count);
    }
}

fn in_seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::alarms::{End, Quarter};

    /// Each line is asserted by hand or comes once; that a reader of Prometheus takes the page is a test of the built binary.
    fn checked(page: &str, lines: &[&str]) {
        for line in lines {
            assert!(page.lines().any(|it| it == *line), "{line} is not in:\n{page}");
        }
        let samples = page.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = samples
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, _)| name)
            .collect();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(different.len(), names.len(), "{page}");
    }

    fn residual_loss(end: End, peer: u16) -> Alarms {
        let mut alarms = Alarms::new(end, 0);
        alarms.join(peer, "x", false);
        let lossy = Quarter {
            unrepaired: 1,
            ..Quarter::default()
        };
        alarms.peer(1, peer, &lossy);
        alarms
    }

    #[test]
    fn a_receiver_shows_each_sender_each_flow_and_its_alarms() {
        let sender = |from: &str, unrepaired| SenderSummary {
            from: from.into(),
            unrepaired,
            rtt_ns: 2_500_000,
            ..SenderSummary::default()
        };
        let summary = RecvSummary {
            senders: vec![sender("a", 0), sender("b \"x\"", 3)],
            ..RecvSummary::default()
        };
        let live = RecvLive {
            frames: 10,
            budget_ns: 20_000_000,
            ..RecvLive::default()
        };
        let flow = FlowMetrics {
            received: 5,
            missing: 1,
        };
        let mut alarms = residual_loss(End::Receiver, 1);
        alarms.flow(1, 3, Some("losing"));
        let context = Context {
            alarms: &alarms,
            events: &BTreeMap::from([(EventKind::ResidualLoss, 1)]),
        };
        let flows = BTreeMap::from([((1, 2), flow), ((1, 3), flow)]);
        let page = received(&summary, &live, &[false, true], &flows, &context);
        checked(
            &page,
            &[
                r#"weir_recv_unrepaired_packets_total{sender="0",from="a"} 0"#,
                r#"weir_recv_unrepaired_packets_total{sender="1",from="b \"x\""} 3"#,
                r#"weir_recv_connected{sender="0",from="a"} 0"#,
                r#"weir_recv_connected{sender="1",from="b \"x\""} 1"#,
                r#"weir_recv_rtt_seconds{sender="0",from="a"} 0.0025"#,
                r#"weir_recv_flow_missing_packets{sender="1",from="b \"x\"",flow="2"} 1"#,
                r#"weir_recv_flow_used{sender="1",from="b \"x\"",flow="2"} 1"#,
                r#"weir_recv_flow_used{sender="1",from="b \"x\"",flow="3"} 0"#,
                r#"weir_recv_frames_total{state="complete"} 10"#,
                "weir_recv_budget_seconds 0.02",
                r#"weir_recv_alarm{alarm="residual_loss",sender="0",from="a"} 0"#,
                r#"weir_recv_alarm{alarm="residual_loss",sender="1",from="b \"x\""} 1"#,
                r#"weir_recv_alarm{alarm="held_up"} 0"#,
                r#"weir_recv_events_total{event="residual_loss"} 1"#,
            ],
        );
    }

    #[test]
    fn a_sender_shows_its_totals_its_flows_and_its_alarms() {
        let summary = SendSummary {
            receivers: 2,
            counts: SenderCounters {
                frames: 7,
                frames_skipped: 6,
                refused: 5,
                ..SenderCounters::default()
            },
            ..SendSummary::default()
        };
        let live = SendLive {
            flows: (1, 2),
            ..SendLive::default()
        };
        let mut alarms = residual_loss(End::Sender, 0);
        alarms.flow(0, 1, Some("silent"));
        let context = Context {
            alarms: &alarms,
            events: &BTreeMap::new(),
        };
        let page = sent(&summary, &live, true, &context);
        checked(
            &page,
            &[
                "weir_send_frames_total 7",
                "weir_send_skipped_frames_total 6",
                "weir_send_late_request_packets_total 5",
                "weir_send_receivers_total 2",
                "weir_send_connected 1",
                r#"weir_send_flow_used{flow="0"} 1"#,
                r#"weir_send_flow_used{flow="1"} 0"#,
                r#"weir_send_alarm{alarm="residual_loss"} 1"#,
                r#"weir_send_alarm{alarm="flow_dark"} 0"#,
                "# EOF",
            ],
        );
    }
}
