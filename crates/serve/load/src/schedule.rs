//! When viewers come and go: ramps, steps, constant rates and Poisson arrivals, how long they think, what they choose.
//! All of it follows from a seed; it must not know clocks or what a viewer does.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

const SECOND_NS: f64 = 1e9;

/// Random numbers that a seed and a number of the stream give again and again.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream `number` of `seed`.
    pub fn new(seed: u64, number: u64) -> Self {
        // The generator spreads its seed over its state with SplitMix64; streams differ by the golden ratio of 2^64.
        Random(Xoshiro256PlusPlus::seed_from_u64(
            seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        ))
    }

    /// Evenly from 0 to just below 1.
    pub fn unit(&mut self) -> f64 {
        // 53 bits, as many as a double has.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly from 0 to below `count`, 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Time to the next event of a Poisson process of `rate` events per second.
    fn exponential_ns(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate * SECOND_NS
    }

    /// Evenly between two times.
    pub fn between(&mut self, (least, most): (Duration, Duration)) -> Duration {
        least + most.saturating_sub(least).mul_f64(self.unit())
    }
}

/// How many viewers there are, or how often one comes.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// From one number of viewers to another, evenly over a time; then that many until the end. A viewer whose session
    /// ends begins another.
    Ramp {
        /// Viewers at the start.
        from: u32,
        /// Viewers at the end of the ramp.
        to: u32,
        /// How long the ramp takes.
        over: Duration,
    },
    /// So many viewers for a time, then the next number, and the last number until the end.
    Steps {
        /// Numbers of viewers.
        levels: Vec<u32>,
        /// How long each lasts.
        each: Duration,
    },
    /// Viewers come at a rate, however many are there (open loop), and leave when their session ends.
    Rate {
        /// Viewers a second.
        per_second: f64,
        /// Whether arrivals are random (Poisson) instead of evenly spaced.
        poisson: bool,
    },
}

/// A viewer comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more.
    Arrive,
    /// The one who came last goes.
    Leave,
}

impl Arrivals {
    /// So many viewers from the start to the end.
    pub fn steady(viewers: u32) -> Self {
        Arrivals::Ramp {
            from: viewers,
            to: viewers,
            over: Duration::ZERO,
        }
    }

    /// Most viewers that are there at once, where the arrivals say so.
    pub fn most_viewers(&self) -> Option<u32> {
        match self {
            Arrivals::Ramp { from, to, .. } => Some(*from.max(to)),
            Arrivals::Steps { levels, .. } => Some(levels.iter().copied().max().unwrap_or(0)),
            Arrivals::Rate { .. } => None,
        }
    }

    /// Whether viewers come however many are there.
    pub fn is_open(&self) -> bool {
        matches!(self, Arrivals::Rate { .. })
    }

    /// How long viewers come and go before their number stays.
    pub fn settles_after(&self) -> Duration {
        match self {
            Arrivals::Ramp { over, .. } => *over,
            Arrivals::Steps { levels, each } => each.saturating_mul(levels.len() as u32),
            Arrivals::Rate { .. } => Duration::ZERO,
        }
    }

    /// Changes in the order of their times, nanoseconds since the start; endless for a rate.
    pub fn changes(&self, seed: u64) -> Box<dyn Iterator<Item = (u64, Change)> + Send> {
        match self {
            Arrivals::Ramp { from, to, over } => Box::new(ramp(*from, *to, *over)),
            Arrivals::Steps { levels, each } => {
                let starts = std::iter::once(0).chain(levels.clone());
                let each = nanoseconds(*each);
                let steps = starts.zip(levels.clone()).enumerate();
                Box::new(steps.flat_map(move |(number, (before, level))| {
                    let at = each.saturating_mul(number as u64);
                    let change = if level > before {
                        Change::Arrive
                    } else {
                        Change::Leave
                    };
                    (0..before.abs_diff(level)).map(move |_| (at, change))
                }))
            }
            Arrivals::Rate { per_second, poisson } => Box::new(rate(*per_second, *poisson, seed)),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The line from `from` to `to`: the number of viewers is n + 1 as soon as the line is at n + 1.
fn ramp(from: u32, to: u32, over: Duration) -> impl Iterator<Item = (u64, Change)> + Send {
    let count = from.abs_diff(to);
    let change = if to > from { Change::Arrive } else { Change::Leave };
    let over = nanoseconds(over);
    let at = move |step: u32| (u128::from(over) * u128::from(step) / u128::from(count.max(1))) as u64;
    let first = (0..from).map(|_| (0, Change::Arrive));
    first.chain((1..=count).map(move |step| (at(step), change)))
}

fn rate(per_second: f64, poisson: bool, seed: u64) -> impl Iterator<Item = (u64, Change)> + Send {
    let mut random = Random::new(seed, u64::MAX);
    let mut now = 0.0;
    (0_u64..).map(move |number| {
        if poisson {
            now += random.exponential_ns(per_second);
        } else {
            now = number as f64 / per_second * SECOND_NS;
        }
        (now as u64, Change::Arrive)
    })
}

/// How often each of a list is chosen: the k-th in proportion to 1 / k^exponent (Zipf). With exponent 0 all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// Share of the first k + 1.
    cumulative: Vec<f64>,
}

impl Popularity {
    /// For a list of `count` with the given exponent.
    pub fn zipf(count: usize, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|weight| {
            sum += weight / total;
            sum
        });
        Popularity {
            cumulative: cumulative.collect(),
        }
    }

    /// A random index, by weight.
    pub fn choose(&self, random: &mut Random) -> usize {
        let point = random.unit();
        let index = self.cumulative.partition_point(|share| *share <= point);
        index.min(self.cumulative.len().saturating_sub(1))
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
