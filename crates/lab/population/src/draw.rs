//! Distributions of what differs from household to household, and draws from them by a seed. It must not know what is drawn.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use thiserror::Error;

/// What random numbers are for. Each purpose of a household has a stream of its own, so that a change of one does not move
/// the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Line,
    Link,
    Viewer,
    Title,
    /// The neighbour of this place in the file.
    Neighbour(usize),
    Control,
}

impl Purpose {
    fn number(self) -> u64 {
        match self {
            Self::Line => 1,
            Self::Link => 2,
            Self::Viewer => 3,
            Self::Title => 4,
            Self::Neighbour(place) => (1 << 32) + place as u64,
            Self::Control => 2 << 32,
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The stream of a household for a purpose: the same for the same seed, whatever else is drawn.
    pub fn of(seed: u64, household: u64, purpose: Purpose) -> Self {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let household = mixed(seed.wrapping_add(STEP)) ^ household.wrapping_mul(STEP);
        let state = mixed(household) ^ purpose.number().wrapping_mul(STEP);
        Draws(Xoshiro256PlusPlus::seed_from_u64(mixed(state)))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform, 0 up to 1.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A distribution of a quantity above 0, in its base unit: bits per second, nanoseconds or bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Always the same.
    Always(f64),
    /// Values with their shares, which sum to 1.
    Shares(Choice<f64>),
    /// Values at shares of the population, both ascending from 0 to 1: in between, the logarithm is interpolated.
    Quantiles(Vec<(f64, f64)>),
    /// Log-normal. What is beyond a bound is set to it.
    LogNormal {
        /// Half of the values are below it.
        median: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Lower bound.
        least: f64,
        /// Upper bound.
        most: f64,
    },
}

impl Spread {
    pub(crate) fn draw(&self, draws: &mut Draws) -> f64 {
        match self {
            Self::Always(value) => *value,
            Self::Shares(choice) => *choice.draw(draws),
            Self::Quantiles(points) => at_share(points, draws.uniform()),
            Self::LogNormal {
                median,
                sigma,
                least,
                most,
            } => (median * (sigma * draws.normal()).exp()).clamp(*least, *most),
        }
    }

    /// The lowest and the highest value.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, 0.0f64), |(least, most), value| {
                (least.min(value), most.max(value))
            })
        };
        match self {
            Self::Always(value) => (*value, *value),
            Self::Shares(choice) => ends(&mut choice.values().copied()),
            Self::Quantiles(points) => ends(&mut points.iter().map(|point| point.1)),
            Self::LogNormal { least, most, .. } => (*least, *most),
        }
    }
}

fn at_share(points: &[(f64, f64)], share: f64) -> f64 {
    let above = points.partition_point(|point| point.0 <= share);
    match (points.get(above.wrapping_sub(1)), points.get(above)) {
        (Some((from, low)), Some((to, high))) => {
            let part = (share - from) / (to - from);
            low * (high / low).powf(part)
        }
        (Some(point), None) | (None, Some(point)) => point.1,
        (None, None) => 0.0,
    }
}

/// Values with their shares, which sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<T>(Vec<(f64, T)>);

/// Furthest that a sum of shares may be from 1.
const MOST_EXCESS: f64 = 1e-6;

/// Why shares are refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BadShares {
    /// Their sum, rounded.
    #[error("the shares sum to {0}, not to 1")]
    Sum(f64),
    /// One of them.
    #[error("{0} is below 0: shares are from 0 to 1")]
    Negative(f64),
}

impl<T> Choice<T> {
    /// Always the same.
    pub fn only(value: T) -> Self {
        Choice(vec![(1.0, value)])
    }

    /// These values with these shares.
    ///
    /// # Errors
    /// See [`BadShares`].
    pub fn new(shares: Vec<(f64, T)>) -> Result<Self, BadShares> {
        if let Some((share, _)) = shares.iter().find(|(share, _)| *share < 0.0) {
            return Err(BadShares::Negative(*share));
        }
        let sum: f64 = shares.iter().map(|(share, _)| share).sum();
        if !(sum - 1.0).abs().le(&MOST_EXCESS) {
            return Err(BadShares::Sum((sum * 1e6).round() / 1e6));
        }
        Ok(Choice(shares))
    }

    /// The values, in their order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The value with the largest share, the first of several.
    pub(crate) fn likeliest(&self) -> &T {
        let largest = self.0.iter().map(|(share, _)| *share).fold(0.0, f64::max);
        let place = self.0.iter().position(|(share, _)| *share >= largest);
        &self.0[place.unwrap_or(0)].1
    }

    pub(crate) fn draw(&self, draws: &mut Draws) -> &T {
        &self.0[self.draw_place(draws)].1
    }

    /// The place of the value that was drawn.
    pub(crate) fn draw_place(&self, draws: &mut Draws) -> usize {
        let mut left = draws.uniform();
        for (place, (share, _)) in self.0.iter().enumerate() {
            if left < *share {
                return place;
            }
            left -= share;
        }
        // The shares sum to 1 but for rounding.
        self.0.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(spread: &Spread, count: u64) -> Vec<f64> {
        let mut values: Vec<f64> = (0..count)
            .map(|household| spread.draw(&mut Draws::of(7, household, Purpose::Line)))
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The standard deviation of a share of 20,000 draws is at most 0.0036: bounds are four of them.
    #[test]
    fn draws_have_the_shares_of_their_distribution() {
        let below = |values: &[f64], limit: f64| {
            values.iter().filter(|value| **value < limit).count() as f64 / values.len() as f64
        };
        let log_normal = Spread::LogNormal {
            median: 20.0,
            sigma: 1.0,
            least: 1.0,
            most: 1_000.0,
        };
        let values = drawn(&log_normal, 20_000);
        // Of the normal distribution 15.87 % are below minus one deviation, 2.28 % above two.
        for (limit, share) in [
            (20.0, 0.5),
            (20.0 / std::f64::consts::E, 0.1587),
            (20.0 * 7.389, 0.9772),
        ] {
            assert!(
                (below(&values, limit) - share).abs() < 0.0145,
                "{limit}: {}",
                below(&values, limit)
            );
        }
        let quantiles = Spread::Quantiles(vec![(0.0, 1.0), (0.25, 10.0), (1.0, 1_000.0)]);
        let values = drawn(&quantiles, 20_000);
        // Half-way in the logarithm from 10 to 1,000 is 100, at 0.25 + 0.75 / 2.
        for (limit, share) in [(10.0, 0.25), (100.0, 0.625), (1_000.1, 1.0)] {
            assert!((below(&values, limit) - share).abs() < 0.0145, "{limit}");
        }
        let shares = Choice::new(vec![(0.2, 3.0), (0.8, 5.0)]).expect("a sum of 1");
        let values = drawn(&Spread::Shares(shares), 20_000);
        assert!((below(&values, 4.0) - 0.2).abs() < 0.0145);
    }

    #[test]
    fn shares_that_do_not_sum_to_1_are_refused() {
        assert_eq!(
            Choice::new(vec![(0.5, 'a'), (0.25, 'b')]),
            Err(BadShares::Sum(0.75))
        );
        let negative = Choice::new(vec![(1.5, 'a'), (-0.5, 'b')]);
        assert_eq!(negative, Err(BadShares::Negative(-0.5)));
        assert!(Choice::new(vec![(f64::NAN, 'a')]).is_err());
        assert!(Choice::new(vec![(0.1, 'a'), (0.2, 'b'), (0.7, 'c')]).is_ok());
    }
}
