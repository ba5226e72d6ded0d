//! A test in the quantities that limits are about, and how near it is to one. It must not know how a limit is found (`limits`).

use weir_stats::Counted;

use super::limit::{Limit, LimitKind};
use super::pattern::Early;
use super::pieces;
use super::route_classes;
use super::step::Step;

/// Where the first half of bursts loses less than this share of what the whole does, bursts lose their last packets.
pub(super) const LATE: f64 = 0.5;
/// Less loss is no sign of a limit.
pub(super) const LEAST_LOSS: f64 = 0.02;
/// A test so far below a limit meets it all the same where a burst is more than its bucket.
pub(super) const NEAR: f64 = 0.05;
/// Below this share of the least that a full path carries it is not full, and below the most, or what tests at lower rates carry, where its
/// queue never holds this share of what it held when it was.
const FAR_BELOW: f64 = 0.7;
const QUIET: f64 = 0.5;
/// A queue that holds this share of that has been full.
const FILLED: f64 = 0.8;
/// What hosts dropped is known to this share.
const OF_HOSTS: f64 = 0.2;
/// Where hosts dropped a larger share of the lost packets, it matters in which seconds.
const FEW_OF_HOSTS: f64 = 0.01;
/// So many flows take several routes where there are any.
const SPREAD_OUT: f64 = 4.0;
/// The least of their losses is below the most by more than this share.
const DIFFER: f64 = 0.03;
/// Parts of a test lose alike if they differ by at most so many standard deviations of independent losses.
const ALIKE: f64 = 3.0;
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
    /// Median and 99 % quantile of the delay that queues added, nanoseconds.
    pub delay_ns: f64,
    pub queue_ns: f64,
    /// What the queue never was shorter than, in the same; 0 where it ran empty.
    pub standing_ns: f64,
    /// How long it took.
    pub seconds: f64,
    /// Packets lost in the network, and those sent.
    pub counted: Counted,
    /// The same with its first second, in which queues and buckets begin empty or full, where it lost as the rest did.
    pub whole: Counted,
    /// Share of those after it that was lost.
    pub loss: f64,
    /// The same of those that hosts dropped, which are not among them.
    pub by_host: f64,
    /// The part of these that the receiving host dropped.
    pub by_receiver: f64,
    /// What three quarters of its pieces lost at least, where it lost as much as a limit takes.
    pub throughout: f64,
    /// What more passed until it settled, where that took long, in seconds of what passes since.
    pub credit_s: f64,
    /// What more passed until it settled, or in its first second, in the same.
    pub first_more_s: f64,
    /// What passes grows or shrinks all along.
    pub drifts: bool,
    /// What the first half of its bursts lost, where that is known.
    pub early: Option<Early>,
    /// What the flows lost that lose least, and those that lose most, where they lose unequally.
    routes: Option<(Counted, Counted)>,
    /// What their routes took of all that was sent, where the rest is of flows that lose least.
    pub by_route: f64,
    /// Its own flows show what that is.
    pub knows_routes: bool,
    /// What the route took that took most of its flows, in the same case.
    pub worst_route: f64,
    /// What a limit lets through is lost with this probability for other reasons, before it or behind it.
    pub beside: f64,
    /// The part of it that does not depend on the length.
    pub everywhere: f64,
    /// A dark time took too much for the rest to say anything of a limit.
    pub mostly_dark: bool,
}

impl Load {
    pub fn of(index: usize, step: &Step, header_bytes: u32) -> Option<Load> {
        let late = step.settled.filter(|settled| {
            settled.from * step.test.active_ns as f64 > 1e9 * f64::from(step.test.slot_seconds)
        });
        let after = late.map(|settled| settled.after);
        let after = after.unwrap_or_else(|| weir_stats::total(&step.slots_after_start()));
        let whole = step.loss();
        // Where the first second was all, it has to do; seconds with dark times say nothing of the rest, nor those of a late sender, which
        // differ in what they were offered.
        let has_rest = after.trials > 0 && step.outages.is_empty() && !step.is_late();
        let is_alike = !has_rest || is_alike(after, whole);
        // What hosts dropped is known of all of it.
        let has_hosts = step.host_share() > FEW_OF_HOSTS;
        let is_limited = after.rate().max(whole.rate()) >= LEAST_LOSS;
        let all = if is_alike || (has_hosts && !is_limited) {
            whole
        } else {
            after
        };
        let whole = if has_hosts { whole } else { all };
        let by_host = step.host_share() * all.rate();
        // What the sending host dropped never reached the network.
        let left = 1.0 - step.sender_share() * all.rate();
        let in_network = |all: Counted| Counted {
            events: (all.events as f64 * (1.0 - step.host_share())).round() as u64,
            trials: (all.trials as f64 * left).round() as u64,
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
        let packets = offered * left / sent_bits * (1.0 - loss.rate());
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
            delay_ns: step.queueing.median_ns,
            queue_ns: step.queueing.p99_ns,
            standing_ns: if step.queueing.stands() {
                step.queueing.standing_ns
            } else {
                0.0
            },
            seconds: (test.active_ns as f64 / 1e9).max(f64::MIN_POSITIVE),
            counted: loss,
            whole: in_network(whole),
            routes: route_classes::least_and_most(step),
            by_route: 0.0,
            knows_routes: false,
            worst_route: 0.0,
            loss: loss.rate(),
            throughout: if loss.rate() >= LEAST_LOSS {
                lower_quartile(step)
            } else {
                0.0
            },
            credit_s: step.settled.map_or(0.0, |settled| settled.credit_s),
            first_more_s: step
                .settled
                .map_or_else(|| more_at_first_s(step), |settled| settled.credit_s),
            drifts: pieces::drifts(step),
            early: Early::of(step),
            by_host,
            by_receiver: by_host - step.sender_share() * all.rate(),
            beside: 0.0,
            everywhere: 0.0,
            mostly_dark,
        })
    }

    /// The same with the losses of its flows that lose least, where it is known that routes lose unequally.
    fn on_best_route(self) -> Self {
        let Some((least, most)) = self.routes else {
            return self;
        };
        let by_route = beyond(self.whole.rate(), least.rate());
        Load {
            knows_routes: true,
            worst_route: beyond(most.rate(), least.rate()),
            whole: least,
            ..self.without_route(by_route, least)
        }
    }

    /// The same with what its routes are expected to have taken off it, where nobody knows which flow takes which.
    fn on_any_route(self, by_route: f64) -> Self {
        if self.knows_routes {
            return self;
        }
        let left = |all: Counted| Counted {
            events: (beyond(all.rate(), by_route) * all.trials as f64).round() as u64,
            ..all
        };
        let counted = left(self.counted);
        Load {
            whole: left(self.whole),
            ..self.without_route(by_route, counted)
        }
    }

    fn without_route(self, by_route: f64, counted: Counted) -> Self {
        let passed = (1.0 - counted.rate()) / (1.0 - self.loss).max(1e-9);
        Load {
            by_route,
            bits: passed * self.bits,
            packets: passed * self.packets,
            loss: counted.rate(),
            counted,
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
        self.beyond(self.beside)
    }

    /// The same where others take this share.
    pub fn beyond(&self, others: f64) -> f64 {
        beyond(self.loss, others)
    }

    /// Whether it mostly loses the last packets of what each flow sends back to back, wherever these stand among those of other flows.
    pub fn loses_last_of_each(&self) -> bool {
        let is_late = |early: Early| early.of_each < LATE * self.loss.min(early.of_all);
        self.flows > 1.0 && self.early.is_some_and(is_late)
    }

    /// By what share of it what passed may be more or less, since nobody knows in which seconds the receiving host dropped what it did.
    pub fn unsure_of_hosts(&self) -> f64 {
        (self.by_receiver / (1.0 - self.loss).max(1e-9)).min(1.0)
    }

    pub fn is_limited(&self) -> bool {
        !self.mostly_dark && self.excess() - OF_HOSTS * self.by_host >= LEAST_LOSS
    }

    /// Share that this limit takes of what others let through.
    pub fn taken_by(&self, limit: &Limit) -> f64 {
        self.taken_at(limit.kind, limit.value)
    }

    /// Whether it is above this limit, or so little below that a bucket which is smaller than a burst takes some of it.
    pub fn is_near(&self, limit: &Limit) -> bool {
        let below = if limit.has_credit() { EXCEEDED } else { NEAR };
        self.taken_at(limit.kind, (1.0 - below) * limit.value) > 0.0
    }

    /// Whether it is so far below that nothing of it meets the limit: the queue of a full path may be shorter than a burst.
    pub fn is_far_below(&self, limit: &Limit) -> bool {
        match limit.kind {
            LimitKind::Path => {
                let is_below = |rate: f64| self.taken_at(limit.kind, rate) <= 0.0;
                let may_be = is_below(limit.range.1) || self.asked <= (1.0 + EXCEEDED) * limit.carried;
                let overflows = limit.queued && self.queue_ns >= FILLED * limit.queue_ns;
                (is_below(FAR_BELOW * limit.range.0) && !overflows)
                    || (may_be && self.queue_ns < QUIET * limit.queue_ns)
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

/// Whether routes lose unequally: flows do in many tests that no limit takes much of, and other tests have other flows on the routes
/// that lose. Flows that meet a limit may lose unequally, but as much in each test.
pub(super) fn show_routes(loads: &[Load]) -> bool {
    let spread_out = |load: &&Load| load.flows >= SPREAD_OUT && load.loss < LEAST_LOSS;
    let unequal = |load: &&Load| load.routes.is_some_and(|(least, _)| least.rate() < LEAST_LOSS);
    let tests = loads.iter().filter(spread_out).count();
    let losses: Vec<f64> = loads.iter().filter(unequal).map(|load| load.loss).collect();
    let most = losses.iter().copied().fold(0.0, f64::max);
    let differs = losses.iter().any(|loss| *loss < (1.0 - DIFFER) * most);
    losses.len() >= 2 && losses.len() * 3 >= tests && differs
}

/// The tests with what their routes take off them, as far as that is known of their flows, or of those of others.
pub(super) fn on_best_routes(loads: Vec<Load>) -> Vec<Load> {
    let known: Vec<Load> = loads.into_iter().map(Load::on_best_route).collect();
    let each = known
        .iter()
        .filter(|load| load.knows_routes)
        .map(|load| load.by_route);
    let mean = each.clone().sum::<f64>() / each.count().max(1) as f64;
    known.into_iter().map(|load| load.on_any_route(mean)).collect()
}

/// Share of the packets that routes take, where flows that lose least stand for tests: the mean of those whose flows show it.
pub(super) fn lost_by_routes(loads: &[Load]) -> f64 {
    let known = || loads.iter().filter(|load| load.knows_routes);
    let sent: u64 = known().map(|load| load.whole.trials).sum();
    let lost = known().map(|load| load.by_route * load.whole.trials as f64);
    lost.sum::<f64>() / sent.max(1) as f64
}

/// What a cause takes of all, where what others let through is lost so.
fn beyond(loss: f64, others: f64) -> f64 {
    (1.0 - (1.0 - loss) / (1.0 - others).max(1e-9)).max(0.0)
}

/// Whether the first second lost as the rest did, one by one.
fn is_alike(after: Counted, whole: Counted) -> bool {
    let first = Counted {
        events: whole.events.saturating_sub(after.events),
        trials: whole.trials.saturating_sub(after.trials),
    };
    let rate = whole.rate();
    let each = |part: Counted| rate * (1.0 - rate) / part.trials.max(1) as f64;
    (first.rate() - after.rate()).abs() <= ALIKE * (each(first) + each(after)).sqrt()
}

/// What more passed in the first second than in each of the others, in seconds of what passed in those.
fn more_at_first_s(step: &Step) -> f64 {
    let others = weir_stats::total(&step.slots_after_start());
    let all = step.loss();
    let first = Counted {
        events: all.events.saturating_sub(others.events),
        trials: all.trials.saturating_sub(others.trials),
    };
    let passed = 1.0 - others.rate();
    if others.trials == 0 || passed <= 0.0 {
        return 0.0;
    }
    ((1.0 - first.rate()) / passed - 1.0).max(0.0) * f64::from(step.test.slot_seconds)
}

fn lower_quartile(step: &Step) -> f64 {
    let mut losses: Vec<f64> = pieces::of_stream(step).into_iter().map(Counted::rate).collect();
    losses.sort_by(f64::total_cmp);
    losses.get(losses.len() / 4).copied().unwrap_or(0.0)
}
