//! What a run has measured, as plain data of bounded size: a test of a day takes no more memory than one of ten
//! minutes. It must not know tables or files. Times are Unix nanoseconds, durations nanoseconds, lengths bytes, rates
//! bits per second, unless a name says otherwise.

use std::collections::BTreeMap;

use weir_measure::flows::{DirectionSummary, FlowsPlan};
use weir_measure::path_mtu::MtuSummary;
use weir_measure::rtt::RttPlan;
use weir_measure::survey::IpVersion;
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, FlowBurst, LossWindow, Outcome, RunId, Silence, StreamBurst};
use weir_stats::{FlowCounts, HostCounts, Quantiles};

/// A run with all its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The run that was asked for.
    pub run: RunId,
    /// Its kind.
    pub kind: String,
    /// The far host as the user named it.
    pub target: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Rate of the media that the run was made for; none where flows were not measured at a rate.
    pub media_rate: Option<u64>,
    /// IP and UDP header bytes in front of each payload.
    pub header_bytes: u32,
    /// MTU of this host's interface towards the other, where it is known.
    pub interface_mtu: Option<u32>,
    /// What this host is.
    pub local: Traits,
    /// What the other host is.
    pub remote: Traits,
    /// Path MTU, with the run that found it.
    pub mtu: Option<(RunId, MtuSummary)>,
    /// Windowed RTT.
    pub rtt: Option<RttTest>,
    /// Earlier RTT tests of the same pair of hosts, or of hosts in the same places, with the same windows and lengths, the
    /// oldest first; at most [`MOST_EARLIER`](crate::MOST_EARLIER).
    pub earlier_rtt: Vec<RttTest>,
    /// TCP throughput, in the order in which it was measured.
    pub tcp: Vec<(RunId, TcpSummary)>,
    /// Multi-flow tests, each direction for itself, in the order in which they were made.
    pub flow_tests: Vec<FlowTest>,
    /// The same tests over each IP version, where the far host answers over both; else nothing.
    pub families: Vec<Family>,
}

/// What a host is, as far as its facts say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// The instance, where its cloud names a type.
    pub instance: Option<InstanceType>,
    /// Cores that the process may use.
    pub cores: Option<u64>,
    /// Queues of its card in use.
    pub queues: Option<u64>,
}

/// A type of instance, as its cloud names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceType {
    /// Cloud, by the name that `weir mesh` has for it.
    pub cloud: String,
    /// Its name there.
    pub name: String,
}

/// What was measured over one IP version, beside the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// IP version.
    pub version: IpVersion,
    /// Path MTU.
    pub mtu: Option<MtuSummary>,
    /// RTT of short windows.
    pub rtt: Option<RttTest>,
    /// The forward flow test.
    pub flows: Option<FlowTest>,
}

/// One direction of a multi-flow test.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTest {
    /// The run that holds it.
    pub run: RunId,
    /// Which way.
    pub direction: Direction,
    /// How it was sent.
    pub plan: FlowsPlan,
    /// UDP payload bytes of each packet.
    pub payload: u32,
    /// Rate that was asked for; none when unpaced.
    pub asked: Option<u64>,
    /// When the first second began.
    pub started_unix_ns: u64,
    /// Time during which packets came.
    pub active_ns: u64,
    /// Packets sent; where the sender did not say, those received and lost.
    pub sent: u64,
    /// Packets received in time.
    pub received: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Packets lost after reordering.
    pub lost: u64,
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies.
    pub duplicates: u64,
    /// Arrivals below the highest sequence before.
    pub reordered: u64,
    /// Each flow.
    pub flows: Vec<Flow>,
    /// Each flow in each slot of time.
    pub slots: Vec<FlowSlot>,
    /// Seconds that make a slot: 1 for tests of up to ten minutes.
    pub slot_seconds: u32,
    /// Bursts of lost packets of single flows, in order of time.
    pub flow_bursts: Vec<FlowBurst>,
    /// Bursts of lost packets of the whole stream, in order of time.
    pub stream_bursts: Vec<StreamBurst>,
    /// Both lists of bursts hold every burst that there was.
    pub bursts_complete: bool,
    /// Times in which a flow delivered nothing while others did.
    pub silences: Vec<Silence>,
    /// Short windows with loss.
    pub loss_windows: Vec<LossWindow>,
    /// The sender.
    pub sender: SenderCounts,
    /// Drops that the sending host counted, of the whole host.
    pub sending_host: HostTotals,
    /// Drops that the receiving host counted, of the whole host.
    pub receiving_host: HostTotals,
    /// Packets that allowances of both hosts' instances held back, in each slot with any.
    pub throttled: BTreeMap<u32, u64>,
    /// The test's own summary; none for a test that did not come to its end.
    pub summary: Option<DirectionSummary>,
}

impl FlowTest {
    /// A test of which nothing has been read.
    pub fn new(run: RunId, direction: Direction, plan: FlowsPlan) -> Self {
        FlowTest {
            run,
            direction,
            payload: plan.length,
            asked: plan.rate().map(|rate| rate.0),
            plan,
            started_unix_ns: 0,
            active_ns: 0,
            sent: 0,
            received: 0,
            bytes: 0,
            lost: 0,
            late: 0,
            duplicates: 0,
            reordered: 0,
            flows: Vec::new(),
            slots: Vec::new(),
            slot_seconds: 1,
            flow_bursts: Vec::new(),
            stream_bursts: Vec::new(),
            bursts_complete: true,
            silences: Vec::new(),
            loss_windows: Vec::new(),
            sender: SenderCounts::default(),
            sending_host: HostTotals::default(),
            receiving_host: HostTotals::default(),
            throttled: BTreeMap::new(),
            summary: None,
        }
    }
}

/// One flow over a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Destination port.
    pub port: u16,
    /// Packets sent; where the sender did not say, those received and lost.
    pub sent: u64,
    /// Counts at the receiver.
    pub counts: FlowCounts,
}

/// One flow in one slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSlot {
    /// Number of the slot, from 0.
    pub slot: u32,
    /// Index of the flow.
    pub flow: u16,
    /// Packets received in time.
    pub received: u64,
    /// Packets given up on.
    pub lost: u64,
    /// Runs of lost packets.
    pub bursts: u64,
    /// Smallest one-way delay and its median; none where nothing came. Where a slot has several seconds, the median
    /// is the mean of theirs.
    pub delay: Option<SlotDelay>,
}

/// One-way delay in a slot, nanoseconds; estimates that share the error of the clocks with all flows of the slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotDelay {
    /// Smallest.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// 99 % quantile.
    pub p99: i64,
}

/// The sender over a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderCounts {
    /// Packets handed to the kernel.
    pub sent: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Packets that its kernel had no room for.
    pub refused: u64,
    /// 99 % quantile of the delay behind the schedule, the worst second's.
    pub worst_second_p99_ns: i64,
    /// The same over the whole test, where the test came to its end; else the median of the seconds'.
    pub schedule_p99_ns: i64,
    /// CPU time of the sending thread.
    pub cpu_ns: u64,
}

/// Drops of a whole host over a test, and how busy it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostTotals {
    /// Seconds with a row.
    pub seconds: u64,
    /// What it dropped.
    pub counts: HostCounts,
    /// Most cores that were busy in a second.
    pub most_busy_cores: f64,
    /// CPU time stolen by the hypervisor in all seconds, in seconds of a core.
    pub stolen_core_seconds: f64,
    /// Most cores that were stolen in a second.
    pub most_stolen_cores: f64,
    /// CPU time of software interrupts, in which the kernel receives packets, in seconds of a core.
    pub softirq_core_seconds: f64,
    /// Of these, those of the core that had most of each second.
    pub softirq_most_core_seconds: f64,
}

/// A windowed RTT test.
#[derive(Clone, Debug, PartialEq)]
pub struct RttTest {
    /// The run that holds it.
    pub run: RunId,
    /// How it was sent.
    pub plan: RttPlan,
    /// When it began.
    pub started_unix_ns: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets without an answer in time.
    pub lost: u64,
    /// RTT quantiles of all packets, nanoseconds; none when nothing was answered.
    pub rtt: Option<Quantiles>,
    /// The test in equal pieces of time.
    pub blocks: Vec<RttBlock>,
    /// First packets of windows, at most [`MOST_WINDOWS`](crate::MOST_WINDOWS), evenly chosen.
    pub first_packets: Vec<FirstPacket>,
    /// Windows with several packets that were answered, at most [`MOST_WINDOWS`](crate::MOST_WINDOWS), evenly
    /// chosen.
    pub windows: Vec<WindowGrowth>,
}

impl RttTest {
    /// RTTs of packets with nothing in front of them, nanoseconds, without the hosts' applications where the kernels tell.
    pub fn idle_rtts_ns(&self) -> Vec<f64> {
        let rtt = |packet: &FirstPacket| packet.network_rtt_ns.unwrap_or(packet.rtt_ns) as f64;
        self.first_packets.iter().map(rtt).collect()
    }
}

/// A piece of an RTT test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttBlock {
    /// Number of its first window.
    pub first_window: u64,
    /// Packets that were answered.
    pub count: u64,
    /// 90 % quantile of the RTTs of first packets of windows, nanoseconds.
    pub p90_ns: u64,
    /// The same without the time in both hosts' applications; none where the kernel gave no timestamps.
    pub network_p90_ns: Option<u64>,
}

/// The first packet of a window: nothing was queued in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstPacket {
    /// UDP payload bytes.
    pub length: u32,
    /// Its RTT.
    pub rtt_ns: u64,
    /// The same without the time in both hosts' applications; none where the kernel gave no timestamps.
    pub network_rtt_ns: Option<u64>,
}

/// How the RTT grew within a window. Slopes are by least squares, from one answered packet to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowGrowth {
    /// Its number.
    pub window: u64,
    /// Packets that were answered.
    pub packets: u32,
    /// UDP payload bytes.
    pub length: u32,
    /// Growth of the RTT between the applications, nanoseconds.
    pub rtt_slope_ns: f64,
    /// Time between answers at the application, nanoseconds.
    pub spacing_ns: f64,
    /// The same by the kernels' timestamps; none where they are missing.
    pub network: Option<NetworkGrowth>,
}

/// Growth by the kernels' timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkGrowth {
    /// Growth of the RTT over the later half of the window, nanoseconds.
    pub rtt_slope_ns: f64,
    /// Growth of the delay there, over all packets but the first.
    pub forward_slope_ns: f64,
    /// Time between arrivals at the far host, all packets but the first, nanoseconds.
    pub spacing_ns: f64,
}
