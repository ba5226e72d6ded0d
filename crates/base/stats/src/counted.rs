//! What hosts, senders, receivers and links count, each set declared once. It must not know who counts.

use crate::counts::{Counters, counters};

counters! {
    /// Counts of a sender.
    pub struct SendCounts {
        /// Packets handed to the kernel, refused ones among them.
        sent => sum,
        /// UDP payload bytes of those that it accepted.
        bytes => sum,
        /// Messages that carried them; a train counts as one.
        sends => sum,
        /// Packets that the kernel refused for lack of buffer space.
        refused => sum,
    }
}

counters! {
    /// Packets that a host dropped, or what throttles it.
    pub struct HostCounts {
        /// UDP datagrams dropped because a socket's receive buffer was full, whole host, IPv4 and IPv6.
        udp_rcvbuf_errors => sum,
        /// UDP datagrams dropped for other errors on receive (checksum, memory), whole host.
        udp_in_errors => sum,
        /// UDP datagrams dropped because a socket's send buffer was full, whole host.
        udp_sndbuf_errors => sum,
        /// Packets dropped in the receive backlog, all cores.
        softnet_dropped => sum,
        /// Times that receive processing ran out of its budget, all cores.
        softnet_squeezed => sum,
        /// Packets dropped, missed or found bad on receive by the interface (all but loopback when none is named).
        interface_rx_dropped => sum,
        /// Packets that the interface or its queue dropped on send.
        interface_tx_dropped => sum,
        /// Packets that the queueing discipline of the interface dropped on send; UDP counts them as full send buffers, too.
        qdisc_dropped => sum,
        /// Packets that the driver or its card dropped on receive because a queue was full; most drivers count them at the
        /// interface, too.
        driver_rx_dropped => sum,
        /// Packets that the driver or its card dropped on send.
        driver_tx_dropped => sum,
        /// Times that a receive ring of the driver was empty.
        driver_rx_ring_empty => sum,
        /// Packets queued or dropped because inbound bandwidth exceeded the allowance of the instance (AWS ENA, like those
        /// that follow).
        bw_in_allowance_exceeded => sum,
        /// The same for outbound bandwidth.
        bw_out_allowance_exceeded => sum,
        /// The same for packets per second of both directions.
        pps_allowance_exceeded => sum,
        /// Packets dropped because connection tracking exceeded the allowance of the instance.
        conntrack_allowance_exceeded => sum,
        /// Packets dropped because traffic to services at link-local addresses exceeded its allowance.
        linklocal_allowance_exceeded => sum,
    }
}

impl HostCounts {
    /// Packets dropped on receive before any socket. The kernel counts a drop of the driver's or of its backlog at the
    /// interface as well.
    pub fn receive_drops(&self) -> u64 {
        self.softnet_dropped
            .max(self.interface_rx_dropped)
            .max(self.driver_rx_dropped)
    }

    /// Packets dropped on send, a train that the card would have cut as one. The kernel counts a drop of the queueing
    /// discipline at the socket as well.
    pub fn send_drops(&self) -> u64 {
        let interface = self.interface_tx_dropped.max(self.driver_tx_dropped);
        interface.saturating_add(self.udp_sndbuf_errors.max(self.qdisc_dropped))
    }

    /// Packets queued or dropped on receive for an allowance of the instance.
    pub fn receive_throttled(&self) -> u64 {
        self.bw_in_allowance_exceeded
            .saturating_add(self.throttled_both_ways())
    }

    /// The same on send.
    pub fn send_throttled(&self) -> u64 {
        self.bw_out_allowance_exceeded
            .saturating_add(self.throttled_both_ways())
    }

    fn throttled_both_ways(&self) -> u64 {
        self.pps_allowance_exceeded
            .saturating_add(self.conntrack_allowance_exceeded)
    }
}

counters! {
    /// Counters of a sender.
    pub struct SenderCounters {
        /// Frames.
        frames => sum,
        /// Input frames that were not sent: there was no receiver, or the network was slower than the input.
        frames_skipped => sum,
        /// Source packets, without retransmissions.
        sources => sum,
        /// UDP payload bytes of all packets sent.
        bytes => sum,
        /// Repair packets.
        repairs => sum,
        /// Packets retransmitted on request.
        retransmitted => sum,
        /// Copies sent to probe flows, and copies of the last packet.
        trials => sum,
        /// Requests for packets no longer kept, or too late.
        refused => sum,
        /// Packets dropped because the socket buffer was full.
        unsent => sum,
        /// Feedback that was not from the receiver, damaged, or not newer than the last.
        rejected => sum,
    }
}

counters! {
    /// Counters of one sender, in packets unless stated otherwise. A `lost` packet ends as `recovered`,
    /// `retransmitted`, `overtaken`, `elsewhere` or `unrepaired`, or is still pending.
    pub struct ArrivalCounters {
        /// Source packets received, without duplicates.
        received => sum,
        /// UDP payload bytes of all authentic packets (sources, copies, repairs), without duplicates.
        bytes => sum,
        /// Repair packets received.
        repairs => sum,
        /// Source packets whose first transmission did not arrive.
        lost => sum,
        /// Of these, repaired by FEC.
        recovered => sum,
        /// Of these, repaired by ARQ.
        retransmitted => sum,
        /// Of these, arrived late without retransmission: overtaken by packets of their own flow.
        overtaken => sum,
        /// Of these, not needed: another sender had delivered their content, or frames were taken from another.
        elsewhere => sum,
        /// Of these, not repaired: residual loss.
        unrepaired => sum,
        /// Packets received after their frame was output.
        late => sum,
        /// Duplicates of packets of this sender.
        duplicates => sum,
        /// Packets that were not the sender's, or not valid.
        rejected => sum,
        /// Retransmission requests, in symbols.
        asked => sum,
    }
}

counters! {
    /// Counters of the output frames of a receiver.
    pub struct FrameCounters {
        /// Complete frames.
        frames => sum,
        /// Frames with missing parts, which are concealed.
        damaged => sum,
        /// Frames of which no packet arrived; concealed.
        lost => sum,
        /// Frames dropped because the reader of the output was slow.
        dropped => sum,
        /// Frames with the sender's hash.
        verified => sum,
        /// Frames with another hash than the sender's.
        unequal => sum,
    }
}

counters! {
    /// Packets that a direction of an emulated link dropped as configured, by cause.
    pub struct LinkDrops {
        /// Longer than the MTU, with or without an ICMP message.
        too_big => sum,
        /// Lost because they were long.
        long_packet => sum,
        /// Over their flow's rate.
        flow_rate => sum,
        /// Over the packet rate.
        packet_rate => sum,
        /// Lost because there were many flows.
        extra_flow => sum,
        /// On a dark route.
        dark => sum,
        /// By a loss process.
        loss => sum,
        /// By a full queue.
        queue => sum,
    }
}

impl LinkDrops {
    /// All together.
    pub fn total(&self) -> u64 {
        self.values().sum()
    }
}
