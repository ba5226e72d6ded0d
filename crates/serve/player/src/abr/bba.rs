//! BBA-0 of Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014: the rung follows from the buffer alone.

use std::time::Duration;

use super::situation::{Choice, Situation};

/// Its buffer of 240 s in the paper: how much of it is reservoir, and how much cushion.
const PAPER_BUFFER: f64 = 240.0;
const PAPER_RESERVOIR: f64 = 90.0;
const PAPER_CUSHION: f64 = 126.0;

/// The reservoir and cushion that have the paper's shares of this buffer.
pub(super) fn shares_of(max_buffer: Duration) -> (Duration, Duration) {
    let share = |of: f64| max_buffer.mul_f64(of / PAPER_BUFFER);
    (share(PAPER_RESERVOIR), share(PAPER_CUSHION))
}

/// The rule: lowest rung in the reservoir, highest above the cushion, and between them a line, from which the rung moves
/// only when the line has passed the next one.
#[derive(Clone, Debug)]
pub(crate) struct Bba {
    /// Seconds.
    reservoir: f64,
    /// Seconds.
    cushion: f64,
    last: usize,
}

impl Bba {
    pub(super) fn new(reservoir: Duration, cushion: Duration) -> Bba {
        Bba {
            reservoir: reservoir.as_secs_f64(),
            cushion: cushion.as_secs_f64(),
            last: 0,
        }
    }

    pub(super) fn fetched(&mut self, rung: usize) {
        self.last = rung;
    }

    /// Algorithm 1 of the paper.
    pub(super) fn choose(&self, situation: &Situation<'_>) -> Choice {
        let top = situation.top();
        let (up, down) = ((self.last + 1).min(top), self.last.saturating_sub(1));
        let line = self.line(situation);
        let rung = if situation.buffer <= self.reservoir {
            0
        } else if situation.buffer >= self.reservoir + self.cushion {
            top
        } else if line >= situation.bitrate(up) {
            (0..=top)
                .rev()
                .find(|rung| situation.bitrate(*rung) < line)
                .unwrap_or(0)
        } else if line <= situation.bitrate(down) {
            (0..=top)
                .find(|rung| situation.bitrate(*rung) > line)
                .unwrap_or(top)
        } else {
            self.last
        };
        Choice { rung, wait: 0.0 }
    }

    /// f(B), from the lowest bitrate at the end of the reservoir to the highest at the end of the cushion.
    fn line(&self, situation: &Situation<'_>) -> f64 {
        let (lowest, highest) = (situation.bitrate(0), situation.bitrate(situation.top()));
        lowest + (highest - lowest) * (situation.buffer - self.reservoir) / self.cushion
    }
}
