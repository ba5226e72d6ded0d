//! Delay variation between packets: the running jitter of RFC 3550 and the delay variation of
//! RFC 3393. It must not know whether the delays are one-way or round-trip.

use crate::histogram::DurationHistogram;

/// The interarrival jitter of RFC 3550, section 6.4.1 (and A.8), in nanoseconds rather than timestamp units and
/// without rounding: J += (|D| - J) / 16 for each packet, in order of arrival.
#[derive(Debug, Clone, Default)]
pub struct InterarrivalJitter {
    previous_transit_ns: Option<i64>,
    jitter_ns: f64,
}

impl InterarrivalJitter {
    /// A jitter of 0 before the second packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the transit time (arrival minus sending; the two clocks may differ by any constant) of the packet that
    /// arrived next, and returns the jitter in nanoseconds.
    pub fn update(&mut self, transit_ns: i64) -> f64 {
        if let Some(previous) = self.previous_transit_ns.replace(transit_ns) {
            let difference = transit_ns.abs_diff(previous) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
        self.jitter_ns
    }

    /// The jitter so far, in nanoseconds.
    pub fn jitter_ns(&self) -> f64 {
        self.jitter_ns
    }
}

/// Maximum reordering of a pair, packets.
const REMEMBERED: usize = 1_024;

/// The delay variation of RFC 3393 between packets with consecutive sequence numbers, of which both were received:
/// a loss between two packets leaves no difference across it.
#[derive(Debug, Clone)]
pub struct Ipdv {
    /// The latest delays by sequence modulo [`REMEMBERED`], so that reordered pairs are found.
    delays: Vec<Option<(u64, i64)>>,
    absolute: DurationHistogram,
}

/// The absolute delay variation, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct IpdvSummary {
    /// Pairs of consecutive packets that were both received.
    pub count: u64,
    /// Mean of the absolute differences, exact.
    pub mean_abs_ns: f64,
    /// Half of the absolute differences are at or below this.
    pub p50_ns: i64,
    /// 90 % are at or below this.
    pub p90_ns: i64,
    /// 99 % are at or below this.
    pub p99_ns: i64,
    /// The largest, exact.
    pub max_ns: i64,
}

impl Default for Ipdv {
    fn default() -> Self {
        Self::new()
    }
}

impl Ipdv {
    /// No packets yet.
    pub fn new() -> Self {
        Self {
            delays: vec![None; REMEMBERED],
            absolute: DurationHistogram::new(),
        }
    }

    /// Takes the delay of packet `sequence`. Packets may arrive in any order within 1,024 of the highest;
    /// duplicates are ignored.
    pub fn record(&mut self, sequence: u64, delay_ns: i64) {
        let slot = sequence as usize % REMEMBERED;
        if self.delays[slot].is_some_and(|(held, _)| held >= sequence) {
            return;
        }
        self.delays[slot] = Some((sequence, delay_ns));
        let neighbours = [sequence.checked_sub(1), sequence.checked_add(1)];
        for neighbour in neighbours.into_iter().flatten() {
            match self.delays[neighbour as usize % REMEMBERED] {
                Some((held, other_ns)) if held == neighbour => {
                    let difference = delay_ns.abs_diff(other_ns);
                    self.absolute
                        .record(i64::try_from(difference).unwrap_or(i64::MAX));
                }
                _ => {}
            }
        }
    }

    /// The distribution of the absolute differences.
    pub fn absolute(&self) -> &DurationHistogram {
        &self.absolute
    }

    /// Mean and quantiles of the absolute differences; `None` before the first pair.
    pub fn summary(&self) -> Option<IpdvSummary> {
        let absolute = &self.absolute;
        Some(IpdvSummary {
            count: absolute.count(),
            mean_abs_ns: absolute.mean()?,
            p50_ns: absolute.quantile(0.5)?,
            p90_ns: absolute.quantile(0.9)?,
            p99_ns: absolute.quantile(0.99)?,
            max_ns: absolute.max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_of_rfc_3550_by_hand() {
        // D: 160, then 160 back, then 0. J: 160 / 16 = 10; 10 + 150 / 16 = 19.375; 19.375 - 19.375 / 16 = 18.164...
        let mut jitter = InterarrivalJitter::new();
        let steps: Vec<f64> = [1_000, 1_160, 1_000, 1_000]
            .map(|transit| jitter.update(transit))
            .to_vec();
        assert_eq!(steps, [0.0, 10.0, 19.375, 18.164_062_5]);
        // A constant between the clocks changes nothing.
        let mut shifted = InterarrivalJitter::new();
        for transit in [1_000, 1_160, 1_000, 1_000] {
            shifted.update(transit - 5_000_000_000);
        }
        assert_eq!(shifted.jitter_ns(), jitter.jitter_ns());
    }

    #[test]
    fn only_pairs_of_consecutive_packets_count() {
        // 3 is lost: pairs (0,1): 10, (1,2): 30, (4,5): 5. 2 comes after 4; 5 twice.
        let mut ipdv = Ipdv::new();
        for (sequence, delay) in [(0, 100), (1, 110), (4, 200), (2, 80), (5, 195), (5, 500)] {
            ipdv.record(sequence, delay);
        }
        let summary = ipdv.summary().unwrap();
        assert_eq!((summary.count, summary.mean_abs_ns), (3, 15.0));
        assert_eq!((summary.p50_ns, summary.p90_ns, summary.max_ns), (10, 30, 30));
    }

    #[test]
    fn a_straggler_does_not_overwrite_newer_packets() {
        let mut ipdv = Ipdv::new();
        ipdv.record(2_000, 1);
        ipdv.record(2_000 - 1_024, 9);
        ipdv.record(2_001, 2);
        assert_eq!(ipdv.absolute().count(), 1);
        assert_eq!(Ipdv::new().summary(), None);
    }
}
