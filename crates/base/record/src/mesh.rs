//! Records of tests between two places. It must not know how a test works, or what a place is.

use crate::rows::records;

records! {
    /// One end of a test.
    pub struct MeshEnd {
        /// Cloud, in lower case; empty if the host is in none.
        cloud: String,
        /// Region of that cloud, or the name of the user's own place.
        region: String,
        /// Zone in the region; empty if unknown.
        zone: String,
        /// Name of the host; empty if unknown.
        host: String,
        /// Degrees north, where the place is known.
        latitude: Option<f64>,
        /// Degrees east, where the place is known.
        longitude: Option<f64>,
    }

    /// A test from one place to another (table `mesh_tests`). The client's host, `from`, sends; the measured traffic
    /// arrives at `to`.
    pub struct MeshTest {
        /// Start time.
        unix_ns: u64,
        /// The program that measured: `weir`, `intercloud-throughput`, `iperf3`.
        source: String,
        /// Why it failed; none if it succeeded.
        reason: Option<String>,
        /// Place of the client.
        from: MeshEnd,
        /// Place of the agent or server.
        to: MeshEnd,
        /// Great-circle distance, metres, where both places are known.
        distance_m: Option<u64>,
        /// The RTT is below the floor of light in fibre for that distance: a place is wrong.
        faster_than_light: bool,
        /// Packets that were answered; 0 if unknown.
        rtt_count: u64,
        /// Smallest RTT, nanoseconds.
        rtt_min_ns: Option<u64>,
        /// Mean RTT.
        rtt_mean_ns: Option<u64>,
        /// Median RTT.
        rtt_p50_ns: Option<u64>,
        /// 95th percentile of the RTT.
        rtt_p95_ns: Option<u64>,
        /// Largest RTT.
        rtt_max_ns: Option<u64>,
        /// Interarrival jitter of the RTT (RFC 3550, 6.4.1).
        rtt_jitter_ns: Option<u64>,
        /// TCP goodput of one connection at the receiver, bits per second.
        tcp_bps: Option<u64>,
        /// Connections side by side of the second TCP test.
        tcp_streams: Option<u64>,
        /// Their total goodput at the receiver, bits per second.
        tcp_streams_bps: Option<u64>,
        /// Their retransmitted segments, in total.
        tcp_streams_retransmits: Option<u64>,
        /// The largest congestion window of any of them, bytes.
        tcp_streams_cwnd_bytes: Option<u64>,
        /// The mean of their smoothed RTTs, nanoseconds.
        tcp_streams_rtt_ns: Option<u64>,
        /// Retransmitted segments of the one connection.
        tcp_retransmits: Option<u64>,
        /// Its largest congestion window, bytes.
        tcp_cwnd_bytes: Option<u64>,
        /// Its mean smoothed RTT, nanoseconds.
        tcp_rtt_ns: Option<u64>,
        /// Congestion control of all connections, as the kernel names it.
        congestion_control: Option<String>,
        /// Maximum send window of a socket of the sending host, bytes.
        from_window_bytes: Option<u64>,
        /// Maximum receive window of a socket of the receiving host, bytes.
        to_window_bytes: Option<u64>,
        /// Rate of the UDP test at the receiver, bits per second.
        udp_bps: Option<u64>,
        /// Packets that it sent.
        udp_sent: Option<u64>,
        /// Their loss rate, 0 to 1.
        udp_loss: Option<f64>,
        /// Their interarrival jitter when the test ended (RFC 3550, 6.4.1), nanoseconds.
        udp_jitter_ns: Option<u64>,
        /// 99th percentile of their one-way delay above the smallest (PDV, RFC 5481), nanoseconds.
        udp_pdv_ns: Option<u64>,
        /// Reordered packets.
        udp_reordered: Option<u64>,
        /// Bytes sent in the whole test, both directions.
        bytes: u64,
        /// Further output of the program, a JSON object.
        details: serde_json::Value,
    }
}
