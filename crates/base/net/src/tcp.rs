//! Kernel state of a TCP connection, and its pacing.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, RawFd};
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
    /// Time with data to send or under way, nanoseconds; 0 from kernels that do not report it, as the next two.
    #[serde(default)]
    pub busy_ns: u64,
    /// Of this, time in which the receiver's window held the data.
    #[serde(default)]
    pub receiver_limited_ns: u64,
    /// Of this, time in which the send buffer was too small.
    #[serde(default)]
    pub sender_limited_ns: u64,
    /// Window that the other end announced last, bytes; 0 from kernels that do not report it (before 5.4).
    #[serde(default)]
    pub peer_window_bytes: u64,
    /// Send buffer (`SO_SNDBUF`), bytes with the kernel's overhead.
    #[serde(default)]
    pub send_buffer_bytes: u64,
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
        let [busy_ns, receiver_limited_ns, sender_limited_ns] = limited(fd)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(TcpReading {
            rtt_ns: u64::from(info.tcpi_rtt) * 1000,
            cwnd_bytes: u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss),
            retransmits: u64::from(info.tcpi_total_retrans),
            mss: info.tcpi_snd_mss,
            congestion_control: String::from_utf8_lossy(&name[..end]).into_owned(),
            busy_ns,
            receiver_limited_ns,
            sender_limited_ns,
            peer_window_bytes: peer_window(fd)?,
            send_buffer_bytes: SockRef::from(stream).send_buffer_size()? as u64,
        })
    }
}

/// `tcpi_snd_wnd`, bytes; 0 where the kernel does not report it.
fn peer_window(fd: RawFd) -> io::Result<u64> {
    const AT: usize = 228;
    let info = info::<{ AT + 4 }>(fd)?;
    let bytes = info.as_deref().and_then(|info| info.last_chunk());
    Ok(bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes).into()))
}

/// `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited`, nanoseconds; 0 where the kernel does not report them.
fn limited(fd: RawFd) -> io::Result<[u64; 3]> {
    const AT: usize = 168;
    let info = info::<{ AT + 24 }>(fd)?;
    let nanoseconds = |index: usize| {
        let bytes = info.as_deref()?.get(AT + 8 * index..)?.first_chunk()?;
        u64::from_ne_bytes(*bytes).checked_mul(1_000)
    };
    Ok([0, 1, 2].map(|index| nanoseconds(index).unwrap_or(0)))
}

/// The first bytes of `tcp_info` (linux/tcp.h), beyond those that `libc::tcp_info` has; none where the kernel has fewer.
fn info<const LENGTH: usize>(fd: RawFd) -> io::Result<Option<Box<[u8]>>> {
    let mut info = [0_u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of `info`.
    let done = unsafe {
        let pointer = info.as_mut_ptr().cast();
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, pointer, &mut length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((length as usize == LENGTH).then(|| info.into()))
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
    const AT: usize = 148;
    let info = info::<{ AT + 4 }>(stream.as_fd().as_raw_fd())?;
    let bytes = info.as_deref().and_then(|info| info.last_chunk());
    let microseconds = bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    let is_known = !matches!(microseconds, 0 | u32::MAX);
    Ok(is_known.then(|| Duration::from_micros(microseconds.into())))
}

/// The rate of [`set_max_pacing_rate`] without a limit.
pub const UNPACED: u64 = u64::MAX;

/// Bytes that were written to `stream` and that the kernel has not yet sent for the first time (`SIOCOUTQNSD`).
///
/// # Errors
/// As `ioctl(2)`.
pub fn unsent(stream: &impl AsFd) -> io::Result<u64> {
    queued(stream, libc::SIOCOUTQNSD as _)
}

/// Bytes written to `stream` that the other end's kernel has not acknowledged (`SIOCOUTQ`), sent or not; 1 more while the end
/// of the connection is not acknowledged.
///
/// # Errors
/// As `ioctl(2)`.
pub fn unacknowledged(stream: &impl AsFd) -> io::Result<u64> {
    queued(stream, libc::TIOCOUTQ)
}

fn queued(stream: &impl AsFd, which: libc::Ioctl) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int.
    let done = unsafe { libc::ioctl(stream.as_fd().as_raw_fd(), which, &raw mut bytes) };
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

/// Writes to `stream` what is the beginning of something longer: the kernel waits for more before it sends the last packet
/// (`MSG_MORE`).
///
/// # Errors
/// As `sendmsg(2)`.
pub fn write_beginning(stream: &impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
    SockRef::from(stream).send_vectored_with_flags(pieces, flags)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_kernel_counts_how_long_a_reader_holds_a_writer() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_reader, _) = listener.accept().unwrap();
        assert_eq!(read(&writer).unwrap().receiver_limited_ns, 0);
        writer.set_nonblocking(true).unwrap();
        let began = Instant::now();
        // Once no more is taken, only the reader's window is full.
        let mut written = 0;
        while began.elapsed() < Duration::from_millis(300) {
            match writer.write(&[0; 65_536]) {
                Ok(bytes) => written += bytes as u64,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        let read = read(&writer).unwrap();
        assert!(read.receiver_limited_ns > read.busy_ns / 2, "{read:?}");
        // It counts in jiffies, of 10 ms at most.
        let waited_ns = began.elapsed().as_nanos() as u64;
        assert!(read.busy_ns <= waited_ns + 20_000_000, "{read:?} of {waited_ns}");
        assert!(read.sender_limited_ns < read.busy_ns / 2, "{read:?}");
        // What fits into no window is neither sent nor acknowledged; what the reader's kernel has is.
        let unacknowledged = unacknowledged(&writer).unwrap();
        assert_eq!(unacknowledged, unsent(&writer).unwrap());
        assert!(
            0 < unacknowledged && unacknowledged < written,
            "{unacknowledged} of {written}"
        );
    }
}
