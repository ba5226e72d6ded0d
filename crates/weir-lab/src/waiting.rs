//! What waited on the link, second by second. It must not know what it waited for.

use weir_link::realtime::{DirectionSecond, Way};
use weir_results::Direction;

/// The queues of one direction in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSecond {
    /// Which direction.
    pub direction: Direction,
    /// End of the second, Unix nanoseconds.
    pub unix_ns: u64,
    /// How long it was, nanoseconds.
    pub duration_ns: u64,
    /// Mean number of bytes that waited, all routes together.
    pub mean_bytes: f64,
    /// Packets dropped because a queue was full.
    pub dropped: u64,
}

/// Turns counts since the beginning into seconds.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    seconds: Vec<QueueSecond>,
    /// Of each direction: bytes times nanoseconds, and drops.
    before: [(u128, u64); 2],
}

impl Waiting {
    /// Takes a second in.
    pub(crate) fn add(&mut self, second: &DirectionSecond) {
        let (direction, index) = match second.way {
            Way::Forward => (Direction::Forward, 0),
            Way::Reverse => (Direction::Reverse, 1),
        };
        let now = (second.counters.queued_byte_ns, second.counters.queue);
        let before = std::mem::replace(&mut self.before[index], now);
        self.seconds.push(QueueSecond {
            direction,
            unix_ns: second.unix_ns,
            duration_ns: second.duration_ns,
            mean_bytes: now.0.saturating_sub(before.0) as f64 / second.duration_ns.max(1) as f64,
            dropped: now.1.saturating_sub(before.1),
        });
    }

    /// All of them.
    pub(crate) fn seconds(&self) -> &[QueueSecond] {
        &self.seconds
    }
}
