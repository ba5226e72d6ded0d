//! Which loss of the tests of a direction is a limit's, and which is not: a limit, a length above which packets are lost, and
//! loss that all tests meet are inferred together, since each hides the others from a look of its own. Of all that the tests
//! themselves suggest, the smallest set of causes that predicts the loss of every test is taken.

use std::collections::BTreeMap;

use weir_measure::survey::LossOnset;

use super::Step;
use super::expected::Expected;
use super::limit::Limit;
use super::limits::Looked;
use super::load::{self, Load};
use super::set_of_causes::Causes;
use super::spread::{Spread, spreads};
use super::trial::Trial;

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
    let trial = Trial {
        looked: Looked {
            steps,
            slower: &loads[full..],
            onset,
            jitter_ns,
        },
        tests: &all,
        loads: &loads,
        spreads: &spreads,
        full,
    };
    let tried = trial.of_all();
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
    let is_predicted =
        |(load, spread): &(&Load, &Spread)| best.predicts(load, spread, load.index >= steps.len());
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
