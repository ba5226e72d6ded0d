//! Counters of a sending thread, per second.

use weir_net::{SendOutcome, clock};
use weir_record::SendSecond;
use weir_stats::{Counters, SenderCounters};
use weir_stream_proto::Sender;

const SECOND_NS: u64 = 1_000_000_000;

/// The current second.
pub(super) struct Account {
    began_ns: u64,
    ends_ns: u64,
    before: SenderCounters,
    cpu_ns: u64,
    /// What the sender does not count itself.
    own: SenderCounters,
}

impl Account {
    /// Starts to count the calling thread's CPU time.
    pub(super) fn new(now: u64) -> Self {
        Account {
            began_ns: now,
            ends_ns: now + SECOND_NS,
            before: SenderCounters::default(),
            cpu_ns: clock::thread_cpu_ns(),
            own: SenderCounters::default(),
        }
    }

    pub(super) fn second_ends_ns(&self) -> u64 {
        self.ends_ns
    }

    pub(super) fn add(&mut self, outcome: SendOutcome) {
        self.own.bytes += outcome.bytes;
        self.own.unsent += outcome.refused;
    }

    /// A frame was not sent.
    pub(super) fn skip(&mut self) {
        self.own.frames_skipped += 1;
    }

    /// Ends the second.
    pub(super) fn close(&mut self, now: u64, sender: &Sender) -> SendSecond {
        let after = sender.counters();
        let mut counts = after.since(&self.before);
        counts.add(&self.own);
        let fec = sender.fec_rate();
        let cpu_ns = clock::thread_cpu_ns();
        let second = SendSecond {
            unix_ns: clock::unix_ns(),
            duration_ns: now - self.began_ns,
            receiver_rtt_ns: sender.rtt_ns(),
            counts,
            fec_sources: fec.map(|rate| rate.sources().into()),
            fec_window: fec.map(|rate| rate.window().into()),
            cpu_ns: cpu_ns.saturating_sub(self.cpu_ns),
        };
        *self = Account {
            began_ns: now,
            ends_ns: self.ends_ns.max(now) + SECOND_NS,
            before: after,
            cpu_ns,
            own: SenderCounters::default(),
        };
        second
    }
}
