//! Causes of loss that no finding names in full. It must not know how the diagnosis describes loss.

use weir_link::{RateSpec, RateStep};

use super::super::Network;
use super::base::queue_of;
use crate::middlebox::{Bucket, Middlebox};
use crate::random::Random;

/// A cause of loss outside the diagnosis's model, with what an honest partial answer may say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outside {
    /// A policer with two buckets for each flow.
    TwoBuckets {
        /// Lower rate, bits per second.
        committed: f64,
        /// Higher rate.
        peak: f64,
    },
    /// The only route's rate changes from test to test, as over a day.
    VaryingRate {
        /// Least rate, bits per second.
        least: f64,
        /// Greatest.
        most: f64,
    },
    /// Loss at certain times of every minute or so.
    Periodic,
    /// Loss of packets with certain contents.
    Content,
    /// Loss of packets that others overtook.
    ReplayWindow,
    /// Loss at the beginning of flows.
    SlowPath,
}

/// Adds one of them.
pub(super) fn add(network: &mut Network, random: &mut Random) -> Outside {
    network.middlebox = None;
    match random.whole(0, 5) {
        0 => two_buckets(network, random),
        1 => varying_rate(network, random),
        2 => periodic(network, random),
        3 => content(network, random),
        4 => replay_window(network, random),
        _ => slow_path(network, random),
    }
}

/// The committed rate is 5 to 60 % of the media rate, the peak rate 1.3 to 3 times that; a flow that sends nothing else may
/// send at the peak rate for 0.2 to 2 s.
fn two_buckets(network: &mut Network, random: &mut Random) -> Outside {
    let committed = network.plan.format.rate().0 as f64 * random.log_between(0.05, 0.6);
    let peak = committed * random.between(1.3, 3.0);
    let seconds = random.log_between(0.2, 2.0);
    network.middlebox = Some(Middlebox::TwoBuckets {
        committed: Bucket {
            rate: committed,
            burst: (peak - committed) * seconds,
        },
        peak: Bucket {
            rate: peak,
            burst: (peak * random.log_between(1e-3, 1e-2)).max(2e5),
        },
    });
    Outside::TwoBuckets { committed, peak }
}

/// A sine between 30 and 95 % and 105 and 250 % of the media rate, with a period of 100 to 600 s, in steps of a second, before a
/// queue of 1 to 100 ms.
fn varying_rate(network: &mut Network, random: &mut Random) -> Outside {
    let media = network.plan.format.rate().0 as f64;
    let (least, most) = (
        media * random.between(0.3, 0.95),
        media * random.between(1.05, 2.5),
    );
    let (seconds, phase) = (random.whole(100, 600), random.unit());
    let queue = queue_of(least as u64, random.log_between(1e6, 1e8));
    let rate = |second: u64| {
        let turn = std::f64::consts::TAU * (second as f64 / seconds as f64 + phase);
        least + (most - least) * (1.0 + turn.sin()) / 2.0
    };
    let steps = (0..seconds).map(|second| RateStep {
        duration_ns: 1_000_000_000,
        rate: rate(second) as u64,
    });
    let forward = &mut network.link.forward;
    forward.routes.truncate(1);
    forward.routes[0].rate = RateSpec::Steps(steps.collect());
    forward.routes[0].queue = queue;
    forward.routes[0].overhead = 0;
    Outside::VaryingRate { least, most }
}

/// 1 to 50 % of the packets for 0.1 to 3 s of every 4 to 50 s.
fn periodic(network: &mut Network, random: &mut Random) -> Outside {
    let period_s = random.log_between(4.0, 50.0);
    network.middlebox = Some(Middlebox::Periodic {
        period_ns: (period_s * 1e9) as u64,
        lasts_ns: (random.log_between(0.1, 3.0) * 1e9) as u64,
        loss: random.log_between(0.01, 0.5),
    });
    Outside::Periodic
}

/// One packet of 8 to 256.
fn content(network: &mut Network, random: &mut Random) -> Outside {
    let bits = random.whole(3, 8);
    network.middlebox = Some(Middlebox::Content {
        mask: (0xff_u32 >> (8 - bits)) as u8,
        value: random.bits() as u8,
    });
    Outside::Content
}

/// 0.1 to 5 % of the packets are delayed by 20 us to 2 ms, and dropped when more than 0 to 256 later ones came first.
fn replay_window(network: &mut Network, random: &mut Random) -> Outside {
    network.middlebox = Some(Middlebox::ReplayWindow {
        delayed: random.log_between(1e-3, 5e-2),
        delay_ns: random.log_between(2e4, 2e6),
        window: random.pick(&[0, 8, 32, 64, 256]),
    });
    Outside::ReplayWindow
}

/// For the first 20 ms to 1 s of a flow, 500 to 20,000 packets per second pass, all flows together.
fn slow_path(network: &mut Network, random: &mut Random) -> Outside {
    network.middlebox = Some(Middlebox::SlowPath {
        lasts_ns: random.log_between(2e7, 1e9) as u64,
        rate: random.log_between(500.0, 2e4) as u64,
    });
    Outside::SlowPath
}
