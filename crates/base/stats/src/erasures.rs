//! Packets of a block lost by a loss process, and the residual loss of an erasure code. It must not know how a
//! code works: a block of n packets, r of them repairs, is recovered if at most r of the n are lost.

use crate::gilbert::Gilbert;

/// P(j packets of `packets` in a row are lost) for j = 0 to `most`, starting in the process's long-run state; one
/// more entry holds the probability of more than `most`.
pub fn losses_in(process: &Gilbert, packets: usize, most: usize) -> Vec<f64> {
    let bad_share = process.bad_share();
    let mut good = vec![0.0; most + 2];
    let mut bad = vec![0.0; most + 2];
    (good[0], bad[0]) = (1.0 - bad_share, bad_share);
    for _ in 0..packets {
        for (g, b) in good.iter_mut().zip(&mut bad) {
            let (from_good, from_bad) = (*g, *b);
            *g = from_good * (1.0 - process.to_bad) + from_bad * process.to_good;
            *b = from_good * process.to_bad + from_bad * (1.0 - process.to_good);
        }
        shift(&mut good, process.loss_good);
        shift(&mut bad, process.loss_bad);
    }
    good.iter().zip(&bad).map(|(g, b)| g + b).collect()
}

/// Moves the share of `loss` one place up; the last place accumulates.
fn shift(counts: &mut [f64], loss: f64) {
    let last = counts.len() - 1;
    counts[last] += counts[last - 1] * loss;
    for place in (1..last).rev() {
        counts[place] = counts[place] * (1.0 - loss) + counts[place - 1] * loss;
    }
    counts[0] *= 1.0 - loss;
}

/// The distribution of the sum of two independent counts, both as [`losses_in`] gives them with the same `most`.
pub fn add_losses(a: &[f64], b: &[f64]) -> Vec<f64> {
    let size = a.len().max(b.len());
    let mut sum = vec![0.0; size];
    for (i, p) in a.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        for (j, q) in b.iter().enumerate() {
            sum[(i + j).min(size - 1)] += p * q;
        }
    }
    sum
}

/// Residual loss rate in a block of `packets` of which `repairs` are repairs, when the number of losses is
/// distributed as `losses` ([`losses_in`]): the losses of blocks with more losses than repairs. More losses than the
/// distribution distinguishes count as the whole block, so that truncation makes the result larger, never smaller.
pub fn residual_loss(losses: &[f64], packets: usize, repairs: usize) -> f64 {
    let Some((beyond, counted)) = losses.split_last() else {
        return 0.0;
    };
    let lost: f64 = counted
        .iter()
        .enumerate()
        .skip(repairs + 1)
        .map(|(count, p)| count as f64 * p)
        .sum();
    (lost + packets as f64 * beyond) / packets.max(1) as f64
}
