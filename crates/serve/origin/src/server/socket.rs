//! A client's socket, held by its connection and within reach of whoever makes an answer for it, TLS or not: what the
//! kernel is to do for one answer, such as a pace rate, is set there. It must not know what is said on it.

use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use weir_net::arena::Arena;
use weir_net::tcp;

use weir_pacing::{Burst, Progress, TcpRate};

/// The maximum segment size where the kernel does not say.
const USUAL_MSS: u32 = 1448;

/// A socket of which there may be several handles; one of them reads and writes.
#[derive(Clone, Debug)]
pub struct Socket {
    stream: Arc<TcpStream>,
    peer: SocketAddr,
    sending: Arc<Sending>,
    /// What is written of it is sent without a copy.
    arena: Option<Arc<Arena>>,
}

/// How much of what was written the client's kernel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes written to the socket.
    pub written: u64,
    /// How often all that was to be written was written.
    pub flushes: u64,
    /// Of the bytes written, those that were acknowledged.
    pub bytes: u64,
}

/// What was sent, and how to send.
#[derive(Debug, Default)]
struct Sending {
    written: AtomicU64,
    flushes: AtomicU64,
    /// Packets that are written at once while there is a rate; 0 is no bound.
    burst: AtomicU32,
    /// The next write is a packet of its own.
    alone: AtomicBool,
    /// Somebody waits for the next flush.
    awaited: AtomicBool,
    flushed: Notify,
    /// The end of the connection was sent.
    is_shut: AtomicBool,
}

impl Socket {
    /// A connection that was just taken. Small answers leave at once; a client that takes nothing of what was sent is
    /// given up by the kernel after `stalled`. What is in `arena` is sent without a copy.
    pub fn new(
        stream: TcpStream,
        peer: SocketAddr,
        stalled: Duration,
        arena: Option<Arc<Arena>>,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_user_timeout(Some(stalled))?;
        Ok(Socket {
            stream: Arc::new(stream),
            peer,
            sending: Arc::default(),
            arena,
        })
    }

    /// Has the kernel send what is written at this rate at most, in bursts that are no longer than this, or as fast as
    /// the network carries it.
    pub fn set_rate(&self, rate: Option<TcpRate>, burst: Burst, rises: bool) -> io::Result<()> {
        tcp::set_max_pacing_rate(&self.stream, rate.map_or(tcp::UNPACED, |rate| rate.0))?;
        let packets = rate.and_then(|rate| {
            let min_rtt = tcp::min_rtt(&self.stream).ok().flatten();
            burst.packets(rate, self.mss(), min_rtt)
        });
        self.sending.burst.store(packets.unwrap_or(0), Ordering::Relaxed);
        // The kernel learns a higher rate with the next acknowledgement, and waits after each send as long as that took
        // before: so the first is a short one.
        self.sending.alone.store(rises, Ordering::Relaxed);
        Ok(())
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            // Of a socket that cannot be asked, nothing is left.
            unsent: tcp::unsent(&self.stream).unwrap_or(0),
            written: self.sending.written.load(Ordering::Relaxed),
            flushes: self.sending.flushes.load(Ordering::Relaxed),
        }
    }

    /// How much of it the client has.
    pub fn acknowledged(&self) -> Acknowledged {
        let written = self.sending.written.load(Ordering::Relaxed);
        // Of a socket that cannot be asked, nothing is known to have arrived.
        let left = tcp::unacknowledged(&self.stream).unwrap_or(u64::MAX);
        // The end counts as a byte.
        let left = left.saturating_sub(self.sending.is_shut.load(Ordering::Relaxed).into());
        Acknowledged {
            written,
            flushes: self.sending.flushes.load(Ordering::Relaxed),
            bytes: written.saturating_sub(left),
        }
    }

    /// Waits until all that was to be written has been.
    pub async fn flushed(&self) {
        self.sending.awaited.store(true, Ordering::Relaxed);
        self.sending.flushed.notified().await;
    }

    /// The most that a packet carries, bytes.
    pub fn mss(&self) -> u32 {
        SockRef::from(&*self.stream).tcp_mss().unwrap_or(USUAL_MSS)
    }

    /// Who is at the other end.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Copies what has come to `buffer` and leaves it there to be read; waits until there is something. Nothing is the
    /// end.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.peek(buffer).await
    }

    /// Waits until the client has ended its side; what it still says is thrown away.
    pub async fn ended_by_client(&self) {
        let mut thrown_away = [0; 256];
        while self.stream.readable().await.is_ok() {
            match self.stream.try_read(&mut thrown_away) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }

    fn poll_try(&self, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.try_write(pieces) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(written) => {
                    self.sending.written.fetch_add(written as u64, Ordering::Relaxed);
                    return Poll::Ready(Ok(written));
                }
                failed => return Poll::Ready(failed),
            }
        }
    }

    fn try_write_unpaced(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(arena) = &self.arena
            && let Some(kept) = pieces.iter().position(|piece| arena.holds(piece))
        {
            let (before, kept) = (&pieces[..kept], &pieces[kept]);
            return self
                .stream
                .try_io(Interest::WRITABLE, || self.write_and_send(before, arena, kept));
        }
        self.stream.try_write_vectored(pieces)
    }

    /// Writes pieces, and sends one that is kept behind them.
    fn write_and_send(&self, before: &[IoSlice<'_>], arena: &Arena, kept: &[u8]) -> io::Result<usize> {
        let length: usize = before.iter().map(|piece| piece.len()).sum();
        if length > 0 {
            let written = tcp::write_beginning(&self.stream, before)?;
            if written < length {
                return Ok(written);
            }
        }
        match arena.send(&self.stream, kept) {
            Ok(sent) => Ok(length + sent),
            // What stands before it is written.
            Err(_) if length > 0 => Ok(length),
            failed => failed,
        }
    }

    fn try_write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let alone = self.sending.alone.load(Ordering::Relaxed);
        let packets = if alone {
            1
        } else {
            self.sending.burst.load(Ordering::Relaxed)
        };
        if packets == 0 {
            return self.try_write_unpaced(pieces);
        }
        let most = packets.saturating_mul(self.mss()) as usize;
        let begin = beginning(pieces, most);
        let written = self
            .stream
            .try_io(Interest::WRITABLE, || tcp::write_apart(&self.stream, &begin))?;
        if alone {
            self.sending.alone.store(false, Ordering::Relaxed);
        }
        Ok(written)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            let room = buffer.remaining();
            let mut has_read = None;
            let tried = self.stream.try_io(Interest::READABLE, || {
                // Without filling with zeroes what will be written over.
                let read = self.stream.try_read_buf(buffer)?;
                has_read = Some(read);
                // What fills no buffer was all: the next read waits, without asking the kernel whether it has to.
                match read > 0 && read < room {
                    true => Err(io::ErrorKind::WouldBlock.into()),
                    false => Ok(()),
                }
            });
            match (has_read, tried) {
                (Some(_), _) => return Poll::Ready(Ok(())),
                (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                _ => {}
            }
        }
    }
}

/// The first `most` bytes of these pieces.
fn beginning<'a>(pieces: &'a [IoSlice<'_>], most: usize) -> Vec<IoSlice<'a>> {
    let mut left = most;
    let mut begin = Vec::new();
    for piece in pieces {
        let length = piece.len().min(left);
        begin.push(IoSlice::new(&piece[..length]));
        left -= length;
        if left == 0 {
            break;
        }
    }
    begin
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_try(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_try(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sending.flushes.fetch_add(1, Ordering::Relaxed);
        if self.sending.awaited.load(Ordering::Relaxed) {
            self.sending.awaited.store(false, Ordering::Relaxed);
            self.sending.flushed.notify_one();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sending.is_shut.store(true, Ordering::Relaxed);
        Poll::Ready(SockRef::from(&*self.stream).shutdown(Shutdown::Write))
    }
}
