//! Text from outside as errors quote it. It must not know what the text should have been.

/// At most this many characters of somebody else's text stand in an error.
const MOST_QUOTED: usize = 40;

/// Text from outside as it stands in an error: short, one line, nothing that a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted: String = text
        .chars()
        .take(MOST_QUOTED)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST_QUOTED).is_some() {
        quoted.push_str("...");
    }
    quoted
}

/// The same for bytes.
pub(super) fn quoted_bytes(bytes: &[u8]) -> String {
    // Four bytes are the most that a character takes.
    let start = &bytes[..bytes.len().min(4 * MOST_QUOTED + 4)];
    quoted(&String::from_utf8_lossy(start))
}
