//! The body of an answer on its way, and the account of the request that is closed with it. It must not know what it
//! carries.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::StatusCode;
use http_body::{Frame, SizeHint};

use super::access_log::{Line, LoggedPace, nanoseconds};
use super::activity::UnderWay;
use super::answer::Outgoing;
use super::app::App;
use super::deliveries::{Deliveries, Logged};
use super::pacer::Share;
use super::problem::Problem;
use super::socket::Acknowledged;
use super::streams::Taking;
use crate::metrics::{CUT_OFF, CacheStatus, Kind, RequestReads, counting_for};

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

/// Bytes of a body on their way to the socket.
pub struct Chunk {
    bytes: Bytes,
    /// Behind the last of an answer that is logged.
    end: Option<Box<End>>,
}

/// The end of an answer, which has arrived at the socket when it is dropped with nothing in front of it.
struct End {
    answer: Logged,
    deliveries: Deliveries,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let Some(end) = self.end.take() else { return };
        let End { answer, deliveries } = *end;
        match deliveries.now() {
            Some(now) if self.bytes.is_empty() => deliveries.push(answer, now),
            _ => deliveries.give_up(answer),
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
    pub fn new(outgoing: Outgoing, mut account: Account) -> Self {
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
        if left == 0 {
            account.ends_with_headers();
        }
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
    type Data = Chunk;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, BodyError>>> {
        let reads = self.account.reads();
        let polled = counting_for(&reads, || self.poll(context));
        self.taking.waits_for_client(polled.is_ready());
        Poll::Ready(ready!(polled).map(|piece| match piece {
            Ok(bytes) => {
                let length = bytes.len() as u64;
                self.left = self.left.saturating_sub(length);
                let is_last = self.left == 0;
                self.account.sent(length, is_last);
                let end = if is_last { self.account.ends() } else { None };
                Ok(Frame::data(Chunk { bytes, end }))
            }
            Err(error) => {
                self.account.failed(error.cause());
                Err(error)
            }
        }))
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
    /// What is known only of a request that is logged.
    logged: Option<Box<LoggedSoFar>>,
    /// Nothing before there is an answer.
    kind: Option<Kind>,
    cause: Option<&'static str>,
    bytes: u64,
    /// Of the rate of its connection.
    share: Option<Share>,
    /// Where it is logged.
    deliveries: Deliveries,
    /// Its connection is busy for as long.
    under_way: UnderWay,
}

/// What is known of a request that is logged.
struct LoggedSoFar {
    /// Without the fields that are known only at the end.
    line: Box<Line>,
    reads: Arc<RequestReads>,
    /// How far the socket was in front of the headers of an answer that is nothing else.
    headers: Option<Acknowledged>,
}

impl Account {
    /// Of a request that has just come.
    pub fn open(app: Arc<App>, line: Option<Box<Line>>, deliveries: Deliveries, under_way: UnderWay) -> Self {
        let logged = line.map(|line| {
            Box::new(LoggedSoFar {
                line,
                reads: Arc::default(),
                headers: None,
            })
        });
        Account {
            app,
            logged,
            deliveries,
            kind: None,
            cause: None,
            bytes: 0,
            share: None,
            under_way,
        }
    }

    /// The response is paced, which the log records.
    pub fn paced(&mut self, pace: impl FnOnce() -> LoggedPace) {
        if let Some(logged) = &mut self.logged {
            logged.line.pace = Some(pace());
        }
    }

    /// What is read for the request, if it is logged.
    pub fn reads(&self) -> Option<Arc<RequestReads>> {
        self.logged.as_ref().map(|logged| logged.reads.clone())
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
        if let Some(logged) = &mut self.logged {
            logged.line.status = status.as_u16();
            logged.line.kind = kind.name();
            logged.line.first_byte_ns = nanoseconds(first_byte);
        }
    }

    /// The answer has no body. Its headers, which are written from now on, are all of it.
    fn ends_with_headers(&mut self) {
        if let Some(logged) = &mut self.logged {
            logged.headers = self.deliveries.now();
        }
    }

    /// What goes behind the last bytes of an answer that is logged.
    fn ends(&mut self) -> Option<Box<End>> {
        let logged = self.logged.take()?;
        Some(Box::new(End {
            answer: self.line_of(*logged),
            deliveries: self.deliveries.clone(),
        }))
    }

    fn line_of(&self, logged: LoggedSoFar) -> Logged {
        let LoggedSoFar { mut line, reads, .. } = logged;
        line.bytes = self.bytes;
        line.cause = self.cause;
        line.cache.index = reads.index().map(CacheStatus::name);
        line.cache.media = reads.media().map(CacheStatus::name);
        line.storage_bytes = reads.bytes();
        Logged {
            line,
            since: self.under_way.since,
        }
    }

    /// Nobody waits for the answer any more. There is no status for that in HTTP; nginx has 499.
    fn cut_off(&mut self) {
        let too_slow = self.under_way.since.elapsed() >= self.app.limits.request_time;
        self.app.metrics.cut_off();
        self.failed(if too_slow { "client_stalled" } else { "client_gone" });
        if let Some(logged) = &mut self.logged {
            logged.line.status = CUT_OFF;
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
        let Some(logged) = self.logged.take() else { return };
        let headers = logged.headers;
        let answer = self.line_of(*logged);
        match headers {
            Some(headers) => self.deliveries.push(answer, headers),
            None => self.deliveries.give_up(answer),
        }
    }
}
