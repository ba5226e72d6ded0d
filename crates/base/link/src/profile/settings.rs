//! Single keys: the content of a table of the file, before inheritance and computation. It must
//! not know which table overrides which.

use std::rc::Rc;

use toml::Value;
use weir_units::{ByteCount, TimeSpan};

use super::entry::{Entry, Placed, Scope};
use super::loss::{losses, share};
use super::queue::QueueSetting;
use super::rates::{MOST_RATE, Rates, rate};
use crate::spec::{
    DarkSpan, FlowRateCap, LongPacketLoss, LossSpec, PacketRateCap, RateSpec, RouteChoice, SpecError, TooBig,
};

/// Keys of one route, all of which may also be set for all routes of a direction or of the link.
pub(super) const ROUTE_KEYS: &[&str] = &[
    "rate",
    "delay",
    "jitter",
    "reorder",
    "queue",
    "loss",
    "duplicate",
    "corrupt",
    "overhead",
    "dark",
];

/// Keys of a direction, all of which may also be set for both.
pub(super) const DIRECTION_KEYS: &[&str] = &[
    "mtu",
    "too-big",
    "flow-rate",
    "packet-rate",
    "hide-five-tuple",
    "extra-flow-loss",
    "long-packets",
    "spread",
];

/// Keys of the whole link.
pub(super) const LINK_KEYS: &[&str] = &["rtt", "interface-mtu", "seed"];

/// Limits of the core, see [`LinkSpec::check`](crate::LinkSpec::check); checked here for errors with the file's own keys.
pub(super) const LEAST_MTU: u32 = 576;
pub(super) const MOST_MTU: u32 = 65_535;
const MOST_BURST: u64 = 1_000_000_000;
const LONGEST_DELAY_NS: u64 = 86_400 * 1_000_000_000;

/// Settings of a route, or of all routes of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteSettings {
    pub(super) rate: Option<Rc<RateSpec>>,
    pub(super) delay_ns: Option<u64>,
    pub(super) jitter_ns: Option<u64>,
    pub(super) reorder: Option<Placed<bool>>,
    pub(super) queue: Option<QueueSetting>,
    pub(super) loss: Option<Rc<Vec<LossSpec>>>,
    pub(super) duplicate: Option<f64>,
    pub(super) corrupt: Option<f64>,
    pub(super) overhead: Option<u32>,
    pub(super) dark: Option<Rc<Vec<DarkSpan>>>,
}

impl RouteSettings {
    pub(super) fn read(scope: &Scope, rates: &mut Rates) -> Result<Self, SpecError> {
        Ok(RouteSettings {
            rate: scope.read("rate", |place| rates.rate(&place))?,
            delay_ns: scope.read("delay", |place| delay(&place))?,
            jitter_ns: scope.read("jitter", |place| delay(&place))?,
            reorder: scope.read("reorder", |place| Ok(Placed::new(&place, place.flag()?)))?,
            queue: scope.read("queue", |place| QueueSetting::read(&place))?,
            loss: scope.read("loss", |place| losses(&place).map(Rc::new))?,
            duplicate: scope.read("duplicate", |place| share(&place))?,
            corrupt: scope.read("corrupt", |place| share(&place))?,
            overhead: scope.read("overhead", |place| place.whole_32("bytes", 0, 65_535))?,
            dark: scope.read("dark", |place| dark(&place).map(Rc::new))?,
        })
    }

    /// These settings, with `base` for those not set.
    pub(super) fn over(&self, base: &RouteSettings) -> RouteSettings {
        let (own, base) = (self.clone(), base.clone());
        RouteSettings {
            rate: own.rate.or(base.rate),
            delay_ns: own.delay_ns.or(base.delay_ns),
            jitter_ns: own.jitter_ns.or(base.jitter_ns),
            reorder: own.reorder.or(base.reorder),
            queue: own.queue.or(base.queue),
            loss: own.loss.or(base.loss),
            duplicate: own.duplicate.or(base.duplicate),
            corrupt: own.corrupt.or(base.corrupt),
            overhead: own.overhead.or(base.overhead),
            dark: own.dark.or(base.dark),
        }
    }
}

/// A cap; the burst may have a default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    pub(super) rate: u64,
    pub(super) burst: Option<u64>,
}

/// Settings of a direction, or of both.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionSettings {
    pub(super) mtu: Option<u32>,
    pub(super) too_big: Option<TooBig>,
    /// The inner none is "unlimited".
    pub(super) flow_rate: Option<Option<Cap>>,
    pub(super) packet_rate: Option<Option<Cap>>,
    pub(super) hide_five_tuple: Option<bool>,
    pub(super) extra_flow_loss: Option<f64>,
    pub(super) long_packets: Option<LongPacketLoss>,
    pub(super) spread: Option<RouteChoice>,
}

impl DirectionSettings {
    pub(super) fn read(scope: &Scope) -> Result<Self, SpecError> {
        let too_big = [("icmp", TooBig::Icmp), ("drop", TooBig::Drop)];
        let spread = [
            ("five-tuple", RouteChoice::FiveTuple),
            ("source-port", RouteChoice::SourcePort),
            ("per-packet", RouteChoice::PerPacket),
        ];
        Ok(DirectionSettings {
            mtu: scope.read("mtu", |place| mtu(&place))?,
            too_big: scope.read("too-big", |place| place.word(&too_big))?,
            flow_rate: scope.read("flow-rate", |place| flow_rate(&place))?,
            packet_rate: scope.read("packet-rate", |place| packet_rate(&place))?,
            hide_five_tuple: scope.read("hide-five-tuple", |place| place.flag())?,
            extra_flow_loss: scope.read("extra-flow-loss", |place| share(&place))?,
            long_packets: scope.read("long-packets", |place| long_packets(&place))?,
            spread: scope.read("spread", |place| place.word(&spread))?,
        })
    }

    /// These settings, with `base` for those not set.
    pub(super) fn over(&self, base: &DirectionSettings) -> DirectionSettings {
        DirectionSettings {
            mtu: self.mtu.or(base.mtu),
            too_big: self.too_big.or(base.too_big),
            flow_rate: self.flow_rate.or(base.flow_rate),
            packet_rate: self.packet_rate.or(base.packet_rate),
            hide_five_tuple: self.hide_five_tuple.or(base.hide_five_tuple),
            extra_flow_loss: self.extra_flow_loss.or(base.extra_flow_loss),
            long_packets: self.long_packets.or(base.long_packets),
            spread: self.spread.or(base.spread),
        }
    }
}

impl Cap {
    /// The cap on a flow: the default burst is 10 ms of the rate, and at least 10 packets of the MTU.
    pub(super) fn of_flow(self, mtu: u32) -> FlowRateCap {
        let default = (self.rate / 800).max(10 * u64::from(mtu)).min(MOST_BURST);
        FlowRateCap {
            rate: self.rate,
            burst: self.burst.unwrap_or(default),
        }
    }

    /// The cap on packets: the default burst is 10 ms of the rate, and at least 10 packets.
    pub(super) fn of_packets(self) -> PacketRateCap {
        let default = (self.rate / 100).clamp(10, MOST_BURST);
        PacketRateCap {
            rate: self.rate,
            burst: self.burst.unwrap_or(default),
        }
    }
}

/// A delay of packets, up to a day.
pub(super) fn delay(place: &Entry) -> Result<u64, SpecError> {
    let TimeSpan(ns) = place.parsed("10ms")?;
    if ns > LONGEST_DELAY_NS {
        return Err(place.wrong("write a time from 0s to 24h"));
    }
    Ok(ns)
}

/// MTU of a path or of an interface.
pub(super) fn mtu(place: &Entry) -> Result<u32, SpecError> {
    place.whole_32("bytes of IP packet", LEAST_MTU, MOST_MTU)
}

fn is_unlimited(place: &Entry) -> bool {
    place.value.as_str() == Some("unlimited")
}

fn flow_rate(place: &Entry) -> Result<Option<Cap>, SpecError> {
    if is_unlimited(place) {
        return Ok(None);
    }
    let Some(scope) = place.scope() else {
        let cap = |rate| Some(Cap { rate, burst: None });
        return rate(place).map(cap);
    };
    scope.only(&[&["rate", "burst"]])?;
    Ok(Some(Cap {
        rate: scope.need("rate", |place| rate(&place))?,
        burst: scope.read("burst", |place| {
            let ByteCount(burst) = place.quantity(ByteCount::positive, "100kB")?;
            if burst > MOST_BURST {
                return Err(place.wrong(format!("the maximum is {}", ByteCount(MOST_BURST))));
            }
            Ok(burst)
        })?,
    }))
}

fn packet_rate(place: &Entry) -> Result<Option<Cap>, SpecError> {
    if is_unlimited(place) {
        return Ok(None);
    }
    let rate = |place: &Entry| place.whole("packets per second", 1, MOST_RATE);
    let Some(scope) = place.scope() else {
        return rate(place).map(|rate| Some(Cap { rate, burst: None }));
    };
    scope.only(&[&["rate", "burst"]])?;
    Ok(Some(Cap {
        rate: scope.need("rate", |place| rate(&place))?,
        burst: scope.read("burst", |place| place.whole("packets", 1, MOST_BURST))?,
    }))
}

fn long_packets(place: &Entry) -> Result<LongPacketLoss, SpecError> {
    let scope = place
        .scope()
        .ok_or_else(|| place.wrong("write { above = 1428, loss = \"3%\" }"))?;
    scope.only(&[&["above", "loss"]])?;
    Ok(LongPacketLoss {
        above: scope.need("above", |place| place.whole_32("bytes of IP packet", 0, MOST_MTU))?,
        loss: scope.need("loss", |place| share(&place))?,
    })
}

fn dark(place: &Entry) -> Result<Vec<DarkSpan>, SpecError> {
    const FORM: &str = "write a list such as [{ from = \"3s\", to = \"4s\" }]";
    let items = place.items().ok_or_else(|| place.wrong(FORM))?;
    let mut spans: Vec<DarkSpan> = Vec::with_capacity(items.len());
    for item in items {
        let scope = item.scope().ok_or_else(|| place.wrong(FORM))?;
        scope.only(&[&["from", "to"]])?;
        let time = |place: Entry| place.parsed("3s").map(|TimeSpan(ns)| ns);
        let span = DarkSpan {
            from_ns: scope.need("from", time)?,
            to_ns: scope.need("to", time)?,
        };
        if span.to_ns <= span.from_ns {
            return Err(item.wrong("to must be later than from"));
        }
        if spans.last().is_some_and(|last| last.to_ns > span.from_ns) {
            return Err(item.wrong("must not begin before the previous span has ended"));
        }
        spans.push(span);
    }
    Ok(spans)
}

/// Checks that the table sets the delay only once.
pub(super) fn only_one_delay(scope: &Scope) -> Result<(), SpecError> {
    match (scope.get("rtt"), scope.get("delay")) {
        (Some(rtt), Some(_)) => Err(rtt.wrong("write rtt or delay, not both: delay is half of rtt")),
        _ => Ok(()),
    }
}

/// Both halves of the round trip, forward and reverse; the sum is exactly `rtt`.
pub(super) fn halves(scope: &Scope) -> Result<Option<(u64, u64)>, SpecError> {
    scope.read("rtt", |place| {
        let rtt = delay(&place)?;
        Ok((rtt / 2, rtt - rtt / 2))
    })
}

/// The random seed.
pub(super) fn seed(place: &Entry) -> Result<u64, SpecError> {
    match place.value {
        Value::Integer(_) => place.whole("a seed", 0, i64::MAX as u64),
        _ => Err(place.wrong(format!("write a whole number from 0 to {}", i64::MAX))),
    }
}
