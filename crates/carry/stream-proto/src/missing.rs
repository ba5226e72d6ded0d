//! Received and missing symbols of the stream, and when to request retransmission. It must not know frames or
//! flows: the caller passes the symbol before which all packets must have arrived.

use std::collections::VecDeque;
use std::ops::Range;

use weir_wire::MissingRange;

use crate::frames::Need;

/// Number of symbols remembered.
const REMEMBERED: u64 = 1 << 17;
/// Maximum number of tracked missing symbols; more are declared lost.
const MOST_MISSING: usize = 1 << 15;
/// Missing symbols examined for one request.
const LOOKED_AT: usize = 4_096;
/// Symbols skipped by a jump that are examined one by one.
const MOST_LEFT_OUT: u64 = 1 << 18;
/// The same, per call.
const LEFT_OUT_AT_A_TIME: u64 = 1 << 14;
/// Symbols declared missing per call: many more than arrive between two calls.
const NOTICED_AT_A_TIME: u64 = 1_024;
/// Maximum advance of a stream, well within 32 bits: hours of packets.
const LONGEST_JUMP: u64 = 1 << 30;
/// A first symbol below this belongs to the beginning of the stream.
const BEGINNING: u64 = 4_096;

/// Result of an arriving symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Not seen before.
    New {
        /// It had been declared missing: when, and how often it was requested.
        missed: Option<Missed>,
    },
    /// Seen before.
    Duplicate,
    /// Too long ago to know.
    Old,
    /// Further ahead than a stream can advance.
    Far,
}

/// Result of a symbol recovered by FEC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It was missing.
    New,
    /// It had been declared lost.
    GivenUp,
    /// Received before, or not valid.
    Useless,
}

/// A symbol that was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// When it was declared missing, nanoseconds.
    pub noticed_ns: u64,
    /// When it was last requested.
    pub asked_ns: u64,
    /// Number of requests.
    pub asked: u32,
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    symbol: u64,
    /// It has arrived, or was recovered, since: known for longer than symbols are remembered.
    has_come: bool,
    missed: Missed,
    deadline_ns: u64,
    /// Time of the next request.
    next_ns: u64,
}

impl Missing {
    /// An expired one.
    fn over(symbol: u64) -> Self {
        Missing {
            symbol,
            has_come: false,
            missed: Missed {
                noticed_ns: 0,
                asked_ns: 0,
                asked: 0,
            },
            deadline_ns: 0,
            next_ns: u64::MAX,
        }
    }
}

/// Parameters of retransmission requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Round trip to the sender, nanoseconds: a request later than this before the deadline is too late.
    pub rtt_ns: u64,
    /// From one request to the next for the same symbol.
    pub repeat_ns: u64,
    /// Delay of the first request.
    pub patience_ns: u64,
    /// Repairs of a symbol arrive within this many later symbols; it is requested after that, or after half of its time
    /// has passed.
    pub window: u64,
}

/// The account of symbols.
#[derive(Debug)]
pub struct Symbols {
    /// A bit for each remembered symbol, by its number modulo their count.
    seen: Vec<u64>,
    /// The first tracked symbol; none before the first packet.
    first: Option<u64>,
    /// One above the highest received.
    end: u64,
    /// All before it are received or declared missing.
    scanned: u64,
    missing: VecDeque<Missing>,
    noticed: u64,
    given_up: u64,
    elsewhere: u64,
    /// Losses from this symbol on are counted separately.
    counted_from: u64,
    counted: u64,
    /// A symbol too far ahead: a second one near it confirms a jump.
    far: Option<u64>,
    /// Symbols skipped by such a jump and not yet accounted for.
    left_out: Range<u64>,
}

impl Default for Symbols {
    fn default() -> Self {
        Symbols {
            seen: vec![0; (REMEMBERED / 64) as usize],
            first: None,
            end: 0,
            scanned: 0,
            missing: VecDeque::new(),
            noticed: 0,
            given_up: 0,
            elsewhere: 0,
            counted_from: 0,
            counted: 0,
            far: None,
            left_out: 0..0,
        }
    }
}

impl Symbols {
    /// One above the highest received.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Symbols declared missing, whatever their outcome.
    pub fn noticed(&self) -> u64 {
        self.noticed
    }

    /// Needed symbols that expired before they arrived.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Missing symbols that were received elsewhere.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Restarts the count of losses at the next new symbol: earlier ones may still be declared missing.
    pub fn count_anew(&mut self) {
        (self.counted_from, self.counted) = (u64::MAX, 0);
    }

    /// Since [`count_anew`](Self::count_anew): symbols with a known outcome (received, recovered or
    /// lost), and those lost.
    pub fn counted(&self) -> (u64, u64) {
        (self.settled().saturating_sub(self.counted_from), self.counted)
    }

    /// Whether the first of all symbols is known.
    pub fn is_from_start(&self) -> bool {
        self.first == Some(0)
    }

    /// All before this one are received or declared lost.
    pub fn settled(&self) -> u64 {
        self.missing
            .front()
            .map_or(self.scanned, |missing| missing.symbol)
    }

    fn bit(&self, symbol: u64) -> bool {
        let at = symbol % REMEMBERED;
        self.seen[(at / 64) as usize] & (1 << (at % 64)) != 0
    }

    /// Notes a received symbol.
    pub fn come(&mut self, symbol: u64) -> Arrival {
        let first = *self.first.get_or_insert_with(|| {
            let first = if symbol < BEGINNING { 0 } else { symbol };
            (self.scanned, self.end) = (first, first);
            first
        });
        if symbol < first || symbol + REMEMBERED < self.end {
            return Arrival::Old;
        }
        if symbol >= self.end + REMEMBERED && !self.jump(symbol) {
            return Arrival::Far;
        }
        if symbol >= self.end && self.counted_from == u64::MAX {
            self.counted_from = symbol;
        }
        // Their bits are about to be reused.
        self.give_up_unseen((symbol + 1).saturating_sub(REMEMBERED));
        while self.end <= symbol {
            let at = self.end % REMEMBERED;
            self.seen[(at / 64) as usize] &= !(1 << (at % 64));
            self.end += 1;
        }
        if self.bit(symbol) {
            return Arrival::Duplicate;
        }
        let at = symbol % REMEMBERED;
        self.seen[(at / 64) as usize] |= 1 << (at % 64);
        let missed = (symbol < self.scanned).then(|| self.found(symbol)).flatten();
        Arrival::New { missed }
    }

    /// Notes a symbol recovered by FEC. It counts as missing even if it was not declared so before; not if it had
    /// been declared lost.
    pub fn recover(&mut self, symbol: u64) -> Recovery {
        let noticed = symbol < self.scanned;
        match self.come(symbol) {
            Arrival::New { missed } if noticed && missed.is_none() => Recovery::GivenUp,
            Arrival::New { .. } => {
                self.noticed += u64::from(!noticed);
                Recovery::New
            }
            Arrival::Duplicate | Arrival::Old | Arrival::Far => Recovery::Useless,
        }
    }

    /// A single symbol far ahead may be garbage. A second one near it confirms a jump.
    fn jump(&mut self, symbol: u64) -> bool {
        if symbol - self.end > LONGEST_JUMP {
            return false;
        }
        let Some(other) = self.far.replace(symbol) else {
            return false;
        };
        if other == symbol || other.abs_diff(symbol) >= BEGINNING {
            return false;
        }
        self.far = None;
        let to = symbol.min(other);
        self.give_up_unseen(self.end);
        self.noticed += to - self.end;
        // Symbols beyond are not examined one by one.
        let looked_at = to.min(self.end + MOST_LEFT_OUT);
        let unseen = to - looked_at + (self.left_out.end - self.left_out.start);
        self.given_up += unseen;
        self.counted += unseen;
        self.left_out = self.end..looked_at;
        (self.scanned, self.end) = (to, to);
        self.seen.fill(0);
        true
    }

    /// Symbols not received before `to` are missing and expired.
    fn give_up_unseen(&mut self, to: u64) {
        for symbol in self.scanned..to {
            if self.bit(symbol) {
                continue;
            }
            self.noticed += 1;
            if self.missing.len() < MOST_MISSING {
                self.missing.push_back(Missing::over(symbol));
            } else {
                self.given_up += 1;
                self.counted += u64::from(symbol >= self.counted_from);
            }
        }
        self.scanned = self.scanned.max(to);
    }

    fn found(&mut self, symbol: u64) -> Option<Missed> {
        let place = self
            .missing
            .binary_search_by_key(&symbol, |missing| missing.symbol)
            .ok()?;
        let found = &mut self.missing[place];
        let missed = (!found.has_come).then_some(found.missed);
        found.has_come = true;
        self.drop_settled();
        missed
    }

    fn drop_settled(&mut self) {
        while self.missing.front().is_some_and(|missing| missing.has_come) {
            self.missing.pop_front();
        }
    }

    /// Declares all symbols before `horizon` that were not received missing, with the deadline `deadline_ns`.
    pub fn notice(
        &mut self,
        now_ns: u64,
        horizon: u64,
        deadline_ns: u64,
        asking: &Asking,
        need: impl Fn(u64) -> Need,
    ) {
        // The rest with the next packets: a long outage does not delay the packets after it.
        let horizon = horizon.min(self.end).min(self.scanned + NOTICED_AT_A_TIME);
        for symbol in self.scanned..horizon {
            if self.bit(symbol) {
                continue;
            }
            self.noticed += 1;
            if self.missing.len() == MOST_MISSING {
                self.give_up_first(&need);
            }
            // Then there is time for a second request. A code has half of the time at most: at a pause or the end of a
            // stream no window passes, and hosts add delay, too.
            let left_ns = deadline_ns.saturating_sub(now_ns);
            let patience_ns = match asking.window {
                0 => asking.patience_ns,
                _ => left_ns / 2,
            };
            let next_ns = now_ns + patience_ns.min(left_ns.saturating_sub(2 * asking.rtt_ns));
            self.missing.push_back(Missing {
                symbol,
                has_come: false,
                missed: Missed {
                    noticed_ns: now_ns,
                    asked_ns: 0,
                    asked: 0,
                },
                deadline_ns,
                next_ns,
            });
        }
        self.scanned = self.scanned.max(horizon);
    }

    fn give_up_first(&mut self, need: impl Fn(u64) -> Need) {
        if let Some(missing) = self.missing.pop_front()
            && !missing.has_come
        {
            self.give_up(missing.symbol, need(missing.symbol));
        }
    }

    fn give_up(&mut self, symbol: u64, need: Need) {
        match need {
            Need::Had => self.elsewhere += 1,
            Need::Wanted | Need::TooLate => {
                self.given_up += 1;
                self.counted += u64::from(symbol >= self.counted_from);
            }
        }
    }

    /// Declares symbols lost that can no longer arrive in time; `need` says which are needed.
    pub fn expire(&mut self, now_ns: u64, need: impl Fn(u64) -> Need) {
        while self
            .missing
            .front()
            .is_some_and(|missing| missing.deadline_ns <= now_ns || missing.has_come)
        {
            self.give_up_first(&need);
        }
        let some = self.left_out.end.min(self.left_out.start + LEFT_OUT_AT_A_TIME);
        for symbol in self.left_out.start..some {
            self.give_up(symbol, need(symbol));
        }
        self.left_out.start = some;
    }

    /// Missing symbols to request now, as ranges, up to the length of `out`.
    pub fn ask(
        &mut self,
        now_ns: u64,
        asking: &Asking,
        need: impl Fn(u64) -> Need,
        out: &mut Vec<MissingRange>,
        most: usize,
    ) {
        out.clear();
        let end = self.scanned;
        let mut next_of_range = 0;
        for missing in self.missing.iter_mut().take(LOOKED_AT) {
            let window_passed = missing.missed.asked == 0
                && missing.next_ns < u64::MAX
                && asking.window > 0
                && missing.symbol + asking.window <= end;
            let due = missing.next_ns <= now_ns || window_passed;
            let in_time = now_ns + asking.rtt_ns <= missing.deadline_ns;
            if !due || !in_time || missing.has_come {
                continue;
            }
            if need(missing.symbol) != Need::Wanted {
                missing.next_ns = u64::MAX;
                continue;
            }
            let full = out.len() == most;
            let adjoins = next_of_range == missing.symbol;
            match out.last_mut().filter(|range| adjoins && range.count < u16::MAX) {
                Some(range) => range.count += 1,
                None if full => return,
                None => out.push(MissingRange {
                    first: missing.symbol.into(),
                    count: 1,
                }),
            }
            next_of_range = missing.symbol + 1;
            missing.missed.asked += 1;
            missing.missed.asked_ns = now_ns;
            missing.next_ns = now_ns + asking.repeat_ns;
        }
    }

    /// When the next request or expiry is due.
    pub fn next_wake(&self, now_ns: u64, asking: Option<&Asking>) -> Option<u64> {
        let first = self.missing.front()?.deadline_ns;
        let Some(asking) = asking else { return Some(first) };
        let asks = self.missing.iter().take(LOOKED_AT).filter(|missing| {
            let ask_ns = missing.next_ns.max(now_ns);
            ask_ns.saturating_add(asking.rtt_ns) <= missing.deadline_ns && !missing.has_come
        });
        let ask = asks.map(|missing| missing.next_ns).min();
        Some(ask.map_or(first, |ask| ask.min(first)))
    }
}

#[cfg(test)]
mod tests;
