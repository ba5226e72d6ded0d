//! What the receiving thread and the output thread report to the session.

use weir_record::{Record, RecvSecond};
use weir_stats::{ArrivalCounters, Counters};
use weir_stream_proto::{Receiver, ReceiverEvent, SenderIndex, SwitchReason};

use crate::alarms::{HeldUp, Quarter};

/// Messages from a thread.
#[derive(Debug)]
pub(super) enum Report {
    Records(Vec<Record>),
    /// A second of a share of all connected senders.
    Seconds {
        share: u16,
        rows: Vec<RecvSecond>,
    },
    /// A sender's number on the command line, and the event.
    Event(Option<u16>, ReceiverEvent),
    /// A quarter of a second of a share of all connected senders.
    Quarter {
        share: u16,
        quarter: RecvQuarter,
    },
}

/// A flow of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowMetrics {
    /// Packets received in this session.
    pub received: u64,
    /// Packets missing in this session.
    pub missing: u64,
}

/// A quarter of a second of all connected senders.
#[derive(Debug)]
pub(super) struct RecvQuarter {
    pub now_ns: u64,
    pub held: HeldUp,
    pub senders: Vec<SenderQuarter>,
}

impl RecvQuarter {
    /// Adds that of a further share.
    pub(super) fn with_share(mut self, share: RecvQuarter) -> Self {
        self.now_ns = self.now_ns.max(share.now_ns);
        self.held.longest_ns = self.held.longest_ns.max(share.held.longest_ns);
        self.held.drops += share.held.drops;
        for further in share.senders {
            match self.senders.iter_mut().find(|it| it.sender == further.sender) {
                Some(known) => known.add_share(further),
                None => self.senders.push(further),
            }
        }
        self
    }
}

/// Adds the second of a further share of the same sender.
pub(super) fn with_share(mut all: RecvSecond, share: RecvSecond) -> RecvSecond {
    all.unix_ns = all.unix_ns.max(share.unix_ns);
    all.duration_ns = all.duration_ns.max(share.duration_ns);
    all.rtt_ns = all.rtt_ns.max(share.rtt_ns);
    all.counts.add(&share.counts);
    all.socket_drops += share.socket_drops;
    all.cpu_ns += share.cpu_ns;
    all
}

/// A quarter of a second of one sender.
#[derive(Debug)]
pub(super) struct SenderQuarter {
    /// Its number on the command line.
    pub sender: u16,
    pub counts: ArrivalCounters,
    pub silence_ns: Option<u64>,
    /// Key renewals in it.
    pub renewals: u64,
    pub flows: Vec<FlowMetrics>,
}

impl SenderQuarter {
    fn add_share(&mut self, share: SenderQuarter) {
        self.counts.add(&share.counts);
        // A picture without one of its parts is as bad as none.
        self.silence_ns = self.silence_ns.max(share.silence_ns);
        // All renew their keys at about the same time.
        self.renewals = self.renewals.max(share.renewals);
        self.flows.extend(share.flows);
    }

    /// What alarms judge.
    pub(super) fn judged(&self) -> Quarter {
        let counts = &self.counts;
        Quarter {
            lost: counts.lost.saturating_sub(counts.overtaken),
            repairs: counts.repairs,
            unrepaired: counts.unrepaired,
            late: counts.late,
            rejected: counts.rejected,
            silence_ns: self.silence_ns,
        }
    }
}

/// The state of a sender's counters at the end of a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuarterAccount {
    counts: ArrivalCounters,
    renewals: u64,
    drops: u64,
}

impl QuarterAccount {
    /// The quarter that ends with these counters, and the packets dropped at the sockets in it.
    pub(super) fn close(
        &mut self,
        (receiver, index): (&Receiver, SenderIndex),
        (now_ns, sender): (u64, u16),
        drops: u64,
    ) -> (SenderQuarter, u64) {
        let after = QuarterAccount {
            counts: receiver.counters(index),
            renewals: receiver.key_renewals(index),
            drops,
        };
        let before = std::mem::replace(self, after);
        let flows = receiver.flow_counts(index);
        let quarter = SenderQuarter {
            sender,
            counts: after.counts.since(&before.counts),
            silence_ns: receiver.silence_ns(now_ns, index),
            renewals: after.renewals.saturating_sub(before.renewals),
            flows: flows
                .map(|(received, missing)| FlowMetrics { received, missing })
                .collect(),
        };
        (quarter, drops.saturating_sub(before.drops))
    }
}

/// Why the output switches to another sender.
pub(super) fn because(why: SwitchReason) -> &'static str {
    match why {
        SwitchReason::Silence => "no packets from the other sender",
        SwitchReason::Unrepaired => "residual loss of the other sender too high",
        SwitchReason::Removed => "the other sender disconnected",
        SwitchReason::Back => "it is preferred, and stable again",
    }
}
