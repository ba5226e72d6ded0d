//! Which bytes of an answer are wanted (RFC 9110, 14). It must not know what they are.

use std::ops::Range;

/// Meaning of a `Range` header for an object of known length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it: no range, several ranges, or one that is not understood, which the standard says to ignore.
    Whole,
    /// These bytes, of which there are some.
    Part(Range<u64>),
    /// None of its bytes.
    Nothing,
}

/// Reads a header for something of `length` bytes.
pub fn wanted(header: Option<&str>, length: u64) -> Wanted {
    let Some(header) = header else {
        return Wanted::Whole;
    };
    let unit = header.get(..6);
    if !unit.is_some_and(|unit| unit.eq_ignore_ascii_case("bytes=")) {
        return Wanted::Whole;
    }
    let spec = header[6..].trim();
    match spec.split_once('-') {
        Some(("", last)) => suffix(last, length),
        Some((first, last)) => between(first, last, length),
        None => Wanted::Whole,
    }
}

fn suffix(count: &str, length: u64) -> Wanted {
    match number(count) {
        Some(0) => Wanted::Nothing,
        Some(_) if length == 0 => Wanted::Nothing,
        Some(count) => Wanted::Part(length.saturating_sub(count)..length),
        None => Wanted::Whole,
    }
}

fn between(first: &str, last: &str, length: u64) -> Wanted {
    let Some(first) = number(first) else {
        return Wanted::Whole;
    };
    let last = match last {
        "" => u64::MAX,
        last => match number(last) {
            Some(last) if last >= first => last,
            _ => return Wanted::Whole,
        },
    };
    if first >= length {
        return Wanted::Nothing;
    }
    Wanted::Part(first..last.saturating_add(1).min(length))
}

/// Digits only; a number that no file is as long as stands for the longest.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let part = |range: Range<u64>| Wanted::Part(range);
        for (header, length, expected) in [
            (None, 100, Wanted::Whole),
            (Some("bytes=0-9"), 100, part(0..10)),
            (Some("Bytes=0-9"), 100, part(0..10)),
            (Some("bytes=0-0"), 1, part(0..1)),
            (Some("bytes=90-"), 100, part(90..100)),
            (Some("bytes=90-1000"), 100, part(90..100)),
            (Some("bytes=-10"), 100, part(90..100)),
            (Some("bytes=-1000"), 100, part(0..100)),
            (Some("bytes=100-"), 100, Wanted::Nothing),
            (Some("bytes=100-200"), 100, Wanted::Nothing),
            (Some("bytes=-0"), 100, Wanted::Nothing),
            (Some("bytes=0-"), 0, Wanted::Nothing),
            (Some("bytes=-5"), 0, Wanted::Nothing),
            (Some("bytes=0-99999999999999999999999"), 100, part(0..100)),
            (Some("bytes=99999999999999999999999-"), 100, Wanted::Nothing),
            (Some("bytes=9-5"), 100, Wanted::Whole),
            (Some("bytes=0-1,5-6"), 100, Wanted::Whole),
            (Some("bytes=a-b"), 100, Wanted::Whole),
            (Some("bytes=+1-5"), 100, Wanted::Whole),
            (Some("bytes=-"), 100, Wanted::Whole),
            (Some("bytes="), 100, Wanted::Whole),
            (Some("items=0-5"), 100, Wanted::Whole),
            (Some("байт=0-5"), 100, Wanted::Whole),
            (Some(""), 100, Wanted::Whole),
        ] {
            assert_eq!(wanted(header, length), expected, "{header:?} of {length}");
        }
    }
}
