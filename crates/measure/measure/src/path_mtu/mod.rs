//! Path MTU by probing with whole datagrams, in both directions: DPLPMTUD of RFC 8899.
//!
//! `search` (which sizes) and `prober` (which probe when, and its record) are pure; `probe` holds the sockets.

mod probe;
mod prober;
mod search;

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use weir_net::UdpSocket;
use weir_net::host::route_mtu;

use crate::MeasureError;

pub use probe::run;
pub(crate) use probe::{Prober, Responder};
pub use prober::MtuProber;
pub use search::LONGEST_NS;
use search::Outcome;

/// UDP payload bytes that a search in both directions sends at most, as estimated before it: on interfaces that take up
/// to 9216 bytes, three tries of five sizes in each of six rounds.
pub const SEARCH_BYTES: u64 = 2_000_000;

/// A path MTU search in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuReport {
    /// Largest IP packet that came through whole; none when not even the base size did.
    pub path_mtu: Option<u32>,
    /// Probes sent.
    pub probes: u32,
    /// Largest IP packet that the sending interface takes.
    pub interface_mtu: u32,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuSummary {
    /// From here to the agent.
    pub forward: MtuReport,
    /// From the agent to here.
    pub reverse: MtuReport,
}

impl MtuSummary {
    /// UDP payload bytes that the probes of both directions had at most.
    pub fn most_bytes(&self) -> u64 {
        let sent = |report: &MtuReport| u64::from(report.probes) * u64::from(report.interface_mtu);
        sent(&self.forward) + sent(&self.reverse)
    }

    /// The smaller of both directions.
    pub fn smallest(&self) -> Option<u32> {
        Some(self.forward.path_mtu?.min(self.reverse.path_mtu?))
    }
}

/// IP and UDP header bytes in front of a UDP payload.
pub fn overhead(peer: IpAddr) -> u32 {
    if peer.is_ipv4() { 28 } else { 48 }
}

/// Largest UDP payload in an IP packet of `mtu` bytes.
pub fn largest_payload(peer: IpAddr, mtu: u32) -> u32 {
    mtu.saturating_sub(overhead(peer)).min(65_507)
}

/// Checks a payload against the interface that leads to `peer`.
pub(crate) fn check_fits(peer: IpAddr, length: u32) -> Result<(), MeasureError> {
    match route_mtu(peer) {
        Some(mtu) if length + overhead(peer) > mtu => Err(too_long_for_path(peer, length, mtu)),
        _ => Ok(()),
    }
}

/// The error for a datagram that the interface refused.
pub(crate) fn too_long(peer: SocketAddr, length: u32) -> MeasureError {
    too_long_for_path(peer.ip(), length, route_mtu(peer.ip()).unwrap_or(0))
}

/// The error for a payload that the interface takes but the path does not.
pub fn too_long_for_path(peer: IpAddr, length: u32, path_mtu: u32) -> MeasureError {
    MeasureError::TooLong {
        length,
        packet: length + overhead(peer),
        mtu: path_mtu,
        largest: largest_payload(peer, path_mtu),
        peer: peer.to_string(),
    }
}

/// The same for a connected socket.
pub(crate) fn too_long_for(socket: &UdpSocket, length: u32) -> MeasureError {
    let ip = socket.local().ip();
    let mtu = socket.route_mtu().unwrap_or(0);
    MeasureError::TooLong {
        length,
        packet: length + overhead(ip),
        mtu,
        largest: largest_payload(ip, mtu),
        peer: "the other host".into(),
    }
}
