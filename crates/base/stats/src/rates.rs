//! Tests of equal loss rates of several groups, and classes of groups with equal rates. It must not know what a group is.
//!
//! Clustered events (bursts of bursts) carry less information than their number: the variance of a group's counts
//! between time slots is measured and taken into account (quasi-Poisson: McCullagh and Nelder,
//! Generalized Linear Models, 1989, chapter 6).

use crate::distribution::{chi_squared_tail, fisher_tail};

/// Draws of the exact test for small counts.
const DRAWS: u32 = 20_000;
/// Groups whose counts vary more in time than others, with a p-value below this, are tested with their own dispersion.
const VARY_MORE: f64 = 0.01;
/// Fewer events than this per group are too few for the chi-squared distribution.
const FEW_PER_GROUP: f64 = 8.0;

/// Events among trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Events.
    pub events: u64,
    /// Trials, at least as many as events.
    pub trials: u64,
}

impl Counted {
    /// Events per trial; 0 without trials.
    pub fn rate(self) -> f64 {
        if self.trials == 0 {
            0.0
        } else {
            self.events as f64 / self.trials as f64
        }
    }

    /// Both together.
    pub fn plus(self, other: Counted) -> Counted {
        Counted {
            events: self.events + other.events,
            trials: self.trials + other.trials,
        }
    }
}

/// Sum of counts.
pub fn total(counts: &[Counted]) -> Counted {
    counts
        .iter()
        .fold(Counted::default(), |sum, count| sum.plus(*count))
}

/// Result of a test of equal rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTest {
    /// Probability of rates as unequal as these if all were equal.
    pub p_value: f64,
    /// Variance of the counts in time over that of independent events: 1 for those, more for bursts.
    pub dispersion: f64,
}

/// Variation of counts in time within groups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Variation {
    /// Pearson's chi-squared of the slots within each group.
    pub deviations: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

impl Variation {
    /// The variation of groups, each given by time slot.
    pub fn within(groups: &[Vec<Counted>]) -> Self {
        let mut sum = Variation::default();
        for slots in groups {
            let rate = total(slots).rate();
            let used = slots.iter().filter(|slot| slot.trials > 0).count();
            if rate > 0.0 && rate < 1.0 && used > 1 {
                sum.deviations += slots.iter().map(|slot| deviation(*slot, rate)).sum::<f64>();
                sum.freedom += used as f64 - 1.0;
            }
        }
        sum
    }

    /// Both together.
    pub fn plus(self, other: Variation) -> Variation {
        Variation {
            deviations: self.deviations + other.deviations,
            freedom: self.freedom + other.freedom,
        }
    }

    /// Variance over that of independent events, at least 1.
    fn dispersion(self) -> f64 {
        if self.freedom > 0.0 {
            (self.deviations / self.freedom).max(1.0)
        } else {
            1.0
        }
    }
}

/// Tests whether all groups have the same rate; each group is given by time slot. The dispersion within groups
/// is taken into account, and small counts are tested by random draws (with a fixed seed). None for fewer than two
/// groups with trials, or no event at all.
pub fn equal_rates(groups: &[Vec<Counted>]) -> Option<RateTest> {
    equal_rates_among(groups, Variation::within(groups))
}

/// The same where `all` is the variation of these groups and of others like them, which gives a better estimate of the
/// dispersion. It is not used if these vary more than the others (p-value below [`VARY_MORE`]).
pub fn equal_rates_among(groups: &[Vec<Counted>], all: Variation) -> Option<RateTest> {
    let own = Variation::within(groups);
    let as_all =
        own.freedom == 0.0 || chi_squared_tail(own.deviations / all.dispersion(), own.freedom) >= VARY_MORE;
    test_equal(groups, if as_all { all } else { own })
}

fn test_equal(groups: &[Vec<Counted>], variation: Variation) -> Option<RateTest> {
    let totals: Vec<Counted> = groups
        .iter()
        .map(|slots| total(slots))
        .filter(|sum| sum.trials > 0)
        .collect();
    let all = total(&totals);
    if totals.len() < 2 || all.events == 0 {
        return None;
    }
    let between = between(&totals);
    let freedom = totals.len() as f64 - 1.0;
    let dispersion = variation.dispersion();
    let plain = if (all.events as f64) < FEW_PER_GROUP * totals.len() as f64 {
        drawn(&totals, between)
    } else {
        chi_squared_tail(between, freedom)
    };
    let p_value = if dispersion > 1.0 {
        plain.max(fisher_tail(
            between / freedom / dispersion,
            freedom,
            variation.freedom,
        ))
    } else {
        plain
    };
    Some(RateTest { p_value, dispersion })
}

/// Pearson's chi-squared of the groups' events against equal rates.
fn between(totals: &[Counted]) -> f64 {
    let rate = total(totals).rate();
    totals.iter().map(|count| deviation(*count, rate)).sum()
}

fn deviation(count: Counted, rate: f64) -> f64 {
    let expected = count.trials as f64 * rate;
    if expected <= 0.0 {
        return 0.0;
    }
    (count.events as f64 - expected).powi(2) / (expected * (1.0 - rate).max(f64::MIN_POSITIVE))
}

/// Share of random divisions of the events over the groups that are as uneven.
fn drawn(totals: &[Counted], observed: f64) -> f64 {
    let all = total(totals);
    let mut draw = Draw::new(0x5eed);
    let mut counts = totals.to_vec();
    let mut as_uneven = 0;
    for _ in 0..DRAWS {
        counts.iter_mut().for_each(|count| count.events = 0);
        for _ in 0..all.events {
            let mut place = draw.below(all.trials);
            for count in &mut counts {
                if place < count.trials {
                    count.events += 1;
                    break;
                }
                place -= count.trials;
            }
        }
        as_uneven += u32::from(between(&counts) >= observed * (1.0 - 1e-12));
    }
    // The observed division counts as one of the draws: never 0, and never too small.
    f64::from(as_uneven + 1) / f64::from(DRAWS + 1)
}

/// Divides groups into classes of equal rates: while a class's rates differ with a p-value below `chance`, it
/// is cut where that makes the counts most likely. Classes come in ascending order of rate, each with the indices of its
/// groups in ascending order. `all` is as for [`equal_rates_among`].
pub fn rate_classes(groups: &[Vec<Counted>], chance: f64, all: Variation) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let rate = |index: &usize| total(&groups[*index]).rate();
    order.sort_by(|a, b| rate(a).total_cmp(&rate(b)).then(a.cmp(b)));
    let mut classes = Vec::new();
    cut(groups, &order, (chance, all), &mut classes);
    for class in &mut classes {
        class.sort_unstable();
    }
    classes
}

/// ln of the probability of the events at their own rate, without the terms that do not depend on the cut of a class.
fn ln_likelihood(count: Counted) -> f64 {
    if count.events == 0 {
        return 0.0;
    }
    count.events as f64 * count.rate().ln()
}

fn cut(groups: &[Vec<Counted>], class: &[usize], by: (f64, Variation), classes: &mut Vec<Vec<usize>>) {
    let (chance, all) = by;
    let members: Vec<Vec<Counted>> = class.iter().map(|index| groups[*index].clone()).collect();
    if !equal_rates_among(&members, all).is_some_and(|test| test.p_value < chance) {
        if !class.is_empty() {
            classes.push(class.to_vec());
        }
        return;
    }
    let totals: Vec<Counted> = members.iter().map(|slots| total(slots)).collect();
    let parted =
        |place: &usize| ln_likelihood(total(&totals[..*place])) + ln_likelihood(total(&totals[*place..]));
    let place = (1..class.len())
        .max_by(|a, b| parted(a).total_cmp(&parted(b)))
        .unwrap_or(1);
    cut(groups, &class[..place], by, classes);
    cut(groups, &class[place..], by, classes);
}

/// SplitMix64 (Steele, Lea and Flood 2014): enough for drawing, the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above 0; favours some by less than `bound` in 2^64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
