//! What a run leaves behind, one struct per table. Every time is Unix nanoseconds UTC, every length bytes,
//! every duration nanoseconds, every rate bits per second. A record knows nothing of how it was measured.

mod load;
mod media;

use serde::{Deserialize, Serialize};

pub use load::{LoadFailure, LoadHistogram, LoadMetric, LoadSecond, ViewerSecond};
pub use media::{FlowChange, FrameSecond, MediaEvent, RecvSecond, SendSecond};

/// Which way the measured packets travelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the host that ran the command to the agent.
    Forward,
    /// From the agent to the host that ran the command.
    Reverse,
}

impl Direction {
    /// The word for it, in the store as in what people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        }
    }
}

/// Which of the two hosts a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The host that ran the command.
    Local,
    /// The agent's host.
    Remote,
}

impl Side {
    /// The word for it, in the store as in what people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Local => "local",
            Side::Remote => "remote",
        }
    }
}

/// Quantiles of a set of durations, in nanoseconds; signed because a one-way delay computed from two clocks
/// may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values.
    pub count: u64,
    /// Smallest value.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// 90th percentile.
    pub p90: i64,
    /// 99th percentile.
    pub p99: i64,
    /// 99.9th percentile.
    pub p999: i64,
    /// Largest value.
    pub max: i64,
}

impl Quantiles {
    /// Adds `by` to every value, where there are any.
    pub fn shift(&mut self, by: i64) {
        if self.count == 0 {
            return;
        }
        for value in [
            &mut self.min,
            &mut self.p50,
            &mut self.p90,
            &mut self.p99,
            &mut self.p999,
            &mut self.max,
        ] {
            *value = value.saturating_add(by);
        }
    }
}

/// One packet of a windowed RTT test (table `rtt_packets`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttPacket {
    /// Position in the whole test, from 0.
    pub sequence: u64,
    /// Window that the packet belongs to, from 0.
    pub window: u64,
    /// Position in its window, from 0.
    pub position: u32,
    /// Packets in its window.
    pub window_size: u32,
    /// UDP payload length.
    pub length: u32,
    /// When the application sent it.
    pub sent_unix_ns: u64,
    /// From application to application and back; none if lost.
    pub rtt_ns: Option<u64>,
    /// The same without the time spent inside both hosts' applications and sockets, where the kernel gave
    /// timestamps.
    pub network_rtt_ns: Option<u64>,
    /// One-way delay to the reflector, by both clocks and the estimated offset between them.
    pub owd_forward_ns: Option<i64>,
    /// One-way delay back, likewise an estimate.
    pub owd_reverse_ns: Option<i64>,
    /// Sent TTL minus the TTL that the reflector received: hops that decrement it.
    pub delta_ttl: Option<i32>,
    /// No reply within the time limit.
    pub lost: bool,
    /// Extra replies to this packet.
    pub duplicates: u32,
}

/// A second of the whole stream, at the receiver (table `stream_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Packets received for the first time and in time.
    pub received: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Packets that the reordering buffer gave up on.
    pub lost: u64,
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies of packets that had been received before.
    pub duplicates: u64,
    /// Arrivals with a sequence lower than the highest before.
    pub reordered: u64,
    /// Packets with a wrong tag, session or form.
    pub rejected: u64,
    /// One-way delay (offset-corrected estimate).
    pub owd: Quantiles,
}

/// A second of one flow, at the receiver (table `flow_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Index of the flow, from 0.
    pub flow: u16,
    /// Its destination port.
    pub port: u16,
    /// Packets received, duplicates left out.
    pub received: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Packets of this flow given up on, by the flow's own sequence.
    pub lost: u64,
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies.
    pub duplicates: u64,
    /// Sequence numbers lower than the one before.
    pub reversals: u64,
    /// Sequence numbers other than the one before plus one.
    pub sequence_breaks: u64,
    /// Runs of lost packets that ended in this second.
    pub bursts: u64,
    /// The longest of them.
    pub longest_burst: u64,
    /// Packets that the kernel dropped at this flow's socket because its buffer was full.
    pub socket_drops: u64,
    /// One-way delay (offset-corrected estimate).
    pub owd: Quantiles,
}

/// Consecutive lost packets of the whole stream, after reordering (table `stream_bursts`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamBurst {
    /// When the gap was noticed.
    pub unix_ns: u64,
    /// Stream sequence of the first lost packet.
    pub first_sequence: u64,
    /// How many packets.
    pub length: u64,
}

/// Consecutive lost packets of one flow (table `flow_bursts`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowBurst {
    /// When the gap was noticed.
    pub unix_ns: u64,
    /// Index of the flow.
    pub flow: u16,
    /// Its destination port.
    pub port: u16,
    /// Flow sequence of the first lost packet.
    pub first_sequence: u64,
    /// How many packets.
    pub length: u64,
    /// Packets received on the flow so far.
    pub received_before: u64,
    /// Bytes received on the flow so far.
    pub bytes_before: u64,
    /// Bursts on the flow so far, this one included.
    pub bursts_before: u64,
}

/// A time in which a flow delivered nothing, alone or with all others (table `silences`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Last packet before the silence.
    pub unix_ns: u64,
    /// Index of the flow.
    pub flow: u16,
    /// How long.
    pub duration_ns: u64,
}

/// A short time window in which packets were lost (table `loss_windows`), and on how many flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossWindow {
    /// Start of the window.
    pub unix_ns: u64,
    /// Length of the window.
    pub duration_ns: u64,
    /// Packets lost in it.
    pub lost: u64,
    /// Flows that lost any.
    pub flows_losing: u32,
    /// Indices of those flows, ascending.
    pub flows: Vec<u16>,
}

/// A second of the sender (table `sender_seconds`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Packets handed to the kernel.
    pub sent: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// System calls that carried them.
    pub sends: u64,
    /// Packets that the kernel refused for lack of room and that were not sent again.
    pub refused: u64,
    /// How far behind its schedule each burst left.
    pub schedule_error: Quantiles,
    /// CPU time of the sending thread.
    pub cpu_ns: u64,
}

/// A second of a host's own counters (table `host_seconds`). Counts are of this second alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Which host.
    pub side: Side,
    /// UDP datagrams dropped for a full receive buffer, whole host.
    pub udp_rcvbuf_errors: u64,
    /// UDP datagrams dropped for other receive errors (checksum, memory), whole host.
    pub udp_in_errors: u64,
    /// UDP datagrams dropped for a full send buffer, whole host.
    pub udp_sndbuf_errors: u64,
    /// Packets dropped in the host's receive backlog.
    pub softnet_dropped: u64,
    /// Times that receive processing ran out of its budget.
    pub softnet_squeezed: u64,
    /// Packets that the interface dropped or missed on receive.
    pub interface_rx_dropped: u64,
    /// Packets that the interface or its queue dropped on send.
    pub interface_tx_dropped: u64,
    /// CPU time of all cores in use, as a share of one core: 2.0 is two busy cores.
    pub cpu_busy: f64,
    /// CPU time taken by the hypervisor for others, in cores.
    pub cpu_steal: f64,
    /// CPU time of Weir itself, in cores.
    pub cpu_weir: f64,
    /// Resident memory of Weir.
    pub memory_bytes: u64,
}

/// A second of one TCP connection (table `tcp_seconds`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Connections that ran side by side in this test.
    pub streams: u16,
    /// Index of this one.
    pub stream: u16,
    /// Bytes that arrived at the receiver.
    pub bytes: u64,
    /// Segments sent again (sender's TCP_INFO), in this second.
    pub retransmits: u64,
    /// Smoothed RTT (sender's TCP_INFO).
    pub rtt_ns: u64,
    /// Congestion window, bytes (sender's TCP_INFO).
    pub cwnd_bytes: u64,
    /// Congestion control, as the kernel names it.
    pub congestion_control: String,
}

/// One probe of the path MTU search (table `mtu_probes`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MtuProbe {
    /// When it was sent.
    pub unix_ns: u64,
    /// IP packet length that was tried.
    pub size: u32,
    /// It arrived.
    pub acknowledged: bool,
    /// The local host refused to send it whole.
    pub refused_locally: bool,
}

/// A second of one direction of an emulated link (table `link_seconds`). Counts are packets of this second alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSecond {
    /// End of the second.
    pub unix_ns: u64,
    /// Time that the counts cover.
    pub duration_ns: u64,
    /// Offered to the link.
    pub offered: u64,
    /// Their bytes of IP packet.
    pub offered_bytes: u64,
    /// Come through, copies included.
    pub delivered: u64,
    /// Their bytes of IP packet.
    pub delivered_bytes: u64,
    /// Dropped: longer than the MTU.
    pub dropped_too_big: u64,
    /// Dropped: lost because they were long.
    pub dropped_long_packet: u64,
    /// Dropped: over their flow's rate.
    pub dropped_flow_rate: u64,
    /// Dropped: over the packet rate.
    pub dropped_packet_rate: u64,
    /// Dropped: too many flows.
    pub dropped_extra_flow: u64,
    /// Dropped: on a dark route.
    pub dropped_dark: u64,
    /// Dropped: by a loss process.
    pub dropped_loss: u64,
    /// Dropped: by a full queue.
    pub dropped_queue: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets with a bit flipped.
    pub corrupted: u64,
    /// Lost by the fault of the emulator itself.
    pub own_losses: u64,
    /// Most bytes that waited before one transmitter, since the link began.
    pub most_queued_bytes: u64,
    /// How late packets left the emulator.
    pub lateness: Quantiles,
    /// CPU time of the direction's thread.
    pub cpu_ns: u64,
}

/// One record, as it travels from the agent to the client and from a measurement to the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Table `rtt_packets`.
    RttPacket(RttPacket),
    /// Table `stream_seconds`.
    StreamSecond(Direction, StreamSecond),
    /// Table `flow_seconds`.
    FlowSecond(Direction, FlowSecond),
    /// Table `stream_bursts`.
    StreamBurst(Direction, StreamBurst),
    /// Table `flow_bursts`.
    FlowBurst(Direction, FlowBurst),
    /// Table `silences`.
    Silence(Direction, Silence),
    /// Table `loss_windows`.
    LossWindow(Direction, LossWindow),
    /// Table `sender_seconds`.
    SenderSecond(Direction, SenderSecond),
    /// Table `host_seconds`.
    HostSecond(HostSecond),
    /// Table `tcp_seconds`.
    TcpSecond(Direction, TcpSecond),
    /// Table `mtu_probes`.
    MtuProbe(Direction, MtuProbe),
    /// Table `link_seconds`.
    LinkSecond(Direction, LinkSecond),
    /// Table `send_seconds`.
    SendSecond(SendSecond),
    /// Table `recv_seconds`.
    RecvSecond(RecvSecond),
    /// Table `frame_seconds`.
    FrameSecond(FrameSecond),
    /// Table `flow_changes`.
    FlowChange(FlowChange),
    /// Table `media_events`.
    MediaEvent(MediaEvent),
    /// Table `load_seconds`.
    LoadSecond(LoadSecond),
    /// Table `load_failures`.
    LoadFailure(LoadFailure),
    /// Table `viewer_seconds`.
    ViewerSecond(ViewerSecond),
    /// Table `load_metrics`.
    LoadMetric(LoadMetric),
    /// Table `load_histograms`.
    LoadHistogram(LoadHistogram),
}
