//! Tests that compare two samples by rank, so that no outlier decides. They must not know what was sampled.

use crate::distribution::normal_tail;

/// Samples this small are compared exactly.
const EXACT: usize = 40;

/// Comparison of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Probability of a difference as large as this, in either direction, if there were none.
    pub p_value: f64,
    /// Median of the differences (Hodges and Lehmann 1963): how much the second sample lies above the first.
    pub shift: f64,
}

/// Mann and Whitney's test (1947) of two independent samples, two-sided; exact for small samples without ties, else by
/// the normal approximation with corrections for ties and continuity. None if a sample is empty.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (rank_sum, ties) = rank_sum(first, second);
    let (n, m) = (first.len(), second.len());
    // Number of pairs with the value of `first` above that of `second`.
    let above = rank_sum - (n * (n + 1)) as f64 / 2.0;
    let p_value = if ties == 0.0 && n.max(m) <= EXACT {
        exact_two_sided(above.round() as usize, n, m)
    } else {
        normal_two_sided(above, n as f64, m as f64, ties)
    };
    let differences = first.iter().flat_map(|a| second.iter().map(move |b| b - a));
    Some(RankTest {
        p_value,
        shift: median(differences.collect()),
    })
}

/// Sum of the ranks of `first` in both samples together (mean ranks for ties), and the sum of t^3 - t over groups of t
/// equal values.
fn rank_sum(first: &[f64], second: &[f64]) -> (f64, f64) {
    let mut all: Vec<(f64, bool)> = first.iter().map(|value| (*value, true)).collect();
    all.extend(second.iter().map(|value| (*value, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut ties, mut start) = (0.0, 0.0, 0);
    while start < all.len() {
        let mut end = start + 1;
        while end < all.len() && all[end].0 == all[start].0 {
            end += 1;
        }
        let rank = (start + 1 + end) as f64 / 2.0;
        sum += rank * all[start..end].iter().filter(|(_, is_first)| *is_first).count() as f64;
        let size = (end - start) as f64;
        ties += size * size * size - size;
        start = end;
    }
    (sum, ties)
}

/// Counts, for each value of the statistic, the orders of `n` and `m` values that give it.
fn exact_two_sided(above: usize, n: usize, m: usize) -> f64 {
    let most = n * m;
    // ways[k][u]: k of the first sample placed so far; one value of the second sample after another.
    let mut ways = vec![vec![0.0; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for value in 1..=(n + m) {
        // Each value is one of the first sample or not; being the `value`-th lowest it has value - 1 - (k - 1) of the
        // second sample below it.
        for k in (1..=n.min(value)).rev() {
            let below = value - k;
            if below > m {
                continue;
            }
            for u in (below..=most).rev() {
                ways[k][u] += ways[k - 1][u - below];
            }
        }
    }
    let total: f64 = ways[n].iter().sum();
    let smaller = above.min(most - above);
    let tail: f64 = ways[n][..=smaller].iter().sum();
    (2.0 * tail / total).min(1.0)
}

fn normal_two_sided(above: f64, n: f64, m: f64, ties: f64) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((above - n * m / 2.0).abs() - 0.5).max(0.0);
    (2.0 * normal_tail(distance / variance.sqrt())).min(1.0)
}

/// Wilcoxon's signed-rank test (1945) of differences, two-sided: exact for up to 40 differences without ties, else by
/// the normal approximation with corrections for ties and continuity. Zero differences are omitted; none if
/// no others remain.
pub fn signed_rank(differences: &[f64]) -> Option<RankTest> {
    let kept: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|value| *value != 0.0)
        .collect();
    if kept.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = kept.iter().map(|value| value.abs()).collect();
    let (mut positive, mut ties) = (0.0, 0.0);
    for value in &kept {
        let below = sizes.iter().filter(|size| **size < value.abs()).count() as f64;
        let equal = sizes.iter().filter(|size| **size == value.abs()).count() as f64;
        if *value > 0.0 {
            positive += below + (equal + 1.0) / 2.0;
        }
        // Each of t equal values adds its share of t^3 - t.
        ties += equal * equal - 1.0;
    }
    let n = kept.len() as f64;
    let p_value = if ties == 0.0 && kept.len() <= EXACT {
        exact_signed(positive.round() as usize, kept.len())
    } else {
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
        let distance = ((positive - n * (n + 1.0) / 4.0).abs() - 0.5).max(0.0);
        (2.0 * normal_tail(distance / variance.sqrt())).min(1.0)
    };
    // Hodges and Lehmann's estimate: the median of the means of all pairs.
    let pairs = (0..kept.len()).flat_map(|i| (i..kept.len()).map(move |j| (i, j)));
    Some(RankTest {
        p_value,
        shift: median(pairs.map(|(i, j)| 0.5 * (kept[i] + kept[j])).collect()),
    })
}

/// Counts the subsets of the ranks 1 to `n` by their sum.
fn exact_signed(positive: usize, n: usize) -> f64 {
    let most = n * (n + 1) / 2;
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let smaller = positive.min(most - positive);
    let tail: f64 = ways[..=smaller].iter().sum();
    (2.0 * tail / 2f64.powi(n as i32)).min(1.0)
}

/// The value below which this share of the others lies, 0 to 1, rounded down to one that is there; none without a value.
pub fn nearest(mut values: Vec<u64>, share: f64) -> Option<u64> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some(values[(share * last as f64) as usize])
}

/// The median; 0 for an empty list.
pub fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        0.5 * (values[middle - 1] + values[middle])
    }
}
