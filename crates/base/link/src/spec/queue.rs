//! What waits before a transmitter: how much, and under which discipline. Defaults are those of the documents that
//! specify the disciplines. It must not know how a discipline decides.

use serde::{Deserialize, Serialize};

use super::check::{Checked, probability, refuse};

const MS: u64 = 1_000_000;
/// Shortest and longest time of a discipline: 1 us and 100 s.
const TIMES_NS: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;
const MOST_PACKET: u32 = 65_535;
const MOST_FLOW_QUEUES: u32 = 65_536;
/// Highest gain of a controller, Hz.
const MOST_GAIN: f64 = 1_000.0;
const MOST_COUPLING: f64 = 1_000.0;
/// Highest threshold of RED, packets.
const MOST_THRESHOLD: f64 = 1_000_000.0;

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

    /// Number of queues for flows, each of which takes memory.
    pub(super) fn flow_queues(&self) -> u64 {
        match self {
            Self::Managed(ManagedQueue {
                discipline: DisciplineSpec::FqCodel(FqCodelSpec { flows, .. }),
                ..
            }) => u64::from(*flows),
            _ => 0,
        }
    }
}

/// A queue under a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManagedQueue {
    /// What it holds at most. A packet beyond it is dropped; FQ-CoDel drops from its longest queue instead.
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
    #[inline]
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
    /// Floyd and Jacobson 1993, and the gentle variant.
    Red(RedSpec),
    /// RFC 8289.
    Codel(CodelSpec),
    /// RFC 8033.
    Pie(PieSpec),
    /// RFC 8290.
    FqCodel(FqCodelSpec),
    /// RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Spec),
}

/// RED (Floyd and Jacobson 1993; Floyd 2000). Queues are counted in packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedSpec {
    /// Average queue above which packets are dropped at random, packets, 0 to 1,000,000.
    pub minimum: f64,
    /// Average queue at which the drop probability is `max_probability`, packets; above `minimum`, up to 1,000,000.
    pub maximum: f64,
    /// Drop probability at the maximum, 0 to 1.
    pub max_probability: f64,
    /// Weight of each sample in the average, above 0 and at most 1.
    pub weight: f64,
    /// Between the maximum and twice the maximum, the probability rises to 1; otherwise every packet above the maximum is
    /// dropped.
    pub gentle: bool,
    /// Typical time to send a packet, 1 us to 100 s: the average ages by it while the queue is empty.
    pub packet_time_ns: u64,
    /// Marks packets that carry ECT instead of dropping them, below the maximum.
    pub ecn: bool,
}

impl Default for RedSpec {
    /// The thresholds and the weight of Floyd and Jacobson; the probability and the gentle variant of Floyd's
    /// recommendations of 1997 and 2000; a packet of 1,500 bytes at 10 Mbit/s.
    fn default() -> Self {
        Self {
            minimum: 5.0,
            maximum: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            packet_time_ns: 1_200_000,
            ecn: true,
        }
    }
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

/// PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PieSpec {
    /// Target of the waiting time (section 4.2), 1 us to 100 s.
    pub target_ns: u64,
    /// Time between two updates of the drop probability (section 4.2), 1 us to 100 s.
    pub update_ns: u64,
    /// Integral gain, Hz (section 4.2), 0 to 1,000.
    pub alpha: f64,
    /// Proportional gain, Hz (section 4.2), 0 to 1,000.
    pub beta: f64,
    /// Time for which a burst passes without drops (section 4.4), up to 100 s.
    pub max_burst_ns: u64,
    /// Mean length of packets: no drop while at most twice this waits (section 4.1), 1 to 65535 bytes.
    pub mean_packet: u32,
    /// Marks packets that carry ECT instead of dropping them (section 5.1) ...
    pub ecn: bool,
    /// ... while the drop probability is below this, 0 to 1.
    pub mark_below: f64,
    /// Spreads drops more evenly than chance does (section 5.4).
    pub derandomize: bool,
    /// Limits the rise of a high drop probability to 2 % per update (section 5.5).
    pub cap_adjustment: bool,
}

impl Default for PieSpec {
    /// Section 4 and 5.1 of RFC 8033; its other enhancements are off.
    fn default() -> Self {
        Self {
            target_ns: 15 * MS,
            update_ns: 15 * MS,
            alpha: 0.125,
            beta: 1.25,
            max_burst_ns: 150 * MS,
            mean_packet: 1_500,
            ecn: true,
            mark_below: 0.1,
            derandomize: false,
            cap_adjustment: false,
        }
    }
}

/// FQ-CoDel (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FqCodelSpec {
    /// Number of queues to which flows are hashed (section 5.2.5), 1 to 65536; all routes of a direction together have
    /// at most 262,144.
    pub flows: u32,
    /// Bytes that a queue may send per turn (section 5.2.4), 1 to 65535.
    pub quantum: u32,
    /// CoDel of each queue.
    pub codel: CodelSpec,
}

impl Default for FqCodelSpec {
    /// Section 5.2 of RFC 8290.
    fn default() -> Self {
        Self {
            flows: 1_024,
            quantum: 1_514,
            codel: CodelSpec::default(),
        }
    }
}

/// DualPI2 (RFC 9332, appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DualPi2Spec {
    /// Target of the waiting time in the classic queue, 1 us to 100 s.
    pub target_ns: u64,
    /// Time between two updates of the base probability, 1 us to 100 s.
    pub update_ns: u64,
    /// Integral gain, Hz, 0 to 1,000.
    pub alpha: f64,
    /// Proportional gain, Hz, 0 to 1,000.
    pub beta: f64,
    /// Coupling factor k, above 0 and up to 1,000.
    pub coupling: f64,
    /// Waiting time above which packets of L4S are marked, up to 100 s; with a range of 0, a step.
    pub threshold_ns: u64,
    /// Further time over which the marking probability rises to 1, up to 100 s.
    pub range_ns: u64,
    /// No marks by the waiting time while fewer packets of L4S wait behind, 0 to 1,000,000.
    pub threshold_packets: u64,
    /// Share of the bytes that the classic queue gets while both wait, 0 to 1.
    pub classic_share: f64,
}

impl DualPi2Spec {
    /// Longest round trip that the gains are made for (appendix A.1).
    pub const RTT_MAX_NS: u64 = 100 * MS;

    /// The update time and the gains alpha and beta for a target and a longest round trip, both in nanoseconds and above
    /// 0 (appendix A.1).
    pub fn gains(target_ns: u64, rtt_max_ns: u64) -> (u64, f64, f64) {
        let update_ns = target_ns.min(rtt_max_ns / 3);
        let rtt = rtt_max_ns as f64 / 1e9;
        (update_ns, 0.1 * (update_ns as f64 / 1e9) / (rtt * rtt), 0.3 / rtt)
    }
}

impl Default for DualPi2Spec {
    /// Appendix A.1 of RFC 9332; the share of the classic queue, which the RFC leaves open, is a sixteenth.
    fn default() -> Self {
        let target_ns = 15 * MS;
        let (update_ns, alpha, beta) = Self::gains(target_ns, Self::RTT_MAX_NS);
        Self {
            target_ns,
            update_ns,
            alpha,
            beta,
            coupling: 2.0,
            threshold_ns: 800_000,
            range_ns: 400_000,
            threshold_packets: 1,
            classic_share: 0.0625,
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

fn time_or_zero(key: &str, name: &str, ns: u64) -> Checked {
    if ns <= *TIMES_NS.end() {
        return Ok(());
    }
    refuse(
        format!("{key}.{name}"),
        format_args!("{ns} ns"),
        "a time of a discipline is at most 100 s",
    )
}

fn gain(key: &str, name: &str, gain: f64) -> Checked {
    if (0.0..=MOST_GAIN).contains(&gain) {
        return Ok(());
    }
    refuse(format!("{key}.{name}"), gain, "a gain is from 0 to 1000 Hz")
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
            DisciplineSpec::Red(red) => red.check(key),
            DisciplineSpec::Codel(codel) => codel.check(key),
            DisciplineSpec::Pie(pie) => pie.check(key),
            DisciplineSpec::FqCodel(fq_codel) => fq_codel.check(key),
            DisciplineSpec::DualPi2(dualpi2) => dualpi2.check(key),
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

impl RedSpec {
    fn check(&self, key: &str) -> Checked {
        let (minimum, maximum) = (self.minimum, self.maximum);
        if !(0.0 <= minimum && minimum < maximum && maximum <= MOST_THRESHOLD) {
            return refuse(
                format!("{key}.maximum"),
                format_args!("{maximum} with a minimum of {minimum}"),
                "the maximum is above the minimum and at most 1000000 packets",
            );
        }
        probability(|| format!("{key}.max_probability"), self.max_probability)?;
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return refuse(
                format!("{key}.weight"),
                self.weight,
                "a weight is above 0 and at most 1",
            );
        }
        time(key, "packet_time", self.packet_time_ns)
    }
}

impl PieSpec {
    fn check(&self, key: &str) -> Checked {
        time(key, "target", self.target_ns)?;
        time(key, "update", self.update_ns)?;
        gain(key, "alpha", self.alpha)?;
        gain(key, "beta", self.beta)?;
        time_or_zero(key, "max_burst", self.max_burst_ns)?;
        packet(key, "mean_packet", self.mean_packet)?;
        probability(|| format!("{key}.mark_below"), self.mark_below)
    }
}

impl FqCodelSpec {
    fn check(&self, key: &str) -> Checked {
        if !(1..=MOST_FLOW_QUEUES).contains(&self.flows) {
            return refuse(
                format!("{key}.flows"),
                self.flows,
                "the number of queues is from 1 to 65536",
            );
        }
        packet(key, "quantum", self.quantum)?;
        self.codel.check(key)
    }
}

impl DualPi2Spec {
    fn check(&self, key: &str) -> Checked {
        time(key, "target", self.target_ns)?;
        time(key, "update", self.update_ns)?;
        gain(key, "alpha", self.alpha)?;
        gain(key, "beta", self.beta)?;
        if !(self.coupling > 0.0 && self.coupling <= MOST_COUPLING) {
            return refuse(
                format!("{key}.coupling"),
                self.coupling,
                "a coupling factor is above 0 and at most 1000",
            );
        }
        time_or_zero(key, "threshold", self.threshold_ns)?;
        time_or_zero(key, "range", self.range_ns)?;
        if self.threshold_packets > MOST_THRESHOLD as u64 {
            return refuse(
                format!("{key}.threshold_packets"),
                self.threshold_packets,
                "a threshold is at most 1000000 packets",
            );
        }
        probability(|| format!("{key}.classic_share"), self.classic_share)
    }
}
