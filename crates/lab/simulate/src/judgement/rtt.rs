//! Questions about the RTT.

use weir_diagnose::FindingName;
use weir_link::RateSpec;

use super::{Question, Said, Truth, checked, named, number, simply};
use crate::networks::Fault;
use crate::observed::Observed;

/// A change is right within this share, and this much.
const CHANGE: f64 = 0.2;
const CHANGE_NS: f64 = 2e4;
/// A rate is right within this share.
const RATE: f64 = 0.15;
/// A growth is right within this share.
const GROWTH: f64 = 0.35;
/// Minimum ratio of the time on the wire to the time on the sending host, for packets of 90 % of the longest payload,
/// for the question about a queue; below the other value no queue is visible.
const QUEUES: f64 = 1.4;
const NO_QUEUE: f64 = 0.9;
/// Minimum growth of the RTT from the shortest packet to the longest, in addition to the jitter of both directions.
const GROWS_NS: f64 = 3e4;

/// The RTT changed.
pub(super) const CHANGED: Question = Question {
    name: "RTT changed since the last run",
    right: "the change within 20 % and 20 us",
    answer: changed,
};

/// The RTT grows with the position in a window.
pub(super) const WINDOW: Question = Question {
    name: "RTT grows within a window",
    right: "said, and the slowest rate, if told, within 15 %",
    answer: window,
};

/// The RTT grows with the length.
pub(super) const LENGTH: Question = Question {
    name: "RTT grows with the length",
    right: "the growth within 35 %",
    answer: length,
};

fn changed(observed: &Observed) -> (Truth, Said) {
    let found = named(observed, FindingName::RttChange).next();
    match observed.network.fault {
        Fault::RttChange { by_ns } => {
            let by = by_ns as f64;
            let right = found
                .and_then(|finding| number(finding, "change"))
                .is_some_and(|change| (change - by).abs() <= CHANGE_NS + CHANGE * by.abs());
            checked(true, found.is_some(), right)
        }
        _ if observed.network.before.is_some() => simply(false, found.is_some()),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

/// Rate of the slowest transmitter in forward direction; none if all rates are unlimited.
fn slowest(observed: &Observed) -> Option<f64> {
    let routes = observed.network.link.forward.routes.iter();
    let rates = routes.map(|route| match route.rate {
        RateSpec::Fixed(rate) => rate as f64,
        _ => f64::INFINITY,
    });
    let slowest = rates.fold(f64::INFINITY, f64::min);
    slowest.is_finite().then_some(slowest)
}

/// The client's time between two probes of that payload, nanoseconds.
fn between_probes(observed: &Observed, payload: f64) -> f64 {
    let near = &observed.network.near;
    2.0 * near.send_call_ns as f64 + near.packet_ns as f64 + near.kilobyte_ns as f64 * payload / 1000.0
}

/// Whether something delays packets that the questions about growth do not know: a device, a card that coalesces interrupts,
/// or a rate that varies.
fn is_masked(observed: &Observed) -> bool {
    let network = &observed.network;
    let coalesces = network.near.coalesce_ns > 0 || network.far.coalesce_ns > 0;
    let varies = matches!(network.link.forward.routes[0].rate, RateSpec::Steps(_));
    network.middlebox.is_some() || coalesces || varies
}

fn longest_payload(observed: &Observed) -> f64 {
    let found = observed.survey.summary.mtu.and_then(|mtu| mtu.smallest());
    f64::from(found.unwrap_or(1500)) - 28.0
}

fn window(observed: &Observed) -> (Truth, Said) {
    let found = named(observed, FindingName::WindowGrowth).next();
    let payload = 0.9 * longest_payload(observed);
    let ratio = slowest(observed).map_or(0.0, |rate| {
        8e9 * (payload + 28.0) / rate / between_probes(observed, payload)
    });
    let right = found
        .and_then(|finding| number(finding, "serialization rate"))
        .zip(slowest(observed))
        .is_none_or(|(found, truth)| (found / truth - 1.0).abs() <= RATE);
    match observed.network.fault {
        // A short queue or a cap cuts the windows; the rest shows little.
        Fault::Congestion { .. }
        | Fault::PacketRateCap { .. }
        | Fault::PerPacketRoutes
        | Fault::FlowRateCap { .. } => (Truth::Unjudged, Said::Nothing),
        _ if is_masked(observed) => (Truth::Unjudged, Said::Nothing),
        _ if ratio >= QUEUES => checked(true, found.is_some(), right),
        _ if ratio <= NO_QUEUE => simply(false, found.is_some()),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}

fn length(observed: &Observed) -> (Truth, Said) {
    let found = named(observed, FindingName::LengthGrowth).next();
    let rate = |direction: &weir_link::DirectionSpec| match direction.routes[0].rate {
        RateSpec::Fixed(rate) => 8e9 / rate as f64,
        _ => 0.0,
    };
    let jitter = |direction: &weir_link::DirectionSpec| {
        direction.routes[0]
            .jitter
            .map_or(0.0, |jitter| jitter.most_ns as f64)
    };
    let link = &observed.network.link;
    let growth = rate(&link.forward) + rate(&link.reverse);
    let grown = growth * (longest_payload(observed) - 100.0);
    let right = found
        .and_then(|finding| number(finding, "growth"))
        .is_some_and(|found| (found / growth - 1.0).abs() <= GROWTH);
    match observed.network.fault {
        Fault::PerPacketRoutes | Fault::SocketLoss => (Truth::Unjudged, Said::Nothing),
        _ if is_masked(observed) => (Truth::Unjudged, Said::Nothing),
        _ if grown >= GROWS_NS + jitter(&link.forward) + jitter(&link.reverse) => {
            checked(true, found.is_some(), right)
        }
        _ if growth == 0.0 => simply(false, found.is_some()),
        _ => (Truth::Unjudged, Said::Nothing),
    }
}
