//! How badly each set of causes that the tests of a direction suggest predicts their losses. It must not know what follows from the best.

use std::collections::{BTreeMap, BTreeSet};

use super::Step;
use super::expected::{EXACT, MOST_VAGUE, Vague, WITHIN, predicted};
use super::limit::{Limit, LimitKind};
use super::limits::{self, Looked, Steadiness};
use super::load::Load;
use super::pattern::is_every_length_alike;
use super::set_of_causes::Causes;
use super::single_losses::{self, Said};
use super::spread::Spread;

/// A cause has to make the prediction better by this much (nats): above the logarithm of the number of sets that are
/// tried.
const PRICE: f64 = 9.0;
/// A prediction is off by one of these shares of it and of what hosts dropped, whichever predict all tests better. Each share of it that
/// is more has its price (nats), less than a cause.
const UNEVEN: [(f64, f64); 5] = [
    (MOST_VAGUE.uneven, 4.0),
    (0.02, 3.0),
    (0.01, 2.0),
    (0.003, 1.0),
    (0.0, 0.0),
];
const OF_HOSTS: [f64; 5] = [MOST_VAGUE.host, 0.03, 0.01, 0.003, 0.001];
/// What a queue, or losses as even as a limit's, say at most against causes that have neither (nats).
const DECIDED: f64 = 60.0;
/// A test at a lower rate that is near a limit may lose anything from nothing to this share.
const NEAR_LIMIT: f64 = 0.1;
/// A test that is further off than this many deviations says no more against a set of causes than one that is.
const FAR: f64 = 10.0;

/// A set of causes, and how badly it predicts the losses.
pub(super) struct Tried {
    pub causes: Causes,
    pub limit: Option<Limit>,
    /// Nats; less is better.
    pub cost: f64,
    /// What of it is the price of the causes.
    pub price: f64,
    /// What the number of loss events says for the loss of long packets.
    pub singly: Option<Said>,
}

impl Tried {
    /// Whether it predicts a test: what slower ones lose near a limit it does not.
    pub fn predicts(&self, load: &Load, spread: &Spread, is_slower: bool) -> bool {
        let limit = self.limit.as_ref();
        let mut load = load.clone();
        self.causes.put_on(&mut load);
        let (predicted, deviation) = predicted(&load, limit, spread, MOST_VAGUE);
        let is_below = !is_slower || limit.is_none_or(|limit| load.is_far_below(limit));
        is_below && !load.mostly_dark && (load.loss - predicted).abs() < WITHIN * deviation
    }
}

/// The tests of a direction, as sets of causes are tried on them.
pub(super) struct Trial<'l> {
    pub looked: Looked<'l>,
    /// All tests, and what is known of each of them, those at lower rates last.
    pub tests: &'l [&'l Step<'l>],
    pub loads: &'l [Load],
    pub spreads: &'l [Spread],
    /// How many are not at lower rates.
    pub full: usize,
}

/// What is the same for every set.
struct Shared {
    /// What takes of every length the same is no limit.
    is_regular: bool,
    /// Packets wait in a queue in most of the tests that lose much.
    queued: bool,
    vaguenesses: Vec<(Vague, f64)>,
    lengths: f64,
    steady: Steadiness,
}

impl Trial<'_> {
    /// Tries all sets.
    pub fn of_all(&self) -> Vec<Tried> {
        let mut shared = self.shared();
        let mut all = Vec::new();
        for causes in Causes::suggested_by(self.loads, self.spreads) {
            all.extend(self.of_set(causes, &mut shared));
        }
        let refined: Vec<Causes> = best_of_each(&all).map(|best| self.refined(best)).collect();
        for causes in refined {
            all.extend(self.of_set(causes, &mut shared));
        }
        self.weigh_events(&mut all);
        all
    }

    fn shared(&self) -> Shared {
        let of_full = &self.loads[..self.full];
        let mut steady = Steadiness::default();
        let is_regular = is_every_length_alike(self.looked.steps);
        let lengths: BTreeSet<u32> = of_full.iter().map(|load| load.payload).collect();
        let has_hosts = self.loads.iter().any(|load| load.by_host > 0.0);
        let of_hosts = if has_hosts { &OF_HOSTS[..] } else { &OF_HOSTS[..1] };
        let with_hosts = |(uneven, price): &(f64, f64)| {
            let (uneven, price) = (*uneven, *price);
            let each = of_hosts.iter();
            let each = each.map(move |host| (Vague { uneven, host: *host }, price));
            each.collect::<Vec<_>>()
        };
        Shared {
            is_regular,
            queued: !is_regular && limits::is_queued(&self.looked, of_full, &mut steady),
            vaguenesses: UNEVEN.iter().flat_map(with_hosts).collect(),
            lengths: lengths.len() as f64,
            steady,
        }
    }

    /// A set, with the limit that fits beside it and without one: a test that one of the routes took much of may look like a limit.
    fn of_set(&self, causes: Causes, shared: &mut Shared) -> Vec<Tried> {
        let mut loads = self.loads.to_vec();
        for load in &mut loads {
            causes.put_on(load);
        }
        let of_full = &loads[..self.full];
        let found = if shared.is_regular {
            None
        } else {
            limits::find(&self.looked, of_full, &mut shared.steady)
        };
        let mut with = |limit: Option<Limit>| {
            let misfit = self.misfit(&causes, &loads, limit.as_ref(), &shared.vaguenesses);
            let limit_is_full = limit.as_ref().is_some_and(|limit| limit.kind == LimitKind::Path);
            let against = if shared.is_regular {
                0.0
            } else if shared.queued && !limit_is_full {
                DECIDED
            } else {
                let steps = self.looked.steps;
                let against = shared.steady.against_chance(steps, of_full, limit.as_ref());
                against.min(DECIDED)
            };
            let values = limit.as_ref().map_or(0.0, Limit::values);
            let which_length = causes.long.map_or(0.0, |_| shared.lengths.ln());
            let price = which_length + PRICE * (causes.count() as f64 + values);
            Tried {
                causes,
                limit,
                cost: misfit + against + price,
                price,
                singly: None,
            }
        };
        let limits = found.map(Some).into_iter().chain([None]);
        limits.map(&mut with).collect()
    }

    /// The same causes with the values by which all tests that they predict lose most likely.
    fn refined(&self, tried: &Tried) -> Causes {
        let each = self.loads.iter().zip(self.spreads).enumerate();
        let predicted = each.filter(|(at, (load, spread))| tried.predicts(load, spread, *at >= self.full));
        let telling: Vec<Load> = predicted.map(|(_, (load, _))| load.clone()).collect();
        tried.causes.refined(&telling, tried.limit.as_ref(), None)
    }

    /// What the losses of all tests say against a set of causes.
    fn misfit(
        &self,
        causes: &Causes,
        loads: &[Load],
        limit: Option<&Limit>,
        vaguenesses: &[(Vague, f64)],
    ) -> f64 {
        let with = |(vague, price): &(Vague, f64)| {
            let each = loads.iter().zip(self.spreads).enumerate();
            let misfits = each.map(|(at, (load, spread))| {
                let of = if at < self.full { misfit } else { misfit_of_slower };
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
    fn weigh_events(&self, all: &mut [Tried]) {
        let best = all.iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let limit = best.and_then(|best| best.limit.clone());
        let mut known: BTreeMap<u32, Option<Said>> = BTreeMap::new();
        for tried in &mut *all {
            tried.singly = tried.causes.long.and_then(|(longest, _)| {
                let said = || {
                    let tests = (self.loads, self.spreads);
                    single_losses::said(self.tests, tests, self.full, longest, limit.as_ref())
                };
                *known.entry(longest).or_insert_with(said)
            });
        }
        let gain = |tried: &Tried| tried.singly.map_or(0.0, |said| said.gain);
        let most = all.iter().map(gain).fold(DECIDED, f64::max);
        for tried in all {
            tried.cost -= gain(tried) * DECIDED / most;
        }
    }
}

/// Of sets of the same causes, the one with the best values.
fn best_of_each(all: &[Tried]) -> impl Iterator<Item = &Tried> {
    let mut best: BTreeMap<(bool, bool, Option<u32>), &Tried> = BTreeMap::new();
    for tried in all {
        let causes = &tried.causes;
        let longest = causes.long.map(|(longest, _)| longest);
        let known = best
            .entry((causes.everywhere > 0.0, causes.growth > 0.0, longest))
            .or_insert(tried);
        if tried.cost < known.cost {
            *known = tried;
        }
    }
    best.into_values()
}

/// What a test's loss says against a prediction: the negative logarithm of its normal density, so that a prediction that
/// fits everything pays for being vague.
fn misfit(load: &Load, limit: Option<&Limit>, spread: &Spread, vague: Vague) -> f64 {
    let (predicted, deviation) = predicted(load, limit, spread, vague);
    let off = ((load.loss - predicted).abs() / deviation).min(FAR);
    0.5 * off * off + (deviation / EXACT).ln()
}

/// The same of a test at a lower rate: of one that is not far below a limit nothing is said but that it loses what others take.
fn misfit_of_slower(load: &Load, limit: Option<&Limit>, spread: &Spread, vague: Vague) -> f64 {
    let (without, deviation) = predicted(load, None, spread, vague);
    let against = |off: f64| 0.5 * (off / deviation).min(FAR).powi(2);
    match limit {
        Some(limit) if !load.is_far_below(limit) => {
            (NEAR_LIMIT / EXACT).ln() + against((without - load.loss).max(0.0))
        }
        _ => against((load.loss - without).abs()) + (deviation / EXACT).ln(),
    }
}
