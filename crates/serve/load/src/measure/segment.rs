//! One segment of a viewer that plays in real time, and how evenly its bytes came. It must not know how a player decides.

use serde::Serialize;

use super::Cause;

/// How wide a bin is.
pub const BIN_NS: u64 = 10_000_000;
/// Bins of one segment that are kept: ten minutes of them.
const MOST_BINS: usize = 60_000;

/// A segment that a player asked for. Times are nanoseconds, rates bits a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Segment {
    /// Which viewer.
    pub viewer: u64,
    /// When it was asked for, Unix time.
    pub unix_ns: u64,
    /// `video`, `audio` or `subtitle`.
    pub kind: &'static str,
    /// Which of its track, from 0.
    pub segment: u64,
    /// Which rung, from 0.
    pub rung: u64,
    /// The rung's bit rate.
    pub bitrate: u64,
    /// Media in the player's buffer when it was asked for.
    pub buffer_ns: u64,
    /// How fast the server was asked to send it; none if it was not asked.
    pub pace: Option<u64>,
    /// Bytes of its body.
    pub bytes: u64,
    /// From the request to the first byte of the answer.
    pub first_byte_ns: Option<u64>,
    /// From the request to the last byte of the answer, or to the failure.
    pub last_byte_ns: u64,
    /// Mean rate of the bins of 10 ms between the first byte and the last, but for those at the ends; none if there are
    /// fewer than two.
    pub bin_rate: Option<f64>,
    /// Standard deviation of the rates of these bins.
    pub bin_deviation: Option<f64>,
    /// The player's estimate, after it, of what the path would carry without a pace; none if it has none.
    pub capacity: Option<u64>,
    /// Why it failed, if it did.
    pub failure: Option<&'static str>,
}

impl Segment {
    /// Notes what it failed of.
    pub fn failed(&mut self, cause: Cause) {
        self.failure = Some(cause.name());
    }
}

/// Bytes that came, in bins of 10 ms since the first.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    first_ns: Option<u64>,
    bytes: Vec<u64>,
}

impl Bins {
    /// Takes bytes that came at this time, monotonic nanoseconds that do not go back.
    pub fn add(&mut self, now_ns: u64, bytes: u64) {
        let first = *self.first_ns.get_or_insert(now_ns);
        let bin = usize::try_from(now_ns.saturating_sub(first) / BIN_NS).unwrap_or(MOST_BINS);
        if bin >= MOST_BINS {
            return;
        }
        if self.bytes.len() <= bin {
            self.bytes.resize(bin + 1, 0);
        }
        self.bytes[bin] += bytes;
    }

    /// Mean and standard deviation of the rates, bits a second. The bins at both ends hold less than their time.
    pub fn rates(&self) -> Option<(f64, f64)> {
        let whole = self.bytes.get(1..self.bytes.len().checked_sub(1)?)?;
        if whole.len() < 2 {
            return None;
        }
        let rates = whole.iter().map(|bytes| *bytes as f64 * 8e9 / BIN_NS as f64);
        let count = whole.len() as f64;
        let mean = rates.clone().sum::<f64>() / count;
        let squares: f64 = rates.map(|rate| (rate - mean).powi(2)).sum();
        Some((mean, (squares / (count - 1.0)).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_whole_bins() {
        let mut bins = Bins::default();
        assert_eq!(bins.rates(), None);
        // 10, 20, 30 and 40 bytes in the whole bins: statistics.mean and statistics.stdev of Python say 25 and
        // 12.909944487358056 bytes, of which each is 800 bit/s.
        for (at_ms, bytes) in [
            (0, 999),
            (12, 4),
            (19, 6),
            (25, 20),
            (31, 30),
            (49, 40),
            (50, 999),
        ] {
            bins.add(7_000_000_000 + at_ms * 1_000_000, bytes);
        }
        let (mean, deviation) = bins.rates().expect("rates");
        assert!((mean - 20_000.0).abs() < 1e-9, "{mean}");
        assert!((deviation - 10_327.955_589_886_445).abs() < 1e-6, "{deviation}");
    }

    #[test]
    fn bins_in_which_nothing_came_count() {
        let mut bins = Bins::default();
        bins.add(0, 1);
        bins.add(95_000_000, 1);
        assert_eq!(bins.rates(), Some((0.0, 0.0)));
        bins.add(u64::MAX, 1);
        assert_eq!(bins.bytes.len(), 10);
    }
}
