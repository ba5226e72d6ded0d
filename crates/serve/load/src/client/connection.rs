//! One connection: a request goes out, its answer is read. A connection that waits holds no buffer: all of a thread read
//! into the same one.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::tls_stream::{self, TlsStream};
use crate::clock::monotonic_ns;
use crate::http::response::{ResponseError, ResponseReader};
use crate::measure::Cause;

/// Bytes that are taken at once.
const SCRATCH: usize = 256 << 10;
const _: () = assert!(SCRATCH >= tls_stream::RECORDS);

thread_local! {
    pub(super) static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into());
}

/// With or without TLS.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => stream.poll_read(context, buffer),
        }
    }

    pub(super) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => stream.poll_write(context, bytes),
        }
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Plain(_) => Poll::Ready(Ok(())),
            Stream::Tls(stream) => stream.poll_flush(context),
        }
    }
}

/// A connection that can take a request.
pub(super) struct Connection {
    stream: Stream,
    silence: Duration,
    /// Set again only when it fires, or lies in the past: most answers never touch it.
    timer: Pin<Box<Sleep>>,
    active: Instant,
    /// How many requests it has taken.
    pub used: u64,
}

impl Connection {
    pub fn new(stream: Stream, silence: Duration) -> Self {
        Connection {
            stream,
            silence,
            timer: Box::pin(sleep(silence)),
            active: Instant::now(),
            used: 0,
        }
    }

    /// Sends a request and reads its answer; gives the monotonic times of its first and last byte. After an error the
    /// connection is of no use.
    pub async fn exchange(
        &mut self,
        request: &[u8],
        reader: &mut ResponseReader,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<(u64, u64), Cause> {
        reader.begin();
        self.used += 1;
        self.active = Instant::now();
        let due = self.active + self.silence;
        if self.timer.deadline() < due {
            self.timer.as_mut().reset(due);
        }
        let mut left = request;
        poll_fn(|context| self.poll_send(context, &mut left)).await?;
        let mut first = 0;
        poll_fn(|context| self.poll_answer(context, reader, body, &mut first)).await?;
        Ok((first, monotonic_ns()))
    }

    fn poll_send(&mut self, context: &mut Context<'_>, left: &mut &[u8]) -> Poll<Result<(), Cause>> {
        while !left.is_empty() {
            match self.stream.poll_write(context, left) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Cause::Closed)),
                Poll::Ready(Ok(count)) => *left = &left[count..],
                Poll::Ready(Err(error)) => return Poll::Ready(Err(cause_of(&error, None))),
                Poll::Pending => return self.poll_silence(context),
            }
        }
        match self.stream.poll_flush(context) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(cause_of(&error, None))),
            Poll::Pending => self.poll_silence(context),
        }
    }

    fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
        reader: &mut ResponseReader,
        body: &mut dyn FnMut(&[u8]),
        first: &mut u64,
    ) -> Poll<Result<(), Cause>> {
        BUFFER.with_borrow_mut(|scratch| {
            loop {
                let mut buffer = ReadBuf::new(scratch);
                match self.stream.poll_read(context, &mut buffer) {
                    Poll::Pending => return self.poll_silence(context),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(cause_of(&error, Some(reader)))),
                    Poll::Ready(Ok(())) => {}
                }
                let bytes = buffer.filled();
                if bytes.is_empty() {
                    return Poll::Ready(reader.end().map_err(cause_of_response));
                }
                if *first == 0 {
                    *first = monotonic_ns();
                }
                self.active = Instant::now();
                if let Err(error) = reader.push(bytes, body) {
                    return Poll::Ready(Err(cause_of_response(error)));
                }
                if reader.is_done() {
                    return Poll::Ready(Ok(()));
                }
            }
        })
    }

    /// Fails when nothing has come for too long.
    fn poll_silence<T>(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Cause>> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let due = self.active + self.silence;
            if due <= Instant::now() {
                return Poll::Ready(Err(Cause::Timeout));
            }
            self.timer.as_mut().reset(due);
        }
    }
}

/// Why reading or writing failed. `reader` says how far the answer was.
pub(super) fn cause_of(error: &io::Error, reader: Option<&mut ResponseReader>) -> Cause {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Cause::Reset
        }
        // The end of a TLS connection without its closing alert.
        io::ErrorKind::UnexpectedEof => match reader.map(ResponseReader::end) {
            Some(Err(error)) => cause_of_response(error),
            _ => Cause::Closed,
        },
        io::ErrorKind::InvalidData => Cause::Tls,
        io::ErrorKind::TimedOut => Cause::Timeout,
        _ => Cause::Reset,
    }
}

fn cause_of_response(error: ResponseError) -> Cause {
    match error {
        ResponseError::Nothing | ResponseError::HeadCut => Cause::Closed,
        ResponseError::BodyCut => Cause::ShortBody,
        ResponseError::NotHttp
        | ResponseError::HeadTooLong
        | ResponseError::Length
        | ResponseError::Chunks
        | ResponseError::Surplus => Cause::BadResponse,
    }
}
