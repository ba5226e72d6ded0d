//! The key `queue`: a length, or a table with a discipline and its parameters. Defaults that depend on the path are
//! computed once the path is known. It must not know how a discipline uses its parameters.

use toml::Value;
use weir_units::{ByteCount, QueueSize, TimeSpan};

use super::entry::{Entry, Placed, Scope};
use super::loss::share;
use crate::spec::{
    CodelSpec, DisciplineSpec, DualPi2Spec, FqCodelSpec, ManagedQueue, PieSpec, QueueLimit, QueueSpec,
    RedSpec, SpecError,
};

/// Minimum of the default queue, packets.
const DEFAULT_QUEUE_PACKETS: u64 = 100;
/// The default limit of a managed queue, of the time that the rate takes for it (RFC 9332, appendix A.1).
const MANAGED_LIMIT_NS: u64 = 250_000_000;
/// A time that depends on the path, until that is known.
const UNSET: u64 = u64::MAX;
/// Limits of the core, see [`LinkSpec::check`](crate::LinkSpec::check).
const SHORTEST_NS: u64 = 1_000;
const LONGEST_NS: u64 = 100_000_000_000;
const MOST_PACKET: u32 = 65_535;
/// The default limit of FQ-CoDel, packets (RFC 8290, section 5.2.3).
const FQ_CODEL_PACKETS: u64 = 10_240;
/// Header of Ethernet, which the default quantum of FQ-CoDel counts (RFC 8290, section 5.2.4).
const ETHERNET_HEADER: u32 = 14;
const MOST_FLOW_QUEUES: u32 = 65_536;
const MOST_GAIN: f64 = 1_000.0;
const MOST_COUPLING: f64 = 1_000.0;
const MOST_THRESHOLD: f64 = 1_000_000.0;

const FORMS: &str = "write \"2bdp\", \"50kB\", \"100packets\", \"unlimited\" or { kind = \"fq-codel\" }";

/// What the key says.
#[derive(Clone, Debug)]
pub(super) enum QueueSetting {
    Plain(Placed<QueueSize>),
    Managed {
        limit: Option<Placed<QueueSize>>,
        /// Lengths of 0 stand for defaults that depend on the path.
        discipline: DisciplineSpec,
    },
}

#[derive(Clone, Copy)]
enum Kind {
    TailDrop,
    Red,
    Codel,
    Pie,
    FqCodel,
    DualPi2,
}

const KINDS: [(&str, Kind); 6] = [
    ("tail-drop", Kind::TailDrop),
    ("red", Kind::Red),
    ("codel", Kind::Codel),
    ("pie", Kind::Pie),
    ("fq-codel", Kind::FqCodel),
    ("dualpi2", Kind::DualPi2),
];

impl QueueSetting {
    pub(super) fn read(place: &Entry) -> Result<Self, SpecError> {
        let Some(scope) = place.scope() else {
            if place.value.is_array() || place.value.is_bool() {
                return Err(place.wrong(FORMS));
            }
            return Ok(Self::Plain(Placed::new(place, place.parsed("2bdp")?)));
        };
        let kind = scope.need("kind", |place| place.word(&KINDS))?;
        let discipline = match kind {
            Kind::TailDrop => {
                scope.only(&[&["kind", "limit"]])?;
                DisciplineSpec::TailDrop
            }
            Kind::Red => DisciplineSpec::Red(red(&scope)?),
            Kind::Codel => DisciplineSpec::Codel(codel(&scope)?),
            Kind::Pie => DisciplineSpec::Pie(pie(&scope)?),
            Kind::FqCodel => DisciplineSpec::FqCodel(fq_codel(&scope)?),
            Kind::DualPi2 => DisciplineSpec::DualPi2(dualpi2(&scope)?),
        };
        let limit = scope.read("limit", |place| {
            let limit: QueueSize = place.parsed("2bdp")?;
            if matches!(limit, QueueSize::Bytes(ByteCount(0)) | QueueSize::Packets(0)) {
                return Err(place.wrong("a managed queue holds 1 packet or more"));
            }
            Ok(Placed::new(&place, limit))
        })?;
        Ok(Self::Managed { limit, discipline })
    }
}

fn codel(scope: &Scope) -> Result<CodelSpec, SpecError> {
    scope.only(&[&["kind", "limit", "target", "interval", "max-packet", "ecn"]])?;
    codel_keys(scope)
}

fn fq_codel(scope: &Scope) -> Result<FqCodelSpec, SpecError> {
    scope.only(&[&[
        "kind",
        "limit",
        "target",
        "interval",
        "max-packet",
        "ecn",
        "flows",
        "quantum",
    ]])?;
    let flows = |place: Entry| place.whole_32("the number of queues", 1, MOST_FLOW_QUEUES);
    Ok(FqCodelSpec {
        flows: scope
            .read("flows", flows)?
            .unwrap_or(FqCodelSpec::default().flows),
        quantum: scope.read("quantum", packet)?.unwrap_or(0),
        codel: codel_keys(scope)?,
    })
}

/// The keys that CoDel and FQ-CoDel share.
fn codel_keys(scope: &Scope) -> Result<CodelSpec, SpecError> {
    let default = CodelSpec::default();
    Ok(CodelSpec {
        target_ns: scope.read("target", time)?.unwrap_or(default.target_ns),
        interval_ns: scope.read("interval", time)?.unwrap_or(default.interval_ns),
        max_packet: scope.read("max-packet", packet)?.unwrap_or(0),
        ecn: flag(scope, "ecn", default.ecn)?,
    })
}

fn red(scope: &Scope) -> Result<RedSpec, SpecError> {
    scope.only(&[&[
        "kind",
        "limit",
        "minimum",
        "maximum",
        "max-probability",
        "weight",
        "gentle",
        "packet-time",
        "ecn",
    ]])?;
    let default = RedSpec::default();
    let threshold = |place: Entry| number(&place, "packets", 0.0, MOST_THRESHOLD);
    let minimum = scope.read("minimum", threshold)?.unwrap_or(default.minimum);
    let maximum = scope.read("maximum", threshold)?;
    // The maximum of the default is three times the minimum, as Floyd recommends.
    let maximum = maximum.unwrap_or((3.0 * minimum).clamp(1.0, MOST_THRESHOLD));
    if maximum <= minimum {
        let place = scope.get("maximum").or_else(|| scope.get("minimum"));
        return match place {
            Some(place) => Err(place.wrong("the maximum must be above the minimum")),
            None => Ok(default),
        };
    }
    Ok(RedSpec {
        minimum,
        maximum,
        max_probability: scope
            .read("max-probability", |place| share(&place))?
            .unwrap_or(default.max_probability),
        weight: scope.read("weight", weight)?.unwrap_or(default.weight),
        gentle: flag(scope, "gentle", default.gentle)?,
        packet_time_ns: scope.read("packet-time", time)?.unwrap_or(0),
        ecn: flag(scope, "ecn", default.ecn)?,
    })
}

fn weight(place: Entry) -> Result<f64, SpecError> {
    number(&place, "a weight", 1e-9, 1.0)
}

fn pie(scope: &Scope) -> Result<PieSpec, SpecError> {
    scope.only(&[&[
        "kind",
        "limit",
        "target",
        "update",
        "alpha",
        "beta",
        "max-burst",
        "mean-packet",
        "ecn",
        "mark-below",
        "derandomize",
        "cap-adjustment",
    ]])?;
    let default = PieSpec::default();
    Ok(PieSpec {
        target_ns: scope.read("target", time)?.unwrap_or(default.target_ns),
        update_ns: scope.read("update", time)?.unwrap_or(default.update_ns),
        alpha: scope.read("alpha", gain)?.unwrap_or(default.alpha),
        beta: scope.read("beta", gain)?.unwrap_or(default.beta),
        max_burst_ns: scope
            .read("max-burst", time_or_zero)?
            .unwrap_or(default.max_burst_ns),
        mean_packet: scope.read("mean-packet", packet)?.unwrap_or(0),
        ecn: flag(scope, "ecn", default.ecn)?,
        mark_below: scope
            .read("mark-below", |place| share(&place))?
            .unwrap_or(default.mark_below),
        derandomize: flag(scope, "derandomize", default.derandomize)?,
        cap_adjustment: flag(scope, "cap-adjustment", default.cap_adjustment)?,
    })
}

fn dualpi2(scope: &Scope) -> Result<DualPi2Spec, SpecError> {
    scope.only(&[&[
        "kind",
        "limit",
        "target",
        "max-rtt",
        "update",
        "alpha",
        "beta",
        "coupling",
        "threshold",
        "range",
        "threshold-packets",
        "classic-share",
    ]])?;
    let default = DualPi2Spec::default();
    let target_ns = scope.read("target", time)?.unwrap_or(default.target_ns);
    let max_rtt = scope.read("max-rtt", time)?.unwrap_or(DualPi2Spec::RTT_MAX_NS);
    let (update_ns, alpha, beta) = DualPi2Spec::gains(target_ns, max_rtt);
    let coupling = |place: Entry| number(&place, "a coupling factor", 0.001, MOST_COUPLING);
    let packets = |place: Entry| place.whole("packets", 0, MOST_THRESHOLD as u64);
    Ok(DualPi2Spec {
        target_ns,
        update_ns: scope.read("update", time)?.unwrap_or(update_ns.max(SHORTEST_NS)),
        alpha: scope.read("alpha", gain)?.unwrap_or(alpha.min(MOST_GAIN)),
        beta: scope.read("beta", gain)?.unwrap_or(beta.min(MOST_GAIN)),
        coupling: scope.read("coupling", coupling)?.unwrap_or(default.coupling),
        threshold_ns: scope.read("threshold", time_or_zero)?.unwrap_or(UNSET),
        range_ns: scope.read("range", time_or_zero)?.unwrap_or(default.range_ns),
        threshold_packets: scope
            .read("threshold-packets", packets)?
            .unwrap_or(default.threshold_packets),
        classic_share: scope
            .read("classic-share", |place| share(&place))?
            .unwrap_or(default.classic_share),
    })
}

fn flag(scope: &Scope, key: &str, default: bool) -> Result<bool, SpecError> {
    Ok(scope.read(key, |place| place.flag())?.unwrap_or(default))
}

/// A plain number. None that is not finite lies in the range.
fn number(place: &Entry, what: &str, least: f64, most: f64) -> Result<f64, SpecError> {
    let number = match place.value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    };
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(place.wrong(format!("write {what} as a number from {least} to {most}")))
    }
}

fn gain(place: Entry) -> Result<f64, SpecError> {
    number(&place, "a gain in Hz", 0.0, MOST_GAIN)
}

fn time_or_zero(place: Entry) -> Result<u64, SpecError> {
    let TimeSpan(ns) = place.parsed("150ms")?;
    if ns <= LONGEST_NS {
        Ok(ns)
    } else {
        Err(place.wrong("write a time from 0s to 100s"))
    }
}

fn time(place: Entry) -> Result<u64, SpecError> {
    let TimeSpan(ns) = place.parsed("5ms")?;
    if (SHORTEST_NS..=LONGEST_NS).contains(&ns) {
        Ok(ns)
    } else {
        Err(place.wrong("write a time from 1us to 100s"))
    }
}

fn packet(place: Entry) -> Result<u32, SpecError> {
    place.whole_32("bytes of IP packet", 1, MOST_PACKET)
}

/// What the defaults of a queue depend on.
pub(super) struct QueuePath {
    /// Mean rate of the transmitter, bit/s; none if unlimited.
    pub(super) rate: Option<u64>,
    pub(super) mtu: u32,
    pub(super) round_trip_ns: u64,
}

impl QueuePath {
    /// The queue of a route.
    pub(super) fn queue(&self, setting: Option<&QueueSetting>) -> Result<QueueSpec, SpecError> {
        match setting {
            None => Ok(self.default_queue()),
            Some(QueueSetting::Plain(size)) => Ok(match self.limit(size)? {
                QueueLimit::Unlimited => QueueSpec::Unlimited,
                QueueLimit::Bytes(bytes) => QueueSpec::Bytes(bytes),
                QueueLimit::Packets(packets) => QueueSpec::Packets(packets),
            }),
            Some(QueueSetting::Managed { limit, discipline }) => Ok(QueueSpec::Managed(ManagedQueue {
                limit: match limit {
                    Some(limit) => self.limit(limit)?,
                    None => self.default_limit(discipline),
                },
                discipline: self.complete(*discipline),
            })),
        }
    }

    fn limit(&self, size: &Placed<QueueSize>) -> Result<QueueLimit, SpecError> {
        let millionths = match size.value {
            QueueSize::Unlimited => return Ok(QueueLimit::Unlimited),
            QueueSize::Bytes(ByteCount(bytes)) => return Ok(QueueLimit::Bytes(bytes)),
            QueueSize::Packets(packets) => return Ok(QueueLimit::Packets(packets)),
            QueueSize::Bdp { millionths } => millionths,
        };
        let Some(rate) = self.rate else {
            return Err(size.wrong("an unlimited rate has no BDP; set rate, too, or write bytes or packets"));
        };
        if self.round_trip_ns == 0 {
            return Err(size.wrong("without a delay the BDP is 0; set rtt, too, or write bytes or packets"));
        }
        let bytes = product_bytes(rate, self.round_trip_ns, millionths);
        Ok(QueueLimit::Bytes(bytes.max(u64::from(self.mtu))))
    }

    fn default_queue(&self) -> QueueSpec {
        match self.rate {
            None => QueueSpec::Unlimited,
            Some(rate) => QueueSpec::Bytes(self.bytes_in(rate, self.round_trip_ns)),
        }
    }

    fn default_limit(&self, discipline: &DisciplineSpec) -> QueueLimit {
        match (discipline, self.rate) {
            (DisciplineSpec::FqCodel(_), _) => QueueLimit::Packets(FQ_CODEL_PACKETS),
            (_, None) => QueueLimit::Unlimited,
            (DisciplineSpec::TailDrop, Some(rate)) => {
                QueueLimit::Bytes(self.bytes_in(rate, self.round_trip_ns))
            }
            (_, Some(rate)) => QueueLimit::Bytes(self.bytes_in(rate, MANAGED_LIMIT_NS)),
        }
    }

    /// Bytes sent in a time, and at least the minimum of a default queue.
    fn bytes_in(&self, rate: u64, ns: u64) -> u64 {
        let packets = DEFAULT_QUEUE_PACKETS * u64::from(self.mtu);
        product_bytes(rate, ns, 1_000_000).max(packets)
    }

    /// Fills in the defaults that depend on the path.
    fn complete(&self, mut discipline: DisciplineSpec) -> DisciplineSpec {
        match &mut discipline {
            DisciplineSpec::TailDrop => {}
            DisciplineSpec::DualPi2(spec) => {
                if spec.threshold_ns == UNSET {
                    spec.threshold_ns = DualPi2Spec::default()
                        .threshold_ns
                        .max(2 * self.packet_time_ns())
                        .min(LONGEST_NS);
                }
            }
            DisciplineSpec::Red(red) => {
                if red.packet_time_ns == 0 {
                    red.packet_time_ns = self.packet_time_ns();
                }
            }
            DisciplineSpec::FqCodel(spec) => {
                if spec.quantum == 0 {
                    spec.quantum = (self.mtu + ETHERNET_HEADER).min(MOST_PACKET);
                }
                self.complete_codel(&mut spec.codel);
            }
            DisciplineSpec::Codel(codel) => self.complete_codel(codel),
            DisciplineSpec::Pie(pie) => {
                if pie.mean_packet == 0 {
                    pie.mean_packet = self.mtu;
                }
            }
        }
        discipline
    }

    /// Time that a packet of the MTU takes at the mean rate.
    fn packet_time_ns(&self) -> u64 {
        let bits = 8_000_000_000 * u64::from(self.mtu);
        let time = self.rate.and_then(|rate| bits.checked_div(rate));
        time.unwrap_or(0).clamp(SHORTEST_NS, LONGEST_NS)
    }

    fn complete_codel(&self, codel: &mut CodelSpec) {
        if codel.max_packet == 0 {
            codel.max_packet = self.mtu;
        }
    }
}

/// Bytes in `millionths` of the product of a rate and a time, rounded down.
fn product_bytes(rate: u64, ns: u64, millionths: u64) -> u64 {
    let bit_nanoseconds = u128::from(rate) * u128::from(ns);
    let scaled = bit_nanoseconds.saturating_mul(u128::from(millionths));
    // Bits to a byte, nanoseconds to a second, millionths to a BDP.
    u64::try_from(scaled / (8 * 1_000_000_000 * 1_000_000)).unwrap_or(u64::MAX)
}
