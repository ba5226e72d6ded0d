//! The receiving end of a connection: takes data, and acknowledges it. No socket and no clock.

use weir_link::Ecn;

use crate::ranges::Ranges;
use crate::segment::{Ack, Blocks, Data};

/// Packets of a new connection that are acknowledged one by one, as Linux does.
const QUICK: u32 = 16;
/// Bytes of full packets after which an acknowledgement is due: two packets (RFC 9293 section 3.8.6.3).
const PACKETS_UNACKNOWLEDGED: u32 = 2;

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    /// Room for what the application has not read, bytes: 4 GiB are more than TCP can have, which is 2^30 (RFC 7323 section 2.3).
    pub window: u32,
    /// How long an acknowledgement may wait for a second packet, nanoseconds.
    pub delay_ns: u64,
}

impl Default for ReceiverConfig {
    /// As Linux has it: 6 MB (`tcp_rmem`) and 40 ms.
    fn default() -> Self {
        Self {
            window: 6 << 20,
            delay_ns: 40_000_000,
        }
    }
}

/// A receiver whose application reads at once.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    until: u64,
    beyond: Ranges,
    /// Beginnings of the ranges beyond, the most recent one last.
    recent: Vec<u64>,
    waiting: u32,
    quick: u32,
    due_at: Option<u64>,
    /// An acknowledgement to send now.
    owed: bool,
    duplicate: bool,
    echo_mark: bool,
    marked: u32,
}

impl Receiver {
    /// A receiver without data.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            until: 0,
            beyond: Ranges::default(),
            recent: Vec::new(),
            waiting: 0,
            quick: QUICK,
            due_at: None,
            owed: false,
            duplicate: false,
            echo_mark: false,
            marked: 0,
        }
    }

    /// Bytes that have arrived without a gap.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.until
    }

    /// When it is to be woken, nanoseconds.
    #[must_use]
    pub fn next_wake_ns(&self) -> Option<u64> {
        self.due_at
    }

    /// An acknowledgement that waited is due.
    pub fn wake(&mut self, now_ns: u64) {
        if self.due_at.is_some_and(|at| at <= now_ns) {
            self.owed = true;
        }
    }

    /// Takes data, as it arrived with this ECN field; then an acknowledgement may be due.
    pub fn receive(&mut self, now_ns: u64, data: &Data, ecn: Ecn) {
        if data.reacted {
            self.echo_mark = false;
        }
        let is_marked = ecn == Ecn::Ce;
        self.marked = self.marked.saturating_add(is_marked.into());
        self.echo_mark |= is_marked;
        let end = data.start + u64::from(data.length);
        if end <= self.until {
            (self.duplicate, self.owed) = (true, true);
            return;
        }
        if data.start > self.until {
            self.take_beyond(data.start, end);
            return;
        }
        let fills = !self.beyond.is_empty();
        self.until = end;
        while let Some(end) = self.beyond.take_at(self.until) {
            self.until = self.until.max(end);
        }
        self.waiting += 1;
        if self.quick > 0 {
            self.quick -= 1;
        } else if self.waiting < PACKETS_UNACKNOWLEDGED && !fills && !is_marked {
            self.due_at = self.due_at.or(Some(now_ns + self.config.delay_ns));
            return;
        }
        self.owed = true;
    }

    fn take_beyond(&mut self, start: u64, end: u64) {
        let mut is_new = false;
        let joined = self.beyond.add(start..end, |_| is_new = true);
        self.duplicate |= !is_new;
        self.recent
            .retain(|start| !joined.contains(start) && *start >= self.until);
        self.recent.push(joined.start);
        self.owed = true;
    }

    /// The acknowledgement to send now, if any.
    pub fn poll_ack(&mut self) -> Option<Ack> {
        if !std::mem::take(&mut self.owed) {
            return None;
        }
        (self.waiting, self.due_at) = (0, None);
        let mut blocks = Blocks::default();
        for start in self.recent.iter().rev() {
            if let Some(range) = self.beyond.starting_at(*start) {
                blocks.push(self.until, range);
            }
        }
        Some(Ack {
            until: self.until,
            window: self.config.window,
            blocks,
            echo_mark: self.echo_mark,
            duplicate: std::mem::take(&mut self.duplicate),
            marked: self.marked,
        })
    }
}
