//! Exact bounds of the mean of a Poisson count (Garwood, Biometrika 28, 1936). It must not know what is counted.

use crate::distribution::poisson_at_least;
use crate::interval::crossing;

/// The interval of the mean of a Poisson distribution of which `count` events were observed, that leaves out `left_out`
/// (above 0, below 1) in all, half of it on each side. Divide by the time of observation for the bounds of a rate.
/// Without events the lower bound is 0.
pub fn poisson_interval(count: u64, left_out: f64) -> (f64, f64) {
    let tail = 0.5 * left_out;
    // P(X >= count) rises with the mean.
    let low = match count {
        0 => 0.0,
        _ => crossing(0.0, count as f64, |mean| poisson_at_least(count, mean) > tail),
    };
    // Beyond ten deviations and a constant for small counts.
    let far = count as f64 + 10.0 * (count as f64).sqrt() - tail.ln() + 10.0;
    let high = crossing(count as f64, far, |mean| {
        1.0 - poisson_at_least(count + 1, mean) < tail
    });
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds of 95 % as published tables have them, to three digits (Garwood 1936; Ulm, American Journal of Epidemiology
    /// 131, 1990).
    #[test]
    fn bounds_are_those_of_published_tables() {
        let table = [
            (0, 0.0, 3.689),
            (1, 0.0253, 5.572),
            (2, 0.242, 7.225),
            (3, 0.619, 8.767),
            (5, 1.623, 11.668),
            (10, 4.795, 18.390),
            (20, 12.217, 30.888),
            (100, 81.364, 121.627),
        ];
        for (count, low, high) in table {
            let found = poisson_interval(count, 0.05);
            assert!((found.0 - low).abs() < 6e-4, "{count}: {found:?}");
            assert!((found.1 - high).abs() < 6e-4, "{count}: {found:?}");
        }
        // Three dark flows in 14 days are 0.04 to 0.63 a day.
        let (low, high) = poisson_interval(3, 0.05);
        assert_eq!(format!("{:.2} {:.2}", low / 14.0, high / 14.0), "0.04 0.63");
    }

    #[test]
    fn bounds_narrow_with_the_count_and_with_what_is_left_out() {
        let relative = |count: u64| {
            let (low, high) = poisson_interval(count, 0.05);
            (high - low) / count as f64
        };
        assert!(relative(1_000_000) < 0.0040 && relative(1_000_000) > 0.0039);
        let (wide, narrow) = (poisson_interval(7, 0.01), poisson_interval(7, 0.1));
        assert!(wide.0 < narrow.0 && wide.1 > narrow.1);
    }
}
