//! Kernel state of a TCP connection, and its pacing.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use socket2::SockRef;

use crate::udp::set_option;

/// A congestion control to set on a sender's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CongestionControl {
    /// NewReno (RFC 6582).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR (bottleneck bandwidth and round-trip time).
    Bbr,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: [CongestionControl; 3] = [
        CongestionControl::Reno,
        CongestionControl::Cubic,
        CongestionControl::Bbr,
    ];

    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            CongestionControl::Reno => "reno",
            CongestionControl::Cubic => "cubic",
            CongestionControl::Bbr => "bbr",
        }
    }

    /// Of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Makes `stream` use it from now on.
    ///
    /// # Errors
    /// When the kernel does not have it.
    pub fn apply(self, stream: &TcpStream) -> io::Result<()> {
        SockRef::from(stream).set_tcp_congestion(self.name().as_bytes())
    }
}

/// State from `TCP_INFO` and `TCP_CONGESTION`.
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

/// Limits the sending rate of `stream` in the kernel, bytes per second (`SO_MAX_PACING_RATE`), including
/// TLS records, without TCP and IP headers. [`UNPACED`] removes the limit.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn set_max_pacing_rate(stream: &impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    set_option(
        stream.as_fd().as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        bytes_per_second,
    )
}

/// The minimum recent round-trip time of `stream`; none if the kernel does not report it (`tcpi_min_rtt`, which
/// `libc::tcp_info` ends before).
///
/// # Errors
/// As `getsockopt(2)`.
pub fn min_rtt(stream: &impl AsFd) -> io::Result<Option<Duration>> {
    /// Its offset in `tcp_info` (linux/tcp.h).
    const AT: usize = 148;
    let mut info = [0_u8; AT + 4];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of `info`.
    let done = unsafe {
        let pointer = info.as_mut_ptr().cast();
        let fd = stream.as_fd().as_raw_fd();
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &mut length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let [.., a, b, c, d] = info;
    let microseconds = u32::from_ne_bytes([a, b, c, d]);
    let is_known = length as usize == info.len() && !matches!(microseconds, 0 | u32::MAX);
    Ok(is_known.then(|| Duration::from_micros(microseconds.into())))
}

/// The rate of [`set_max_pacing_rate`] without a limit.
pub const UNPACED: u64 = u64::MAX;

/// Bytes that were written to `stream` and that the kernel has not yet sent for the first time (`SIOCOUTQNSD`).
///
/// # Errors
/// As `ioctl(2)`.
pub fn unsent(stream: &impl AsFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int.
    let done = unsafe { libc::ioctl(stream.as_fd().as_raw_fd(), libc::SIOCOUTQNSD as _, &raw mut bytes) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Writes to `stream` so that nothing written later shares a packet with it (`MSG_EOR`): the kernel sends it at
/// once, or paces it, as a separate burst.
///
/// # Errors
/// As `sendmsg(2)`.
pub fn write_apart(stream: &impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = libc::MSG_EOR | libc::MSG_NOSIGNAL;
    SockRef::from(stream).send_vectored_with_flags(pieces, flags)
}
