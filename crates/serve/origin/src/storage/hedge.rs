//! When a read is worth making a second time: after the time within which 99 of 100 reads were answered lately, and for no
//! more than one read in twenty, so that storage that is slow under load gets little more of it. It must not know how a read
//! is made, nor what time it is.

use std::collections::VecDeque;
use std::time::Duration;

/// Reads that count as recent.
const RECENT: usize = 1000;
/// Reads until enough is known to call one of them slow.
const FEWEST: usize = 100;
/// Reads from one look at the recent ones to the next.
const STEP: usize = 50;
/// Reads for each second one.
const PER_SECOND_READ: u32 = 20;
/// Second reads that can be saved up.
const SAVED: u32 = 10;

/// What reads took lately, and how many more may be made.
#[derive(Debug, Default)]
pub struct Hedge {
    recent: VecDeque<Duration>,
    learned: usize,
    after: Option<Duration>,
    /// Reads that were made and not used for a second one.
    credit: u32,
}

impl Hedge {
    /// A read is made: after which time it is slow; nothing while too little is known.
    pub fn begin(&mut self) -> Option<Duration> {
        self.credit = (self.credit + 1).min(SAVED * PER_SECOND_READ);
        self.after
    }

    /// A read is slow: whether it may be made a second time.
    pub fn may(&mut self) -> bool {
        let left = self.credit.checked_sub(PER_SECOND_READ);
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }

    /// The answer to a read began after this time, whichever way it came.
    pub fn learn(&mut self, took: Duration) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(took);
        self.learned += 1;
        if self.recent.len() >= FEWEST && self.learned.is_multiple_of(STEP) {
            let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
            let place = sorted.len() * 99 / 100;
            self.after = Some(*sorted.select_nth_unstable(place).1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn nothing_is_slow_until_enough_is_known() {
        let mut hedge = Hedge::default();
        for _ in 0..FEWEST - 1 {
            assert_eq!(hedge.begin(), None);
            hedge.learn(ms(10));
        }
        assert_eq!(hedge.begin(), None);
        hedge.learn(ms(10));
        assert_eq!(hedge.begin(), Some(ms(10)));
    }

    #[test]
    fn slow_is_what_one_read_in_a_hundred_is() {
        let mut hedge = Hedge::default();
        // 1 to 1000 ms in an order of no meaning: 389 and 1000 have no common divisor.
        for step in 0..1000 {
            hedge.learn(ms(1 + step * 389 % 1000));
        }
        assert_eq!(hedge.begin(), Some(ms(991)));
        // What was long ago is forgotten.
        for _ in 0..1000 {
            hedge.learn(ms(5));
        }
        assert_eq!(hedge.begin(), Some(ms(5)));
    }

    #[test]
    fn one_read_in_twenty_is_made_twice_at_most() {
        let mut hedge = Hedge::default();
        let mut twice = 0;
        for _ in 0..10_000 {
            hedge.begin();
            twice += u32::from(hedge.may());
        }
        assert_eq!(twice, 500);
        // After a quiet time not all that was saved is spent at once.
        for _ in 0..10_000 {
            hedge.begin();
        }
        assert_eq!((0..10_000).filter(|_| hedge.may()).count(), 10);
    }
}
