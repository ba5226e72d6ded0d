//! Causes of loss that are no limit: what the tests of a direction suggest, and what all of them together make of it. It must not know
//! how sets are compared (`joint`).

use std::collections::BTreeSet;

use weir_stats::median;

use super::limit::{Limit, LimitKind};
use super::load::{LATE, Load};
use super::single_losses::Said;
use super::spread::Spread;
use super::step::ESTIMATED;

/// What takes packets wherever they stand takes at most this multiple of what the first half of bursts loses.
const EARLY: f64 = 1.3;
/// Loss of long packets is at most this multiple of that of any test of them, and that many packets and standard deviations more.
const LIKE: f64 = 3.0;
const FEW: f64 = 20.0;
const WITHIN: f64 = 3.0;
/// Where a burst takes this number of packets or more, what long packets lose beside bursts is counted by events.
const CLUMPED: f64 = 4.0;
/// Numbers of flows that have to differ for a growth with them.
const LEAST_COUNTS: usize = 3;
/// No loss grows beyond this share.
const MOST: f64 = 0.999;

/// Loss that is not a limit's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Causes {
    /// Packets of all tests are lost with this probability.
    pub everywhere: f64,
    /// For each flow beyond the first, with so much more.
    pub growth: f64,
    /// Longer payloads than this are lost with that probability, too.
    pub long: Option<(u32, f64)>,
}

impl Causes {
    /// What the losses of the tests themselves suggest: every test may be one that meets no limit.
    pub fn suggested_by(loads: &[Load], spreads: &[Spread]) -> Vec<Causes> {
        let mut lengths: Vec<u32> = loads.iter().map(|load| load.payload).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths.pop();
        let mut all = Vec::new();
        let each = loads.iter().map(|load| load.loss).chain([0.0]);
        let of_short = |longest: &u32| {
            let short = loads.iter().filter(|load| load.payload <= *longest);
            usual(short.map(|load| load.loss).collect())
        };
        let losses = distinct(each.chain(lengths.iter().map(of_short)).collect());
        let bounds = loads.iter().zip(spreads);
        let most = bounds
            .map(|(load, spread)| wherever(load, spread))
            .fold(1.0, f64::min);
        for everywhere in losses.into_iter().filter(|loss| *loss < most) {
            let plain = Causes {
                everywhere,
                growth: 0.0,
                long: None,
            };
            // Of causes that predict the same, the first is taken: the plainest.
            all.push(plain);
            all.extend(plain.with_growth(u32::MAX, loads));
            for longest in &lengths {
                all.extend(plain.with_long(*longest, loads, spreads));
                let growing = plain.with_growth(*longest, loads).into_iter();
                all.extend(growing.flat_map(|causes| causes.with_long(*longest, loads, spreads)));
            }
        }
        for longest in &lengths {
            let growing = Causes::growing_as_long(*longest, loads).into_iter();
            all.extend(growing.flat_map(|causes| causes.with_long(*longest, loads, spreads)));
        }
        all
    }

    /// The same, and loss that grows with the flows, as the middle one of the tests of no longer packets suggests.
    fn with_growth(self, longest: u32, loads: &[Load]) -> Option<Causes> {
        let short = || loads.iter().filter(|load| load.payload <= longest);
        if !are_swept(short()) {
            return None;
        }
        let of_flow = |load: &Load| (load.loss - self.everywhere) / (load.flows - 1.0);
        let growth = median(short().filter(|load| load.flows > 1.0).map(of_flow).collect());
        (growth > 0.0).then_some(Causes { growth, ..self })
    }

    /// Loss that grows with the flows as tests of longer packets suggest, where those of short ones all have as many flows; alone, or
    /// beside what the short ones lose beyond it.
    fn growing_as_long(longest: u32, loads: &[Load]) -> Vec<Causes> {
        let (short, long): (Vec<&Load>, Vec<&Load>) = loads.iter().partition(|load| load.payload <= longest);
        if are_swept(short.iter().copied()) || !are_swept(long.iter().copied()) {
            return Vec::new();
        }
        let pairs = (0..long.len()).flat_map(|at| {
            long[at + 1..]
                .iter()
                .map(|other| (long[at], *other))
                .collect::<Vec<_>>()
        });
        let differ = pairs.filter(|(a, b)| a.flows != b.flows);
        let slope = median(
            differ
                .map(|(a, b)| (a.loss - b.loss) / (a.flows - b.flows))
                .collect(),
        );
        // What the length takes hides as much of the growth.
        let with_one = median(
            long.iter()
                .map(|load| load.loss - slope * (load.flows - 1.0))
                .collect(),
        );
        let growth = slope / (1.0 - with_one).max(0.1);
        if growth <= 0.0 {
            return Vec::new();
        }
        let beyond = |load: &&Load| (load.loss - growth * (load.flows - 1.0)).max(0.0);
        let rest = median(short.iter().map(beyond).collect());
        let with = |everywhere| Causes {
            everywhere,
            growth,
            long: None,
        };
        distinct(vec![0.0, rest]).into_iter().map(with).collect()
    }

    /// The same, and each loss of longer packets than this that a test suggests.
    fn with_long(self, longest: u32, loads: &[Load], spreads: &[Spread]) -> Vec<Causes> {
        let longer = || {
            let all = loads.iter().zip(spreads);
            all.filter(|(load, _)| load.payload > longest)
        };
        let beyond = |load: &Load| 1.0 - (1.0 - load.loss) / (1.0 - self.everywhere_with(load.flows));
        // Whatever else a test meets, its long packets are lost all the same.
        let bound = |(load, spread): (&Load, &Spread)| {
            let like = LIKE * beyond(load) + by_chance(load, spread, load.loss);
            like.min(wherever(load, spread))
        };
        let most = longer().map(bound).fold(1.0, f64::min);
        let each: Vec<f64> = longer().map(|(load, _)| beyond(load)).collect();
        let all = [usual(each.clone())].into_iter().chain(each);
        distinct(all.filter(|loss| *loss > 0.0 && *loss < most).collect())
            .into_iter()
            .map(|loss| Causes {
                long: Some((longest, loss)),
                ..self
            })
            .collect()
    }

    /// Loss that does not depend on the length, with so many flows.
    pub fn everywhere_with(&self, flows: f64) -> f64 {
        (self.everywhere + self.growth * (flows - 1.0)).min(MOST)
    }

    pub fn long_of(&self, load: &Load) -> f64 {
        let long = self.long.filter(|(longest, _)| load.payload > *longest);
        long.map_or(0.0, |(_, loss)| loss)
    }

    /// Lets a test meet them.
    pub fn put_on(&self, load: &mut Load) {
        load.everywhere = self.everywhere_with(load.flows);
        load.beside = 1.0 - (1.0 - load.everywhere) * (1.0 - self.long_of(load));
    }

    /// What it says against them that a test lost nothing, nats: that it met none of few bursts is no more unlikely than that.
    pub fn against_none(&self, load: &Load, spread: &Spread) -> f64 {
        if load.counted.events > 0 {
            return f64::MAX;
        }
        let bursts = self.everywhere_with(load.flows) / spread.bursts.max(1.0);
        (bursts + self.long_of(load)) * load.counted.trials as f64
    }

    /// The same causes, with the losses of all tests that meet no limit in place of single ones.
    pub fn refined(self, loads: &[Load], limit: Option<&Limit>, singly: Option<Said>) -> Causes {
        let longest = self.long.map_or(u32::MAX, |(longest, _)| longest);
        let is_beside = |load: &Load, limit: &Limit| {
            !limit.steps.contains(&load.index) && (limit.kind == LimitKind::Path || !load.is_near(limit))
        };
        let is_free = |load: &&Load| limit.is_none_or(|limit| is_beside(load, limit));
        let (short, long): (Vec<&Load>, Vec<&Load>) = loads
            .iter()
            .filter(is_free)
            .partition(|load| load.payload <= longest);
        let sent = |load: &&Load| load.counted.trials as f64;
        let singly = singly.filter(|said| said.packets_per_event >= CLUMPED);
        if let Some(share) = singly.and_then(|said| said.share) {
            // All tests together say more of bursts than those of short packets alone.
            let lost = |load: &&Load| load.counted.events as f64;
            let all = || short.iter().chain(&long);
            let singly = share * long.iter().map(sent).sum::<f64>();
            let everywhere = (all().map(lost).sum::<f64>() - singly) / all().map(sent).sum::<f64>().max(1.0);
            return Causes {
                everywhere: everywhere.max(0.0),
                growth: 0.0,
                long: Some((longest, share)),
            };
        }
        let refined = self.fitted(&short, &long);
        let passed: f64 = long.iter().map(|load| sent(load) * (1.0 - load.loss)).sum();
        let reached: f64 = long
            .iter()
            .map(|load| sent(load) * (1.0 - refined.everywhere_with(load.flows)))
            .sum();
        let beyond = |loss: f64| {
            if reached > 0.0 {
                (1.0 - passed / reached).max(0.0)
            } else {
                loss
            }
        };
        Causes {
            long: self.long.map(|(longest, loss)| (longest, beyond(loss))),
            ..refined
        }
    }

    /// With the lines over the number of flows that fit tests of short and of long packets best: as steep, and one above the other.
    fn fitted(self, short: &[&Load], long: &[&Load]) -> Causes {
        let length = |load: &Load| 1.0 - (1.0 - load.loss) / (1.0 - self.long_of(load)).max(1e-9);
        let of_short = Line::of(short, length);
        if of_short.packets <= 0.0 {
            return self;
        }
        let of_long = Line::of(long, length);
        let squares = of_short.squares + of_long.squares;
        let growth = if self.growth > 0.0 && squares > 0.0 {
            ((of_short.products + of_long.products) / squares).max(0.0)
        } else {
            self.growth
        };
        Causes {
            everywhere: (of_short.loss - growth * of_short.beyond).max(0.0),
            growth,
            ..self
        }
    }

    pub fn count(&self) -> usize {
        usize::from(self.everywhere > 0.0) + usize::from(self.growth > 0.0) + usize::from(self.long.is_some())
    }
}

/// The losses of tests over their numbers of flows beyond the first, each weighted by its packets.
struct Line {
    packets: f64,
    /// Means.
    beyond: f64,
    loss: f64,
    /// Sums of the squares of the flows' deviations from their mean, and of their products with those of the losses.
    squares: f64,
    products: f64,
}

impl Line {
    fn of(tests: &[&Load], loss: impl Fn(&Load) -> f64) -> Self {
        let sum = |of: &dyn Fn(&Load) -> f64| -> f64 {
            let each = tests.iter();
            each.map(|load| load.counted.trials as f64 * of(load)).sum()
        };
        let packets = sum(&|_| 1.0);
        let mean = |of: &dyn Fn(&Load) -> f64| sum(of) / packets.max(1.0);
        let (beyond, mean_loss) = (mean(&|load| load.flows - 1.0), mean(&loss));
        let off = |load: &Load| load.flows - 1.0 - beyond;
        Line {
            packets,
            beyond,
            loss: mean_loss,
            squares: sum(&|load| off(load).powi(2)),
            products: sum(&|load| off(load) * (loss(load) - mean_loss)),
        }
    }
}

/// Whether these tests are of enough numbers of flows to show a growth with them.
fn are_swept<'l>(tests: impl Iterator<Item = &'l Load>) -> bool {
    let counts: BTreeSet<u32> = tests.map(|load| load.flows as u32).collect();
    counts.len() >= LEAST_COUNTS
}

/// The mean of those that are near the middle one: a limit, or an outage, makes a few differ.
fn usual(losses: Vec<f64>) -> f64 {
    let middle = median(losses.clone());
    let near: Vec<f64> = losses
        .into_iter()
        .filter(|loss| (*loss - middle).abs() <= 0.5 * middle)
        .collect();
    near.iter().sum::<f64>() / near.len().max(1) as f64
}

/// Of losses that are nearly the same, one.
fn distinct(mut losses: Vec<f64>) -> Vec<f64> {
    losses.sort_by(f64::total_cmp);
    losses.dedup_by(|a, b| (*a - *b).abs() <= 0.01 * *b);
    losses
}

/// What a cause that takes packets wherever they stand in the sender's bursts takes at most of a test that mostly loses the last of
/// them: about its part of their first half.
fn wherever(load: &Load, spread: &Spread) -> f64 {
    let early = load.early.map(|early| early.least());
    let late = early.filter(|early| *early < LATE * load.loss);
    late.map_or(1.0, |early| EARLY * early + by_chance(load, spread, early))
}

/// By how much a cause that takes this share may have taken more or less of a test.
fn by_chance(load: &Load, spread: &Spread, loss: f64) -> f64 {
    let host = ESTIMATED * load.by_host;
    FEW / load.counted.trials.max(1) as f64 + WITHIN * (spread.variance(load, loss) + host * host).sqrt()
}
