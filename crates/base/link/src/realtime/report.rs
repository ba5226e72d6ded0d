//! Reports of a real-time link: counters of packets, its lateness, and its own losses.

use weir_stats::Quantiles;

use crate::link::Counters;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the near host to the far one.
    Forward,
    /// From the far host to the near one.
    Reverse,
}

/// Packets lost by the driver itself, not by the emulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLoss {
    /// Refused by the device that they were written to.
    pub not_written: u64,
    /// Dropped because the packets on the link filled the memory that a driver may take.
    pub no_memory: u64,
    /// Read from a device in an invalid form.
    pub unreadable: u64,
}

impl OwnLoss {
    /// The sum.
    pub fn total(&self) -> u64 {
        self.not_written + self.no_memory + self.unreadable
    }
}

/// One direction at the end of a second. Counts are since the link began.
#[derive(Clone, Debug)]
pub struct DirectionSecond {
    /// The direction.
    pub way: Way,
    /// End of the second, Unix time.
    pub unix_ns: u64,
    /// Its duration; the last one is short.
    pub duration_ns: u64,
    /// Time of writing minus due time of the packets of this second, ns.
    pub lateness: Quantiles,
    /// The same for all packets so far.
    pub total_lateness: Quantiles,
    /// Counters of the link.
    pub counters: Counters,
    /// Waiting times of all packets so far at managed queues, ns; see [`Link::sojourns`](crate::Link::sojourns).
    pub sojourns: Quantiles,
    /// Losses of the driver.
    pub own: OwnLoss,
    /// CPU time of the direction's thread.
    pub cpu_ns: u64,
    /// Whether the thread has real-time priority.
    pub real_time_priority: bool,
}
