//! Bits per second, as a type of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Rate of `bytes` in `nanoseconds`; zero when no time has passed.
    pub fn of(bytes: u64, nanoseconds: u64) -> Self {
        if nanoseconds == 0 {
            return BitRate(0);
        }
        let bits = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(nanoseconds);
        BitRate(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Bytes that this rate carries in `nanoseconds`.
    pub fn bytes_in(self, nanoseconds: u64) -> u64 {
        let bytes = u128::from(self.0) * u128::from(nanoseconds) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&weir_units::format_rate(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_1080p_is_its_rate() {
        // 5,184,000 bytes at 60000/1001 frames a second: 2.4858 Gbit/s.
        let bytes = 5_184_000 * 60_000 / 1001;
        assert_eq!(BitRate::of(bytes, 1_000_000_000).to_string(), "2.486 Gbit/s");
    }

    #[test]
    fn bytes_and_rate_invert() {
        assert_eq!(BitRate(8_000_000_000).bytes_in(1_000_000), 1_000_000);
        assert_eq!(BitRate::of(1_000_000, 1_000_000), BitRate(8_000_000_000));
    }
}
