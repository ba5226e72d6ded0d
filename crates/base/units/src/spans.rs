//! Plain counts, and spans of them: `8100`, `100..8100`. Packet lengths and window sizes are counts and need no unit.

use std::fmt;
use std::str::FromStr;

use super::UnitError;

/// Longest UDP payload over IPv4.
const LONGEST_PAYLOAD: u32 = 65_507;

/// Packet lengths in bytes: fixed, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LengthSpan {
    /// First length.
    pub from: u32,
    /// Last length, never below the first.
    pub to: u32,
}

/// Counts: fixed, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CountSpan {
    /// First count, at least 1.
    pub from: u32,
    /// Last count, never below the first.
    pub to: u32,
}

/// Ports from first to last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port, never below the first.
    pub last: u16,
}

/// The kind of number in a span.
struct Kind {
    name: &'static str,
    example: &'static str,
    unit: &'static str,
    most: u32,
    zero: UnitError,
}

const LENGTH: Kind = Kind {
    name: "a length in bytes",
    example: "8100 or 100..8100",
    unit: "B",
    most: LONGEST_PAYLOAD,
    zero: UnitError::Zero {
        what: "the length must be above zero",
        write: "write at least 1",
    },
};

const COUNT: Kind = Kind {
    name: "a count",
    example: "10 or 50..100",
    unit: "",
    most: u32::MAX,
    zero: UnitError::Zero {
        what: "the count must be above zero",
        write: "write at least 1",
    },
};

const PORTS: Kind = Kind {
    name: "a range of ports",
    example: "4750..4849",
    unit: "",
    most: 65_535,
    zero: UnitError::Zero {
        what: "port 0 is reserved",
        write: "write ports from 1 to 65535",
    },
};

impl Kind {
    fn not_this(&self, text: &str) -> UnitError {
        UnitError::not_this(text, self.name, self.example)
    }

    fn number(&self, whole: &str, text: &str) -> Result<u32, UnitError> {
        let digits = text.trim();
        let digits = digits.strip_suffix(self.unit).unwrap_or(digits).trim_end();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.not_this(whole));
        }
        // The only error left is too many digits.
        let value = digits.parse().ok().filter(|value| *value <= self.most);
        let value = value.ok_or_else(|| UnitError::too_large(digits, self.most))?;
        if value == 0 {
            Err(self.zero.clone())
        } else {
            Ok(value)
        }
    }

    fn span(&self, text: &str) -> Result<(u32, u32), UnitError> {
        let text = text.trim();
        let Some((from, to)) = text.split_once("..") else {
            return self.number(text, text).map(|value| (value, value));
        };
        let (from, to) = (self.number(text, from)?, self.number(text, to)?);
        if from > to {
            return Err(UnitError::Backwards {
                text: text.to_owned(),
                write: format!("{to}..{from}"),
            });
        }
        Ok((from, to))
    }
}

/// Reads one length in bytes, with or without `B`.
///
/// # Errors
/// Names the fault in `text` and shows the right form.
pub fn parse_length(text: &str) -> Result<u32, UnitError> {
    let kind = Kind {
        example: "8100",
        ..LENGTH
    };
    kind.number(text.trim(), text)
}

impl FromStr for LengthSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        LENGTH.span(text).map(|(from, to)| LengthSpan { from, to })
    }
}

impl FromStr for CountSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        COUNT.span(text).map(|(from, to)| CountSpan { from, to })
    }
}

impl FromStr for PortRange {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (first, last) = PORTS.span(text)?;
        // Both are within 65535, as `PORTS` says.
        let port = |value| u16::try_from(value).map_err(|_| PORTS.not_this(text));
        Ok(PortRange {
            first: port(first)?,
            last: port(last)?,
        })
    }
}

fn write_span(f: &mut fmt::Formatter<'_>, from: u32, to: u32) -> fmt::Result {
    if from == to {
        write!(f, "{from}")
    } else {
        write!(f, "{from}..{to}")
    }
}

impl fmt::Display for LengthSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_span(f, self.from, self.to)
    }
}

impl fmt::Display for CountSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_span(f, self.from, self.to)
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_span(f, u32::from(self.first), u32::from(self.last))
    }
}
