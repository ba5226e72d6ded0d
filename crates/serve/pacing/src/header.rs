//! The pace rate of a response as a header field of its request: `Pacing-Rate-KBps`, a whole number of kilobytes each
//! second, as the demonstration of Sammy (Spang et al., SIGCOMM 2023) sends it. For players that send no CMCD.

use thiserror::Error;
use weir_units::Rate;

/// The name of the field.
pub const NAME: &str = "Pacing-Rate-KBps";
/// The highest that is read, in kilobytes each second: one terabit each second, as of [`weir_media::cmcd::MAX_KBITS`].
pub const MAX_KILOBYTES: u64 = 125_000_000;

/// Bits each second in one kilobyte each second.
const BITS: u64 = 8_000;

/// A value that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the header {NAME} must be a whole number of kilobytes per second from 1 to {MAX_KILOBYTES}")]
pub struct PaceHeaderError;

/// The value of the field, rounded up.
pub fn write(rate: Rate) -> String {
    rate.0.div_ceil(BITS).max(1).to_string()
}

/// Reads the value of the field.
///
/// # Errors
///
/// Where it is anything but digits, 0, or more than [`MAX_KILOBYTES`].
pub fn read(value: &[u8]) -> Result<Rate, PaceHeaderError> {
    let digits = value.trim_ascii();
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(PaceHeaderError);
    }
    let text = std::str::from_utf8(digits).map_err(|_| PaceHeaderError)?;
    match text.parse::<u64>() {
        Ok(kilobytes) if (1..=MAX_KILOBYTES).contains(&kilobytes) => Ok(Rate(kilobytes * BITS)),
        _ => Err(PaceHeaderError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_and_read() {
        assert_eq!(write(Rate(9_600_000)), "1200");
        assert_eq!(write(Rate(9_600_001)), "1201");
        assert_eq!(write(Rate(1)), "1");
        assert_eq!(read(b"1200"), Ok(Rate(9_600_000)));
        assert_eq!(read(b" 125000000 "), Ok(Rate(1_000_000_000_000)));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for value in [
            "",
            "0",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "125000001",
            "99999999999999999999999",
            "1 2",
            "\u{661}",
        ] {
            assert_eq!(read(value.as_bytes()), Err(PaceHeaderError), "{value:?}");
        }
        assert_eq!(read(b"\xff"), Err(PaceHeaderError));
    }
}
