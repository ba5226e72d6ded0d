//! Sets of bytes of the stream: sorted ranges that do not touch.

use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    ranges: Vec<Range<u64>>,
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The range that begins there.
    pub fn starting_at(&self, start: u64) -> Option<Range<u64>> {
        let place = self
            .ranges
            .binary_search_by_key(&start, |range| range.start)
            .ok()?;
        Some(self.ranges[place].clone())
    }

    /// Adds a range; returns the range of the set that now has it. What was new of it is passed to `added`.
    pub fn add(&mut self, new: Range<u64>, mut added: impl FnMut(Range<u64>)) -> Range<u64> {
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let after = self.ranges.partition_point(|range| range.start <= new.end);
        let mut joined = new.clone();
        let mut known_to = new.start;
        for range in &self.ranges[first..after] {
            if range.start > known_to {
                added(known_to..range.start);
            }
            known_to = known_to.max(range.end);
            joined = joined.start.min(range.start)..joined.end.max(range.end);
        }
        if new.end > known_to {
            added(known_to..new.end);
        }
        self.ranges.splice(first..after, [joined.clone()]);
        joined
    }

    /// Removes all bytes before `until`.
    pub fn remove_before(&mut self, until: u64) {
        let gone = self.ranges.partition_point(|range| range.end <= until);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(until);
        }
    }

    /// Removes the first range if it begins at `start` or before, and returns its end.
    pub fn take_at(&mut self, start: u64) -> Option<u64> {
        if self.ranges.first()?.start > start {
            return None;
        }
        Some(self.ranges.remove(0).end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_tell_what_is_new() {
        let mut ranges = Ranges::default();
        let mut add = |start, end| {
            let mut added = Vec::new();
            let joined = ranges.add(start..end, |range| added.push((range.start, range.end)));
            (joined.start, joined.end, added)
        };
        assert_eq!(add(10, 20), (10, 20, vec![(10, 20)]));
        assert_eq!(add(30, 40), (30, 40, vec![(30, 40)]));
        assert_eq!(add(15, 35), (10, 40, vec![(20, 30)]));
        assert_eq!(add(12, 18), (10, 40, vec![]));
        assert_eq!(add(40, 50), (10, 50, vec![(40, 50)]));
        assert_eq!(add(0, 60), (0, 60, vec![(0, 10), (50, 60)]));
        ranges.remove_before(30);
        assert_eq!(ranges.starting_at(30), Some(30..60));
        assert_eq!((ranges.take_at(20), ranges.take_at(30)), (None, Some(60)));
        assert!(ranges.is_empty());
    }
}
