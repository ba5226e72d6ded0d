//! A UDP socket with what measuring needs: whole datagrams (never fragmented, or the socket is not made), and, where
//! the kernel gives them, large buffers, TTL, timestamps and merging on receive.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use thiserror::Error;

use crate::ancillary::{self, Ancillary, CONTROL_LENGTH, ControlBuffer};

/// The datagram does not fit the interface.
pub const EMSGSIZE: i32 = libc::EMSGSIZE;
/// The kernel has no buffer for it.
pub const ENOBUFS: i32 = libc::ENOBUFS;
/// The host knows no addresses of this family.
pub const EAFNOSUPPORT: i32 = libc::EAFNOSUPPORT;
/// The host has no such address.
pub const EADDRNOTAVAIL: i32 = libc::EADDRNOTAVAIL;
const RECEIVE_TIMESTAMPS: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
/// Longest wait for the first timestamp. The kernel's work queue takes milliseconds; a host that takes longer has no
/// timestamps to give.
const TIMESTAMP_PATIENCE: Duration = Duration::from_secs(1);
/// How long a probe may take across loopback before the next one is sent.
const TIMESTAMP_PROBE: Duration = Duration::from_millis(5);

/// Keeps timestamps on until the process ends.
static TIMESTAMP_KEEPER: OnceLock<Option<UdpSocket>> = OnceLock::new();
/// Number of retries of a call for an error that an ICMP message left behind. Each attempt clears one.
const ICMP_TRIES: u32 = 4;

/// An ICMP message that answered an earlier datagram left this error at the socket: the next call reports it,
/// whatever that call is, and nothing is wrong with its own datagram (`udp(7)`). Whoever forges such messages must
/// not be able to end a test.
pub(crate) fn is_left_by_icmp(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENOPROTOOPT
                | libc::EPROTO
                | libc::EMSGSIZE
        )
    )
}

/// Makes `call` again while it reports what ICMP left behind.
fn past_icmp<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..ICMP_TRIES {
        match call() {
            Err(error) if is_left_by_icmp(&error) => {}
            done => return done,
        }
    }
    call()
}

/// A failed socket operation, with its object.
#[derive(Debug, Error)]
pub enum NetError {
    /// The operating system refused.
    #[error("{operation} {object}: {source}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl NetError {
    /// Wraps an I/O error with its operation and object.
    pub fn io(operation: &'static str, object: impl ToString, source: io::Error) -> Self {
        NetError::Io {
            operation,
            object: object.to_string(),
            source,
        }
    }
}

/// What to ask of a socket.
#[derive(Clone, Copy, Debug)]
pub struct UdpOptions {
    /// Receive buffer wanted, bytes of payload and overhead as the kernel counts them.
    pub receive_buffer: usize,
    /// Send buffer wanted, bytes.
    pub send_buffer: usize,
    /// Let the kernel merge datagrams of one flow on receive (`UDP_GRO`).
    pub merge_receive: bool,
    /// Timestamp every received datagram in the kernel. The first socket of a process that requests them waits, for a
    /// second at most, until the kernel gives them.
    pub receive_timestamps: bool,
    /// Timestamp every sent datagram in the kernel, read through [`UdpSocket::transmit_timestamp`].
    pub transmit_timestamps: bool,
    /// Tell at which of the host's addresses each datagram came ([`Ancillary::local`]), for a socket that is bound to
    /// all of them.
    pub local_addresses: bool,
    /// Mark sent datagrams as capable of ECN (ECT(0)), so that routers may mark them instead of dropping them, and tell
    /// the marks of received ones ([`Ancillary::congestion`]).
    pub ecn: bool,
}

impl Default for UdpOptions {
    fn default() -> Self {
        UdpOptions {
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            merge_receive: false,
            receive_timestamps: false,
            transmit_timestamps: false,
            local_addresses: false,
            ecn: false,
        }
    }
}

/// A bound UDP socket.
#[derive(Debug)]
pub struct UdpSocket {
    socket: Socket,
    local: SocketAddr,
    merges: bool,
}

impl UdpSocket {
    /// Binds a socket to `local` and applies `options`. Merging and timestamps are asked for and dropped where
    /// the kernel lacks them; [`UdpSocket::merges`] and [`UdpSocket::receive_buffer`] tell what was given.
    ///
    /// # Errors
    /// When the socket cannot be made or bound.
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, NetError> {
        Self::make(local, options, false)
    }

    /// Binds one more socket to the address and port of this one, for another thread that sends: threads that share a socket wait for
    /// each other in the kernel. What arrives at the port goes to either of them.
    ///
    /// # Errors
    /// As [`UdpSocket::bind`].
    pub fn beside(&self, options: &UdpOptions) -> Result<Self, NetError> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
            .map_err(|error| NetError::io("share the port of", self.local, error))?;
        Self::make(self.local, options, true)
    }

    fn make(local: SocketAddr, options: &UdpOptions, is_shared: bool) -> Result<Self, NetError> {
        let fail = |operation| move |source| NetError::io(operation, local, source);
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))
            .map_err(fail("open UDP socket for"))?;
        if local.is_ipv6() {
            socket
                .set_only_v6(true)
                .map_err(fail("configure UDP socket for"))?;
        }
        // Only for a port that a socket of this process has shared: the kernel gives a free port to nobody else.
        if is_shared {
            set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
                .map_err(fail("configure UDP socket for"))?;
        }
        socket
            .bind(&SockAddr::from(local))
            .map_err(fail("bind UDP socket to"))?;
        let local = socket
            .local_addr()
            .ok()
            .and_then(|address| address.as_socket())
            .ok_or_else(|| NetError::io("read address of", local, io::Error::other("not an IP socket")))?;
        let mut made = UdpSocket {
            socket,
            local,
            merges: false,
        };
        made.raise_buffers(options);
        made.forbid_fragments()
            .map_err(fail("forbid fragments of UDP socket"))?;
        made.merges = options.merge_receive && made.set(libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        made.ask_for_ttl();
        made.request_timestamps(options);
        if options.ecn {
            made.use_ecn().map_err(fail("request ECN of UDP socket"))?;
        }
        if options.local_addresses {
            made.ask_for_local_addresses()
                .map_err(fail("ask for the local addresses of UDP socket"))?;
        }
        Ok(made)
    }

    fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        set_option(self.as_raw_fd(), level, name, value)
    }

    fn raise_buffers(&self, options: &UdpOptions) {
        // The forced variants pass rmem_max and wmem_max and need CAP_NET_ADMIN; the plain ones are capped.
        // Neither failing is an error: what was given is read back and reported.
        let ask = |forced, plain, wanted: usize| {
            let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
            if self.set(libc::SOL_SOCKET, forced, wanted).is_err() {
                let _ = self.set(libc::SOL_SOCKET, plain, wanted);
            }
        };
        ask(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.receive_buffer);
        ask(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, options.send_buffer);
    }

    /// Sends datagrams whole with DF set and no path-MTU cache, so that what is asked for is what travels.
    fn forbid_fragments(&self) -> io::Result<()> {
        if self.local.is_ipv6() {
            self.set(
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            )
        } else {
            self.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
        }
    }

    fn ask_for_ttl(&self) {
        let _ = if self.local.is_ipv6() {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)
        } else {
            self.set(libc::IPPROTO_IP, libc::IP_RECVTTL, 1)
        };
    }

    fn use_ecn(&self) -> io::Result<()> {
        let ((level, field), receive) = if self.local.is_ipv6() {
            ((libc::IPPROTO_IPV6, libc::IPV6_TCLASS), libc::IPV6_RECVTCLASS)
        } else {
            ((libc::IPPROTO_IP, libc::IP_TOS), libc::IP_RECVTOS)
        };
        self.set(level, field, i32::from(ancillary::ECT_0))?;
        self.set(level, receive, 1)
    }

    fn ask_for_local_addresses(&self) -> io::Result<()> {
        if self.local.is_ipv6() {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)
        } else {
            self.set(libc::IPPROTO_IP, libc::IP_PKTINFO, 1)
        }
    }

    fn request_timestamps(&self, options: &UdpOptions) {
        let mut flags = 0;
        if options.receive_timestamps {
            wait_until_timestamps_are_given();
            flags |= RECEIVE_TIMESTAMPS;
        }
        if options.transmit_timestamps {
            flags |= libc::SOF_TIMESTAMPING_TX_SOFTWARE
                | libc::SOF_TIMESTAMPING_TX_HARDWARE
                | libc::SOF_TIMESTAMPING_OPT_ID
                | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        }
        if flags != 0 {
            // A kernel without them still measures: the caller sees which packets have one.
            let _ = self.set_timestamping(flags);
        }
    }

    /// Requests receive timestamps without waiting until the kernel gives them.
    pub(crate) fn request_receive_timestamps(&self) -> io::Result<()> {
        self.set_timestamping(RECEIVE_TIMESTAMPS)
    }

    fn set_timestamping(&self, flags: u32) -> io::Result<()> {
        let flags = flags | libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32)
    }

    /// Fixes the remote end, so that only its datagrams are received.
    ///
    /// # Errors
    /// When there is no route.
    pub fn connect(&self, remote: SocketAddr) -> Result<(), NetError> {
        self.socket
            .connect(&SockAddr::from(remote))
            .map_err(|source| NetError::io("connect UDP socket to", remote, source))
    }

    /// The address that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The kernel merges datagrams on receive.
    pub fn merges(&self) -> bool {
        self.merges
    }

    /// Receive buffer that the kernel granted, in its own count (twice the asked value on Linux).
    pub fn receive_buffer(&self) -> usize {
        self.socket.recv_buffer_size().unwrap_or(0)
    }

    /// TTL or hop limit of sent packets.
    ///
    /// # Errors
    /// When the kernel refuses the value.
    pub fn set_ttl(&self, ttl: u8) -> Result<(), NetError> {
        let done = if self.local.is_ipv6() {
            self.socket.set_unicast_hops_v6(u32::from(ttl))
        } else {
            self.socket.set_ttl_v4(u32::from(ttl))
        };
        done.map_err(|source| NetError::io("set TTL of", self.local, source))
    }

    /// Sends one datagram to the connected end.
    ///
    /// # Errors
    /// As `send(2)`; `EMSGSIZE` when it does not fit the interface. What ICMP said of earlier datagrams is passed
    /// over.
    pub fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        past_icmp(|| self.socket.send(datagram))
    }

    /// Sends one datagram to `remote`.
    ///
    /// # Errors
    /// As `sendto(2)`; `EMSGSIZE` when it does not fit the interface. What ICMP said of earlier datagrams is passed
    /// over.
    pub fn send_to(&self, datagram: &[u8], remote: SocketAddr) -> io::Result<usize> {
        let remote = SockAddr::from(remote);
        past_icmp(|| self.socket.send_to(datagram, &remote))
    }

    /// Sends one datagram to `remote` from `local`, one of this host's addresses of the socket's family.
    ///
    /// # Errors
    /// As `sendmsg(2)`; what ICMP said of earlier datagrams is passed over.
    pub fn send_from(&self, local: IpAddr, datagram: &[u8], remote: SocketAddr) -> io::Result<usize> {
        let remote = SockAddr::from(remote);
        let mut control = ControlBuffer([0; CONTROL_LENGTH]);
        let mut part = libc::iovec {
            iov_base: datagram.as_ptr().cast_mut().cast(),
            iov_len: datagram.len(),
        };
        // SAFETY: an all-zero msghdr is valid: it points to nothing.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_name = remote.as_ptr().cast_mut().cast();
        header.msg_namelen = remote.len();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        ancillary::leave_from(&mut header, &mut control, local);
        past_icmp(|| {
            // SAFETY: address, iovec, datagram and control buffer outlive the call, which only reads them.
            let sent = unsafe { libc::sendmsg(self.as_raw_fd(), &header, 0) };
            usize::try_from(sent).map_err(|_| io::Error::last_os_error())
        })
    }

    /// Receives one datagram into `buffer` without waiting; none when there is nothing.
    ///
    /// # Errors
    /// As `recvmsg(2)`; what ICMP said of datagrams sent earlier is passed over.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
        past_icmp(|| self.receive_with(buffer, libc::MSG_DONTWAIT))
    }

    /// Receives one datagram, waiting up to the time set with [`UdpSocket::set_receive_timeout`].
    ///
    /// # Errors
    /// As `recvmsg(2)`; what ICMP said of datagrams sent earlier is passed over.
    pub fn receive_blocking(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
        past_icmp(|| self.receive_with(buffer, 0))
    }

    /// How long [`UdpSocket::receive_blocking`] waits.
    ///
    /// # Errors
    /// As `setsockopt(2)`.
    pub fn set_receive_timeout(&self, timeout: std::time::Duration) -> Result<(), NetError> {
        self.socket
            .set_read_timeout(Some(timeout))
            .map_err(|source| NetError::io("set receive timeout of", self.local, source))
    }

    /// The next transmit timestamp that the kernel has ready; none when there is none.
    ///
    /// # Errors
    /// As `recvmsg(2)`.
    pub fn transmit_timestamp(&self) -> io::Result<Option<Ancillary>> {
        let mut nothing = [0_u8; 1];
        Ok(self
            .receive_with(&mut nothing, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)?
            .map(|(_, _, told)| told))
    }

    fn receive_with(
        &self,
        buffer: &mut [u8],
        flags: i32,
    ) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
        let mut control = ControlBuffer([0; CONTROL_LENGTH]);
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: the storage, iovec and control buffer outlive the call, and their lengths are passed with
        // them; `SockAddr::try_init` hands out storage of the length that it states.
        let received = unsafe {
            SockAddr::try_init(|storage, length| {
                let mut header: libc::msghdr = std::mem::zeroed();
                header.msg_name = storage.cast();
                header.msg_namelen = *length;
                header.msg_iov = &mut part;
                header.msg_iovlen = 1;
                header.msg_control = control.0.as_mut_ptr().cast();
                header.msg_controllen = CONTROL_LENGTH as _;
                let count = libc::recvmsg(self.as_raw_fd(), &mut header, flags);
                if count < 0 {
                    return Err(io::Error::last_os_error());
                }
                *length = header.msg_namelen;
                Ok((count as usize, ancillary::parse(&header)))
            })
        };
        match received {
            Ok(((count, told), address)) => {
                Ok(Some((count, address.as_socket().unwrap_or(self.local), told)))
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Datagrams (or merged runs of them) that the kernel has dropped at this socket since it was opened
    /// (`SO_MEMINFO`): for want of receive buffer, or because their checksum was wrong. The kernel counts in 32
    /// bits and wraps.
    pub fn receive_drops(&self) -> u64 {
        const SK_MEMINFO_VARS: usize = 9;
        const SK_MEMINFO_DROPS: usize = 8;
        let mut values = [0_u32; SK_MEMINFO_VARS];
        let mut length = std::mem::size_of_val(&values) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `values`.
        let done = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                values.as_mut_ptr().cast(),
                &mut length,
            )
        };
        if done == 0 {
            u64::from(values[SK_MEMINFO_DROPS])
        } else {
            0
        }
    }

    /// MTU of the route to the connected end as the kernel knows it now, bytes of IP packet.
    pub fn route_mtu(&self) -> Option<u32> {
        let (level, name) = if self.local.is_ipv6() {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU)
        } else {
            (libc::IPPROTO_IP, libc::IP_MTU)
        };
        let mut mtu: libc::c_int = 0;
        let mut length = std::mem::size_of_val(&mtu) as libc::socklen_t;
        // SAFETY: the kernel writes one int.
        let done = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                level,
                name,
                std::ptr::from_mut(&mut mtu).cast(),
                &mut length,
            )
        };
        if done == 0 { u32::try_from(mtu).ok() } else { None }
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

pub(crate) fn set_option<T: Copy>(fd: RawFd, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`, which lives through the call.
    let done = unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            std::ptr::from_ref(&value).cast(),
            std::mem::size_of::<T>() as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Waits until the kernel timestamps received packets. It switches timestamps on for the whole host when the first socket
/// asks for them, but from a work queue, so that packets that arrive in the first milliseconds have none; and off again
/// with the last such socket.
///
/// Returns after a second at most, or at once where loopback is down or a call before has waited. From then on the kernel
/// timestamps packets until the process ends.
fn wait_until_timestamps_are_given() {
    TIMESTAMP_KEEPER.get_or_init(|| {
        let addresses = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ];
        addresses.into_iter().find_map(timestamped)
    });
}

/// Sends a socket datagrams of its own until one has a timestamp.
fn timestamped(address: IpAddr) -> Option<UdpSocket> {
    let options = UdpOptions {
        receive_buffer: 1 << 14,
        send_buffer: 1 << 14,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(SocketAddr::new(address, 0), &options).ok()?;
    socket.request_receive_timestamps().ok()?;
    socket.connect(socket.local()).ok()?;
    socket.set_receive_timeout(TIMESTAMP_PROBE).ok()?;
    let deadline = Instant::now() + TIMESTAMP_PATIENCE;
    while Instant::now() < deadline {
        socket.send(&[0]).ok()?;
        let arrived = socket.receive_blocking(&mut [0; 1]).ok()?;
        if arrived.is_some_and(|(_, _, ancillary)| ancillary.kernel_ns.is_some()) {
            break;
        }
    }
    Some(socket)
}
