//! Checks of a specification. Limits that physics does not set keep the arithmetic exact; they are far
//! beyond any network.

use std::fmt::Display;

use super::{
    DirectionSpec, FlowRateCap, Jitter, LinkSpec, LossSpec, PacketRateCap, QueueSpec, RateSpec, RateStep,
    RouteSpec, SpecError,
};

/// Minimum practical MTU of IPv4 (RFC 791 demands that hosts take as much) and the longest IP
/// packet. IPv6 needs 1,280 (RFC 8200).
const MTU: std::ops::RangeInclusive<u32> = 576..=65_535;
const MOST_RATE: u64 = 1_000_000_000_000_000;
const MOST_BURST: u64 = 1_000_000_000;
const MOST_OVERHEAD: u32 = 65_535;
const MOST_ROUTES: usize = 256;
const MOST_LOSSES: usize = 256;
/// Queues of FQ-CoDel in a direction: 256 routes with 1,024 each, some 30 MB.
const MOST_FLOW_QUEUES: u64 = 262_144;
const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
const MOST_TRACE_NS: u64 = 365 * DAY_NS;

pub(super) type Checked = Result<(), SpecError>;

pub(super) fn refuse(key: String, value: impl Display, allowed: &str) -> Checked {
    Err(SpecError {
        key,
        value: value.to_string(),
        allowed: allowed.to_owned(),
    })
}

pub(super) fn probability(key: impl FnOnce() -> String, value: f64) -> Checked {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        refuse(key(), value, "a probability is from 0 to 1")
    }
}

fn delay(key: impl FnOnce() -> String, ns: u64) -> Checked {
    if ns <= DAY_NS {
        return Ok(());
    }
    refuse(key(), format_args!("{ns} ns"), "a delay is at most 24 h")
}

fn rate(key: impl FnOnce() -> String, rate: u64, unit: &str, allowed: &str) -> Checked {
    if (1..=MOST_RATE).contains(&rate) {
        Ok(())
    } else {
        refuse(key(), format_args!("{rate} {unit}"), allowed)
    }
}

fn mtu(key: String, bytes: u32) -> Checked {
    if MTU.contains(&bytes) {
        Ok(())
    } else {
        refuse(key, bytes, "an MTU is from 576 to 65535 bytes")
    }
}

impl LinkSpec {
    /// Checks a link.
    ///
    /// # Errors
    /// The first invalid value; its key begins with `forward` or `reverse`.
    pub fn check(&self) -> Result<(), SpecError> {
        mtu("interface_mtu".to_owned(), self.interface_mtu)?;
        self.forward.check("forward")?;
        self.reverse.check("reverse")
    }
}

impl DirectionSpec {
    /// Checks a direction. Keys of errors begin with `key_prefix`, as in `forward.route[1].loss`
    /// for the prefix `forward`; routes are counted from 0.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, key_prefix: &str) -> Result<(), SpecError> {
        let key = |name: &str| format!("{key_prefix}.{name}");
        mtu(key("mtu"), self.mtu.bytes)?;
        if let Some(long) = self.long_packet_loss {
            probability(|| key("long_packet_loss.loss"), long.loss)?;
        }
        if let Some(FlowRateCap { rate: bits, burst }) = self.flow_rate {
            rate(
                || key("flow_rate.rate"),
                bits,
                "bit/s",
                "a cap is from 1 bit/s to 1 Pbit/s",
            )?;
            if !(1..=MOST_BURST).contains(&burst) {
                return refuse(
                    key("flow_rate.burst"),
                    burst,
                    "a burst is from 1 to 1000000000 bytes",
                );
            }
        }
        if let Some(PacketRateCap { rate: packets, burst }) = self.packet_rate {
            rate(
                || key("packet_rate.rate"),
                packets,
                "packet/s",
                "a cap is from 1 to 10^15 packets per second",
            )?;
            if !(1..=MOST_BURST).contains(&burst) {
                return refuse(
                    key("packet_rate.burst"),
                    burst,
                    "a burst is from 1 to 1000000000 packets",
                );
            }
        }
        probability(|| key("extra_flow_loss"), self.extra_flow_loss)?;
        self.check_routes(&key("route"))
    }

    fn check_routes(&self, key: &str) -> Checked {
        if !(1..=MOST_ROUTES).contains(&self.routes.len()) {
            return refuse(
                key.to_owned(),
                self.routes.len(),
                "a direction has from 1 to 256 routes",
            );
        }
        if self.routes.iter().all(|route| route.weight == 0) {
            return refuse(
                format!("{key}.weight"),
                0,
                "at least one route has a weight of 1 or more",
            );
        }
        let flow_queues: u64 = self.routes.iter().map(|route| route.queue.flow_queues()).sum();
        if flow_queues > MOST_FLOW_QUEUES {
            return refuse(
                format!("{key}.queue.flows"),
                format_args!("{flow_queues} of all routes together"),
                "the routes of a direction have at most 262144 queues for flows",
            );
        }
        self.routes
            .iter()
            .enumerate()
            .try_for_each(|(index, route)| route.check(&format!("{key}[{index}]")))
    }
}

impl RouteSpec {
    fn check(&self, route: &str) -> Checked {
        let key = |name: &str| format!("{route}.{name}");
        self.rate.check(&key("rate"))?;
        if self.overhead > MOST_OVERHEAD {
            return refuse(
                key("overhead"),
                self.overhead,
                "an overhead is at most 65535 bytes",
            );
        }
        delay(|| key("delay"), self.delay_ns)?;
        if let Some(Jitter { most_ns, .. }) = self.jitter {
            delay(|| key("jitter"), most_ns)?;
        }
        self.check_queue(key("queue"))?;
        self.check_loss(&key("loss"))?;
        probability(|| key("duplicate"), self.duplicate)?;
        probability(|| key("corrupt"), self.corrupt)?;
        for span in &self.dark {
            if span.to_ns <= span.from_ns {
                let span = format!("{} ns to {} ns", span.from_ns, span.to_ns);
                return refuse(key("dark"), span, "a dark span ends after it begins");
            }
        }
        Ok(())
    }

    fn check_queue(&self, key: String) -> Checked {
        if let QueueSpec::Managed(managed) = &self.queue {
            return managed.check(&key);
        }
        let nothing_waits = matches!(self.queue, QueueSpec::Bytes(0) | QueueSpec::Packets(0));
        if nothing_waits && matches!(self.rate, RateSpec::Opportunities { .. }) {
            return refuse(
                key,
                0,
                "packets wait for the opportunities of a trace: write a queue of 1 packet or more",
            );
        }
        Ok(())
    }

    fn check_loss(&self, key: &str) -> Checked {
        if self.loss.len() > MOST_LOSSES {
            return refuse(
                key.to_owned(),
                self.loss.len(),
                "a route has at most 256 loss processes",
            );
        }
        let single = self.loss.len() == 1;
        self.loss.iter().enumerate().try_for_each(|(index, loss)| {
            loss.check(&if single {
                key.to_owned()
            } else {
                format!("{key}[{index}]")
            })
        })
    }
}

impl LossSpec {
    fn check(&self, key: &str) -> Checked {
        match self {
            Self::Bernoulli(loss) => probability(|| key.to_owned(), *loss),
            Self::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                let parts = [
                    ("to_bad", to_bad),
                    ("to_good", to_good),
                    ("loss_good", loss_good),
                    ("loss_bad", loss_bad),
                ];
                parts
                    .into_iter()
                    .try_for_each(|(name, value)| probability(|| format!("{key}.{name}"), *value))
            }
            Self::Packets(numbers) => match numbers.windows(2).find(|pair| pair[0] >= pair[1]) {
                Some(pair) => refuse(
                    format!("{key}.packets"),
                    format_args!("{}, {}", pair[0], pair[1]),
                    "packet numbers ascend, each once",
                ),
                None => Ok(()),
            },
        }
    }
}

impl RateSpec {
    fn check(&self, key: &str) -> Checked {
        match self {
            Self::Unlimited => Ok(()),
            Self::Fixed(bits) => rate(
                || key.to_owned(),
                *bits,
                "bit/s",
                "a rate is from 1 bit/s to 1 Pbit/s, or unlimited",
            ),
            Self::Steps(steps) => check_steps(key, steps),
            Self::Opportunities {
                at_ns,
                period_ns,
                bytes,
            } => check_opportunities(key, at_ns, *period_ns, *bytes),
        }
    }
}

fn check_steps(key: &str, steps: &[RateStep]) -> Checked {
    if steps.is_empty() {
        return refuse(key.to_owned(), "no steps", "a trace has at least one step");
    }
    let mut total: u64 = 0;
    for (index, step) in steps.iter().enumerate() {
        let key = |name: &str| format!("{key}.steps[{index}].{name}");
        if step.duration_ns == 0 {
            return refuse(key("duration"), 0, "a step takes longer than 0 s");
        }
        total = total.saturating_add(step.duration_ns);
        if step.rate > MOST_RATE {
            return refuse(
                key("rate"),
                format_args!("{} bit/s", step.rate),
                "a rate is at most 1 Pbit/s",
            );
        }
    }
    if total > MOST_TRACE_NS {
        return refuse(
            format!("{key}.steps"),
            format_args!("{total} ns"),
            "a trace takes at most 365 days",
        );
    }
    if steps.iter().all(|step| step.rate == 0) {
        return refuse(
            format!("{key}.steps"),
            "0 bit/s in every step",
            "at least one step has a rate above 0",
        );
    }
    Ok(())
}

fn check_opportunities(key: &str, at_ns: &[u64], period_ns: u64, bytes: u32) -> Checked {
    if at_ns.is_empty() {
        return refuse(
            key.to_owned(),
            "no opportunities",
            "a trace has at least one opportunity",
        );
    }
    if !(1..=MOST_TRACE_NS).contains(&period_ns) {
        let value = format!("{period_ns} ns");
        return refuse(
            format!("{key}.period"),
            value,
            "a period is longer than 0 s and at most 365 days",
        );
    }
    if let Some(pair) = at_ns.windows(2).find(|pair| pair[0] > pair[1]) {
        let value = format!("{} ns, {} ns", pair[0], pair[1]);
        return refuse(format!("{key}.opportunities"), value, "opportunities ascend");
    }
    if let Some(late) = at_ns.last().filter(|&&last| last > period_ns) {
        let value = format!("{late} ns");
        return refuse(
            format!("{key}.opportunities"),
            value,
            "opportunities lie within the period",
        );
    }
    if bytes == 0 {
        return refuse(format!("{key}.bytes"), 0, "an opportunity carries 1 byte or more");
    }
    Ok(())
}
