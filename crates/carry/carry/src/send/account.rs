//! Counters of a sending thread, per second.

use weir_net::{SendOutcome, clock};
use weir_record::SendSecond;
use weir_transport::{Sender, SenderCounters};

const SECOND_NS: u64 = 1_000_000_000;

/// The current second.
pub(super) struct Account {
    began_ns: u64,
    ends_ns: u64,
    before: SenderCounters,
    cpu_ns: u64,
    bytes: u64,
    unsent: u64,
    skipped: u64,
}

impl Account {
    /// Starts to count the calling thread's CPU time.
    pub(super) fn new(now: u64) -> Self {
        Account {
            began_ns: now,
            ends_ns: now + SECOND_NS,
            before: SenderCounters::default(),
            cpu_ns: clock::thread_cpu_ns(),
            bytes: 0,
            unsent: 0,
            skipped: 0,
        }
    }

    pub(super) fn second_ends_ns(&self) -> u64 {
        self.ends_ns
    }

    pub(super) fn add(&mut self, outcome: SendOutcome) {
        self.bytes += outcome.bytes;
        self.unsent += outcome.refused;
    }

    /// A frame was not sent.
    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// Ends the second.
    pub(super) fn close(&mut self, now: u64, sender: &Sender) -> SendSecond {
        let (after, before) = (sender.counters(), self.before);
        let fec = sender.fec_rate();
        let cpu_ns = clock::thread_cpu_ns();
        let second = SendSecond {
            unix_ns: clock::unix_ns(),
            duration_ns: now - self.began_ns,
            receiver_rtt_ns: sender.rtt_ns(),
            frames: after.frames - before.frames,
            frames_skipped: self.skipped,
            sources: after.sources - before.sources,
            bytes: self.bytes,
            repairs: after.repairs - before.repairs,
            retransmitted: after.retransmitted - before.retransmitted,
            trials: after.trials - before.trials,
            refused: after.refused - before.refused,
            unsent: self.unsent,
            rejected: after.rejected - before.rejected,
            fec_sources: fec.map(|rate| rate.sources().into()),
            fec_window: fec.map(|rate| rate.window().into()),
            cpu_ns: cpu_ns.saturating_sub(self.cpu_ns),
        };
        *self = Account {
            began_ns: now,
            ends_ns: self.ends_ns.max(now) + SECOND_NS,
            before: after,
            cpu_ns,
            bytes: 0,
            unsent: 0,
            skipped: 0,
        };
        second
    }
}
