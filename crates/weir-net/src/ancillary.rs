//! Control messages that come with a datagram: timestamps, TTL, segment size.

use crate::clock::timespec_ns;

/// Room for all control messages that are asked for (timestamps, TTL, segment size, extended error).
pub(crate) const CONTROL_LENGTH: usize = 256;

/// A control buffer, aligned as `cmsghdr` demands.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct ControlBuffer(pub [u8; CONTROL_LENGTH]);

/// What the kernel told about one received buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// Time-to-live or hop limit at arrival.
    pub ttl: Option<u8>,
    /// Software timestamp of the kernel, Unix nanoseconds.
    pub kernel_ns: Option<u64>,
    /// Timestamp of the network card in its own clock, nanoseconds.
    pub hardware_ns: Option<u64>,
    /// Length of each datagram but the last when several were merged (`UDP_GRO`).
    pub segment: Option<u16>,
    /// For a transmit timestamp: which datagram of the socket it belongs to, from 0. Kernels differ in whether a
    /// send that failed counts.
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

/// The first bytes of a control message as the type that the kernel writes for its level and type; none if the
/// kernel cut it short.
fn read<T: KernelType>(data: &[u8]) -> Option<T> {
    if data.len() < std::mem::size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, read unaligned, and every pattern of bits is a value of a `KernelType`.
    Some(unsafe { data.as_ptr().cast::<T>().read_unaligned() })
}

/// Plain integers, or structures of them.
trait KernelType: Copy {}
impl KernelType for libc::c_int {}
impl KernelType for libc::timespec {}
impl KernelType for [libc::timespec; 3] {}
impl KernelType for libc::sock_extended_err {}

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
