//! A window against replays, as in RFC 4303 section 3.4.3, in the form of RFC 6479. It must not know packets: callers check
//! a number, authenticate the packet, and only then note the number.

/// Packets by which one may be overtaken and still be known from a replay.
pub const REPLAY_WINDOW: u64 = 1_024;

const WORDS: usize = (REPLAY_WINDOW / 64) as usize;

/// The numbers that have arrived: each is accepted once, and none that is older than [`REPLAY_WINDOW`] before the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayWindow {
    /// One above the highest number.
    end: u64,
    /// A bit for each of the last numbers, at its place modulo the window.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// A window in which all numbers before `end` are too old, or unknown within [`REPLAY_WINDOW`] of it.
    #[must_use]
    pub const fn starting_at(end: u64) -> Self {
        Self {
            end,
            seen: [0; WORDS],
        }
    }

    /// One above the highest number that has arrived.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Whether a number is new. It stays so until it is [accepted](Self::accept).
    #[inline]
    #[must_use]
    pub const fn is_new(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        // There is no number above the last one, so it could not be marked as the highest.
        number != u64::MAX
            && (number >= self.end
                || (number.saturating_add(REPLAY_WINDOW) >= self.end && self.seen[word] & bit == 0))
    }

    /// Notes a number; false if it is not new.
    #[inline]
    pub fn accept(&mut self, number: u64) -> bool {
        if !self.is_new(number) {
            return false;
        }
        if number >= self.end {
            if number - self.end >= REPLAY_WINDOW {
                self.seen.fill(0);
            } else {
                for skipped in self.end..=number {
                    let (word, bit) = place(skipped);
                    self.seen[word] &= !bit;
                }
            }
            self.end = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
        true
    }
}

const fn place(number: u64) -> (usize, u64) {
    ((number % REPLAY_WINDOW / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_overtakes_is_accepted_once_and_what_is_too_old_never() {
        let mut window = ReplayWindow::starting_at(0);
        assert!(window.accept(3) && window.accept(0) && window.accept(2));
        assert!(!window.accept(3) && !window.accept(0));
        assert!(
            window.accept(1_026),
            "the window has moved by one: 3 is its first"
        );
        assert!(!window.accept(1), "too old to know");
        assert!(window.accept(5_000) && window.accept(4_999) && !window.accept(5_000));
    }

    #[test]
    fn numbers_near_the_end_of_64_bits_are_kept_apart() {
        let mut window = ReplayWindow::starting_at(u64::MAX - 3);
        assert!(window.accept(u64::MAX - 2) && !window.accept(u64::MAX - 2));
        assert!(window.accept(u64::MAX - 3) && window.accept(u64::MAX - 1));
        assert!(!window.accept(u64::MAX - 1) && !window.accept(u64::MAX));
        assert!(!window.accept(0));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set_of_all_numbers(steps in prop::collection::vec(-1_100i64..1_100, 1..400)) {
            let (mut window, mut seen, mut highest) = (ReplayWindow::starting_at(0), HashSet::new(), 0u64);
            for step in steps {
                let number = highest.saturating_add_signed(step);
                let old = number + REPLAY_WINDOW < window.end();
                let new = !old && !seen.contains(&number);
                prop_assert_eq!(window.is_new(number), new);
                prop_assert_eq!(window.accept(number), new);
                if new {
                    seen.insert(number);
                }
                highest = highest.max(number);
            }
        }
    }
}
