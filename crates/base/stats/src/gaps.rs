//! Times at which a later packet revealed each gap in a sequence, in fixed memory. It must not know which
//! packets inside a gap arrived after all.

use std::collections::VecDeque;

/// Gaps kept with their exact time. Beyond this number, gaps revealed close together share one entry.
const EXACT: usize = 2_048;
/// Hard limit on entries; never reached, see [`GapTimes::push`].
const CAPACITY: usize = 4_096;
/// Gaps revealed within this time (or within 1/1024 of the time limit, if that is longer) may share an entry.
const SHARED_NS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy)]
struct Gap {
    /// One past the last sequence of the gap.
    end: u64,
    noticed_ns: u64,
}

/// The open gaps, in order of sequence and so also of time.
#[derive(Debug, Clone)]
pub(crate) struct GapTimes {
    gaps: VecDeque<Gap>,
    limit_ns: u64,
    shared_ns: u64,
}

impl GapTimes {
    /// `limit_ns`: how long a gap may stay open.
    pub(crate) fn new(limit_ns: u64) -> Self {
        Self {
            gaps: VecDeque::with_capacity(CAPACITY),
            limit_ns,
            shared_ns: SHARED_NS.max(limit_ns / 1_024),
        }
    }

    /// Notes that the sequences below `end`, except those of earlier gaps, were first missing at `now_ns`.
    ///
    /// The caller has just closed the gaps that are past their limit, so the open ones were noticed less than
    /// `limit_ns` ago; past [`EXACT`] they lie `shared_ns` apart, which leaves at most 1,025 more of them.
    pub(crate) fn push(&mut self, end: u64, now_ns: u64) {
        let full = self.gaps.len() >= CAPACITY;
        let many = self.gaps.len() >= EXACT;
        if let Some(last) = self.gaps.back_mut()
            && (full || (many && now_ns.saturating_sub(last.noticed_ns) < self.shared_ns))
        {
            last.end = end;
            return;
        }
        self.gaps.push_back(Gap {
            end,
            noticed_ns: now_ns,
        });
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Forgets the gaps that lie wholly below `next`.
    pub(crate) fn forget_below(&mut self, next: u64) {
        while self.gaps.front().is_some_and(|gap| gap.end <= next) {
            self.gaps.pop_front();
        }
    }

    /// When the lowest open gap was detected.
    pub(crate) fn first_noticed_ns(&self) -> Option<u64> {
        self.gaps.front().map(|gap| gap.noticed_ns)
    }

    /// One past the last sequence of the lowest open gap.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.gaps.front().map(|gap| gap.end)
    }

    /// Deadline of the lowest open gap; `u64::MAX` if there is none.
    pub(crate) fn deadline_ns(&self) -> u64 {
        self.first_noticed_ns()
            .map_or(u64::MAX, |noticed| noticed.saturating_add(self.limit_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_its_memory_whatever_the_limit() {
        for limit_ns in [1, 1_000_000, 1_000_000_000, u64::MAX] {
            let mut gaps = GapTimes::new(limit_ns);
            for step in 0..100_000_u64 {
                let now_ns = step * 10_000;
                while gaps.deadline_ns() <= now_ns {
                    let end = gaps.first_end().unwrap();
                    gaps.forget_below(end);
                }
                gaps.push(2 * step + 1, now_ns);
                assert!(gaps.gaps.len() < CAPACITY);
            }
            assert_eq!(gaps.gaps.capacity(), CAPACITY);
        }
    }
}
