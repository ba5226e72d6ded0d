//! Distributions of durations by a small number, such as the packet's length or its position in the window. It must not
//! know the meaning of that number.

use std::collections::BTreeMap;

use crate::histogram::DurationHistogram;

/// Default maximum number of groups.
const DEFAULT_GROUPS: usize = 64;

/// One group: the keys from `low` to `high` (both included) and their durations.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// The lowest key that falls into the group.
    pub low: u32,
    /// The highest.
    pub high: u32,
    /// The durations recorded under those keys.
    pub durations: &'a DurationHistogram,
}

/// Durations grouped by key, with a limit on the number of groups.
///
/// Each key has its own group up to the limit; beyond it neighbouring keys share groups of 2,
/// 4, 8, ... keys, as few as needed, aligned to multiples of that.
#[derive(Debug, Clone)]
pub struct GroupedQuantiles {
    /// By key shifted right by `shift`.
    groups: BTreeMap<u32, DurationHistogram>,
    most: usize,
    shift: u32,
}

impl Default for GroupedQuantiles {
    fn default() -> Self {
        Self::new()
    }
}

impl GroupedQuantiles {
    /// At most 64 groups.
    pub fn new() -> Self {
        Self::with_most(DEFAULT_GROUPS)
    }

    /// At most `most` groups; the minimum is 2.
    pub fn with_most(most: usize) -> Self {
        Self {
            groups: BTreeMap::new(),
            most: most.max(2),
            shift: 0,
        }
    }

    /// Adds a duration in nanoseconds under `key`.
    #[inline]
    pub fn record(&mut self, key: u32, value_ns: i64) {
        self.groups.entry(key >> self.shift).or_default().record(value_ns);
        if self.groups.len() > self.most {
            self.coarsen();
        }
    }

    /// Adds all of `other`; the coarser of the two groupings is used from then on.
    pub fn merge(&mut self, other: &Self) {
        while self.shift < other.shift {
            self.widen();
        }
        for (&group, durations) in &other.groups {
            let group = group >> (self.shift - other.shift);
            self.groups.entry(group).or_default().merge(durations);
        }
        self.coarsen();
    }

    /// The groups in ascending order of key.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let within = (1_u32 << self.shift) - 1;
        self.groups.iter().map(move |(&group, durations)| {
            let low = group << self.shift;
            Group {
                low,
                high: low | within,
                durations,
            }
        })
    }

    /// Number of keys per group: 1 while every key has its own.
    pub fn keys_per_group(&self) -> u32 {
        1 << self.shift
    }

    /// Forgets all groups and returns to one key per group.
    pub fn clear(&mut self) {
        self.groups.clear();
        self.shift = 0;
    }

    /// With at least two groups allowed this ends at 31 bits at the latest.
    fn coarsen(&mut self) {
        while self.groups.len() > self.most {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        for (group, durations) in std::mem::take(&mut self.groups) {
            match self.groups.entry(group >> 1) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(durations);
                }
                std::collections::btree_map::Entry::Occupied(mut place) => place.get_mut().merge(&durations),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_single_keys_up_to_the_bound_and_shares_beyond() {
        let mut grouped = GroupedQuantiles::new();
        for length in 100..164 {
            grouped.record(length, i64::from(length));
        }
        assert_eq!((grouped.groups().count(), grouped.keys_per_group()), (64, 1));
        grouped.record(164, 164);
        assert_eq!((grouped.groups().count(), grouped.keys_per_group()), (33, 2));
        let first = grouped.groups().next().unwrap();
        assert_eq!((first.low, first.high, first.durations.count()), (100, 101, 2));
        for length in 100..=8_100 {
            grouped.record(length, 1);
        }
        assert_eq!((grouped.groups().count(), grouped.keys_per_group()), (64, 128));
        assert_eq!(
            grouped.groups().map(|group| group.durations.count()).sum::<u64>(),
            65 + 8_001
        );
    }

    #[test]
    fn bears_any_keys_and_merges_different_grains() {
        let (mut coarse, mut fine) = (GroupedQuantiles::with_most(0), GroupedQuantiles::with_most(4));
        for bit in 0..32 {
            coarse.record(1 << bit, 1);
        }
        assert_eq!(
            coarse.groups().map(|group| (group.low, group.high)).last(),
            Some((1 << 31, u32::MAX))
        );
        fine.record(3, 2);
        fine.merge(&coarse);
        assert_eq!(
            fine.groups().map(|group| group.durations.count()).sum::<u64>(),
            33
        );
        coarse.merge(&fine);
        assert_eq!(
            coarse.groups().map(|group| group.durations.count()).sum::<u64>(),
            65
        );
    }
}
