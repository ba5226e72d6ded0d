//! Rules for alarms, and silences: their form in the file, and which values are sensible. It must not know when an alarm
//! stands.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use toml::value::Datetime;
use weir_units::{ByteCount, Share, TimeSpan, UtcTime};

use super::value::{position, positive, value, wrong};
use super::{ConfigError, Host, Pair};

/// Maximum number of rules, and of silences.
const MOST_RULES: usize = 100;
/// Maximum number of labels of a rule.
const MOST_LABELS: usize = 20;
/// Maximum number of characters of a name, a label and a reason.
const MOST_TEXT: usize = 100;
/// Longest time that a condition has to hold, or not to hold: a day, the past that is read again after a restart.
const LONGEST_HOLD_NS: u64 = super::DAY_NS;
/// Time for which a condition has to hold, and not to hold, unless the file says otherwise.
const HOLD: &str = "5min";

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleMetric {
    /// Loss rate of RTT packets in a minute, 0 to 1.
    Loss,
    /// Median of the RTT in a minute, nanoseconds.
    P50,
    /// 90th percentile.
    P90,
    /// Flows that go dark, a day: the lower bound of their rate.
    DarkFlows,
    /// Path MTU of a search, the smaller one of both directions, bytes of an IP packet. The condition holds below the limit.
    PathMtu,
    /// No RTT packet is answered.
    Unreachable,
}

impl RuleMetric {
    /// Its name in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RuleMetric::Loss => "loss",
            RuleMetric::P50 => "p50",
            RuleMetric::P90 => "p90",
            RuleMetric::DarkFlows => "dark-flows",
            RuleMetric::PathMtu => "path-mtu",
            RuleMetric::Unreachable => "unreachable",
        }
    }

    /// The key of its limit in the file.
    pub(crate) fn side(self) -> &'static str {
        match self {
            RuleMetric::PathMtu => "below",
            _ => "above",
        }
    }

    /// The limit that a text says.
    fn limit(self, text: Option<&str>, rule: &str) -> Result<f64, ConfigError> {
        let key = format!("rule {rule}: {}", self.side());
        match (self, text) {
            (RuleMetric::Unreachable, None) => Ok(0.0),
            (RuleMetric::Unreachable, Some(_)) => {
                wrong(format!("{key}: 'unreachable' has no limit; write for"))
            }
            (_, None) => wrong(format!("{key} is missing")),
            (RuleMetric::Loss, Some(text)) => value::<Share>(&key, text).map(Share::fraction),
            (RuleMetric::P50 | RuleMetric::P90, Some(text)) => positive(&key, text).map(|span| span.0 as f64),
            (RuleMetric::PathMtu, Some(text)) => value::<ByteCount>(&key, text).map(|bytes| bytes.0 as f64),
            (RuleMetric::DarkFlows, Some(text)) => {
                let number = text
                    .strip_suffix("/day")
                    .and_then(|number| number.trim().parse::<f64>().ok());
                match number.filter(|rate| rate.is_finite() && *rate >= 0.0) {
                    Some(rate) => Ok(rate),
                    None => wrong(format!("{key}: '{text}' is not a rate; write it like 0.5/day")),
                }
            }
        }
    }
}

/// A rule: an alarm of each of its pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name. Names of rules differ.
    pub name: String,
    /// What it is about.
    pub metric: RuleMetric,
    /// The condition holds above this value, for a path MTU below it, in the metric's unit.
    pub limit: f64,
    /// Time for which the condition has to hold until the alarm is raised, nanoseconds.
    pub raise_ns: u64,
    /// Time for which it must not hold until the alarm is cleared, nanoseconds.
    pub clear_ns: u64,
    /// Its pairs; none for all.
    pub pairs: Option<BTreeSet<Pair>>,
    /// Labels of its alerts besides those that all have.
    pub labels: BTreeMap<String, String>,
}

/// A span of time in which alarms of pairs are not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Its pairs; none for all.
    pub pairs: Option<BTreeSet<Pair>>,
    /// From this moment on, Unix nanoseconds.
    pub from_ns: u64,
    /// Until before this one.
    pub to_ns: u64,
    /// Why.
    pub reason: String,
}

/// Whether a list of pairs has a pair; no list has all.
#[must_use]
pub(crate) fn has(pairs: Option<&BTreeSet<Pair>>, pair: Pair) -> bool {
    pairs.is_none_or(|pairs| pairs.contains(&pair))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawRule {
    name: String,
    metric: RuleMetric,
    above: Option<String>,
    below: Option<String>,
    #[serde(rename = "for")]
    raise: Option<String>,
    #[serde(rename = "until")]
    clear: Option<String>,
    pairs: Option<Vec<(String, String)>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSilence {
    pairs: Option<Vec<(String, String)>>,
    from: Datetime,
    to: Datetime,
    #[serde(default)]
    reason: String,
}

pub(super) fn rules(
    raw: Vec<RawRule>,
    hosts: &[Host],
    known: &BTreeSet<Pair>,
) -> Result<Vec<Rule>, ConfigError> {
    if raw.len() > MOST_RULES {
        return wrong(format!(
            "rule: {} [[rule]] tables; the maximum is {MOST_RULES}",
            raw.len()
        ));
    }
    let mut names = BTreeSet::new();
    let rule = |raw: RawRule| {
        let name = raw.name;
        let is_word = |text: &str| !text.is_empty() && text.chars().count() <= MOST_TEXT;
        if !is_word(&name) || !names.insert(name.clone()) {
            return wrong(format!(
                "rule: name '{name}' is empty, longer than {MOST_TEXT} characters, or there twice"
            ));
        }
        let hold = |key: &str, text: Option<&str>| {
            let span = value::<TimeSpan>(&format!("rule {name}: {key}"), text.unwrap_or(HOLD))?;
            match span.0 <= LONGEST_HOLD_NS {
                true => Ok(span.0),
                false => wrong(format!("rule {name}: {key} {span} exceeds the maximum of 1d")),
            }
        };
        let is_label = |label: &str| {
            let letters = label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            is_word(label) && letters && !label.starts_with(|first: char| first.is_ascii_digit())
        };
        let fits = |(label, text): (&String, &String)| is_label(label) && text.chars().count() <= MOST_TEXT;
        if raw.labels.len() > MOST_LABELS || !raw.labels.iter().all(fits) {
            return wrong(format!(
                "rule {name}: labels: write at most {MOST_LABELS}, with names of letters, digits and '_', such as severity"
            ));
        }
        let (limit, other) = match raw.metric {
            RuleMetric::PathMtu => (raw.below, raw.above),
            RuleMetric::Unreachable => (raw.above.or(raw.below), None),
            _ => (raw.above, raw.below),
        };
        if other.is_some() {
            let (metric, side) = (raw.metric.as_str(), raw.metric.side());
            return wrong(format!("rule {name}: the limit of '{metric}' is the key {side}"));
        }
        Ok(Rule {
            metric: raw.metric,
            limit: raw.metric.limit(limit.as_deref(), &name)?,
            raise_ns: hold("for", raw.raise.as_deref())?,
            clear_ns: hold("until", raw.clear.as_deref())?,
            pairs: pairs(&format!("rule {name}"), raw.pairs, hosts, known)?,
            labels: raw.labels,
            name,
        })
    };
    raw.into_iter().map(rule).collect()
}

pub(super) fn silences(
    raw: Vec<RawSilence>,
    hosts: &[Host],
    known: &BTreeSet<Pair>,
) -> Result<Vec<Silence>, ConfigError> {
    if raw.len() > MOST_RULES {
        return wrong(format!(
            "silence: {} [[silence]] tables; the maximum is {MOST_RULES}",
            raw.len()
        ));
    }
    let silence = |raw: RawSilence| {
        let moment = |key: &str, moment: Datetime| match moment.offset {
            // Local times are refused: watchers of one file are in several zones.
            Some(_) => {
                value::<UtcTime>(&format!("silence: {key}"), &moment.to_string()).map(|moment| moment.0)
            }
            None => wrong(format!(
                "silence: {key} {moment} has no zone; write 2026-03-01T22:00:00Z"
            )),
        };
        let (from_ns, to_ns) = (moment("from", raw.from)?, moment("to", raw.to)?);
        if from_ns >= to_ns || raw.reason.chars().count() > MOST_TEXT {
            return wrong(format!(
                "silence: to {} is not after from, or the reason is longer than {MOST_TEXT} characters",
                UtcTime(to_ns)
            ));
        }
        Ok(Silence {
            pairs: pairs("silence", raw.pairs, hosts, known)?,
            from_ns,
            to_ns,
            reason: raw.reason,
        })
    };
    raw.into_iter().map(silence).collect()
}

fn pairs(
    key: &str,
    raw: Option<Vec<(String, String)>>,
    hosts: &[Host],
    known: &BTreeSet<Pair>,
) -> Result<Option<BTreeSet<Pair>>, ConfigError> {
    let key = format!("{key}: pairs");
    let pair = |(from, to): (String, String)| {
        let pair = Pair {
            from: position(hosts, &key, &from)?,
            to: position(hosts, &key, &to)?,
        };
        match known.contains(&pair) {
            true => Ok(pair),
            false => wrong(format!("{key}: '{from}' to '{to}' is not measured")),
        }
    };
    raw.map(|list| list.into_iter().map(pair).collect()).transpose()
}
