//! Which symbols of the stream have come, which are missing, and when to ask for them again. It must not know frames or
//! flows: it is told up to where everything that is still on its way must have come.

use std::collections::VecDeque;
use std::ops::Range;

use weir_wire::MissingRange;

use crate::frames::Need;

/// Symbols that are remembered.
const REMEMBERED: u64 = 1 << 17;
/// Missing symbols that are kept account of; more are given up.
const MOST_MISSING: usize = 1 << 15;
/// Missing symbols that are looked at for one request.
const LOOKED_AT: usize = 4_096;
/// Symbols that a jump leaves out and that are looked at one by one.
const MOST_LEFT_OUT: u64 = 1 << 18;
/// And at a time.
const LEFT_OUT_AT_A_TIME: u64 = 1 << 14;
/// Symbols that are noticed as missing at a time: many more than come between one call and the next.
const NOTICED_AT_A_TIME: u64 = 1_024;
/// The furthest that a stream can have gone on, well within what 32 bits can tell: hours of it.
const LONGEST_JUMP: u64 = 1 << 30;
/// A symbol that comes first of all and is below this belongs to the beginning of the stream.
const BEGINNING: u64 = 4_096;

/// What a symbol is that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Not seen before.
    New {
        /// It had been noticed as missing: how long before, and how often it was asked for.
        missed: Option<Missed>,
    },
    /// Seen before.
    Duplicate,
    /// Too long ago to know.
    Old,
    /// Further ahead than a stream can have gone on.
    Far,
}

/// What a symbol is that the code gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It was missing.
    New,
    /// It had been given up.
    GivenUp,
    /// It was there, or makes no sense.
    Useless,
}

/// A symbol that was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// When it was noticed, nanoseconds.
    pub noticed_ns: u64,
    /// When it was last asked for.
    pub asked_ns: u64,
    /// How often it was asked for.
    pub asked: u32,
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    symbol: u64,
    missed: Missed,
    deadline_ns: u64,
    /// When to ask for it next.
    next_ns: u64,
}

impl Missing {
    /// One whose time is over.
    fn over(symbol: u64) -> Self {
        Missing {
            symbol,
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

/// How missing symbols are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Round trip to the sender, nanoseconds: what is asked for later than this before its deadline comes too late.
    pub rtt_ns: u64,
    /// From one request to the next for the same symbol.
    pub repeat_ns: u64,
    /// From noticing it to the first request.
    pub patience_ns: u64,
    /// A repair over a symbol may come until so many symbols after it; it is asked for after that, or when half of its time
    /// is over.
    pub window: u64,
}

/// The account of symbols.
#[derive(Debug)]
pub struct Symbols {
    /// A bit for each remembered symbol, by its number modulo their count.
    seen: Vec<u64>,
    /// The first that matters; none before anything came.
    first: Option<u64>,
    /// One above the highest that came.
    end: u64,
    /// All before it have come or been noticed as missing.
    scanned: u64,
    missing: VecDeque<Missing>,
    noticed: u64,
    given_up: u64,
    elsewhere: u64,
    /// Those given up from this symbol on are counted on their own.
    counted_from: u64,
    counted: u64,
    /// A symbol too far ahead: one more near it, and the stream has gone on there.
    far: Option<u64>,
    /// Symbols that such a jump left out, which are yet to be accounted for.
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
    /// One above the highest that came.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Symbols that were noticed as missing, whatever became of them.
    pub fn noticed(&self) -> u64 {
        self.noticed
    }

    /// Symbols whose time ended before they came, and that were of use.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Symbols that did not come, and that were there by other ways.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// What is lost is counted anew, from the next new symbol on: what was sent before may yet be found missing.
    pub fn count_anew(&mut self) {
        (self.counted_from, self.counted) = (u64::MAX, 0);
    }

    /// Since [`count_anew`](Self::count_anew): symbols of which it is known whether they came, were given back, or are
    /// given up, and those that are given up.
    pub fn counted(&self) -> (u64, u64) {
        (self.settled().saturating_sub(self.counted_from), self.counted)
    }

    /// Whether the first of all symbols is known.
    pub fn is_from_start(&self) -> bool {
        self.first == Some(0)
    }

    /// All before this one have come or are given up.
    pub fn settled(&self) -> u64 {
        self.missing
            .front()
            .map_or(self.scanned, |missing| missing.symbol)
    }

    /// Whether a symbol has come, as far as is remembered.
    pub fn has(&self, symbol: u64) -> bool {
        symbol + REMEMBERED >= self.end && self.bit(symbol)
    }

    fn bit(&self, symbol: u64) -> bool {
        let at = symbol % REMEMBERED;
        self.seen[(at / 64) as usize] & (1 << (at % 64)) != 0
    }

    /// Notes a symbol that came, by whatever way.
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
        // Their bits are about to be used again.
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

    /// Notes a symbol that the code gave back. It counts as missing even if that was not noticed before; not if it had
    /// been given up.
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

    /// A single symbol far ahead may be garbage. A second one near it shows that the stream has gone on there.
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
        // What lies beyond is not looked at one by one.
        let looked_at = to.min(self.end + MOST_LEFT_OUT);
        let unseen = to - looked_at + (self.left_out.end - self.left_out.start);
        self.given_up += unseen;
        self.counted += unseen;
        self.left_out = self.end..looked_at;
        (self.scanned, self.end) = (to, to);
        self.seen.fill(0);
        true
    }

    /// What has not come before a symbol is missing, and its time is over.
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
        let missed = self.missing[place].missed;
        self.drop_settled();
        Some(missed)
    }

    fn drop_settled(&mut self) {
        while self
            .missing
            .front()
            .is_some_and(|missing| self.has(missing.symbol))
        {
            self.missing.pop_front();
        }
    }

    /// Everything before `horizon` must have come by now: what has not is missing, and is of use until `deadline_ns`.
    pub fn notice(
        &mut self,
        now_ns: u64,
        horizon: u64,
        deadline_ns: u64,
        asking: &Asking,
        need: impl Fn(u64) -> Need,
    ) {
        // The rest at the next packets: a long outage does not hold up what comes after it.
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
            // stream no window passes, and hosts take their time too.
            let left_ns = deadline_ns.saturating_sub(now_ns);
            let patience_ns = match asking.window {
                0 => asking.patience_ns,
                _ => left_ns / 2,
            };
            let next_ns = now_ns + patience_ns.min(left_ns.saturating_sub(2 * asking.rtt_ns));
            self.missing.push_back(Missing {
                symbol,
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
            && !self.has(missing.symbol)
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

    /// Gives up what can no longer come in time; `need` says what is missed.
    pub fn expire(&mut self, now_ns: u64, need: impl Fn(u64) -> Need) {
        while self
            .missing
            .front()
            .is_some_and(|missing| missing.deadline_ns <= now_ns || self.has(missing.symbol))
        {
            self.give_up_first(&need);
        }
        let some = self.left_out.end.min(self.left_out.start + LEFT_OUT_AT_A_TIME);
        for symbol in self.left_out.start..some {
            self.give_up(symbol, need(symbol));
        }
        self.left_out.start = some;
    }

    /// Missing symbols that are to be asked for now, as ranges, at most as many as `out` takes.
    pub fn ask(
        &mut self,
        now_ns: u64,
        asking: &Asking,
        need: impl Fn(u64) -> Need,
        out: &mut Vec<MissingRange>,
        most: usize,
    ) {
        out.clear();
        let (end, seen) = (self.scanned, &self.seen);
        let has = |symbol: u64| {
            let at = symbol % REMEMBERED;
            seen[(at / 64) as usize] & (1 << (at % 64)) != 0
        };
        let mut next_of_range = 0;
        for missing in self.missing.iter_mut().take(LOOKED_AT) {
            let window_passed = missing.missed.asked == 0
                && missing.next_ns < u64::MAX
                && asking.window > 0
                && missing.symbol + asking.window <= end;
            let due = missing.next_ns <= now_ns || window_passed;
            let in_time = now_ns + asking.rtt_ns <= missing.deadline_ns;
            if !due || !in_time || has(missing.symbol) {
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

    /// When there may be something to ask for or to give up.
    pub fn next_ns(&self, now_ns: u64, asking: Option<&Asking>) -> Option<u64> {
        let first = self.missing.front()?.deadline_ns;
        let Some(asking) = asking else { return Some(first) };
        let asks = self.missing.iter().take(LOOKED_AT).filter(|missing| {
            let ask_ns = missing.next_ns.max(now_ns);
            ask_ns.saturating_add(asking.rtt_ns) <= missing.deadline_ns && !self.has(missing.symbol)
        });
        let ask = asks.map(|missing| missing.next_ns).min();
        Some(ask.map_or(first, |ask| ask.min(first)))
    }
}

#[cfg(test)]
mod tests;
