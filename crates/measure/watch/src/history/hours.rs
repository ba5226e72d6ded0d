//! Patterns by the time of day: each hour of a day beside the median of its day, over many days. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_record::WatchCell;
use weir_stats::{mann_whitney, median};

use super::{DAY_S, HOUR_S};
use crate::change::Metric;

/// Fewest days for a pattern.
const FEWEST_DAYS: usize = 5;
/// Fewest hours of a day that has a median.
const FEWEST_HOURS: usize = 12;
/// Pairs of hours: the slowest and the fastest are chosen among them.
const COMPARISONS: f64 = 276.0;
/// Probability below which a difference is no chance.
const LEVEL: f64 = 0.05;

/// A figure in one hour of the day.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HourOfDay {
    /// Hour of the day, UTC, 0 to 23.
    pub hour: u8,
    /// Days with this hour.
    pub days: usize,
    /// Median over days of the figure divided by the median of its day.
    pub median: f64,
    /// 10th percentile over days.
    pub low: f64,
    /// 90th percentile.
    pub high: f64,
}

/// A figure over the hours of the day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeOfDay {
    /// Which figure.
    pub metric: Metric,
    /// Days, UTC.
    pub days: usize,
    /// Hours that were measured.
    pub hours: Vec<HourOfDay>,
    /// Hour with the highest median.
    pub highest: u8,
    /// Hour with the lowest one.
    pub lowest: u8,
    /// How much the highest median exceeds the lowest, as a share.
    pub swing: f64,
    /// Probability of a difference as large between any two hours if the time of day made none: Mann and Whitney's test, times the
    /// number of pairs of hours.
    pub p_value: f64,
    /// The probability is below 5 %.
    pub is_pattern: bool,
}

/// P50 and P90 over the hours of the day, from hours in order; none from fewer than five days.
#[must_use]
pub fn time_of_day(hours: &[WatchCell]) -> Vec<TimeOfDay> {
    let figures = [Metric::P50, Metric::P90].into_iter();
    figures.filter_map(|metric| of_metric(metric, hours)).collect()
}

fn of_metric(metric: Metric, hours: &[WatchCell]) -> Option<TimeOfDay> {
    let mut by_hour: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    let mut days = 0;
    for day in hours.chunk_by(|one, other| one.start_s / DAY_S == other.start_s / DAY_S) {
        let value = |cell: &WatchCell| Some(((cell.start_s % DAY_S / HOUR_S) as u8, metric.of(cell)?));
        let values: Vec<(u8, f64)> = day.iter().filter_map(value).collect();
        let usual = median(values.iter().map(|value| value.1).collect());
        if values.len() < FEWEST_HOURS || usual <= 0.0 {
            continue;
        }
        days += 1;
        for (hour, value) in values {
            by_hour.entry(hour).or_default().push(value / usual);
        }
    }
    by_hour.retain(|_, shares| shares.len() >= FEWEST_DAYS);
    let hours: Vec<HourOfDay> = by_hour
        .iter()
        .map(|(hour, shares)| of_hour(*hour, shares))
        .collect();
    let by_median = |one: &&HourOfDay, other: &&HourOfDay| one.median.total_cmp(&other.median);
    let (highest, lowest) = (hours.iter().max_by(by_median)?, hours.iter().min_by(by_median)?);
    if highest.hour == lowest.hour {
        return None;
    }
    let test = mann_whitney(&by_hour[&lowest.hour], &by_hour[&highest.hour])?;
    let p_value = (test.p_value * COMPARISONS).min(1.0);
    Some(TimeOfDay {
        metric,
        days,
        highest: highest.hour,
        lowest: lowest.hour,
        swing: highest.median / lowest.median - 1.0,
        p_value,
        is_pattern: p_value < LEVEL,
        hours,
    })
}

fn of_hour(hour: u8, shares: &[f64]) -> HourOfDay {
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    HourOfDay {
        hour,
        days: shares.len(),
        median: median(shares.to_vec()),
        low: at(0.1),
        high: at(0.9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours of a path whose level grows by a tenth each day, with this share more from 18 to 22 h, and noise of 4 % by hour.
    fn hours(days: u64, evening: f64) -> Vec<WatchCell> {
        let mut random = 7u64;
        let each = (0..days * 24).map(|number| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let noise = 1.0 + 0.04 * ((random >> 11) as f64 / (1u64 << 53) as f64 - 0.5);
            let more = if (18..22).contains(&(number % 24)) {
                evening
            } else {
                0.0
            };
            let level = 20e6 * 1.1f64.powi((number / 24) as i32 % 10);
            let mut cell = WatchCell {
                start_s: number * HOUR_S,
                sent: 10,
                ..WatchCell::default()
            };
            (0..10).for_each(|_| cell.rtt.record((level * noise * (1.0 + more)) as u64));
            cell
        });
        each.collect()
    }

    #[test]
    fn slow_evenings_are_a_pattern_whatever_the_level() {
        let found = time_of_day(&hours(20, 0.1));
        let p90 = &found[1];
        assert_eq!((p90.metric, p90.days, p90.hours.len()), (Metric::P90, 20, 24));
        assert!(p90.is_pattern && (18..22).contains(&p90.highest), "{p90:?}");
        assert!((0.08..0.13).contains(&p90.swing), "{}", p90.swing);
        let evening = p90.hours[19];
        assert!(
            (1.07..1.13).contains(&evening.median)
                && evening.low <= evening.median
                && evening.median <= evening.high
        );
        assert!((p90.hours[3].median - 1.0).abs() < 0.02);
    }

    #[test]
    fn chance_is_no_pattern_and_few_days_have_none() {
        let found = time_of_day(&hours(20, 0.0));
        assert!(found.iter().all(|one| !one.is_pattern), "{found:?}");
        assert_eq!(time_of_day(&hours(4, 0.1)), []);
        assert_eq!(time_of_day(&[]), []);
    }
}
