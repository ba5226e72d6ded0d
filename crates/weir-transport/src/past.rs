//! What is remembered of frames that were given out: whether a packet that comes after its frame, or that one sender has
//! lost, had been there. It must not know the frames' bytes.

use std::collections::VecDeque;

/// Frames that are remembered: 17 seconds of 60 a second.
const REMEMBERED: usize = 1_024;

/// A frame that was given out.
#[derive(Debug)]
struct Gone {
    /// When its first packet was sent; none if nothing of it came.
    sent_ns: Option<u64>,
    complete: bool,
    /// One bit for each packet that was there, if not all were.
    seen: Vec<u64>,
}

/// The frames before the next one to be given out.
#[derive(Debug, Default)]
pub(crate) struct Past {
    gone: VecDeque<Gone>,
    /// One above the last one's number.
    end: u64,
}

impl Past {
    /// Notes a frame that is given out, of which the packets in `seen` were there. Gives back a bit field that is no
    /// longer needed.
    pub(crate) fn note(
        &mut self,
        number: u64,
        sent_ns: Option<u64>,
        complete: bool,
        mut seen: Vec<u64>,
    ) -> Vec<u64> {
        if number != self.end {
            self.gone.clear();
        }
        self.end = number + 1;
        let mut spare = match self.gone.len() {
            REMEMBERED => self.gone.pop_front().map_or_else(Vec::new, |gone| gone.seen),
            _ => Vec::new(),
        };
        if complete {
            spare = std::mem::take(&mut seen);
        }
        self.gone.push_back(Gone {
            sent_ns,
            complete,
            seen,
        });
        spare
    }

    fn find(&self, number: u64) -> Option<&Gone> {
        let back = usize::try_from(self.end.checked_sub(number)?).ok()?;
        self.gone.get(self.gone.len().checked_sub(back)?)
    }

    /// Whether a packet was in its frame when that was given out; none if that is not remembered.
    pub(crate) fn had(&self, number: u64, index: u32) -> Option<bool> {
        let gone = self.find(number)?;
        let word = gone.seen.get((index / 64) as usize).copied().unwrap_or(0);
        Some(gone.complete || word & (1 << (index % 64)) != 0)
    }

    /// When a frame's first packet was sent, if that is remembered.
    pub(crate) fn sent_ns(&self, number: u64) -> Option<u64> {
        self.find(number)?.sent_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_what_was_there_for_a_thousand_frames() {
        let mut past = Past::default();
        past.note(7, Some(70), true, vec![1]);
        past.note(8, Some(80), false, vec![0b101, 1]);
        past.note(9, None, false, Vec::new());
        assert_eq!((past.had(6, 0), past.had(10, 0)), (None, None));
        assert_eq!((past.had(7, 0), past.had(7, 700)), (Some(true), Some(true)));
        let eighth = [0, 1, 2, 64, 65, 900].map(|index| past.had(8, index).unwrap());
        assert_eq!(eighth, [true, false, true, true, false, false]);
        assert_eq!((past.had(9, 0), past.sent_ns(9)), (Some(false), None));
        assert_eq!(past.sent_ns(8), Some(80));
        for number in 10..REMEMBERED as u64 + 8 {
            past.note(number, None, true, Vec::new());
        }
        assert_eq!((past.had(7, 0), past.had(8, 2)), (None, Some(true)));
        past.note(5_000_000, None, true, Vec::new());
        assert_eq!(past.had(9, 0), None, "after a jump");
    }
}
