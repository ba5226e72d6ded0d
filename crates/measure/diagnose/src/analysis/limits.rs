//! What limits a stream below its rate: a cap on each flow, a cap on packets per second, a full path, or a cap on all
//! flows together. Each leaves another quantity the same in all tests that it touches: the rate of a flow, packets per
//! second, or bits per second; and each lets other tests through untouched. Which loss of a test is not the limit's is for
//! others to say (`joint`).

use std::collections::BTreeMap;

use weir_measure::survey::LossOnset;
use weir_stats::{Counted, binomial_at_least, median, normal_tail};
use weir_units::Rate;

use super::limit::{LOOSELY, Limit, LimitKind};
use super::load::{EXCEEDED, LEAST_LOSS, Load, NEAR};
use super::pieces;
use super::process::is_clumped;
use super::step::Step;

/// A test that lost as little may have met a limit that others show.
const SOME_LOSS: f64 = 0.001;
/// Another test may have passed more than the limit by its error, and by what a bucket that began full holds: as much as the limit
/// lets through in this time, seconds, or in that which limited tests show.
const FILLED_S: f64 = 0.05;
/// A test of which hosts dropped a larger share of what a limit takes says little of it.
const OF_HOSTS: f64 = 0.5;
/// Limited tests agree if their quantity differs by at most this share.
const AGREE: f64 = 0.03;
/// The same by [`LOOSELY`] where the other quantities differ by more than twice as much, and by this share where they differ by
/// twice and more: a bucket that is smaller than the bursts lets through what is left of each.
const ROUGHLY: f64 = 0.3;
/// The same where the total differs by [`SWEEP`] times.
const VARIES: f64 = 1.0;
/// Loss this much steadier than random loss comes from a limit, not from a loss process.
const STEADY: f64 = 0.001;
/// A test at this many times the rate of another of which as much comes through meets a limit.
const MUCH_FASTER: f64 = 1.25;
/// A path that sends a sender's bursts on at less than this many times the rate of the media makes them wait; at less
/// than that many where losses are as steady as a limit's.
const SLOW: f64 = 1.15;
const SLOWISH: f64 = 1.6;
/// A card that gathers packets for an interrupt delays the middle one by less, nanoseconds.
const OF_CARDS_NS: f64 = 300_000.0;
/// A radio link that sends packets in aggregates delays the middle one of a stream by less than this multiple of the jitter of single ones.
const AGGREGATED: f64 = 5.0;
/// Pieces of the stream lose alike if they are within so many standard deviations of the middle one, where one in
/// five independent ones is.
const ALIKE: f64 = 0.25;
/// A path that is full for bursts of one length is full for most.
const MOST_STEPS: f64 = 0.6;
/// How many times as many flows a sweep must have had to say that their number changes nothing.
const SWEEP: usize = 4;

/// What is looked at for a limit.
pub(super) struct Looked<'l> {
    pub steps: &'l [Step<'l>],
    /// Tests at lower rates.
    pub slower: &'l [Load],
    /// The rate at which loss begins, where lower ones were tried.
    pub onset: Option<&'l LossOnset>,
    /// Jitter of the path without a load, nanoseconds.
    pub jitter_ns: f64,
}

/// Finds the limit that fits the tests of a direction, if one does.
pub(super) fn find(looked: &Looked, all: &[Load], steady: &mut Steadiness) -> Option<Limit> {
    let loads = Loads::of(looked, all, steady)?;
    loads
        .packet_rate_of_short_bursts()
        .or_else(|| loads.flow_rate())
        .or_else(|| loads.packet_rate())
        .or_else(|| loads.of_all_flows())
}

/// How steadily sets of tests lose, each looked at once.
#[derive(Default)]
pub(super) struct Steadiness(BTreeMap<Vec<usize>, f64>);

/// Whether packets wait in a queue in most of the tests that lose much.
pub(super) fn is_queued(looked: &Looked, all: &[Load], steady: &mut Steadiness) -> bool {
    Loads::of(looked, all, steady).is_some_and(|loads| loads.queued)
}

impl Steadiness {
    /// What speaks against random losses in the tests that lose much and meet no limit: the negative logarithm of the
    /// probability that such losses are as even (nats).
    pub fn against_chance(&mut self, steps: &[Step], all: &[Load], limit: Option<&Limit>) -> f64 {
        let met = |load: &&Load| limit.is_some_and(|limit| limit.steps.contains(&load.index));
        let lossy = all
            .iter()
            .filter(|load| load.loss >= LEAST_LOSS && !load.mostly_dark);
        let by_chance: Vec<&Load> = lossy.filter(|load| !met(load)).collect();
        if by_chance.is_empty() {
            return 0.0;
        }
        -self.of(steps, &by_chance).max(f64::MIN_POSITIVE).ln()
    }

    fn of(&mut self, steps: &[Step], limited: &[&Load]) -> f64 {
        let key = limited.iter().map(|load| load.index).collect();
        *self.0.entry(key).or_insert_with(|| steadiness(steps, limited))
    }
}

/// What a limit may hold.
type Quantity = fn(&Load) -> f64;

/// All tests of a direction, of which some met a limit.
struct Loads<'l> {
    all: &'l [Load],
    slower: &'l [Load],
    onset: Option<&'l LossOnset>,
    /// Probability of losses as even as those of the limited tests, if independent.
    steady: f64,
    /// Packets wait in a queue in most of the limited tests.
    queued: bool,
}

impl<'l> Loads<'l> {
    fn of(looked: &Looked<'l>, all: &'l [Load], steady: &mut Steadiness) -> Option<Self> {
        let &Looked {
            steps,
            onset,
            jitter_ns,
            ..
        } = looked;
        let limited: Vec<&Load> = all.iter().filter(|load| load.is_limited()).collect();
        if limited.is_empty() {
            return None;
        }
        let steady = steady.of(steps, &limited);
        // What is usual where nothing is lost is the work of hosts and the jitter of the path.
        // One that loses a little, and whose queue never runs empty, meets the limit, too.
        let stands = |load: &Load| load.standing_ns > jitter_ns;
        let meets = |load: &Load| load.excess() >= 0.5 * LEAST_LOSS && stands(load);
        let free = all
            .iter()
            .filter(|load| !load.is_limited() && !load.mostly_dark && !meets(load));
        let mut free: Vec<f64> = free.map(|load| load.delay_ns).collect();
        let usual_ns = median(free.clone());
        if free.is_empty() {
            // A slower test that loses nothing may have filled a queue, but not all of them have.
            let least = |most: f64| {
                let slower = looked.slower.iter();
                let slower = slower.filter(|load| load.loss < most && !stands(load));
                slower.map(|load| load.delay_ns).min_by(f64::total_cmp)
            };
            free.extend(least(SOME_LOSS).or_else(|| least(LEAST_LOSS)));
        }
        let (least_ns, most_ns) = spread(free.iter().copied());
        let waiting_ns = most_ns.max(jitter_ns) + (most_ns - least_ns).max(jitter_ns);
        let drains_slowly = |load: &Load| {
            let rate = steps[load.index].queueing.drain_rate(usual_ns);
            rate < SLOW * load.asked || (steady < STEADY && rate < SLOWISH * load.asked)
        };
        let waits = |load: &&&Load| {
            let queueing = &steps[load.index].queueing;
            queueing.median_ns > waiting_ns && (stands(load) || drains_slowly(load))
        };
        // A short queue that overflows takes packets evenly, or several in a row, and seldom one by one at random.
        let at_random = |load: &&&Load| {
            let step = &steps[load.index];
            step.queueing.median_ns < OF_CARDS_NS.max(AGGREGATED * jitter_ns) && !is_clumped(step)
        };
        let is_random = steady >= STEADY && limited.iter().filter(at_random).count() * 2 >= limited.len();
        // Of a slower test a full path takes a smaller share, and carries as much.
        let is_denied = |load: &&Load| {
            let mut slower = same_but_slower(looked.slower, load);
            slower.any(|other| {
                other.bits < (1.0 - LOOSELY) * load.bits
                    && other.beyond(load.beside) >= (1.0 - LOOSELY) * load.excess()
            })
        };
        let is_denied = steady >= STEADY && limited.iter().any(is_denied);
        let waiting = limited.iter().filter(waits).count();
        let queued = !is_random && !is_denied && waiting * 2 > limited.len();
        Some(Loads {
            all,
            slower: looked.slower,
            onset,
            steady,
            queued,
        })
    }

    fn limited(&self) -> impl Iterator<Item = &Load> {
        self.all.iter().filter(|load| load.is_limited())
    }

    fn free(&self) -> impl Iterator<Item = &Load> {
        self.all
            .iter()
            .filter(|load| !load.is_limited() && !load.mostly_dark)
    }

    fn credit_s(&self) -> f64 {
        self.limited().map(|load| load.credit_s).fold(0.0, f64::max)
    }

    /// Fewest and most flows of the limited tests.
    fn flows(&self) -> (f64, f64) {
        spread(self.limited().map(|load| load.flows))
    }

    /// Whether a limit causes the loss: it does so more evenly than chance, as much passes at a much lower rate, or a lower rate alone
    /// passes; not where shorter bursts at nearly the same rate do.
    fn is_of_limit(&self) -> bool {
        let holds = |load: &Load| {
            let mut slower = same_but_slower(self.slower, load).filter(|other| other.is_limited());
            slower.any(|other| {
                load.asked >= MUCH_FASTER * other.asked
                    && (other.packets - load.packets).abs() <= LOOSELY * load.packets
            })
        };
        let eases = |load: &Load| {
            // It meets what all tests of its flows and length do.
            let passes = |other: &&Load| LossOnset::is_below(other.beyond(load.beside), load.excess());
            let mut passing = same_but_slower(self.slower, load).filter(passes).peekable();
            passing.peek().is_some() && passing.all(|other| other.asked < (1.0 - AGREE) * load.asked)
        };
        self.steady < STEADY || self.limited().any(|load| holds(load) || eases(load))
    }

    /// A flow that takes too much is limited all the time, and as much passes over more flows: over all numbers of them that are
    /// twice as many, and over two at least.
    fn is_eased_by_flows(&self) -> bool {
        let is_shared = |load: &Load| {
            let more = self.all.iter().filter(|other| {
                other.payload == load.payload
                    && other.flows >= 2.0 * load.flows
                    && other.asked >= (1.0 - AGREE) * load.asked
                    && !other.mostly_dark
            });
            let passes = |other: &&Load| LossOnset::is_below(other.excess(), load.excess());
            // Where the cap holds two flows, too, each of them gets the same.
            let is_held = |other: &&Load| {
                let (here, there) = (load.bits / load.flows, other.bits / other.flows);
                other.is_limited() && (there / here - 1.0).abs() <= AGREE
            };
            more.clone().filter(passes).count() >= 2
                && more.clone().all(|other| passes(&other) || is_held(&other))
        };
        // A flow may be on a route that loses more.
        let of_routes = self.all.iter().map(|load| load.worst_route).fold(0.0, f64::max);
        let is_limited = |load: &Load| {
            load.throughout >= 0.5 * load.loss
                && load.by_host < OF_HOSTS * load.excess()
                && load.excess() > 2.0 * of_routes
        };
        self.limited().all(|load| is_limited(load) && is_shared(load))
    }

    /// A bucket of each flow is shorter than its bursts: most tests lose the last of what each flow sends, not of what all do.
    fn bucket_of_each(&self, of: Quantity) -> Option<Limit> {
        let several = || self.limited().filter(|load| load.flows > 1.0);
        let cut = several().filter(|load| load.loses_last_of_each()).count();
        // Of a late sender's bursts a cap on packets takes the last, too.
        if cut < 2 || cut * 2 <= several().count() || self.packets_held().is_some() {
            return None;
        }
        let range = spread(self.limited().map(of));
        // Each flow got nearly the same, and none much more.
        let passes_more = |load: &Load| of(load) > (1.0 + VARIES) * range.1;
        if range.1 > (1.0 + VARIES) * range.0 || self.free().any(passes_more) {
            return None;
        }
        let mut limit = self.limit(LimitKind::FlowRate, range, None);
        // Of shorter packets more fit into the bucket: these meet it, too.
        let met = |load: &&Load| load.loses_last_of_each() && load.excess() >= SOME_LOSS;
        let also = self.all.iter().filter(met).map(|load| load.index);
        limit.steps.extend(also);
        limit.steps.sort_unstable();
        limit.steps.dedup();
        Some(limit)
    }

    /// Each flow got the same.
    fn flow_rate(&self) -> Option<Limit> {
        let of: Quantity = |load| load.bits / load.flows;
        let (fewest, most) = spread(self.limited().map(|load| load.bits));
        // No queue that all flows share lets the more through the more of them there are.
        let grows = most >= SWEEP as f64 * fewest;
        if self.is_eased_by_flows()
            && let Some(range) = self.holds(of, AGREE)
        {
            return Some(self.limit(LimitKind::FlowRate, range, Some(&of)));
        }
        if let Some(limit) = self.bucket_of_each(of) {
            return Some(limit);
        }
        if (self.queued && !grows) || !self.is_of_limit() {
            return None;
        }
        if let Some(range) = self.holds_alone(of, [|load| load.packets, |load| load.bits]) {
            return Some(self.limit(LimitKind::FlowRate, range, Some(&of)));
        }
        // A large bucket lets flows that send less go on for longer.
        let passes_less = |less: &Load, more: &Load| {
            less.asked / less.flows < (1.0 - AGREE) * more.asked / more.flows
                && of(less) < (1.0 - AGREE) * of(more)
        };
        let any_passes_less = || {
            self.limited()
                .any(|less| self.limited().any(|more| passes_less(less, more)))
        };
        let range = self.holds(of, VARIES).filter(|_| grows && !any_passes_less())?;
        let limit = self.limit(LimitKind::FlowRate, range, Some(&of));
        Some(Limit {
            value: range.0,
            ..limit
        })
    }

    fn packets_held(&self) -> Option<(f64, f64)> {
        let others: [Quantity; 2] = [|load| load.bits / load.flows, |load| load.bits];
        self.holds_alone(|load| load.packets, others)
    }

    /// As many packets came through of every length.
    fn packet_rate(&self) -> Option<Limit> {
        let of: Quantity = |load| load.packets;
        let range = self.packets_held()?;
        self.is_of_limit()
            .then(|| self.limit(LimitKind::PacketRate, range, Some(&of)))
    }

    /// As many packets come through of short bursts of another length, at a rate at which the length of the other tests at lower
    /// rates loses nothing. Of longer bursts a bucket that is smaller lets through what it lets through.
    fn packet_rate_of_short_bursts(&self) -> Option<Limit> {
        let (onset, low, high) = self.onset_in_packets()?;
        let held = low * (1.0 - NEAR)..=high * (1.0 + NEAR);
        let is_held = |load: &Load| {
            load.is_limited()
                && load.asked <= onset.carried.0 as f64 * (1.0 + EXCEEDED)
                && held.contains(&load.packets)
        };
        let is_shown = self.is_of_limit() && self.of_other_length(onset).any(is_held);
        let range = spread(self.limited().map(|load| load.packets));
        is_shown.then(|| self.limit(LimitKind::PacketRate, range, None))
    }

    /// Short bursts of another length pass at more packets per second than those whose loss begins.
    fn passes_more_packets(&self) -> bool {
        self.onset_in_packets().is_some_and(|(onset, _, high)| {
            self.of_other_length(onset)
                .any(|load| load.loss < LEAST_LOSS && load.packets > high)
        })
    }

    /// The rates without and with loss, packets per second.
    fn onset_in_packets(&self) -> Option<(&LossOnset, f64, f64)> {
        let onset = self.onset?;
        let packets = |rate: Rate| rate.0 as f64 / 8.0 / f64::from(onset.length.max(1));
        Some((onset, packets(onset.carried), packets(onset.lossy)))
    }

    /// Tests at lower rates with shorter payloads than those by which the rate is known at which loss begins.
    fn of_other_length<'s>(&'s self, onset: &LossOnset) -> impl Iterator<Item = &'s Load> {
        let (flows, length) = (f64::from(onset.flows), onset.length);
        self.slower
            .iter()
            .filter(move |load| load.payload < length && load.flows == flows)
    }

    /// A full path, or a cap on all flows together.
    fn of_all_flows(&self) -> Option<Limit> {
        let of = |load: &Load| load.bits;
        let range = spread(self.limited().map(of));
        if self.queued {
            return Some(self.limit(LimitKind::Path, range, None));
        }
        if !self.is_of_limit() {
            return None;
        }
        if let Some(together) = self.holds(of, AGREE) {
            let limit = self.limit(LimitKind::Together, together, Some(&of));
            // What passes of each burst says nothing of a rate.
            let passes_more = |load: &Load| load.loss < LEAST_LOSS && of(load) > together.1 * (1.0 + LOOSELY);
            let passes_less = |load: &Load| load.is_limited() && of(load) < together.0 * (1.0 - LOOSELY);
            let passes_another = |load: &Load| passes_more(load) || passes_less(load);
            let cuts_bursts = self.slower.iter().any(passes_another) && !self.passes_more_packets();
            return Some(Limit {
                flows_swept: limit.flows_swept && !cuts_bursts,
                ..limit
            });
        }
        // What loses as steadily as a limit and yet passes more of some lengths than of others depends on the sender's
        // bursts: they overflow a queue that is too short for its delay to show.
        let most = self.limited().count() as f64 >= MOST_STEPS * self.all.len() as f64;
        let slowest = self.limited().map(|load| load.asked).fold(f64::MAX, f64::min);
        let are_fastest = self.free().all(|load| load.asked < slowest);
        (most || are_fastest).then(|| self.limit(LimitKind::Path, range, None))
    }

    /// The range of a quantity, if that alone may be what is held.
    fn holds_alone(&self, quantity: Quantity, others: [Quantity; 2]) -> Option<(f64, f64)> {
        let alone = |agree: f64, differ: f64| {
            let range = self.holds(quantity, agree)?;
            let differ = |other: &Quantity| self.holds_within(other, differ, |_| 0.0).is_none();
            others.iter().all(differ).then_some(range)
        };
        let roughly = || alone(ROUGHLY, 1.0);
        alone(AGREE, AGREE)
            .or_else(|| alone(0.5 * LOOSELY, LOOSELY))
            .or_else(|| alone(LOOSELY, 2.0 * LOOSELY))
            .or_else(roughly)
    }

    /// The range of a quantity, if the limited tests agree on it to this share and no other test passed more of it.
    fn holds(&self, quantity: impl Fn(&Load) -> f64, agree: f64) -> Option<(f64, f64)> {
        self.holds_within(quantity, agree, Load::unsure_of_hosts)
    }

    /// The same where the quantity of each test is unsure by a share of it.
    fn holds_within(
        &self,
        quantity: impl Fn(&Load) -> f64,
        agree: f64,
        unsure: fn(&Load) -> f64,
    ) -> Option<(f64, f64)> {
        let least = |load: &Load| quantity(load) * (1.0 - unsure(load));
        let most = |load: &Load| quantity(load) * (1.0 + unsure(load));
        let (_, high) = spread(self.limited().map(least));
        let (low, _) = spread(self.limited().map(most));
        let middle = 0.5 * (low + high);
        let range = (low.min(middle), high.max(middle));
        let filled_s = self
            .limited()
            .map(|load| load.first_more_s)
            .fold(FILLED_S, f64::max);
        let exceeded = self
            .free()
            .any(|load| quantity(load) > range.1 * (1.0 + EXCEEDED + filled_s / load.seconds));
        (range.1 <= range.0 * (1.0 + agree) && !exceeded).then_some(range)
    }

    /// Tests that lost little and passed as much as the limit met it, too.
    fn limit(&self, kind: LimitKind, range: (f64, f64), of: Option<&dyn Fn(&Load) -> f64>) -> Limit {
        let met = |load: &&Load| {
            let passed = |of: &dyn Fn(&Load) -> f64| of(load) >= range.0 * (1.0 - AGREE);
            load.is_limited() || (load.excess() >= SOME_LOSS && of.is_some_and(passed))
        };
        let (fewest, most) = self.flows();
        Limit {
            kind,
            value: 0.5 * (range.0 + range.1),
            range,
            steps: self.all.iter().filter(met).map(|load| load.index).collect(),
            steady: self.steady,
            queued: self.queued,
            queue_ns: self.limited().map(|load| load.queue_ns).fold(f64::MAX, f64::min),
            carried: self.onset.map_or(0.0, |onset| onset.carried.0 as f64),
            credit_s: self.credit_s(),
            drifts: self.limited().filter(|load| load.drifts).count() >= 2,
            flows_swept: most >= SWEEP as f64 * fewest,
            between: None,
            of_long_bursts: None,
        }
    }
}

/// Tests at lower rates with the same flows and payload.
fn same_but_slower<'s>(slower: &'s [Load], load: &Load) -> impl Iterator<Item = &'s Load> {
    let (flows, payload) = (load.flows, load.payload);
    let same = move |other: &&Load| (other.flows, other.payload) == (flows, payload);
    slower.iter().filter(same)
}

fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Probability that so many pieces of the limited tests lose as nearly alike, were the losses independent. A host that
/// was held up now and then spoils single pieces, which a sum of squares would not forgive.
fn steadiness(steps: &[Step], limited: &[&Load]) -> f64 {
    let (mut alike, mut compared, mut chance) = (0, 0, 0.0_f64);
    for load in limited {
        let step = &steps[load.index];
        let pieces = pieces::of_stream(step);
        let rate = median(pieces.iter().map(|piece| piece.rate()).collect());
        if pieces.len() < 2 || rate <= 0.0 || rate >= 1.0 {
            continue;
        }
        let deviation = |piece: &Counted| (piece.trials as f64 * rate * (1.0 - rate)).sqrt();
        let near = |piece: &&Counted| {
            let expected = piece.trials as f64 * rate;
            (piece.events as f64 - expected).abs() <= ALIKE * deviation(piece)
        };
        // The middle one is as the middle one.
        alike += (pieces.iter().filter(near).count() as u64).saturating_sub(1);
        compared += pieces.len() as u64 - 1;
        // Counts are whole: in small ones more are within reach.
        let within = |piece: &Counted| {
            let deviation = deviation(piece);
            1.0 - 2.0 * normal_tail(((ALIKE * deviation).floor() + 0.5) / deviation)
        };
        chance = pieces.iter().map(within).fold(chance, f64::max);
    }
    binomial_at_least(alike, compared, chance.min(1.0))
}
