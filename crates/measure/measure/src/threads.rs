//! How many packet threads an end of a test or of a stream has. It must not know what they do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of packet threads of one end, in one direction.
pub const MAX_THREADS: u16 = 16;
/// Share of a core that one thread may need: above it, a thread that was late cannot make up for it.
const BUSY: f64 = 0.9;

/// The number of threads of an end that says nothing about it.
pub(crate) const fn one() -> u16 {
    1
}

/// Number of packet threads of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Threads {
    /// As many as are needed. At the receiver of a stream as many as the sender has, at most one per core.
    #[default]
    Auto,
    /// This many; at the receiver of a stream at most this many.
    Exactly(u16),
}

impl Threads {
    /// One thread.
    pub const fn one() -> Self {
        Threads::Exactly(one())
    }
}

/// Threads for work that keeps `busy` cores busy: one where that is enough, at most half of `cores`, since the rest of both
/// ends needs some, too.
pub fn threads_needed(busy: f64, cores: u32) -> u16 {
    let most = (cores / 2).clamp(1, MAX_THREADS.into()) as u16;
    // A float is cut off at the bounds of the integer.
    ((busy / BUSY).ceil() as u16).clamp(1, most)
}

/// One thread for each core of this host, at most [`MAX_THREADS`].
pub fn threads_of_cores() -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u16::try_from(cores).unwrap_or(u16::MAX).min(MAX_THREADS)
}

/// A text that is no number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number of packet threads from 1 to {MAX_THREADS}, or auto")]
pub struct ThreadsError;

impl FromStr for Threads {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        if text == "auto" {
            return Ok(Threads::Auto);
        }
        let count = text.parse().map_err(|_| ThreadsError)?;
        let is_valid = (1..=MAX_THREADS).contains(&count);
        is_valid.then_some(Threads::Exactly(count)).ok_or(ThreadsError)
    }
}

impl TryFrom<String> for Threads {
    type Error = ThreadsError;

    fn try_from(text: String) -> Result<Self, ThreadsError> {
        text.parse()
    }
}

impl From<Threads> for String {
    fn from(threads: Threads) -> Self {
        threads.to_string()
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

    #[test]
    fn one_thread_is_enough_up_to_nine_tenths_of_a_core_and_half_of_the_cores_is_the_most() {
        let needed = [0.0, 0.9, 0.91, 1.8, 1.81, 40.0].map(|busy| threads_needed(busy, 64));
        assert_eq!(needed, [1, 1, 2, 2, 3, 16]);
        let needed = [1, 2, 3, 4, 6].map(|cores| threads_needed(40.0, cores));
        assert_eq!(needed, [1, 1, 1, 2, 3]);
    }
}
