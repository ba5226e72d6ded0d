//! The body of an answer on its way, and the account of the request that is closed with it. It must not know what it
//! carries.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::StatusCode;
use http_body::{Frame, SizeHint};

use super::access_log::{Line, LoggedPace};
use super::activity::UnderWay;
use super::answer::Outgoing;
use super::app::App;
use super::pacer::Share;
use super::problem::Problem;
use super::streams::Taking;
use crate::metrics::{CUT_OFF, Kind};

/// Bytes that are handed over at once where answers are paced: what has been handed over has the rate of its
/// connection, whatever that becomes.
const PIECE: usize = 64 << 10;

/// Why a body ends before its length. The connection is broken then, so that nobody takes a part for the whole.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error(transparent)]
    Unread(#[from] Problem),
    #[error("the response took longer than {0:?}")]
    TooSlow(Duration),
}

impl BodyError {
    fn cause(&self) -> &'static str {
        match self {
            BodyError::Unread(problem) => problem.cause,
            BodyError::TooSlow(_) => "client_stalled",
        }
    }
}

/// A body. What is not asked for is not read.
pub struct Body {
    source: Source,
    /// Read, and longer than a piece.
    rest: Bytes,
    left: u64,
    taking: Taking,
    account: Account,
}

enum Source {
    Bytes(Bytes),
    Stream(BoxStream<'static, Result<Bytes, Problem>>),
}

impl Body {
    pub fn new(outgoing: Outgoing, account: Account) -> Self {
        let (source, left) = match outgoing {
            Outgoing::Bytes(bytes) => {
                let left = bytes.len() as u64;
                (Source::Bytes(bytes), left)
            }
            Outgoing::Flow(flow, length) => {
                let stream = stream::unfold(flow, |mut flow| async move {
                    let piece = flow.next().await?;
                    Some((piece, flow))
                });
                (Source::Stream(stream.boxed()), length)
            }
        };
        Body {
            source,
            rest: Bytes::new(),
            left,
            taking: Taking::current(),
            account,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if self.rest.is_empty() {
            match ready!(self.poll_source(context)) {
                Some(Ok(bytes)) => self.rest = bytes,
                other => return Poll::Ready(other),
            }
        }
        let length = match self.account.share {
            Some(_) => self.rest.len().min(PIECE),
            None => self.rest.len(),
        };
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }

    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let stream = match &mut self.source {
            Source::Bytes(bytes) => return Poll::Ready(Some(Ok(std::mem::take(bytes)))),
            Source::Stream(stream) => stream,
        };
        let limit = self.account.app.limits.request_time;
        if self.account.under_way.since.elapsed() > limit {
            return Poll::Ready(Some(Err(BodyError::TooSlow(limit))));
        }
        let polled = stream.poll_next_unpin(context);
        polled.map(|piece| piece.map(|piece| piece.map_err(BodyError::from)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = self.poll(context);
        self.taking.waits_for_client(polled.is_ready());
        if let Poll::Ready(Some(piece)) = &polled {
            match piece {
                Ok(bytes) => {
                    let length = bytes.len() as u64;
                    let left = self.left.saturating_sub(length);
                    self.left = left;
                    self.account.sent(length, left == 0);
                }
                Err(error) => self.account.failed(error.cause()),
            }
        }
        polled.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if self.left > 0 && self.account.cause.is_none() {
            let limits = &self.account.app.limits;
            let stalled = self.taking.stalled() >= limits.stalled;
            let too_slow = self.account.under_way.since.elapsed() >= limits.request_time;
            let cause = if stalled || too_slow {
                "client_stalled"
            } else {
                "client_gone"
            };
            self.account.failed(cause);
        }
    }
}

/// What is known of a request, counted and logged when its answer has ended, or when it is cut off before it has one.
pub struct Account {
    app: Arc<App>,
    /// Its line of the access log, without the fields that are known only at the end.
    line: Option<Box<Line>>,
    /// Nothing before there is an answer.
    kind: Option<Kind>,
    cause: Option<&'static str>,
    bytes: u64,
    /// Of the rate of its connection.
    share: Option<Share>,
    /// Its connection is busy for as long.
    under_way: UnderWay,
}

impl Account {
    /// Of a request that has just come.
    pub fn open(app: Arc<App>, line: Option<Box<Line>>, under_way: UnderWay) -> Self {
        Account {
            app,
            line,
            kind: None,
            cause: None,
            bytes: 0,
            share: None,
            under_way,
        }
    }

    /// The response is paced, which the log records.
    pub fn paced(&mut self, pace: impl FnOnce() -> LoggedPace) {
        if let Some(line) = &mut self.line {
            line.pace = Some(pace());
        }
    }

    /// What the answer has of its connection's rate, until it has ended.
    pub fn shares(&mut self, share: Option<Share>) {
        self.share = share;
    }

    /// There is an answer, which begins now.
    pub fn answered(&mut self, kind: Kind, status: StatusCode) {
        let first_byte = self.under_way.since.elapsed();
        self.kind = Some(kind);
        self.app.metrics.answered(kind, status.as_u16(), first_byte);
        if let Some(line) = &mut self.line {
            line.status = status.as_u16();
            line.kind = kind.name();
            line.first_byte_ns = nanoseconds(first_byte);
        }
    }

    /// Nobody waits for the answer any more. There is no status for that in HTTP; nginx has 499.
    fn cut_off(&mut self) {
        let too_slow = self.under_way.since.elapsed() >= self.app.limits.request_time;
        self.app.metrics.cut_off();
        self.failed(if too_slow { "client_stalled" } else { "client_gone" });
        if let Some(line) = &mut self.line {
            line.status = CUT_OFF;
        }
    }

    fn sent(&mut self, bytes: u64, are_last: bool) {
        self.bytes += bytes;
        self.app.metrics.sent(self.kind.unwrap_or(Kind::Other), bytes);
        if are_last && let Some(share) = self.share.take() {
            share.ends(bytes);
        }
    }

    /// Notes what went wrong.
    pub fn failed(&mut self, cause: &'static str) {
        self.app.metrics.failed(cause);
        self.cause = Some(cause);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.kind.is_none() {
            self.cut_off();
        }
        if let (Some(log), Some(mut line)) = (&self.app.log, self.line.take()) {
            line.total_ns = nanoseconds(self.under_way.since.elapsed());
            line.bytes = self.bytes;
            line.cause = self.cause;
            log.write(line);
        }
    }
}

/// As the log and the results store count time.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
