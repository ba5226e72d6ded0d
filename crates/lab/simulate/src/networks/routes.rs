//! Faults of routes: loss, outages, lengths. It must not know caps or hosts.

use weir_link::{DarkSpan, Jitter, LinkSpec, LossSpec, QueueSpec, RateSpec, RouteChoice, RouteSpec};
use weir_measure::VideoFormat;
use weir_units::{FrameRate, Rate};

use super::{Fault, Network};
use crate::path::Path;
use crate::random::Random;

/// Approximate number of packets of a step with the media rate.
fn packets_in_step(network: &Network, payload: u32) -> f64 {
    let bytes = network.plan.format.rate().bytes_in(network.plan.step_ns);
    bytes as f64 / f64::from(payload)
}

/// Longest payload of the survey.
fn longest(network: &Network) -> u32 {
    network.link.forward.mtu.bytes.min(network.link.interface_mtu) - 28
}

/// Gives both directions `count` routes like the first.
fn with_routes(link: &mut LinkSpec, count: u64) {
    for direction in [&mut link.forward, &mut link.reverse] {
        let first = direction.routes[0].clone();
        direction.routes = vec![first; count as usize];
    }
}

/// 2 to 8 routes that differ from each other by 40 us to 1 ms (20 ms with long delays), with jitter that stays below a
/// tenth of the smallest difference.
pub(super) fn several(network: &mut Network, random: &mut Random) {
    let count = random.whole(2, 8);
    with_routes(&mut network.link, count);
    let long = network.link.forward.routes[0].delay_ns > 2_000_000;
    let most = if long { 2e7 } else { 1e6 };
    let gap = random.log_between(4e4, most / count as f64);
    spread_delays(&mut network.link.forward.routes, gap, random);
    spread_delays(&mut network.link.reverse.routes, gap, random);
    network.fault = Fault::Routes;
}

/// Each route is longer than the one before by `gap_ns` to twice that.
fn spread_delays(routes: &mut [RouteSpec], gap_ns: f64, random: &mut Random) {
    let mut more = 0.0;
    for route in routes {
        route.delay_ns += more as u64;
        more += gap_ns * random.between(1.0, 2.0);
        route.jitter = route.jitter.map(|jitter| Jitter {
            most_ns: jitter.most_ns.min((gap_ns / 10.0) as u64),
            ..jitter
        });
    }
}

/// 2 to 4 routes of equal length; half of them, at least one, lose packets, such that the step with the most
/// packets loses 40 or more, up to 0.5 %.
pub(super) fn lossy(network: &mut Network, random: &mut Random) {
    let count = random.whole(2, 4);
    with_routes(&mut network.link, count);
    let bad = random.whole(1, count / 2) as usize;
    let share = bad as f64 / count as f64;
    let least = (40.0 / (packets_in_step(network, 1200) * share)).max(1e-5);
    let loss = random.log_between(least, 5e-3_f64.max(2.0 * least));
    let mut by_route = vec![0.0; count as usize];
    for (route, value) in network
        .link
        .forward
        .routes
        .iter_mut()
        .zip(&mut by_route)
        .take(bad)
    {
        route.loss.push(LossSpec::Bernoulli(loss));
        *value = loss;
    }
    network.fault = Fault::RouteLoss { loss: by_route };
}

/// A route, or all, goes dark for 0.2 to 2 s within a forward flow step.
pub(super) fn dark(network: &mut Network, random: &mut Random) {
    let count = random.pick(&[1, 2, 3, 4, 8, 16]);
    with_routes(&mut network.link, count);
    let all = count == 1 || random.chance(0.2);
    let route = (!all).then(|| random.whole(0, count - 1) as u16);
    // Steps 2 to 7, or 2 to 4 where packets are short, are the sweep over lengths, with eight flows.
    let last = if longest(network) > 8100 { 7 } else { 4 };
    let step = random.whole(2, last);
    let lasts_ns = random.log_between(2e8, 2e9) as u64;
    let room = network.plan.step_ns - lasts_ns - 200_000_000;
    let begins = Path::stream_begins_ns(&network.link, step);
    let from_ns = begins + 100_000_000 + random.whole(0, room);
    for (index, spec) in (0..).zip(&mut network.link.forward.routes) {
        if route.is_none_or(|route| route == index) {
            spec.dark.push(DarkSpan {
                from_ns,
                to_ns: from_ns + lasts_ns,
            });
        }
    }
    network.fault = Fault::Outage {
        route,
        step,
        from_ns,
        lasts_ns,
    };
}

/// Loss drawn so that the step with the fewest packets loses 30 or more, up to 2 %.
fn visible_loss(network: &Network, random: &mut Random) -> f64 {
    let least = 30.0 / packets_in_step(network, longest(network));
    random.log_between(least, 2e-2_f64.max(2.0 * least))
}

/// The same independent loss on all routes.
pub(super) fn independent_loss(network: &mut Network, random: &mut Random) {
    let loss = visible_loss(network, random);
    for route in &mut network.link.forward.routes {
        route.loss.push(LossSpec::Bernoulli(loss));
    }
    network.fault = Fault::IndependentLoss { loss };
}

fn bursts(loss: f64, burst: f64) -> LossSpec {
    let to_good = 1.0 / burst;
    LossSpec::gilbert(loss * to_good / (1.0 - loss), to_good)
}

/// Bursts of 2 to 50 packets of a route on average, of which the step with the fewest packets sees 20 or more, on one
/// or two routes.
pub(super) fn burst_loss(network: &mut Network, random: &mut Random) {
    let count = random.whole(1, 2);
    with_routes(&mut network.link, count);
    let burst = random.log_between(2.0, 50.0);
    let least = 20.0 * burst / packets_in_step(network, longest(network));
    let loss = random.log_between(least, 3e-2_f64.max(1.5 * least)).min(0.2);
    for route in &mut network.link.forward.routes {
        route.loss.push(bursts(loss, burst));
    }
    network.fault = Fault::BurstLoss { loss, burst };
}

/// Rare bursts of 20 to 200 packets, of 10 ms at most, on the only route: all flows lose at once.
pub(super) fn shared_bursts(network: &mut Network, random: &mut Random) {
    with_routes(&mut network.link, 1);
    network.link.forward.hide_five_tuple = random.chance(0.5);
    let packets = packets_in_step(network, longest(network));
    let most = 1e7 / network.plan.step_ns as f64 * packets;
    let burst = random.log_between(20.0, 200.0).min(most.max(20.0));
    let events = random.log_between(2.0, 8.0);
    let loss = (events * burst / packets).min(0.2);
    network.link.forward.routes[0].loss.push(bursts(loss, burst));
    network.fault = Fault::SharedBursts { loss };
}

/// Packets choose among 2 to 4 routes that differ by 50 us to 1 ms.
pub(super) fn per_packet(network: &mut Network, random: &mut Random) {
    let count = random.whole(2, 4);
    with_routes(&mut network.link, count);
    let gap = random.log_between(5e4, 1e6 / count as f64);
    for direction in [&mut network.link.forward, &mut network.link.reverse] {
        direction.choice = RouteChoice::PerPacket;
        spread_delays(&mut direction.routes, gap, random);
    }
    network.fault = Fault::PerPacketRoutes;
}

/// Surveys that are made twice plan for 100 to 300 Mbit/s: their subject is the RTT.
fn plan_for_little(network: &mut Network, random: &mut Random) {
    let rate = random.log_between(1e8, 3e8) as u64;
    network.plan.format = VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60);
}

/// The round trip changed by 20 % to a factor of 3, by 50 us or more, and to at most 190 ms, since an earlier survey.
pub(super) fn longer_or_shorter(network: &mut Network, random: &mut Random) {
    plan_for_little(network, random);
    let mut other = network.link.clone();
    let before = other.forward.routes[0].delay_ns;
    let change = random.log_between(0.2, 2.0) * before as f64;
    // A round trip of more than 0.2 s exceeds the timeout of the clock watch of a flow test.
    let change = change.clamp(25_000.0, 9.5e7 - before as f64) as u64;
    for direction in [&mut other.forward, &mut other.reverse] {
        for route in &mut direction.routes {
            route.delay_ns += change;
        }
    }
    other.seed = random.bits();
    let by_ns = 2 * change as i64;
    if random.chance(0.5) {
        network.before = Some(std::mem::replace(&mut network.link, other));
        network.fault = Fault::RttChange { by_ns };
    } else {
        network.before = Some(other);
        network.fault = Fault::RttChange { by_ns: -by_ns };
    }
}

/// The same network was surveyed before.
pub(super) fn as_it_was(network: &mut Network, random: &mut Random) {
    plan_for_little(network, random);
    let mut before = network.link.clone();
    before.seed = random.bits();
    network.before = Some(before);
    network.fault = Fault::RttSame;
}

/// One route at 1 to 5 Gbit/s that still carries the media, with a queue for whole windows.
pub(super) fn slow(network: &mut Network, random: &mut Random) {
    with_routes(&mut network.link, 1);
    let media = network.plan.format.rate().0 as f64;
    let rate = random.log_between((1.3 * media).max(1e9), (1.5 * media).max(5e9)) as u64;
    for direction in [&mut network.link.forward, &mut network.link.reverse] {
        direction.routes[0].rate = RateSpec::Fixed(rate);
        direction.routes[0].queue = QueueSpec::Bytes(8 << 20);
    }
    network.fault = Fault::SlowRoute { rate };
}
