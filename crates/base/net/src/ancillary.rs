//! Control messages that come with a datagram: timestamps, TTL, congestion mark, segment size.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::clock::timespec_ns;

/// Space for all requested control messages (timestamps, TTL, segment size, extended error).
pub(crate) const CONTROL_LENGTH: usize = 256;

/// The two bits of ECN in the type of service or traffic class (RFC 3168, section 5).
const ECN_MASK: u8 = 0b11;
/// Not capable of ECN.
const NOT_ECT: u8 = 0b00;
/// Congestion experienced.
const ECN_CE: u8 = 0b11;
/// ECN-capable transport, as senders set it that do not ask for L4S (RFC 9331).
pub(crate) const ECT_0: u8 = 0b10;

/// A control buffer, aligned for `cmsghdr`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct ControlBuffer(pub [u8; CONTROL_LENGTH]);

/// Control data of one received buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// Time-to-live or hop limit at arrival.
    pub ttl: Option<u8>,
    /// The router's congestion mark (ECN codepoint CE, RFC 3168), if requested.
    pub congestion: bool,
    /// The sender, or a router after it, says that the datagram is not capable of ECN (codepoint Not-ECT), if requested.
    pub not_ecn_capable: bool,
    /// Local destination address, if requested.
    pub local: Option<IpAddr>,
    /// Software timestamp of the kernel, Unix nanoseconds.
    pub kernel_ns: Option<u64>,
    /// Timestamp of the network card in its own clock, nanoseconds.
    pub hardware_ns: Option<u64>,
    /// Length of each datagram except the last if several were merged (`UDP_GRO`).
    pub segment: Option<u16>,
    /// For a transmit timestamp: number of its datagram at the socket, from 0. Kernels differ in whether a
    /// failed send counts.
    pub transmit_id: Option<u32>,
}

/// Reads the control messages of a received `msghdr`.
///
/// # Safety
/// `header` must come from a successful `recvmsg` or `recvmmsg` with a valid control buffer still alive.
pub(crate) unsafe fn parse(header: &libc::msghdr) -> Ancillary {
    let mut found = Ancillary::default();
    // SAFETY: the caller vouches for the header; the CMSG macros stay inside `msg_controllen`.
    let mut cursor = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !cursor.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return only headers that lie wholly in the buffer.
        let (level, kind, data) =
            unsafe { ((*cursor).cmsg_level, (*cursor).cmsg_type, libc::CMSG_DATA(cursor)) };
        // SAFETY: as above; CMSG_LEN is arithmetic.
        let length = unsafe { (*cursor).cmsg_len as usize - libc::CMSG_LEN(0) as usize };
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR keep `length` bytes of data inside the buffer.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        read_one(&mut found, level, kind, data);
        // SAFETY: as above.
        cursor = unsafe { libc::CMSG_NXTHDR(header, cursor) };
    }
    found
}

/// The first bytes of a control message as the type that the kernel writes for its level and type; none if it
/// was truncated.
fn read<T: KernelType>(data: &[u8]) -> Option<T> {
    if data.len() < std::mem::size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, read unaligned, and every pattern of bits is a value of a `KernelType`.
    Some(unsafe { data.as_ptr().cast::<T>().read_unaligned() })
}

/// Plain integers, or structures of them.
trait KernelType: Copy {}
impl KernelType for u8 {}
impl KernelType for libc::c_int {}
impl KernelType for libc::timespec {}
impl KernelType for [libc::timespec; 3] {}
impl KernelType for libc::sock_extended_err {}
impl KernelType for libc::in_pktinfo {}
impl KernelType for libc::in6_pktinfo {}

impl Ancillary {
    fn read_ecn(&mut self, field: Option<u8>) {
        let ecn = field.map(|field| field & ECN_MASK);
        self.congestion = ecn == Some(ECN_CE);
        self.not_ecn_capable = ecn == Some(NOT_ECT);
    }
}

fn read_one(found: &mut Ancillary, level: i32, kind: i32, data: &[u8]) {
    match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
            if let Some(times) = read::<[libc::timespec; 3]>(data) {
                found.kernel_ns = timespec_ns(&times[0]);
                found.hardware_ns = timespec_ns(&times[2]);
            }
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
            found.kernel_ns = read(data).and_then(|time| timespec_ns(&time));
        }
        (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
            found.ttl = read::<libc::c_int>(data).and_then(|ttl| u8::try_from(ttl).ok());
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => {
            found.read_ecn(read::<u8>(data));
        }
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            // The lowest eight bits are the traffic class.
            found.read_ecn(read::<libc::c_int>(data).map(|field| field as u8));
        }
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            found.local = read::<libc::in_pktinfo>(data)
                .map(|info| Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into());
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            found.local =
                read::<libc::in6_pktinfo>(data).map(|info| Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
        }
        (libc::SOL_UDP, libc::UDP_GRO) => {
            found.segment = read::<libc::c_int>(data).and_then(|length| u16::try_from(length).ok());
        }
        (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
            found.transmit_id = read::<libc::sock_extended_err>(data)
                .filter(|error| error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING)
                .map(|error| error.ee_data);
        }
        _ => {}
    }
}

/// A control message that sets the source address of a datagram to `address`, which must be this host's.
pub(crate) fn leave_from(header: &mut libc::msghdr, control: &mut ControlBuffer, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr {
                    s_addr: u32::from(address).to_be(),
                },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            write(header, control, libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        IpAddr::V6(address) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr {
                    s6_addr: address.octets(),
                },
                ipi6_ifindex: 0,
            };
            write(header, control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
    }
}

/// Makes `value` the only control message of `header`, stored in `control`, which must outlive it.
fn write<T: KernelType>(
    header: &mut libc::msghdr,
    control: &mut ControlBuffer,
    level: i32,
    kind: i32,
    value: T,
) {
    let length = std::mem::size_of::<T>() as u32;
    header.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN are arithmetic. The buffer is aligned for a `cmsghdr` and longer than the space of
    // one with a `KernelType`, so that CMSG_FIRSTHDR gives its start and the data lies inside.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(length) as _;
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
    }
}
