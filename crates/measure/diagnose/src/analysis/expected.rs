//! What a limit and other causes are expected to take of a test, and how far off that may be. It must not know how either is found.

use super::limit::{Limit, LimitKind};
use super::load::Load;
use super::set_of_causes::Causes;
use super::spread::Spread;
use super::step::ESTIMATED;

/// The prediction of a test by a limit is off by this share of it: bursts, buckets and their first fill.
const ROUGH: f64 = 0.02;
/// The same where a full path decides: what its queue takes depends on the sender's bursts.
const FULL: f64 = 0.05;
/// How far off predictions are beside chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vague {
    /// By this share of any prediction: few paths lose the same in every second, but some do.
    pub uneven: f64,
    /// By this share of what hosts dropped: some of it is estimated.
    pub host: f64,
}

/// At most.
pub(super) const MOST_VAGUE: Vague = Vague {
    uneven: 0.05,
    host: ESTIMATED,
};
/// Loss below which a prediction is exact enough.
pub(super) const EXACT: f64 = 2e-5;
/// A test is as expected within so many standard deviations, or this multiple of what the worst route of others lost.
pub(super) const WITHIN: f64 = 3.0;
const ON_WORST: f64 = 1.5;

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
    /// Variances of the three, in their order.
    pub variances: [f64; 3],
    /// Variance of it that comes from which flows take which routes.
    pub of_routes: f64,
    /// What it loses more if all its flows take the route that loses most; 0 where they lose unequally in this test.
    pub worst_route: f64,
}

impl Expected {
    /// What the network is expected to lose of a test. Each cause takes of what those before it on the path let through, in the
    /// order of a link: a length, caps, losses of routes, and their queues.
    pub(super) fn of(causes: &Causes, load: &Load, limit: Option<&Limit>, spread: &Spread) -> Self {
        let mut load = load.clone();
        causes.put_on(&mut load);
        let of_any_flows = Spread {
            routes: spread.of_others,
            ..*spread
        };
        let (predicted, deviation) = predicted(&load, limit, &of_any_flows, MOST_VAGUE);
        let long = causes.long_of(&load);
        let taken = 1.0 - (1.0 - predicted) / (1.0 - load.beside).max(1e-9);
        let is_cap = limit.is_some_and(|limit| limit.kind != LimitKind::Path);
        let before = if is_cap { taken } else { 0.0 };
        let everywhere = (1.0 - long) * (1.0 - before) * causes.everywhere_with(load.flows);
        let by_route = load.by_route * (1.0 - predicted);
        let single = |share: f64| share * (1.0 - share) / load.counted.trials.max(1) as f64;
        Expected {
            limit: predicted - long - everywhere,
            long,
            everywhere: everywhere + by_route,
            deviation,
            variances: [
                limit.map_or(0.0, |limit| roughness(&load, limit).powi(2)),
                single(long),
                spread.bursts * single(everywhere) + spread.of_others,
            ],
            of_routes: spread.of_others,
            worst_route: 0.0,
        }
    }

    /// All of it.
    pub fn all(&self) -> f64 {
        self.limit + self.long + self.everywhere
    }

    /// A test that lost more than this met a limit, or something else that is no process.
    pub fn most_beside_limit(&self) -> f64 {
        let [_, of_long, of_everywhere] = self.variances;
        let beside = self.long + self.everywhere + WITHIN * (of_long + of_everywhere).sqrt();
        if self.variances[0] > 0.0 {
            beside.min(self.most())
        } else {
            self.most()
        }
    }

    /// A test that lost more than this lost some to nothing that is known.
    pub fn most(&self) -> f64 {
        self.all() + (WITHIN * self.deviation).max(ON_WORST * self.worst_route)
    }
}

/// The loss of a test, and its standard deviation.
pub(super) fn predicted(load: &Load, limit: Option<&Limit>, spread: &Spread, vague: Vague) -> (f64, f64) {
    let taken = limit.map_or(0.0, |limit| load.taken_by(limit));
    let predicted = 1.0 - (1.0 - load.beside) * (1.0 - taken);
    let chance = spread.variance(load, 0.5 * (predicted + load.loss));
    let rough = limit.map_or(0.0, |limit| roughness(load, limit));
    let uneven = vague.uneven * predicted + EXACT;
    let host = vague.host * load.by_host;
    let rough = rough * rough + uneven * uneven + host * host;
    (predicted, (chance + rough).sqrt())
}

/// How far off the prediction of a test by a limit is.
fn roughness(load: &Load, limit: &Limit) -> f64 {
    if load.is_far_below(limit) && !limit.steps.contains(&load.index) {
        0.0
    } else if limit.kind == LimitKind::Path || limit.varies() {
        FULL + load.taken_within(limit)
    } else {
        ROUGH
    }
}
