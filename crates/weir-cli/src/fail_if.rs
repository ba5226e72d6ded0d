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
    pub const ALL: [Metric; 14] = [
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
        }
    }

    /// What its values are counted in.
    pub fn quantity(self) -> Quantity {
        match self {
            Metric::Loss | Metric::Late => Quantity::Share,
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
        let verb = if matches!(self.metric, Metric::Duplicates | Metric::Bursts) {
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
                .map(|near| format!(", did you mean '{}'?", near.name()))
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
mod tests {
    use super::*;

    fn read(text: &str) -> FailIf {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refusal(text: &str) -> String {
        text.parse::<FailIf>().expect_err(text).to_string()
    }

    #[test]
    fn limits_come_in_base_units() {
        let table = [
            ("loss > 0.001%", Metric::Loss, 1e-5),
            ("loss>0.00001", Metric::Loss, 1e-5),
            ("loss > 1e-5", Metric::Loss, 1e-5),
            ("late >= 5 %", Metric::Late, 0.05),
            ("loss > 100%", Metric::Loss, 1.0),
            ("loss > 0", Metric::Loss, 0.0),
            ("p50 > 150us", Metric::P50, 150e3),
            ("p99.9 > 1.5ms", Metric::P999, 1.5e6),
            ("jitter>20us", Metric::Jitter, 20e3),
            ("silence > 1s", Metric::Silence, 1e9),
            ("rate < 2.4Gbit/s", Metric::Rate, 2.4e9),
            ("bursts > 3", Metric::Bursts, 3.0),
            ("longest-burst >= 12", Metric::LongestBurst, 12.0),
            (" duplicates  >  0 ", Metric::Duplicates, 0.0),
        ];
        for (text, metric, limit) in table {
            let read = read(text);
            assert_eq!((read.metric(), read.limit()), (metric, limit), "{text}");
        }
    }

    #[test]
    fn each_sign_at_below_and_above_the_limit() {
        let crossed = |sign: &str| {
            let condition = read(&format!("loss {sign} 0.001%"));
            [0.9e-5, 1.0 / 100_000.0, 1.1e-5].map(|value| condition.crossed(value))
        };
        assert_eq!(crossed(">"), [false, false, true]);
        assert_eq!(crossed(">="), [false, true, true]);
        assert_eq!(crossed("<"), [true, false, false]);
        assert_eq!(crossed("<="), [true, true, false]);
    }

    #[test]
    fn what_was_not_measured_fails() {
        let condition = read("p90 < 10us");
        assert!(condition.crossed(f64::NAN));
        assert_eq!(
            condition.describe(f64::NAN),
            "p90 was not measured; the limit was 10.0 us"
        );
    }

    #[test]
    fn descriptions() {
        let table = [
            (
                "loss > 0.001%",
                0.000031,
                "loss is 0.0031 %, above the limit of 0.001 %",
            ),
            (
                "loss > 0.00001",
                0.000031,
                "loss is 0.0031 %, above the limit of 0.001 %",
            ),
            (
                "loss > 1e-5",
                0.000031,
                "loss is 0.0031 %, above the limit of 0.001 %",
            ),
            (
                "loss > 0.00123456%",
                0.5,
                "loss is 50 %, above the limit of 0.00123456 %",
            ),
            (
                "loss > 0.001%",
                0.00001000001,
                "loss is 0.001000001 %, above the limit of 0.001 %",
            ),
            ("loss >= 0.5", 0.5, "loss is 50 %, at or above the limit of 50 %"),
            ("loss > 1%", 0.001, "loss is 0.1 %, within the limit of 1 %"),
            (
                "p90 > 150us",
                210_000.0,
                "p90 is 210 us, above the limit of 150 us",
            ),
            (
                "p90 > 150us",
                150_001.0,
                "p90 is 150001 ns, above the limit of 150 us",
            ),
            (
                "max > 1234567ns",
                2e6,
                "max is 2.00 ms, above the limit of 1234567ns",
            ),
            (
                "rate < 2.4Gbit/s",
                2.3e9,
                "rate is 2.300 Gbit/s, below the limit of 2.400 Gbit/s",
            ),
            ("bursts > 3", 1234.0, "bursts are 1,234, above the limit of 3"),
            (
                "longest-burst >= 12",
                12.0,
                "longest-burst is 12 packets, at or above the limit of 12 packets",
            ),
        ];
        for (text, value, description) in table {
            assert_eq!(read(text).describe(value), description, "{text}");
        }
    }

    #[test]
    fn prints_back_to_itself() {
        for text in [
            "loss > 0.001%",
            "p99.9 >= 1.5ms",
            "rate < 2.4Gbit/s",
            "bursts <= 3",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("loss>0.001%").to_string(), "loss > 0.001%");
    }

    #[test]
    fn refusals_show_the_right_form() {
        let all = "use one of loss, late, duplicates, p50, p90, p99, p99.9, max, min, jitter, rate, bursts, \
                   longest-burst, silence";
        let table = [
            (
                "los > 1%",
                format!("unknown metric 'los', did you mean 'loss'?; {all}"),
            ),
            (
                "p999 > 1ms",
                format!("unknown metric 'p999', did you mean 'p99.9'?; {all}"),
            ),
            (
                "dup > 1",
                format!("unknown metric 'dup', did you mean 'duplicates'?; {all}"),
            ),
            (
                "Loss > 1%",
                format!("unknown metric 'Loss', did you mean 'loss'?; {all}"),
            ),
            ("throughput > 1", format!("unknown metric 'throughput'; {all}")),
            ("> 1", format!("unknown metric ''; {all}")),
            (
                "loss",
                "'loss' compares nothing; write it like 'loss > 0.001%', with >, >=, < or <=".into(),
            ),
            (
                "loss = 1%",
                "'loss = 1%' compares nothing; write it like 'loss > 0.001%', with >, >=, < or <=".into(),
            ),
            (
                "loss > 5",
                "loss is a share, at most 100%; write 'loss > 5%'".into(),
            ),
            (
                "loss > 500%",
                "loss is a share, at most 100%; write 'loss > 100%'".into(),
            ),
            (
                "loss > 5ms",
                "loss takes a percentage, or a plain ratio; write 'loss > 5%'".into(),
            ),
            (
                "loss >",
                "loss takes a percentage, or a plain ratio; write 'loss > 0.001%'".into(),
            ),
            (
                "loss > -1%",
                "loss takes a percentage, or a plain ratio; write 'loss > 0.001%'".into(),
            ),
            (
                "loss > 1e",
                "loss takes a percentage, or a plain ratio; write 'loss > 1%'".into(),
            ),
            ("p90 > 150", "p90 takes a time; write 'p90 > 150us'".into()),
            ("p90 > 5%", "p90 takes a time; write 'p90 > 5us'".into()),
            (
                "rate < 2400",
                "'2400' has no unit; write 2400Mbit/s or 2.4Gbit/s".into(),
            ),
            (
                "rate < fast",
                "rate takes a rate; write 'rate < 2.4Gbit/s'".into(),
            ),
            (
                "bursts > 1.5",
                "bursts takes a plain count; write 'bursts > 1'".into(),
            ),
            (
                "duplicates > 1%",
                "duplicates takes a plain count; write 'duplicates > 1'".into(),
            ),
        ];
        for (text, message) in table {
            assert_eq!(refusal(text), message);
        }
    }
}
