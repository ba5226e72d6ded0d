//! Divides values on a line into clusters with clear gaps between them. It must not know what is measured.

use crate::distribution::student_two_tails;

/// Clusters of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    /// Indices of the values in each, clusters in ascending order of value, indices ascending.
    pub members: Vec<Vec<usize>>,
    /// Mean value of each.
    pub means: Vec<f64>,
    /// For the narrowest gap between clusters: probability of a gap as wide from noise alone in as many values; none
    /// where there is one cluster.
    pub p_value: Option<f64>,
}

/// Divides `values` wherever two neighbours are more than `least_gap` apart and further than noise would separate them
/// with a probability of `chance` (Student's t, corrected by Bonferroni for the number of gaps). `error` is the standard
/// error of each value, known from `freedom` degrees of freedom.
pub fn clusters(values: &[f64], error: f64, freedom: f64, least_gap: f64, chance: f64) -> Clusters {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]).then(a.cmp(b)));
    let gaps = values.len().saturating_sub(1).max(1) as f64;
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut p_value: Option<f64> = None;
    for (place, index) in order.iter().enumerate() {
        let gap = if place == 0 {
            f64::INFINITY
        } else {
            values[*index] - values[order[place - 1]]
        };
        let by_noise = gap_probability(gap, error, freedom) * gaps;
        let divides = gap > least_gap && by_noise < chance;
        if divides && place > 0 {
            p_value = Some(p_value.map_or(by_noise, |worst: f64| worst.max(by_noise)));
        }
        match members.last_mut() {
            Some(last) if !divides => last.push(*index),
            _ => members.push(vec![*index]),
        }
    }
    let mean =
        |cluster: &Vec<usize>| cluster.iter().map(|index| values[*index]).sum::<f64>() / cluster.len() as f64;
    let means = members.iter().map(mean).collect();
    members.iter_mut().for_each(|cluster| cluster.sort_unstable());
    Clusters {
        members,
        means,
        p_value,
    }
}

/// Probability that two equal values, each with this standard error, are observed this far apart.
fn gap_probability(gap: f64, error: f64, freedom: f64) -> f64 {
    if error <= 0.0 {
        return if gap > 0.0 { 0.0 } else { 1.0 };
    }
    student_two_tails(gap / (error * std::f64::consts::SQRT_2), freedom)
}
