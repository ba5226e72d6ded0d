//! What a sender does about a loss or a mark: reduces its window packet by packet (RFC 6937), or starts again after a timeout.

use crate::control::Repair;

/// State of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is lost, as far as known.
    Open,
    /// The window goes down, until all that was sent before is acknowledged.
    Reducing {
        until: u64,
        reduction: Reduction,
        /// And not for a mark.
        for_loss: bool,
    },
    /// All was lost at a timeout.
    Restarting { until: u64 },
}

impl Phase {
    /// The part of it that controls need.
    pub fn repair(&self) -> Repair {
        match self {
            Self::Open => Repair::None,
            Self::Reducing { .. } => Repair::Reducing,
            Self::Restarting { .. } => Repair::Restarting,
        }
    }
}

/// Proportional rate reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    before: u64,
    threshold: u64,
    delivered: u64,
    sent: u64,
}

impl Reduction {
    /// From a window of `before` packets to one of `threshold`.
    pub fn new(before: u64, threshold: u64) -> Self {
        Self {
            before: before.max(1),
            threshold,
            delivered: 0,
            sent: 0,
        }
    }

    /// Notes a packet that was sent, again or not.
    pub fn send(&mut self) {
        self.sent += 1;
    }

    /// Packets that may be in flight after an acknowledgement of `packets`, of which `in_flight` are left. With
    /// `advanced` it is a cumulative one, and nothing more is lost: then the window may grow as in slow start.
    pub fn window(&mut self, packets: u64, in_flight: u64, advanced: bool) -> u64 {
        self.delivered += packets;
        let more = if in_flight > self.threshold {
            (self.threshold * self.delivered)
                .div_ceil(self.before)
                .saturating_sub(self.sent)
        } else {
            let conserving = self.delivered.saturating_sub(self.sent).max(packets);
            (conserving + u64::from(advanced)).min(self.threshold - in_flight)
        };
        // The first retransmission leaves at once.
        in_flight + more.max(u64::from(self.sent == 0))
    }
}
