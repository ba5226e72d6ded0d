//! Times as other tools write them. It must not know the tools.

use weir_units::UtcTime;

/// Unix nanoseconds of `2022-02-14T08:56:37Z`, also with a fraction, which is cut, with a space for the `T`, or without
/// the `Z`; none for anything else and before 1970.
pub(super) fn unix_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    let (date, rest) = text.split_once(['T', ' '])?;
    let rest = rest.trim_end_matches('Z').trim_end_matches("+00:00");
    let time = rest.split('.').next()?;
    let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
    UtcTime::of(date, time).map(|moment| moment.0)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let parts: Vec<u64> = text
        .split(separator)
        .take(4)
        .map(|part| {
            let digits = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok())?
        })
        .collect::<Option<_>>()?;
    parts.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::unix_ns;

    #[test]
    fn times_are_those_of_date() {
        // `date -u -d TIME +%s`
        for (text, seconds) in [
            ("2022-02-14T08:56:37Z", 1_644_828_997),
            ("2022-02-14 08:56:37.123456", 1_644_828_997),
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2000-03-01T00:00:00+00:00", 951_868_800),
        ] {
            assert_eq!(unix_ns(text), Some(seconds * 1_000_000_000), "{text}");
        }
        for bad in [
            "",
            "2022",
            "2022-02-14",
            "2022-13-01T00:00:00Z",
            "2022-02-14T24:00:00Z",
            "T",
            "1969-12-31T23:59:59Z",
            "a-b-cTd:e:f",
        ] {
            assert_eq!(unix_ns(bad), None, "{bad}");
        }
    }
}
