//! Many datagrams in one system call (`recvmmsg`), merged ones (`UDP_GRO`) split again.

use std::io;
use std::os::fd::AsRawFd;

use crate::UdpSocket;
use crate::ancillary::{self, Ancillary, CONTROL_LENGTH, ControlBuffer};
use crate::udp::is_left_by_icmp;

/// Largest UDP payload, and so the largest merged run.
const BUFFER_LENGTH: usize = 65_536;

/// One received datagram, to be decrypted where it is.
#[derive(Debug)]
pub struct DatagramMut<'a> {
    /// Its payload.
    pub bytes: &'a mut [u8],
    /// Control data of its buffer; merged datagrams share one timestamp.
    pub ancillary: Ancillary,
}

/// One received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its payload.
    pub bytes: &'a [u8],
    /// Control data of its buffer; merged datagrams share one timestamp.
    pub ancillary: Ancillary,
}

/// Buffers for one `recvmmsg`, allocated once and reused.
pub struct ReceiveBatch {
    buffers: Vec<u8>,
    controls: Vec<ControlBuffer>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    filled: usize,
}

// SAFETY: the raw pointers inside point only into the vectors that the batch itself owns, and are set again
// before each call, so the batch may move between threads.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// A batch of up to `capacity` buffers of 64 KiB each (virtual: only touched pages take memory).
    pub fn new(capacity: usize) -> Self {
        // SAFETY: an all-zero mmsghdr and iovec are valid values of these plain C structs.
        let (part, header): (libc::iovec, libc::mmsghdr) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        ReceiveBatch {
            buffers: vec![0; capacity * BUFFER_LENGTH],
            controls: vec![ControlBuffer([0; CONTROL_LENGTH]); capacity],
            parts: vec![part; capacity],
            headers: vec![header; capacity],
            filled: 0,
        }
    }

    /// Reads the datagrams that `socket` has ready, without blocking; returns the number of buffers filled, 0 if there
    /// was none.
    ///
    /// # Errors
    /// As `recvmmsg(2)`, except `EAGAIN`, `EINTR`, and ICMP errors of earlier datagrams.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.filled = 0;
        for index in 0..self.headers.len() {
            self.parts[index].iov_base = self.buffers[index * BUFFER_LENGTH..].as_mut_ptr().cast();
            self.parts[index].iov_len = BUFFER_LENGTH;
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = std::ptr::null_mut();
            header.msg_namelen = 0;
            header.msg_iov = &mut self.parts[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_LENGTH as _;
            header.msg_flags = 0;
        }
        // SAFETY: each header points to one buffer and one control buffer of this batch, with their lengths.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(0),
                _ if is_left_by_icmp(&error) => Ok(0),
                _ => Err(error),
            };
        }
        self.filled = count as usize;
        Ok(self.filled)
    }

    /// The datagrams of the last [`ReceiveBatch::receive`], in order of arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.filled).flat_map(move |index| {
            let length = self.headers[index].msg_len as usize;
            let start = index * BUFFER_LENGTH;
            let bytes = &self.buffers[start..start + length.min(BUFFER_LENGTH)];
            // SAFETY: this header was filled by the last successful recvmmsg.
            let ancillary = unsafe { ancillary::parse(&self.headers[index].msg_hdr) };
            let segment = ancillary.segment.map_or(bytes.len(), usize::from).max(1);
            // An empty datagram is one, too.
            let empty = bytes.is_empty().then_some(bytes);
            bytes
                .chunks(segment)
                .chain(empty)
                .map(move |bytes| Datagram { bytes, ancillary })
        })
    }

    /// As [`datagrams`](Self::datagrams) except empty ones, for a caller that decrypts them where they are.
    pub fn datagrams_mut(&mut self) -> impl Iterator<Item = DatagramMut<'_>> {
        let buffers = self.buffers.chunks_exact_mut(BUFFER_LENGTH);
        let headers = &self.headers[..self.filled];
        buffers.zip(headers).flat_map(|(buffer, header)| {
            let length = (header.msg_len as usize).min(BUFFER_LENGTH);
            let bytes = &mut buffer[..length];
            // SAFETY: this header was filled by the last successful recvmmsg.
            let ancillary = unsafe { ancillary::parse(&header.msg_hdr) };
            let segment = ancillary.segment.map_or(length, usize::from).max(1);
            bytes
                .chunks_mut(segment)
                .map(move |bytes| DatagramMut { bytes, ancillary })
        })
    }
}
