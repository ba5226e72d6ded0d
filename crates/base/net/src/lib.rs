//! Sockets and the host: batched UDP with segmentation offload in both directions, kernel timestamps, TTL, `TCP_INFO`,
//! pacing clocks, the host's own drop counters and facts, and what its cloud reports about it; network namespaces, TUN devices,
//! real-time priority and bounds on CPU time for networks made on one host; memory that is sent without a copy, and the C library's allocator. It must not know what the
//! bytes mean.
//!
//! This is the one crate that calls the kernel through raw pointers, so it may hold `unsafe`.
#![allow(unsafe_code)]

pub mod affinity;
pub mod allocator;
mod ancillary;
pub mod arena;
pub mod bounded_file;
mod calls;
pub mod clock;
pub mod cloud;
pub mod confine;
pub mod counters;
pub mod cpu_time;
pub mod diagnosis;
mod driver_counts;
pub mod ethtool;
pub mod host;
pub mod interface;
pub mod namespace;
mod netlink;
pub mod pipe;
pub mod process;
mod qdisc;
pub mod realtime;
mod receive;
mod send;
pub mod signals;
pub mod tcp;
pub mod tcp_window;
pub mod tun;
mod udp;
pub mod wait;

#[cfg(test)]
mod datagram_tests;

pub use ancillary::Ancillary;
pub use receive::{Datagram, DatagramMut, ReceiveBatch};
pub use send::{MAX_HEADER, Outgoing, SendBatch, SendOutcome, Trains};
pub use udp::{EADDRNOTAVAIL, EAFNOSUPPORT, EMSGSIZE, ENOBUFS, NetError, UdpOptions, UdpSocket};
