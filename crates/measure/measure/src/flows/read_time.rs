//! Until when a reader of sockets has taken all that arrived. A reader that stood still has not: what the account still misses may
//! wait in a socket behind it. Pure: it knows no socket and no clock.

/// A reader that never gets to the end of its sockets is this far behind at most, nanoseconds: seconds have to end.
const MOST_BEHIND_NS: u64 = 500_000_000;

/// The time before which all that arrived has been read, monotonic nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct ReadTime(u64);

impl ReadTime {
    /// Of a reader that begins at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        ReadTime(now_ns)
    }

    /// It has looked at all its sockets, from `began_ns` on, and left nothing in them, or something.
    pub fn passed(&mut self, began_ns: u64, is_drained: bool) {
        let behind = if is_drained { 0 } else { MOST_BEHIND_NS };
        self.0 = self.0.max(began_ns.saturating_sub(behind));
    }

    /// It, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_in_a_socket_has_not_been_read() {
        let mut time = ReadTime::new(1_000_000_000);
        time.passed(1_001_000_000, true);
        assert_eq!(time.ns(), 1_001_000_000);
        time.passed(1_301_000_000, false);
        assert_eq!(time.ns(), 1_001_000_000);
        time.passed(1_302_000_000, true);
        assert_eq!(time.ns(), 1_302_000_000);
        // Seconds end also for one that is never done.
        time.passed(4_000_000_000, false);
        assert_eq!(time.ns(), 3_500_000_000);
    }
}
