//! BOLA-E of Spiteri, Sitaraman and Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference
//! Player", MMSys 2018: BOLA with a virtual buffer, so that it begins by throughput and outlives waits that it did not ask
//! for, and with the insufficient-buffer rule.

use super::bola::Scale;
use super::situation::{Choice, Fetched, Situation};
use super::throughput_rule::InsufficientBuffer;

/// The buffer at which the lowest rung is left, in seconds.
const LOW_BUFFER: f64 = 10.0;
/// The buffer that each rung needs above that, in seconds.
const BUFFER_A_RUNG: f64 = 2.0;

/// The rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct BolaE {
    /// By throughput until it has chosen once.
    is_steady: bool,
    /// Seconds of media that are counted with the buffer and are not there.
    placeholder: f64,
    last: usize,
    insufficient: InsufficientBuffer,
}

impl BolaE {
    pub(super) fn sought(&mut self) {
        self.is_steady = false;
    }

    pub(super) fn waited(&mut self, seconds: f64) {
        self.placeholder += seconds;
    }

    pub(super) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        let Some(network) = situation.throughput else {
            return Choice {
                rung: self.last,
                wait: 0.0,
            };
        };
        let scale = scale(situation);
        let carried = situation.rung_for(network.rate, network.latency);
        if !self.is_steady {
            self.is_steady = true;
            self.insufficient = InsufficientBuffer::default();
            self.placeholder = (lowest_level(&scale, situation, carried) - situation.buffer).max(0.0);
            return Choice {
                rung: carried,
                wait: 0.0,
            };
        }
        let mut rung = scale.best(situation, situation.buffer + self.placeholder);
        if rung > self.last && rung > carried {
            rung = self.last.max(carried) + 1;
        }
        let mut wait = self.excess(scale.highest_level(situation, rung), situation.buffer);
        if rung == situation.top() {
            wait = 0.0;
        }
        let allowed = self.insufficient.limit(situation);
        if rung > allowed {
            rung = allowed;
            wait = 0.0;
            let most = (lowest_level(&scale, situation, rung) - situation.buffer).max(0.0);
            self.placeholder = self.placeholder.min(most);
        }
        Choice { rung, wait }
    }

    /// By how much the buffer is longer than `level`. The placeholder gives way first.
    fn excess(&mut self, level: f64, buffer: f64) -> f64 {
        let excess = (buffer + self.placeholder - level).max(0.0);
        let given = excess.min(self.placeholder);
        self.placeholder -= given;
        excess - given
    }

    /// Keeps the placeholder where this rule would have chosen the rung that was fetched.
    pub(super) fn fetched(&mut self, fetched: &Fetched, situation: &Situation<'_>) {
        self.last = fetched.rung;
        if !self.is_steady {
            return;
        }
        let scale = scale(situation);
        let level_was = situation.buffer + fetched.seconds;
        let most = (scale.highest_level(situation, fetched.rung) - level_was).max(0.0);
        let least = lowest_level(&scale, situation, fetched.rung) - level_was;
        self.placeholder = self.placeholder.min(most).max(least);
    }
}

fn scale(situation: &Situation<'_>) -> Scale {
    let rungs = situation.top() + 1;
    let buffer = situation
        .max_buffer
        .max(LOW_BUFFER + BUFFER_A_RUNG * rungs as f64);
    let range = (situation.bitrate(situation.top()) / situation.bitrate(0)).ln();
    // One rung has no range: any scale chooses it.
    let v = (buffer - LOW_BUFFER) / if range > 0.0 { range } else { 1.0 };
    Scale {
        v,
        gamma_p: LOW_BUFFER / v,
        lowest: 1.0,
    }
}

/// The buffer from which on this rung is better than every lower one, in seconds.
fn lowest_level(scale: &Scale, situation: &Situation<'_>, rung: usize) -> f64 {
    let (bitrate, utility) = (situation.bitrate(rung), scale.utility(situation, rung));
    let level = |lower: usize| {
        let (b, u) = (situation.bitrate(lower), scale.utility(situation, lower));
        scale.v * (scale.gamma_p + (bitrate * u - b * utility) / (bitrate - b))
    };
    (0..rung).map(level).fold(0.0, f64::max)
}
