//! Shares in per cent, such as a loss rate.

use std::fmt;
use std::str::FromStr;

use super::UnitError;
use super::decimal::{Decimal, exact};

/// Parts of one per cent, and of the whole.
const PERCENT: u64 = 10_000_000_000_000_000;
const WHOLE: u64 = 100 * PERCENT;

/// A share from 0 % to 100 %, in parts of 10^-18: sixteen decimal places of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u64);

impl Share {
    /// 0 %.
    pub const NONE: Share = Share(0);
    /// 100 %.
    pub const ALL: Share = Share(WHOLE);

    /// The share as a number from 0 to 1, rounded to the nearest `f64`.
    pub fn fraction(self) -> f64 {
        // Dividing two rounded numbers would round twice; reading decimal digits rounds once.
        format!("{}e-18", self.0).parse().unwrap_or(0.0)
    }
}

fn no_unit(text: &str, number: Decimal) -> UnitError {
    // A number of at most 1 may be meant as a fraction of 1.
    let as_ratio = number
        .times(WHOLE)
        .ok()
        .filter(|parts| (1..=WHOLE).contains(parts))
        .map(|parts| format!(", or {} if it is a fraction of 1", Share(parts)));
    UnitError::NoUnit {
        text: text.to_owned(),
        write: format!("{text}%{}", as_ratio.unwrap_or_default()),
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let wrong = || UnitError::not_this(text, "a percentage", "0.1%");
        let Some(number) = text.strip_suffix('%') else {
            return Err(Decimal::parse(text).map_or_else(wrong, |number| no_unit(text, number)));
        };
        let number = Decimal::parse(number.trim_end()).ok_or_else(wrong)?;
        let parts = number.scaled(PERCENT, text, "10^-16 %", Share::ALL)?;
        if parts > WHOLE {
            Err(UnitError::too_large(text, Share::ALL))
        } else {
            Ok(Share(parts))
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", exact(self.0, PERCENT))
    }
}
