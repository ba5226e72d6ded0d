//! Figures of all households by variant, and what each variant changes: from records to a summary. It must not know how
//! households are played or results drawn.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use weir_record::{HouseholdNeighbour, HouseholdSession};
use weir_stats::{median_interval, student_quantile};
use weir_tcp::{HEADER_BYTES, USUAL_MSS};

use crate::file::{Population, Published};

/// A figure of a session, where it has one.
type OfSession = fn(&HouseholdSession) -> Option<f64>;
type OfNeighbour = fn(&HouseholdNeighbour) -> Option<f64>;

/// Largest error of an estimate that is nearly right.
const NEARLY_RIGHT: f64 = 0.2;

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What the line carries of payload, bits per second.
fn truth(row: &HouseholdSession) -> f64 {
    row.rate as f64 * f64::from(USUAL_MSS) / f64::from(USUAL_MSS + HEADER_BYTES)
}

/// How far the player's estimate of the capacity is from what the line carries, as a share of that.
fn capacity_error(row: &HouseholdSession) -> Option<f64> {
    row.capacity
        .map(|capacity| (capacity as f64 / truth(row) - 1.0).abs())
}

/// Whether the estimate is nearly right, of sessions whose pace hides the capacity: at most half of it. No estimate is not.
fn capacity_is_right(row: &HouseholdSession) -> Option<f64> {
    row.pace.filter(|pace| *pace as f64 <= truth(row) / 2.0)?;
    let is_right = capacity_error(row).is_some_and(|error| error <= NEARLY_RIGHT);
    Some(f64::from(u8::from(is_right)))
}

/// Figures of sessions, by name.
const SESSION: [(&str, OfSession); 20] = [
    ("media.throughput", |row| Some(row.throughput as f64)),
    ("media.retransmitted_share", |row| {
        share(row.retransmitted, row.packets)
    }),
    ("media.rtt.mean", |row| Some(row.smoothed_rtt_mean_ns as f64)),
    ("media.rtt.p95", |row| Some(row.smoothed_rtt_p95_ns as f64)),
    ("media.fetching_share", |row| {
        share(row.fetching_ns, row.length_ns)
    }),
    ("media.startup_ns", |row| {
        row.startup_ns.map(|startup| startup as f64)
    }),
    ("media.stalls", |row| Some(row.stalls as f64)),
    ("media.stalled_share", |row| {
        share(row.stalled_ns, row.stalled_ns + row.played_ns)
    }),
    ("media.stalled_sessions_share", |row| {
        Some(f64::from(u8::from(row.stalls > 0)))
    }),
    ("media.bitrate", |row| Some(row.bitrate as f64)),
    ("media.first_20_s_bitrate", |row| {
        Some(row.first_20_s_bitrate as f64)
    }),
    ("media.switches", |row| Some(row.switches as f64)),
    ("queue.mean_ns", |row| {
        let bits = 8.0 * row.queue_mean_bytes as f64;
        (row.rate > 0).then(|| bits * 1e9 / row.rate as f64)
    }),
    ("queue.dropped", |row| Some(row.queue_dropped as f64)),
    ("queue.marked", |row| Some(row.queue_marked as f64)),
    ("media.sojourn.p99", |row| {
        row.media_sojourn_p99_ns.map(|time| time as f64)
    }),
    ("media.marked_share", |row| share(row.media_marked, row.packets)),
    ("media.capacity", |row| row.capacity.map(|rate| rate as f64)),
    ("media.capacity.error_share", capacity_error),
    ("media.capacity.within_20_percent_share", capacity_is_right),
];

/// Figures of calls, by what follows their name.
const CALL: [(&str, OfNeighbour); 6] = [
    ("owd.mean", |row| row.time_mean_ns.map(|time| time as f64)),
    ("owd.p95", |row| row.time_quantile_ns.map(|time| time as f64)),
    ("beside_media.owd.mean", |row| {
        row.beside_time_mean_ns.map(|time| time as f64)
    }),
    ("lost_share", |row| share(row.lost, row.lost + row.count)),
    ("sojourn.p50", |row| row.sojourn_p50_ns.map(|time| time as f64)),
    ("sojourn.p99", |row| row.sojourn_p99_ns.map(|time| time as f64)),
];

/// Figures of downloads, by what follows their name.
const DOWNLOADS: [(&str, OfNeighbour); 7] = [
    ("completion.mean", |row| row.time_mean_ns.map(|time| time as f64)),
    ("completion.p50", |row| {
        row.time_quantile_ns.map(|time| time as f64)
    }),
    ("beside_media.completion.mean", |row| {
        row.beside_time_mean_ns.map(|time| time as f64)
    }),
    ("rate", |row| row.throughput.map(|rate| rate as f64)),
    ("beside_media.rate", |row| {
        row.beside_throughput.map(|rate| rate as f64)
    }),
    ("sojourn.p50", |row| row.sojourn_p50_ns.map(|time| time as f64)),
    ("sojourn.p99", |row| row.sojourn_p99_ns.map(|time| time as f64)),
];

/// A figure over the households, in the unit of its name: seconds, bits per second, shares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Households that have it.
    pub households: u64,
    /// Mean.
    pub mean: f64,
    /// 10 % of the households are at or below this.
    pub p10: f64,
    /// Half of them.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
}

/// What a variant changes, household by household: of those that have the figure in both variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// How many those are.
    pub households: u64,
    /// Relative change of the mean; none if the mean of the first variant is 0.
    pub mean: Option<f64>,
    /// 95 % interval of it; none with fewer than three households.
    pub mean_interval: Option<(f64, f64)>,
    /// Median of the differences of the households.
    pub median_difference: f64,
    /// 95 % interval of it by order statistics; none with fewer than six households.
    pub median_interval: Option<(f64, f64)>,
}

/// A figure of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantFigure {
    /// Name of the variant.
    pub variant: String,
    /// The figure over the households.
    pub spread: Spread,
    /// What changed since the first variant; none for that.
    pub change: Option<Change>,
}

/// A figure, and what was published of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureRow {
    /// Its name, as in `call.owd.p95`.
    pub figure: String,
    /// Every variant, in the order of the file.
    pub variants: Vec<VariantFigure>,
    /// Published change, with its source.
    pub published: Option<Published>,
}

/// What a population came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the file.
    pub population: String,
    /// Households that were played with all variants.
    pub households: u64,
    /// Sessions that were not played to their end.
    pub unfinished: u64,
    /// Figures.
    pub figures: Vec<FigureRow>,
    /// Text of the file: the distributions that the households were drawn from.
    pub inputs: String,
}

/// Values of a figure by household, for each variant.
pub(crate) type Values = Vec<HashMap<u64, f64>>;

/// Rows of a population, taken up one by one.
#[derive(Debug)]
pub struct Collected {
    variants: Vec<String>,
    sessions: Vec<Values>,
    /// By name of the neighbour and place of the figure; with the kind, which decides its figures.
    neighbours: BTreeMap<(String, usize), (&'static str, Values)>,
    unfinished: u64,
}

impl Collected {
    /// Of a population without rows.
    #[must_use]
    pub fn new(population: &Population) -> Self {
        let variants: Vec<String> = population
            .variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect();
        Collected {
            sessions: vec![vec![HashMap::new(); variants.len()]; SESSION.len()],
            variants,
            neighbours: BTreeMap::new(),
            unfinished: 0,
        }
    }

    fn place(&self, variant: &str) -> Option<usize> {
        self.variants.iter().position(|known| known == variant)
    }

    /// Takes up a session; one of an unknown variant is ignored.
    pub fn session(&mut self, row: &HouseholdSession) {
        let Some(variant) = self.place(&row.variant) else {
            return;
        };
        self.unfinished += u64::from(!row.finished);
        for (values, (_, figure)) in self.sessions.iter_mut().zip(SESSION) {
            if let Some(value) = figure(row) {
                values[variant].insert(row.household, value);
            }
        }
    }

    /// Takes up a neighbour; one of an unknown variant is ignored.
    pub fn neighbour(&mut self, row: &HouseholdNeighbour) {
        let Some(variant) = self.place(&row.variant) else {
            return;
        };
        let figures = if row.kind == "call" {
            &CALL[..]
        } else {
            &DOWNLOADS[..]
        };
        for (place, (name, figure)) in figures.iter().enumerate() {
            if let Some(value) = figure(row) {
                let empty = || (*name, vec![HashMap::new(); self.variants.len()]);
                let key = (row.neighbour.clone(), place);
                let values = &mut self.neighbours.entry(key).or_insert_with(empty).1;
                values[variant].insert(row.household, value);
            }
        }
    }

    /// Names of figures, with their values.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (String, &Values)> {
        let sessions = self.sessions.iter().zip(SESSION);
        let sessions = sessions.map(|(values, (name, _))| (name.to_owned(), values));
        let neighbours = self.neighbours.iter();
        sessions.chain(neighbours.map(|((of, _), (name, values))| (format!("{of}.{name}"), values)))
    }

    /// Households that were played with all variants.
    pub(crate) fn households(&self) -> u64 {
        let played = self.sessions[0].iter().map(|of| of.len() as u64);
        played.min().unwrap_or(0)
    }

    /// Sessions that were not played to their end.
    pub(crate) fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The summary of what was taken up.
    #[must_use]
    pub fn summary(&self, population: &Population) -> Summary {
        Summary {
            population: population.name.clone(),
            households: self.households(),
            unfinished: self.unfinished,
            figures: self.rows(population).collect(),
            inputs: population.inputs.clone(),
        }
    }

    /// Every figure that a household has, with what was published of it.
    pub(crate) fn rows(&self, population: &Population) -> impl Iterator<Item = FigureRow> {
        let figures = self.figures().map(|(figure, values)| FigureRow {
            variants: self.compared(values),
            published: population.published_of(&figure),
            figure,
        });
        figures.filter(|row| !row.variants.is_empty())
    }

    fn compared(&self, values: &Values) -> Vec<VariantFigure> {
        let base = values.first();
        let places = self.variants.iter().zip(values).enumerate();
        let figure = |(place, (variant, of)): (usize, (&String, &HashMap<u64, f64>))| {
            Some(VariantFigure {
                variant: variant.clone(),
                spread: spread(of.values().copied().collect())?,
                change: base.filter(|_| place > 0).and_then(|base| change(base, of)),
            })
        };
        places.filter_map(figure).collect()
    }
}

pub(crate) fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    // The value at or below which the share is (nearest rank).
    let quantile = |share: f64| values[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
    (count > 0).then(|| Spread {
        households: count as u64,
        mean: values.iter().sum::<f64>() / count as f64,
        p10: quantile(0.1),
        p50: quantile(0.5),
        p90: quantile(0.9),
    })
}

/// The relative change of the mean is a ratio of means of pairs; its interval is by the delta method, with Student's
/// distribution (Cochran, Sampling Techniques, 1977, section 6.4).
pub(crate) fn change(base: &HashMap<u64, f64>, of: &HashMap<u64, f64>) -> Option<Change> {
    let mut households: Vec<u64> = base
        .keys()
        .filter(|number| of.contains_key(number))
        .copied()
        .collect();
    // Sums of floating-point numbers depend on their order.
    households.sort_unstable();
    let pairs: Vec<(f64, f64)> = households
        .iter()
        .map(|number| (base[number], of[number]))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / count;
    let (before, after) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let ratio = (before != 0.0).then(|| after / before);
    let mean_interval = ratio.filter(|_| pairs.len() > 2).map(|ratio| {
        let residual = mean(&|pair| (pair.1 - ratio * pair.0).powi(2)) * count / (count - 1.0);
        let half = student_quantile(0.05, count - 1.0) * (residual / count).sqrt() / before.abs();
        (ratio - 1.0 - half, ratio - 1.0 + half)
    });
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.1 - pair.0).collect();
    let median_interval = median_interval(&differences);
    Some(Change {
        households: pairs.len() as u64,
        mean: ratio.map(|ratio| ratio - 1.0),
        mean_interval,
        median_difference: weir_stats::median(differences),
        median_interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: x 10, 20, 30, 40 and y 5, 12, 14, 21, ratio 0.52, residuals y - 0.52 x -0.2, 1.6, -1.6, 0.2, their
    /// standard error sqrt(5.2 / 3 / 4) = 0.65828, the 97.5 % quantile of Student with 3 degrees of freedom 3.18245, mean of x 25.
    #[test]
    fn the_change_of_a_mean_is_a_ratio_of_paired_means() {
        let values = |values: [f64; 4]| (0..).zip(values).collect::<HashMap<u64, f64>>();
        let found = change(
            &values([10.0, 20.0, 30.0, 40.0]),
            &values([5.0, 12.0, 14.0, 21.0]),
        )
        .expect("pairs");
        assert!((found.mean.expect("a ratio") + 0.48).abs() < 1e-12);
        let (low, high) = found.mean_interval.expect("four households");
        let half = 3.182_446 * 0.658_281 / 25.0;
        assert!(
            (low + 0.48 + half).abs() < 1e-5 && (high + 0.48 - half).abs() < 1e-5,
            "{low} {high}"
        );
        assert_eq!((found.median_difference, found.median_interval), (-12.0, None));
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let found = spread((1..=10).map(f64::from).collect()).expect("values");
        assert_eq!(
            (found.p10, found.p50, found.p90, found.mean),
            (1.0, 5.0, 9.0, 5.5)
        );
        assert_eq!(spread(vec![]), None);
    }
}
