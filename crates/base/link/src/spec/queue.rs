//! What waits before a transmitter: how much, and under which discipline. Defaults are those of the documents that
//! specify the disciplines. It must not know how a discipline decides.

use serde::{Deserialize, Serialize};

use super::check::{Checked, refuse};

const MS: u64 = 1_000_000;
/// Shortest and longest time of a discipline: 1 us and 100 s.
const TIMES_NS: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;
const MOST_PACKET: u32 = 65_535;

/// The queue before a transmitter, without the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueSpec {
    /// No limit.
    Unlimited,
    /// At most these bytes of IP packets; a packet that does not fit is dropped (tail drop).
    Bytes(u64),
    /// At most this number of packets; a packet that does not fit is dropped (tail drop).
    Packets(u64),
    /// A queue under a discipline, with a histogram of sojourn times.
    Managed(ManagedQueue),
}

impl QueueSpec {
    /// A queue of `factor` bandwidth-delay products, in bytes rounded down: `rate` in bit/s, `rtt_ns` the round-trip
    /// time with empty queues.
    pub fn bdp(rate: u64, rtt_ns: u64, factor: f64) -> Self {
        let bits = rate as f64 * (rtt_ns as f64 / 1e9);
        Self::Bytes((bits / 8.0 * factor) as u64)
    }
}

/// A queue under a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManagedQueue {
    /// What it holds at most. A packet beyond it is dropped.
    pub limit: QueueLimit,
    /// Which packets it drops and marks before it is full.
    pub discipline: DisciplineSpec,
}

/// Capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// No limit.
    Unlimited,
    /// Bytes of IP packets, 1 or more.
    Bytes(u64),
    /// Packets, 1 or more.
    Packets(u64),
}

impl QueueLimit {
    /// Whether a packet of `length` bytes fits behind so much.
    pub(crate) fn admits(self, packets: u64, bytes: u64, length: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(most) => bytes + u64::from(length) <= most,
            Self::Packets(most) => packets < most,
        }
    }
}

/// A discipline and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisciplineSpec {
    /// First in, first out.
    TailDrop,
    /// RFC 8289.
    Codel(CodelSpec),
}

/// CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodelSpec {
    /// Acceptable standing queue (section 5.3), 1 us to 100 s.
    pub target_ns: u64,
    /// Time that the queue stays above the target before the first drop (section 5.3), 1 us to 100 s.
    pub interval_ns: u64,
    /// No drop while at most this number of bytes waits: the longest packet (section 5.3), 1 to 65535.
    pub max_packet: u32,
    /// Marks packets that carry ECT instead of dropping them.
    pub ecn: bool,
}

impl Default for CodelSpec {
    /// Section 5.3 of RFC 8289, with a packet of Ethernet.
    fn default() -> Self {
        Self {
            target_ns: 5 * MS,
            interval_ns: 100 * MS,
            max_packet: 1_500,
            ecn: true,
        }
    }
}

fn time(key: &str, name: &str, ns: u64) -> Checked {
    if TIMES_NS.contains(&ns) {
        return Ok(());
    }
    refuse(
        format!("{key}.{name}"),
        format_args!("{ns} ns"),
        "a time of a discipline is from 1 us to 100 s",
    )
}

fn packet(key: &str, name: &str, bytes: u32) -> Checked {
    if (1..=MOST_PACKET).contains(&bytes) {
        return Ok(());
    }
    refuse(
        format!("{key}.{name}"),
        bytes,
        "a packet is from 1 to 65535 bytes",
    )
}

impl ManagedQueue {
    pub(super) fn check(&self, key: &str) -> Checked {
        if matches!(self.limit, QueueLimit::Bytes(0) | QueueLimit::Packets(0)) {
            return refuse(
                format!("{key}.limit"),
                0,
                "a managed queue holds 1 packet or more",
            );
        }
        match &self.discipline {
            DisciplineSpec::TailDrop => Ok(()),
            DisciplineSpec::Codel(codel) => codel.check(key),
        }
    }
}

impl CodelSpec {
    fn check(&self, key: &str) -> Checked {
        time(key, "target", self.target_ns)?;
        time(key, "interval", self.interval_ns)?;
        packet(key, "max_packet", self.max_packet)
    }
}
