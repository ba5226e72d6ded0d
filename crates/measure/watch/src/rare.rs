//! Rare events of a path: how often they happened while they would have been seen, and within which bounds their rate is.
//! Pure.
//!
//! Events that are independent of each other are a Poisson process, so that their number gives exact bounds of the rate
//! (Garwood, Biometrika 28, 1936). What belongs together counts once: a flow that stays dark over several tests, seconds with
//! loss in a row.

use serde::Serialize;
use weir_record::{WatchCell, WatchCount};
use weir_stats::poisson_interval;
use weir_units::format_duration;

const DAY_S: u64 = 86_400;
/// Probability left out of the bounds.
const LEFT_OUT: f64 = 0.05;
/// Days of the past over which rates of events are reported.
pub const RATE_DAYS: u64 = 30;

/// Kinds of rare events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rare {
    /// A flow of a flow test carried nothing while others did.
    FlowDark,
    /// Nothing was answered for a while.
    Unreachable,
    /// Seconds with loss of RTT packets, in a row.
    Loss,
}

impl Rare {
    /// All.
    pub const ALL: [Rare; 3] = [Rare::FlowDark, Rare::Unreachable, Rare::Loss];

    /// Its name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Rare::FlowDark => "flow_dark",
            Rare::Unreachable => "unreachable",
            Rare::Loss => "loss",
        }
    }

    /// What is added to the count of a day, Unix nanoseconds within it.
    #[must_use]
    pub fn count(self, unix_ns: u64, watched_s: u64, events: u64) -> WatchCount {
        let unix_s = unix_ns / 1_000_000_000;
        WatchCount {
            event: self.as_str().to_owned(),
            day_s: unix_s - unix_s % DAY_S,
            watched_s,
            events,
        }
    }

    /// That it happened, and that it did not.
    fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Rare::FlowDark => ("a flow went dark", "no flow went dark"),
            Rare::Unreachable => ("the path became unreachable", "the path never became unreachable"),
            Rare::Loss => ("packets were lost", "no packet was lost"),
        }
    }
}

/// How often something happens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// What.
    pub event: Rare,
    /// How often it happened.
    pub events: u64,
    /// Time in which it would have been seen, seconds.
    pub watched_s: u64,
    /// Events a day.
    pub per_day: f64,
    /// Lower bound of events a day, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// How often something happens in a day, with exact bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Events a day.
    pub per_day: f64,
    /// Lower bound, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Bounds {
    /// Of a number of events in a time; none where nothing was watched.
    #[must_use]
    pub fn of(events: u64, watched_s: u64) -> Option<Self> {
        let days = watched_s as f64 / DAY_S as f64;
        let (low, high) = poisson_interval(events, LEFT_OUT);
        (watched_s > 0).then(|| Bounds {
            per_day: events as f64 / days,
            low: low / days,
            high: high / days,
        })
    }
}

impl Rate {
    /// The rate over days, of which those of other events are left out; none where nothing was watched.
    #[must_use]
    pub fn of(event: Rare, counts: &[WatchCount]) -> Option<Self> {
        let own = counts.iter().filter(|count| count.event == event.as_str());
        let (events, watched_s) = own.fold((0u64, 0u64), |(events, watched_s), count| {
            (
                events.saturating_add(count.events),
                watched_s.saturating_add(count.watched_s),
            )
        });
        let Bounds { per_day, low, high } = Bounds::of(events, watched_s)?;
        Some(Rate {
            event,
            events,
            watched_s,
            per_day,
            low,
            high,
        })
    }

    /// In words, with the bounds.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (happened, never) = self.event.in_words();
        let watched = format_duration(self.watched_s.saturating_mul(1_000_000_000));
        let times = match self.events {
            0 => return format!("{never} in {watched}: at most {} times a day", figures(self.high)),
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            more => format!("{more} times"),
        };
        format!(
            "{happened} {times} in {watched}: {} to {} a day",
            figures(self.low),
            figures(self.high)
        )
    }
}

/// Two decimal places, or as many as two digits need.
#[must_use]
pub fn figures(value: f64) -> String {
    let places = match value {
        0.0 => 0,
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ if value >= 0.01 => 2,
        _ => (1.0 - value.log10().floor()).clamp(0.0, 12.0) as usize,
    };
    format!("{value:.places$}")
}

/// Counts of loss, and the time in which the path could become unreachable, from seconds in order. `before` is the last
/// second before them, if there is one.
#[must_use]
pub fn of_seconds(before: Option<&WatchCell>, seconds: &[WatchCell]) -> Vec<WatchCount> {
    let mut counts: Vec<WatchCount> = Vec::new();
    let mut last = before;
    for cell in seconds.iter().filter(|cell| cell.sent > 0) {
        let goes_on = last.is_some_and(|last| last.lost > 0 && last.start_s + 1 == cell.start_s);
        let begins = u64::from(cell.lost > 0 && !goes_on);
        let unix_ns = cell.start_s.saturating_mul(1_000_000_000);
        last = Some(cell);
        for count in [
            Rare::Loss.count(unix_ns, 1, begins),
            Rare::Unreachable.count(unix_ns, 1, 0),
        ] {
            let same = counts
                .iter_mut()
                .find(|known| known.event == count.event && known.day_s == count.day_s);
            match same {
                Some(known) => {
                    known.watched_s += 1;
                    known.events += count.events;
                }
                None => counts.push(count),
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_bounds_of_published_tables() {
        let day = |day: u64, events| Rare::FlowDark.count(day * DAY_S * 1_000_000_000 + 5, DAY_S, events);
        let counts: Vec<WatchCount> = (0..14)
            .map(|place| day(place, u64::from(place % 5 == 2)))
            .collect();
        let rate = Rate::of(Rare::FlowDark, &counts).unwrap();
        // Garwood 1936: three events, 0.6187 to 8.7673.
        assert!((rate.low * 14.0 - 0.6187).abs() < 1e-3, "{rate:?}");
        assert!((rate.high * 14.0 - 8.7673).abs() < 1e-3, "{rate:?}");
        assert_eq!(
            rate.in_words(),
            "a flow went dark 3 times in 14 d: 0.04 to 0.63 a day"
        );
        let none = Rate::of(Rare::FlowDark, &counts[..2]).unwrap();
        assert_eq!(
            none.in_words(),
            "no flow went dark in 2 d: at most 1.84 times a day"
        );
        assert_eq!(Rate::of(Rare::Loss, &counts), None);
        assert_eq!(figures(0.000_123), "0.00012");
    }

    #[test]
    fn seconds_with_loss_in_a_row_are_one_event_and_days_are_apart() {
        let second = |start_s: u64, lost| WatchCell {
            start_s,
            sent: 4,
            lost,
            ..WatchCell::default()
        };
        let midnight = 100 * DAY_S;
        // Begins in the second before, goes on over midnight, and comes again after a gap and after a good second.
        let before = second(midnight - 3, 1);
        let seconds = [
            second(midnight - 2, 2),
            second(midnight - 1, 1),
            second(midnight, 4),
            second(midnight + 2, 1),
            second(midnight + 3, 0),
            second(midnight + 4, 1),
        ];
        let found = of_seconds(Some(&before), &seconds);
        let loss = |counts: &[WatchCount]| -> Vec<(u64, u64, u64)> {
            let own = counts.iter().filter(|count| count.event == "loss");
            own.map(|count| (count.day_s, count.watched_s, count.events))
                .collect()
        };
        assert_eq!(loss(&found), [(midnight - DAY_S, 2, 0), (midnight, 4, 2)]);
        assert_eq!(loss(&of_seconds(None, &seconds))[0], (midnight - DAY_S, 2, 1));
        let reachable: u64 = found
            .iter()
            .filter(|count| count.event == "unreachable")
            .map(|count| count.watched_s + count.events)
            .sum();
        assert_eq!(reachable, 6);
    }
}
