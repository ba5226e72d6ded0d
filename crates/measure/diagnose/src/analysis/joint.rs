//! Which loss of the tests of a direction is a limit's, and which is not: a limit, a length above which packets are lost, and
//! loss that all tests meet are inferred together, since each hides the others from a look of its own. Of all that the tests
//! themselves suggest, the smallest set of causes that predicts the loss of every test is taken.

use std::collections::BTreeMap;

use weir_stats::{Counted, total};

use super::Step;
use super::limits::{self, LEAST_LOSS, Limit, LimitKind, Load, Steadiness};
use super::process::design_effect;

/// A cause has to make the prediction better by this much (nats): above the logarithm of the number of sets that are
/// tried.
const PRICE: f64 = 12.0;
/// The prediction of a test by a limit is off by this share of it: bursts, buckets and their first fill.
const ROUGH: f64 = 0.02;
/// Any other by this share: the same loss is not the same in every second.
const UNEVEN: f64 = 0.05;
/// The same where a full path decides: what its queue takes depends on the sender's bursts.
const FULL: f64 = 0.05;
/// Packets that a host dropped are counted, or estimated, with this error.
const HOST: f64 = 0.1;
/// Loss below which a prediction is exact enough.
const EXACT: f64 = 2e-5;
/// What a queue, or losses as even as a limit's, say at most against causes that have neither (nats).
const DECIDED: f64 = 60.0;
/// A test that is further off than this many deviations says no more against a set of causes than one that is.
const FAR: f64 = 50.0;

/// What causes the loss of the tests of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joint {
    /// What limits the stream below its rate.
    pub limit: Option<Limit>,
    /// Loss of long packets.
    pub long: Option<Long>,
    /// What each test is expected to lose, by its index; none where it was sent without a rate.
    pub expected: BTreeMap<usize, Expected>,
}

/// Shares of a test's packets that the network is expected to lose, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// To the limit.
    pub limit: f64,
    /// Because they are long.
    pub long: f64,
    /// To what all tests meet.
    pub everywhere: f64,
    /// Standard deviation of all of it.
    pub deviation: f64,
}

impl Expected {
    /// All of it.
    pub fn all(&self) -> f64 {
        self.limit + self.long + self.everywhere
    }
}

/// Loss of packets above a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Long {
    /// Longest payload without it.
    pub longest_good: u32,
    /// How much better it predicts the losses than the best set of causes without it, nats.
    pub gain: f64,
}

/// Infers them.
pub(super) fn infer(steps: &[Step], header_bytes: u32) -> Joint {
    let load = |(index, step): (usize, &Step)| Load::of(index, step, header_bytes);
    let loads: Vec<Load> = steps.iter().enumerate().filter_map(load).collect();
    let spreads = spreads(steps, &loads);
    let mut steady = Steadiness::default();
    let queued = limits::is_queued(steps, &loads, &mut steady);
    let mut best: Option<(f64, Causes, Option<Limit>)> = None;
    let mut best_without = f64::MAX;
    for causes in Causes::suggested_by(&loads) {
        let mut loads = loads.clone();
        loads
            .iter_mut()
            .for_each(|load| load.beside = causes.loss_of(load.payload));
        let limit = limits::find(steps, &loads, &mut steady);
        let each = loads.iter().zip(&spreads);
        let misfit: f64 = each
            .map(|(load, spread)| misfit(load, limit.as_ref(), spread))
            .sum();
        let limit_is_full = limit.as_ref().is_some_and(|limit| limit.kind == LimitKind::Path);
        let against = if queued && !limit_is_full {
            DECIDED
        } else {
            steady.against_chance(steps, &loads, limit.as_ref()).min(DECIDED)
        };
        let cost = misfit + against + PRICE * (causes.count() + usize::from(limit.is_some())) as f64;
        if causes.long.is_none() {
            best_without = best_without.min(cost);
        }
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, causes, limit));
        }
    }
    let Some((cost, causes, limit)) = best else {
        return Joint::default();
    };
    let long = causes.long.map(|(longest_good, _)| Long {
        longest_good,
        gain: best_without - cost,
    });
    let causes = causes.refined(&loads, limit.as_ref());
    let expected = |(load, spread): (&Load, &Spread)| {
        let mut load = load.clone();
        load.beside = causes.loss_of(load.payload);
        let (predicted, deviation) = predicted(&load, limit.as_ref(), spread);
        let long = load.beside - causes.everywhere;
        let expected = Expected {
            limit: predicted - load.beside,
            long,
            everywhere: causes.everywhere,
            deviation,
        };
        (load.index(), expected)
    };
    let expected = loads.iter().zip(&spreads).map(expected).collect();
    Joint {
        limit,
        long,
        expected,
    }
}

/// What the loss of a test varies by beside its mean.
struct Spread {
    /// Variance over that of independent losses.
    bursts: f64,
    /// Variance of the mean, since each flow has a route and routes lose unequally.
    routes: f64,
}

fn spreads(steps: &[Step], loads: &[Load]) -> Vec<Spread> {
    let unequal = loads
        .iter()
        .filter(|load| load.loss < LEAST_LOSS)
        .map(|load| unequal(&steps[load.index()]))
        .fold(0.0, f64::max);
    let of = |load: &Load| {
        let step = &steps[load.index()];
        Spread {
            bursts: design_effect(step),
            routes: unequal / step.flow_count().max(1) as f64,
        }
    };
    loads.iter().map(of).collect()
}

/// Variance of the loss of flows, beyond that of counting.
fn unequal(step: &Step) -> f64 {
    let (flows, mean) = (step.flow_loss.len() as f64, step.loss().rate());
    if flows < 2.0 || mean <= 0.0 {
        return 0.0;
    }
    let effect = design_effect(step);
    let beyond = |flow: &Counted| {
        let counting = effect * mean * (1.0 - mean) / flow.trials.max(1) as f64;
        (flow.rate() - mean).powi(2) - counting
    };
    (step.flow_loss.iter().map(beyond).sum::<f64>() / (flows - 1.0)).max(0.0)
}

/// Loss that is not a limit's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Causes {
    /// Packets of all tests are lost with this probability.
    everywhere: f64,
    /// Longer payloads than this are lost with that probability, too.
    long: Option<(u32, f64)>,
}

impl Causes {
    /// What the losses of the tests themselves suggest: every test may be one that meets no limit.
    fn suggested_by(loads: &[Load]) -> Vec<Causes> {
        let losses = |of: &dyn Fn(&Load) -> bool| -> Vec<f64> {
            let mut losses: Vec<f64> = loads
                .iter()
                .filter(|load| of(load))
                .map(|load| load.loss)
                .collect();
            losses.push(0.0);
            losses.sort_by(f64::total_cmp);
            losses.dedup_by(|a, b| (*a - *b).abs() <= 0.01 * *b);
            losses
        };
        let mut lengths: Vec<u32> = loads.iter().map(|load| load.payload).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths.pop();
        let mut all = Vec::new();
        for everywhere in losses(&|_| true).into_iter().filter(|loss| *loss < 1.0) {
            all.push(Causes {
                everywhere,
                long: None,
            });
            for longest in &lengths {
                let above = losses(&|load: &Load| load.payload > *longest);
                let beyond = above.into_iter().filter(|loss| *loss > everywhere && *loss < 1.0);
                all.extend(beyond.map(|loss| Causes {
                    everywhere,
                    long: Some((*longest, 1.0 - (1.0 - loss) / (1.0 - everywhere))),
                }));
            }
        }
        all
    }

    fn loss_of(&self, payload: u32) -> f64 {
        let long = self
            .long
            .filter(|(longest, _)| payload > *longest)
            .map_or(0.0, |(_, loss)| loss);
        1.0 - (1.0 - self.everywhere) * (1.0 - long)
    }

    /// The same causes, with the losses of all tests that meet no limit in place of single ones.
    fn refined(self, loads: &[Load], limit: Option<&Limit>) -> Causes {
        let longest = self.long.map_or(u32::MAX, |(longest, _)| longest);
        let pooled = |of: &dyn Fn(&Load) -> bool| -> Option<f64> {
            let is_free = |load: &&Load| limit.is_none_or(|limit| !limit.steps.contains(&load.index()));
            let counted: Vec<Counted> = loads
                .iter()
                .filter(is_free)
                .filter(|load| of(load))
                .map(|load| load.counted)
                .collect();
            (!counted.is_empty()).then(|| total(&counted).rate())
        };
        let everywhere = pooled(&|load| load.payload <= longest).unwrap_or(self.everywhere);
        let long = self.long.map(|(longest, loss)| {
            let above = pooled(&|load| load.payload > longest);
            let beyond = |above: f64| 1.0 - (1.0 - above) / (1.0 - everywhere).max(1e-9);
            (longest, above.map_or(loss, |above| beyond(above).max(0.0)))
        });
        Causes { everywhere, long }
    }

    fn count(&self) -> usize {
        usize::from(self.everywhere > 0.0) + usize::from(self.long.is_some())
    }
}

/// What a test's loss says against a prediction: the negative logarithm of its normal density, so that a prediction that
/// fits everything pays for being vague.
fn misfit(load: &Load, limit: Option<&Limit>, spread: &Spread) -> f64 {
    let (predicted, deviation) = predicted(load, limit, spread);
    let off = ((load.loss - predicted).abs() / deviation).min(FAR);
    0.5 * off * off + (deviation / EXACT).ln()
}

/// The loss of a test, and its standard deviation.
fn predicted(load: &Load, limit: Option<&Limit>, spread: &Spread) -> (f64, f64) {
    let taken = limit.map_or(0.0, |limit| load.taken_by(limit));
    let predicted = 1.0 - (1.0 - load.beside) * (1.0 - taken);
    let middle = 0.5 * (predicted + load.loss);
    let counting = spread.bursts * middle * (1.0 - middle) / load.counted.trials.max(1) as f64;
    let rough = match limit.map(|limit| limit.kind) {
        Some(LimitKind::Path) => FULL,
        Some(_) if taken > 0.0 => ROUGH,
        _ => 0.0,
    };
    let uneven = UNEVEN * predicted + EXACT;
    let host = HOST * load.by_host;
    let rough = rough * rough + uneven * uneven + host * host;
    (predicted, (counting + rough + spread.routes).sqrt())
}
