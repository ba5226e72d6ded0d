//! A connection that waits for its peer only so long: one that takes nothing of an answer for a while is given up. It
//! must not know what is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes fail when the other end takes nothing for some time.
pub(crate) struct Patient<T> {
    stream: T,
    patience: Duration,
    limit: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<T> Patient<T> {
    pub(crate) fn new(stream: T, patience: Duration) -> Self {
        Patient {
            stream,
            patience,
            limit: Box::pin(sleep(patience)),
            waiting: false,
        }
    }

    /// Passes on what came of a try to write, and runs out of patience if nothing did for too long.
    fn judge<R>(&mut self, context: &mut Context<'_>, tried: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if tried.is_ready() {
            self.waiting = false;
            return tried;
        }
        if !self.waiting {
            self.waiting = true;
            self.limit.as_mut().reset(Instant::now() + self.patience);
        }
        match self.limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(test);
    }

    #[test]
    fn an_end_that_takes_nothing_is_given_up() {
        run(async {
            let (near, _far) = duplex(16);
            let mut near = Patient::new(near, Duration::from_millis(20));
            let error = near.write_all(&[0; 64]).await.expect_err("nobody reads");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn one_that_takes_a_little_each_time_is_not() {
        run(async {
            let patience = Duration::from_secs(10);
            let (near, mut far) = duplex(16);
            let mut near = Patient::new(near, patience);
            let read = async {
                let mut all = Vec::new();
                let mut some = [0; 3];
                while all.len() < 640 {
                    let read = far.read(&mut some).await.expect("bytes");
                    all.extend_from_slice(&some[..read]);
                }
                all
            };
            let (written, read) = tokio::join!(near.write_all(&[7; 640]), read);
            written.expect("all of it");
            assert_eq!(read, vec![7; 640]);
        });
    }
}
