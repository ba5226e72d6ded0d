//! What a watcher reports: changes, alarms of rules, paths that carry nothing, dark flows, tests that ended. It has words and
//! numbers, and must not know where they go.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_record::WatchChange;
use weir_units::{format_duration, format_percent};

use crate::rare::Rate;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A figure of a path has changed.
    Change,
    /// Nothing is answered on a path: an alarm.
    Unreachable,
    /// A flow carries nothing while others do: an alarm.
    FlowDark,
    /// A rule of the file: an alarm.
    Rule,
    /// A test at intervals has ended.
    Test,
    /// The configuration was read again.
    Configuration,
    /// The store cannot be written: an alarm.
    Store,
    /// The watcher's own host is disturbed for much of the time: an alarm.
    Host,
    /// This host's clock was set; or, as an alarm of a path, the clocks of both hosts are far apart.
    Clock,
}

impl What {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            What::Change => "change",
            What::Unreachable => "unreachable",
            What::FlowDark => "flow_dark",
            What::Rule => "rule",
            What::Test => "test",
            What::Configuration => "configuration",
            What::Store => "store",
            What::Host => "host",
            What::Clock => "clock",
        }
    }
}

/// Whether an alarm begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is no alarm.
    Happened,
    /// It begins.
    Raised,
    /// It ends.
    Cleared,
}

impl State {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Happened => "happened",
            State::Raised => "raised",
            State::Cleared => "cleared",
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Time, Unix nanoseconds.
    pub unix_ns: u64,
    /// What happened.
    pub event: What,
    /// Whether an alarm begins or ends.
    pub state: State,
    /// Near host; empty where no path is concerned.
    pub from: String,
    /// Far host.
    pub to: String,
    /// Which alarm of the path: the rule's name, or the flow; empty for others.
    pub subject: String,
    /// The run with the evidence; none where the cells of the path have it.
    pub run_id: Option<i64>,
    /// The change; none for other events.
    pub change: Option<ChangeFields>,
    /// The values behind an alarm.
    pub evidence: Option<Evidence>,
    /// Labels that the rule gives its alerts.
    pub labels: BTreeMap<String, String>,
    /// Why it is not delivered: the reason of a silence.
    pub silenced: Option<String>,
    /// In a line.
    pub detail: String,
}

/// The values behind an alarm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// `loss`, `p50`, `p90`, `dark-flows`, `path-mtu` or `unreachable`.
    pub metric: &'static str,
    /// Value over the span: a share, nanoseconds, events a day, or nanoseconds without an answer.
    pub value: f64,
    /// The rule's limit; none for alarms without one.
    pub limit: Option<f64>,
    /// Lower bound of a rate, 95 %; none for other values.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Start of the span, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// Its end.
    pub until_unix_ns: u64,
}

impl Evidence {
    /// That of a rate up to `until_ns`.
    #[must_use]
    pub fn of_rate(metric: &'static str, rate: &Rate, limit: Option<f64>, until_ns: u64) -> Self {
        let watched_ns = rate.watched_s.saturating_mul(1_000_000_000);
        Evidence {
            metric,
            value: rate.per_day,
            limit,
            low: Some(rate.low),
            high: Some(rate.high),
            since_unix_ns: until_ns.saturating_sub(watched_ns),
            until_unix_ns: until_ns,
        }
    }
}

/// The numbers of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeFields {
    /// `p50`, `p90`, `loss`, `hops`, `routes_forward`, `routes_reverse`, `mtu_forward` or `mtu_reverse`.
    pub metric: String,
    /// First moment after it, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// Value before: nanoseconds, a share, a number of hops or routes, or bytes.
    pub before: f64,
    /// Value after.
    pub after: f64,
    /// Lower bound of the value after, 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// What the numbers do not say, such as the routes before and after; else empty.
    pub detail: String,
}

impl Event {
    /// An event of a path that is no change.
    #[must_use]
    pub fn of_path(unix_ns: u64, event: What, state: State, names: (&str, &str), detail: String) -> Self {
        Event {
            unix_ns,
            event,
            state,
            from: names.0.to_owned(),
            to: names.1.to_owned(),
            subject: String::new(),
            run_id: None,
            change: None,
            evidence: None,
            labels: BTreeMap::new(),
            silenced: None,
            detail,
        }
    }

    /// A change of a path.
    #[must_use]
    pub fn of_change(names: (&str, &str), change: &WatchChange) -> Self {
        let (unix_ns, detail) = (change.found_unix_ns, in_words(names, change));
        let mut event = Event::of_path(unix_ns, What::Change, State::Happened, names, detail);
        event.change = Some(ChangeFields::of(change));
        event
    }
}

impl ChangeFields {
    /// Those of a change.
    #[must_use]
    pub fn of(change: &WatchChange) -> Self {
        ChangeFields {
            metric: change.metric.clone(),
            since_unix_ns: change.since_unix_ns,
            before: change.before,
            after: change.after,
            low: change.low,
            high: change.high,
            detail: change.detail.clone(),
        }
    }
}

/// A change of a path in a line.
#[must_use]
pub fn in_words(names: (&str, &str), change: &WatchChange) -> String {
    let title = match change.metric.as_str() {
        "p50" => "P50 of the RTT",
        "p90" => "P90 of the RTT",
        "routes_forward" => "number of forward routes",
        "routes_reverse" => "number of reverse routes",
        "mtu_forward" => "forward path MTU",
        "mtu_reverse" => "reverse path MTU",
        other => other,
    };
    let value = |value: f64| match change.metric.as_str() {
        "loss" => format_percent(value),
        "p50" | "p90" => format_duration(value.max(0.0) as u64),
        "mtu_forward" | "mtu_reverse" => format!("{value} bytes"),
        _ => format!("{value}"),
    };
    let interval = match change.metric.as_str() {
        "p50" | "p90" | "loss" => {
            format!(" (95 % interval {} to {})", value(change.low), value(change.high))
        }
        _ if change.detail.is_empty() => String::new(),
        _ => format!(" ({})", change.detail),
    };
    let relative = match change.metric.as_str() {
        "p50" | "p90" if change.before > 0.0 => {
            format!("{:+.1} % ", 100.0 * (change.after / change.before - 1.0))
        }
        _ => String::new(),
    };
    let after = change.found_unix_ns.saturating_sub(change.since_unix_ns);
    format!(
        "{} to {}: {title} changed {relative}from {} to {}{interval}, found after {}",
        names.0,
        names.1,
        value(change.before),
        value(change.after),
        format_duration(after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_say_what_by_how_much_and_since_when() {
        let change = |metric: &str, before, after, low, high| WatchChange {
            metric: metric.to_owned(),
            since_unix_ns: 1_000,
            found_unix_ns: 420_000_001_000,
            before,
            after,
            low,
            high,
            detail: String::new(),
        };
        let detail = |change: &WatchChange| Event::of_change(("lon", "ams"), change).detail;
        assert_eq!(
            detail(&change("p90", 50e6, 53e6, 52.5e6, 53.5e6)),
            "lon to ams: P90 of the RTT changed +6.0 % from 50.0 ms to 53.0 ms (95 % interval 52.5 ms to 53.5 ms), found after 7 min"
        );
        assert_eq!(
            detail(&change("hops", 12.0, 14.0, 14.0, 14.0)),
            "lon to ams: hops changed from 12 to 14, found after 7 min"
        );
        let routes = WatchChange {
            detail: "12 hops (100 %) before, 12 hops (50 %), 13 hops (50 %) after".to_owned(),
            ..change("routes_forward", 1.0, 2.0, 2.0, 2.0)
        };
        assert_eq!(
            detail(&routes),
            "lon to ams: number of forward routes changed from 1 to 2 (12 hops (100 %) before, 12 hops (50 %), 13 hops (50 %) \
             after), found after 7 min"
        );
        assert_eq!(
            detail(&change("mtu_reverse", 9001.0, 1500.0, 1500.0, 1500.0)),
            "lon to ams: reverse path MTU changed from 9001 bytes to 1500 bytes, found after 7 min"
        );
        assert!(detail(&change("loss", 0.0, 0.01, 0.008, 0.012)).contains("loss changed from 0 % to 1"));
    }
}
