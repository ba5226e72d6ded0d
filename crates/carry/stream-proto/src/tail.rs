//! The last packets sent before a pause: no later packet reveals their loss, and no later repair covers
//! them. It must not know packets.

/// Part of the receiver's budget after which a pause counts as the end, and between two attempts.
const PARTS: u64 = 4;
/// From one attempt to the next at least, nanoseconds: a budget near zero must not make them a flood.
const LEAST_INTERVAL_NS: u64 = 100_000;

/// When to act for the last packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    interval_ns: u64,
    due_ns: Option<u64>,
}

impl Tail {
    /// The state before the first packet.
    pub(crate) fn new(latency_ns: u64) -> Self {
        Tail {
            interval_ns: (latency_ns / PARTS).max(LEAST_INTERVAL_NS),
            due_ns: None,
        }
    }

    /// A packet was sent for the first time, and others follow it.
    pub(crate) fn is_followed(&mut self) {
        self.due_ns = None;
    }

    /// A packet was sent, and none follows it yet.
    pub(crate) fn is_last(&mut self, now_ns: u64) {
        self.due_ns = Some(now_ns + self.interval_ns);
    }

    /// Nothing more to do: all packets have arrived or expired.
    pub(crate) fn is_over(&mut self) {
        self.due_ns = None;
    }

    /// When to act next.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }
}
