//! Durations to the nanosecond, in one unit or several: `1.5s`, `1h30min`.

use std::fmt;
use std::str::FromStr;

use super::UnitError;
use super::decimal::{Decimal, exact, split_unit};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub u64);

fn factor(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The letter mu has two code points that look alike.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "min" | "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
}

/// The likely unit behind a longer or capital spelling.
fn likely_unit(unit: &str) -> &'static str {
    let unit = unit.to_ascii_lowercase();
    let begins = |start: &str| unit.starts_with(start);
    match () {
        () if begins("nano") || unit == "ns" => "ns",
        () if begins("micro") || begins("usec") || unit == "us" => "us",
        () if begins("milli") || begins("msec") || unit == "ms" => "ms",
        () if begins("m") => "min",
        () if begins("h") => "h",
        () if begins("d") => "d",
        () => "s",
    }
}

impl TimeSpan {
    /// Like `parse`, for times that must not be zero.
    ///
    /// # Errors
    /// As `parse`, and [`UnitError::Zero`].
    pub fn positive(text: &str) -> Result<TimeSpan, UnitError> {
        match text.parse()? {
            TimeSpan(0) => Err(UnitError::Zero {
                what: "the time must be above zero",
                write: "write a time such as 10s",
            }),
            time => Ok(time),
        }
    }
}

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let most = TimeSpan(u64::MAX / DAY * DAY);
        let (mut rest, mut total, mut previous) = (text, 0u64, u64::MAX);
        loop {
            let (number_text, tail) = split_unit(rest);
            let number = Decimal::parse(number_text)
                .ok_or_else(|| UnitError::not_this(text, "a time", "10s, 200ms or 1h30min"))?;
            let end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.' || c == ' ')
                .unwrap_or(tail.len());
            let unit = &tail[..end];
            if unit.is_empty() {
                return Err(UnitError::NoUnit {
                    text: rest.to_owned(),
                    write: format!("{number_text}s, or use another of ns, us, ms, min, h, d"),
                });
            }
            let factor = factor(unit).ok_or_else(|| UnitError::UnknownUnit {
                unit: unit.to_owned(),
                kind: "time",
                write: format!("{number_text}{}", likely_unit(unit)),
            })?;
            if factor >= previous {
                return Err(UnitError::Order {
                    text: text.to_owned(),
                });
            }
            previous = factor;
            let part = number.scaled(factor, text, "nanoseconds", most)?;
            total = total
                .checked_add(part)
                .ok_or_else(|| UnitError::too_large(text, most))?;
            rest = tail[end..].trim_start();
            if rest.is_empty() {
                return Ok(TimeSpan(total));
            }
        }
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < MINUTE {
            let (unit, factor) = match self.0 {
                0 | SECOND.. => ("s", SECOND),
                1_000_000.. => ("ms", 1_000_000),
                1_000.. => ("us", 1_000),
                _ => ("ns", 1),
            };
            return write!(f, "{}{unit}", exact(self.0, factor));
        }
        let mut rest = self.0;
        for (unit, factor) in [("d", DAY), ("h", HOUR), ("min", MINUTE)] {
            if rest >= factor {
                write!(f, "{}{unit}", rest / factor)?;
                rest %= factor;
            }
        }
        if rest > 0 {
            write!(f, "{}s", exact(rest, SECOND))?;
        }
        Ok(())
    }
}
