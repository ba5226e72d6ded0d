//! The end of what was sent while nothing follows it: no later packet shows that it was lost, and no later repair is over
//! it. It must not know packets.

/// Parts of the receiver's budget after which the end counts as such, and between one try and the next.
const PARTS: u64 = 4;

/// When something is to be done for the last packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    interval_ns: u64,
    due_ns: Option<u64>,
}

impl Tail {
    /// Nothing has been sent.
    pub(crate) fn new(latency_ns: u64) -> Self {
        Tail {
            interval_ns: (latency_ns / PARTS).max(1),
            due_ns: None,
        }
    }

    /// A packet was sent for the first time, and others follow it.
    pub(crate) fn is_followed(&mut self) {
        self.due_ns = None;
    }

    /// A packet was sent, and nothing that follows it is there.
    pub(crate) fn is_last(&mut self, now_ns: u64) {
        self.due_ns = Some(now_ns + self.interval_ns);
    }

    /// Nothing is to be done any more: what was sent has come, or is of no more use.
    pub(crate) fn is_over(&mut self) {
        self.due_ns = None;
    }

    /// When something is to be done.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }
}
