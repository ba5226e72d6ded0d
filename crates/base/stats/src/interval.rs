//! Confidence interval of a measured loss rate. It must not know how packets were counted.
//!
//! The interval is exact for independent losses. Losses in bursts carry less information than their number
//! says, and the true interval is then wider.

/// Probability left out on each side of the 95 % interval.
const TAIL: f64 = 0.025;
/// The standard deviations that leave out as much in a normal distribution.
const DEVIATIONS: f64 = 1.959_963_984_540_054;
/// Above this variance of the count the exact sum has hundreds of thousands of terms and differs from the normal
/// approximation by less than a ten-thousandth of the interval's width.
const NORMAL_ABOVE: f64 = 1e9;

/// The Clopper-Pearson 95 % interval of the loss probability (0.0..=1.0) after `lost` of `sent` packets were lost.
/// Without loss the upper bound is near 3.69 / `sent`, not 0; without packets the interval is (0, 1). A `lost` above
/// `sent` counts as `sent`.
pub fn loss_interval(lost: u64, sent: u64) -> (f64, f64) {
    if sent == 0 {
        return (0.0, 1.0);
    }
    let lost = lost.min(sent);
    let n = sent as f64;
    let rate = lost as f64 / n;
    if n * rate * (1.0 - rate) > NORMAL_ABOVE {
        return normal_interval(rate, n);
    }
    let low = match lost {
        0 => 0.0,
        _ if lost == sent => (TAIL.ln() / n).exp(),
        _ => crossing(0.0, rate, |p| at_least(lost, sent, p) > TAIL),
    };
    let high = match lost {
        0 => -(TAIL.ln() / n).exp_m1(),
        _ if lost == sent => 1.0,
        _ => crossing(rate, 1.0, |p| at_most(lost, sent, p) < TAIL),
    };
    (low, high)
}

/// Wilson's score interval.
fn normal_interval(rate: f64, n: f64) -> (f64, f64) {
    let square = DEVIATIONS * DEVIATIONS / n;
    let centre = (rate + 0.5 * square) / (1.0 + square);
    let half = (square * (rate * (1.0 - rate) + 0.25 * square)).sqrt() / (1.0 + square);
    (centre - half, centre + half)
}

/// Where in `low..high` the predicate turns from false to true.
pub(crate) fn crossing(mut low: f64, mut high: f64, beyond: impl Fn(f64) -> bool) -> f64 {
    while high - low > 1e-13 * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if beyond(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}

/// P(X >= k) of a binomial X of `n` trials, for p below k / n, where the terms fall from the first on.
pub(crate) fn at_least(k: u64, n: u64, p: f64) -> f64 {
    let odds = p / (1.0 - p);
    let (k_f, n_f) = (k as f64, n as f64);
    let falling = (0..n - k).map(|i| (n_f - k_f - i as f64) / (k_f + 1.0 + i as f64) * odds);
    probability(k, n, p) * sum_of_products(falling)
}

/// P(X <= k) of a binomial X of `n` trials, for p above k / n.
pub(crate) fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let odds = (1.0 - p) / p;
    let (k_f, n_f) = (k as f64, n as f64);
    let falling = (0..k).map(|i| (k_f - i as f64) / (n_f - k_f + 1.0 + i as f64) * odds);
    probability(k, n, p) * sum_of_products(falling)
}

/// 1 + r1 + r1 r2 + r1 r2 r3 + ..., for falling ratios below 1, until the terms no longer count.
fn sum_of_products(ratios: impl Iterator<Item = f64>) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for ratio in ratios {
        term *= ratio;
        sum += term;
        // The rest is at most a geometric series with this ratio.
        if term < 1e-16 * sum * (1.0 - ratio) {
            break;
        }
    }
    sum
}

/// P(X = k) of a binomial X of `n` trials, 0 < k < n, 0 < p < 1.
///
/// Written as Stirling's formula times its corrections and a deviance, so that no two huge logarithms are subtracted:
/// with plain log-factorials the result would be noise for the billions of packets of a long test.
fn probability(k: u64, n: u64, p: f64) -> f64 {
    let (k_f, n_f, rest_f) = (k as f64, n as f64, (n - k) as f64);
    // Both deviances from the same excess: the mean of the rest has too few digits to subtract it from `n - k`.
    let excess = k_f - n_f * p;
    let exponent = stirling_correction(n)
        - stirling_correction(k)
        - stirling_correction(n - k)
        - deviance(excess, n_f * p)
        - deviance(-excess, n_f * (1.0 - p));
    (n_f / (std::f64::consts::TAU * k_f * rest_f)).sqrt() * exponent.exp()
}

/// x ln(x / mean) + mean - x, for x = mean + excess.
fn deviance(excess: f64, mean: f64) -> f64 {
    let u = excess / mean;
    if u <= -1.0 {
        // x is nothing beside the mean: the limit, where the logarithm would be infinite.
        return mean;
    }
    mean * ((1.0 + u) * u.ln_1p() - u)
}

/// ln n! minus Stirling's formula for it, for n of at least 1.
fn stirling_correction(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let ln_factorial: f64 = (2..=n).map(|i| (i as f64).ln()).sum();
        return ln_factorial - (0.5 * (std::f64::consts::TAU * x).ln() + x * x.ln() - x);
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1_260.0 - 1.0 / (1_680.0 * square)) / square) / square) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_is_not_called_zero() {
        let (low, high) = loss_interval(0, 1_000);
        assert_eq!(low, 0.0);
        assert!((high - 0.003_682_083_896_865_6).abs() < 1e-12);
        assert_eq!(loss_interval(0, 0), (0.0, 1.0));
        assert_eq!(loss_interval(7, 7).1, 1.0);
        assert_eq!(loss_interval(9, 7), loss_interval(7, 7));
    }

    #[test]
    fn sums_of_probabilities_agree_with_pascal() {
        // All of the 2^10 outcomes of ten throws: 1, 10, 45, 120, ... of them.
        assert!((probability(3, 10, 0.5) - 120.0 / 1_024.0).abs() < 1e-14);
        assert!((at_least(8, 10, 0.5) - 56.0 / 1_024.0).abs() < 1e-14);
        assert!((at_most(2, 10, 0.5) - 56.0 / 1_024.0).abs() < 1e-14);
    }

    #[test]
    fn the_exact_and_the_normal_interval_meet() {
        for (lost, sent) in [
            (500_000_000_u64, 1_000_000_000_u64),
            (900_000_000, 1_000_000_000_000),
        ] {
            let (low, high) = loss_interval(lost, sent);
            let (normal_low, normal_high) = normal_interval(lost as f64 / sent as f64, sent as f64);
            let width = high - low;
            assert!(((low - normal_low) / width).abs() < 1e-4, "{low} {normal_low}");
            assert!(
                ((high - normal_high) / width).abs() < 1e-4,
                "{high} {normal_high}"
            );
        }
        let (low, high) = loss_interval(u64::MAX / 2, u64::MAX);
        assert!(low < 0.5 && high > 0.5 && high - low < 1e-9);
        let (low, high) = loss_interval(1, u64::MAX);
        assert!(low > 0.0 && high < 1e-18 && low < high);
    }
}
