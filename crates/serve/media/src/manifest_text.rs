//! How text stands in manifests: XML and HLS playlists. It must not know what they describe.

/// `write!` to a String, which cannot fail.
macro_rules! push {
    ($text:expr, $($arguments:tt)*) => {
        $text.push_str(&format!($($arguments)*))
    };
}

pub(crate) use push;

/// Text as it stands in an attribute or element of XML. Characters that XML 1.0 does not allow are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// A quoted string (RFC 8216, 4.2): quotes and line ends have no place in it.
pub(crate) fn quoted(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_control());
    let kept: String = kept.map(|c| if c == '"' { '\'' } else { c }).collect();
    format!("\"{kept}\"")
}
