//! Many datagrams in one system call (`sendmmsg`), consecutive ones of one flow as a train that the kernel or
//! the network card segments (`UDP_SEGMENT`). Headers and payload are gathered, never copied here.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use socket2::SockAddr;

use crate::UdpSocket;

/// Maximum datagrams in one train: the kernel's `UDP_MAX_SEGMENTS` on every version since 4.18.
const TRAIN_PACKETS: usize = 64;
/// Maximum bytes in one train: a UDP payload, less room for headers.
const TRAIN_BYTES: usize = 65_000;
/// Retries of a send for lack of buffer space before its packets count as refused.
const ROOM_RETRIES: u32 = 50;

/// Maximum length of a header before the payload.
pub const MAX_HEADER: usize = 64;

/// Result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOutcome {
    /// Packets accepted by the kernel.
    pub packets: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Messages, a train counting as one.
    pub sends: u64,
    /// Packets refused for lack of buffer space, after retries.
    pub refused: u64,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct SegmentControl([u8; 24]);

/// A packet to send. The kernel gathers its two parts.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Index of the destination.
    pub destination: usize,
    /// Its first bytes.
    pub header: &'a [u8],
    /// Its other bytes.
    pub body: &'a [u8],
}

impl Outgoing<'_> {
    fn length(&self) -> usize {
        self.header.len() + self.body.len()
    }
}

/// Sends packets from any memory, in order.
pub struct Trains {
    destinations: Vec<SockAddr>,
    parts: Vec<libc::iovec>,
    controls: Vec<SegmentControl>,
    messages: Vec<libc::mmsghdr>,
    /// Packets and bytes in each message.
    sizes: Vec<(u32, u32)>,
    segments: bool,
}

// SAFETY: the raw pointers inside are set again in each call, from what the call borrows and from vectors that the
// value itself owns, and are not followed after it.
unsafe impl Send for Trains {}

impl Trains {
    /// A sender towards `destinations`. With `segments` off, or once the kernel or device has refused a train, each
    /// packet is a message of its own.
    pub fn new(destinations: &[SocketAddr], segments: bool) -> Self {
        Trains {
            destinations: destinations.iter().copied().map(SockAddr::from).collect(),
            parts: Vec::new(),
            controls: Vec::new(),
            messages: Vec::new(),
            sizes: Vec::new(),
            segments,
        }
    }

    /// Whether trains are in use.
    pub fn segments(&self) -> bool {
        self.segments
    }

    /// Sends `count` packets, where `packet` returns the packet of an index; waits for space in the socket buffer.
    ///
    /// # Errors
    /// As `sendmmsg(2)`: `EMSGSIZE` when a single packet does not fit the interface. Packets sent before the
    /// error are on the network.
    ///
    /// # Panics
    /// When a packet has an unknown destination: an error of the caller.
    pub fn send<'a>(
        &mut self,
        socket: &UdpSocket,
        count: usize,
        packet: impl Fn(usize) -> Outgoing<'a>,
    ) -> io::Result<SendOutcome> {
        let mut outcome = SendOutcome::default();
        let mut first = 0;
        while first < count {
            self.assemble(first, count, &packet);
            first += self.send_messages(socket, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Lays out messages for all packets from `first` on.
    fn assemble<'a>(&mut self, first: usize, count: usize, packet: &impl Fn(usize) -> Outgoing<'a>) {
        self.parts.clear();
        self.messages.clear();
        self.sizes.clear();
        let left = count - first;
        self.parts.reserve(2 * left);
        self.controls
            .resize(self.controls.len().max(left), SegmentControl([0; 24]));
        for index in first..count {
            let Outgoing { header, body, .. } = packet(index);
            // The kernel only reads what these point to.
            for part in [header, body] {
                self.parts.push(libc::iovec {
                    iov_base: part.as_ptr().cast_mut().cast(),
                    iov_len: part.len(),
                });
            }
        }
        let mut start = first;
        while start < count {
            let end = if self.segments {
                train_end(start, count, packet)
            } else {
                start + 1
            };
            let destination = packet(start).destination;
            self.push_message((first, start, end), destination);
            start = end;
        }
    }

    fn push_message(&mut self, (first, start, end): (usize, usize, usize), destination: usize) {
        let parts = &mut self.parts[2 * (start - first)..2 * (end - first)];
        let bytes: usize = parts.iter().map(|part| part.iov_len).sum();
        let destination = &self.destinations[destination];
        // SAFETY: an all-zero mmsghdr is valid; the pointers set here stay valid until the vectors change,
        // which is after the call that uses them.
        let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let header = &mut message.msg_hdr;
        header.msg_name = destination.as_ptr().cast_mut().cast();
        header.msg_namelen = destination.len();
        header.msg_iov = parts.as_mut_ptr();
        header.msg_iovlen = parts.len() as _;
        if end - start > 1 {
            let segment = parts[0].iov_len + parts[1].iov_len;
            let control = &mut self.controls[self.messages.len()];
            header.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: `control` is 24 aligned bytes: CMSG_SPACE of a u16.
            unsafe { write_segment_size(header, segment as u16) };
        }
        self.messages.push(message);
        self.sizes.push(((end - start) as u32, bytes as u32));
    }

    /// Sends the assembled messages until all are sent or trains must be disabled; returns the number of packets
    /// processed.
    fn send_messages(&mut self, socket: &UdpSocket, outcome: &mut SendOutcome) -> io::Result<usize> {
        let (mut next, mut done, mut tries) = (0, 0, 0);
        while next < self.messages.len() {
            // Not by the C library: musl's sendmmsg calls sendmsg for each message.
            // SAFETY: the messages point into vectors of this batch that do not change during the call. Padding, which the
            // kernel reads as upper halves of lengths, is zero.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_sendmmsg,
                    socket.as_raw_fd(),
                    self.messages[next..].as_mut_ptr(),
                    (self.messages.len() - next).min(1024) as libc::c_uint,
                    0,
                )
            };
            if count > 0 {
                for (packets, bytes) in &self.sizes[next..next + count as usize] {
                    outcome.packets += u64::from(*packets);
                    outcome.bytes += u64::from(*bytes);
                    done += *packets as usize;
                }
                outcome.sends += count as u64;
                next += count as usize;
                tries = 0;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::ENOBUFS | libc::EAGAIN) if tries < ROOM_RETRIES => {
                    tries += 1;
                    std::thread::yield_now();
                }
                Some(libc::ENOBUFS | libc::EAGAIN) => {
                    outcome.refused += u64::from(self.sizes[next].0);
                    done += self.sizes[next].0 as usize;
                    next += 1;
                    tries = 0;
                }
                // A closed port answers by ICMP; the loss shows up at the receiver's count.
                Some(libc::ECONNREFUSED) => {}
                Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP)
                    if self.segments && self.sizes[next].0 > 1 =>
                {
                    self.segments = false;
                    return Ok(done);
                }
                _ => return Err(error),
            }
        }
        Ok(done)
    }
}

/// One past the last packet that can leave in one train with packet `start`: same destination, same length except a
/// shorter last one.
fn train_end<'a>(start: usize, count: usize, packet: &impl Fn(usize) -> Outgoing<'a>) -> usize {
    let first = packet(start);
    let segment = first.length();
    let mut bytes = segment;
    let mut end = start + 1;
    while end < count && end - start < TRAIN_PACKETS {
        let next = packet(end);
        let length = next.length();
        let fits =
            next.destination == first.destination && length <= segment && bytes + length <= TRAIN_BYTES;
        if !fits {
            break;
        }
        bytes += length;
        end += 1;
        if length < segment {
            break;
        }
    }
    end
}

#[derive(Clone, Copy)]
struct Packet {
    destination: u16,
    header_length: u8,
    payload_length: u16,
}

/// Packets with separate headers and one shared payload, gathered for one call.
pub struct SendBatch {
    trains: Trains,
    payload: Vec<u8>,
    headers: Vec<[u8; MAX_HEADER]>,
    packets: Vec<Packet>,
}

impl SendBatch {
    /// A batch towards `destinations`, whose packets take their payload from the start of `payload`; `segments` as in
    /// [`Trains::new`].
    pub fn new(destinations: &[SocketAddr], payload: Vec<u8>, segments: bool) -> Self {
        SendBatch {
            trains: Trains::new(destinations, segments),
            payload,
            headers: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Whether trains are in use.
    pub fn segments(&self) -> bool {
        self.trains.segments()
    }

    /// Removes all packets, keeping the memory.
    pub fn clear(&mut self) {
        self.headers.clear();
        self.packets.clear();
    }

    /// Adds a packet of `header` and the first `payload_length` bytes of the payload, for the destination with
    /// that index.
    ///
    /// # Panics
    /// When `header` is longer than [`MAX_HEADER`], or there is no such destination or payload, or either number
    /// is above 65,535: an error of the caller.
    pub fn push(&mut self, destination: usize, header: &[u8], payload_length: usize) {
        assert!(destination < self.trains.destinations.len() && payload_length <= self.payload.len());
        assert!(destination <= usize::from(u16::MAX) && payload_length <= usize::from(u16::MAX));
        let mut slot = [0; MAX_HEADER];
        slot[..header.len()].copy_from_slice(header);
        self.headers.push(slot);
        self.packets.push(Packet {
            destination: destination as u16,
            header_length: header.len() as u8,
            payload_length: payload_length as u16,
        });
    }

    /// Sends all packets; waits for space in the socket buffer.
    ///
    /// # Errors
    /// As [`Trains::send`].
    pub fn send(&mut self, socket: &UdpSocket) -> io::Result<SendOutcome> {
        let (headers, packets, payload) = (&self.headers, &self.packets, &self.payload);
        self.trains.send(socket, packets.len(), |index| {
            let packet = packets[index];
            Outgoing {
                destination: packet.destination.into(),
                header: &headers[index][..packet.header_length.into()],
                body: &payload[..packet.payload_length.into()],
            }
        })
    }
}

/// Puts the `UDP_SEGMENT` control message into `header`.
///
/// # Safety
/// `header.msg_control` must point to at least `CMSG_SPACE(2)` aligned bytes.
unsafe fn write_segment_size(header: &mut libc::msghdr, segment: u16) {
    // SAFETY: the caller provides the space; the macros compute offsets inside it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(2) as _;
        let message = libc::CMSG_FIRSTHDR(header);
        (*message).cmsg_level = libc::SOL_UDP;
        (*message).cmsg_type = libc::UDP_SEGMENT;
        (*message).cmsg_len = libc::CMSG_LEN(2) as _;
        libc::CMSG_DATA(message).cast::<u16>().write_unaligned(segment);
    }
}
