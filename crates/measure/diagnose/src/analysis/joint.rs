//! Which loss of the tests of a direction is a limit's, and which is not: a limit, a length above which packets are lost, and
//! loss that all tests meet are inferred together, since each hides the others from a look of its own. Of all that the tests
//! themselves suggest, the smallest set of causes that predicts the loss of every test is taken.

use std::collections::{BTreeMap, BTreeSet};

use weir_measure::survey::LossOnset;

use super::Step;
use super::expected::{EXACT, Expected, MOST_VAGUE, Vague, WITHIN, predicted};
use super::limit::{Limit, LimitKind};
use super::limits::{self, Looked, Steadiness};
use super::load::{self, Load};
use super::pattern::is_every_length_alike;
use super::set_of_causes::Causes;
use super::single_losses::{self, Said};
use super::spread::{Spread, spreads};

/// A cause has to make the prediction better by this much (nats): above the logarithm of the number of sets that are
/// tried.
const PRICE: f64 = 12.0;
/// A prediction is off by one of these shares of it and of what hosts dropped, whichever predict all tests better. Each share of it that
/// is more has its price (nats), less than a cause.
const UNEVEN: [(f64, f64); 5] = [
    (MOST_VAGUE.uneven, 4.0),
    (0.02, 3.0),
    (0.01, 2.0),
    (0.003, 1.0),
    (0.0, 0.0),
];
const OF_HOSTS: [f64; 3] = [MOST_VAGUE.host, 0.03, 0.01];
/// What a queue, or losses as even as a limit's, say at most against causes that have neither (nats).
const DECIDED: f64 = 60.0;
/// A test at a lower rate that is near a limit may lose anything from nothing to this share.
const NEAR_LIMIT: f64 = 0.1;
/// A test that is further off than this many deviations says no more against a set of causes than one that is.
const FAR: f64 = 10.0;

/// What causes the loss of the tests of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joint {
    /// What limits the stream below its rate.
    pub limit: Option<Limit>,
    /// Loss that all tests meet, 0 to 1, with one flow, as a mean over the routes.
    pub everywhere: f64,
    /// Loss that grows with the number of flows.
    pub growth: Option<Growth>,
    /// Loss of long packets.
    pub long: Option<Long>,
    /// What each test is expected to lose, by its index; none where it was sent without a rate.
    pub expected: BTreeMap<usize, Expected>,
}

/// Loss that grows with the number of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// Loss that each flow beyond the first adds, 0 to 1.
    pub of_flow: f64,
    /// How much better it predicts the losses than the best set of causes without it, nats.
    pub gain: f64,
}

/// Loss of packets above a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Long {
    /// Longest payload without it.
    pub longest_good: u32,
    /// Share of what other causes let through.
    pub loss: f64,
    /// How much better it predicts the losses than the best set of causes without it, nats.
    pub gain: f64,
}

/// A set of causes, and how badly it predicts the losses.
struct Tried {
    causes: Causes,
    limit: Option<Limit>,
    /// Nats; less is better.
    cost: f64,
    /// What of it is the price of the causes.
    price: f64,
    /// What the number of loss events says for the loss of long packets.
    singly: Option<Said>,
}

/// Infers them; `eased` are tests at lower rates, `onset` is the rate at which loss begins by these, and `jitter_ns` the path's
/// without a load.
pub(super) fn infer(
    steps: &[Step],
    eased: &[Step],
    onset: Option<&LossOnset>,
    header_bytes: u32,
    jitter_ns: f64,
) -> Joint {
    let all: Vec<&Step> = steps.iter().chain(eased).collect();
    let load = |(index, step): (usize, &&Step)| Load::of(index, step, header_bytes);
    let mut loads: Vec<Load> = all.iter().enumerate().filter_map(load).collect();
    let has_routes = load::show_routes(&loads);
    if has_routes {
        loads = load::on_best_routes(loads);
    }
    let spreads = spreads(&all, &loads);
    let full = loads.iter().filter(|load| load.index < steps.len()).count();
    let looked = Looked {
        steps,
        slower: &loads[full..],
        onset,
        jitter_ns,
    };
    let tried = try_all(&looked, &loads, &spreads);
    let Some(best) = tried.iter().min_by(|a, b| a.cost.total_cmp(&b.cost)) else {
        return Joint::default();
    };
    let gain = |has: fn(&Causes) -> bool| {
        let without = tried.iter().filter(|tried| !has(&tried.causes));
        let without = without.min_by(|a, b| a.cost.total_cmp(&b.cost));
        without.map_or(f64::MAX, |without| {
            (without.cost - without.price) - (best.cost - best.price)
        })
    };
    let long = |(longest_good, loss)| Long {
        longest_good,
        loss,
        gain: gain(|causes| causes.long.is_some()),
    };
    let limit = best.limit.as_ref();
    let is_predicted = |(load, spread): &(&Load, &Spread)| {
        let mut load = (*load).clone();
        load.beside = best.causes.loss_of(&load);
        let (predicted, deviation) = predicted(&load, limit, spread, MOST_VAGUE);
        let is_below = load.index < steps.len() || limit.is_none_or(|limit| load.is_far_below(limit));
        is_below && !load.mostly_dark && (load.loss - predicted).abs() < WITHIN * deviation
    };
    // Where flows lose unequally in some tests, the others say little of what all routes lose.
    let worst_route = loads.iter().map(|load| load.worst_route).fold(0.0, f64::max);
    let is_even =
        |(load, spread): &(&Load, &Spread)| !has_routes || load.knows_routes || spread.routes <= 0.0;
    let predicted_ones = loads.iter().zip(&spreads).filter(is_predicted).filter(is_even);
    // The start of a test is like the rest of it where nothing is limited.
    let telling = predicted_ones.map(|(load, _)| match limit {
        Some(_) => load.clone(),
        None => load.with_start(),
    });
    let causes = best
        .causes
        .refined(&telling.collect::<Vec<_>>(), limit, best.singly);
    let expected = |(load, spread): (&Load, &Spread)| {
        let mut expected = Expected::of(&causes, load, limit, spread);
        expected.worst_route = if load.knows_routes { 0.0 } else { worst_route };
        (load.index, expected)
    };
    Joint {
        everywhere: causes.everywhere + load::lost_by_routes(&loads) * (1.0 - causes.everywhere),
        growth: (causes.growth > 0.0).then(|| Growth {
            of_flow: causes.growth,
            gain: gain(|causes| causes.growth > 0.0),
        }),
        long: causes.long.map(long),
        expected: loads.iter().zip(&spreads).take(full).map(expected).collect(),
        limit: best.limit.clone().map(|limit| limit.beside(onset, header_bytes)),
    }
}

/// Tries all sets on all tests, those at lower rates last.
fn try_all(looked: &Looked, loads: &[Load], spreads: &[Spread]) -> Vec<Tried> {
    let full = loads.len() - looked.slower.len();
    let mut steady = Steadiness::default();
    let is_regular = is_every_length_alike(looked.steps);
    let queued = !is_regular && limits::is_queued(looked, &loads[..full], &mut steady);
    let suggested = Causes::suggested_by(loads, spreads);
    let lengths: BTreeSet<u32> = loads[..full].iter().map(|load| load.payload).collect();
    let lengths = lengths.len() as f64;
    let has_hosts = loads.iter().any(|load| load.by_host > 0.0);
    let of_hosts = if has_hosts { &OF_HOSTS[..] } else { &OF_HOSTS[..1] };
    let vaguenesses: Vec<(Vague, f64)> = UNEVEN
        .iter()
        .flat_map(|(uneven, price)| {
            of_hosts.iter().map(|host| {
                let (uneven, host) = (*uneven, *host);
                (Vague { uneven, host }, *price)
            })
        })
        .collect();
    let mut loads = loads.to_vec();
    let mut all = Vec::new();
    for causes in suggested {
        for load in &mut loads {
            load.beside = causes.loss_of(load);
        }
        let found = if is_regular {
            None
        } else {
            limits::find(looked, &loads[..full], &mut steady)
        };
        // A test that one of the routes took much of may look like a limit: there may be none.
        for limit in found.map(Some).into_iter().chain([None]) {
            let misfit = misfit_of_all(&causes, (&loads, spreads), full, limit.as_ref(), &vaguenesses);
            let limit_is_full = limit.as_ref().is_some_and(|limit| limit.kind == LimitKind::Path);
            let against = if is_regular {
                0.0
            } else if queued && !limit_is_full {
                DECIDED
            } else {
                steady
                    .against_chance(looked.steps, &loads[..full], limit.as_ref())
                    .min(DECIDED)
            };
            let values = limit.as_ref().map_or(0.0, Limit::values);
            let which_length = causes.long.map_or(0.0, |_| lengths.ln());
            let price = which_length + PRICE * (causes.count() as f64 + values);
            all.push(Tried {
                causes,
                limit,
                cost: misfit + against + price,
                price,
                singly: None,
            });
        }
    }
    weigh_events(looked.steps, (&loads[..full], &spreads[..full]), &mut all);
    all
}

/// What the losses of all tests, those from `full` on at lower rates, say against a set of causes.
fn misfit_of_all(
    causes: &Causes,
    (loads, spreads): (&[Load], &[Spread]),
    full: usize,
    limit: Option<&Limit>,
    vaguenesses: &[(Vague, f64)],
) -> f64 {
    let with = |(vague, price): &(Vague, f64)| {
        let each = loads.iter().zip(spreads).enumerate();
        let misfits = each.map(|(at, (load, spread))| {
            let of = if at < full { misfit } else { misfit_of_slower };
            let against = of(load, limit, spread, *vague);
            match limit {
                None => against.min(causes.against_none(load, spread)),
                Some(_) => against,
            }
        });
        misfits.sum::<f64>() + price
    };
    vaguenesses.iter().map(with).fold(f64::MAX, f64::min)
}

/// Lets the number of loss events speak for losses of long packets. Tests that meet a limit lose as it has it: those of the set that
/// is the best without them do not count.
fn weigh_events(steps: &[Step], (loads, spreads): (&[Load], &[Spread]), all: &mut [Tried]) {
    let best = all.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
    let limit = best.and_then(|best| best.limit.clone());
    let mut known: BTreeMap<u32, Option<Said>> = BTreeMap::new();
    for tried in &mut *all {
        tried.singly = tried.causes.long.and_then(|(longest, _)| {
            let said = || single_losses::said(steps, (loads, spreads), longest, limit.as_ref());
            *known.entry(longest).or_insert_with(said)
        });
    }
    let gain = |tried: &Tried| tried.singly.map_or(0.0, |said| said.gain);
    let most = all.iter().map(gain).fold(DECIDED, f64::max);
    for tried in all {
        tried.cost -= gain(tried) * DECIDED / most;
    }
}

/// What a test's loss says against a prediction: the negative logarithm of its normal density, so that a prediction that
/// fits everything pays for being vague.
fn misfit(load: &Load, limit: Option<&Limit>, spread: &Spread, vague: Vague) -> f64 {
    let (predicted, deviation) = predicted(load, limit, spread, vague);
    let off = ((load.loss - predicted).abs() / deviation).min(FAR);
    0.5 * off * off + (deviation / EXACT).ln()
}

/// The same of a test at a lower rate: a limit says nothing of it, unless it is far below.
fn misfit_of_slower(load: &Load, limit: Option<&Limit>, spread: &Spread, vague: Vague) -> f64 {
    match limit {
        Some(limit) if !load.is_far_below(limit) => (NEAR_LIMIT / EXACT).ln(),
        _ => misfit(load, None, spread, vague),
    }
}
