//! How BBR in Linux knows a policer: two intervals in a row lose much and deliver at the same rate. Then it sends at that
//! rate for a while and does not probe. It must not know the window.

use super::super::Acked;

/// Rounds of an interval: at least, and at most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 16;
/// Rounds for which the rate is kept.
const KEPT_ROUNDS: u32 = 48;
/// Lost packets for each delivered one.
const MANY_LOST: f64 = 50.0 / 256.0;
/// Rates of two intervals that are the same differ by this share at most.
const ALIKE: f64 = 1.0 / 8.0;
const LEAST_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Interval {
    began_ns: u64,
    delivered: u64,
    lost: u64,
}

#[derive(Debug, Default)]
pub(super) struct Policer {
    interval: Option<Interval>,
    /// Rounds of the interval, or since the rate is kept.
    rounds: u32,
    /// Packets per nanosecond in the interval before.
    before: Option<f64>,
    kept: Option<f64>,
}

impl Policer {
    /// The rate of the policer, packets per nanosecond.
    pub fn rate(&self) -> Option<f64> {
        self.kept
    }

    /// Takes a sample of the delivery rate; true when the rate has been kept long enough. Rounds count for that while
    /// `probes`. A low sample says nothing of what may pass.
    pub fn note(&mut self, acked: &Acked, round_began: bool, is_low: bool, probes: bool) -> bool {
        if self.kept.is_some() {
            self.rounds += u32::from(round_began && probes);
            let is_over = self.rounds >= KEPT_ROUNDS;
            if is_over {
                self.forget();
            }
            return is_over;
        }
        if self.interval.is_none() && acked.lost > 0 {
            self.begin(acked);
        }
        let Some(interval) = self.interval else {
            return false;
        };
        self.rounds += u32::from(round_began);
        if is_low || self.rounds > MOST_ROUNDS {
            self.forget();
        } else if self.rounds >= LEAST_ROUNDS && acked.lost > 0 {
            self.end(interval, acked);
        }
        false
    }

    fn begin(&mut self, acked: &Acked) {
        self.interval = Some(Interval {
            began_ns: acked.now_ns,
            delivered: acked.delivered,
            lost: acked.lost_so_far,
        });
        self.rounds = 0;
    }

    fn end(&mut self, interval: Interval, acked: &Acked) {
        let delivered = (acked.delivered - interval.delivered) as f64;
        let took_ns = acked.now_ns - interval.began_ns;
        let lost = (acked.lost_so_far - interval.lost) as f64;
        if delivered == 0.0 || lost < MANY_LOST * delivered || took_ns < LEAST_NS {
            return;
        }
        let rate = delivered / took_ns as f64;
        if let Some(before) = self.before
            && (rate - before).abs() <= ALIKE * before
        {
            self.kept = Some(f64::midpoint(rate, before));
            self.rounds = 0;
        } else {
            self.before = Some(rate);
            self.begin(acked);
        }
    }

    fn forget(&mut self) {
        (self.interval, self.before, self.kept, self.rounds) = (None, None, None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{RateSample, Repair};

    const MS: u64 = 1_000_000;

    /// Rounds of 40 ms in which `delivered` packets arrive and `lost` do not; the number of the first one after which a rate is
    /// kept, and of the first after which it is not any more.
    fn kept(rounds: u64, mut counts: impl FnMut(u64) -> (u64, u64)) -> (Option<u64>, Option<u64>) {
        let (mut policer, mut all, mut first, mut last) = (Policer::default(), (0, 0), None, None);
        for round in 0..rounds {
            let (packets, lost) = counts(round);
            let before = all.0;
            all = (all.0 + packets, all.1 + lost);
            let acked = Acked {
                now_ns: round * 40 * MS,
                packets,
                marked: 0,
                lost,
                rtt_ns: Some(40 * MS),
                least_rtt_ns: 40 * MS,
                in_flight: (packets, packets),
                delivered: all.0,
                lost_so_far: all.1,
                rate: Some(RateSample {
                    packets,
                    interval_ns: 40 * MS,
                    before,
                    idle: false,
                }),
                until: 0,
                sent_until: 0,
                repair: Repair::None,
                is_limited: true,
                is_paced: true,
            };
            let is_over = policer.note(&acked, true, false, true);
            if let (None, Some(rate)) = (first, policer.rate()) {
                assert!((rate * 40e6 - 100.0).abs() < 3.0, "{}", rate * 40e6);
                first = Some(round);
            }
            if is_over {
                assert_eq!(policer.rate(), None);
                last = last.or(Some(round));
            }
        }
        (first, last)
    }

    /// Two intervals of four rounds, the first loss in the first of them; then 48 rounds.
    #[test]
    fn a_policer_is_known_by_two_lossy_intervals_at_one_rate() {
        assert_eq!(
            kept(80, |round| (100, if round < 2 { 0 } else { 25 })),
            (Some(9), Some(57))
        );
    }

    #[test]
    fn neither_fewer_losses_nor_rates_that_differ_are_a_policer() {
        assert_eq!(kept(80, |_| (100, 15)), (None, None));
        assert_eq!(
            kept(80, |round| (if round % 8 < 4 { 100 } else { 140 }, 40)).0,
            None
        );
    }
}
