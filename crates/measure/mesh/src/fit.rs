//! Correlation and straight line between two quantities, and how sure both are. It must not know what the quantities
//! are.

use serde::Serialize;

/// Points on either side of 1.96 standard deviations: 5 % of a normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// How one quantity varies with another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Points.
    pub points: usize,
    /// Pearson's correlation coefficient.
    pub correlation: f64,
    /// Its bounds, 95 %, by Fisher's transformation; for fewer than four points none.
    pub correlation_interval: Option<(f64, f64)>,
    /// Rise of the least-squares line for each unit of x.
    pub slope: f64,
    /// Bounds of the slope, 95 %, by Student's distribution.
    pub slope_interval: (f64, f64),
    /// Value of the line at x = 0.
    pub intercept: f64,
    /// Standard deviation of the points from the line.
    pub deviation: f64,
}

/// The fit through three points or more; none where one of the quantities does not vary. Its bounds suppose that tests
/// are independent of each other; those from one place are not quite.
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let line = weir_stats::line(points)?;
    let correlation = correlation(points)?;
    let count = points.len();
    let correlation_interval = (count > 3 && correlation.abs() < 1.0).then(|| {
        let (middle, half) = (correlation.atanh(), NORMAL_95 / ((count - 3) as f64).sqrt());
        ((middle - half).tanh(), (middle + half).tanh())
    });
    Some(Fit {
        points: count,
        correlation,
        correlation_interval,
        slope: line.slope,
        slope_interval: line.slope_interval,
        intercept: line.intercept,
        deviation: line.deviation,
    })
}

/// Pearson's correlation coefficient.
fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let x_mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let y_mean = points.iter().map(|point| point.1).sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        xx += (x - x_mean).powi(2);
        xy += (x - x_mean) * (y - y_mean);
        yy += (y - y_mean).powi(2);
    }
    let scale = (xx * yy).sqrt();
    (scale > 0.0).then(|| (xy / scale).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_that_of_anscombe() {
        // Anscombe, "Graphs in Statistical Analysis" (1973), first set: r = 0.816, y = 3.00 + 0.500 x, standard error
        // of the slope 0.118; t(0.975, 9) = 2.262.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let found = fit(&points).unwrap();
        let near = |value: f64, expected: f64, error: f64| (value - expected).abs() < error;
        assert!(
            near(found.correlation, 0.816, 5e-4) && near(found.slope, 0.500, 5e-4),
            "{found:?}"
        );
        assert!(near(found.intercept, 3.00, 5e-3));
        assert!(
            near(found.slope_interval.0, 0.500 - 2.262 * 0.118, 2e-3),
            "{found:?}"
        );
        // R: cor.test(x, y)$conf.int is 0.4243912 0.9506933.
        let (low, high) = found.correlation_interval.unwrap();
        assert!(
            near(low, 0.424_391_2, 1e-6) && near(high, 0.950_693_3, 1e-6),
            "{low} {high}"
        );
    }

    #[test]
    fn what_has_no_fit_gives_none() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
        let exact = fit(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 8.0)]).unwrap();
        assert_eq!((exact.correlation, exact.correlation_interval), (1.0, None));
    }
}
