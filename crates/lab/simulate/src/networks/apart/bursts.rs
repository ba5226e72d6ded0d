//! Loss in bursts whose lengths have a heavy tail, at times that cluster. It must not know other faults.

use weir_link::LossSpec;

use super::super::{Fault, Network};
use crate::random::Random;

/// A burst is at most this multiple of the mean.
const LONGEST: f64 = 50.0;
/// Forward tests of a survey, their repeats included; later packets are not lost.
const TESTS: f64 = 16.0;
/// Shortest packet of a test with many, bytes.
const SHORT: f64 = 1200.0;

/// Bursts of a Pareto distribution (mean 2 to 40 packets of a route, exponent 1.3 to 2.5), Weibull times between them (shape
/// 0.5 to 1), on every route a process of its own; 0.01 to 5 % of the packets.
pub(super) fn heavy_tailed(network: &mut Network, random: &mut Random) -> Fault {
    let burst = random.log_between(2.0, 40.0);
    let loss = random.log_between(1e-4, 5e-2);
    let (tail, cluster) = (random.between(1.3, 2.5), random.between(0.5, 1.0));
    let rate = network.plan.format.rate();
    let packets = rate.bytes_in(network.plan.step_ns) as f64 / SHORT * TESTS;
    let (mut lost, mut bursts) = (0, 0);
    for route in &mut network.link.forward.routes {
        let mut places = Vec::new();
        let mut at = 0.0;
        while at < packets {
            at += 1.0 + random.weibull(burst / loss, cluster);
            let length = random.pareto(burst, tail).min(LONGEST * burst).round().max(1.0);
            places.extend(at as u64..(at + length) as u64);
            at += length;
            bursts += 1;
        }
        lost += places.len();
        route.loss.push(LossSpec::Packets(places));
    }
    let (lost, routes) = (lost as f64, network.link.forward.routes.len() as f64);
    Fault::BurstLoss {
        loss: lost / (packets * routes),
        burst: lost / f64::from(bursts),
    }
}
