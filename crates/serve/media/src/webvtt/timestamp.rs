//! Times as WebVTT writes them: `MM:SS.mmm` or `HH:MM:SS.mmm`, with two digits of hours or more. It must not know what they
//! are the times of.

use std::fmt::Write;

/// Times of WebVTT.
pub(super) type Milliseconds = u64;

/// Digits of hours that are read: more than anything lasts.
const MOST_HOUR_DIGITS: usize = 9;

/// The time that a text begins with, and what stands behind it ("collect a WebVTT timestamp").
pub(super) fn collect_timestamp(text: &str) -> Option<(Milliseconds, &str)> {
    let (first, digits, rest) = digits(text)?;
    let (second, rest) = sixty(rest.strip_prefix(':')?)?;
    let third = rest.strip_prefix(':').map(sixty);
    let (hours, minutes, seconds, rest) = match third {
        Some(third) => {
            let (third, rest) = third?;
            (first, second, third, rest)
        }
        None if digits == 2 && first < 60 => (0, first, second, rest),
        None => return None,
    };
    let (thousandths, digits, rest) = self::digits(rest.strip_prefix('.')?)?;
    (digits == 3).then_some((((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths, rest))
}

/// A number with two digits below 60.
fn sixty(text: &str) -> Option<(u64, &str)> {
    let (value, digits, rest) = digits(text)?;
    (digits == 2 && value < 60).then_some((value, rest))
}

/// A number, how many digits it has, and what stands behind it.
fn digits(text: &str) -> Option<(u64, usize, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(count)?;
    let number = number.parse().ok().filter(|_| count <= MOST_HOUR_DIGITS)?;
    Some((number, count, rest))
}

pub(super) fn write_timestamp(out: &mut String, time: Milliseconds) {
    let (seconds, thousandths) = (time / 1000, time % 1000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{:02}:{:02}:{seconds:02}.{thousandths:03}",
        minutes / 60,
        minutes % 60
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_as_the_specification_has_it() {
        for (text, time, behind) in [
            ("00:00.000", 0, ""),
            ("59:59.999 x", 3_599_999, " x"),
            ("00:01:02.003>", 62_003, ">"),
            ("100:00:00.000", 360_000_000, ""),
            ("1:00:00.000", 3_600_000, ""),
        ] {
            assert_eq!(collect_timestamp(text), Some((time, behind)), "{text}");
        }
        for text in [
            "",
            "1.000",
            "1:00.000",
            "60:00.000",
            "00:60.000",
            "00:00:60.000",
            "00:0.000",
            "00:00.00",
            "00:00.0000",
            "00:00,000",
            "-1:00:00.000",
            "9999999999:00:00.000",
        ] {
            assert_eq!(collect_timestamp(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn times_are_read_as_they_are_written(time in 0_u64..1_000_000_000_000) {
            let mut text = String::new();
            write_timestamp(&mut text, time);
            prop_assert_eq!(collect_timestamp(&text), Some((time, "")));
        }
    }
}
