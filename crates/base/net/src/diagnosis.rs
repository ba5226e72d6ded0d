//! State of the TCP connections of a network namespace, from the kernel by sock_diag(7), as `ss -ti`
//! does, without help from the programs. It must not know what the connections carry.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::calls::result;

/// `nlmsghdr`.
const HEADER: usize = 16;
/// `inet_diag_msg`.
const MESSAGE: usize = 72;
/// `inet_diag_req_v2`.
const REQUEST: usize = 56;
/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// `INET_DIAG_INFO` and `INET_DIAG_CONG` (linux/inet_diag.h).
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
/// `TCP_ESTABLISHED` as a bit of a set of states (net/tcp_states.h).
const ESTABLISHED: u32 = 1 << 1;
/// Maximum length of one message of a dump, bytes.
const MOST_ANSWER: usize = 64 << 10;

/// One established connection. Counts are since it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpConnection {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Name of the congestion control.
    pub congestion_control: String,
    /// Smoothed round-trip time, nanoseconds.
    pub rtt_ns: u64,
    /// Minimum recent round-trip time, nanoseconds.
    pub min_rtt_ns: u64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Rate at which the kernel sends, payload bits per second; none without pacing.
    pub pacing_rate: Option<u64>,
    /// Recent delivery rate, payload bits per second.
    pub delivery_rate: u64,
    /// Payload bytes sent, including retransmissions.
    pub sent_bytes: u64,
    /// Retransmitted payload bytes.
    pub retransmitted_bytes: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Acknowledged payload bytes.
    pub acked_bytes: u64,
}

/// Queries the IPv4 connections of the namespace in which it was opened.
#[derive(Debug)]
pub struct TcpDiagnosis {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl TcpDiagnosis {
    /// For the calling thread's namespace.
    ///
    /// # Errors
    /// When the kernel has no sock_diag, or no descriptors are left.
    pub fn open() -> io::Result<Self> {
        // SAFETY: socket takes no pointers; a non-negative result is a new descriptor that we own.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
            result(fd)?;
            OwnedFd::from_raw_fd(fd)
        };
        Ok(TcpDiagnosis {
            socket,
            answer: vec![0; MOST_ANSWER],
        })
    }

    /// The established connections whose local port is this.
    ///
    /// # Errors
    /// When the kernel does not answer, or refuses.
    pub fn connections(&mut self, local_port: u16) -> io::Result<Vec<TcpConnection>> {
        let request = request(local_port);
        // SAFETY: the buffer is valid for its length. A socket that is connected to nobody sends to the kernel.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut found = Vec::new();
        loop {
            // SAFETY: the buffer is valid for its length.
            let length = unsafe {
                let answer = self.answer.as_mut_ptr().cast();
                libc::recv(self.socket.as_raw_fd(), answer, self.answer.len(), 0)
            };
            let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
            if read_answer(&self.answer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// A dump of established TCP connections over IPv4 with this local port.
fn request(local_port: u16) -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    let attributes = 1 << (INFO - 1) | 1 << (CONGESTION - 1);
    bytes.extend_from_slice(&[libc::AF_INET as u8, libc::IPPROTO_TCP as u8, attributes, 0]);
    bytes.extend_from_slice(&ESTABLISHED.to_ne_bytes());
    // inet_diag_sockid: ports in network order, then addresses, interface and cookie, all unspecified.
    bytes.extend_from_slice(&local_port.to_be_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

fn unreadable() -> io::Error {
    io::Error::other("cannot parse the kernel's answer about TCP connections")
}

/// Takes the connections of one answer; true if it was the last.
fn read_answer(mut answer: &[u8], found: &mut Vec<TcpConnection>) -> io::Result<bool> {
    while !answer.is_empty() {
        let length = u32_at(answer, 0).ok_or_else(unreadable)? as usize;
        let message = answer.get(..length).filter(|_| length >= HEADER);
        let message = message.ok_or_else(unreadable)?;
        match i32::from(u16_at(message, 4).ok_or_else(unreadable)?) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let error = u32_at(message, HEADER).ok_or_else(unreadable)?;
                return Err(io::Error::from_raw_os_error((error as i32).saturating_neg()));
            }
            kind if kind == i32::from(BY_FAMILY) => {
                found.extend(connection(message.get(HEADER..).ok_or_else(unreadable)?));
            }
            _ => {}
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Reads an `inet_diag_msg` with its attributes; none without TCP information.
fn connection(message: &[u8]) -> Option<TcpConnection> {
    let mut attributes = message.get(MESSAGE..)?;
    let (mut info, mut name) = (None, "");
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        match kind {
            INFO => info = Some(value),
            CONGESTION => name = text(value),
            _ => {}
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let info = info?;
    let number = |at| u32_at(info, at).map(u64::from);
    // An older kernel's message ends before newer fields: these stay unknown.
    let long = |at: usize| u64_at(info, at).unwrap_or(0);
    let pacing_rate = long(104);
    Some(TcpConnection {
        local: address(message, 4, 8)?,
        remote: address(message, 6, 24)?,
        congestion_control: name.to_owned(),
        rtt_ns: number(68)? * 1_000,
        min_rtt_ns: number(148).unwrap_or(0) * 1_000,
        cwnd_bytes: number(80)? * number(16)?,
        pacing_rate: (pacing_rate != u64::MAX && pacing_rate != u64::from(u32::MAX))
            .then(|| pacing_rate.saturating_mul(8)),
        delivery_rate: long(160).saturating_mul(8),
        sent_bytes: long(200),
        retransmitted_bytes: long(208),
        retransmits: number(100)?,
        acked_bytes: long(120),
    })
}

fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).unwrap_or_default()
}

fn address(message: &[u8], port_at: usize, address_at: usize) -> Option<SocketAddr> {
    let port: [u8; 2] = message.get(port_at..port_at + 2)?.try_into().ok()?;
    let octets: [u8; 4] = message.get(address_at..address_at + 4)?.try_into().ok()?;
    Some(SocketAddr::new(
        IpAddr::V4(Ipv4Addr::from(octets)),
        u16::from_be_bytes(port),
    ))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    use super::*;

    /// `getsockopt(TCP_INFO)` of the same connection.
    fn tcp_info(stream: &TcpStream) -> libc::tcp_info {
        // SAFETY: an all-zero tcp_info is valid; the kernel fills at most `length` bytes of it.
        unsafe {
            let mut info: libc::tcp_info = std::mem::zeroed();
            let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
            let pointer = std::ptr::from_mut(&mut info).cast();
            let done = libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                pointer,
                &mut length,
            );
            assert_eq!(done, 0);
            info
        }
    }

    fn wait_until(mut is_so: impl FnMut() -> bool) {
        let hangs = Instant::now() + Duration::from_secs(180);
        while !is_so() {
            assert!(Instant::now() < hangs);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_connection_is_as_its_own_socket_says() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        crate::tcp::set_max_pacing_rate(&server, 1_250_000).unwrap();
        server.write_all(&[7; 3_000]).unwrap();
        client.read_exact(&mut [0; 3_000]).unwrap();
        // Figures change until the last acknowledgement.
        wait_until(|| tcp_info(&server).tcpi_unacked == 0);

        let mut diagnosis = TcpDiagnosis::open().unwrap();
        let found = diagnosis.connections(port).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let (seen, info) = (&found[0], tcp_info(&server));
        assert_eq!(seen.local, server.local_addr().unwrap());
        assert_eq!(seen.remote, client.local_addr().unwrap());
        assert_eq!(
            seen.congestion_control,
            crate::tcp::read(&server).unwrap().congestion_control
        );
        assert_eq!(seen.rtt_ns, u64::from(info.tcpi_rtt) * 1_000);
        assert_eq!(
            seen.cwnd_bytes,
            u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss)
        );
        assert_eq!(seen.sent_bytes, 3_000);
        assert_eq!((seen.retransmitted_bytes, seen.retransmits), (0, 0));
        assert_eq!(seen.pacing_rate, Some(10_000_000));
        // The client's end has another local port.
        assert!(
            diagnosis
                .connections(client.local_addr().unwrap().port())
                .unwrap()
                .iter()
                .all(|seen| seen.sent_bytes == 0)
        );
        // The kernel ends a connection after the calls that close it.
        drop((client, server));
        wait_until(|| diagnosis.connections(port).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let mut found = Vec::new();
        for bytes in [vec![0_u8; 3], vec![0; 16], vec![255; 20], {
            let mut short = vec![200, 0, 0, 0];
            short.resize(40, 0);
            short
        }] {
            assert!(read_answer(&bytes, &mut found).is_err(), "{bytes:?}");
        }
        // A connection without TCP information.
        let mut bare = vec![0_u8; HEADER + MESSAGE];
        bare[0] = (HEADER + MESSAGE) as u8;
        bare[4] = BY_FAMILY as u8;
        assert!(!read_answer(&bare, &mut found).unwrap());
        assert_eq!(found, []);
    }
}
