//! Seeded random numbers and the distributions of hosts and networks. Equal seeds give equal
//! numbers on every machine.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A separate sequence for each seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// A generator that is independent of this one from now on.
    pub fn fork(&mut self) -> Random {
        Random::new(self.bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform from 0 to 1, excluding 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform from `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform from `low` to `high` on a logarithmic scale; both above 0.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        // The remainder favours some numbers by less than one part in 2^32 for the small ranges used here.
        low + self.bits() % (high - low + 1)
    }

    /// One of these, which must not be empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.whole(0, choices.len() as u64 - 1) as usize]
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Pareto with this mean; `shape`, above 1, is the exponent of its tail.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let least = mean * (shape - 1.0) / shape;
        least * (1.0 - self.unit()).powf(-1.0 / shape)
    }

    /// Weibull with this scale; with a `shape` below 1, short and very long values are more frequent than in an exponential
    /// distribution.
    pub fn weibull(&mut self, scale: f64, shape: f64) -> f64 {
        scale * (-(1.0 - self.unit()).ln()).powf(1.0 / shape)
    }

    /// Log-normal with this median; `sigma` is the standard deviation of the logarithm.
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        // Box and Muller (1958).
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        median * (sigma * normal).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_median(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let mut values: Vec<f64> = (0..100_000).map(|_| draw()).collect();
        values.sort_by(f64::total_cmp);
        (values.iter().sum::<f64>() / 1e5, values[50_000])
    }

    /// The first numbers of SplitMix64 for seed 1234567, as published with several independent implementations.
    #[test]
    fn published_numbers() {
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.bits(), random.bits()], expected);
    }

    #[test]
    fn distributions_have_their_means_and_medians() {
        let mut random = Random::new(1);
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.02;
        // Exponential of mean 5: median 5 ln 2 = 3.4657. Log-normal of median 10, sigma 0.5: mean 10 exp(1/8).
        let (mean, median) = mean_and_median(|| random.exponential(5.0));
        assert!(near(mean, 5.0) && near(median, 3.4657), "{mean} {median}");
        let (mean, median) = mean_and_median(|| random.log_normal(10.0, 0.5));
        assert!(near(mean, 11.3315) && near(median, 10.0), "{mean} {median}");
        // Pareto of mean 6, shape 3: least 4, median 4 * 2^(1/3) = 5.0397. Weibull of scale 2, shape 1/2: mean 4, median
        // 2 (ln 2)^2 = 0.9609.
        let (mean, median) = mean_and_median(|| random.pareto(6.0, 3.0));
        assert!(near(mean, 6.0) && near(median, 5.0397), "{mean} {median}");
        let (mean, median) = mean_and_median(|| random.weibull(2.0, 0.5));
        assert!(near(mean, 4.0) && near(median, 0.9609), "{mean} {median}");
        let (mean, median) = mean_and_median(|| random.log_between(1.0, 100.0));
        // Mean (100 - 1) / ln 100 = 21.497; median 10.
        assert!(near(mean, 21.497) && near(median, 10.0), "{mean} {median}");
        assert!((0..1000).all(|_| (3..=5).contains(&random.whole(3, 5))));
    }
}
