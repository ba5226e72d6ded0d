//! A regression line, and the confidence interval of its slope. It must not know what the points are.

use crate::distribution::{student_quantile, student_two_tails};

/// A least-squares line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Rise per unit of x.
    pub slope: f64,
    /// Value at x = 0.
    pub intercept: f64,
    /// Bounds of the slope, 95 %.
    pub slope_interval: (f64, f64),
    /// Probability of a slope as far from 0 as this, in either direction, if it were 0.
    pub p_value: f64,
    /// Standard deviation of the points from the line.
    pub deviation: f64,
}

/// The least-squares line through three points or more whose x are not all equal; its interval and test assume
/// independent, normal deviations of equal size.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let x_mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let y_mean = points.iter().map(|point| point.1).sum::<f64>() / count;
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in points {
        xx += (x - x_mean) * (x - x_mean);
        xy += (x - x_mean) * (y - y_mean);
    }
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let rest: f64 = points
        .iter()
        .map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2))
        .sum();
    let freedom = count - 2.0;
    let deviation = (rest / freedom).sqrt();
    let error = deviation / xx.sqrt();
    let half = student_quantile(0.05, freedom) * error;
    let p_value = if error > 0.0 {
        student_two_tails(slope / error, freedom)
    } else if slope == 0.0 {
        1.0
    } else {
        0.0
    };
    Some(Line {
        slope,
        intercept: y_mean - slope * x_mean,
        slope_interval: (slope - half, slope + half),
        p_value,
        deviation,
    })
}

/// Bounds of the median of the population that `values` are a sample of, 95 %, by order statistics: without assumption
/// on the distribution. None for fewer than six values, which cannot give them.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as u64;
    let (mut cut, mut tail) = (None, 0.5f64.powi(n.min(1_000) as i32));
    if n > 1_000 {
        // The normal approximation of the binomial: its error is far below one rank's spacing here.
        let k = (0.5 * n as f64 - 0.98 * (n as f64).sqrt()).floor() as usize;
        return Some((sorted[k.saturating_sub(1)], sorted[sorted.len() - k.max(1)]));
    }
    let mut below = tail;
    for k in 0..n / 2 {
        if below > 0.025 {
            break;
        }
        cut = Some(k as usize);
        tail *= (n - k) as f64 / (k + 1) as f64;
        below += tail;
    }
    cut.map(|k| (sorted[k], sorted[sorted.len() - 1 - k]))
}
