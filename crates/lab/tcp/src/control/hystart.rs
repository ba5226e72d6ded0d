//! When slow start ends before a loss: by the delay, and by how long acknowledgements come in a row.

use super::{Acked, Window};

const MS: u64 = 1_000_000;
/// Samples of a round before its delay counts (N_RTT_SAMPLE of RFC 9406 section 4.3).
const SAMPLES: u32 = 8;
/// How much more delay ends slow start: an eighth, within these bounds.
const LEAST_MORE_NS: u64 = 4 * MS;
const MOST_MORE_NS: u64 = 16 * MS;
/// Conservative slow start: by how much slower it grows, and for how many rounds.
const SLOWER: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Packets by which an acknowledgement opens the window at most.
const MOST_AT_ONCE: u64 = 8;
/// Below this window the hybrid slow start of Linux does not look, packets.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements this close follow each other in a train.
const TRAIN_GAP_NS: u64 = 2 * MS;

/// How slow start ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// With a loss (RFC 5681).
    Standard,
    /// With more delay, or with acknowledgements in a row for half of a round trip, or a whole one where packets are paced (Ha
    /// and Rhee 2011), as CUBIC in Linux.
    Hybrid,
    /// With more delay for several rounds (RFC 9406).
    HyStartPlusPlus,
}

/// State of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    began_ns: u64,
    train_ns: u64,
    least_rtt_ns: u64,
    samples: u32,
    /// Sequence with whose acknowledgement it ends.
    ends: u64,
}

impl Round {
    fn new(acked: &Acked) -> Self {
        Self {
            began_ns: acked.now_ns,
            train_ns: acked.now_ns,
            least_rtt_ns: u64::MAX,
            samples: 0,
            ends: acked.sent_until,
        }
    }

    fn sample(&mut self, rtt_ns: u64) {
        self.least_rtt_ns = self.least_rtt_ns.min(rtt_ns);
        self.samples += 1;
    }
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline_ns: u64,
    rounds: u32,
}

/// Opens the window in slow start.
#[derive(Debug)]
pub(super) struct Start {
    how: SlowStart,
    round: Option<Round>,
    /// Least round-trip time of the round before.
    before_ns: Option<u64>,
    conservative: Option<Conservative>,
    /// Packets that have not opened the window yet because it grows slower.
    slowed: u64,
}

impl Start {
    pub fn new(how: SlowStart) -> Self {
        Self {
            how,
            round: None,
            before_ns: None,
            conservative: None,
            slowed: 0,
        }
    }

    /// Opens the window by what has arrived; returns the packets that are left when slow start is over.
    pub fn open(&mut self, window: &mut Window, acked: &Acked) -> u64 {
        match self.how {
            SlowStart::Standard => grow(window, acked.packets),
            SlowStart::Hybrid => {
                if self.hybrid_ends(window, acked) {
                    window.threshold = window.packets;
                }
                grow(window, acked.packets)
            }
            SlowStart::HyStartPlusPlus => self.open_conservatively(window, acked),
        }
    }

    fn hybrid_ends(&mut self, window: &Window, acked: &Acked) -> bool {
        if self.round.is_none_or(|round| acked.until > round.ends) {
            self.round = Some(Round::new(acked));
        }
        let (Some(round), Some(rtt_ns)) = (&mut self.round, acked.rtt_ns) else {
            return false;
        };
        if window.packets < LOW_WINDOW {
            return false;
        }
        let least_ns = acked.least_rtt_ns;
        if acked.now_ns - round.train_ns <= TRAIN_GAP_NS {
            round.train_ns = acked.now_ns;
            let long_ns = if acked.is_paced { least_ns } else { least_ns / 2 };
            if acked.now_ns - round.began_ns > long_ns {
                return true;
            }
        }
        round.sample(rtt_ns);
        round.samples > SAMPLES && round.least_rtt_ns > least_ns + more_ns(least_ns)
    }

    fn open_conservatively(&mut self, window: &mut Window, acked: &Acked) -> u64 {
        if self.round.is_none_or(|round| acked.until > round.ends) {
            self.end_round();
            if self
                .conservative
                .is_some_and(|state| state.rounds >= CONSERVATIVE_ROUNDS)
            {
                window.threshold = window.packets;
                return acked.packets;
            }
            self.round = Some(Round::new(acked));
        }
        if let (Some(round), Some(rtt_ns)) = (&mut self.round, acked.rtt_ns) {
            round.sample(rtt_ns);
            let least_ns = round.least_rtt_ns;
            let judged = round.samples >= SAMPLES;
            match self.conservative {
                Some(state) if judged && least_ns < state.baseline_ns => self.conservative = None,
                None if judged && self.before_ns.is_some_and(|ns| least_ns >= ns + more_ns(ns)) => {
                    self.conservative = Some(Conservative {
                        baseline_ns: least_ns,
                        rounds: 0,
                    });
                }
                _ => {}
            }
        }
        let packets = acked.packets.min(MOST_AT_ONCE);
        match self.conservative {
            None => grow(window, packets),
            Some(_) => {
                self.slowed += packets;
                grow(window, self.slowed / SLOWER);
                self.slowed %= SLOWER;
                0
            }
        }
    }

    fn end_round(&mut self) {
        if let Some(round) = self.round.take() {
            self.before_ns = Some(round.least_rtt_ns).filter(|ns| *ns < u64::MAX);
        }
        if let Some(state) = &mut self.conservative {
            state.rounds += 1;
        }
    }
}

fn more_ns(rtt_ns: u64) -> u64 {
    (rtt_ns / 8).clamp(LEAST_MORE_NS, MOST_MORE_NS)
}

/// Grows by each packet up to the threshold; returns the packets that are left.
fn grow(window: &mut Window, packets: u64) -> u64 {
    let grown = (window.packets + packets).min(window.threshold.max(window.packets));
    let used = grown - window.packets;
    window.packets = grown;
    packets - used
}
