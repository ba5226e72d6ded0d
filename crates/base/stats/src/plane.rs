//! A regression on two quantities, and the confidence intervals of both slopes. It must not know what the points are.

use crate::distribution::{student_quantile, student_two_tails};

/// How a quantity varies with one of two others, while the other stays as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Rise per unit.
    pub rise: f64,
    /// Its bounds, 95 %.
    pub interval: (f64, f64),
    /// Probability of a rise as far from 0 as this, in either direction, if it were 0.
    pub p_value: f64,
}

/// The least-squares plane of `z` over `x` and `y`, through `(x, y, z)`: four points or more, of which neither x nor y are all
/// equal nor one a multiple of the other. Its intervals assume independent, normal deviations of equal size.
pub fn plane(points: &[(f64, f64, f64)]) -> Option<(Slope, Slope)> {
    if points.len() < 4 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean, z_mean) = (mean(|p| p.0), mean(|p| p.1), mean(|p| p.2));
    let (mut xx, mut xy, mut yy, mut xz, mut yz) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y, z) in points {
        let (x, y, z) = (x - x_mean, y - y_mean, z - z_mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
        xz += x * z;
        yz += y * z;
    }
    let determinant = xx * yy - xy * xy;
    // Relative to what it is of unrelated x and y: rounding leaves some 1e-16 of it where they are a multiple of each other.
    if !determinant.is_finite() || determinant <= 1e-12 * xx * yy {
        return None;
    }
    let by_x = (yy * xz - xy * yz) / determinant;
    let by_y = (xx * yz - xy * xz) / determinant;
    let rest: f64 = points
        .iter()
        .map(|(x, y, z)| (z - z_mean - by_x * (x - x_mean) - by_y * (y - y_mean)).powi(2))
        .sum();
    let freedom = count - 3.0;
    let variance = rest / freedom / determinant;
    let slope = |rise: f64, error: f64| {
        let half = student_quantile(0.05, freedom) * error;
        let p_value = if error > 0.0 {
            student_two_tails(rise / error, freedom)
        } else if rise == 0.0 {
            1.0
        } else {
            0.0
        };
        Slope {
            rise,
            interval: (rise - half, rise + half),
            p_value,
        }
    };
    Some((
        slope(by_x, (variance * yy).sqrt()),
        slope(by_y, (variance * xx).sqrt()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Henderson and Velleman, "Building multiple regression models interactively" (1981), as `mtcars` of R: weight in 1,000
    /// lb, whether the gear is manual, miles per gallon.
    const CARS: [(f64, f64, f64); 32] = [
        (2.620, 1.0, 21.0),
        (2.875, 1.0, 21.0),
        (2.320, 1.0, 22.8),
        (3.215, 0.0, 21.4),
        (3.440, 0.0, 18.7),
        (3.460, 0.0, 18.1),
        (3.570, 0.0, 14.3),
        (3.190, 0.0, 24.4),
        (3.150, 0.0, 22.8),
        (3.440, 0.0, 19.2),
        (3.440, 0.0, 17.8),
        (4.070, 0.0, 16.4),
        (3.730, 0.0, 17.3),
        (3.780, 0.0, 15.2),
        (5.250, 0.0, 10.4),
        (5.424, 0.0, 10.4),
        (5.345, 0.0, 14.7),
        (2.200, 1.0, 32.4),
        (1.615, 1.0, 30.4),
        (1.835, 1.0, 33.9),
        (2.465, 0.0, 21.5),
        (3.520, 0.0, 15.5),
        (3.435, 0.0, 15.2),
        (3.840, 0.0, 13.3),
        (3.845, 0.0, 19.2),
        (1.935, 1.0, 27.3),
        (2.140, 1.0, 26.0),
        (1.513, 1.0, 30.4),
        (3.170, 1.0, 15.8),
        (2.770, 1.0, 19.7),
        (3.570, 1.0, 15.0),
        (2.780, 1.0, 21.4),
    ];

    #[test]
    fn a_plane_is_that_of_r() {
        // R: summary(lm(mpg ~ am + wt, mtcars)): wt -5.35281, error 0.78824, Pr 1.87e-07; am -0.02362, error 1.54565,
        // Pr 0.988, with 29 degrees of freedom; qt(0.975, 29) = 2.045230.
        let (weight, manual) = plane(&CARS).unwrap();
        let near = |value: f64, expected: f64, error: f64| (value - expected).abs() < error;
        assert!(near(weight.rise, -5.352_81, 1e-5), "{weight:?}");
        assert!(
            near(weight.interval.0, -5.352_81 - 2.045_23 * 0.788_24, 5e-5),
            "{weight:?}"
        );
        assert!(near(weight.p_value, 1.87e-7, 1e-9), "{weight:?}");
        assert!(near(manual.rise, -0.023_62, 1e-5), "{manual:?}");
        assert!(
            near(manual.interval.1, -0.023_62 + 2.045_23 * 1.545_65, 5e-5),
            "{manual:?}"
        );
        assert!(near(manual.p_value, 0.988, 5e-4), "{manual:?}");
    }

    #[test]
    fn what_has_no_plane_gives_none_and_an_exact_one_has_no_error() {
        assert_eq!(plane(&CARS[..3]), None);
        // All of one kind; and one quantity a multiple of the other.
        assert_eq!(
            plane(
                &CARS[2..12]
                    .iter()
                    .map(|(x, _, z)| (*x, 1.0, *z))
                    .collect::<Vec<_>>()
            ),
            None
        );
        assert_eq!(plane(&CARS.map(|(x, _, z)| (x, 3.0 * x + 1.0, z))), None);
        let exact = CARS.map(|(x, y, _)| (x, y, 1.0 + 2.0 * x - 3.0 * y));
        let (by_x, by_y) = plane(&exact).unwrap();
        assert!((by_x.rise - 2.0).abs() < 1e-9 && (by_y.rise + 3.0).abs() < 1e-9);
    }
}
