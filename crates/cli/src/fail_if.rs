//! Thresholds that turn a measurement into a pass or a failure: `loss > 0.001%`. It must not know where the values
//! come from.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::units::{
    Rate, TimeSpan, UnitError, format_count, format_percent, format_rate, format_signed_duration,
};

/// What a threshold can be set on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Share of packets lost.
    Loss,
    /// Share of packets that came after they had been given up.
    Late,
    /// Packets received more than once.
    Duplicates,
    /// Median of the delay.
    P50,
    /// 90th percentile of the delay.
    P90,
    /// 99th percentile of the delay.
    P99,
    /// 99.9th percentile of the delay.
    P999,
    /// Largest delay.
    Max,
    /// Smallest delay.
    Min,
    /// Variation of the delay.
    Jitter,
    /// Rate received.
    Rate,
    /// Number of loss bursts.
    Bursts,
    /// Packets in the longest loss burst.
    LongestBurst,
    /// Longest time that a flow delivered nothing.
    Silence,
    /// Share of requests that failed.
    Failures,
    /// Share of the viewing time that was stalled.
    Rebuffer,
}

/// What a metric is counted in, and the base unit of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// A ratio from 0 to 1.
    Share,
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// A plain number.
    Count,
}

impl Metric {
    /// All metrics, in the order in which they are listed.
    pub const ALL: [Metric; 16] = [
        Metric::Loss,
        Metric::Late,
        Metric::Duplicates,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::Max,
        Metric::Min,
        Metric::Jitter,
        Metric::Rate,
        Metric::Bursts,
        Metric::LongestBurst,
        Metric::Silence,
        Metric::Failures,
        Metric::Rebuffer,
    ];

    /// The name used in a threshold.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Loss => "loss",
            Metric::Late => "late",
            Metric::Duplicates => "duplicates",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Max => "max",
            Metric::Min => "min",
            Metric::Jitter => "jitter",
            Metric::Rate => "rate",
            Metric::Bursts => "bursts",
            Metric::LongestBurst => "longest-burst",
            Metric::Silence => "silence",
            Metric::Failures => "failures",
            Metric::Rebuffer => "rebuffer",
        }
    }

    /// What its values are counted in.
    pub fn quantity(self) -> Quantity {
        match self {
            Metric::Loss | Metric::Late | Metric::Failures | Metric::Rebuffer => Quantity::Share,
            Metric::Rate => Quantity::Rate,
            Metric::Duplicates | Metric::Bursts | Metric::LongestBurst => Quantity::Count,
            Metric::P50
            | Metric::P90
            | Metric::P99
            | Metric::P999
            | Metric::Max
            | Metric::Min
            | Metric::Jitter
            | Metric::Silence => Quantity::Time,
        }
    }

    /// The metric with the name that `text` was likely meant to be.
    fn nearest(text: &str) -> Option<Metric> {
        let text = text.to_ascii_lowercase();
        let distance = |metric: Metric| {
            let name = metric.name();
            let begun = text.len() >= 2 && (name.starts_with(&text) || text.starts_with(name));
            if begun { 1 } else { edit_distance(&text, name) }
        };
        // On a tie the later one: p99.9 rather than p99 for p999.
        let (least, metric) = Metric::ALL
            .into_iter()
            .rev()
            .map(|metric| (distance(metric), metric))
            .min_by_key(|(d, _)| *d)?;
        (least <= 2 && least < text.len()).then_some(metric)
    }
}

/// How many letters must be changed, added or removed to turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

/// How a value is compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtOrAbove,
    /// `<`
    Below,
    /// `<=`
    AtOrBelow,
}

impl Comparison {
    /// Longer signs before those that they begin with.
    const ALL: [Comparison; 4] = [
        Comparison::AtOrAbove,
        Comparison::AtOrBelow,
        Comparison::Above,
        Comparison::Below,
    ];

    fn sign(self) -> &'static str {
        match self {
            Comparison::Above => ">",
            Comparison::AtOrAbove => ">=",
            Comparison::Below => "<",
            Comparison::AtOrBelow => "<=",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Comparison::Above => "above",
            Comparison::AtOrAbove => "at or above",
            Comparison::Below => "below",
            Comparison::AtOrBelow => "at or below",
        }
    }

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparison::Above => value > limit,
            Comparison::AtOrAbove => value >= limit,
            Comparison::Below => value < limit,
            Comparison::AtOrBelow => value <= limit,
        }
    }
}

/// A threshold that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FailIfError {
    /// No comparison in it.
    #[error("'{0}' compares nothing; write it like 'loss > 0.001%', with >, >=, < or <=")]
    NoComparison(String),
    /// A name that no metric has.
    #[error("unknown metric '{given}'{hint}; use one of {all}")]
    UnknownMetric {
        /// What was given.
        given: String,
        /// What was likely meant.
        hint: String,
        /// All names.
        all: String,
    },
    /// A limit that does not fit the metric.
    #[error("{metric} takes {kind}; write '{write}'")]
    WrongLimit {
        /// The metric.
        metric: &'static str,
        /// What its limits are.
        kind: &'static str,
        /// The right form.
        write: String,
    },
    /// A share beyond the whole.
    #[error("{metric} is a share, at most 100%; write '{write}'")]
    AboveWhole {
        /// The metric.
        metric: &'static str,
        /// The right form.
        write: String,
    },
    /// A limit whose number or unit is wrong.
    #[error(transparent)]
    Limit(#[from] UnitError),
}

/// A condition under which a test fails.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    metric: Metric,
    comparison: Comparison,
    /// In the base unit of the metric's quantity.
    limit: f64,
    /// The limit as it was written.
    written: String,
}

impl FailIf {
    /// What it is about.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The limit, in the base unit of the metric's quantity.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether the test fails for this `value`, given in the base unit of the metric's quantity. NaN says that
    /// nothing was measured, and always fails: what was not measured cannot be shown to be within its limit.
    pub fn crossed(&self, value: f64) -> bool {
        value.is_nan() || self.comparison.holds(value, self.limit)
    }

    /// Whether the condition is met by this `value`; what was not measured meets none.
    pub fn holds(&self, value: f64) -> bool {
        !value.is_nan() && self.comparison.holds(value, self.limit)
    }

    /// The condition in words, as in `p99 < 500 ms`.
    pub fn text(&self) -> String {
        format!(
            "{} {} {}",
            self.metric.name(),
            self.comparison.sign(),
            self.limit_text()
        )
    }

    /// A value of its metric, as people read it.
    pub fn value_text(&self, value: f64) -> String {
        if value.is_nan() {
            "not measured".to_owned()
        } else {
            self.rounded(value)
        }
    }

    /// Says for which value the test failed, as in `loss is 0.0031 %, above the limit of 0.001 %`.
    pub fn describe(&self, value: f64) -> String {
        let limit = self.limit_text();
        let name = self.metric.name();
        if value.is_nan() {
            return format!("{name} was not measured; the limit was {limit}");
        }
        let rounded = self.rounded(value);
        // Rounding must not make a value look like the limit that it crossed.
        let text = if rounded == limit && value != self.limit {
            self.unrounded(value)
        } else {
            rounded
        };
        let verb = if matches!(
            self.metric,
            Metric::Duplicates | Metric::Bursts | Metric::Failures
        ) {
            "are"
        } else {
            "is"
        };
        let relation = if self.crossed(value) {
            format!("{} the limit of {limit}", self.comparison.words())
        } else {
            format!("within the limit of {limit}")
        };
        format!("{name} {verb} {text}, {relation}")
    }

    fn rounded(&self, value: f64) -> String {
        match self.metric.quantity() {
            Quantity::Share => format_percent(value),
            Quantity::Time => format_signed_duration(value.round() as i64),
            Quantity::Rate => format_rate(value.round() as u64),
            Quantity::Count => format_count(value.round() as u64) + self.counted(),
        }
    }

    fn unrounded(&self, value: f64) -> String {
        match self.metric.quantity() {
            Quantity::Share => format!("{} %", value * 100.0),
            Quantity::Time => format!("{value} ns"),
            Quantity::Rate => format!("{value} bit/s"),
            Quantity::Count => format!("{value}{}", self.counted()),
        }
    }

    fn counted(&self) -> &'static str {
        if self.metric == Metric::LongestBurst {
            " packets"
        } else {
            ""
        }
    }

    /// The limit in the form of a value, but never rounded.
    fn limit_text(&self) -> String {
        let rounded = self.rounded(self.limit);
        match self.metric.quantity() {
            Quantity::Share => format!(
                "{} %",
                shifted(&share_number(&self.written).0, self.percent_shift())
            ),
            Quantity::Time if rounded.parse() != Ok(TimeSpan(self.limit as u64)) => self.written.clone(),
            Quantity::Rate if rounded.parse() != Ok(Rate(self.limit as u64)) => self.written.clone(),
            _ => rounded,
        }
    }

    fn percent_shift(&self) -> i32 {
        if share_number(&self.written).1 { 0 } else { 2 }
    }
}

/// The number of a share, and whether it is in percent.
fn share_number(text: &str) -> (String, bool) {
    match text.strip_suffix('%') {
        Some(number) => (number.trim_end().to_owned(), true),
        None => (text.to_owned(), false),
    }
}

/// `number`, which may have an exponent as in `1e-5`, times 10^`power`, rounded once only; NaN if it is not a number.
fn shifted(number: &str, power: i32) -> f64 {
    let (digits, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match exponent.parse::<i16>() {
        Ok(exponent) if plain => format!("{digits}e{}", i32::from(exponent) + power)
            .parse()
            .unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<Self, FailIfError> {
        let text = text.trim();
        let no_comparison = || FailIfError::NoComparison(text.to_owned());
        let at = text.find(['<', '>', '=', '!']).ok_or_else(no_comparison)?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let comparison = Comparison::ALL
            .into_iter()
            .find(|comparison| rest.starts_with(comparison.sign()));
        let comparison = comparison.ok_or_else(no_comparison)?;
        let written = rest[comparison.sign().len()..].trim();
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        let metric = metric.ok_or_else(|| FailIfError::UnknownMetric {
            given: name.to_owned(),
            hint: Metric::nearest(name)
                .map(|near| format!(" (did you mean '{}'?)", near.name()))
                .unwrap_or_default(),
            all: Metric::ALL.map(Metric::name).join(", "),
        })?;
        let limit = limit(metric, comparison, written)?;
        Ok(FailIf {
            metric,
            comparison,
            limit,
            written: written.to_owned(),
        })
    }
}

/// Reads a limit in the unit that fits the metric.
fn limit(metric: Metric, comparison: Comparison, text: &str) -> Result<f64, FailIfError> {
    let name = metric.name();
    let write = |limit: &str| format!("{name} {} {limit}", comparison.sign());
    let wrong = |kind, limit: &str| FailIfError::WrongLimit {
        metric: name,
        kind,
        write: write(limit),
    };
    // The number alone, for showing it with the right unit.
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number = if shifted(&text[..end], 0).is_nan() {
        None
    } else {
        Some(&text[..end])
    };
    match metric.quantity() {
        Quantity::Share => {
            const KIND: &str = "a percentage, or a plain ratio";
            let (digits, percent) = share_number(text);
            let share = shifted(&digits, if percent { -2 } else { 0 });
            if share.is_nan() {
                return Err(wrong(KIND, &format!("{}%", number.unwrap_or("0.001"))));
            }
            if share > 1.0 {
                // A plain number above 1 was likely meant as a percentage.
                let likely = if shifted(&digits, -2) <= 1.0 {
                    &digits
                } else {
                    "100"
                };
                return Err(FailIfError::AboveWhole {
                    metric: name,
                    write: write(&format!("{likely}%")),
                });
            }
            Ok(share)
        }
        Quantity::Time => match text.parse::<TimeSpan>() {
            Ok(time) => Ok(time.0 as f64),
            Err(
                error @ (UnitError::TooLarge { .. } | UnitError::TooFine { .. } | UnitError::Order { .. }),
            ) => Err(error.into()),
            Err(_) => Err(wrong("a time", &format!("{}us", number.unwrap_or("150")))),
        },
        Quantity::Rate => match text.parse::<Rate>() {
            Ok(rate) => Ok(rate.0 as f64),
            Err(UnitError::NotThis { .. }) => Err(wrong("a rate", "2.4Gbit/s")),
            Err(error) => Err(error.into()),
        },
        Quantity::Count => match text.parse::<u64>() {
            Ok(count) => Ok(count as f64),
            Err(_) => {
                let whole = number
                    .and_then(|number| number.split('.').next())
                    .filter(|whole| !whole.is_empty());
                Err(wrong("a plain count", whole.unwrap_or("10")))
            }
        },
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.metric.name(),
            self.comparison.sign(),
            self.written
        )
    }
}

#[cfg(test)]
mod tests;
