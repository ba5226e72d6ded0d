//! What the receiving thread and the output thread report to the session.

use weir_record::Record;
use weir_stats::{ArrivalCounters, Counters};
use weir_stream_proto::{Receiver, ReceiverEvent, SenderIndex, SwitchReason};

use crate::alarms::{HeldUp, Quarter};
use crate::metrics::FlowMetrics;

/// Messages from a thread.
#[derive(Debug)]
pub(super) enum Report {
    Records(Vec<Record>),
    /// A sender's number on the command line, and the event.
    Event(Option<u16>, ReceiverEvent),
    /// A quarter of a second of all connected senders.
    Quarter {
        now_ns: u64,
        held: HeldUp,
        senders: Vec<SenderQuarter>,
    },
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
