//! Fit of one quantity as a fixed multiple of another. It must not know what they are.

use crate::distribution::student_quantile;

/// A least-squares line through the origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// y for each unit of x.
    pub factor: f64,
    /// Bounds of the factor, 95 %.
    pub interval: (f64, f64),
    /// Share of the variation of y about its mean that the line explains: 1 - Σ(y - factor x)² / Σ(y - mean)². It can
    /// be negative, for a line that is worse than the mean.
    pub r_squared: f64,
    /// Standard deviation of the points from the line.
    pub deviation: f64,
}

/// The least-squares multiple of x that y is, from two points or more whose x are not all 0; its interval assumes
/// independent, normal deviations of equal size.
pub fn proportion(points: &[(f64, f64)]) -> Option<Proportion> {
    if points.len() < 2 || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let count = points.len() as f64;
    let mean = points.iter().map(|point| point.1).sum::<f64>() / count;
    let (mut xx, mut xy, mut about_mean) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        xx += x * x;
        xy += x * y;
        about_mean += (y - mean) * (y - mean);
    }
    if xx <= 0.0 {
        return None;
    }
    let factor = xy / xx;
    let rest: f64 = points.iter().map(|(x, y)| (y - factor * x).powi(2)).sum();
    let freedom = count - 1.0;
    let deviation = (rest / freedom).sqrt();
    let half = student_quantile(0.05, freedom) * deviation / xx.sqrt();
    Some(Proportion {
        factor,
        interval: (factor - half, factor + half),
        // Equal points have no variation to explain.
        r_squared: if about_mean > 0.0 {
            1.0 - rest / about_mean
        } else {
            1.0
        },
        deviation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `tests/data/make_proportion.py`, which computes in fractions and with Python's own regression.
    #[test]
    fn as_others_compute_it() {
        let points = [
            (100.0, 104.0),
            (210.0, 205.0),
            (405.0, 420.0),
            (790.0, 781.0),
            (1610.0, 1633.0),
        ];
        let found = proportion(&points).expect("a line");
        let near = |value: f64, expected: f64| {
            assert!(
                (value - expected).abs() <= 1e-9 * expected.abs(),
                "{value} is not {expected}"
            );
        };
        near(found.factor, 1.0102916875950878);
        near(found.interval.0, 0.9933375668318424);
        near(found.interval.1, 1.0272458083583333);
        near(found.r_squared, 0.9996652464382124);
        near(found.deviation, 11.316363174090215);
    }

    #[test]
    fn what_has_no_line_has_none() {
        assert_eq!(proportion(&[]), None);
        assert_eq!(proportion(&[(1.0, 2.0)]), None);
        assert_eq!(proportion(&[(0.0, 2.0), (0.0, 3.0)]), None);
        assert_eq!(proportion(&[(1.0, f64::NAN), (1.0, 3.0)]), None);
        let exact = proportion(&[(1.0, 3.0), (2.0, 6.0)]).expect("a line");
        assert_eq!((exact.factor, exact.r_squared, exact.deviation), (3.0, 1.0, 0.0));
    }
}
