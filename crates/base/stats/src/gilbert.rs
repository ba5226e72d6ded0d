//! A loss process with two states (Gilbert 1960, Elliott 1963), fitted to the positions of lost packets. It must not know
//! what the packets are.
//!
//! A sequence is given by the positions of its losses. Between losses all packets arrive, so the
//! likelihood needs one power of a 2 x 2 matrix for each loss, whatever the length of the sequence.

use crate::optimum::{MOST_SIZE, deviations, minimum};

/// Maximum number of losses in a fit: more do not narrow the interval noticeably.
const MOST_LOSSES: usize = 5_000;
/// Minimum gain in log-likelihood of the general model over the one without loss in the good state: half of the
/// 95 % quantile of chi-squared with one degree of freedom.
const WORTH: f64 = 1.92;

/// Lost packets of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossSequence {
    /// Positions of the lost packets, from 0, ascending, each once.
    pub lost: Vec<u64>,
    /// Packets in the sequence.
    pub length: u64,
}

/// A two-state loss process, one step for each packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gilbert {
    /// From good to bad.
    pub to_bad: f64,
    /// From bad to good.
    pub to_good: f64,
    /// Loss rate in the good state.
    pub loss_good: f64,
    /// Loss rate in the bad state.
    pub loss_bad: f64,
}

impl Gilbert {
    /// The process that loses every packet with the same probability.
    pub fn independent(loss: f64) -> Self {
        Gilbert {
            to_bad: 0.0,
            to_good: 1.0,
            loss_good: loss,
            loss_bad: loss,
        }
    }

    /// Share of packets in the bad state.
    pub fn bad_share(&self) -> f64 {
        if self.to_bad + self.to_good <= 0.0 {
            return 0.0;
        }
        self.to_bad / (self.to_bad + self.to_good)
    }

    /// Loss rate.
    pub fn loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A fitted process with the 95 % bounds of its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertFit {
    /// The most likely process.
    pub process: Gilbert,
    /// Bounds of `to_bad`.
    pub to_bad: (f64, f64),
    /// Bounds of `to_good`.
    pub to_good: (f64, f64),
    /// Bounds of `loss_bad`.
    pub loss_bad: (f64, f64),
    /// Log-likelihood of the observation, given the process.
    pub ln_likelihood: f64,
}

/// Fits the process by maximum likelihood; loss in the good state is assumed only if that is much more likely. The
/// bounds are those of a normal approximation of the log odds. None for fewer than five losses, or nothing received.
pub fn fit_gilbert(sequences: &[LossSequence]) -> Option<GilbertFit> {
    let sequences = bounded(sequences);
    let lost: usize = sequences.iter().map(|sequence| sequence.lost.len()).sum();
    let length: u64 = sequences.iter().map(|sequence| sequence.length).sum();
    if lost < 5 || length <= lost as u64 {
        return None;
    }
    let start = starting_point(&sequences, lost as f64, length as f64);
    let simple = |odds: &[f64]| -ln_likelihood(&sequences, &simple_process(odds));
    let (mut best, cost) = minimum(&start, &simple);
    let general = |odds: &[f64]| -ln_likelihood(&sequences, &general_process(odds));
    let rare = log_odds(0.1 * lost as f64 / length as f64);
    let (with_good, general_cost) = minimum(&[best[0], best[1], best[2], rare], &general);
    let lossy_good = cost - general_cost > WORTH;
    let (process, cost, deviations) = if lossy_good {
        best = with_good;
        (general_process(&best), general_cost, deviations(&best, &general))
    } else {
        (simple_process(&best), cost, deviations(&best, &simple))
    };
    let bounds = |index: usize| {
        let half = 1.96 * deviations[index];
        (probability(best[index] - half), probability(best[index] + half))
    };
    Some(GilbertFit {
        process,
        to_bad: bounds(0),
        to_good: bounds(1),
        loss_bad: bounds(2),
        ln_likelihood: -cost,
    })
}

/// The part of the sequences that a fit uses.
fn bounded(sequences: &[LossSequence]) -> Vec<LossSequence> {
    let mut room = MOST_LOSSES;
    let mut kept = Vec::new();
    for sequence in sequences {
        if room == 0 {
            break;
        }
        if sequence.lost.len() <= room {
            room -= sequence.lost.len();
            kept.push(sequence.clone());
        } else {
            let lost = sequence.lost[..room].to_vec();
            let length = sequence.lost[room];
            kept.push(LossSequence { lost, length });
            room = 0;
        }
    }
    kept
}

fn simple_process(odds: &[f64]) -> Gilbert {
    Gilbert {
        to_bad: probability(odds[0]),
        to_good: probability(odds[1]),
        loss_good: 0.0,
        loss_bad: probability(odds[2]),
    }
}

fn general_process(odds: &[f64]) -> Gilbert {
    Gilbert {
        loss_good: probability(odds[3]),
        ..simple_process(odds)
    }
}

fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds.clamp(-MOST_SIZE, MOST_SIZE)).exp())
}

fn log_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-7, 1.0 - 1e-7);
    (p / (1.0 - p)).ln()
}

/// Moments: losses less than ten packets apart belong to one stay in the bad state.
fn starting_point(sequences: &[LossSequence], lost: f64, length: f64) -> Vec<f64> {
    let (mut stays, mut inside) = (0.0, 0.0);
    for sequence in sequences {
        let mut before = None;
        for place in &sequence.lost {
            match before {
                Some(last) if place - last < 10 => inside += (place - last) as f64,
                _ => {
                    stays += 1.0;
                    inside += 1.0;
                }
            }
            before = Some(*place);
        }
    }
    vec![
        log_odds(stays / length),
        log_odds((stays / inside).min(0.95)),
        log_odds((lost / inside).min(0.95)),
    ]
}

/// ln of the probability that exactly these packets are lost, starting in the process's long-run state.
pub fn ln_likelihood(sequences: &[LossSequence], process: &Gilbert) -> f64 {
    let arrives = Arrivals::new(process);
    sequences
        .iter()
        .map(|sequence| arrives.of(sequence, process))
        .sum()
}

/// The matrix of "one step, and the packet arrives", decomposed for powers.
struct Arrivals {
    /// [good to good, good to bad, bad to good, bad to bad].
    matrix: [f64; 4],
    /// ln of the larger eigenvalue, and the ratio of the smaller to it.
    ln_large: f64,
    ratio: f64,
    large: f64,
    small: f64,
}

impl Arrivals {
    fn new(process: &Gilbert) -> Self {
        let (p, q) = (process.to_bad, process.to_good);
        let (g, b) = (process.loss_good, process.loss_bad);
        let matrix = [
            (1.0 - p) * (1.0 - g),
            p * (1.0 - b),
            q * (1.0 - g),
            (1.0 - q) * (1.0 - b),
        ];
        let half = 0.5 * (matrix[0] - matrix[3]);
        let root = (half * half + matrix[1] * matrix[2]).sqrt();
        let middle = 0.5 * (matrix[0] + matrix[3]);
        let small = middle - root;
        // 1 minus the larger one from the characteristic polynomial at 1: the difference itself would lose the rare
        // events in rounding.
        let leaves_good = p + g - p * g;
        let leaves_bad = q + b - q * b;
        let lacking = (leaves_good * leaves_bad - matrix[1] * matrix[2]) / (1.0 - small);
        let large = 1.0 - lacking;
        Arrivals {
            matrix,
            ln_large: (-lacking).ln_1p(),
            ratio: if large > 0.0 { small / large } else { 0.0 },
            large,
            small,
        }
    }

    /// The row vector times the matrix to the power of `steps`, divided by the larger eigenvalue to the same power.
    fn scaled_power(&self, row: [f64; 2], steps: u64) -> [f64; 2] {
        let distance = self.large - self.small;
        if steps == 0 {
            return row;
        }
        if distance < 1e-12 {
            // Both eigenvalues alike: M^n = n L^(n-1) M - (n - 1) L^n I.
            let n = steps as f64;
            let once = self.times(row);
            return [0, 1].map(|i| n * once[i] / self.large - (n - 1.0) * row[i]);
        }
        // Sylvester's formula: M^n = L^n (M - l I) / (L - l) - l^n (M - L I) / (L - l).
        let once = self.times(row);
        let small_power = self.ratio.powf(steps as f64);
        let small_power = if small_power.is_nan() {
            // A negative ratio: whole powers have a sign.
            self.ratio.powi(i32::try_from(steps).unwrap_or(i32::MAX))
        } else {
            small_power
        };
        [0, 1].map(|i| {
            ((once[i] - self.small * row[i]) - small_power * (once[i] - self.large * row[i])) / distance
        })
    }

    fn times(&self, row: [f64; 2]) -> [f64; 2] {
        let [gg, gb, bg, bb] = self.matrix;
        [row[0] * gg + row[1] * bg, row[0] * gb + row[1] * bb]
    }

    fn of(&self, sequence: &LossSequence, process: &Gilbert) -> f64 {
        let bad = process.bad_share();
        let mut row = [1.0 - bad, bad];
        let mut sum = 0.0;
        let mut next = 0;
        for place in &sequence.lost {
            let steps = place - next;
            row = self.scaled_power(row, steps);
            sum += steps as f64 * self.ln_large;
            row = lose(row, process);
            let norm = row[0] + row[1];
            if norm.is_nan() || norm <= 0.0 {
                return f64::NEG_INFINITY;
            }
            sum += norm.ln();
            row = [row[0] / norm, row[1] / norm];
            next = place + 1;
        }
        let steps = sequence.length.saturating_sub(next);
        row = self.scaled_power(row, steps);
        sum + steps as f64 * self.ln_large + (row[0] + row[1]).max(f64::MIN_POSITIVE).ln()
    }
}

/// One step, and the packet is lost.
fn lose(row: [f64; 2], process: &Gilbert) -> [f64; 2] {
    let good = row[0] * (1.0 - process.to_bad) + row[1] * process.to_good;
    let bad = row[0] * process.to_bad + row[1] * (1.0 - process.to_good);
    [good * process.loss_good, bad * process.loss_bad]
}
