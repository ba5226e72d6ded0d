//! Records of a run, one struct per table, with its columns and how rows are merged. Every time is Unix nanoseconds UTC,
//! every length bytes, every duration nanoseconds, every rate bits per second. A record knows nothing of how it was
//! measured.

use weir_stats::{FlowCounts, HostCounts, Quantiles, SendCounts};

use crate::rows::records;
use crate::sides::Side;

records! {
    /// One packet of a windowed RTT test (table `rtt_packets`).
    pub struct RttPacket {
        /// Sequence number in the test, from 0.
        sequence: u64,
        /// Window that the packet belongs to, from 0.
        window: u64,
        /// Position in its window, from 0.
        position: u32,
        /// Packets in its window.
        window_size: u32,
        /// UDP payload length.
        length: u32,
        /// Send time at the application.
        sent_unix_ns: u64,
        /// Round-trip time between applications; none if lost.
        rtt_ns: Option<u64>,
        /// The same without the time in both hosts' applications and sockets, where there are kernel
        /// timestamps.
        network_rtt_ns: Option<u64>,
        /// Forward one-way delay, by both clocks and their estimated offset.
        owd_forward_ns: Option<i64>,
        /// Reverse one-way delay, likewise estimated.
        owd_reverse_ns: Option<i64>,
        /// Sent TTL minus the TTL received at the reflector: the number of hops.
        delta_ttl: Option<i32>,
        /// No reply within the time limit.
        lost: bool,
        /// Extra replies to this packet.
        duplicates: u32,
    }

    /// A second of the whole stream, at the receiver (table `stream_seconds`). Counts are of this second alone.
    pub struct StreamSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Packets received in time, without duplicates.
        received: u64 => sum,
        /// Their UDP payload bytes.
        bytes: u64 => sum,
        /// Packets that the reorder buffer declared lost.
        lost: u64 => sum,
        /// Of these, arrived late.
        late: u64 => sum,
        /// Duplicates.
        duplicates: u64 => sum,
        /// Reordered packets: a sequence number below the highest so far.
        reordered: u64 => sum,
        /// Packets with a wrong tag, session or form.
        rejected: u64 => sum,
        /// One-way delay (offset-corrected estimate).
        owd: Quantiles => quantiles,
    }

    /// A second of one flow, at the receiver (table `flow_seconds`). Counts are of this second alone.
    pub struct FlowSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Index of the flow, from 0.
        flow: u16 => same,
        /// Its destination port.
        port: u16 => same,
        /// Counts.
        #[serde(flatten)]
        counts: FlowCounts => counts,
        /// One-way delay (offset-corrected estimate).
        owd: Quantiles => quantiles,
    }

    /// Consecutive lost packets of the whole stream, after reordering (table `stream_bursts`).
    pub struct StreamBurst {
        /// When the gap was detected.
        unix_ns: u64,
        /// Stream sequence of the first lost packet.
        first_sequence: u64,
        /// Packets in the burst.
        length: u64 as "length_packets",
    }

    /// Consecutive lost packets of one flow (table `flow_bursts`).
    pub struct FlowBurst {
        /// When the gap was detected.
        unix_ns: u64,
        /// Index of the flow.
        flow: u16,
        /// Its destination port.
        port: u16,
        /// Flow sequence of the first lost packet.
        first_sequence: u64,
        /// Packets in the burst.
        length: u64 as "length_packets",
        /// Packets received on the flow so far.
        received_before: u64,
        /// Bytes received on the flow so far.
        bytes_before: u64,
        /// Bursts on the flow so far, including this one.
        bursts_before: u64,
    }

    /// A silence of a flow, alone or of all flows (table `silences`).
    pub struct Silence {
        /// Time of the last packet before the silence.
        unix_ns: u64,
        /// Index of the flow.
        flow: u16,
        /// Duration.
        duration_ns: u64,
    }

    /// A short time window in which packets were lost (table `loss_windows`), and on how many flows.
    pub struct LossWindow {
        /// Start of the window.
        unix_ns: u64,
        /// Length of the window.
        duration_ns: u64,
        /// Packets lost in it.
        lost: u64,
        /// Flows that lost any.
        flows_losing: u32,
        /// Indices of those flows, ascending.
        flows: Vec<u16>,
    }

    /// A second of the sender (table `sender_seconds`).
    pub struct SenderSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Counts.
        #[serde(flatten)]
        counts: SendCounts => counts,
        /// Lateness of each burst against its schedule.
        schedule_error: Quantiles => quantiles,
        /// CPU time of the sending threads.
        cpu_ns: u64 => sum,
    }

    /// A second of a host's own counters (table `host_seconds`). Counts are of this second alone.
    pub struct HostSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Which host.
        side: Side => same,
        /// What the host dropped.
        #[serde(flatten)]
        counts: HostCounts => counts,
        /// Busy CPU time of all cores, in cores: 2.0 is two busy cores.
        cpu_busy: f64 as "cpu_busy_cores" => mean,
        /// CPU steal time, in cores.
        cpu_steal: f64 as "cpu_steal_cores" => mean,
        /// CPU time of Weir itself, in cores.
        cpu_weir: f64 as "cpu_weir_cores" => mean,
        /// CPU time in software interrupts, where the kernel receives packets, in cores; older versions do not send it.
        #[serde(default = "not_counted")]
        cpu_softirq: f64 as "cpu_softirq_cores" => mean,
        /// The same of the core that has most of it: 1.0 is a whole core.
        #[serde(default = "not_counted")]
        cpu_softirq_core: f64 as "cpu_softirq_most_cores" => max,
        /// Resident memory of Weir.
        memory_bytes: u64 => max,
    }

    /// A second of one TCP connection (table `tcp_seconds`).
    pub struct TcpSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Parallel connections in this test.
        streams: u16 => same,
        /// Index of this one.
        stream: u16 => same,
        /// Bytes that arrived at the receiver.
        bytes: u64 => sum,
        /// Retransmitted segments (sender's TCP_INFO) in this second.
        retransmits: u64 => sum,
        /// Smoothed RTT (sender's TCP_INFO).
        rtt_ns: u64 => later,
        /// Congestion window, bytes (sender's TCP_INFO).
        cwnd_bytes: u64 => later,
        /// Congestion control, as the kernel names it.
        congestion_control: String => same,
    }

    /// One probe of the path MTU search (table `mtu_probes`).
    pub struct MtuProbe {
        /// Send time.
        unix_ns: u64,
        /// Probed IP packet length.
        size: u32,
        /// Whether it arrived.
        acknowledged: bool,
        /// Whether the local host refused to send it unfragmented.
        refused_locally: bool,
    }

    /// A second of one direction of an emulated link (table `link_seconds`). Counts are packets of this second alone.
    pub struct LinkSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Offered to the link.
        offered: u64 => sum,
        /// Their bytes of IP packet.
        offered_bytes: u64 => sum,
        /// Delivered, copies included.
        delivered: u64 => sum,
        /// Their bytes of IP packet.
        delivered_bytes: u64 => sum,
        /// Dropped: longer than the MTU.
        dropped_too_big: u64 => sum,
        /// Dropped: loss of long packets.
        dropped_long_packet: u64 => sum,
        /// Dropped: over their flow's rate.
        dropped_flow_rate: u64 => sum,
        /// Dropped: over the packet rate.
        dropped_packet_rate: u64 => sum,
        /// Dropped: too many flows.
        dropped_extra_flow: u64 => sum,
        /// Dropped: on a dark route.
        dropped_dark: u64 => sum,
        /// Dropped: by a loss process.
        dropped_loss: u64 => sum,
        /// Dropped: by a full queue.
        dropped_queue: u64 => sum,
        /// Copies.
        duplicated: u64 => sum,
        /// Packets with a bit flipped.
        corrupted: u64 => sum,
        /// Lost by the emulator itself.
        own_losses: u64 => sum,
        /// Maximum queue of one transmitter since the start of the link, bytes.
        most_queued_bytes: u64 => max,
        /// Lateness of packets leaving the emulator.
        lateness: Quantiles => quantiles,
        /// CPU time of the direction's thread.
        cpu_ns: u64 => sum,
    }
}

/// Not a number stands for NULL.
fn not_counted() -> f64 {
    f64::NAN
}
