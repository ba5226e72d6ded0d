//! rtnetlink(7): changes of an interface that `ioctl` reserves for the host's root, or does not support, and lists.

use std::io;
use std::net::Ipv6Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::calls::result;

/// `nlmsghdr`.
const HEADER: usize = 16;
/// `nlmsghdr` and the error number of an answer.
const ANSWER: usize = HEADER + 4;

/// Bytes of the longest datagram of a list (`NLMSG_GOODSIZE` grows to 32 KiB).
const LONGEST_DUMP: usize = 1 << 16;

/// Attribute of a pair's data that describes its peer (`VETH_INFO_PEER`).
const VETH_INFO_PEER: u16 = 1;

/// A request being written.
struct Request(Vec<u8>);

/// Appends an attribute, whose value is a multiple of 4 bytes long.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
}

impl Request {
    /// A request with the fixed part of `kind`.
    fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&1_u32.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(fixed);
        Request(bytes)
    }

    /// Adds an attribute, whose value is a multiple of 4 bytes long.
    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        append(&mut self.0, kind, value);
        self
    }

    /// Sends it and reads the answer, in the calling thread's namespace.
    fn carry_out(mut self) -> io::Result<()> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        let socket = open()?;
        let mut answer = [0; 1024];
        // SAFETY: both buffers are valid for their lengths. A socket that is connected to nobody sends to the kernel.
        let length = unsafe {
            let sent = libc::send(socket.as_raw_fd(), self.0.as_ptr().cast(), self.0.len(), 0);
            if sent < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
        };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        judge(&answer[..length])
    }
}

/// A socket for requests, in the calling thread's namespace.
fn open() -> io::Result<OwnedFd> {
    // SAFETY: socket takes no pointers; a non-negative result is a new descriptor that we own.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
        result(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Asks for all that the kernel has of `kind`, and gives each message, header and all, to `take`.
pub(crate) fn dump(kind: u16, fixed: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
    // Without NLM_F_ACK: the end of the list is the answer.
    let mut request = Request::new(kind, libc::NLM_F_DUMP, fixed).0;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    let length = request.len() as u32;
    request[..4].copy_from_slice(&length.to_ne_bytes());
    let socket = open()?;
    // SAFETY: the buffer is valid for its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut buffer = vec![0; LONGEST_DUMP];
    loop {
        // SAFETY: the buffer is valid for its length.
        let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if !messages(&buffer[..length], &mut take)? {
            return Ok(());
        }
    }
}

/// Gives each message of a datagram to `take`; whether more datagrams follow.
fn messages(mut datagram: &[u8], take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while let Some(header) = datagram.get(..HEADER) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = i32::from(u16::from_ne_bytes([header[4], header[5]]));
        let Some(message) = datagram.get(..length.max(HEADER)) else {
            return Err(io::Error::other("cannot parse the kernel's answer"));
        };
        match kind {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => return judge(message).map(|()| false),
            _ => take(message),
        }
        datagram = datagram
            .get(message.len().next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(true)
}

/// The result in the kernel's answer.
fn judge(answer: &[u8]) -> io::Result<()> {
    let unreadable = || io::Error::other("cannot parse the kernel's answer");
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok());
    let error = answer.get(16..ANSWER).and_then(|bytes| bytes.try_into().ok());
    let (Some(kind), Some(error)) = (kind, error) else {
        return Err(unreadable());
    };
    if i32::from(u16::from_ne_bytes(kind)) != libc::NLMSG_ERROR {
        return Err(unreadable());
    }
    match i32::from_ne_bytes(error) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
    }
}

/// Sets the transmit queue length of the interface with this index, packets.
pub(crate) fn set_queue_length(index: i32, packets: u32) -> io::Result<()> {
    // ifinfomsg: family, type, index, flags, mask.
    let mut fixed = [0; 16];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Request::new(libc::RTM_NEWLINK, 0, &fixed)
        .attribute(libc::IFLA_TXQLEN, &packets.to_ne_bytes())
        .carry_out()
}

/// Adds an IPv6 address to the interface with this index, without duplicate address detection.
pub(crate) fn add_ipv6(index: i32, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
    // ifaddrmsg: family, length of the prefix, flags, scope, index.
    let mut fixed = [0; 8];
    fixed[0] = libc::AF_INET6 as u8;
    fixed[1] = prefix;
    fixed[2] = libc::IFA_F_NODAD as u8;
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed)
        .attribute(libc::IFA_LOCAL, &address.octets())
        .attribute(libc::IFA_ADDRESS, &address.octets())
        .carry_out()
}

/// Creates a pair of virtual Ethernet interfaces: `name` in the calling thread's namespace, `peer` in the one that the
/// descriptor refers to. Names end with a zero.
pub(crate) fn add_veth(
    name: &[u8; libc::IFNAMSIZ],
    peer: &[u8; libc::IFNAMSIZ],
    namespace: RawFd,
) -> io::Result<()> {
    // ifinfomsg, as in set_queue_length.
    let fixed = [0; 16];
    let mut end = fixed.to_vec();
    append(&mut end, libc::IFLA_IFNAME, peer);
    append(&mut end, libc::IFLA_NET_NS_FD, &namespace.to_ne_bytes());
    let mut data = Vec::new();
    append(&mut data, VETH_INFO_PEER, &end);
    let mut info = Vec::new();
    append(&mut info, libc::IFLA_INFO_KIND, b"veth");
    append(&mut info, libc::IFLA_INFO_DATA, &data);
    Request::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed)
        .attribute(libc::IFLA_IFNAME, name)
        .attribute(libc::IFLA_LINKINFO, &info)
        .carry_out()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reads_the_requests() {
        // There is no such interface, or this user may not change any.
        let expected = [libc::ENODEV, libc::EPERM, libc::EINVAL, libc::EBADF];
        let errors = [
            set_queue_length(i32::MAX, 10).unwrap_err(),
            add_ipv6(i32::MAX, Ipv6Addr::LOCALHOST, 64).unwrap_err(),
            add_veth(b"weir-test-end-1\0", b"weir-test-end-2\0", -1).unwrap_err(),
        ];
        for error in errors {
            assert!(expected.contains(&error.raw_os_error().unwrap()), "{error}");
        }
        assert!(judge(&[0; 19]).is_err() && judge(&[0; 20]).is_err());
    }
}
