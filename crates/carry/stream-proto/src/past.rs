//! History of output frames: whether a packet that arrives after its frame, or that one sender has
//! lost, was received. It must not know the frames' bytes.

use std::collections::VecDeque;

/// Frames whose times are remembered.
const TIMES: usize = 128;
/// Number of incomplete frames remembered; all others were complete.
const DAMAGED: usize = 1_024;

/// A frame that was output with missing parts.
#[derive(Debug)]
struct Damaged {
    number: u64,
    /// One bit for each received packet.
    seen: Vec<u64>,
}

/// The frames before the next one of the output.
#[derive(Debug)]
pub(crate) struct Past {
    /// The history begins with this frame,
    first: u64,
    /// and ends before this one.
    end: u64,
    damaged: VecDeque<Damaged>,
    /// Send times of the first packets of the last frames.
    sent_ns: VecDeque<Option<u64>>,
}

impl Default for Past {
    fn default() -> Self {
        Past {
            first: 0,
            end: 0,
            damaged: VecDeque::new(),
            sent_ns: VecDeque::with_capacity(TIMES),
        }
    }
}

impl Past {
    /// Notes an output frame with the received packets `seen`. Returns a bit field that is no
    /// longer needed.
    pub(crate) fn note(
        &mut self,
        number: u64,
        sent_ns: Option<u64>,
        complete: bool,
        seen: Vec<u64>,
    ) -> Vec<u64> {
        if number != self.end {
            self.first = number;
            self.damaged.clear();
            self.sent_ns.clear();
        }
        self.end = number + 1;
        if self.sent_ns.len() == TIMES {
            self.sent_ns.pop_front();
        }
        self.sent_ns.push_back(sent_ns);
        if complete {
            return seen;
        }
        let spare = match self.damaged.len() {
            DAMAGED => self.damaged.pop_front(),
            _ => None,
        };
        self.damaged.push_back(Damaged { number, seen });
        let Some(spare) = spare else { return Vec::new() };
        self.first = spare.number + 1;
        spare.seen
    }

    /// Whether a packet was in its frame when it was output; none if not remembered.
    pub(crate) fn had(&self, number: u64, index: u32) -> Option<bool> {
        if !(self.first..self.end).contains(&number) {
            return None;
        }
        let found = self
            .damaged
            .binary_search_by_key(&number, |damaged| damaged.number);
        let Ok(place) = found else { return Some(true) };
        let word = self.damaged[place].seen.get((index / 64) as usize);
        Some(word.is_some_and(|word| word & (1 << (index % 64)) != 0))
    }

    /// Send time of a frame's first packet, if remembered.
    pub(crate) fn sent_ns(&self, number: u64) -> Option<u64> {
        let back = usize::try_from(self.end.checked_sub(number)?).ok()?;
        *self.sent_ns.get(self.sent_ns.len().checked_sub(back)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_what_was_there() {
        let mut past = Past::default();
        past.note(7, Some(70), true, vec![1]);
        past.note(8, Some(80), false, vec![0b101, 1]);
        past.note(9, None, false, Vec::new());
        assert_eq!((past.had(6, 0), past.had(10, 0)), (None, None));
        assert_eq!((past.had(7, 0), past.had(7, 700)), (Some(true), Some(true)));
        let eighth = [0, 1, 2, 64, 65, 900].map(|index| past.had(8, index));
        assert_eq!(eighth, [true, false, true, true, false, false].map(Some));
        assert_eq!((past.had(9, 0), past.sent_ns(9)), (Some(false), None));
        assert_eq!((past.sent_ns(8), past.sent_ns(10)), (Some(80), None));
        for number in 10..1_000_000 {
            past.note(number, Some(1), true, Vec::new());
        }
        assert_eq!((past.had(8, 2), past.had(500_000, 3)), (Some(true), Some(true)));
        assert_eq!((past.sent_ns(999_999), past.sent_ns(8)), (Some(1), None));
        for number in 1_000_000..1_000_000 + DAMAGED as u64 {
            past.note(number, None, false, Vec::new());
        }
        assert_eq!((past.had(9, 0), past.had(500_000, 3)), (None, Some(true)));
        past.note(5_000_000, None, true, Vec::new());
        assert_eq!(past.had(500_000, 0), None, "after a jump");
    }
}
