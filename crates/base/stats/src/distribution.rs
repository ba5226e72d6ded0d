//! Tails of the distributions of statistical tests. It must not know what is tested.

use statrs::function::beta::checked_beta_reg;
use statrs::function::erf::erfc;
use statrs::function::gamma::{checked_gamma_ur, ln_gamma};

use crate::interval::{at_least, at_most};

/// P(Z >= z) of a standard normal Z.
pub fn normal_tail(z: f64) -> f64 {
    if z.is_nan() {
        return 1.0;
    }
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// P(X >= x) of a chi-squared X with `freedom` degrees of freedom; 1 where either is not positive.
pub fn chi_squared_tail(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 || freedom <= 0.0 || x.is_nan() {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    checked_gamma_ur(0.5 * freedom, 0.5 * x).map_or(1.0, |tail| tail.clamp(0.0, 1.0))
}

/// P(|T| >= |t|) of Student's T with `freedom` degrees of freedom.
pub fn student_two_tails(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    regularized_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t))
}

/// The value that |T| passes with probability `share` (above 0, below 1), T as above.
pub fn student_quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_tails(high, freedom) > share && high < 1e12 {
        high *= 2.0;
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if student_two_tails(middle, freedom) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(F >= f) of Fisher's F with these degrees of freedom of numerator and denominator.
pub fn fisher_tail(f: f64, above: f64, below: f64) -> f64 {
    if f <= 0.0 || above <= 0.0 || below <= 0.0 || f.is_nan() {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    regularized_beta(0.5 * below, 0.5 * above, below / (below + above * f))
}

fn regularized_beta(a: f64, b: f64, x: f64) -> f64 {
    checked_beta_reg(a, b, x.clamp(0.0, 1.0)).map_or(1.0, |value| value.clamp(0.0, 1.0))
}

/// P(X >= k) of a binomial X of `n` trials with probability `p`.
pub fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    if k == n {
        return (n as f64 * p.ln()).exp();
    }
    if k as f64 > n as f64 * p {
        at_least(k, n, p).min(1.0)
    } else {
        1.0 - binomial_at_most(k - 1, n, p)
    }
}

/// P(X <= k) of a binomial X of `n` trials with probability `p`.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    if k == 0 {
        return (n as f64 * (-p).ln_1p()).exp();
    }
    if (k as f64) < n as f64 * p {
        at_most(k, n, p).min(1.0)
    } else {
        1.0 - binomial_at_least(k + 1, n, p)
    }
}

/// P(X >= k) of a Poisson X with this mean.
pub fn poisson_at_least(k: u64, mean: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    // A Poisson count reaches k when a gamma variable of shape k is at most its mean.
    let below = checked_gamma_ur(k as f64, mean).unwrap_or(0.0);
    if below < 0.5 {
        return 1.0 - below;
    }
    statrs::function::gamma::checked_gamma_lr(k as f64, mean).unwrap_or(0.0)
}

/// P(X <= k) of the number X of white balls among `drawn` from an urn with `white` white and `black` black ones.
pub fn hypergeometric_at_most(k: u64, white: u64, black: u64, drawn: u64) -> f64 {
    let (least, most) = (drawn.saturating_sub(black), drawn.min(white));
    if k >= most {
        return 1.0;
    }
    if k < least {
        return 0.0;
    }
    let mean = drawn as f64 * (white as f64 / (white as f64 + black as f64));
    // The sum runs away from the mean, so the terms fall from the first on.
    if k as f64 <= mean {
        hypergeometric_sum(k, white, black, drawn, false)
    } else {
        1.0 - hypergeometric_sum(k + 1, white, black, drawn, true)
    }
}

/// The term at `k` and all on the far side of it.
fn hypergeometric_sum(k: u64, white: u64, black: u64, drawn: u64, upwards: bool) -> f64 {
    let first = (ln_choose(white, k) + ln_choose(black, drawn - k) - ln_choose(white + black, drawn)).exp();
    let (w, b, d) = (white as f64, black as f64, drawn as f64);
    let (mut term, mut sum, mut x) = (1.0, 1.0, k as f64);
    loop {
        let ratio = if upwards {
            (w - x) * (d - x) / ((x + 1.0) * (b - d + x + 1.0))
        } else {
            x * (b - d + x) / ((w - x + 1.0) * (d - x + 1.0))
        };
        term *= ratio;
        sum += term;
        x += if upwards { 1.0 } else { -1.0 };
        if ratio <= 0.0 || term < 1e-17 * sum {
            return (first * sum).clamp(0.0, 1.0);
        }
    }
}

/// ln of the number of ways to choose `k` of `n`; minus infinity where there is none.
pub fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    let (n_f, k_f) = (n as f64, k as f64);
    let k_f = k_f.min(n_f - k_f);
    if k_f < 64.0 && n_f > 1e6 {
        // ln-gamma of huge numbers would cancel; a product of few factors does not.
        return (0..k_f as u64)
            .map(|i| ((n_f - i as f64) / (i as f64 + 1.0)).ln())
            .sum();
    }
    ln_gamma(n_f + 1.0) - ln_gamma(k_f + 1.0) - ln_gamma(n_f - k_f + 1.0)
}
