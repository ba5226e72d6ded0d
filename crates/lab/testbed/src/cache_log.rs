//! The log of a cache, whose lines begin with what nginx calls `$upstream_cache_status`, or Varnish `handling`. It must not know
//! what is kept.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Maximum length of a line, bytes; the rest of a longer one counts as another line.
const MOST_LINE: u64 = 16 << 10;

/// Path of requests that only show whether the log has begun. They are not counted.
pub(crate) const FIRST_PATH: &str = "/weir-first";

/// Requests to a cache by where their response came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// From the cache.
    pub hits: u64,
    /// From the storage, for want of a valid copy.
    pub misses: u64,
    /// From the storage, since the cache does not keep such files.
    pub passed: u64,
}

/// Counts the lines of a log; none if it cannot be read.
pub(crate) fn read(path: &Path) -> Option<CacheCounts> {
    count(BufReader::new(std::fs::File::open(path).ok()?))
}

fn count(mut log: impl BufRead) -> Option<CacheCounts> {
    let mut counts = CacheCounts::default();
    let mut line = Vec::new();
    while (&mut log).take(MOST_LINE).read_until(b'\n', &mut line).ok()? > 0 {
        let is_first = line.trim_ascii_end().ends_with(FIRST_PATH.as_bytes());
        match line.split(|byte| *byte == b' ').next() {
            _ if is_first => {}
            Some(b"hit" | b"HIT" | b"STALE" | b"UPDATING" | b"REVALIDATED") => counts.hits += 1,
            Some(b"miss" | b"MISS" | b"EXPIRED" | b"BYPASS") => counts.misses += 1,
            Some(b"pass" | b"-") => counts.passed += 1,
            _ => {}
        }
        line.clear();
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_the_first_word() {
        let log = "HIT 206 70 bytes=0-69 /a.ism\nMISS 200 9 - /b\n- 206 9 - /c\nEXPIRED 200 9 - /a\nnonsense\nhit 200\nmiss 200\npass 206\n\
                   pass 404 9 - /weir-first\n";
        let counts = CacheCounts {
            hits: 2,
            misses: 3,
            passed: 2,
        };
        assert_eq!(count(log.as_bytes()), Some(counts));
    }
}
