//! Amounts of data in bytes, with decimal prefixes (`kB`) and binary ones (`KiB`).

use std::fmt;
use std::str::FromStr;

use super::UnitError;
use super::decimal::{Decimal, exact, split_unit};

const DECIMAL: [(&str, u64); 5] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const BINARY: [(&str, u64); 4] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

fn factor(unit: &str) -> Option<u64> {
    let unit = match unit {
        "KB" => "kB",
        "kiB" => "KiB",
        other => other,
    };
    DECIMAL
        .iter()
        .chain(&BINARY)
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
}

/// The unit nearest to a misspelt one.
fn likely_unit(unit: &str) -> &'static str {
    let lower = unit.to_ascii_lowercase();
    let same = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == lower || name.strip_suffix('b') == Some(&lower)
    };
    let known = DECIMAL.iter().chain(&BINARY).find(|(name, _)| same(name));
    known.map_or("B", |(name, _)| *name)
}

impl ByteCount {
    /// Like `parse`, for amounts that must not be zero.
    ///
    /// # Errors
    /// As `parse`, and [`UnitError::Zero`].
    pub fn positive(text: &str) -> Result<ByteCount, UnitError> {
        match text.parse()? {
            ByteCount(0) => Err(UnitError::Zero {
                what: "the amount must be above zero",
                write: "write an amount such as 4MiB",
            }),
            bytes => Ok(bytes),
        }
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let (number_text, unit) = split_unit(text);
        let number = Decimal::parse(number_text)
            .ok_or_else(|| UnitError::not_this(text, "an amount of data", "50GB or 4MiB"))?;
        if unit.is_empty() {
            return Err(UnitError::NoUnit {
                text: number_text.to_owned(),
                write: format!("{number_text}B, or use another of kB, MB, GB, TB, KiB, MiB, GiB, TiB"),
            });
        }
        let factor = factor(unit).ok_or_else(|| UnitError::UnknownUnit {
            unit: unit.to_owned(),
            kind: "data",
            write: format!("{number_text}{}", likely_unit(unit)),
        })?;
        number
            .scaled(factor, text, "bytes", ByteCount(u64::MAX))
            .map(ByteCount)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spell = |units: &[(&str, u64)]| {
            let fitting = units.iter().find(|(_, factor)| self.0 >= *factor);
            fitting.map(|(unit, factor)| format!("{}{unit}", exact(self.0, *factor)))
        };
        let decimal = spell(&DECIMAL).unwrap_or_else(|| "0B".to_owned());
        // Print 4MiB as 4MiB, not as 4.194304MB.
        match spell(&BINARY) {
            Some(binary) if binary.len() < decimal.len() => f.write_str(&binary),
            _ => f.write_str(&decimal),
        }
    }
}
