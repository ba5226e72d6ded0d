//! Spans of amounts of data: `1MiB`, `64KiB..16MiB`.

use std::fmt;
use std::str::FromStr;

use super::{ByteCount, UnitError};

/// An amount of data, or a range of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSpan {
    /// First amount, at least 1 byte.
    pub from: ByteCount,
    /// Last amount, never below the first.
    pub to: ByteCount,
}

impl ByteSpan {
    /// The first amount, twice that, and so on, and the last.
    #[must_use]
    pub fn doublings(self) -> Vec<u64> {
        let doubled = std::iter::successors(Some(self.from.0), |bytes| bytes.checked_mul(2));
        let below = doubled.take_while(|bytes| *bytes < self.to.0);
        below.chain([self.to.0]).collect()
    }
}

impl FromStr for ByteSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let Some((from, to)) = text.split_once("..") else {
            let bytes = ByteCount::positive(text)?;
            return Ok(ByteSpan {
                from: bytes,
                to: bytes,
            });
        };
        let (from, to) = (ByteCount::positive(from)?, ByteCount::positive(to)?);
        if from > to {
            return Err(UnitError::Backwards {
                text: text.to_owned(),
                write: format!("{to}..{from}"),
            });
        }
        Ok(ByteSpan { from, to })
    }
}

impl fmt::Display for ByteSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            self.from.fmt(f)
        } else {
            write!(f, "{}..{}", self.from, self.to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ByteSpan {
        text.parse().unwrap()
    }

    #[test]
    fn a_span_is_read_back_as_it_is_printed_and_doubles_from_the_first_to_the_last() {
        for text in ["64KiB..16MiB", "1MiB", "3kB..50kB"] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("64KiB..256KiB").doublings(), [65_536, 131_072, 262_144]);
        assert_eq!(read("3kB..7kB").doublings(), [3_000, 6_000, 7_000]);
        assert_eq!(read("1MiB").doublings(), [1 << 20]);
        assert_eq!(read("1B..18446744073709551615B").doublings().len(), 65);
    }

    #[test]
    fn what_is_no_span_is_refused_with_the_right_form() {
        let error = |text: &str| text.parse::<ByteSpan>().unwrap_err().to_string();
        assert!(error("2MiB..1MiB").contains("1MiB..2MiB"));
        assert!(error("64..128").contains("64B"));
        assert!(error("0B..1MiB").contains("above zero"));
        assert!(error("..").contains("amount of data"));
    }
}
