//! Answers of a connection whose last byte the socket has, until the client's kernel has acknowledged it: the buffers between
//! hold seconds of an answer that is paced, or read slowly. Only where requests are logged. It must not know what was
//! answered.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::access_log::{Line, nanoseconds};
use super::app::App;
use super::socket::{Acknowledged, Socket};

/// Answers of a connection that wait to be acknowledged. Of more than that, which a client asks for without reading them, the
/// time is not logged.
const MOST_WAITING: usize = 256;
/// Bytes that TLS and HTTP/2 may hold back in front of the socket.
const BETWEEN: u64 = 128 << 10;
/// Between two looks at the acknowledgements.
const SOONEST: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_millis(100);

/// The answers of a connection, where requests are logged. Clones speak of the same connection.
#[derive(Clone, Debug)]
pub struct Deliveries(Option<Arc<Delivering>>);

#[derive(Debug)]
struct Delivering {
    app: Arc<App>,
    socket: Socket,
    waiting: Mutex<Waiting<Logged>>,
    changed: Notify,
}

/// The line of an answer, and when its request came.
#[derive(Debug)]
pub struct Logged {
    pub line: Box<Line>,
    pub since: Instant,
}

impl Deliveries {
    /// Of a connection on which nothing was answered yet; they do nothing where requests are not logged.
    pub fn new(app: &Arc<App>, socket: &Socket) -> Self {
        let delivering = || {
            Arc::new(Delivering {
                app: app.clone(),
                socket: socket.clone(),
                waiting: Mutex::default(),
                changed: Notify::new(),
            })
        };
        Deliveries(app.log.is_some().then(delivering))
    }

    /// How far the socket is; none where requests are not logged.
    pub fn now(&self) -> Option<Acknowledged> {
        self.0.as_ref().map(|delivering| delivering.socket.acknowledged())
    }

    /// An answer that was handed over when the socket was so far; it is logged when its client has it, or never will.
    pub fn push(&self, mut answer: Logged, at: Acknowledged) {
        let Some(delivering) = &self.0 else { return };
        answer.line.total_ns = nanoseconds(answer.since.elapsed());
        let mut waiting = delivering.waiting();
        if waiting.entries.len() >= MOST_WAITING {
            return delivering.log(answer, false);
        }
        waiting.push(answer, Instant::now(), at);
        drop(waiting);
        delivering.changed.notify_one();
    }

    /// An answer that its client will not have as a whole.
    pub fn give_up(&self, mut answer: Logged) {
        if let Some(delivering) = &self.0 {
            answer.line.total_ns = nanoseconds(answer.since.elapsed());
            delivering.log(answer, false);
        }
    }

    /// Logs what clients have, for as long as it is polled: behind what writes to the socket, so that what was flushed last
    /// is what was handed over last.
    pub async fn watch(&self) -> Infallible {
        let Some(delivering) = &self.0 else {
            return pending().await;
        };
        loop {
            match delivering.look() {
                None => delivering.changed.notified().await,
                Some(after) => tokio::select! {
                    () = delivering.changed.notified() => {}
                    () = delivering.socket.flushed() => {}
                    () = sleep(after) => {}
                },
            }
        }
    }
}

impl Delivering {
    /// Logs what has been delivered, and says when there may be more.
    fn look(&self) -> Option<Duration> {
        let mut waiting = self.waiting();
        if waiting.entries.is_empty() {
            return None;
        }
        let now = self.socket.acknowledged();
        while let Some(answer) = waiting.delivered(now) {
            self.log(answer, true);
        }
        waiting.look_after(Instant::now(), now)
    }

    fn log(&self, mut answer: Logged, is_delivered: bool) {
        if is_delivered {
            answer.line.delivered_ns = Some(nanoseconds(answer.since.elapsed()));
        }
        if let Some(log) = &self.app.log {
            log.write(answer.line);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<Logged>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection has ended.
impl Drop for Delivering {
    fn drop(&mut self) {
        self.look();
        let mut waiting = std::mem::take(&mut *self.waiting());
        for entry in waiting.entries.drain(..) {
            self.log(entry.answer, false);
        }
    }
}

/// What waits, in the order in which it was handed over.
#[derive(Debug)]
struct Waiting<T> {
    entries: VecDeque<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    answer: T,
    since: Instant,
    /// When it was handed over.
    at: Acknowledged,
    /// Its last byte among all that were written; none while it may lie in front of the socket.
    end: Option<u64>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Waiting {
            entries: VecDeque::new(),
        }
    }
}

impl<T> Waiting<T> {
    fn push(&mut self, answer: T, since: Instant, at: Acknowledged) {
        self.entries.push_back(Entry {
            answer,
            since,
            at,
            end: None,
        });
    }

    /// The next one that is acknowledged as a whole.
    fn delivered(&mut self, now: Acknowledged) -> Option<T> {
        let first = self.entries.front_mut()?;
        let end = first.find_end(now)?;
        (now.bytes >= end)
            .then(|| self.entries.pop_front())?
            .map(|entry| entry.answer)
    }

    /// When to look again: after half of the time that the rest of the first takes at its rate so far.
    fn look_after(&mut self, now: Instant, progress: Acknowledged) -> Option<Duration> {
        self.entries.iter_mut().for_each(|entry| {
            entry.find_end(progress);
        });
        let first = self.entries.front()?;
        let elapsed = now.saturating_duration_since(first.since);
        let end = first.end.unwrap_or(progress.written + 1);
        let came = progress.bytes.saturating_sub(first.at.bytes);
        let halves = end.saturating_sub(progress.bytes) as f64 / (2 * came).max(1) as f64;
        let rest = elapsed.as_secs_f64() * halves.min(1.0);
        Some(Duration::from_secs_f64(rest).clamp(SOONEST, LATEST))
    }
}

impl<T> Entry<T> {
    /// It ends where the socket was when all had been written, which is known with the first look after that. Where other
    /// streams go on, so that this does not happen, it is after as many more bytes as may have been held back.
    fn find_end(&mut self, now: Acknowledged) -> Option<u64> {
        if self.end.is_none() {
            let latest = self.at.written + BETWEEN;
            if now.flushes > self.at.flushes {
                self.end = Some(now.written.min(latest));
            } else if now.written >= latest {
                self.end = Some(latest);
            }
        }
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(written: u64, flushes: u64, bytes: u64) -> Acknowledged {
        Acknowledged {
            written,
            flushes,
            bytes,
        }
    }

    #[test]
    fn an_answer_is_delivered_when_its_last_byte_is_acknowledged() {
        let mut waiting = Waiting::default();
        let begun = Instant::now();
        waiting.push('a', begun, progress(50_000, 3, 20_000));
        // Some of it may lie in front of the socket still, whatever is acknowledged.
        assert_eq!(waiting.delivered(progress(60_000, 3, 60_000)), None);
        assert_eq!(waiting.delivered(progress(70_000, 4, 69_999)), None);
        // The next one does not move its end.
        waiting.push('b', begun, progress(80_000, 4, 69_999));
        assert_eq!(waiting.delivered(progress(90_000, 5, 70_000)), Some('a'));
        assert_eq!(waiting.delivered(progress(90_000, 5, 89_999)), None);
        assert_eq!(waiting.delivered(progress(90_000, 5, 90_000)), Some('b'));
        assert_eq!(waiting.look_after(begun, progress(90_000, 5, 90_000)), None);
    }

    #[test]
    fn where_others_go_on_its_end_is_at_most_what_may_be_held_back_away() {
        let mut waiting = Waiting::default();
        waiting.push('a', Instant::now(), progress(50_000, 3, 20_000));
        let end = 50_000 + BETWEEN;
        assert_eq!(waiting.delivered(progress(end - 1, 3, end - 1)), None);
        assert_eq!(waiting.delivered(progress(end + 9, 3, end - 1)), None);
        assert_eq!(waiting.delivered(progress(end + 9, 3, end)), Some('a'));
    }

    #[test]
    fn looks_come_closer_as_the_end_does() {
        let second = Duration::from_secs(1);
        let mut waiting = Waiting::default();
        let begun = Instant::now();
        let mut now = begun;
        waiting.push('a', begun, progress(1_000_000, 3, 0));
        let (mut looks, mut acknowledged) = (0, 0);
        // 500 kB a second.
        while waiting.delivered(progress(1_000_000, 4, acknowledged)).is_none() {
            now += waiting
                .look_after(now, progress(1_000_000, 4, acknowledged))
                .expect("it waits");
            acknowledged = ((now - begun).as_secs_f64() * 5e5) as u64;
            looks += 1;
        }
        let late = (now - begun).saturating_sub(2 * second);
        assert!(late <= SOONEST, "{late:?}");
        assert!(looks < 50, "{looks}");
    }
}
