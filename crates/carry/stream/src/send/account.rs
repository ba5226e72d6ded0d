//! Counters of a sending thread, per second.

use bytes::BytesMut;
use weir_net::{SendOutcome, clock};
use weir_record::SendSecond;
use weir_stats::{Counters, SenderCounters};
use weir_stream_proto::Sender;

use super::watched::SendQuarter;
use crate::alarms::{HeldUp, QUARTER_NS};

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
    pub(super) fn close(&mut self, now: u64, sender: &Sender<BytesMut>) -> SendSecond {
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

/// The current quarter of a second.
pub(super) struct QuarterAccount {
    ends_ns: u64,
    /// When the thread last looked what is due, and the longest time between two looks.
    looked_ns: u64,
    longest_ns: u64,
    repairs: u64,
    renewals: u64,
    /// Feedback that failed authentication, or was not valid.
    pub rejected: u64,
    /// Packets that the kernel did not take.
    pub unsent: u64,
}

impl QuarterAccount {
    pub(super) fn new(now: u64) -> Self {
        QuarterAccount {
            ends_ns: now + QUARTER_NS,
            looked_ns: now,
            longest_ns: 0,
            repairs: 0,
            renewals: 0,
            rejected: 0,
            unsent: 0,
        }
    }

    /// The thread looks what is due.
    pub(super) fn look(&mut self, now: u64) {
        self.longest_ns = self.longest_ns.max(now.saturating_sub(self.looked_ns));
        self.looked_ns = now;
    }

    /// Ends the quarter if it is over.
    pub(super) fn close(&mut self, now: u64, sender: &Sender<BytesMut>) -> Option<SendQuarter> {
        if now < self.ends_ns {
            return None;
        }
        let (repairs, renewals) = (sender.counters().repairs, sender.key_renewals());
        let quarter = SendQuarter {
            now_ns: now,
            held: HeldUp {
                longest_ns: self.longest_ns,
                drops: self.unsent,
            },
            repairs: repairs.saturating_sub(self.repairs),
            rejected: self.rejected,
            renewals: renewals.saturating_sub(self.renewals),
            silence_ns: sender.silence_ns(now),
        };
        *self = QuarterAccount {
            ends_ns: self.ends_ns.max(now) + QUARTER_NS,
            looked_ns: self.looked_ns,
            longest_ns: 0,
            repairs,
            renewals,
            rejected: 0,
            unsent: 0,
        };
        Some(quarter)
    }
}
