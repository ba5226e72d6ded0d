//! The rules of the file on one path: which of their alarms stand, and with which evidence. It has no clock. After a restart,
//! the minutes of the last day make the same state.

use weir_alarm::{Alarm, Change as Turn, Hold};
use weir_record::WatchCell;
use weir_units::{format_duration, format_percent};

use crate::change::{MINUTE_NS, Metric};
use crate::config::{Config, Pair, Rule, RuleMetric, has};
use crate::event::{Event, Evidence, State, What};
use crate::rare::{Rate, figures};

/// A rule of a path.
#[derive(Clone, Debug)]
struct Ruled {
    rule: Rule,
    alarm: Alarm,
    /// Minutes in a row in which the condition holds, summed.
    bad: Option<WatchCell>,
    /// Since when it has held, Unix nanoseconds.
    since_ns: Option<u64>,
}

/// The rules of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules(Vec<Ruled>);

impl Rules {
    pub fn of(config: &Config, pair: Pair) -> Self {
        let own = config.rules.iter().filter(|rule| has(rule.pairs.as_ref(), pair));
        let ruled = own.map(|rule| Ruled {
            rule: rule.clone(),
            alarm: Alarm::default(),
            bad: None,
            since_ns: None,
        });
        Rules(ruled.collect())
    }

    pub fn is_raised(&self, name: &str) -> bool {
        let found = self.0.iter().find(|ruled| ruled.rule.name == name);
        found.is_some_and(|ruled| ruled.alarm.is_raised())
    }

    /// Names of those over minutes, which can be replayed, and whether their alarm stands.
    pub fn replayed(&self) -> impl Iterator<Item = (&str, bool)> {
        let of_minutes = |ruled: &&Ruled| {
            let metric = ruled.rule.metric;
            matches!(metric, RuleMetric::Loss | RuleMetric::P50 | RuleMetric::P90)
        };
        let each = self.0.iter().filter(of_minutes);
        each.map(|ruled| (ruled.rule.name.as_str(), ruled.alarm.is_raised()))
    }

    /// Names of all, and whether their alarm stands.
    pub fn standing(&self) -> impl Iterator<Item = (&str, bool)> {
        let each = self.0.iter();
        each.map(|ruled| (ruled.rule.name.as_str(), ruled.alarm.is_raised()))
    }

    /// Takes a minute, for the rules of minutes.
    pub fn push(&mut self, names: (&str, &str), minute: &WatchCell) -> Vec<Event> {
        let each = self.0.iter_mut();
        each.filter_map(|ruled| ruled.push(names, minute)).collect()
    }

    /// Takes how long nothing has been answered, for the rules of unreachable paths; up to `most_ns` is no silence.
    pub fn observe_silence(
        &mut self,
        now_ns: u64,
        names: (&str, &str),
        (silent_ns, most_ns): (u64, u64),
    ) -> Vec<Event> {
        let of_silence = |ruled: &mut Ruled| {
            if ruled.rule.metric != RuleMetric::Unreachable {
                return None;
            }
            let turn = ruled.observe(now_ns.saturating_sub(silent_ns), now_ns, silent_ns > most_ns)?;
            Some(ruled.event(names, now_ns, turn, silent_ns as f64, None))
        };
        self.0.iter_mut().filter_map(of_silence).collect()
    }

    /// Takes the rate of dark flows, for the rules of those.
    pub fn observe_dark(&mut self, now_ns: u64, names: (&str, &str), rate: &Rate) -> Vec<Event> {
        let of_dark = |ruled: &mut Ruled| {
            if ruled.rule.metric != RuleMetric::DarkFlows {
                return None;
            }
            let turn = ruled.observe(now_ns, now_ns, rate.low > ruled.rule.limit)?;
            Some(ruled.event(names, now_ns, turn, rate.per_day, Some(rate)))
        };
        self.0.iter_mut().filter_map(of_dark).collect()
    }

    /// Takes a path MTU that a search found, in bytes, for the rules of those.
    pub fn observe_path_mtu(&mut self, now_ns: u64, names: (&str, &str), bytes: u32) -> Vec<Event> {
        let bytes = f64::from(bytes);
        let of_mtu = |ruled: &mut Ruled| {
            if ruled.rule.metric != RuleMetric::PathMtu {
                return None;
            }
            let turn = ruled.observe(now_ns, now_ns, bytes < ruled.rule.limit)?;
            Some(ruled.event(names, now_ns, turn, bytes, None))
        };
        self.0.iter_mut().filter_map(of_mtu).collect()
    }
}

impl Ruled {
    /// Takes the condition over a span, at both ends of which it holds, or does not.
    fn observe(&mut self, start_ns: u64, end_ns: u64, holds: bool) -> Option<Turn> {
        let hold = Hold {
            raise_ns: self.rule.raise_ns,
            clear_ns: self.rule.clear_ns,
        };
        let goes_on = self.since_ns.is_some() && holds;
        // Not later, if the clock was set back.
        self.since_ns = holds.then(|| self.since_ns.map_or(start_ns, |since_ns| since_ns.min(start_ns)));
        let at_start = if goes_on {
            None
        } else {
            self.alarm.observe(start_ns, hold, holds)
        };
        at_start.or_else(|| self.alarm.observe(end_ns, hold, holds))
    }

    fn push(&mut self, names: (&str, &str), minute: &WatchCell) -> Option<Event> {
        let value = value_of(self.rule.metric, minute)?;
        let holds = value > self.rule.limit;
        match &mut self.bad {
            Some(bad) if holds => bad.merge(minute),
            _ => self.bad = holds.then(|| minute.clone()),
        }
        let start_ns = minute.start_s.saturating_mul(1_000_000_000);
        let end_ns = start_ns.saturating_add(MINUTE_NS);
        let turn = self.observe(start_ns, end_ns, holds)?;
        let over = self.bad.as_ref().and_then(|bad| value_of(self.rule.metric, bad));
        Some(self.event(names, end_ns, turn, over.unwrap_or(value), None))
    }

    fn event(&self, names: (&str, &str), now_ns: u64, turn: Turn, value: f64, rate: Option<&Rate>) -> Event {
        let (rule, limit) = (&self.rule, self.rule.limit);
        let words = |value| in_words(rule.metric, value);
        let since_ns = match turn {
            Turn::Raised => self.since_ns.unwrap_or(now_ns),
            Turn::Cleared(lasted_ns) => now_ns.saturating_sub(lasted_ns),
        };
        let (state, what) = match (turn, rule.metric) {
            (Turn::Raised, RuleMetric::Unreachable) => (
                State::Raised,
                format!("no RTT packet was answered for {}", words(value)),
            ),
            (Turn::Raised, RuleMetric::DarkFlows) => {
                let found = rate.map_or(String::new(), Rate::in_words);
                (State::Raised, format!("{found}; the limit is {}", words(limit)))
            }
            (Turn::Raised, _) => {
                let held = format_duration(now_ns.saturating_sub(since_ns));
                let (title, side) = (rule.metric.as_str(), rule.metric.side());
                (
                    State::Raised,
                    format!("{title} {} is {side} {} for {held}", words(value), words(limit)),
                )
            }
            (Turn::Cleared(lasted_ns), _) => {
                let lasted = format_duration(lasted_ns);
                (
                    State::Cleared,
                    format!("{} is over, after {lasted}", rule.metric.as_str()),
                )
            }
        };
        let detail = format!("{} to {}: rule '{}': {what}", names.0, names.1, rule.name);
        let mut event = Event::of_path(now_ns, What::Rule, state, names, detail);
        event.subject.clone_from(&rule.name);
        event.labels.clone_from(&rule.labels);
        event.evidence = Some(match rate {
            Some(rate) => Evidence::of_rate(rule.metric.as_str(), rate, Some(limit), now_ns),
            None => Evidence {
                metric: rule.metric.as_str(),
                value,
                limit: (rule.metric != RuleMetric::Unreachable).then_some(limit),
                low: None,
                high: None,
                since_unix_ns: since_ns,
                until_unix_ns: now_ns,
            },
        });
        event
    }
}

/// The figure of a span; none where it has none, or the rule is not about spans.
fn value_of(metric: RuleMetric, cell: &WatchCell) -> Option<f64> {
    match metric {
        RuleMetric::Loss => Metric::Loss.of(cell),
        RuleMetric::P50 => Metric::P50.of(cell),
        RuleMetric::P90 => Metric::P90.of(cell),
        RuleMetric::DarkFlows | RuleMetric::PathMtu | RuleMetric::Unreachable => None,
    }
}

fn in_words(metric: RuleMetric, value: f64) -> String {
    match metric {
        RuleMetric::Loss => format_percent(value),
        RuleMetric::DarkFlows => format!("{} a day", figures(value)),
        RuleMetric::PathMtu => format!("{value} bytes"),
        _ => format_duration(value.max(0.0) as u64),
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
