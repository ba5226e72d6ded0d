//! The seconds of a link's queues, from its counts since the beginning. It must not know what waits in them.

use weir_link::realtime::{DirectionSecond, Way};

use crate::waiting::QueueSecond;

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
        let index = match second.way {
            Way::Forward => 0,
            Way::Reverse => 1,
        };
        let now = (second.counters.queued_byte_ns, second.counters.dropped.queue);
        let before = std::mem::replace(&mut self.before[index], now);
        self.seconds.push(QueueSecond {
            direction: second.way,
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
