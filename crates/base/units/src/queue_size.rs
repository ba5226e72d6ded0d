//! Queue sizes in bytes, packets or multiples of the path's bandwidth-delay product.

use std::fmt;
use std::str::FromStr;

use super::decimal::{Decimal, exact, split_unit};
use super::{ByteCount, UnitError};

const MILLION: u64 = 1_000_000;

/// Maximum length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueSize {
    /// No limit.
    Unlimited,
    /// Bytes.
    Bytes(ByteCount),
    /// Packets.
    Packets(u64),
    /// Bandwidth-delay products.
    Bdp {
        /// Millionths of a BDP, never zero.
        millionths: u64,
    },
}

fn not_this(text: &str) -> UnitError {
    UnitError::not_this(text, "a queue size", "2bdp, 50kB, 100packets or unlimited")
}

impl FromStr for QueueSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(QueueSize::Unlimited);
        }
        let (number_text, unit) = split_unit(text);
        let number = Decimal::parse(number_text).ok_or_else(|| not_this(text))?;
        let scaled = |factor, unit| number.scaled(factor, text, unit, exact(u64::MAX, factor));
        match unit {
            "" => Err(UnitError::NoUnit {
                text: number_text.to_owned(),
                write: format!("{number_text}packets, {number_text}kB or {number_text}bdp"),
            }),
            "packets" | "packet" => scaled(1, "packets").map(QueueSize::Packets),
            "bdp" | "BDP" => match scaled(MILLION, "millionths of a BDP")? {
                0 => Err(UnitError::Zero {
                    what: "the queue size must be above zero",
                    write: "write a size such as 2bdp",
                }),
                millionths => Ok(QueueSize::Bdp { millionths }),
            },
            _ => match text.parse() {
                Ok(bytes) => Ok(QueueSize::Bytes(bytes)),
                Err(UnitError::UnknownUnit { unit, .. }) => Err(UnitError::UnknownUnit {
                    unit,
                    kind: "queue size",
                    write: format!("{number_text}packets, {number_text}kB or {number_text}bdp"),
                }),
                Err(other) => Err(other),
            },
        }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueSize::Unlimited => f.write_str("unlimited"),
            QueueSize::Bytes(bytes) => bytes.fmt(f),
            QueueSize::Packets(1) => f.write_str("1packet"),
            QueueSize::Packets(packets) => write!(f, "{packets}packets"),
            QueueSize::Bdp { millionths } => write!(f, "{}bdp", exact(*millionths, MILLION)),
        }
    }
}
