//! How long and how much of what was measured is kept: the form in the file, and which values are sensible.

use serde::Deserialize;
use weir_units::{ByteCount, TimeSpan};

use super::value::{positive, value, wrong};
use super::{ConfigError, DAY_NS};

/// Least size of a store: below, an hour of RTT of fifty paths would not fit.
const LEAST: ByteCount = ByteCount(10_000_000);
/// Least age: change points are made from the minutes of a day.
const LEAST_AGE: TimeSpan = TimeSpan(DAY_NS);

/// Limits of the store. What exceeds one is deleted, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Most bytes in use; none without a limit.
    pub bytes: Option<ByteCount>,
    /// Age of seconds.
    pub seconds: TimeSpan,
    /// Age of minutes.
    pub minutes: TimeSpan,
    /// Age of hours.
    pub hours: TimeSpan,
    /// Age of flow tests and surveys.
    pub tests: TimeSpan,
}

impl Default for Keep {
    fn default() -> Self {
        let days = |days: u64| TimeSpan(days * DAY_NS);
        Keep {
            bytes: None,
            seconds: days(7),
            minutes: days(400),
            hours: days(1_826),
            tests: days(30),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKeep {
    bytes: Option<String>,
    seconds: Option<String>,
    minutes: Option<String>,
    hours: Option<String>,
    tests: Option<String>,
}

pub(super) fn keep(raw: &RawKeep) -> Result<Keep, ConfigError> {
    let age = |key: &str, text: &Option<String>, without: TimeSpan| {
        let Some(text) = text else { return Ok(without) };
        let key = format!("keep: {key}");
        match positive(&key, text)? {
            age if age < LEAST_AGE => wrong(format!("{key} {age} is below {LEAST_AGE}")),
            age => Ok(age),
        }
    };
    let without = Keep::default();
    let bytes = raw.bytes.as_deref().map(|text| value("keep: bytes", text));
    let keep = Keep {
        bytes: bytes.transpose()?,
        seconds: age("seconds", &raw.seconds, without.seconds)?,
        minutes: age("minutes", &raw.minutes, without.minutes)?,
        hours: age("hours", &raw.hours, without.hours)?,
        tests: age("tests", &raw.tests, without.tests)?,
    };
    match keep.bytes {
        Some(bytes) if bytes < LEAST => wrong(format!("keep: bytes {bytes} is below {LEAST}")),
        _ => Ok(keep),
    }
}
