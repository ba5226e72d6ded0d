//! The slope of a series with outliers: Theil's and Sen's median of the slopes of all pairs, which up to 29 % of wrong points do
//! not change much.

/// Normal deviations that leave out 5 % on both sides.
const DEVIATIONS: f64 = 1.959_963_984_540_054;
/// Fewest points: no order of fewer is so rare that it would be no chance.
const FEWEST: usize = 6;
/// Maximum number of points: the work grows with their square.
const MOST: usize = 2_000;

/// A slope and its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rise per unit of x.
    pub slope: f64,
    /// Lower bound of the slope, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// The median slope between pairs of points, and Sen's bounds of it, 95 %, by the normal approximation of Kendall's statistic with
/// its correction for equal y (Sen, Journal of the American Statistical Association 63, 1968; Hollander and Wolfe,
/// Nonparametric Statistical Methods, 9.3). It assumes independent deviations from the line, of any distribution.
///
/// None for points too few for bounds (five or fewer), for more than 2,000, and where all x are equal.
#[must_use]
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    if !(FEWEST..=MOST).contains(&points.len()) {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (place, one) in points.iter().enumerate() {
        let later = points[place + 1..].iter().filter(|other| other.0 != one.0);
        slopes.extend(later.map(|other| (other.1 - one.1) / (other.0 - one.0)));
    }
    slopes.sort_by(f64::total_cmp);
    let reach = DEVIATIONS * kendall_variance(points).sqrt();
    // Rank of the lower bound, from 1, and of the upper one as far from the end: between them, the test finds no trend against a
    // line with that slope.
    let rank = ((slopes.len() as f64 - reach) / 2.0).ceil();
    if rank < 1.0 {
        return None;
    }
    let rank = rank as usize;
    let middle = slopes.len() / 2;
    let slope = match slopes.len() % 2 {
        1 => slopes[middle],
        _ => (slopes[middle - 1] + slopes[middle]) / 2.0,
    };
    Some(Trend {
        slope,
        low: slopes[rank - 1],
        high: slopes[slopes.len() - rank],
    })
}

/// Variance of Kendall's statistic without a trend, with groups of equal y.
fn kendall_variance(points: &[(f64, f64)]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values
        .chunk_by(|one, other| one == other)
        .map(|group| term(group.len() as f64))
        .sum();
    (term(points.len() as f64) - ties) / 18.0
}
