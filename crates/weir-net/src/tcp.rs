//! What the kernel knows of a TCP connection, and its pacing.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};

use crate::udp::set_option;

/// A reading of `TCP_INFO` and `TCP_CONGESTION`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpReading {
    /// Smoothed round-trip time, nanoseconds.
    pub rtt_ns: u64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Segments retransmitted since the connection began.
    pub retransmits: u64,
    /// Maximum segment size towards the other end, bytes.
    pub mss: u32,
    /// Name of the congestion control.
    pub congestion_control: String,
}

/// Reads the state of `stream`.
///
/// # Errors
/// As `getsockopt(2)`.
pub fn read(stream: &TcpStream) -> io::Result<TcpReading> {
    // SAFETY: an all-zero tcp_info is valid; the kernel fills at most `length` bytes of it and of `name`.
    unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let mut length = std::mem::size_of::<libc::tcp_info>() as libc::socklen_t;
        let fd = stream.as_raw_fd();
        let pointer = std::ptr::from_mut(&mut info).cast();
        if libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &mut length) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut name = [0_u8; 16];
        let mut name_length = name.len() as libc::socklen_t;
        let pointer = name.as_mut_ptr().cast();
        if libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            pointer,
            &mut name_length,
        ) != 0
        {
            return Err(io::Error::last_os_error());
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(TcpReading {
            rtt_ns: u64::from(info.tcpi_rtt) * 1000,
            cwnd_bytes: u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss),
            retransmits: u64::from(info.tcpi_total_retrans),
            mss: info.tcpi_snd_mss,
            congestion_control: String::from_utf8_lossy(&name[..end]).into_owned(),
        })
    }
}

/// Bounds the sending rate of `stream` in the kernel, payload bytes a second (`SO_MAX_PACING_RATE`).
///
/// # Errors
/// As `setsockopt(2)`.
pub fn set_max_pacing_rate(stream: &TcpStream, bytes_per_second: u64) -> io::Result<()> {
    set_option(
        stream.as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        bytes_per_second,
    )
}
