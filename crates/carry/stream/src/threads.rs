//! How many packet threads a stream has. It must not know what they do.

use std::fmt;
use std::str::FromStr;

use weir_stream_proto::MAX_SHARES;

/// Number of packet threads of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// As many as the stream needs at the sender; at the receiver as many as the sender has, at most one per core.
    #[default]
    Auto,
    /// This many at the sender; at most this many at the receiver.
    Exactly(u16),
}

/// A text that is no number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number of packet threads from 1 to {MAX_SHARES}, or auto")]
pub struct ThreadsError;

impl FromStr for Threads {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        if text == "auto" {
            return Ok(Threads::Auto);
        }
        let count = text.parse().map_err(|_| ThreadsError)?;
        let is_valid = (1..=MAX_SHARES).contains(&count);
        is_valid.then_some(Threads::Exactly(count)).ok_or(ThreadsError)
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threads::Auto => out.write_str("auto"),
            Threads::Exactly(count) => count.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_a_number_or_auto() {
        for (text, threads) in [
            ("auto", Ok(Threads::Auto)),
            ("1", Ok(Threads::Exactly(1))),
            ("16", Ok(Threads::Exactly(16))),
            ("0", Err(ThreadsError)),
            ("17", Err(ThreadsError)),
            ("two", Err(ThreadsError)),
        ] {
            assert_eq!(text.parse::<Threads>(), threads, "{text}");
            assert!(threads.is_err() || threads.is_ok_and(|threads| threads.to_string() == text));
        }
    }
}
