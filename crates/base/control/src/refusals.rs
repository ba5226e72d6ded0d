//! Log lines about refused connections, limited in number: whoever may knock must not be able to fill a disk with them.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines in one [`WINDOW`]; further refusals are counted.
const LINES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// The log of one door.
#[derive(Debug)]
pub(crate) struct RefusalLog {
    /// What is refused, such as `handshake`.
    what: &'static str,
    window: Mutex<Window>,
}

impl RefusalLog {
    pub(crate) fn new(what: &'static str) -> Self {
        RefusalLog {
            what,
            window: Mutex::default(),
        }
    }

    /// Logs a refusal, or counts it.
    pub(crate) fn refused(&self, peer: SocketAddr, reason: &str) {
        if self.takes_line() {
            tracing::warn!(%peer, reason, "{} refused", self.what);
        }
    }

    /// Logs an error of this host, or counts it as a refusal.
    pub(crate) fn failed(&self, error: &std::io::Error, tried: &str) {
        if self.takes_line() {
            tracing::warn!(%error, "cannot {tried}");
        }
    }

    /// Logs the count of a window that has ended.
    pub(crate) fn poll(&self) {
        let left_out = self.window().end(Instant::now());
        self.say(left_out);
    }

    /// Logs the count of the last window.
    pub(crate) fn finish(&self) {
        let left_out = std::mem::take(&mut *self.window()).left_out;
        self.say(left_out);
    }

    fn takes_line(&self) -> bool {
        let now = Instant::now();
        let (left_out, takes) = {
            let mut window = self.window();
            (window.end(now), window.takes(now))
        };
        self.say(left_out);
        takes
    }

    fn say(&self, left_out: u64) {
        if left_out > 0 {
            tracing::warn!(
                count = left_out,
                "more {}s refused, not logged one by one",
                self.what
            );
        }
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lines since the first of this window.
#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Window {
    /// Ends the window if its time is over; returns the number of refusals without a line.
    fn end(&mut self, now: Instant) -> u64 {
        let is_over = self
            .began
            .is_some_and(|began| now.saturating_duration_since(began) >= WINDOW);
        if is_over { std::mem::take(self).left_out } else { 0 }
    }

    /// Takes one refusal; returns whether it gets a line.
    fn takes(&mut self, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let takes = self.lines < LINES;
        if takes {
            self.lines += 1;
        } else {
            self.left_out += 1;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_a_few_lines_and_a_count() {
        let mut window = Window::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let lines = (0..1000).filter(|_| window.takes(at(0))).count();
        assert_eq!(lines, 20);
        assert_eq!(
            (window.end(at(9)), window.end(at(10)), window.end(at(11))),
            (0, 980, 0)
        );
        // The next window starts with the next refusal.
        assert!(window.takes(at(100)));
        assert_eq!((window.end(at(109)), window.lines), (0, 1));
        assert_eq!((window.end(at(110)), window.lines), (0, 0));
    }
}
