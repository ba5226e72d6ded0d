//! Frames per second as a fraction, because the 59.94 of broadcasting is 60000/1001.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::UnitError;
use super::decimal::{Decimal, greatest_common_divisor};

/// Frames per second, in lowest terms and never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FrameRate {
    /// Number of frames.
    pub numerator: u32,
    /// Number of seconds that they take.
    pub denominator: u32,
}

/// Short names of rates that are a thousandth below a whole number; the first name of a rate is printed.
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
    /// 60000/1001, which broadcasters call 59.94.
    pub const NTSC_60: FrameRate = FrameRate {
        numerator: 60_000,
        denominator: 1001,
    };

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

    /// Start of frame `frame` after the first, nanoseconds.
    pub fn start_ns(self, frame: u64) -> u64 {
        let ns =
            u128::from(frame) * 1_000_000_000 * u128::from(self.denominator) / u128::from(self.numerator);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many frames have ended after `duration_ns`.
    pub fn whole_frames_in(self, duration_ns: u64) -> u64 {
        let frames = u128::from(duration_ns) * u128::from(self.numerator);
        u64::try_from(frames / (u128::from(self.denominator) * 1_000_000_000)).unwrap_or(u64::MAX)
    }

    /// How many frames begin within `duration_ns`, at least one.
    pub fn frames_in(self, duration_ns: u64) -> u64 {
        let exact = u128::from(duration_ns) * u128::from(self.numerator);
        let per = 1_000_000_000 * u128::from(self.denominator);
        u64::try_from(exact.div_ceil(per)).unwrap_or(u64::MAX).max(1)
    }
}

impl FromStr for FrameRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let wrong = || UnitError::not_this(text, "a frame rate", "59.94, 50 or 60000/1001");
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
                what: "the frame rate must be above zero",
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
