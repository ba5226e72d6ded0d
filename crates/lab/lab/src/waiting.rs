//! What waited on the link, second by second. It must not know what it waited for.

use serde::Serialize;
use weir_link::realtime::Way;

/// The queues of one direction in a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueSecond {
    /// Which direction.
    #[serde(skip)]
    pub direction: Way,
    /// End of the second, Unix nanoseconds.
    pub unix_ns: u64,
    /// How long it was, nanoseconds.
    #[serde(skip)]
    pub duration_ns: u64,
    /// Mean number of bytes that waited, all routes together.
    pub mean_bytes: f64,
    /// Packets dropped because a queue was full.
    pub dropped: u64,
}
