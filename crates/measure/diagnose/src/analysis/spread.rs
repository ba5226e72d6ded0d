//! How much the loss of a test varies at random: bursts, and routes that lose unequally. It must not know what causes the loss.

use weir_stats::Counted;

use super::Step;
use super::load::{LEAST_LOSS, Load};
use super::process::{design_effect, flow_loss_in_network};

/// Of a test in which hosts dropped a larger share of the lost packets, nobody knows how bursty the network's losses are.
const OF_HOSTS: f64 = 0.2;

/// Independent losses that happen to be as near as those of bursts make them look like so much more than one each.
const NEAR_AT_RANDOM: f64 = 0.2;

/// What the loss of a test varies by beside its mean.
pub(super) struct Spread {
    /// Variance over that of independent losses, of this test alone and of what all tests meet.
    pub own: f64,
    pub bursts: f64,
    /// Variance of the mean, since each flow has a route and routes lose unequally; none where that is known of its flows.
    pub routes: f64,
    /// The same of a test like it with other flows.
    pub of_others: f64,
}

impl Spread {
    /// Variance of a test's loss around its mean `loss`: what all tests meet has the bursts of all of them.
    pub fn variance(&self, load: &Load, loss: f64) -> f64 {
        let everywhere = load.everywhere.min(loss);
        let losses = self.bursts * everywhere + self.own * (loss - everywhere);
        losses * (1.0 - loss) / load.counted.trials.max(1) as f64 + self.routes
    }
}

/// That of each test, in the order of `loads`.
pub(super) fn spreads(steps: &[&Step], loads: &[Load]) -> Vec<Spread> {
    let step = |load: &Load| steps[load.index];
    // What hosts dropped is not counted here, but its bursts are.
    let tells = |load: &Load| step(load).spoiled_by_hosts() <= OF_HOSTS || step(load).lost_singly_on_host();
    let gentle = || loads.iter().filter(|load| load.loss < LEAST_LOSS);
    let mut telling: Vec<&Load> = gentle().filter(|load| tells(load)).collect();
    if telling.is_empty() {
        // Hosts dropped too much in all of them: what they make vary counts as the network's.
        telling = gentle().collect();
    }
    let mean = |of: &dyn Fn(&Step) -> f64, weight: &dyn Fn(&Load) -> f64| {
        let all: f64 = telling.iter().map(|load| weight(load)).sum();
        let each = telling.iter().map(|load| weight(load) * of(step(load)));
        each.sum::<f64>() / all.max(1.0)
    };
    // A test that happened to meet no burst met the same path as those that did.
    let bursts = mean(&design_effect, &|load| step(load).network_loss().events as f64);
    // Where the lengths of packets take many, routes show less.
    let of_several = |load: &Load| {
        if load.flows < 2.0 {
            0.0
        } else {
            load.counted.trials as f64
        }
    };
    let unequal = mean(&unequal, &of_several).max(0.0);
    let beyond_chance = |effect: f64| (effect - NEAR_AT_RANDOM).max(1.0);
    let own = |load: &Load| {
        if tells(load) {
            beyond_chance(design_effect(step(load)))
        } else {
            1.0
        }
    };
    let of = |load: &Load| {
        let of_others = unequal / step(load).flow_count().max(1) as f64;
        Spread {
            own: own(load),
            bursts: beyond_chance(bursts).max(own(load)),
            routes: if load.knows_routes { 0.0 } else { of_others },
            of_others,
        }
    };
    loads.iter().map(of).collect()
}

/// Variance of the loss of flows, beyond that of counting.
fn unequal(step: &Step) -> f64 {
    let flow_loss = flow_loss_in_network(step);
    let (flows, mean) = (flow_loss.len() as f64, weir_stats::total(&flow_loss).rate());
    if flows < 2.0 || mean <= 0.0 {
        return 0.0;
    }
    let effect = design_effect(step);
    let beyond = |flow: &Counted| {
        let counting = effect * mean * (1.0 - mean) / flow.trials.max(1) as f64;
        (flow.rate() - mean).powi(2) - counting
    };
    flow_loss.iter().map(beyond).sum::<f64>() / (flows - 1.0)
}
