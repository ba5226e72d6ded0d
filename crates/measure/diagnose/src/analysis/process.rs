//! The loss process of a direction: how often packets are lost, whether one by one or in bursts, and the model that
//! forecasts what a code or retransmission leaves of it.

use weir_stats::{
    Counted, Gilbert, GilbertFit, LossSequence, close_losses_probability, close_share, equal_rates,
    few_runs_probability, fit_gilbert, loss_interval, median, poisson_at_least, total,
};

use super::seen_routes::{SeenRoute, seen_routes};
use super::sequences::Order;
use super::{Step, sequences};

/// Bursts are believed below this chance.
pub(crate) const CHANCE: f64 = 0.01;
/// Fewer losses than this that look independent are too few to tell.
const TELLING: u64 = 20;
/// Within a burst this multiple of the mean is lost at least: less is unevenness, which a long test shows of any path.
const DENSER: f64 = 1.5;
/// The level of all packets.
const STREAM: &str = "stream";
/// Losses within so many rounds over all flows are close.
const CLOSE_ROUNDS: u64 = 2;
/// Lost packets that an independent loss stands for, counted within a reach in which one in ten has another: 1.2 if all are
/// independent.
const CLUMPED: f64 = 1.5;
/// Losses further apart are never one event.
const MOST_REACH: f64 = 200.0;
/// A test in which hosts dropped some lost no more than this multiple of the usual in the network.
const AS_USUAL: f64 = 1.5;
/// Routes that lose unequally with a chance below this each get a model of their own.
const UNEQUAL: f64 = 0.02;

/// What the losses look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing was lost.
    NoneSeen,
    /// Too few to tell.
    TooFew,
    /// One by one.
    Independent,
    /// In bursts.
    Bursty,
}

/// Loss of a part of the stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    /// Part of the packets that meet this process, 0 to 1.
    pub share: f64,
    /// The process.
    pub process: Gilbert,
}

/// The loss process of several tests.
#[derive(Clone, Debug)]
pub(crate) struct LossProcess<'s, 'a> {
    /// The tests that it was taken from.
    pub steps: Vec<&'s Step<'a>>,
    /// Packets lost outside of outages, of those sent then.
    pub loss: Counted,
    /// Bounds of the loss, 95 %, widened where bursts make each packet say less.
    pub interval: (f64, f64),
    /// What the losses look like.
    pub kind: Kind,
    /// Probability of losses as close together as these if they were independent.
    pub p_value: f64,
    /// The sequence in which they are: the stream, the routes, or the flows.
    pub level: &'static str,
    /// Lost packets over independent events.
    pub packets_per_event: f64,
    /// The fitted process, where it is bursty.
    pub fit: Option<GilbertFit>,
    /// Packets of a test in a sequence of that kind, on average.
    pub sequence_packets: f64,
    /// The whole stream as parts with a process each.
    pub model: Vec<Share>,
    /// Where it is bursty: what the network took of the stream, in the order in which packets left, one test after the other.
    pub recorded: Option<LossSequence>,
}

/// The process of these tests; none without a packet.
pub(crate) fn process<'s, 'a>(steps: &[&'s Step<'a>]) -> Option<LossProcess<'s, 'a>> {
    let loss = total(&steps.iter().map(|step| step.network_loss()).collect::<Vec<_>>());
    if loss.trials == 0 {
        return None;
    }
    let routes = seen_routes(steps);
    let levels = levels(steps, &routes);
    let tests: f64 = 2.0 * levels.len().max(1) as f64;
    let clearest = clearest(&levels, CHANCE / tests);
    let p_value = clearest.map_or(1.0, |(p_value, _)| (p_value * tests).min(1.0));
    let showing = clearest.filter(|_| loss.events > 0 && p_value < CHANCE);
    let fit = showing.and_then(|(_, level)| fit_gilbert(&level.as_sent));
    // The sequences have what hosts drop one by one, too.
    let in_sequences = |step: &&Step| match step.lost_singly_on_host() {
        true => step.loss(),
        false => step.network_loss(),
    };
    let of_all = total(&steps.iter().map(in_sequences).collect::<Vec<_>>());
    let is_dense = |fit: &GilbertFit| fit.process.loss_bad >= DENSER * of_all.rate();
    let showing = showing.filter(|_| fit.as_ref().is_none_or(is_dense));
    let fit = fit.filter(|_| showing.is_some());
    let kind = match loss.events {
        0 => Kind::NoneSeen,
        _ if showing.is_some() => Kind::Bursty,
        events if events < TELLING => Kind::TooFew,
        _ => Kind::Independent,
    };
    let packets_per_event = showing.map_or(1.0, |(_, level)| level.design_effect());
    let of_stream = levels.iter().find(|level| level.name == STREAM);
    let recorded = of_stream.filter(|_| kind == Kind::Bursty);
    Some(LossProcess {
        steps: steps.to_vec(),
        loss,
        interval: interval(loss, packets_per_event),
        kind,
        p_value,
        level: clearest.map_or(STREAM, |(_, level)| level.name),
        packets_per_event,
        fit,
        sequence_packets: clearest.map_or(0.0, |(_, level)| level.mean_length()),
        model: model(&routes, loss, kind, fit.as_ref()),
        recorded: recorded.map(|level| in_turn(&level.as_sent)),
    })
}

fn in_turn(sequences: &[LossSequence]) -> LossSequence {
    let mut all = LossSequence {
        lost: Vec::new(),
        length: 0,
    };
    for sequence in sequences {
        all.lost
            .extend(sequence.lost.iter().map(|place| all.length + place));
        all.length += sequence.length;
    }
    all
}

/// The first level that shows bursts: routes before the stream before flows, since a level above scatters what happens
/// on one below, but recovery works on the stream. Where none does, the one that comes nearest.
fn clearest(levels: &[Level], chance: f64) -> Option<(f64, &Level)> {
    let tested: Vec<(f64, &Level)> = levels
        .iter()
        .map(|level| (level.bursty_probability(), level))
        .collect();
    let showing = tested.iter().find(|(p_value, _)| *p_value < chance);
    showing
        .or_else(|| tested.iter().min_by(|a, b| a.0.total_cmp(&b.0)))
        .copied()
}

/// Clopper and Pearson's interval for as many independent events as the losses are worth.
pub(crate) fn interval(loss: Counted, packets_per_event: f64) -> (f64, f64) {
    let worth = |count: u64| (count as f64 / packets_per_event).round() as u64;
    loss_interval(
        worth(loss.events).min(worth(loss.trials)),
        worth(loss.trials).max(1),
    )
}

/// The same losses in one kind of sequence.
struct Level {
    name: &'static str,
    /// In the order of the stream, which tells bursts from flows that lose unequally.
    sequences: Vec<LossSequence>,
    /// In the order in which packets left, which shows how long bursts last.
    as_sent: Vec<LossSequence>,
    /// Distance within which losses are close.
    reach: u64,
}

/// Of routes and of the stream, those of the tests of which the store holds every burst.
fn levels(steps: &[&Step], routes: &[SeenRoute]) -> Vec<Level> {
    let mut levels = Vec::new();
    let flows = steps.iter().map(|step| step.flow_count()).max().unwrap_or(1) as u64;
    let usual = median(steps.iter().map(|step| step.network_loss().rate()).collect());
    let of_flows = |step: &Step, flows: &Vec<u16>| {
        let in_order = |order| {
            let mut classes = sequences::by_class(step, std::slice::from_ref(flows), order)?;
            in_network(step, usual, vec![classes.swap_remove(0).sequence]).pop()
        };
        Some((in_order(Order::Stream)?, in_order(Order::Sent)?))
    };
    let mut add = |name, reach, both: Vec<(LossSequence, LossSequence)>| {
        let (sequences, as_sent): (Vec<LossSequence>, Vec<LossSequence>) = both.into_iter().unzip();
        if !sequences.is_empty() {
            levels.push(Level {
                name,
                sequences,
                as_sent,
                reach,
            });
        }
    };
    if routes.len() > 1 {
        let parts = routes.iter().flat_map(|route| &route.parts);
        let sequences = parts.filter_map(|(step, flows)| of_flows(step, flows));
        let reach = CLOSE_ROUNDS * flows.div_ceil(routes.len() as u64);
        add("route", reach, sequences.collect());
    }
    let everything = |step: &&Step| of_flows(step, &(0..step.flow_count() as u16).collect());
    let sequences = steps.iter().filter_map(everything);
    add(STREAM, CLOSE_ROUNDS * flows, sequences.collect());
    let by_flow = |step: &&Step| in_network(step, usual, sequences::by_flow(step));
    let by_flow: Vec<LossSequence> = steps.iter().flat_map(by_flow).collect();
    levels.push(Level {
        name: "flow",
        as_sent: by_flow.clone(),
        sequences: by_flow,
        reach: CLOSE_ROUNDS,
    });
    levels
}

/// The losses of sequences of a test without those that hosts dropped, which came in the longest runs; `usual` is the share that the
/// network loses of such tests.
fn in_network(step: &Step, usual: f64, mut sequences: Vec<LossSequence>) -> Vec<LossSequence> {
    if step.lost_singly_on_host() || step.host_share() <= 0.0 {
        return sequences;
    }
    let reach = reach_of(step.network_loss().rate());
    let mut runs: Vec<(usize, Vec<u64>)> = Vec::new();
    let (mut lost, mut length) = (0, 0);
    for (at, sequence) in sequences.iter_mut().enumerate() {
        lost += sequence.lost.len();
        length += sequence.length;
        runs.extend(events(sequence, reach).map(|run| (at, run.to_vec())));
        sequence.lost.clear();
    }
    runs.sort_by_key(|(_, run)| run.len());
    let by_network = (1.0 - step.host_share()) * lost as f64;
    // Where hosts drop many, what is left of the lost packets is estimated.
    let by_network = by_network.min(AS_USUAL * usual * length as f64).round();
    let mut by_hosts = lost as f64 - by_network;
    while by_hosts > 0.0
        && let Some((_, run)) = runs.pop()
    {
        // The network took as many of these as of others.
        by_hosts -= (1.0 - usual) * run.len() as f64;
    }
    for (at, run) in runs {
        sequences[at].lost.extend(run);
    }
    for sequence in &mut sequences {
        sequence.lost.sort_unstable();
    }
    sequences
}

/// So far that independent losses of this rate seldom are as close, but burst losses are.
fn reach_of(rate: f64) -> u64 {
    (0.1 / rate.max(1e-9)).min(MOST_REACH) as u64
}

/// Losses within `reach` of each other are one event.
fn events(sequence: &LossSequence, reach: u64) -> impl Iterator<Item = &[u64]> {
    sequence.lost.chunk_by(move |a, b| b - a <= reach)
}

impl Level {
    /// The smaller probability of two tests: losses next to each other (runs), and losses close to each other.
    fn bursty_probability(&self) -> f64 {
        let lossy: Vec<&LossSequence> = self
            .sequences
            .iter()
            .filter(|sequence| sequence.lost.len() > 1)
            .collect();
        if let [only] = lossy.as_slice() {
            let lost = only.lost.len() as u64;
            let runs = lost - close_pairs(only, 1);
            let few = few_runs_probability(lost, only.length - lost, runs);
            return few.min(close_losses_probability(
                lost,
                only.length,
                close_pairs(only, self.reach),
                self.reach,
            ));
        }
        // Rare events in many sequences add up to a Poisson number; where they are not rare its variance is larger than
        // theirs, which errs to the safe side.
        let pooled = |reach: u64| {
            let seen: u64 = lossy.iter().map(|sequence| close_pairs(sequence, reach)).sum();
            let expected: f64 = lossy
                .iter()
                .map(|sequence| {
                    let lost = sequence.lost.len() as u64;
                    (lost - 1) as f64 * close_share(lost, sequence.length, reach)
                })
                .sum();
            poisson_at_least(seen, expected)
        };
        pooled(1).min(pooled(self.reach))
    }

    fn mean_length(&self) -> f64 {
        let lengths = self.sequences.iter().map(|sequence| sequence.length);
        lengths.sum::<u64>() as f64 / self.sequences.len().max(1) as f64
    }

    /// What one loss says less than an independent one.
    fn design_effect(&self) -> f64 {
        effect(&self.sequences, 2 * self.reach, u64::MAX)
    }
}

/// What the network took of each flow.
pub(crate) fn flow_loss_in_network(step: &Step) -> Vec<Counted> {
    let usual = step.network_loss().rate();
    if step.host_share() <= 0.0 || step.lost_singly_on_host() {
        return step.flow_loss.clone();
    }
    let sequences = in_network(step, usual, sequences::by_flow(step));
    let counted = sequences.iter().map(|sequence| Counted {
        events: sequence.lost.len() as u64,
        trials: sequence.length,
    });
    counted.collect()
}

/// Whether its losses come in bursts.
pub(crate) fn is_clumped(step: &Step) -> bool {
    design_effect(step) >= CLUMPED
}

/// What one loss of a step in the network says less than an independent one: 1 for those, more for bursts. Hosts drop what they
/// do in longer runs.
pub(crate) fn design_effect(step: &Step) -> f64 {
    let all: Vec<u16> = (0..step.flow_count() as u16).collect();
    let reach = reach_of(step.loss().rate());
    match sequences::by_class(step, &[all], Order::Stream) {
        Some(classes) => effect(
            &classes
                .into_iter()
                .map(|class| class.sequence)
                .collect::<Vec<_>>(),
            reach,
            step.network_loss().events,
        ),
        None => {
            let events: u64 = step.events.iter().flatten().map(|count| count.events).sum();
            (step.loss().events as f64 / events.max(1) as f64).max(1.0)
        }
    }
}

/// Sum of squares of the losses of an event over their sum, of the smallest events with at most this number of losses together.
fn effect(sequences: &[LossSequence], reach: u64, most: u64) -> f64 {
    let each = sequences.iter().flat_map(|sequence| events(sequence, reach));
    let mut sizes: Vec<usize> = each.map(<[u64]>::len).collect();
    sizes.sort_unstable();
    let (mut squares, mut sum) = (0.0, 0.0);
    for size in sizes {
        let size = (size as f64).min(most as f64 - sum);
        squares += size * size;
        sum += size;
    }
    if sum > 0.0 { squares / sum } else { 1.0 }
}

/// Neighbouring losses at most `reach` packets apart.
fn close_pairs(sequence: &LossSequence, reach: u64) -> u64 {
    sequence
        .lost
        .windows(2)
        .filter(|pair| pair[1] - pair[0] <= reach)
        .count() as u64
}

/// Each route with its own loss where routes lose unequally, else all of it together.
fn model(routes: &[SeenRoute], loss: Counted, kind: Kind, fit: Option<&GilbertFit>) -> Vec<Share> {
    let process = |rate: f64| match fit.filter(|_| kind == Kind::Bursty) {
        Some(fit) => with_loss(&fit.process, rate),
        None => Gilbert::independent(rate),
    };
    let counts: Vec<Counted> = routes
        .iter()
        .map(|route| {
            let flows = route
                .parts
                .iter()
                .flat_map(|(step, flows)| flows.iter().map(|flow| step.flow_loss[usize::from(*flow)]));
            total(&flows.collect::<Vec<_>>())
        })
        .collect();
    let events: Vec<Vec<Counted>> = routes
        .iter()
        .map(|route| {
            let flows = route.parts.iter().flat_map(|(step, flows)| {
                flows
                    .iter()
                    .flat_map(|flow| step.events[usize::from(*flow)].clone())
            });
            flows.collect()
        })
        .collect();
    if routes.len() < 2 || equal_rates(&events).is_none_or(|test| test.p_value >= UNEQUAL) {
        return vec![Share {
            share: 1.0,
            process: process(loss.rate()),
        }];
    }
    let all = total(&counts).trials.max(1) as f64;
    counts
        .iter()
        .map(|count| Share {
            share: count.trials as f64 / all,
            process: process(count.rate()),
        })
        .collect()
}

/// The same bursts, as often as it takes for this loss.
pub(crate) fn with_loss(process: &Gilbert, rate: f64) -> Gilbert {
    let (good, bad) = (process.loss_good, process.loss_bad);
    if rate <= good || bad <= rate {
        return Gilbert::independent(rate);
    }
    // The share of time in the bad state that gives the rate.
    let share = (rate - good) / (bad - good);
    Gilbert {
        to_bad: (process.to_good * share / (1.0 - share)).min(1.0),
        loss_good: good,
        ..*process
    }
}
