//! Slow change of a path: the slope of a figure over days. Pure.
//!
//! Each day (UTC) has one value, from the sum of its distributions, so that the time of day is no trend. Days before the last step
//! of the figure are left out: a step is a change and no trend.

use serde::Serialize;
use weir_record::{WatchCell, WatchChange};
use weir_stats::{median, trend};

use super::DAY_S;
use crate::change::Metric;
use crate::gather::sum;

/// Beyond so many days, weeks are compared.
const MOST_DAYS: usize = 200;

/// The trend of a figure of a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathTrend {
    /// Which figure.
    pub metric: Metric,
    /// Start of the first day, Unix seconds.
    pub since_s: u64,
    /// End of the last one.
    pub until_s: u64,
    /// Median of the daily values: nanoseconds, or a share.
    pub level: f64,
    /// Rise in a day; Theil's and Sen's estimate.
    pub per_day: f64,
    /// Lower bound of the rise, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl PathTrend {
    /// Whether the figure rises or falls for certain.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Trends of a path from its hours, in order; none for figures with fewer than six whole days since their last change.
#[must_use]
pub fn trends(hours: &[WatchCell], changes: &[WatchChange]) -> Vec<PathTrend> {
    let figures = [Metric::P50, Metric::P90, Metric::Loss].into_iter();
    figures
        .filter_map(|metric| of_metric(metric, hours, changes))
        .collect()
}

fn of_metric(metric: Metric, hours: &[WatchCell], changes: &[WatchChange]) -> Option<PathTrend> {
    let own = changes.iter().filter(|change| change.metric == metric.as_str());
    let last_s = own
        .map(|change| change.since_unix_ns.div_ceil(1_000_000_000))
        .max()
        .unwrap_or(0);
    let since_s = last_s.div_ceil(DAY_S) * DAY_S;
    let after = &hours[hours.partition_point(|cell| cell.start_s < since_s)..];
    let (mut step_s, mut cells) = (DAY_S, whole(sum(after, DAY_S)));
    if cells.len() > MOST_DAYS {
        (step_s, cells) = (7 * DAY_S, whole(sum(after, 7 * DAY_S)));
    }
    let point = |cell: &WatchCell| Some((cell.start_s as f64 / DAY_S as f64, metric.of(cell)?));
    let points: Vec<(f64, f64)> = cells.iter().filter_map(point).collect();
    let found = trend(&points)?;
    Some(PathTrend {
        metric,
        since_s: cells.first()?.start_s,
        until_s: cells.last()?.start_s + step_s,
        level: median(points.iter().map(|point| point.1).collect()),
        per_day: found.slope,
        low: found.low,
        high: found.high,
    })
}

/// Without days that were measured for less than half of the time of others: the first, the last, and those of an outage.
fn whole(mut cells: Vec<WatchCell>) -> Vec<WatchCell> {
    let usual = median(cells.iter().map(|cell| cell.sent as f64).collect());
    cells.retain(|cell| 2.0 * cell.sent as f64 >= usual);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours of 20 packets with a daily wave of 10 %, from a level that may change.
    fn hours(days: u64, level_ms: impl Fn(f64) -> f64) -> Vec<WatchCell> {
        let each = (0..days * 24).map(|hour| {
            let mut cell = WatchCell {
                start_s: hour * 3_600,
                sent: 20,
                ..WatchCell::default()
            };
            let wave = 1.0 + 0.1 * (hour as f64 / 24.0 * std::f64::consts::TAU).sin();
            for packet in 0..20 {
                // Days differ by up to 2 %, without an order.
                let noise = 1.0 + 0.002 * f64::from((hour / 24 * 7 % 11) as u32) + 0.0005 * f64::from(packet);
                let rtt_ms = level_ms(hour as f64 / 24.0) * wave * noise;
                cell.rtt.record((rtt_ms * 1e6) as u64);
            }
            cell
        });
        each.collect()
    }

    fn of(metric: Metric, found: &[PathTrend]) -> PathTrend {
        *found.iter().find(|trend| trend.metric == metric).unwrap()
    }

    #[test]
    fn a_slow_rise_is_found_and_the_time_of_day_is_none() {
        let steady = trends(&hours(30, |_| 50.0), &[]);
        assert!(steady.iter().all(|trend| !trend.is_certain()), "{steady:?}");
        // 0.1 ms a day.
        let rising = of(Metric::P50, &trends(&hours(30, |day| 50.0 + 0.1 * day), &[]));
        assert!(rising.low <= 0.1e6 && 0.1e6 <= rising.high, "{rising:?}");
        assert!(rising.low > 0.08e6 && rising.high < 0.13e6, "{rising:?}");
        assert!((rising.level / 51.9e6 - 1.0).abs() < 0.01, "{rising:?}");
        assert_eq!(of(Metric::Loss, &steady).per_day, 0.0);
        assert_eq!(trends(&hours(5, |_| 50.0), &[]), []);
    }

    #[test]
    fn a_step_is_no_trend() {
        let stepped = hours(40, |day| if day < 20.5 { 50.0 } else { 60.0 });
        assert!(of(Metric::P50, &trends(&stepped, &[])).is_certain());
        let change = |metric: &str| WatchChange {
            metric: metric.to_owned(),
            since_unix_ns: (20 * DAY_S + DAY_S / 2) * 1_000_000_000,
            ..WatchChange::default()
        };
        let found = trends(&stepped, &[change("p50"), change("p90")]);
        let after = of(Metric::P50, &found);
        assert!(!after.is_certain(), "{after:?}");
        assert_eq!((after.since_s, after.until_s), (21 * DAY_S, 40 * DAY_S));
    }

    #[test]
    fn a_year_is_compared_by_weeks() {
        let year = of(Metric::P50, &trends(&hours(364, |day| 50.0 + 0.01 * day), &[]));
        assert!(year.low <= 0.0105e6 && 0.0095e6 <= year.high, "{year:?}");
        assert_eq!(year.until_s - year.since_s, 364 * DAY_S);
    }
}
