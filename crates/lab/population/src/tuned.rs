//! What a search for a pace came to: harm to the viewer and gain of the neighbours of each candidate, the front of both, and a
//! recommendation. It must not know how candidates were chosen or played.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_stats::student_quantile;

use crate::compared::FigureRow;
use crate::effects::{Effects, gain, mean};
use crate::tune::Tuner;

/// Sets the scores. That viewers are better off than unpaced counts for no candidate: no pace is expected to do that, so that it
/// is chance in the unpaced sessions, which all candidates are compared with. Harm counts from the least one then; from 0 it
/// would hide what the candidates differ by.
fn set_scores(candidates: &mut [Trial], harm_weight: f64) {
    let least = candidates.iter().map(|trial| trial.harm.mean).fold(0.0, f64::min);
    for trial in candidates {
        trial.score = trial.gain.mean - harm_weight * (trial.harm.mean - least);
    }
}

/// A figure of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Estimate for all households.
    pub mean: f64,
    /// 95 % interval; none with fewer than three households.
    pub interval: Option<(f64, f64)>,
}

/// A mean over households of which a candidate was played with the first `n` of `N` only: the mean of its differences from
/// a candidate that was played with all of them, added to that one's mean (the difference estimator of double sampling:
/// Cochran, Sampling Techniques, 1977, chapter 12).
fn estimate(of: &BTreeMap<u64, f64>, whole: &BTreeMap<u64, f64>) -> Estimate {
    let differences: Vec<f64> = of
        .iter()
        .filter_map(|(household, value)| Some(value - whole.get(household)?))
        .collect();
    let few = differences.len() as f64;
    let all = (whole.len() as f64).max(few);
    let estimate = mean(whole.values().copied()) + mean(differences.iter().copied());
    let interval = (differences.len() > 2).then(|| {
        let of_difference = variance(&differences) * (1.0 / few - 1.0 / all).max(0.0);
        let of_mean = variance(&of.values().copied().collect::<Vec<_>>()) / all;
        let half = student_quantile(0.05, few - 1.0) * (of_difference + of_mean).sqrt();
        (estimate - half, estimate + half)
    });
    Estimate {
        mean: estimate,
        interval,
    }
}

fn variance(values: &[f64]) -> f64 {
    let center = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What players ask for, as `weir load --pace`.
    pub pace: String,
    /// Burst of the server, as `weir origin --pace-burst`.
    pub pace_burst: String,
    /// Factor of the server, as `weir origin --pace-factor`.
    pub pace_factor: f64,
    /// Households that it was played with.
    pub households: u64,
    /// Value that viewers lose, as a share of the mean unpaced one.
    pub harm: Estimate,
    /// Share by which the times of neighbours fall.
    pub gain: Estimate,
    /// Gain less weighted harm, which counts from 0 on, or from the least one if that is below.
    pub score: f64,
    /// No other candidate has more gain without more harm.
    pub on_front: bool,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuneSummary {
    /// Name of the file.
    pub population: String,
    /// Households that the last candidates were played with.
    pub households: u64,
    /// Sessions that were played.
    pub sessions: u64,
    /// Sessions that were not played to their end.
    pub unfinished: u64,
    /// How many percent of gain one percent of harm outweighs.
    pub harm_weight: f64,
    /// The candidate with the highest score of those that were played with all households; none before the end.
    pub recommended: Option<Recommended>,
    /// Place in `candidates` of the knee of the front: furthest from the line between its ends.
    pub knee: Option<usize>,
    /// All candidates, by harm.
    pub candidates: Vec<Trial>,
    /// Figures of sessions with a published change; the variants are the unpaced one and the candidates.
    pub figures: Vec<FigureRow>,
    /// Text of the file.
    pub inputs: String,
}

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommended {
    /// Place in `candidates`.
    pub place: usize,
    /// Options of `weir origin`.
    pub origin: String,
    /// Option of `weir load`, and the policy of any player.
    pub player: String,
}

impl Tuner {
    /// The summary of what was taken up.
    #[must_use]
    pub fn summary(&self) -> TuneSummary {
        let unpaced = &self.measured[0];
        let is_over = self.round().is_none();
        let best = self.left[0];
        let whole = Effects::new(unpaced, &self.measured[best]);
        let mut candidates: Vec<(usize, Trial)> = (1..self.variants.len())
            .map(|place| (place, self.trial(place, &whole)))
            .collect();
        candidates.sort_by(|a, b| a.1.harm.mean.total_cmp(&b.1.harm.mean));
        let best = candidates.iter().position(|(place, _)| *place == best);
        let mut candidates: Vec<Trial> = candidates.into_iter().map(|(_, trial)| trial).collect();
        mark_front(&mut candidates);
        set_scores(&mut candidates, self.tuning.harm_weight);
        TuneSummary {
            population: self.population.name.clone(),
            households: unpaced.len() as u64,
            sessions: self.measured.iter().map(|of| of.len() as u64).sum(),
            unfinished: self.collected.unfinished(),
            harm_weight: self.tuning.harm_weight,
            recommended: best
                .filter(|_| is_over)
                .map(|place| Recommended::new(place, &candidates[place])),
            knee: knee(&candidates),
            candidates,
            figures: self.published(),
            inputs: self.population.inputs.clone(),
        }
    }

    /// Figures of sessions that the file quotes changes of.
    fn published(&self) -> Vec<FigureRow> {
        let rows = self.collected.rows(&self.population);
        rows.filter(|row| row.published.is_some()).collect()
    }

    fn trial(&self, place: usize, whole: &Effects) -> Trial {
        let variant = &self.variants[place];
        let effects = Effects::new(&self.measured[0], &self.measured[place]);
        let harm = estimate(&effects.harm, &whole.harm);
        let logs = estimate(&effects.logs, &whole.logs);
        let gained = Estimate {
            mean: gain(logs.mean),
            interval: logs.interval.map(|(low, high)| (gain(high), gain(low))),
        };
        Trial {
            pace: variant.pace.to_string(),
            pace_burst: variant.pace_burst.to_string(),
            pace_factor: variant.pace_factor.unwrap_or(1.0),
            households: self.measured[place].len() as u64,
            score: 0.0,
            harm,
            gain: gained,
            on_front: false,
        }
    }
}

impl Recommended {
    fn new(place: usize, trial: &Trial) -> Self {
        let burst = match trial.pace_burst.as_str() {
            "auto" => String::new(),
            burst => format!(" --pace-burst {burst}"),
        };
        Recommended {
            place,
            origin: format!("--pace --pace-factor {}{burst}", trial.pace_factor),
            player: format!("--pace {}", trial.pace),
        }
    }
}

/// Marks the candidates, which are in the order of their harm, that no other one dominates.
fn mark_front(candidates: &mut [Trial]) {
    let mut most = f64::NEG_INFINITY;
    for trial in candidates {
        trial.on_front = trial.gain.mean > most;
        most = most.max(trial.gain.mean);
    }
}

/// The knee: of the front, scaled to its ends, the point furthest from the line between them (Satopaa et al. 2011).
fn knee(candidates: &[Trial]) -> Option<usize> {
    let front: Vec<(usize, &Trial)> = candidates
        .iter()
        .enumerate()
        .filter(|(_, trial)| trial.on_front)
        .collect();
    let ((_, first), (_, last)) = (front.first()?, front.last()?);
    let scaled = |value: f64, from: f64, to: f64| {
        if to > from {
            (value - from) / (to - from)
        } else {
            0.0
        }
    };
    let above = |trial: &Trial| {
        scaled(trial.gain.mean, first.gain.mean, last.gain.mean)
            - scaled(trial.harm.mean, first.harm.mean, last.harm.mean)
    };
    let furthest = front.iter().max_by(|a, b| above(a.1).total_cmp(&above(b.1)))?;
    Some(furthest.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: differences 1, 1 and 1.3 over three of four households, their variance 0.03, that of 2, 3 and 4.3 is 1.33; the
    /// 97.5 % quantile of Student with two degrees of freedom is 4.302653.
    #[test]
    fn an_estimate_adds_the_mean_difference_to_the_mean_of_all() {
        let values = |values: &[f64]| (0..).zip(values.iter().copied()).collect();
        let found = estimate(&values(&[2.0, 3.0, 4.3]), &values(&[1.0, 2.0, 3.0, 4.0]));
        assert!((found.mean - 3.6).abs() < 1e-12);
        let (low, high) = found.interval.expect("three households");
        let half = 4.302_653 * (0.03 * (1.0 / 3.0 - 1.0 / 4.0) + 1.33 / 4.0f64).sqrt();
        assert!(
            (low - 3.6 + half).abs() < 1e-5 && (high - 3.6 - half).abs() < 1e-5,
            "{low} {high}"
        );
    }

    fn trial(harm: f64, gain: f64) -> Trial {
        let figure = |mean| Estimate { mean, interval: None };
        Trial {
            pace: "top:2".to_owned(),
            pace_burst: "auto".to_owned(),
            pace_factor: 2.0,
            households: 1,
            harm: figure(harm),
            gain: figure(gain),
            score: 0.0,
            on_front: false,
        }
    }

    /// The line from (0, 0.1) to (0.1, 0.3) is 0.8 below (0.02, 0.29) scaled to it.
    #[test]
    fn the_knee_is_the_point_of_the_front_furthest_above_its_ends() {
        let mut all = [
            trial(0.0, 0.1),
            trial(0.01, 0.05),
            trial(0.02, 0.29),
            trial(0.1, 0.3),
        ];
        mark_front(&mut all);
        assert_eq!(
            all.each_ref().map(|trial| trial.on_front),
            [true, false, true, true]
        );
        assert_eq!((knee(&all), knee(&[])), (Some(2), None));
    }

    #[test]
    fn harm_counts_from_0_or_from_the_least() {
        let scores = |of: [(f64, f64); 2]| {
            let mut trials = of.map(|(harm, gain)| trial(harm, gain));
            set_scores(&mut trials, 10.0);
            trials.map(|trial| (trial.score * 1e9).round() / 1e9)
        };
        assert_eq!(scores([(0.01, 0.2), (0.02, 0.25)]), [0.1, 0.05]);
        assert_eq!(scores([(-0.01, 0.2), (0.002, 0.25)]), [0.2, 0.13]);
    }
}
