//! A test in the quantities that limits are about, and how near it is to one. It must not know how a limit is found (`limits`).

use weir_stats::Counted;

use super::limit::{Limit, LimitKind};
use super::pieces;
use super::route_classes;
use super::step::Step;

/// Less loss is no sign of a limit.
pub(super) const LEAST_LOSS: f64 = 0.02;
/// A test so far below a limit meets it all the same where a burst is more than its bucket.
pub(super) const NEAR: f64 = 0.05;
/// Below this share of the least that a full path carries it is not full, and below the most, or what tests at lower rates carry, where its
/// queue never holds this share of what it held when it was.
const FAR_BELOW: f64 = 0.7;
const QUIET: f64 = 0.5;
/// What a test passes is known to this share.
pub(super) const EXCEEDED: f64 = 0.01;

/// A test in the quantities that limits are about.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Which test it is of.
    pub index: usize,
    pub flows: f64,
    pub payload: u32,
    /// Received: bits per second of IP packets, and packets per second.
    pub bits: f64,
    pub packets: f64,
    /// Rate that was asked for, bits per second of payload.
    pub asked: f64,
    /// 99 % quantile of the delay that queues added, nanoseconds.
    pub queue_ns: f64,
    /// How long it took.
    pub seconds: f64,
    /// Packets lost in the network, and those sent.
    pub counted: Counted,
    /// The same with its first second, in which queues and buckets begin empty or full.
    pub whole: Counted,
    /// Share of those after it that was lost.
    pub loss: f64,
    /// The same of those that hosts dropped, which are not among them.
    pub by_host: f64,
    /// What three quarters of its pieces lost at least, where it lost as much as a limit takes.
    pub throughout: f64,
    /// What the flows lost that lose least, and those that lose most, where they lose unequally.
    routes: Option<(Counted, Counted)>,
    /// What their routes took of all that was sent, where the rest is of flows that lose least.
    pub by_route: Option<f64>,
    /// What the route took that took most of its flows, in the same case.
    pub worst_route: f64,
    /// What a limit lets through is lost with this probability for other reasons, before it or behind it.
    pub beside: f64,
    /// A dark time took too much for the rest to say anything of a limit.
    pub mostly_dark: bool,
}

impl Load {
    pub fn of(index: usize, step: &Step, header_bytes: u32) -> Option<Load> {
        let after = weir_stats::total(&step.slots_after_start());
        let whole = step.loss();
        // Where the first second was all, it has to do; seconds with dark times say nothing of the rest. Where no limit takes much,
        // the first is like the others.
        let is_limited = after.rate().max(whole.rate()) >= LEAST_LOSS;
        let all = if after.trials > 0 && step.outages.is_empty() && is_limited {
            after
        } else {
            whole
        };
        let by_host = step.host_share() * all.rate();
        let in_network = |all: Counted| Counted {
            events: (all.events as f64 * (1.0 - step.host_share())).round() as u64,
            ..all
        };
        let loss = in_network(all);
        let test = step.test;
        if test.received == 0 {
            // A limit lets something through.
            return None;
        }
        // A sender that was late may have offered less.
        let sent = step.sent_share().filter(|_| step.is_late());
        let offered = test.asked? as f64 * sent.unwrap_or(1.0).min(1.0);
        // The last packet of a frame is shorter; where it passes more easily, what came is shorter than what was sent.
        let frame = f64::from(test.plan.format.bytes_per_frame);
        let sent_bits = 8.0 * frame / (frame / f64::from(test.payload.max(1))).ceil().max(1.0);
        let came_bits = 8.0 * test.bytes as f64 / test.received.max(1) as f64;
        let packets = offered / sent_bits * (1.0 - loss.rate());
        let dark: u64 = step
            .outages
            .iter()
            .flat_map(|outage| &outage.parts)
            .map(|part| part.duration_ns)
            .sum();
        let mostly_dark = dark as f64 > 0.1 * (step.test.active_ns as f64) * step.flow_count() as f64;
        Some(Load {
            index,
            flows: step.flow_count() as f64,
            payload: step.test.payload,
            bits: packets * (came_bits + 8.0 * f64::from(header_bytes)),
            packets,
            asked: offered,
            queue_ns: step.queueing.p99_ns,
            seconds: (test.active_ns as f64 / 1e9).max(f64::MIN_POSITIVE),
            counted: loss,
            whole: in_network(whole),
            routes: route_classes::least_and_most(step),
            by_route: None,
            worst_route: 0.0,
            loss: loss.rate(),
            throughout: if loss.rate() >= LEAST_LOSS {
                lower_quartile(step)
            } else {
                0.0
            },
            by_host,
            beside: 0.0,
            mostly_dark,
        })
    }

    /// Whether its flows lose unequally although no limit takes much of them all.
    pub fn shows_routes(&self) -> bool {
        self.routes.is_some_and(|(least, _)| least.rate() < LEAST_LOSS)
    }

    /// The same with the losses of its flows that lose least, where it is known that routes lose unequally.
    pub fn on_best_route(self) -> Self {
        let Some((least, most)) = self.routes else {
            return self;
        };
        let beyond = |loss: f64| (1.0 - (1.0 - loss) / (1.0 - least.rate()).max(1e-9)).max(0.0);
        let passed = (1.0 - least.rate()) / (1.0 - self.loss).max(1e-9);
        Load {
            by_route: Some(beyond(self.whole.rate())),
            worst_route: beyond(most.rate()),
            bits: passed * self.bits,
            packets: passed * self.packets,
            counted: least,
            whole: least,
            loss: least.rate(),
            ..self
        }
    }

    /// The same, with its first second.
    pub fn with_start(&self) -> Self {
        Load {
            counted: self.whole,
            loss: self.whole.rate(),
            ..self.clone()
        }
    }

    /// Share of the packets lost of those that others let through.
    pub fn excess(&self) -> f64 {
        1.0 - (1.0 - self.loss) / (1.0 - self.beside).max(1e-9)
    }

    pub fn is_limited(&self) -> bool {
        !self.mostly_dark && self.excess() >= LEAST_LOSS
    }

    /// Share that this limit takes of what others let through.
    pub fn taken_by(&self, limit: &Limit) -> f64 {
        self.taken_at(limit.kind, limit.value)
    }

    /// Whether it is above this limit, or so little below that a bucket which is smaller than a burst takes some of it.
    pub fn is_near(&self, limit: &Limit) -> bool {
        self.taken_at(limit.kind, (1.0 - NEAR) * limit.value) > 0.0
    }

    /// Whether it is so far below that nothing of it meets the limit: the queue of a full path may be shorter than a burst.
    pub fn is_far_below(&self, limit: &Limit) -> bool {
        match limit.kind {
            LimitKind::Path => {
                let is_below = |rate: f64| self.taken_at(limit.kind, rate) <= 0.0;
                let may_be = is_below(limit.range.1) || self.asked <= (1.0 + EXCEEDED) * limit.carried;
                is_below(FAR_BELOW * limit.range.0) || (may_be && self.queue_ns < QUIET * limit.queue_ns)
            }
            _ => !self.is_near(limit),
        }
    }

    /// Half the difference that it makes whether the limit is at one end of its range or at the other.
    pub fn taken_within(&self, limit: &Limit) -> f64 {
        0.5 * (self.taken_at(limit.kind, limit.range.0) - self.taken_at(limit.kind, limit.range.1))
    }

    fn taken_at(&self, kind: LimitKind, value: f64) -> f64 {
        let received = match kind {
            LimitKind::FlowRate => self.bits / self.flows,
            LimitKind::PacketRate => self.packets,
            LimitKind::Path | LimitKind::Together => self.bits,
        };
        let offered = received / (1.0 - self.loss) * (1.0 - self.beside);
        (1.0 - value / offered.max(1e-9)).max(0.0)
    }
}

fn lower_quartile(step: &Step) -> f64 {
    let mut losses: Vec<f64> = pieces::of_stream(step).into_iter().map(Counted::rate).collect();
    losses.sort_by(f64::total_cmp);
    losses.get(losses.len() / 4).copied().unwrap_or(0.0)
}
