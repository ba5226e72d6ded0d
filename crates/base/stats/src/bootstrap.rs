//! Confidence interval of the difference of two medians, by the bootstrap (Efron 1979). It must not know what was
//! sampled.
//!
//! Without random draws: the distribution of the median of a sample drawn with replacement is known in closed form, so
//! that the interval is the one that infinitely many resamples would give, always the same.

use crate::distribution::binomial_at_least;
use crate::rank::median;

/// Maximum sample size: the work grows with the fourth power where sizes are even.
const MOST: usize = 64;

/// A difference of medians and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianDifference {
    /// Median of the second sample minus that of the first.
    pub difference: f64,
    /// Lower end of the percentile interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The difference of the medians of two independent samples, with its percentile bootstrap interval that leaves out
/// `left_out` (0 to 1) in all, half of it on each side. None if a sample is empty, has more than 64 values, or contains
/// NaN.
///
/// Small samples make such intervals somewhat too narrow: with five values each, the median of a resample is the least
/// value in 6 of 100 cases only.
pub fn median_difference(first: &[f64], second: &[f64], left_out: f64) -> Option<MedianDifference> {
    let usable = |sample: &[f64]| {
        !sample.is_empty() && sample.len() <= MOST && sample.iter().all(|value| value.is_finite())
    };
    if !usable(first) || !usable(second) {
        return None;
    }
    let (from, to) = (resampled_medians(first), resampled_medians(second));
    let mut differences: Vec<(f64, f64)> = from
        .iter()
        .flat_map(|(a, p)| to.iter().map(move |(b, q)| (b - a, p * q)))
        .filter(|(_, probability)| *probability > 0.0)
        .collect();
    differences.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tail = 0.5 * left_out;
    Some(MedianDifference {
        difference: median(second.to_vec()) - median(first.to_vec()),
        low: quantile(differences.iter(), tail)?,
        high: quantile(differences.iter().rev(), tail)?,
    })
}

/// The first value up to which more than `share` of the probability lies.
fn quantile<'a>(values: impl Iterator<Item = &'a (f64, f64)>, share: f64) -> Option<f64> {
    let mut sum = 0.0;
    let mut last = None;
    for (value, probability) in values {
        sum += probability;
        last = Some(*value);
        if sum > share {
            break;
        }
    }
    last
}

/// Every value that the median of a resample can have, with its probability.
fn resampled_medians(sample: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // P(the k-th smallest of the resample is at most the i-th of the sample), both counted from 1.
    let at_most = |k: usize, i: usize| binomial_at_least(k as u64, n as u64, i as f64 / n as f64);
    if n % 2 == 1 {
        let middle = n / 2 + 1;
        return (1..=n)
            .map(|i| (sorted[i - 1], at_most(middle, i) - at_most(middle, i - 1)))
            .collect();
    }
    let half = n / 2;
    let mut medians = Vec::with_capacity(n * (n + 1) / 2);
    for i in 1..=n {
        let lower_is_i = at_most(half, i) - at_most(half, i - 1);
        let mut others = 0.0;
        for j in i + 1..=n {
            let both = middle_pair(n, i, j);
            others += both;
            medians.push((0.5 * (sorted[i - 1] + sorted[j - 1]), both));
        }
        medians.push((sorted[i - 1], (lower_is_i - others).max(0.0)));
    }
    medians
}

/// P(of `n` draws the lower middle one is the i-th value and the upper the j-th), for i below j: half of the draws are
/// at most the i-th, one of them it, and half at least the j-th, one of them it.
fn middle_pair(n: usize, i: usize, j: usize) -> f64 {
    let half = n / 2;
    let share = |count: usize| (count as f64 / n as f64).powi(half as i32);
    let low = share(i) - share(i - 1);
    let high = share(n - j + 1) - share(n - j);
    crate::distribution::ln_choose(n as u64, half as u64).exp() * low * high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All resamples of a small sample, one by one.
    fn counted(sample: &[f64]) -> Vec<(f64, f64)> {
        let n = sample.len();
        let all = n.pow(n as u32);
        let mut medians: Vec<f64> = (0..all)
            .map(|mut number| {
                let mut drawn = Vec::with_capacity(n);
                for _ in 0..n {
                    drawn.push(sample[number % n]);
                    number /= n;
                }
                median(drawn)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let mut found: Vec<(f64, f64)> = Vec::new();
        for value in medians {
            match found.last_mut() {
                Some((last, count)) if *last == value => *count += 1.0 / all as f64,
                _ => found.push((value, 1.0 / all as f64)),
            }
        }
        found
    }

    #[test]
    fn closed_forms_are_as_counted() {
        for sample in [
            vec![3.0],
            vec![1.0, 10.0],
            vec![5.0, 1.0, 2.0],
            vec![1.0, 2.0, 4.0, 8.0],
            vec![3.0, 1.0, 4.0, 10.0, 5.0],
            vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
        ] {
            let mut known = resampled_medians(&sample);
            known.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Equal medians of different pairs are one value when counted.
            let mut merged: Vec<(f64, f64)> = Vec::new();
            for (value, probability) in known {
                match merged.last_mut() {
                    Some((last, sum)) if *last == value => *sum += probability,
                    _ => merged.push((value, probability)),
                }
            }
            let counted = counted(&sample);
            assert_eq!(merged.len(), counted.len(), "{sample:?}");
            for (known, counted) in merged.iter().zip(&counted) {
                assert_eq!(known.0, counted.0);
                assert!((known.1 - counted.1).abs() < 1e-12, "{known:?} {counted:?}");
            }
        }
    }

    /// The intervals equal those of `tests/data/median_difference.py`, which goes through all resamples with exact
    /// fractions.
    #[test]
    fn intervals_are_those_of_all_resamples() {
        let unpaced = [48.3, 47.1, 50.2, 46.0, 49.5];
        let paced = [12.5, 12.1, 13.0, 11.8, 12.9];
        let found = median_difference(&unpaced, &paced, 0.05).expect("two samples");
        assert!((found.low + 37.7).abs() < 1e-9, "{found:?}");
        assert!((found.high + 33.5).abs() < 1e-9, "{found:?}");
        assert!((found.difference - (12.5 - 48.3)).abs() < 1e-12);
        let found = median_difference(&unpaced[..4], &paced, 0.05).expect("two samples");
        assert!((found.low + 37.7).abs() < 1e-9, "{found:?}");
        assert!((found.high + 33.5).abs() < 1e-9, "{found:?}");
        // Half of the probability left out on each side would be the medians' own difference.
        let found = median_difference(&unpaced, &paced, 0.5).expect("two samples");
        assert!(found.low > -37.0 && found.high < -34.5, "{found:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_not() {
        assert_eq!(median_difference(&[], &[1.0], 0.05), None);
        assert_eq!(median_difference(&[1.0], &[f64::NAN], 0.05), None);
        assert_eq!(median_difference(&[1.0; 65], &[1.0], 0.05), None);
        let same = median_difference(&[2.0; 5], &[2.0; 5], 0.05).expect("two samples");
        assert_eq!((same.low, same.high), (0.0, 0.0));
    }
}
