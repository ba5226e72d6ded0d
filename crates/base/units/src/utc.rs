//! Moments in UTC: the civil calendar, without time zones and leap seconds (Howard Hinnant, "chrono-compatible low-level date
//! algorithms": years begin in March).

use std::fmt;
use std::str::FromStr;

use crate::UnitError;

const DAY_S: u64 = 86_400;

/// A moment, Unix nanoseconds. Its text has whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(pub u64);

impl UtcTime {
    /// The moment of a date and a time of day; none before 1970, after 9999, and where a number does not fit.
    #[must_use]
    pub fn of([year, month, day]: [u64; 3], [hour, minute, second]: [u64; 3]) -> Option<Self> {
        let fits = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !fits {
            return None;
        }
        let (years, months) = if month > 2 {
            (year, month - 3)
        } else {
            (year - 1, month + 9)
        };
        let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1;
        let days = days.checked_sub(719_468)?;
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        seconds.checked_mul(1_000_000_000).map(UtcTime)
    }

    /// Year, month and day, and hour, minute and second.
    fn parts(self) -> ([u64; 3], [u64; 3]) {
        let seconds = self.0 / 1_000_000_000;
        let (shifted, of_day) = (seconds / DAY_S + 719_468, seconds % DAY_S);
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_index + 2) / 5 + 1;
        let month = if month_index < 10 {
            month_index + 3
        } else {
            month_index - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        ([year, month, day], [of_day / 3600, of_day / 60 % 60, of_day % 60])
    }
}

/// Date and time with `T` and `Z` (RFC 3339), without the fraction of the second.
impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([year, month, day], [hour, minute, second]) = self.parts();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

impl FromStr for UtcTime {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refused = || UnitError::not_this(text, "a time in UTC", "2026-03-01T22:00:00Z or 2026-03-01");
        let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
        let time = time.strip_suffix('Z').unwrap_or(time);
        let parsed = numbers(date, '-').zip(numbers(time, ':'));
        let moment = parsed.and_then(|(date, time)| UtcTime::of(date, time));
        // A day that its month does not have, and a leap second, are another moment.
        moment
            .filter(|moment| Some(moment.parts()) == parsed)
            .ok_or_else(refused)
    }
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let number = |part: &str| {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    };
    let parts: Option<Vec<u64>> = text.split(separator).take(4).map(number).collect();
    parts?.try_into().ok()
}

/// Unix nanoseconds as a date and time in UTC for people, `2026-03-01 22:00:00`.
pub fn format_utc(unix_ns: u64) -> String {
    UtcTime(unix_ns)
        .to_string()
        .replace('T', " ")
        .trim_end_matches('Z')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `date -u -d @N '+%F %T'`.
    #[test]
    fn moments_are_those_of_date_1() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_795_231_496, "2026-11-21 03:24:56"),
        ] {
            let moment = UtcTime(seconds * 1_000_000_000);
            assert_eq!(format_utc(moment.0 + 999_999_999), text);
            assert_eq!(text.parse(), Ok(moment));
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        assert_eq!("2026-11-21".parse(), Ok(UtcTime(1_795_219_200_000_000_000)));
    }

    #[test]
    fn what_is_no_moment_is_refused_with_the_form() {
        for text in [
            "",
            "yesterday",
            "2026-02-29",
            "2026-13-01",
            "2026-03-01T24:00:00Z",
            "2026-03-01T22:00:60Z",
            "2026-03-01T22:00:00+01:00",
            "1969-12-31",
            "2026-03",
        ] {
            let said = text.parse::<UtcTime>().unwrap_err().to_string();
            assert!(said.contains("write it like 2026-03-01T22:00:00Z"), "{said}");
        }
    }
}
