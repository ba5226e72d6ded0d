//! Counts of right and wrong answers with confidence intervals. It must not know the questions.

use weir_stats::loss_interval;

/// Number of cases, of a total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of cases.
    pub yes: u64,
    /// Total.
    pub of: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, yes: bool) {
        self.yes += u64::from(yes);
        self.of += 1;
    }

    /// Share, 0 to 1; 0 for an empty total.
    pub fn rate(&self) -> f64 {
        self.yes as f64 / self.of.max(1) as f64
    }

    /// Bounds of the true share, 95 % (Clopper-Pearson).
    pub fn interval(&self) -> (f64, f64) {
        loss_interval(self.yes, self.of)
    }

    /// `97.5 % (94.3 to 99.2 %)`, or a dash if the total is 0.
    pub fn percent(&self) -> String {
        if self.of == 0 {
            return "–".to_owned();
        }
        let (low, high) = self.interval();
        format!(
            "{:.1} % ({:.1} to {:.1} %)",
            100.0 * self.rate(),
            100.0 * low,
            100.0 * high
        )
    }
}

/// Errors of estimated values, relative to the truth.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    values: Vec<f64>,
}

impl Errors {
    /// Adds an estimate of a true value.
    pub fn add(&mut self, estimate: f64, truth: f64) {
        self.values.push((estimate / truth - 1.0).abs());
    }

    /// Number of estimates.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Quantile of the errors; 0 without estimates.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        let place = (quantile * values.len() as f64).ceil() as usize;
        values.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_gives_its_share_and_the_exact_interval() {
        let mut tally = Tally::default();
        assert_eq!(tally.percent(), "–");
        for turn in 0..200 {
            tally.add(turn != 0);
        }
        // Clopper-Pearson for 199 of 200: 97.25 to 99.99 % (R: binom.test(199, 200)).
        assert_eq!(tally.percent(), "99.5 % (97.2 to 100.0 %)");
    }

    #[test]
    fn errors_are_relative_and_their_quantiles_are_of_the_sample() {
        let mut errors = Errors::default();
        for estimate in [90.0, 101.0, 102.0, 100.0] {
            errors.add(estimate, 100.0);
        }
        assert!((errors.quantile(0.5) - 0.01).abs() < 1e-9);
        assert!((errors.quantile(1.0) - 0.1).abs() < 1e-9);
        assert_eq!((errors.count(), Errors::default().quantile(0.5)), (4, 0.0));
    }
}
