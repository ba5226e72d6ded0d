//! An HTTP/2 connection on a socket. Nothing of it runs by itself: whoever waits for an answer reads for all, and wakes
//! the others when something has come for them. A connection that waits holds no buffer.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::ReadBuf;
use tokio::time::{Instant, Sleep, sleep};

use super::connection::{BUFFER, Stream, cause_of};
use crate::clock::monotonic_ns;
use crate::http::h2::hpack::Asked;
use crate::http::h2::session::{End, Session};
use crate::http::response::Head;
use crate::measure::Cause;

/// What came of a request.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The head of the answer, if it came.
    pub head: Option<Head>,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Bytes of the stream's frames.
    pub all_bytes: u64,
    /// Monotonic nanoseconds; 0: never.
    pub first_byte_ns: u64,
    /// See above.
    pub last_byte_ns: u64,
    /// The other end has not looked at the request: it may be sent again.
    pub unseen: bool,
    /// Why there is no whole answer.
    pub failure: Option<Cause>,
}

/// A connection that many requests share.
#[derive(Clone)]
pub(super) struct Multiplexed(Rc<RefCell<Shared>>);

struct Shared {
    stream: Stream,
    session: Session,
    silence: Duration,
    /// Why it is of no use any more.
    dead: Option<Cause>,
    /// Who waits for which stream; 0 is for room for one.
    waiting: Vec<(u32, Waker)>,
    /// Timers of requests that are over, for the next.
    timers: Vec<Pin<Box<Sleep>>>,
    used: u64,
}

impl Multiplexed {
    pub fn new(stream: Stream, silence: Duration) -> Self {
        Multiplexed(Rc::new(RefCell::new(Shared {
            stream,
            session: Session::default(),
            silence,
            dead: None,
            waiting: Vec::new(),
            timers: Vec::new(),
            used: 0,
        })))
    }

    /// Whether another request can be made, now or when one of those before is over.
    pub fn is_open(&self) -> bool {
        let shared = self.0.borrow();
        shared.dead.is_none() && !shared.session.is_over()
    }

    /// How many requests it has taken.
    pub fn used(&self) -> u64 {
        self.0.borrow().used
    }

    /// Sends a request and reads its answer; `body` gets the body.
    pub async fn exchange(&self, asked: &Asked<'_>, body: &mut dyn FnMut(&[u8])) -> Outcome {
        let Some(mut request) = self.open(asked).await else {
            return Outcome {
                unseen: true,
                failure: Some(Cause::Closed),
                ..Outcome::default()
            };
        };
        poll_fn(|context| request.poll(context, body)).await
    }

    /// None if the connection has come to its end meanwhile.
    async fn open(&self, asked: &Asked<'_>) -> Option<Request> {
        poll_fn(|context| {
            let shared = &mut *self.0.borrow_mut();
            if shared.dead.is_some() || shared.session.is_over() {
                return Poll::Ready(None);
            }
            if !shared.session.has_room() {
                shared.waiting.push((0, context.waker().clone()));
                return Poll::Pending;
            }
            shared.used += 1;
            let now = Instant::now();
            let kept = shared.timers.pop();
            let mut timer = kept.unwrap_or_else(|| Box::pin(sleep(shared.silence)));
            // One that fires too early is set again then; most answers come before that.
            if timer.deadline() <= now {
                timer.as_mut().reset(now + shared.silence);
            }
            Poll::Ready(Some(Request {
                id: shared.session.open(asked),
                connection: self.clone(),
                timer: Some(timer),
                heard_bytes: 0,
                heard: now,
            }))
        })
        .await
    }
}

/// A request that is on its way. Dropped, it is broken off.
struct Request {
    id: u32,
    connection: Multiplexed,
    timer: Option<Pin<Box<Sleep>>>,
    /// Bytes of the answer when something last came, and when that was.
    heard_bytes: u64,
    heard: Instant,
}

impl Drop for Request {
    fn drop(&mut self) {
        let shared = &mut *self.connection.0.borrow_mut();
        shared.session.close(self.id);
        shared.waiting.retain(|(id, _)| *id != self.id);
        shared.timers.extend(self.timer.take());
        // Whoever else waits has to read from now on.
        shared.waiting.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

impl Request {
    fn poll(&mut self, context: &mut Context<'_>, body: &mut dyn FnMut(&[u8])) -> Poll<Outcome> {
        let connection = self.connection.clone();
        let shared = &mut *connection.0.borrow_mut();
        shared.session.take_kept(self.id, body);
        if shared.dead.is_none()
            && let Err(cause) = shared.drive(context, self.id, body)
        {
            shared.dead = Some(cause);
            shared.session.end();
        }
        shared.wake_others(self.id);
        if let Some(outcome) = shared.outcome(self.id) {
            return Poll::Ready(outcome);
        }
        if let Some(stream) = shared.session.stream(self.id)
            && stream.all_bytes != self.heard_bytes
        {
            self.heard_bytes = stream.all_bytes;
            self.heard = Instant::now();
        }
        shared.waiting.retain(|(id, _)| *id != self.id);
        shared.waiting.push((self.id, context.waker().clone()));
        let silence = shared.silence;
        ready!(self.poll_silence(context, silence));
        let mut outcome = shared.so_far(self.id);
        outcome.failure = Some(Cause::Timeout);
        Poll::Ready(outcome)
    }

    /// Ready when nothing has come for too long.
    fn poll_silence(&mut self, context: &mut Context<'_>, silence: Duration) -> Poll<()> {
        let Some(timer) = self.timer.as_mut() else {
            return Poll::Pending;
        };
        loop {
            ready!(timer.as_mut().poll(context));
            let due = self.heard + silence;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due);
        }
    }
}

impl Shared {
    /// Sends what is to be sent and takes what has come, until there is no more of either or stream `mine` has ended.
    fn drive(
        &mut self,
        context: &mut Context<'_>,
        mine: u32,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Cause> {
        loop {
            self.send(context)?;
            let ended = |session: &Session| session.stream(mine).is_none_or(|stream| stream.end.is_some());
            if ended(&self.session) {
                return Ok(());
            }
            let more = BUFFER.with_borrow_mut(|scratch| {
                let mut buffer = ReadBuf::new(scratch);
                match self.stream.poll_read(context, &mut buffer) {
                    Poll::Pending => return Ok(false),
                    Poll::Ready(Err(error)) => return Err(cause_of(&error, None)),
                    Poll::Ready(Ok(())) => {}
                }
                let bytes = buffer.filled();
                if bytes.is_empty() {
                    return Err(Cause::Closed);
                }
                let pushed = self.session.push(bytes, monotonic_ns(), mine, body);
                pushed.map(|()| true).map_err(|error| {
                    tracing::debug!("HTTP/2: {error}");
                    Cause::BadResponse
                })
            })?;
            if !more {
                return Ok(());
            }
        }
    }

    fn send(&mut self, context: &mut Context<'_>) -> Result<(), Cause> {
        let out = self.session.out();
        let mut sent = 0;
        let mut failed = None;
        while sent < out.len() {
            match self.stream.poll_write(context, &out[sent..]) {
                Poll::Ready(Ok(0)) => failed = Some(Cause::Closed),
                Poll::Ready(Ok(count)) => sent += count,
                Poll::Ready(Err(error)) => failed = Some(cause_of(&error, None)),
                Poll::Pending => break,
            }
            if let Some(cause) = failed {
                return Err(cause);
            }
        }
        if sent == out.len() {
            // A connection that waits keeps nothing.
            *out = Vec::new();
        } else {
            out.drain(..sent);
        }
        match self.stream.poll_flush(context) {
            Poll::Ready(Err(error)) => Err(cause_of(&error, None)),
            _ => Ok(()),
        }
    }

    fn wake_others(&mut self, mine: u32) {
        let dead = self.dead.is_some() || self.session.is_over();
        let news: Vec<u32> = if self.waiting.is_empty() {
            Vec::new()
        } else {
            self.session.take_news(mine).collect()
        };
        for (id, waker) in &self.waiting {
            if *id != mine && (dead || *id == 0 || news.contains(id)) {
                waker.wake_by_ref();
            }
        }
    }

    /// What came of a stream, if it has ended.
    fn outcome(&self, id: u32) -> Option<Outcome> {
        let stream = self.session.stream(id)?;
        let end = stream.end?;
        let mut outcome = self.so_far(id);
        outcome.unseen = end == End::Refused;
        outcome.failure = match (end, self.dead) {
            (End::Whole, _) => None,
            (End::Length, _) => Some(length_cause(&outcome)),
            (End::Refused | End::Reset, _) => Some(Cause::Reset),
            // As on a connection of HTTP/1.1 that ends within a body.
            (End::Cut, Some(Cause::Closed)) if outcome.head.is_some() => Some(Cause::ShortBody),
            (End::Cut, dead) => Some(dead.unwrap_or(Cause::Closed)),
        };
        Some(outcome)
    }

    fn so_far(&self, id: u32) -> Outcome {
        let Some(stream) = self.session.stream(id) else {
            return Outcome::default();
        };
        Outcome {
            head: stream.head().cloned(),
            body_bytes: stream.body_bytes,
            all_bytes: stream.all_bytes,
            first_byte_ns: stream.first_byte_ns,
            last_byte_ns: stream.last_byte_ns,
            unseen: false,
            failure: None,
        }
    }
}

/// A body that is not as long as its head says, or an end without a head.
fn length_cause(outcome: &Outcome) -> Cause {
    match outcome.head.as_ref().and_then(|head| head.length) {
        Some(length) if outcome.body_bytes < length => Cause::ShortBody,
        _ => Cause::BadResponse,
    }
}
