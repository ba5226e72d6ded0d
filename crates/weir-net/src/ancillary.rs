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
    /// For a transmit timestamp: which datagram of the socket it belongs to, from 0.
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
        // SAFETY: `cmsg_len` bounds the data; each read below is of the type that the kernel writes for this
        // level and type, unaligned.
        unsafe { read_one(&mut found, level, kind, data) };
        // SAFETY: as above.
        cursor = unsafe { libc::CMSG_NXTHDR(header, cursor) };
    }
    found
}

unsafe fn read_one(found: &mut Ancillary, level: i32, kind: i32, data: *const u8) {
    // SAFETY: see `parse`.
    unsafe {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                let times = data.cast::<[libc::timespec; 3]>().read_unaligned();
                found.kernel_ns = timespec_ns(&times[0]);
                found.hardware_ns = timespec_ns(&times[2]);
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                found.kernel_ns = timespec_ns(&data.cast::<libc::timespec>().read_unaligned());
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                found.ttl = u8::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                found.segment = u16::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                    found.transmit_id = Some(error.ee_data);
                }
            }
            _ => {}
        }
    }
}
