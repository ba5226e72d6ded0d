//! BOLA of Spiteri, Urgaonkar and Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", INFOCOM 2016, with
//! its finite buffer at the beginning and end, and its guard against oscillation (BOLA-U).

use super::situation::{Choice, Situation};

/// The product of the paper's gamma and p: how much a stall weighs.
const GAMMA_P: f64 = 5.0;
/// Fewest segments that the buffer is taken to hold near the beginning and the end.
const FEWEST_SEGMENTS: f64 = 3.0;

/// What rungs are worth, and the control parameter V of the paper times the duration of a segment, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) v: f64,
    pub(super) gamma_p: f64,
    /// The utility of the lowest rung.
    pub(super) lowest: f64,
}

impl Scale {
    /// The logarithm of the bitrate, relative to the lowest.
    pub(super) fn utility(&self, situation: &Situation<'_>, rung: usize) -> f64 {
        self.lowest + (situation.bitrate(rung) / situation.bitrate(0)).ln()
    }

    /// The buffer above which nothing would be fetched on this rung, in seconds.
    pub(super) fn highest_level(&self, situation: &Situation<'_>, rung: usize) -> f64 {
        self.v * (self.utility(situation, rung) + self.gamma_p)
    }

    /// The rung with the highest score at this level of the buffer.
    pub(super) fn best(&self, situation: &Situation<'_>, level: f64) -> usize {
        let score = |rung: usize| (self.highest_level(situation, rung) - level) / situation.bitrate(rung);
        let better = |best: usize, rung: usize| if score(rung) > score(best) { rung } else { best };
        (1..=situation.top()).fold(0, better)
    }
}

/// The rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bola {
    /// The segment that playback began with, or went to.
    begun_at: usize,
    last: usize,
}

impl Bola {
    pub(super) fn sought(&mut self, segment: usize) {
        self.begun_at = segment;
    }

    pub(super) fn began(&mut self, rung: usize) {
        self.last = rung;
    }

    pub(super) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        let Some(network) = situation.throughput else {
            return Choice {
                rung: self.last,
                wait: 0.0,
            };
        };
        let scale = self.scale(situation);
        let mut rung = scale.best(situation, situation.buffer);
        if rung > self.last {
            let carried = situation.rung_for(network.rate, network.latency);
            if rung > carried {
                // No higher than one above what the network carries, unless it is there already.
                rung = if self.last > carried {
                    self.last
                } else {
                    carried + 1
                };
            }
        }
        self.last = rung;
        Choice { rung, wait: 0.0 }
    }

    fn scale(&self, situation: &Situation<'_>) -> Scale {
        let seconds = situation.segment_seconds();
        let since = situation.segment.saturating_sub(self.begun_at);
        let left = situation.track.segments() - situation.segment;
        let segments = (since.min(left) as f64 / 2.0).max(FEWEST_SEGMENTS);
        let buffer = situation.max_buffer.min(segments * seconds);
        let mut scale = Scale {
            v: 0.0,
            gamma_p: GAMMA_P,
            lowest: 0.0,
        };
        scale.v = (buffer - seconds).max(0.0) / (scale.utility(situation, situation.top()) + GAMMA_P);
        scale
    }
}
