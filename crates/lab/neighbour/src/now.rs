//! The time, on both clocks of a host.

use crate::error::NeighbourError;

/// Furthest start that makes sense.
const MOST_AHEAD_NS: u64 = 3_600_000_000_000;

/// One instant on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since an arbitrary start, by which everything is due.
    pub monotonic_ns: u64,
    /// Unix nanoseconds, for what is written into packets.
    pub unix_ns: u64,
}

impl Now {
    /// This instant.
    pub(crate) fn read() -> Self {
        Now {
            monotonic_ns: weir_net::clock::monotonic_ns(),
            unix_ns: weir_net::clock::unix_ns(),
        }
    }
}

/// When to start, on the monotonic clock; 0 for at once.
pub(crate) fn start_at(unix_ns: Option<u64>) -> Result<u64, NeighbourError> {
    let Some(unix_ns) = unix_ns else { return Ok(0) };
    let now = Now::read();
    let ahead_ns = unix_ns.saturating_sub(now.unix_ns);
    if ahead_ns > MOST_AHEAD_NS {
        return Err(NeighbourError::Parameters(format!(
            "--start-at {unix_ns} is more than an hour ahead; it is in Unix nanoseconds, and now is {}",
            now.unix_ns
        )));
    }
    Ok(now.monotonic_ns + ahead_ns)
}
