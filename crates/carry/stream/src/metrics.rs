//! The totals of a stream as metrics. It must not know how they are served.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use weir_alarm::{Exposition, Family, MetricsServer};
use weir_stats::{Counters, SenderCounters};

use crate::alarms::Alarms;
use crate::recv::{RecvSummary, SenderSummary};
use crate::send::SendSummary;
use crate::{EventKind, RecvLive, SendLive, StreamError, Watch};

/// A flow of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowMetrics {
    /// Packets received in this session.
    pub received: u64,
    /// Packets missing in this session.
    pub missing: u64,
}

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

/// Names, units and meanings of a sender's counters, in their order.
const SENT: [(&str, &str, &str); SenderCounters::NAMES.len()] = [
    ("frames", "", "Frames sent."),
    ("skipped", "frames", "Input frames that were not sent."),
    (
        "source",
        "packets",
        "Source packets sent, without retransmissions.",
    ),
    ("sent", "bytes", "UDP payload sent."),
    ("repair", "packets", "Repair packets sent."),
    ("retransmitted", "packets", "Packets retransmitted on request."),
    (
        "probe",
        "packets",
        "Copies sent to probe flows, and of last packets.",
    ),
    (
        "late_request",
        "packets",
        "Requests for packets no longer kept, or too late.",
    ),
    (
        "unsent",
        "packets",
        "Packets dropped because the socket buffer was full.",
    ),
    (
        "rejected",
        "packets",
        "Feedback that was not from the receiver, damaged, or not newer than the last.",
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

/// The page of a sender. `flows` are those that have changed, and whether each is used; `frames` of the summary include
/// those of running sessions.
pub(crate) fn sent(
    summary: &SendSummary,
    live: &SendLive,
    is_connected: bool,
    flows: &BTreeMap<u16, bool>,
    context: &Context<'_>,
) -> String {
    let mut page = Exposition::default();
    for ((name, unit, help), value) in SENT.into_iter().zip(summary.counts.values()) {
        page.counter(&format!("weir_send_{name}"), unit, help)
            .sample(&[], value);
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
        let is_used = flows.get(&flow).copied().unwrap_or(true);
        used.sample(&[("flow", &flow.to_string())], u8::from(is_used));
    }
    let mut standing = page.gauge("weir_send_alarm", "", ALARM);
    for kind in EventKind::ALARMS {
        let stands = context.alarms.stands(kind, None);
        standing.sample(&[("alarm", kind.as_str())], u8::from(stands));
    }
    events(page.counter("weir_send_events", "", EVENTS), context);
    page.finish()
}

const ALARM: &str = "Whether the alarm stands.";
const EVENTS: &str = "Recorded events, by kind; an alarm that is raised and cleared has two.";

/// The page of a receiver. `flows` are those of running sessions, by sender and flow, and `unused` those that their
/// sender does not use.
pub(crate) fn received(
    summary: &RecvSummary,
    live: &RecvLive,
    connected: &[bool],
    flows: &BTreeMap<(u16, u16), FlowMetrics>,
    unused: impl Fn(u16, u16) -> bool,
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
        &|(sender, flow), _| u64::from(!unused(sender, flow)),
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
    page.finish()
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
