//! Durations as XML Schema writes them (`xs:duration`, XML Schema Part 2, 3.2.6): `PT1H2M3.5S`.

/// Nanoseconds of a duration; none if it is none, has years or months (which have no fixed length), or is too long.
pub(super) fn parse(text: &str) -> Option<u64> {
    let rest = text.trim().strip_prefix('P')?;
    let (days, time) = match rest.split_once('T') {
        Some((days, time)) if !time.is_empty() => (days, time),
        Some(_) => return None,
        None => (rest, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut total: u128 = 0;
    if !days.is_empty() {
        total += part(days.strip_suffix('D')?, 86_400)?;
    }
    let mut rest = time;
    for (unit, seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        if let Some((number, behind)) = rest.split_once(unit) {
            total = total.checked_add(part(number, seconds)?)?;
            rest = behind;
        }
    }
    if !rest.is_empty() {
        return None;
    }
    u64::try_from(total).ok()
}

/// `number` times `seconds`, in nanoseconds; digits beyond a nanosecond are dropped.
fn part(number: &str, seconds: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: u128 = whole.parse().ok()?;
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let fraction: u128 = nine.parse().ok()?;
    Some((whole * 1_000_000_000 + fraction) * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_the_standard_and_of_packagers() {
        // XML Schema Part 2, 3.2.6.2, and what ffmpeg and packagers write.
        let table = [
            ("PT1H30M", Some(5_400_000_000_000)),
            ("P1D", Some(86_400_000_000_000)),
            ("P3DT10H30M", Some(297_000_000_000_000)),
            ("PT0H9M56.46S", Some(596_460_000_000)),
            ("PT10.0S", Some(10_000_000_000)),
            ("PT1.0000000019S", Some(1_000_000_001)),
            ("PT0S", Some(0)),
            ("P1Y", None),
            ("PT", None),
            ("P", None),
            ("1H", None),
            ("PT1S1M", None),
            ("PT-1S", None),
            ("PT99999999999999S", None),
        ];
        for (text, ns) in table {
            assert_eq!(parse(text), ns, "{text}");
        }
    }
}
