//! Quantities rounded for reading. Rounding is done on integers, so that 999 999 ns prints as 1.00 ms and never as
//! 1000 us.

/// Rounded to `digits` significant digits, in the largest unit of which the rounded value is at least 1; whole in the
/// smallest unit. `units` go from the largest to the one with factor 1.
fn scaled(value: u64, units: &[(&str, u64)], digits: u32) -> String {
    let precision = 10u128.pow(digits);
    for (unit, factor) in units {
        if *factor == 1 {
            break;
        }
        let factor = u128::from(*factor);
        // In the next smaller unit it would round up to 1000, which is 1 of this unit.
        if u128::from(value) * precision + factor / 2 < factor * precision {
            continue;
        }
        for places in (0..digits).rev() {
            let steps = 10u128.pow(places);
            let rounded = (u128::from(value) * steps + factor / 2) / factor;
            if rounded < precision || places == 0 {
                let (whole, rest, width) = (rounded / steps, rounded % steps, places as usize);
                let fraction = if places == 0 {
                    String::new()
                } else {
                    format!(".{rest:0width$}")
                };
                return format!("{whole}{fraction} {unit}");
            }
        }
    }
    format!("{value} {}", units.last().map_or("", |(unit, _)| unit))
}

/// A rate in bits per second with four significant digits: `2.486 Gbit/s`.
pub fn format_rate(bits_per_second: u64) -> String {
    const UNITS: [(&str, u64); 5] = [
        ("Tbit/s", 1_000_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ];
    scaled(bits_per_second, &UNITS, 4)
}

/// An amount of data with three significant digits: `1.24 GB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 5] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
    ];
    scaled(bytes, &UNITS, 3)
}

/// A time in nanoseconds with three significant digits, `133 us`, or two units from a minute on, `2 h 5 min`.
pub fn format_duration(nanoseconds: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    // From here on, seconds with three digits round up to a minute.
    if nanoseconds < 59_950_000_000 {
        return scaled(nanoseconds, &UNITS, 3);
    }
    let seconds = nanoseconds / 1_000_000_000 + u64::from(nanoseconds % 1_000_000_000 >= 500_000_000);
    let minutes = seconds / 60 + u64::from(seconds % 60 >= 30);
    let hours = minutes / 60 + u64::from(minutes % 60 >= 30);
    let two = |high: u64, high_unit: &str, low: u64, low_unit: &str| match low {
        0 => format!("{high} {high_unit}"),
        _ => format!("{high} {high_unit} {low} {low_unit}"),
    };
    if seconds < 3600 {
        two(seconds / 60, "min", seconds % 60, "s")
    } else if minutes < 24 * 60 {
        two(minutes / 60, "h", minutes % 60, "min")
    } else {
        two(hours / 24, "d", hours % 24, "h")
    }
}

/// Like [`format_duration`], for one-way delays, which two clocks may make negative.
pub fn format_signed_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}", format_duration(nanoseconds.unsigned_abs()))
}

/// A share from 0 to 1 as a percentage with at least two significant digits. Only an exact 0 prints as 0 %, and only an
/// exact 1 as 100 %: `0.000002 %`, `99.9998 %`.
pub fn format_percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    // Decimal places that show two digits of the value or of its distance from 100, whichever is smaller.
    let places_for = |distance: f64| (1.0 - distance.abs().log10().floor()).clamp(0.0, 300.0) as usize;
    let lacking = (1.0 - share) * 100.0;
    let below = places_for(percent).max(if percent >= 1.0 { 2 } else { 0 });
    let mut places = if percent >= 10.0 { 1 } else { below };
    if (50.0..100.0).contains(&percent) && lacking > 0.0 {
        places = places.max(places_for(lacking));
    }
    let text = format!("{percent:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} %")
}

/// A count of something whose plural ends in s: `1 flow`, `1,234 packets`.
pub fn count_of(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format_count(count))
}

/// A count with a comma between thousands: `1,234,567`.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
