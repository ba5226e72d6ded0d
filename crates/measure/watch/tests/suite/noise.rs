//! Minutes of a path whose RTT has the time of day, jitter, slow wander and stalls of hosts, and whose loss comes alone and in
//! bursts; and flow tests over several routes; each with a planted change. The model is not that of the change points: it knows no
//! logarithms, medians or sums.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_watch::change::{Hops, MINUTE_NS, Minute};

/// Packets a minute: four a second.
const PACKETS: u64 = 240;

/// What changes at a minute.
#[derive(Clone, Copy, Debug)]
pub enum Planted {
    /// P50 and P90 are multiplied.
    Rtt(f64),
    /// Only P90 is multiplied.
    P90(f64),
    /// Further loss.
    Loss(f64),
    /// Further hops.
    Hops(u32),
}

/// A path.
pub struct Noise {
    random: Xoshiro256PlusPlus,
    minute: u64,
    base_ns: f64,
    /// Height of the daily wave of P50 and P90, as shares.
    day: (f64, f64),
    /// Deviation of a minute's P50 and P90, as shares.
    jitter: (f64, f64),
    /// Wander: a first-order autoregression.
    wander: f64,
    stalled: u64,
    planted: Option<(u64, Planted)>,
}

impl Noise {
    /// A path of which most follows from the seed.
    pub fn new(seed: u64, planted: Option<(u64, Planted)>) -> Self {
        let mut noise = Noise {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            minute: 0,
            base_ns: 0.0,
            day: (0.0, 0.0),
            jitter: (0.0, 0.0),
            wander: 0.0,
            stalled: 0,
            planted,
        };
        // 1 to 200 ms; waves of up to 4 % and 8 % about the mean; deviations of up to 0.4 % and 1.2 %.
        noise.base_ns = 1e6 * 200f64.powf(noise.uniform());
        noise.day = (0.04 * noise.uniform(), 0.08 * noise.uniform());
        noise.jitter = (0.001 + 0.003 * noise.uniform(), 0.002 + 0.010 * noise.uniform());
        noise
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// True once in so many calls.
    fn once_in(&mut self, calls: f64) -> bool {
        self.uniform() * calls < 1.0
    }

    /// Number of losses that are independent.
    fn losses(&mut self, rate: f64) -> u64 {
        let limit = (-rate * PACKETS as f64).exp();
        let (mut product, mut count) = (self.uniform(), 0);
        while product > limit && count < PACKETS {
            product *= self.uniform();
            count += 1;
        }
        count
    }

    fn planted(&self) -> Option<Planted> {
        self.planted
            .filter(|(at, _)| self.minute >= *at)
            .map(|(_, change)| change)
    }

    /// The next minute.
    pub fn next(&mut self) -> Minute {
        let phase = std::f64::consts::TAU * self.minute as f64 / 1440.0;
        self.wander = 0.7 * self.wander + 0.7 * self.jitter.0 * self.normal();
        let p50 = 1.0 + self.day.0 * phase.sin() + self.wander + self.jitter.0 * self.normal();
        let tail = 1.05 + self.day.1 * phase.sin() + self.wander + self.jitter.1 * self.normal();
        let (mut p50, mut p90) = (self.base_ns * p50, self.base_ns * tail.max(p50));
        let mut lost = self.losses(1e-5);
        // Five stalls a day of one to four minutes.
        if self.stalled == 0 && self.once_in(288.0) {
            self.stalled = 1 + self.random.next_u64() % 4;
        }
        if self.stalled > 0 {
            self.stalled -= 1;
            p90 *= 1.2 + 20.0 * self.uniform();
            if self.once_in(3.0) {
                p50 *= 1.0 + 0.5 * self.uniform();
                lost += self.random.next_u64() % 20;
            }
        }
        // Two bursts of loss a day.
        if self.once_in(720.0) {
            lost += 1 + self.random.next_u64() % 30;
        }
        let mut hops = 12;
        match self.planted() {
            Some(Planted::Rtt(factor)) => (p50, p90) = (p50 * factor, p90 * factor),
            Some(Planted::P90(factor)) => p90 *= factor,
            Some(Planted::Loss(rate)) => lost += self.losses(rate),
            Some(Planted::Hops(more)) => hops += more,
            None => {}
        }
        let minute = Minute {
            start_ns: self.minute * MINUTE_NS,
            p50_ns: Some(p50 as u64),
            p90_ns: Some(p90.max(p50) as u64),
            sent: PACKETS,
            lost: lost.min(PACKETS),
            hops: Some(hops),
        };
        self.minute += 1;
        minute
    }
}

/// Flows of a test.
const FLOWS: u64 = 16;

/// What changes at a test.
#[derive(Clone, Copy, Debug)]
pub enum Rerouted {
    /// A route more, which takes 30 to 60 % of the flows.
    More,
    /// The first route, of 30 % or more, is gone.
    Less,
    /// All flows take another one.
    Other,
    /// The path MTU.
    Mtu(u32),
}

/// Flow tests of a path with one to three routes, whose shares vary from test to test more than chance makes them, of which few
/// flows are lost, and whose searches of the path MTU, every sixth test, are wrong now and then.
pub struct RouteNoise {
    random: Noise,
    test: u64,
    /// Hops and share.
    routes: Vec<(u32, f64)>,
    mtu: u32,
    in_doubt: bool,
    planted: Option<(u64, Rerouted)>,
}

impl RouteNoise {
    /// A path of which most follows from the seed.
    pub fn new(seed: u64, planted: Option<(u64, Rerouted)>) -> Self {
        let random = Noise::new(seed ^ 0x5eed, None);
        let mut noise = RouteNoise {
            random,
            test: 0,
            routes: Vec::new(),
            mtu: 1500,
            in_doubt: false,
            planted,
        };
        let first = 0.3 + 0.4 * noise.random.uniform();
        noise.routes = match seed % 3 {
            0 if !matches!(planted, Some((_, Rerouted::Less))) => vec![(11, 1.0)],
            1 => vec![(11, first), (12, 1.0 - first)],
            _ => vec![(11, first), (13, 0.7 * (1.0 - first)), (14, 0.3 * (1.0 - first))],
        };
        noise
    }

    fn plant(&mut self) {
        let Some((_, change)) = self.planted.filter(|(at, _)| *at == self.test) else {
            return;
        };
        match change {
            Rerouted::More => {
                let share = 0.3 + 0.3 * self.random.uniform();
                self.routes.iter_mut().for_each(|route| route.1 *= 1.0 - share);
                self.routes.push((17, share));
            }
            Rerouted::Less => {
                let (_, gone) = self.routes.remove(0);
                self.routes.iter_mut().for_each(|route| route.1 /= 1.0 - gone);
            }
            Rerouted::Other => self.routes = vec![(9, 1.0)],
            Rerouted::Mtu(mtu) => self.mtu = mtu,
        }
    }

    /// Flows of the next test by hops, and its path MTU, if it is searched.
    pub fn next(&mut self) -> (Hops, Option<u32>) {
        self.plant();
        // Shares of this test: up to a half more or less.
        let weights: Vec<f64> = self
            .routes
            .iter()
            .map(|(_, share)| share * (0.5 + self.random.uniform()))
            .collect();
        let all: f64 = weights.iter().sum();
        let mut hops = Hops::new();
        for _ in 0..FLOWS {
            let mut left = all * self.random.uniform();
            let lost = self.random.once_in(200.0);
            let taken = weights.iter().position(|weight| {
                left -= weight;
                left <= 0.0
            });
            let route = taken.unwrap_or(weights.len() - 1);
            if !lost {
                *hops.entry(self.routes[route].0).or_default() += 1;
            }
        }
        let searches = self.in_doubt || self.test.is_multiple_of(6);
        let mtu = searches.then(|| {
            let wrong = self.random.once_in(1_000.0);
            let found = if wrong {
                1_200 + self.random.random.next_u64() as u32 % 300
            } else {
                self.mtu
            };
            // The watcher confirms what is new.
            self.in_doubt = !self.in_doubt && found != 1500;
            found
        });
        self.test += 1;
        (hops, mtu)
    }
}
