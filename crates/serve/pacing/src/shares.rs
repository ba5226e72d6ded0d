//! The one rate of a connection. Each answer on it has a share until its last byte has left the kernel, which is later than
//! the end of its body: what waits in buffers must go at its own rate still. The kernel has one rate for all of them, so that
//! it is the highest, and none where one of them is not paced. It must not know how rates are set.

use std::time::{Duration, Instant};

use super::rates::TcpRate;

/// Bytes that may wait between the end of a body and the kernel on HTTP/2: in a stream, in TLS, and the last piece.
const BETWEEN: u64 = 256 << 10;
/// How often what is left is looked at.
const SOONEST: Duration = Duration::from_millis(2);
const LATEST: Duration = Duration::from_millis(200);

/// What a socket has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written to it.
    pub written: u64,
    /// Of these, bytes that the kernel has not sent.
    pub unsent: u64,
    /// How often all that was to be written was written.
    pub flushes: u64,
}

/// A share, by the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareId(u64);

/// In which order answers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other (HTTP/1.1).
    Turns,
    /// At the same time (HTTP/2).
    Together,
}

#[derive(Debug)]
struct Share {
    id: ShareId,
    rate: Option<TcpRate>,
    /// When it counts as not paced, lest its rate hold the connection.
    until: Instant,
    ended: Option<Ended>,
}

/// The end of a body, as it is handed over.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// How far the socket was.
    at: Progress,
    /// Bytes that were handed over with it.
    last: u64,
}

/// The shares of a connection.
#[derive(Debug)]
pub struct Shares {
    order: Order,
    next: u64,
    all: Vec<Share>,
}

impl Shares {
    /// Of a connection that carries nothing yet.
    pub fn new(order: Order) -> Self {
        Shares {
            order,
            next: 0,
            all: Vec::new(),
        }
    }

    /// An answer begins, with that rate or none, which it has until then.
    pub fn begin(&mut self, rate: Option<TcpRate>, until: Instant) -> ShareId {
        let id = ShareId(self.next);
        self.next += 1;
        self.all.push(Share {
            id,
            rate,
            until,
            ended: None,
        });
        id
    }

    /// The body of an answer ends with these last bytes, which are about to be handed over; its share stays until what is
    /// left of it has been sent. Without any it ends when nothing is unsent.
    pub fn end(&mut self, id: ShareId, progress: Progress, last: u64) {
        if let Some(share) = self.all.iter_mut().find(|share| share.id == id) {
            share.ended = Some(Ended { at: progress, last });
        }
    }

    /// Lets shares go whose last byte has been sent, or whose time is over.
    pub fn settle(&mut self, now: Instant, progress: Progress) {
        let order = self.order;
        self.all
            .retain(|share| !share.ended.is_some_and(|ended| has_left(order, ended, progress)));
        for share in &mut self.all {
            if share.until <= now {
                share.rate = None;
            }
        }
    }

    /// What the kernel is to hold: the highest of all rates; none where there is no answer, or one that is not paced.
    pub fn rate(&self) -> Option<TcpRate> {
        let mut highest = None;
        for share in &self.all {
            highest = highest.max(Some(share.rate?));
        }
        highest
    }

    /// Whether an answer whose rate differs has to wait for what is left of those before it, since they leave in turns.
    pub fn must_wait(&self, rate: Option<TcpRate>) -> bool {
        let differs = |share: &Share| share.ended.is_some() && share.rate != rate;
        self.order == Order::Turns && self.all.iter().any(differs)
    }

    /// When to look again; none where nothing changes by itself.
    pub fn look_after(&self, now: Instant, progress: Progress) -> Option<Duration> {
        if self.all.iter().all(|share| share.rate.is_none()) {
            return None;
        }
        let bytes_left = progress.unsent as f64;
        let after = |share: &Share| match (share.ended, share.rate) {
            (Some(_), Some(rate)) => {
                let seconds = bytes_left / rate.0.max(1) as f64;
                Duration::try_from_secs_f64(seconds).map_or(LATEST, |left| left.clamp(SOONEST, LATEST))
            }
            (Some(_), None) => LATEST,
            (None, Some(_)) => share.until.saturating_duration_since(now),
            (None, None) => Duration::MAX,
        };
        self.all.iter().map(after).min()
    }
}

/// In turns, nothing is written between the last bytes of a body and the flush behind them, so that nothing unsent is the
/// end. Where others go on, it is after as many more bytes as may have waited. Connection and body may be at work on two
/// threads: a flush that comes before the last bytes is none of theirs.
fn has_left(order: Order, ended: Ended, now: Progress) -> bool {
    let sent = now.written.saturating_sub(now.unsent);
    let is_past = order == Order::Together && sent >= ended.at.written.saturating_add(BETWEEN);
    let flushed =
        now.flushes > ended.at.flushes && now.written >= ended.at.written.saturating_add(ended.last);
    is_past || (now.unsent == 0 && (flushed || ended.last == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<TcpRate> = Some(TcpRate(100_000));
    const FAST: Option<TcpRate> = Some(TcpRate(1_000_000));

    fn progress(written: u64, unsent: u64, flushes: u64) -> Progress {
        Progress {
            written,
            unsent,
            flushes,
        }
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_rate_stays_until_the_last_byte_has_left() {
        let mut shares = Shares::new(Order::Turns);
        let now = Instant::now();
        let id = shares.begin(SLOW, later());
        shares.settle(now, progress(900_000, 0, 7));
        assert_eq!(shares.rate(), SLOW);
        shares.end(id, progress(900_000, 200_000, 7), 50_000);
        // Not written; flushed before that; not flushed since; and some of it unsent.
        for left in [
            progress(900_000, 0, 7),
            progress(900_000, 0, 8),
            progress(950_000, 0, 7),
            progress(950_000, 1, 8),
        ] {
            shares.settle(now, left);
            assert_eq!(shares.rate(), SLOW, "{left:?}");
            assert!(shares.must_wait(None) && shares.must_wait(FAST) && !shares.must_wait(SLOW));
        }
        assert_eq!(
            shares.look_after(now, progress(950_000, 10_000, 8)),
            Some(Duration::from_millis(100))
        );
        shares.settle(now, progress(950_000, 0, 8));
        assert_eq!((shares.rate(), shares.must_wait(FAST)), (None, false));
        assert_eq!(shares.look_after(now, progress(950_000, 0, 8)), None);
    }

    #[test]
    fn a_connection_has_the_highest_rate_and_none_where_one_has_none() {
        let mut shares = Shares::new(Order::Together);
        let now = Instant::now();
        let none = progress(0, 0, 0);
        let slow = shares.begin(SLOW, later());
        let fast = shares.begin(FAST, later());
        assert_eq!(shares.rate(), FAST);
        let unpaced = shares.begin(None, later());
        assert_eq!((shares.rate(), shares.must_wait(FAST)), (None, false));
        shares.end(unpaced, none, 0);
        shares.settle(now, none);
        assert_eq!(shares.rate(), FAST);
        // Others go on, so that it is never flushed with nothing unsent: bytes tell.
        shares.end(fast, progress(1_000, 500, 1), 400);
        shares.settle(now, progress(1_000 + BETWEEN, 1, 9));
        assert_eq!(shares.rate(), FAST);
        shares.settle(now, progress(1_001 + BETWEEN, 1, 10));
        assert_eq!(shares.rate(), SLOW);
        shares.end(slow, progress(2_000 + BETWEEN, 1, 10), 0);
        shares.settle(now, progress(2_000 + BETWEEN, 0, 10));
        assert_eq!(shares.rate(), None);
    }

    #[test]
    fn a_rate_ends_with_its_time() {
        let mut shares = Shares::new(Order::Turns);
        let now = Instant::now();
        shares.begin(SLOW, now + Duration::from_secs(5));
        let none = progress(0, 0, 0);
        assert_eq!(shares.look_after(now, none), Some(Duration::from_secs(5)));
        shares.settle(now + Duration::from_millis(4_999), none);
        assert_eq!(shares.rate(), SLOW);
        shares.settle(now + Duration::from_secs(5), none);
        assert_eq!((shares.rate(), shares.look_after(now, none)), (None, None));
    }
}
