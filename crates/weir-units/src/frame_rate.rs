//! Frames per second as a fraction, since what broadcasters call 59.94 is 60000/1001.

use std::fmt;
use std::str::FromStr;

use super::UnitError;
use super::decimal::{Decimal, greatest_common_divisor};

/// Frames per second, in lowest terms and never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// In this many seconds.
    pub denominator: u32,
}

/// Short names of rates that are a thousandth below a whole number; the first name of a rate is how it is printed.
const NOMINAL: [(&str, u32); 8] = [
    ("23.976", 24_000),
    ("23.98", 24_000),
    ("29.97", 30_000),
    ("47.952", 48_000),
    ("47.95", 48_000),
    ("59.94", 60_000),
    ("119.88", 120_000),
    ("239.76", 240_000),
];

impl FrameRate {
    /// A rate in lowest terms; none if either part is zero.
    pub fn new(numerator: u32, denominator: u32) -> Option<FrameRate> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let common = greatest_common_divisor(u128::from(numerator), u128::from(denominator));
        let common = u32::try_from(common).unwrap_or(1);
        Some(FrameRate {
            numerator: numerator / common,
            denominator: denominator / common,
        })
    }
}

impl FromStr for FrameRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let wrong = || UnitError::NotThis {
            text: text.to_owned(),
            kind: "a frame rate",
            example: "59.94, 50 or 60000/1001",
        };
        if let Some((_, numerator)) = NOMINAL.iter().find(|(name, _)| *name == text) {
            return Ok(FrameRate {
                numerator: *numerator,
                denominator: 1001,
            });
        }
        let (numerator, denominator) = match text.split_once('/') {
            Some((numerator, denominator)) => {
                let part = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
                (part(numerator)?, part(denominator)?)
            }
            None => Decimal::parse(text)
                .and_then(Decimal::fraction)
                .ok_or_else(wrong)?,
        };
        if denominator == 0 {
            return Err(wrong());
        }
        if numerator == 0 {
            return Err(UnitError::Zero {
                what: "a frame rate of zero sends nothing",
                write: "write a rate such as 59.94",
            });
        }
        FrameRate::new(numerator, denominator).ok_or_else(wrong)
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            return write!(f, "{}", self.numerator);
        }
        let nominal = NOMINAL.iter().find(|(_, numerator)| *numerator == self.numerator);
        match nominal.filter(|_| self.denominator == 1001) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}
