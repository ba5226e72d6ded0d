//! The offset between the two hosts' clocks, kept up to date while a test runs, by small RTT probes. A core that owns its
//! timers; it knows no socket and no clock.
//!
//! One-way delays rest on it, so everything computed from it is marked as an estimate.

use serde::{Deserialize, Serialize};
use weir_stats::{ClockOffset, Exchange, OffsetEstimator};

/// Offset of the remote clock against the local one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockEstimate {
    /// Remote clock minus local clock, nanoseconds.
    pub offset_ns: i64,
    /// Bound on the error: half of the smallest round trip seen.
    pub uncertainty_ns: u64,
    /// How fast the two drift apart, parts per million; none before half a minute.
    pub drift_ppm: Option<f64>,
}

impl From<ClockOffset> for ClockEstimate {
    fn from(offset: ClockOffset) -> Self {
        ClockEstimate {
            offset_ns: offset.offset_ns,
            uncertainty_ns: offset.uncertainty_ns,
            drift_ppm: offset.drift_ppm,
        }
    }
}

const MS: u64 = 1_000_000;
/// Probes of the first volley, and the time between two of them.
const FIRST_PROBES: u64 = 16;
const FIRST_GAP_NS: u64 = 5 * MS;
/// From one probe to the next after that.
const GAP_NS: u64 = 250 * MS;
/// How long the first volley waits for its last answers once one has come, and for any at all.
const LAST_ANSWERS_NS: u64 = 200 * MS;
const FIRST_ANSWER_NS: u64 = 3_000 * MS;
/// Probes whose answers count: those of the last 16 s, so that the round trip may be as long.
const REMEMBERED: usize = 64;

/// Probes the other host's clock. The answer to any of the last probes counts: on a long path several are under way at
/// once. Times are monotonic nanoseconds, but for those named `unix` and those of answers.
pub struct ClockProber {
    /// Send times by sequence modulo their number; none once answered.
    sent: [Option<(u32, u64)>; REMEMBERED],
    probes: u64,
    answers: u64,
    next_ns: u64,
    /// When the last probe of the first volley left, and when the first answer came.
    volley_ns: u64,
    first_answer_ns: Option<u64>,
    estimator: OffsetEstimator,
}

impl ClockProber {
    /// Begins at `now_ns` with a volley, so that there is a good estimate before the test begins.
    pub fn new(now_ns: u64) -> Self {
        ClockProber {
            sent: [None; REMEMBERED],
            probes: 0,
            answers: 0,
            next_ns: now_ns,
            volley_ns: now_ns,
            first_answer_ns: None,
            estimator: estimator(),
        }
    }

    /// When the next probe leaves.
    pub fn next_wake(&self) -> u64 {
        self.next_ns
    }

    /// A probe leaves: its sequence number, and its time as given.
    pub fn wake(&mut self, now_ns: u64, unix_ns: u64) -> (u32, u64) {
        let sequence = self.probes as u32;
        self.sent[sequence as usize % REMEMBERED] = Some((sequence, unix_ns));
        self.probes += 1;
        if self.probes <= FIRST_PROBES {
            self.volley_ns = now_ns;
        }
        let gap = if self.probes < FIRST_PROBES {
            FIRST_GAP_NS
        } else {
            GAP_NS
        };
        self.next_ns = now_ns + gap;
        (sequence, unix_ns)
    }

    /// An answer to probe `sequence`: when the other host received the probe and sent the answer, by its clock, and when
    /// that came, by this one's. Returns whether it counts; one that nobody waits for changes nothing.
    pub fn answered(
        &mut self,
        now_ns: u64,
        sequence: u32,
        (arrived, left): (u64, u64),
        received: u64,
    ) -> bool {
        let slot = &mut self.sent[sequence as usize % REMEMBERED];
        let Some((_, sent)) = slot.take_if(|(waiting, _)| *waiting == sequence) else {
            return false;
        };
        self.answers += 1;
        self.first_answer_ns.get_or_insert(now_ns);
        self.estimator.add(Exchange {
            t1: sent,
            t2: arrived,
            t3: left,
            t4: received,
        });
        true
    }

    /// Whether the first volley is over: all of it is answered, or its last answers have had their time.
    pub fn is_ready(&self, now_ns: u64) -> bool {
        let limit = match self.first_answer_ns {
            Some(first) => first.max(self.volley_ns) + LAST_ANSWERS_NS,
            None => self.volley_ns + FIRST_ANSWER_NS,
        };
        self.answers >= FIRST_PROBES || (self.probes >= FIRST_PROBES && now_ns >= limit)
    }

    /// The estimate now; none before the first answer.
    pub fn estimate(&self, unix_ns: u64) -> Option<ClockEstimate> {
        self.estimator.estimate(unix_ns).map(ClockEstimate::from)
    }
}

/// The offset rests on the best exchange of half a minute, the drift on the best of each ten seconds.
pub(crate) fn estimator() -> OffsetEstimator {
    OffsetEstimator::new(30_000_000_000, 10_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_however_many_probes_are_under_way() {
        // A round trip of 700 ms to a clock that is an hour ahead.
        let (rtt, ahead) = (700 * MS, 3_600_000 * MS);
        let mut prober = ClockProber::new(1_000_000 * MS);
        let mut on_the_way = std::collections::VecDeque::new();
        let mut ready = None;
        for _ in 0..56 {
            let now = prober.next_wake();
            while on_the_way.front().is_some_and(|(sent, _)| sent + rtt <= now) {
                let (sent, sequence) = on_the_way.pop_front().expect("there is one");
                let there = sent + rtt / 2 + ahead;
                assert!(prober.answered(sent + rtt, sequence, (there, there), sent + rtt));
                // A copy says nothing new.
                assert!(!prober.answered(sent + rtt, sequence, (there, there), sent + 2 * rtt));
            }
            ready = ready.or(prober.is_ready(now).then_some(now));
            let (sequence, sent) = prober.wake(now, now);
            on_the_way.push_back((sent, sequence));
        }
        // The last of 16 probes leaves after 75 ms. Those of the next 750 ms come too late for the volley.
        assert_eq!(ready, Some(1_000_000 * MS + 75 * MS + 3 * 250 * MS));
        // 700 ms before the last probe, 53 had left.
        assert_eq!(prober.answers, 53);
        let estimate = prober.estimate(1_010_000 * MS).expect("answers have come");
        assert_eq!(estimate.offset_ns, ahead as i64);
        assert_eq!(estimate.uncertainty_ns, rtt / 2);
    }

    #[test]
    fn an_answer_to_a_probe_of_long_ago_is_not_taken_for_another() {
        let mut prober = ClockProber::new(0);
        for probe in 0..=REMEMBERED as u64 {
            prober.wake(probe, probe);
        }
        assert!(!prober.answered(100, 0, (1, 1), 1));
        assert_eq!(prober.estimate(2), None);
    }

    #[test]
    fn a_path_without_answers_is_given_up_after_three_seconds() {
        let mut prober = ClockProber::new(0);
        while !prober.is_ready(prober.next_wake()) {
            let now = prober.next_wake();
            prober.wake(now, now);
        }
        assert_eq!(prober.next_wake(), 75 * MS + 3_000 * MS);
    }
}
