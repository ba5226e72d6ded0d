//! Bodies of answers, written piece by piece. It must not know what they say.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;

/// Bytes of a piece, and how many of them wait for a client that takes them slowly.
const PIECE: usize = 64 << 10;
const WAITING: usize = 4;

/// Where pieces of a body are put in; the body ends when it is dropped.
pub type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// A body of pieces that are still to come.
pub fn pieces() -> (Pieces, Body) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (sender, Body::new(Flow { receiver }))
}

struct Flow {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
}

impl http_body::Body for Flow {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.receiver
            .poll_recv(context)
            .map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// A body that `write` writes on a thread beside, as fast as the client takes it: it is never whole in memory. When the
/// client is gone, so is the writing. What fails half way breaks the connection, so that nobody takes a part for the
/// whole.
pub fn written<E>(write: impl FnOnce(&mut dyn io::Write) -> Result<(), E> + Send + 'static) -> Body
where
    E: std::fmt::Display,
{
    let (pieces, body) = pieces();
    tokio::task::spawn_blocking(move || {
        let mut out = Writer {
            pieces,
            waiting: Vec::with_capacity(PIECE),
        };
        let result = write(&mut out).map_err(|error| error.to_string());
        let result = result.and_then(|()| io::Write::flush(&mut out).map_err(|error| error.to_string()));
        if let Err(error) = result {
            // When the client is gone, nobody reads the error.
            let _ = out.pieces.blocking_send(Err(io::Error::other(error)));
        }
    });
    body
}

struct Writer {
    pieces: Pieces,
    waiting: Vec<u8>,
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..taken]);
        if self.waiting.len() == PIECE {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.waiting, Vec::with_capacity(PIECE));
        self.pieces
            .blocking_send(Ok(piece.into()))
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
