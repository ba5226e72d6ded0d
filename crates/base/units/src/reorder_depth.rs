//! Depth of a reorder buffer, in packets and in time.

use std::fmt;
use std::str::FromStr;

use super::{TimeSpan, UnitError};

/// A missing packet is declared lost after this many later packets or after this time, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReorderDepth {
    /// Maximum number of later packets.
    pub packets: u32,
    /// Maximum wait, nanoseconds.
    pub time_ns: u64,
}

/// Maximum depth, in packets: limited by the receiver's memory.
const MOST_PACKETS: u32 = 1 << 20;

impl Default for ReorderDepth {
    fn default() -> Self {
        ReorderDepth {
            packets: 65_536,
            time_ns: 50_000_000,
        }
    }
}

fn packets(text: &str) -> Option<Result<u32, UnitError>> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = text.parse().ok().filter(|packets| *packets <= MOST_PACKETS);
    Some(value.ok_or_else(|| UnitError::too_large(text, format_args!("{MOST_PACKETS} packets"))))
}

impl FromStr for ReorderDepth {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let wrong = || UnitError::not_this(text, "a reorder depth", "4096, 50ms or 4096,50ms");
        let default = ReorderDepth::default();
        // A misspelt unit keeps its own message; any other error shows the full form.
        let time = |text: &str| match text.parse() {
            Ok(TimeSpan(time_ns)) => Ok(time_ns),
            Err(UnitError::NotThis { .. }) => Err(wrong()),
            Err(error) => Err(error),
        };
        match text.split_once(',') {
            Some((first, second)) => Ok(ReorderDepth {
                packets: packets(first.trim()).ok_or_else(wrong)??,
                time_ns: time(second.trim())?,
            }),
            None => match packets(text) {
                Some(packets) => Ok(ReorderDepth {
                    packets: packets?,
                    ..default
                }),
                None => Ok(ReorderDepth {
                    time_ns: time(text)?,
                    ..default
                }),
            },
        }
    }
}

impl fmt::Display for ReorderDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.packets, TimeSpan(self.time_ns))
    }
}
