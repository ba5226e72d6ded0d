//! Distributions of durations in nanoseconds, positive or negative, in memory that does not grow with their number.
//! It must not know what was timed.

use hdrhistogram::Histogram;

/// Maximum of the histogram's range: one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: a resolution of one part in a thousand or better.
const DIGITS: u8 = 3;

/// Counts, quantiles, mean and extremes of durations.
///
/// Quantiles are right to three significant digits, from 1 ns to 1 h on either side of zero (one-way delays between
/// clocks that disagree are negative); 0 has its own place. Count, minimum, maximum and mean are exact. Longer
/// durations count as one hour for the quantiles, and [`clamped`](Self::clamped) says how many there were.
///
/// Memory follows the magnitude of the largest value, up to about 270 KiB per sign; it grows at most some thirty
/// times in the life of a histogram, and [`clear`](Self::clear) keeps it.
#[derive(Debug, Clone)]
pub struct DurationHistogram {
    /// Zero and above.
    positive: Histogram<u64>,
    /// Magnitudes of those below zero; most measurements never need it.
    negative: Option<Histogram<u64>>,
    count: u64,
    clamped: u64,
    min: i64,
    max: i64,
    /// i128, which 2^64 values of 2^63 ns do not overflow.
    sum: i128,
}

/// The quantiles that Weir stores and prints, in nanoseconds; all zero without values. Signed, because a one-way delay
/// computed from two clocks may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// The lowest, exact.
    pub min: i64,
    /// Half of the values are at or below this.
    pub p50: i64,
    /// 90 % are at or below this.
    pub p90: i64,
    /// 99 % are at or below this.
    pub p99: i64,
    /// 99.9 % are at or below this.
    pub p999: i64,
    /// The highest, exact.
    pub max: i64,
}

impl Quantiles {
    /// Adds `by` to every value, if there are any.
    pub fn shift(&mut self, by: i64) {
        if self.count > 0 {
            let Quantiles {
                count: _,
                min,
                p50,
                p90,
                p99,
                p999,
                max,
            } = self;
            for value in [min, p50, p90, p99, p999, max] {
                *value = value.saturating_add(by);
            }
        }
    }
}

/// An empty histogram that grows to the value recorded.
fn growing() -> Histogram<u64> {
    match Histogram::new(DIGITS) {
        Ok(histogram) => histogram,
        // The library refuses only more than five digits.
        Err(_) => unreachable!("three digits are always accepted"),
    }
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl DurationHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            positive: growing(),
            negative: None,
            count: 0,
            clamped: 0,
            min: i64::MAX,
            max: i64::MIN,
            sum: 0,
        }
    }

    /// Adds one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        self.record_n(value_ns, 1);
    }

    /// Adds a value in nanoseconds `n` times.
    #[inline]
    pub fn record_n(&mut self, value_ns: i64, n: u64) {
        if n == 0 {
            return;
        }
        let magnitude = value_ns.unsigned_abs();
        let kept = magnitude.min(LONGEST_NS);
        if kept != magnitude {
            self.clamped += n;
        }
        let side = if value_ns < 0 {
            self.negative.get_or_insert_with(growing)
        } else {
            &mut self.positive
        };
        // A growing histogram takes every value up to its type's end, which the clamp stays far below.
        let recorded = side.record_n(kept, n);
        debug_assert!(recorded.is_ok());
        self.count += n;
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        self.sum += i128::from(value_ns) * i128::from(n);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        let added = self.positive.add(&other.positive);
        debug_assert!(added.is_ok());
        if let Some(theirs) = &other.negative {
            let added = self.negative.get_or_insert_with(growing).add(theirs);
            debug_assert!(added.is_ok());
        }
        self.count += other.count;
        self.clamped += other.clamped;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.positive.reset();
        if let Some(negative) = &mut self.negative {
            negative.reset();
        }
        (self.count, self.clamped, self.min, self.max, self.sum) = (0, 0, i64::MAX, i64::MIN, 0);
    }

    /// The quantile `q` (0.0..=1.0), to three digits: the lowest value with at least this share of all values at or
    /// below it;
    /// `None` if there are no values. 0 is the minimum and 1 the maximum, exactly.
    pub fn quantile(&self, q: f64) -> Option<i64> {
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
        let below_zero = self.negative.as_ref().map_or(0, Histogram::len);
        let value = match &self.negative {
            // The lowest value has the greatest magnitude.
            Some(negative) if rank <= below_zero => -ranked(negative, below_zero - rank + 1),
            _ => ranked(&self.positive, rank - below_zero),
        };
        Some(value.clamp(self.min, self.max))
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Number of values longer than one hour.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The lowest value, exact.
    pub fn min(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min)
    }

    /// The highest value, exact.
    pub fn max(&self) -> Option<i64> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean, exact except for the last rounding.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Their sum, exact.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// Its buckets in ascending order: a value of the bucket, and the count. Another
    /// histogram puts the same values into the same buckets.
    pub fn buckets(&self) -> Vec<(i64, u64)> {
        let recorded = |histogram: &Histogram<u64>| -> Vec<(i64, u64)> {
            let each = histogram.iter_recorded();
            // Bucket ends lie little above one hour: the conversion cannot fail.
            each.map(|at| {
                (
                    i64::try_from(at.value_iterated_to()).unwrap_or(i64::MAX),
                    at.count_at_value(),
                )
            })
            .collect()
        };
        let below = self.negative.as_ref().map_or(Vec::new(), recorded);
        let below = below
            .into_iter()
            .rev()
            .map(|(magnitude, count)| (-magnitude, count));
        below.chain(recorded(&self.positive)).collect()
    }

    /// The histogram from the output of [`buckets`](Self::buckets), with its exact extremes and sum; `None` if
    /// it is not the output of a histogram.
    pub fn from_buckets(buckets: &[(i64, u64)], min: i64, max: i64, sum: i128) -> Option<Self> {
        let mut histogram = Self::new();
        for (value, count) in buckets {
            // A little above one hour is the end of the last bucket.
            if *count == 0 || value.unsigned_abs() > LONGEST_NS + LONGEST_NS / 500 {
                return None;
            }
            histogram.count.checked_add(*count)?;
            histogram.record_n(*value, *count);
        }
        if histogram.count == 0 {
            return None;
        }
        // Ends of buckets are up to one part in five hundred beyond their values.
        let near = |value: i64, bucket: i64| (value.abs_diff(bucket)) <= bucket.unsigned_abs() / 500 + 1;
        let fits = |value: i64, bucket: i64| near(value, bucket) || value.unsigned_abs() > LONGEST_NS;
        if min > max || !fits(min, histogram.min) || !fits(max, histogram.max) {
            return None;
        }
        (histogram.min, histogram.max, histogram.sum, histogram.clamped) = (min, max, sum, 0);
        Some(histogram)
    }

    /// The usual quantiles at once.
    pub fn quantiles(&self) -> Quantiles {
        let quantile = |q| self.quantile(q).unwrap_or(0);
        Quantiles {
            count: self.count,
            min: self.min().unwrap_or(0),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max().unwrap_or(0),
        }
    }
}

/// The value of the given rank, from 1.
fn ranked(histogram: &Histogram<u64>, rank: u64) -> i64 {
    // The library rounds up to the next rank: half a rank lower is safe from its and our rounding.
    let quantile = (rank as f64 - 0.5) / histogram.len() as f64;
    // Bucket ends lie little above one hour: the conversion cannot fail.
    i64::try_from(histogram.value_at_quantile(quantile)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_negative_before_positive() {
        let mut histogram = DurationHistogram::new();
        for value in [-300, -20, -1, 0, 5, 70, 900] {
            histogram.record(value);
        }
        let sevenths: Vec<_> = (1..=7).map(|k| histogram.quantile(f64::from(k) / 7.0)).collect();
        assert_eq!(sevenths, [-300, -20, -1, 0, 5, 70, 900].map(Some));
        assert_eq!(histogram.quantile(0.0), Some(-300));
        assert_eq!(histogram.mean(), Some(654.0 / 7.0));
    }

    #[test]
    fn clamps_for_quantiles_but_keeps_extremes() {
        let mut histogram = DurationHistogram::new();
        histogram.record_n(i64::MAX, 3);
        histogram.record(i64::MIN);
        histogram.record_n(10, 0);
        assert_eq!((histogram.count(), histogram.clamped()), (4, 4));
        assert_eq!(
            (histogram.min(), histogram.max()),
            (Some(i64::MIN), Some(i64::MAX))
        );
        let middle = histogram.quantile(0.5).unwrap() as f64;
        assert!((middle / 3.6e12 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn merges_and_clears() {
        let (mut a, mut b) = (DurationHistogram::new(), DurationHistogram::new());
        a.record(7);
        b.record_n(-7, 2);
        a.merge(&b);
        a.merge(&DurationHistogram::new());
        assert_eq!(
            (a.count(), a.min(), a.max(), a.quantile(0.5)),
            (3, Some(-7), Some(7), Some(-7))
        );
        a.clear();
        assert_eq!(
            (a.count(), a.min(), a.quantile(0.5), a.mean(), a.quantiles()),
            (0, None, None, None, Quantiles::default())
        );
        a.record(3);
        assert_eq!(a.quantiles().p999, 3);
    }

    #[test]
    fn told_by_buckets_it_is_the_same() {
        let mut histogram = DurationHistogram::new();
        for value in [
            -5_000_000,
            -3,
            0,
            1,
            17,
            1_023,
            2_048,
            70_001,
            3_333_333,
            3_333_999,
            59_000_000_001,
        ] {
            histogram.record_n(value, 1 + value.unsigned_abs() % 7);
        }
        let (min, max) = (histogram.min().unwrap(), histogram.max().unwrap());
        let buckets = histogram.buckets();
        assert!(buckets.is_sorted_by(|one, next| one.0 < next.0));
        let again = DurationHistogram::from_buckets(&buckets, min, max, histogram.sum()).unwrap();
        assert_eq!(again.buckets(), buckets);
        assert_eq!(
            (again.mean(), again.count()),
            (histogram.mean(), histogram.count())
        );
        for per_mille in 0..=1000 {
            let q = f64::from(per_mille) / 1000.0;
            assert_eq!(again.quantile(q), histogram.quantile(q), "{q}");
        }
    }

    #[test]
    fn buckets_that_no_histogram_has_are_refused() {
        let told = |buckets: &[(i64, u64)], min, max| {
            DurationHistogram::from_buckets(buckets, min, max, 0).is_some()
        };
        assert!(told(&[(5, 2)], 5, 5));
        assert!(!told(&[], 0, 0));
        assert!(!told(&[(5, 0)], 5, 5));
        assert!(!told(&[(5, u64::MAX), (6, 1)], 5, 6));
        assert!(!told(&[(i64::MIN, 1)], i64::MIN, i64::MIN));
        assert!(!told(&[(5, 1)], 9, 5));
        assert!(!told(&[(5, 1)], 5, 5_000));
    }
}
