//! How long a reordering buffer waits, in packets and in time.

use std::fmt;
use std::str::FromStr;

use super::{TimeSpan, UnitError};

/// A missing packet is given up once this many have overtaken it or this time has passed, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReorderDepth {
    /// Packets that may overtake.
    pub packets: u32,
    /// Time to wait, nanoseconds.
    pub time_ns: u64,
}

/// Deepest buffer, in packets: what the receiver has memory for.
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
    Some(value.ok_or_else(|| UnitError::TooLarge {
        text: text.to_owned(),
        most: format!("{MOST_PACKETS} packets"),
    }))
}

impl FromStr for ReorderDepth {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let wrong = || UnitError::NotThis {
            text: text.to_owned(),
            kind: "a reorder depth",
            example: "4096, 50ms or 4096,50ms",
        };
        let default = ReorderDepth::default();
        // A unit misspelt keeps its own message; anything else gets the form of the whole.
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
