//! Tests whether losses of a sequence are bursty or independent. It must not know what the sequence contains.

use crate::distribution::{binomial_at_least, hypergeometric_at_most, ln_choose};

/// Probability of at most `runs` runs among `lost` packets, when each packet of `lost + received` is
/// lost independently (Wald and Wolfowitz 1940, exact and one-sided: few runs mean bursts). 1 without loss.
///
/// The number of runs of losses is hypergeometric: of `received + 1` gaps and `lost - 1` ties, `lost` are drawn.
pub fn few_runs_probability(lost: u64, received: u64, runs: u64) -> f64 {
    if lost == 0 {
        return 1.0;
    }
    hypergeometric_at_most(runs, received + 1, lost - 1, lost)
}

/// Probability that at least `close` of the distances between neighbouring losses are `reach` packets or
/// fewer, when `lost` of `sent` packets are lost independently. It detects bursts whose packets are not next to each
/// other, as when they are spread over several flows. 1 with fewer than two losses.
///
/// Given their number, all positions of the losses are equally likely, so a distance is above `reach` with probability
/// C(sent - reach, lost) / C(sent, lost); the distances are taken as independent, which is conservative, since
/// they share the length of the sequence.
pub fn close_losses_probability(lost: u64, sent: u64, close: u64, reach: u64) -> f64 {
    if lost < 2 || lost > sent {
        return 1.0;
    }
    binomial_at_least(close, lost - 1, close_share(lost, sent, reach))
}

/// Expected share of distances of `reach` packets or fewer between neighbouring independent losses.
pub fn close_share(lost: u64, sent: u64, reach: u64) -> f64 {
    if sent < reach || sent - reach < lost {
        return 1.0;
    }
    // ln C(n - w, k) - ln C(n, k), as a product over w: no huge logarithms are subtracted.
    let far = if reach <= 4_096 {
        let sent_f = sent as f64;
        (0..reach)
            .map(|step| (-(lost as f64) / (sent_f - step as f64)).ln_1p())
            .sum()
    } else {
        ln_choose(sent - reach, lost) - ln_choose(sent, lost)
    };
    -f64::exp_m1(far)
}
