//! Where records go while a test runs, and how a test tells how far it is.

use weir_record::Record;

use crate::ClockEstimate;

/// How far a running test is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Time since the test began, nanoseconds.
    pub elapsed_ns: u64,
    /// How long it is to take, nanoseconds.
    pub total_ns: u64,
    /// Packets that should have arrived so far.
    pub expected: u64,
    /// Packets known as lost so far.
    pub lost: u64,
    /// Rate at the receiver, bits per second: of the last second, or of windows with pauses between them the mean so far.
    pub rate: u64,
}

/// Takes what a test measures. Calls come from the thread that reads the control connection, never from the
/// packet path.
pub trait Sink {
    /// A record to keep.
    fn record(&self, record: Record);
    /// Whether seconds of both hosts' own counters are to be kept as well. Reading them takes most of the CPU of a test of a few
    /// packets a second.
    fn wants_host_counters(&self) -> bool {
        true
    }
    /// Whether an RTT test is to have distributions in its summary, and one-way delays corrected for the drift of the clocks.
    /// Distributions take a megabyte when delays vary widely, the drift a third of the CPU of a test of a few packets a second.
    fn wants_details(&self) -> bool {
        true
    }
    /// How long a packet that is settled may wait until it is handed on, nanoseconds. With a longer time, a test of a few packets
    /// a second wakes less often.
    fn patience_ns(&self) -> u64 {
        50_000_000
    }
    /// The far host's clock against this one's, about twice a second in an RTT test.
    fn clock(&self, estimate: ClockEstimate) {
        let _ = estimate;
    }
    /// About once a second.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }
}
