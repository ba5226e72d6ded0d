//! What a real-time link tells about itself: what it did to packets, how late it was, what it lost by its own fault.

use weir_stats::QuantileSummary;

use crate::link::Counters;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the near host to the far one.
    Forward,
    /// Back.
    Reverse,
}

/// Packets that were lost by the fault of the driver, not by what the link is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLoss {
    /// Refused by the device that they were written to.
    pub not_written: u64,
    /// Dropped because the packets on the link filled the memory that a driver may take.
    pub no_memory: u64,
    /// Read from a device in a form that cannot be.
    pub unreadable: u64,
}

impl OwnLoss {
    /// All together.
    pub fn total(&self) -> u64 {
        self.not_written + self.no_memory + self.unreadable
    }
}

/// One direction at the end of a second. Counts are since the link began.
#[derive(Clone, Debug)]
pub struct DirectionSecond {
    /// Which way.
    pub way: Way,
    /// End of the second, Unix time.
    pub unix_ns: u64,
    /// How long it was; the last one is short.
    pub duration_ns: u64,
    /// Time of writing minus due time of the packets of this second, ns; none if there were no packets.
    pub lateness: Option<QuantileSummary>,
    /// The same of all packets so far.
    pub total_lateness: Option<QuantileSummary>,
    /// What the link did.
    pub counters: Counters,
    /// What the driver lost.
    pub own: OwnLoss,
    /// CPU time of the direction's thread.
    pub cpu_ns: u64,
    /// The thread runs before all ordinary processes.
    pub real_time_priority: bool,
}
