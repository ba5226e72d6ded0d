//! Whether the hosts at both ends kept up with a flow test: a test with which an end did not keep up says little about the
//! network between them. Pure; it knows no rates to try instead.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_units::{format_percent, format_signed_duration};

use super::DirectionSummary;

/// A sender whose P99 of delay behind its schedule exceeds this did not keep it, nanoseconds.
pub const LATE_NS: i64 = 5_000_000;
/// A sender that sent less than this share of the packets that were due did not keep its schedule.
pub const LEAST_SENT: f64 = 0.99;
/// Share of the packets sent above which drops on the hosts bury those of a network fit for media.
const MOST_DROPPED: f64 = 1e-4;
/// Below this number of packets due, rounding decides the share sent.
const ENOUGH_DUE: f64 = 1_000.0;

/// What an end did not keep up with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum HostLimit {
    /// Bursts left behind the sender's schedule.
    SenderLate {
        /// 99 % quantile of the delay, nanoseconds.
        p99_ns: i64,
    },
    /// The sender sent fewer packets than were due, or its kernel refused some.
    SenderSlow {
        /// Share of the packets due that were sent, 0 to 1.
        sent: f64,
    },
    /// Hosts dropped packets: at the receiving socket, before it, or while sending.
    Dropped {
        /// Share of the packets sent, 0 to 1.
        share: f64,
    },
}

impl HostLimit {
    /// Which end, as a noun: `sender` or `receiver`.
    pub fn end(&self) -> &'static str {
        match self {
            HostLimit::SenderLate { .. } | HostLimit::SenderSlow { .. } => "sender",
            HostLimit::Dropped { .. } => "receiver",
        }
    }
}

impl fmt::Display for HostLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostLimit::SenderLate { p99_ns } => write!(
                f,
                "P99 of the sender's delay behind its schedule is {}",
                format_signed_duration(*p99_ns)
            ),
            HostLimit::SenderSlow { sent } => {
                write!(f, "the sender sent {} of the packets due", format_percent(*sent))
            }
            HostLimit::Dropped { share } => {
                write!(f, "the hosts dropped {} of the packets", format_percent(*share))
            }
        }
    }
}

/// What a sender did in one direction of a test, as far as its schedule is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Media rate that was asked for, bits per second; none when unpaced, where nothing is late.
    pub asked: Option<u64>,
    /// UDP payload bytes of each packet.
    pub length: u32,
    /// Packets sent.
    pub sent: u64,
    /// Time over which they were, nanoseconds.
    pub duration_ns: u64,
    /// Packets that its kernel had no room for.
    pub refused: u64,
    /// 99 % quantile of the delay behind the schedule, nanoseconds.
    pub schedule_p99_ns: i64,
    /// The byte limit ended the test early.
    pub hit_byte_limit: bool,
}

impl Sending {
    /// Share of the packets due that were sent, 0 to 1; none for a test too short to tell.
    pub fn sent_share(&self) -> Option<f64> {
        let due = self.asked? as f64 * self.duration_ns as f64 / 8e9 / f64::from(self.length.max(1));
        (due >= ENOUGH_DUE && !self.hit_byte_limit).then(|| self.sent as f64 / due)
    }

    /// What the sender did not keep up with, if anything.
    pub fn limit(&self) -> Option<HostLimit> {
        self.asked?;
        if self.schedule_p99_ns > LATE_NS {
            return Some(HostLimit::SenderLate {
                p99_ns: self.schedule_p99_ns,
            });
        }
        let refused = self.refused as f64 / (self.sent + self.refused).max(1) as f64;
        let sent = self.sent_share().unwrap_or(1.0).min(1.0 - refused);
        (sent < LEAST_SENT).then_some(HostLimit::SenderSlow { sent })
    }
}

impl DirectionSummary {
    /// What an end did not keep up with in this direction, if anything.
    pub fn host_limit(&self) -> Option<HostLimit> {
        let sending = Sending {
            asked: self.asked.map(|rate| rate.0),
            length: self.length,
            sent: self.sent,
            duration_ns: self.sender_wall_ns,
            refused: self.refused,
            schedule_p99_ns: self.schedule_error.p99,
            hit_byte_limit: self.hit_byte_limit,
        };
        sending.limit().or_else(|| {
            self.asked?;
            let found = &self.attribution;
            let dropped = found.socket + found.host_receiver + found.host_sender;
            let share = dropped as f64 / self.sent.max(1) as f64;
            (share > MOST_DROPPED).then_some(HostLimit::Dropped { share })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{BothEnds, FlowsPlan, ReceiverReport, SenderReport};
    use weir_record::Direction;
    use weir_units::Rate;

    /// A second at 80 Mbit/s in packets of 1,000 bytes: 10,000 packets are due.
    fn second(sent: u64, p99: i64, dropped: u64) -> DirectionSummary {
        let clock = crate::ClockEstimate::default();
        let both = BothEnds::new(FlowsPlan::default(), clock);
        let (sender, receiver) = (SenderReport::default(), ReceiverReport::default());
        let mut summary = both.summary(Direction::Forward, sender, receiver, clock);
        summary.asked = Some(Rate(80_000_000));
        summary.length = 1_000;
        summary.sender_wall_ns = 1_000_000_000;
        (summary.sent, summary.schedule_error.p99) = (sent, p99);
        summary.attribution.socket = dropped;
        summary
    }

    #[test]
    fn ends_that_kept_up_limit_nothing() {
        assert_eq!(second(10_000, LATE_NS, 1).host_limit(), None);
        assert_eq!(second(9_901, 0, 0).host_limit(), None);
    }

    #[test]
    fn a_late_or_slow_sender_and_drops_are_limits() {
        let late = second(10_000, LATE_NS + 1, 0).host_limit();
        assert_eq!(late, Some(HostLimit::SenderLate { p99_ns: LATE_NS + 1 }));
        let slow = second(9_800, 0, 0).host_limit();
        assert_eq!(slow, Some(HostLimit::SenderSlow { sent: 0.98 }));
        let dropped = second(10_000, 0, 20).host_limit();
        assert_eq!(dropped, Some(HostLimit::Dropped { share: 0.002 }));
    }

    #[test]
    fn a_test_that_has_no_schedule_or_ended_early_is_not_slow() {
        let mut ended = second(5_000, 0, 0);
        ended.hit_byte_limit = true;
        assert_eq!(ended.host_limit(), None);
        let mut unpaced = second(5_000, 10 * LATE_NS, 20);
        unpaced.asked = None;
        assert_eq!(unpaced.host_limit(), None);
    }
}
