//! Rates in bits per second, decimal prefixes only, as networks count them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decimal::{Decimal, exact, split_unit};
use super::{UnitError, format_rate};

/// Prefixes from the largest, with the bits per second in each.
const PREFIXES: [(&str, u64); 5] = [
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("k", 1_000),
    ("", 1),
];

const EXAMPLE: &str = "2.5Gbit/s";

/// A rate in bits per second; zero where nothing came, never when parsed from text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// Rate of `bytes` in `nanoseconds`; zero when no time has passed.
    pub fn of(bytes: u64, nanoseconds: u64) -> Self {
        if nanoseconds == 0 {
            return Rate(0);
        }
        let bits = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(nanoseconds);
        Rate(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Bytes that this rate carries in `nanoseconds`.
    pub fn bytes_in(self, nanoseconds: u64) -> u64 {
        let bytes = u128::from(self.0) * u128::from(nanoseconds) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The rate with four significant digits: `2.486 Gbit/s`. Its `Display` is exact, as options take it.
    pub fn rounded(self) -> String {
        format_rate(self.0)
    }
}

/// A rate, or the maximum that the host reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateOrMax {
    /// Unpaced.
    Max,
    /// Paced.
    Rate(Rate),
}

/// Factor of a unit that can only mean bits per second.
fn factor(unit: &str) -> Option<u64> {
    let prefix = unit.strip_suffix("bit/s").or_else(|| unit.strip_suffix("bps"))?;
    // A capital K is not SI, but it is unambiguous.
    let prefix = if prefix == "K" { "k" } else { prefix };
    PREFIXES
        .iter()
        .find(|(name, _)| *name == prefix)
        .map(|(_, factor)| *factor)
}

/// The prefix that a unit begins with, whatever its case.
fn likely_prefix(unit: &str) -> &'static str {
    let first = unit.chars().next().map(|c| c.to_ascii_lowercase());
    match first {
        Some('t') => "T",
        Some('g') => "G",
        Some('m') => "M",
        Some('k') => "k",
        _ => "",
    }
}

fn no_unit(text: &str, number: Decimal) -> UnitError {
    // A number of a million or more is likely in bits already.
    let write = match number.times(1) {
        Ok(bits) if bits >= 1_000_000 => format!("{text}bit/s or {}", Rate(bits)),
        Ok(whole) if whole >= 1000 => format!("{text}Mbit/s or {}Gbit/s", exact(whole, 1000)),
        _ => format!("{text}Mbit/s or {text}Gbit/s"),
    };
    UnitError::NoUnit {
        text: text.to_owned(),
        write,
    }
}

fn wrong_unit(text: &str, number: &str, unit: &str) -> UnitError {
    let prefix = likely_prefix(unit);
    let rest = unit.strip_prefix(|c: char| c.eq_ignore_ascii_case(&prefix.chars().next().unwrap_or('\0')));
    let rest = rest.unwrap_or(unit);
    // A byte rate may be a mistake by a factor of 8, which costs money: show both.
    if ["B/s", "b/s", "Bps", "BPS"].contains(&rest) {
        let bits = Decimal::parse(number)
            .and_then(|number| number.times(8_000_000).ok())
            .map(|millionths| format!(" or {}{prefix}bit/s", exact(millionths, 1_000_000)))
            .unwrap_or_default();
        return UnitError::BitsOrBytes {
            text: text.to_owned(),
            write: format!("{number}{prefix}bit/s{bits}"),
        };
    }
    let known = !prefix.is_empty() || rest.to_ascii_lowercase().starts_with('b');
    let write = if known {
        format!("{number}{prefix}bit/s")
    } else {
        format!("{number}Mbit/s")
    };
    UnitError::UnknownUnit {
        unit: unit.to_owned(),
        kind: "rate",
        write,
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let (number_text, unit) = split_unit(text);
        let number =
            Decimal::parse(number_text).ok_or_else(|| UnitError::not_this(text, "a rate", EXAMPLE))?;
        if number.is_zero() {
            return Err(UnitError::Zero {
                what: "the rate must be above zero",
                write: "write a rate such as 2.5Gbit/s",
            });
        }
        if unit.is_empty() {
            return Err(no_unit(number_text, number));
        }
        let factor = factor(unit).ok_or_else(|| wrong_unit(text, number_text, unit))?;
        number.scaled(factor, text, "bit/s", Rate(u64::MAX)).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = PREFIXES.iter().find(|(_, factor)| self.0 >= *factor);
        let (prefix, factor) = fitting.copied().unwrap_or(("", 1));
        write!(f, "{}{prefix}bit/s", exact(self.0, factor))
    }
}

impl FromStr for RateOrMax {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "max" {
            return Ok(RateOrMax::Max);
        }
        text.parse().map(RateOrMax::Rate).map_err(|error| match error {
            UnitError::NotThis { text, .. } => UnitError::not_this(&text, "a rate", "2.5Gbit/s, or max"),
            other => other,
        })
    }
}

impl fmt::Display for RateOrMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateOrMax::Max => f.write_str("max"),
            RateOrMax::Rate(rate) => rate.fmt(f),
        }
    }
}
