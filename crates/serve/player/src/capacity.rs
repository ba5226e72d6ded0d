//! What a path would carry, from how the bodies of answers arrive, also while a pace holds them below it.
//!
//! A queue that is full sends its packets at the capacity of the path, however long it is. So the shortest time in which `k`
//! bytes arrived, `T(k)`, is `k / C` less what jitter takes off, for each train of packets that is long enough:
//! `k / (T(2k) - T(k))` is the capacity `C` without the jitter. Unpaced answers have long trains: those at start-up. Paced
//! ones have trains of the pace's bursts, mostly of two packets, whose distance shows the capacity where jitter is small
//! (packet pairs: Keshav 1991; trains: Dovrolis, Ramanathan and Moore 2004). It must not know players, sockets or clocks.

use weir_units::Rate;

/// Most arrivals that are kept of an answer; of more, every second one.
const MOST_KEPT: usize = 512;
/// Gaps between the first arrivals that are kept.
const MOST_GAPS: usize = 256;
/// Shortest train, arrivals.
const SHORTEST_TRAIN: u64 = 8;
/// `T(2k)` of a train, in multiples of `T(k)`: 2 without jitter, more with it and at the end of the train.
const STEADY: f64 = 2.5;
/// What `T(2k)` is longer than `T(k)` by at least: less may be a bunch of packets that waited for a late one.
const LEAST_NS: u64 = 3_000_000;
/// Bytes that come at once, this many times the mean, waited for a lost packet before them, and belong to no train.
const BLOCK: u64 = 4;
/// The longest train counts whose rate is at least this share of the fastest one's.
const NEARLY: f64 = 0.8;
/// An answer whose second half arrives below this share of its pace was held by the path.
const HELD: f64 = 0.85;
/// An answer whose second half arrives above this multiple of its pace was not paced.
const UNPACED: f64 = 1.25;
/// Answers that count: the fastest of the last ones, since others shared the path with something else. As many paced ones in a row
/// that the path held replace them.
const RECENT: usize = 3;
/// Fewest gaps within bursts, and how far their upper quartile may be above the lower one.
const LEAST_GAPS: usize = 16;
const ALIKE: f64 = 1.3;
/// Packets that come faster waited for a late one before them, bits per second.
const MOST_RATE: f64 = 1e11;

/// When the bytes of an answer arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Times, nanoseconds, and all bytes until then: one of `every` arrivals.
    kept: Vec<(u64, u64)>,
    every: u64,
    count: u64,
    bytes: u64,
    last_ns: u64,
    /// Nanoseconds since the arrival before, and bytes.
    gaps: Vec<(u64, u64)>,
}

impl Arrivals {
    /// Bytes arrived, in their order, at this time, nanoseconds; one before those of earlier bytes counts as theirs.
    pub fn push(&mut self, at_ns: u64, bytes: u64) {
        let at_ns = at_ns.max(self.last_ns);
        if self.count > 0 && self.gaps.len() < MOST_GAPS {
            self.gaps.push((at_ns - self.last_ns, bytes));
        }
        (self.last_ns, self.bytes) = (at_ns, self.bytes.saturating_add(bytes));
        if self.count.is_multiple_of(self.every.max(1)) {
            self.keep(at_ns);
        }
        self.count += 1;
    }

    fn keep(&mut self, at_ns: u64) {
        if self.kept.len() == MOST_KEPT {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every = 2 * self.every.max(1);
        }
        self.kept.push((at_ns, self.bytes));
    }

    /// The rate of the fastest long train, bits per second.
    fn train(&self) -> Option<f64> {
        let (first, last) = (self.kept.first()?, self.kept.last()?);
        let whole = last.1 - first.1;
        let mut bytes = SHORTEST_TRAIN.saturating_mul(whole) / (self.kept.len() as u64 - 1).max(1);
        if bytes == 0 {
            return None;
        }
        let mut rates = Vec::new();
        let mut shorter = self.fastest(bytes)?;
        while let Some(longer) = bytes.checked_mul(2).and_then(|twice| self.fastest(twice)) {
            let (ns, more) = (longer.0 - shorter.0, longer.1 as f64 - shorter.1 as f64);
            let is_long = ns >= LEAST_NS && longer.0 as f64 <= STEADY * shorter.0 as f64;
            if is_long && more > 0.0 {
                rates.push(more * 8e9 / ns as f64);
            }
            (shorter, bytes) = (longer, 2 * bytes);
        }
        let most = rates.iter().copied().fold(0.0, f64::max);
        rates.into_iter().rev().find(|rate| *rate >= NEARLY * most)
    }

    /// The shortest time in which at least `bytes`, above 0, arrived, and how many did.
    fn fastest(&self, bytes: u64) -> Option<(u64, u64)> {
        let mut fastest: Option<(u64, u64)> = None;
        let (mut from, mut before) = (0, 0);
        let block = BLOCK.saturating_mul(self.bytes) / self.kept.len().max(1) as u64;
        for (place, (until_ns, until)) in self.kept.iter().enumerate() {
            if until - before > block {
                from = place;
            }
            before = *until;
            let reaches = |from: usize| {
                let since = self.kept.get(from);
                since.is_some_and(|since| until.saturating_sub(since.1) >= bytes)
            };
            while reaches(from + 1) {
                from += 1;
            }
            if reaches(from) {
                let (since_ns, since) = self.kept[from];
                let found = (until_ns - since_ns, until - since);
                fastest = Some(fastest.map_or(found, |known| known.min(found)));
            }
        }
        fastest
    }

    /// The rate of its second half, bits per second: after a pause, TCP begins slowly.
    fn second_half(&self) -> Option<f64> {
        let (middle, last) = (self.kept.get(self.kept.len() / 2)?, self.kept.last()?);
        let ns = last.0 - middle.0;
        (ns > 0).then(|| (last.1 - middle.1) as f64 * 8e9 / ns as f64)
    }

    /// The rate within the bursts of a pace, bits per second, where they agree.
    fn pairs(&self) -> Option<f64> {
        // The gaps are between times of one clock: their sum is a time.
        let all_ns: u64 = self.gaps.iter().map(|gap| gap.0).sum();
        let mean_ns = all_ns / (self.gaps.len() as u64).max(1);
        let within = self.gaps.iter().filter(|gap| gap.0 < mean_ns / 2);
        let rate = |gap: &(u64, u64)| gap.1 as f64 * 8e9 / gap.0.max(1) as f64;
        let mut rates: Vec<f64> = within.map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let quantile = |share: usize| rates[share * rates.len() / 4];
        let agree = rates.len() >= LEAST_GAPS && quantile(3) <= (ALIKE * quantile(1)).min(MOST_RATE);
        agree.then(|| quantile(2))
    }
}

/// The estimate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capacity {
    /// Of the last answers that the path held, bits per second.
    recent: Vec<f64>,
    /// Of paced answers in a row that the path held.
    held: Vec<f64>,
    /// What has arrived at least, at a pace.
    least: f64,
}

impl Capacity {
    /// Learns from an answer. `pace` is what was asked for; `is_alone`: nothing else of the player was on its way.
    pub fn answered(&mut self, arrivals: &Arrivals, pace: Option<Rate>, is_alone: bool) {
        let pace = pace.map(|pace| pace.0 as f64);
        // Of its pace.
        let share = pace.zip(arrivals.second_half()).map(|(pace, rate)| rate / pace);
        let is_held = share.is_some_and(|share| share < HELD);
        let is_paced = share.is_some_and(|share| share < UNPACED);
        let train = arrivals.train().filter(|_| is_alone);
        if !is_held {
            self.held.clear();
        }
        match train {
            Some(rate) if !is_paced => self.measured(rate),
            Some(rate) if is_held => self.held(rate),
            Some(rate) => self.least = self.least.max(rate),
            None => {}
        }
        if let Some(rate) = arrivals.pairs().filter(|_| is_alone && is_paced && !is_held) {
            self.measured(rate);
        }
    }

    fn held(&mut self, rate: f64) {
        self.held.push(rate);
        if self.held.len() == RECENT {
            self.recent = std::mem::take(&mut self.held);
            self.least = 0.0;
        }
    }

    /// What an answer that arrived at this rate would have had without its pace, bits per second.
    pub fn unpaced(&self, rate: f64, pace: Option<Rate>) -> f64 {
        let is_paced = pace.is_some_and(|pace| rate >= HELD * pace.0 as f64);
        match self.estimate() {
            Some(capacity) if is_paced => capacity.max(rate),
            _ => rate,
        }
    }

    fn measured(&mut self, rate: f64) {
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push(rate);
    }

    /// What the path would carry, payload bits per second; none before an answer has shown it.
    pub fn estimate(&self) -> Option<f64> {
        let most = self.recent.iter().copied().fold(self.least, f64::max);
        (most > 0.0).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1,448 bytes of payload through a line that carries `capacity` bits per second of it, sent in bursts at a pace,
    /// or all at once, then delayed by up to `jitter_ns` without changing their order.
    fn through(capacity: f64, pace: Option<f64>, packets: usize, jitter_ns: u64) -> Arrivals {
        const BYTES: f64 = 1_448.0;
        let (mut arrivals, mut line_ns, mut last_ns, mut state) = (Arrivals::default(), 0.0f64, 0, 1u64);
        for number in 0..packets {
            let sent_ns = pace.map_or(0.0, |pace| (number / 2) as f64 * 2.0 * BYTES * 8e9 / pace);
            line_ns = line_ns.max(sent_ns) + BYTES * 8e9 / capacity;
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let delay_ns = (state >> 33) % (jitter_ns + 1);
            last_ns = last_ns.max(line_ns as u64 + delay_ns);
            arrivals.push(last_ns, BYTES as u64);
        }
        arrivals
    }

    fn after(answers: &[(Arrivals, Option<f64>)]) -> Option<f64> {
        let mut capacity = Capacity::default();
        for (arrivals, pace) in answers {
            capacity.answered(arrivals, pace.map(|pace| Rate(pace as u64)), true);
        }
        capacity.estimate()
    }

    fn assert_near(found: Option<f64>, expected: f64, share: f64) {
        let found = found.expect("an estimate");
        assert!(
            (found / expected - 1.0).abs() <= share,
            "{found} beside {expected}"
        );
    }

    #[test]
    fn an_unpaced_answer_shows_the_capacity() {
        for capacity in [2e6, 20e6, 100e6, 900e6] {
            assert_near(
                after(&[(through(capacity, None, 2_000, 0), None)]),
                capacity,
                0.001,
            );
        }
        // 2,000 packets take 58 ms at 400 Mbit/s, 290 ms at 80.
        for capacity in [80e6, 400e6] {
            assert_near(
                after(&[(through(capacity, None, 2_000, 4_000_000), None)]),
                capacity,
                0.1,
            );
        }
    }

    #[test]
    fn pairs_show_the_capacity_above_a_pace_and_jitter_hides_it() {
        let paced = |jitter_ns| (through(100e6, Some(10e6), 400, jitter_ns), Some(10e6));
        assert_near(after(&[paced(0)]), 100e6, 0.001);
        assert_near(after(&[paced(10_000)]), 100e6, 0.05);
        // It is at least the pace.
        assert_near(after(&[paced(4_000_000)]), 10e6, 0.1);
    }

    #[test]
    fn an_unpaced_beginning_counts_while_the_pace_holds() {
        let unpaced = (through(60e6, None, 1_000, 4_000_000), None);
        let paced = |capacity| (through(capacity, Some(10e6), 400, 4_000_000), Some(10e6));
        assert_near(after(&[unpaced.clone(), paced(60e6), paced(60e6)]), 60e6, 0.1);
        // Three answers that the path holds below the pace replace it.
        let all = [unpaced, paced(5e6), paced(5e6), paced(5e6)];
        assert_near(after(&all[..2]), 60e6, 0.1);
        assert_near(after(&all), 5e6, 0.1);
    }

    #[test]
    fn few_arrivals_show_nothing() {
        let mut arrivals = Arrivals::default();
        assert_eq!(after(&[(arrivals.clone(), None)]), None);
        arrivals.push(5, 100_000);
        assert_eq!(after(&[(arrivals.clone(), None)]), None);
        arrivals.push(5, 100_000);
        assert_eq!(after(&[(arrivals, None)]), None);
    }

    #[test]
    fn a_paced_answer_counts_as_what_the_path_carries() {
        let mut capacity = Capacity::default();
        capacity.answered(&through(50e6, None, 300, 0), None, true);
        let pace = Some(Rate(10_000_000));
        assert!((capacity.unpaced(9.5e6, pace) / 50e6 - 1.0).abs() < 0.001);
        assert_eq!(capacity.unpaced(5e6, pace), 5e6);
        assert_eq!(capacity.unpaced(9.5e6, None), 9.5e6);
    }
}
