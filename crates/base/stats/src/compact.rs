//! Distributions of durations in few bytes, for stores of years: a second of four values takes some twenty bytes, and
//! distributions of seconds add up exactly to those of hours. It must not know what was timed.
//!
//! [`DurationHistogram`](crate::DurationHistogram) has ten times the resolution and takes a constant time for each value;
//! this one takes memory for the buckets that have values only, and has a form for storage.

use thiserror::Error;

/// Buckets of each power of two. Half of a bucket is at most one part in 256 of its values.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Buckets of 64-bit values.
const BUCKETS: u64 = (64 - STEP_BITS as u64 + 1) * STEPS;

/// Bytes that are no distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("these bytes are not a distribution")]
pub struct NotADistribution;

/// Counts of durations in nanoseconds by buckets. Quantiles are within 0.4 %; count, minimum and maximum are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactHistogram {
    /// Bucket and count, ascending; no count is zero.
    buckets: Vec<(u16, u64)>,
    count: u64,
    min: u64,
    max: u64,
}

impl Default for CompactHistogram {
    fn default() -> Self {
        CompactHistogram {
            buckets: Vec::new(),
            count: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

fn bucket(value: u64) -> u16 {
    let bucket = match value.checked_ilog2() {
        Some(power) if power >= STEP_BITS => {
            let step = (value >> (power - STEP_BITS)) - STEPS;
            u64::from(power - STEP_BITS + 1) * STEPS + step
        }
        _ => value,
    };
    // Below BUCKETS, 7424.
    bucket as u16
}

/// The lowest value of a bucket, and the number of its values.
fn values(bucket: u16) -> (u64, u64) {
    let (power, step) = (u64::from(bucket) / STEPS, u64::from(bucket) % STEPS);
    match power {
        0 => (step, 1),
        _ => ((STEPS + step) << (power - 1), 1 << (power - 1)),
    }
}

impl CompactHistogram {
    /// Adds a value in nanoseconds.
    pub fn record(&mut self, value_ns: u64) {
        let bucket = bucket(value_ns);
        match self.buckets.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(place) => self.buckets[place].1 += 1,
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
        self.count += 1;
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
    }

    /// Adds all values of `other`. Counts saturate, since they may come from a file.
    pub fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut ours, mut theirs) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(one), Some(two)) if one.0 == two.0 => (one.0, one.1.saturating_add(two.1)),
                (Some(one), Some(two)) if one.0 < two.0 => **one,
                (Some(one), None) => **one,
                (_, Some(two)) => **two,
            };
            ours.next_if(|entry| entry.0 == next.0);
            theirs.next_if(|entry| entry.0 == next.0);
            merged.push(next);
        }
        self.buckets = merged;
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lowest value, exact.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The highest value, exact.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The quantile `q` (0.0..=1.0), within 0.4 %: the lowest value with at least this share of all values at or below it;
    /// `None` if there are no values. 0 is the minimum and 1 the maximum, exactly.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == 1 {
            return Some(self.min);
        }
        if rank == self.count {
            return Some(self.max);
        }
        let mut below = 0u64;
        for (bucket, count) in &self.buckets {
            below = below.saturating_add(*count);
            if below >= rank {
                let (low, width) = values(*bucket);
                return Some((low + width / 2).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Buckets in ascending order: the lowest value, the number of values beside each other, and the count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter().map(|(bucket, count)| {
            let (low, width) = values(*bucket);
            (low, width, *count)
        })
    }

    /// The form for storage: unsigned LEB128 numbers, which are the number of buckets; for each bucket its distance from
    /// the one before and its count less one; the minimum and the maximum, less the lowest value of the first and of the
    /// last bucket. Empty without values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (Some(first), Some(last)) = (self.buckets.first(), self.buckets.last()) else {
            return Vec::new();
        };
        let mut bytes = Vec::with_capacity(8 + 3 * self.buckets.len());
        put(&mut bytes, self.buckets.len() as u64);
        let mut before = 0;
        for (bucket, count) in &self.buckets {
            put(&mut bytes, u64::from(bucket - before));
            put(&mut bytes, count - 1);
            before = *bucket;
        }
        put(&mut bytes, self.min - values(first.0).0);
        put(&mut bytes, self.max - values(last.0).0);
        bytes
    }

    /// Reads the form for storage.
    ///
    /// # Errors
    /// When the bytes are not what [`to_bytes`](Self::to_bytes) writes.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, NotADistribution> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let length = take(&mut bytes)?;
        // Each takes two bytes or more.
        if length == 0 || length > BUCKETS || length > bytes.len() as u64 / 2 {
            return Err(NotADistribution);
        }
        let mut read = Self {
            buckets: Vec::with_capacity(length as usize),
            ..Self::default()
        };
        for place in 0..length {
            let before = read.buckets.last().map_or(0, |(bucket, _)| u64::from(*bucket));
            let distance = take(&mut bytes)?;
            let bucket = before.checked_add(distance).filter(|bucket| *bucket < BUCKETS);
            let count = take(&mut bytes)?.checked_add(1).ok_or(NotADistribution)?;
            let bucket = bucket
                .filter(|_| place == 0 || distance > 0)
                .ok_or(NotADistribution)?;
            read.count = read.count.checked_add(count).ok_or(NotADistribution)?;
            read.buckets.push((bucket as u16, count));
        }
        let mut exact = |place: Option<&(u16, u64)>| {
            let (low, width) = values(place.ok_or(NotADistribution)?.0);
            let offset = take(&mut bytes)?;
            if offset < width {
                Ok(low + offset)
            } else {
                Err(NotADistribution)
            }
        };
        read.min = exact(read.buckets.first())?;
        read.max = exact(read.buckets.last())?;
        // One value is both; two or more in a bucket have the minimum first.
        let is_one = read.count == 1 && read.min != read.max;
        if !bytes.is_empty() || read.min > read.max || is_one {
            return Err(NotADistribution);
        }
        Ok(read)
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, NotADistribution> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(NotADistribution)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        // The tenth byte has one bit, and no number ends with a byte that adds nothing.
        if (shift == 63 && part > 1) || (shift > 0 && *byte == 0) {
            return Err(NotADistribution);
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(NotADistribution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> CompactHistogram {
        let mut histogram = CompactHistogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let mut next = 0u128;
        for bucket_number in 0..BUCKETS as u16 {
            let (low, width) = values(bucket_number);
            assert_eq!(u128::from(low), next, "{bucket_number}");
            assert_eq!(bucket(low), bucket_number);
            assert_eq!(bucket(low + (width - 1)), bucket_number);
            next += u128::from(width);
        }
        assert_eq!(next, 1 << 64);
    }

    #[test]
    fn a_second_of_four_packets_takes_some_twenty_bytes() {
        let second = of(&[48_123_456, 48_301_002, 48_256_789, 51_777_123]);
        assert!(second.to_bytes().len() <= 20, "{}", second.to_bytes().len());
        assert_eq!(of(&[]).to_bytes().len(), 0);
    }

    #[test]
    fn bytes_of_others_are_refused() {
        for bytes in [
            &[0][..],
            &[1],
            &[1, 0, 0],
            &[1, 0, 0, 0, 0, 0],
            &[1, 0, 0, 1, 0],
            &[2, 5, 0, 0, 0, 0, 0],
            &[1, 0x80, 0, 0, 0, 0],
            &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0],
        ] {
            assert_eq!(
                CompactHistogram::from_bytes(bytes),
                Err(NotADistribution),
                "{bytes:?}"
            );
        }
    }

    proptest! {
        /// Over any split of the values, merged quantiles are within 0.4 % of those of the sorted values.
        #[test]
        fn merged_quantiles_are_those_of_all_values(
            parts in prop::collection::vec(prop::collection::vec(0u64..100_000_000_000, 0..60), 1..8),
        ) {
            let mut all = CompactHistogram::default();
            for part in &parts {
                let bytes = of(part).to_bytes();
                all.merge(&CompactHistogram::from_bytes(&bytes).unwrap());
            }
            let mut sorted = parts.concat();
            sorted.sort_unstable();
            prop_assert_eq!(all.count(), sorted.len() as u64);
            prop_assert_eq!((all.min(), all.max()), (sorted.first().copied(), sorted.last().copied()));
            for per_cent in 0..=100 {
                let q = f64::from(per_cent) / 100.0;
                let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len().max(1));
                let (found, exact) = (all.quantile(q), sorted.get(rank - 1).copied());
                prop_assert_eq!(found.is_some(), exact.is_some());
                if let (Some(found), Some(exact)) = (found, exact) {
                    prop_assert!(found.abs_diff(exact) * 256 <= exact, "{} {}", found, exact);
                }
            }
            prop_assert_eq!(CompactHistogram::from_bytes(&all.to_bytes()), Ok(all));
        }

        /// Whatever is read is written as it was.
        #[test]
        fn any_bytes_are_refused_or_written_the_same(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(read) = CompactHistogram::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(), bytes);
            }
        }
    }
}
