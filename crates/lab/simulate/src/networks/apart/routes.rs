//! Faults of routes: lengths, loss, outages, spraying, a hidden 5-tuple. It must not know caps or hosts.

use weir_link::{DarkSpan, DirectionSpec, LossSpec, RouteChoice, RouteSpec};

use super::super::{Fault, Network};
use crate::path::Path;
use crate::random::Random;

/// Weights of parallel links that were built one after the other.
const WEIGHTS: [u32; 5] = [1, 1, 2, 3, 4];
/// Length of a step before and after which no outage begins or ends: one that a test sees in part has no length.
const MARGIN_NS: u64 = 50_000_000;

/// Gives a direction `count` routes like its first, with weights of their own.
fn with_routes(direction: &mut DirectionSpec, count: u64, random: &mut Random) {
    let first = direction.routes[0].clone();
    let route = |random: &mut Random| RouteSpec {
        weight: random.pick(&WEIGHTS),
        ..first.clone()
    };
    direction.routes = (0..count).map(|_| route(random)).collect();
}

/// Makes each route longer than the one before by `gap_ns`, log-normal, and keeps jitter below a third of the least.
fn spread(direction: &mut DirectionSpec, gap_ns: f64, random: &mut Random) {
    let (mut more, mut least) = (0.0, gap_ns);
    for route in &mut direction.routes {
        route.delay_ns += more as u64;
        let gap = random.log_normal(gap_ns, 0.5);
        more += gap;
        least = least.min(gap);
    }
    for route in &mut direction.routes {
        if let Some(jitter) = &mut route.jitter {
            jitter.most_ns = jitter.most_ns.min((least / 3.0) as u64);
        }
    }
}

/// 2 to 6 routes each way, with a median difference of 30 us to 5 ms, each direction with its own.
pub(super) fn lengths(network: &mut Network, random: &mut Random) -> Fault {
    // A radio link delays a packet as much as its whole aggregate, and the routes' share is small beside it.
    network.middlebox = None;
    let gap_ns = random.log_between(3e4, 5e6);
    for direction in [&mut network.link.forward, &mut network.link.reverse] {
        let count = random.whole(2, 6);
        with_routes(direction, count, random);
        spread(direction, gap_ns, random);
    }
    Fault::Routes
}

/// One of 2 to 6 routes loses 0.01 to 10 %, in a third of the networks another one a tenth of that.
pub(super) fn lossy(network: &mut Network, random: &mut Random) -> Fault {
    let forward = &mut network.link.forward;
    let count = random.whole(2, 6);
    with_routes(forward, count, random);
    let worst = random.log_between(1e-4, 0.1);
    let mut loss = vec![0.0; forward.routes.len()];
    loss[0] = worst;
    if forward.routes.len() > 2 && random.chance(1.0 / 3.0) {
        loss[1] = worst / 10.0;
    }
    for (route, loss) in forward.routes.iter_mut().zip(&loss) {
        if *loss > 0.0 {
            route.loss.push(LossSpec::Bernoulli(*loss));
        }
    }
    Fault::RouteLoss { loss }
}

/// One route of 2 to 8, or all, dark for 0.1 s up to the length of a test.
pub(super) fn dark(network: &mut Network, random: &mut Random) -> Fault {
    let count = random.whole(1, 8);
    with_routes(&mut network.link.forward, count, random);
    let all = count == 1 || random.chance(0.25);
    let route = (!all).then(|| random.whole(0, count - 1) as u16);
    let step = random.whole(2, 8);
    let room = (network.plan.step_ns - 2 * MARGIN_NS) as f64;
    let lasts_ns = random.log_between(1e8, room) as u64;
    let begins = Path::stream_begins_ns(&network.link, step) + MARGIN_NS;
    let from_ns = begins + random.whole(0, room as u64 - lasts_ns);
    for (index, spec) in (0..).zip(&mut network.link.forward.routes) {
        if route.is_none_or(|route| route == index) {
            spec.dark.push(DarkSpan {
                from_ns,
                to_ns: from_ns + lasts_ns,
            });
        }
    }
    Fault::Outage {
        route,
        step,
        from_ns,
        lasts_ns,
    }
}

/// Packets of one flow take 2 to 5 routes by turns, with a median difference of 10 us to 3 ms.
pub(super) fn sprayed(network: &mut Network, random: &mut Random) -> Fault {
    network.middlebox = None;
    let gap_ns = random.log_between(1e4, 3e6);
    for direction in [&mut network.link.forward, &mut network.link.reverse] {
        let count = random.whole(2, 5);
        with_routes(direction, count, random);
        direction.choice = RouteChoice::PerPacket;
        spread(direction, gap_ns, random);
    }
    Fault::PerPacketRoutes
}

/// A tunnel hides the 5-tuple; each flow beyond the first adds 0.005 to 0.3 % of loss to none, or to as much.
pub(super) fn one_tuple(network: &mut Network, random: &mut Random) -> Fault {
    network.link.forward.hide_five_tuple = true;
    network.link.reverse.hide_five_tuple = true;
    let extra = random.log_between(5e-5, 3e-3);
    let loss = if random.chance(0.5) { extra } else { 0.0 };
    network.link.forward.extra_flow_loss = extra;
    lose(&mut network.link.forward, loss);
    Fault::FiveTupleIgnored { loss, extra }
}

/// The same independent loss of 0.001 to 10 % on every route.
pub(super) fn independent(network: &mut Network, random: &mut Random) -> Fault {
    let loss = random.log_between(1e-5, 0.1);
    lose(&mut network.link.forward, loss);
    Fault::IndependentLoss { loss }
}

fn lose(direction: &mut DirectionSpec, loss: f64) {
    for route in &mut direction.routes {
        route.loss.push(LossSpec::Bernoulli(loss));
    }
}
