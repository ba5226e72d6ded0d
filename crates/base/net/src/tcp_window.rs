//! The window of a TCP connection, which is how much of it may be under way without an acknowledgement. The receiver's kernel
//! announces it, as far as its buffer allows, and grows that buffer by itself. It must not know what a window is set for.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::udp::set_option;

/// Largest window that TCP can announce, bytes (RFC 7323 section 2.3).
pub const LARGEST: u64 = 1 << 30;

/// Buffer for a window, as a multiple of it. The kernel doubles what it is asked for, and counts its overhead of a packet,
/// which is less than the packet.
const BUFFER_OF_WINDOW: u64 = 2;

/// An end's buffer: the options that set it, with and without the host's limit, and that limit.
struct Buffer {
    unlimited: i32,
    limited: i32,
    most: &'static str,
}

const RECEIVE: Buffer = Buffer {
    unlimited: libc::SO_RCVBUFFORCE,
    limited: libc::SO_RCVBUF,
    most: "/proc/sys/net/core/rmem_max",
};

const SEND: Buffer = Buffer {
    unlimited: libc::SO_SNDBUFFORCE,
    limited: libc::SO_SNDBUF,
    most: "/proc/sys/net/core/wmem_max",
};

impl Buffer {
    /// Makes room for a window of `bytes`. Where the host does not allow as much, the kernel goes on choosing the size, which
    /// then may become larger than what could be set (`tcp_rmem`, `tcp_wmem`).
    fn reserve(&self, stream: &impl AsFd, bytes: u64) -> io::Result<()> {
        let fd = stream.as_fd().as_raw_fd();
        let wanted = bytes.saturating_mul(BUFFER_OF_WINDOW);
        // The kernel doubles it in 32 bits.
        let value = i32::try_from(wanted).unwrap_or(i32::MAX).min(i32::MAX / 2);
        match set_option(fd, libc::SOL_SOCKET, self.unlimited, value) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
            done => return done,
        }
        let most = std::fs::read_to_string(self.most).ok();
        let most: u64 = most.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        if most < wanted {
            return Ok(());
        }
        set_option(fd, libc::SOL_SOCKET, self.limited, value)
    }
}

/// Makes room at the sender of `stream` for a window of `bytes`.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn reserve_to_send(stream: &impl AsFd, bytes: u64) -> io::Result<()> {
    SEND.reserve(stream, bytes)
}

/// Makes room at the receiver of `stream` for a window of `bytes`, and lets it announce no more, as [`clamp`] does.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn hold(stream: &impl AsFd, bytes: u64) -> io::Result<()> {
    RECEIVE.reserve(stream, bytes)?;
    clamp(stream, bytes)
}

/// Lets the receiver of `stream` announce a window of at most `bytes` from now on (`TCP_WINDOW_CLAMP`), rounded up to the scale of
/// the connection. The kernel may raise it again when it resizes the buffer or learns how large packets are, so that this is to
/// be called now and then; it never takes back what it has announced.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn clamp(stream: &impl AsFd, bytes: u64) -> io::Result<()> {
    let value = i32::try_from(bytes.min(LARGEST)).unwrap_or(i32::MAX);
    set_option(
        stream.as_fd().as_raw_fd(),
        libc::IPPROTO_TCP,
        libc::TCP_WINDOW_CLAMP,
        value,
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;
    use crate::tcp::read;

    #[test]
    fn a_reader_that_holds_its_window_comes_to_announce_no_more() {
        const WINDOW: u64 = 128 << 10;
        /// Windows are announced in steps of at most this much (RFC 7323 section 2.3).
        const STEP: u64 = 1 << 14;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        hold(&reader, WINDOW).unwrap();
        reserve_to_send(&writer, WINDOW).unwrap();
        assert!(read(&writer).unwrap().send_buffer_bytes >= 2 * WINDOW);
        let reading = std::thread::spawn(move || {
            let mut block = vec![0; 65_536];
            while reader.read(&mut block).unwrap() > 0 {
                clamp(&reader, WINDOW).unwrap();
            }
        });
        // What was announced before is not taken back: it takes some windows to get there.
        for _ in 0..200 {
            writer.write_all(&[0; 65_536]).unwrap();
        }
        let announced = read(&writer).unwrap().peer_window_bytes;
        assert!(announced <= WINDOW + STEP, "{announced}");
        drop(writer);
        reading.join().unwrap();
    }
}
