//! Which loss of the tests of a direction is a limit's, and which is not: a limit, a length above which packets are lost, and
//! loss that all tests meet are inferred together, since each hides the others from a look of its own. Of all that the tests
//! themselves suggest, the smallest set of causes that predicts the loss of every test is taken.

use std::collections::{BTreeMap, BTreeSet};

use weir_measure::survey::LossOnset;
use weir_stats::median;

use super::Step;
use super::limit::{Limit, LimitKind};
use super::limits::{self, Looked, Steadiness};
use super::load::{self, Load};
use super::pattern::is_every_length_alike;
use super::single_losses::{self, Said};
use super::spread::{Spread, spreads};

/// A cause has to make the prediction better by this much (nats): above the logarithm of the number of sets that are
/// tried.
const PRICE: f64 = 12.0;
/// The prediction of a test by a limit is off by this share of it: bursts, buckets and their first fill.
const ROUGH: f64 = 0.02;
/// Any other by one of these shares, whichever predicts all tests better: few paths lose the same in every second, but some do.
const UNEVEN: [f64; 5] = [0.05, 0.02, 0.01, 0.003, 0.0];
/// The same where a full path decides: what its queue takes depends on the sender's bursts.
const FULL: f64 = 0.05;
/// Packets that a host dropped are counted, or estimated, with this error.
const HOST: f64 = 0.1;
/// Where a burst takes this number of packets or more, what long packets lose beside bursts is counted by events.
const CLUMPED: f64 = 4.0;
/// Loss below which a prediction is exact enough.
const EXACT: f64 = 2e-5;
/// What a queue, or losses as even as a limit's, say at most against causes that have neither (nats).
const DECIDED: f64 = 60.0;
/// Loss of long packets is at most this multiple of that of any test of them, and that many packets and standard deviations more.
const LIKE: f64 = 3.0;
const FEW: f64 = 20.0;
const WITHIN: f64 = 3.0;
/// Numbers of flows that have to differ for a growth with them.
const LEAST_COUNTS: usize = 3;
/// No loss grows beyond this share.
const MOST: f64 = 0.999;
/// A test at a lower rate that is near a limit may lose anything from nothing to this share.
const NEAR_LIMIT: f64 = 0.1;
/// A test that is further off than this many deviations says no more against a set of causes than one that is.
const FAR: f64 = 10.0;

/// What causes the loss of the tests of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joint {
    /// What limits the stream below its rate.
    pub limit: Option<Limit>,
    /// Loss that all tests meet, 0 to 1, with one flow.
    pub everywhere: f64,
    /// Loss that grows with the number of flows.
    pub growth: Option<Growth>,
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
    /// To what all tests meet, the more so with more flows where loss grows with their number.
    pub everywhere: f64,
    /// Standard deviation of all of it.
    pub deviation: f64,
    /// Variance of it that comes from which flows take which routes.
    pub of_routes: f64,
    /// What it loses more if all its flows take the route that loses most; 0 where they lose unequally in this test.
    pub worst_route: f64,
}

impl Expected {
    /// All of it.
    pub fn all(&self) -> f64 {
        self.limit + self.long + self.everywhere
    }
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
        let (predicted, deviation) = predicted(&load, limit, spread, UNEVEN[0]);
        let is_below = load.index < steps.len() || limit.is_none_or(|limit| load.is_far_below(limit));
        is_below && !load.mostly_dark && (load.loss - predicted).abs() < FAR * deviation
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
        let mut expected = causes.expected(load, limit, spread);
        expected.worst_route = if load.knows_routes { 0.0 } else { worst_route };
        (load.index, expected)
    };
    Joint {
        everywhere: causes.everywhere,
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
    let mut loads = loads.to_vec();
    let try_one = |causes: Causes| {
        for load in &mut loads {
            load.beside = causes.loss_of(load);
        }
        let limit = if is_regular {
            None
        } else {
            limits::find(looked, &loads[..full], &mut steady)
        };
        let misfit = |uneven: f64| -> f64 {
            let each = loads.iter().zip(spreads).enumerate();
            each.map(|(at, (load, spread))| {
                let of = if at < full { misfit } else { misfit_of_slower };
                let against = of(load, limit.as_ref(), spread, uneven);
                match limit {
                    None => against.min(causes.against_none(load, spread)),
                    Some(_) => against,
                }
            })
            .sum()
        };
        let misfit = UNEVEN.map(misfit).into_iter().fold(f64::MAX, f64::min);
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
        let values = limit.as_ref().map_or(0, |limit| 1 + usize::from(limit.is_wide()));
        let which_length = causes.long.map_or(0.0, |_| lengths.ln());
        let price = which_length + PRICE * (causes.count() + values) as f64;
        Tried {
            causes,
            limit,
            cost: misfit + against + price,
            price,
            singly: None,
        }
    };
    let mut all: Vec<Tried> = suggested.into_iter().map(try_one).collect();
    weigh_events(looked.steps, (&loads[..full], &spreads[..full]), &mut all);
    all
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

/// Loss that is not a limit's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Causes {
    /// Packets of all tests are lost with this probability.
    everywhere: f64,
    /// For each flow beyond the first, with so much more.
    growth: f64,
    /// Longer payloads than this are lost with that probability, too.
    long: Option<(u32, f64)>,
}

impl Causes {
    /// What the losses of the tests themselves suggest: every test may be one that meets no limit.
    fn suggested_by(loads: &[Load], spreads: &[Spread]) -> Vec<Causes> {
        let mut lengths: Vec<u32> = loads.iter().map(|load| load.payload).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths.pop();
        let mut all = Vec::new();
        let losses = distinct(loads.iter().map(|load| load.loss).chain([0.0]).collect());
        for everywhere in losses.into_iter().filter(|loss| *loss < 1.0) {
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
            let host = HOST * load.by_host;
            let chance = WITHIN * (spread.variance(load, load.loss) + host * host).sqrt();
            LIKE * beyond(load) + FEW / load.counted.trials.max(1) as f64 + chance
        };
        let most = longer().map(bound).fold(1.0, f64::min);
        distinct(
            longer()
                .map(|(load, _)| beyond(load))
                .filter(|loss| *loss > 0.0 && *loss < most)
                .collect(),
        )
        .into_iter()
        .map(|loss| Causes {
            long: Some((longest, loss)),
            ..self
        })
        .collect()
    }

    /// Loss that does not depend on the length, with so many flows.
    fn everywhere_with(&self, flows: f64) -> f64 {
        (self.everywhere + self.growth * (flows - 1.0)).min(MOST)
    }

    fn long_of(&self, load: &Load) -> f64 {
        let long = self.long.filter(|(longest, _)| load.payload > *longest);
        long.map_or(0.0, |(_, loss)| loss)
    }

    fn loss_of(&self, load: &Load) -> f64 {
        1.0 - (1.0 - self.everywhere_with(load.flows)) * (1.0 - self.long_of(load))
    }

    /// What it says against them that a test lost nothing, nats: that it met none of few bursts is no more unlikely than that.
    fn against_none(&self, load: &Load, spread: &Spread) -> f64 {
        if load.counted.events > 0 {
            return f64::MAX;
        }
        let bursts = self.everywhere_with(load.flows) / spread.bursts.max(1.0);
        (bursts + self.long_of(load)) * load.counted.trials as f64
    }

    /// What the network is expected to lose of a test. Each cause takes of what those before it on the path let through, in the
    /// order of a link: a length, caps, losses of routes, and their queues.
    fn expected(&self, load: &Load, limit: Option<&Limit>, spread: &Spread) -> Expected {
        let mut load = load.clone();
        load.beside = self.loss_of(&load);
        let of_any_flows = Spread {
            routes: spread.of_others,
            ..*spread
        };
        let (predicted, deviation) = predicted(&load, limit, &of_any_flows, UNEVEN[0]);
        let long = self.long_of(&load);
        let taken = 1.0 - (1.0 - predicted) / (1.0 - load.beside).max(1e-9);
        let is_cap = limit.is_some_and(|limit| limit.kind != LimitKind::Path);
        let before = if is_cap { taken } else { 0.0 };
        let everywhere = (1.0 - long) * (1.0 - before) * self.everywhere_with(load.flows);
        let by_route = load.by_route * (1.0 - predicted);
        Expected {
            limit: predicted - long - everywhere,
            long,
            everywhere: everywhere + by_route,
            deviation,
            of_routes: spread.of_others,
            worst_route: 0.0,
        }
    }

    /// The same causes, with the losses of all tests that meet no limit in place of single ones.
    fn refined(self, loads: &[Load], limit: Option<&Limit>, singly: Option<Said>) -> Causes {
        let longest = self.long.map_or(u32::MAX, |(longest, _)| longest);
        let is_free = |load: &&Load| limit.is_none_or(|limit| !limit.steps.contains(&load.index));
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

    fn count(&self) -> usize {
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

/// Of losses that are nearly the same, one.
fn distinct(mut losses: Vec<f64>) -> Vec<f64> {
    losses.sort_by(f64::total_cmp);
    losses.dedup_by(|a, b| (*a - *b).abs() <= 0.01 * *b);
    losses
}

/// What a test's loss says against a prediction: the negative logarithm of its normal density, so that a prediction that
/// fits everything pays for being vague.
fn misfit(load: &Load, limit: Option<&Limit>, spread: &Spread, uneven: f64) -> f64 {
    let (predicted, deviation) = predicted(load, limit, spread, uneven);
    let off = ((load.loss - predicted).abs() / deviation).min(FAR);
    0.5 * off * off + (deviation / EXACT).ln()
}

/// The same of a test at a lower rate: a limit says nothing of it, unless it is far below.
fn misfit_of_slower(load: &Load, limit: Option<&Limit>, spread: &Spread, uneven: f64) -> f64 {
    match limit {
        Some(limit) if !load.is_far_below(limit) => (NEAR_LIMIT / EXACT).ln(),
        _ => misfit(load, None, spread, uneven),
    }
}

/// The loss of a test, and its standard deviation.
fn predicted(load: &Load, limit: Option<&Limit>, spread: &Spread, uneven: f64) -> (f64, f64) {
    let taken = limit.map_or(0.0, |limit| load.taken_by(limit));
    let predicted = 1.0 - (1.0 - load.beside) * (1.0 - taken);
    let chance = spread.variance(load, 0.5 * (predicted + load.loss));
    let rough = match limit {
        Some(limit) if limit.kind == LimitKind::Path || limit.varies() => FULL + load.taken_within(limit),
        Some(limit) if load.is_near(limit) => ROUGH,
        _ => 0.0,
    };
    let uneven = uneven * predicted + EXACT;
    let host = HOST * load.by_host;
    let rough = rough * rough + uneven * uneven + host * host;
    (predicted, (chance + rough).sqrt())
}
