//! HYB: the highest rung at which what lies ahead arrives before the buffer is empty (Akhtar et al., "Oboe", SIGCOMM 2018;
//! with look-ahead in Spang et al., "Sammy", SIGCOMM 2023).

use std::time::Duration;

use super::situation::{Choice, Situation};

/// The rule. With segments as long as the bitrate says it is `r <= beta x (1 + B / D)`: rung r, throughput x, buffer B, and
/// D of media looked ahead.
#[derive(Clone, Debug)]
pub(crate) struct Hyb {
    /// Share of the throughput that is counted on.
    beta: f64,
    look_ahead: Duration,
}

impl Hyb {
    pub(super) fn new(beta: f64, look_ahead: Duration) -> Hyb {
        Hyb { beta, look_ahead }
    }

    pub(super) fn choose(&self, situation: &Situation<'_>) -> Choice {
        let Some(network) = situation.throughput else {
            return Choice { rung: 0, wait: 0.0 };
        };
        let track = situation.track;
        let until = track.start(situation.segment).saturating_add(self.look_ahead);
        let after = (situation.segment + 1..track.segments())
            .find(|segment| track.start(*segment) >= until)
            .unwrap_or(track.segments());
        let ahead = situation.segment..after;
        let media = (track.start(after) - track.start(situation.segment)).as_secs_f64();
        let bits_in_time = self.beta * network.rate * (situation.buffer + media);
        let bits = |rung: usize| {
            ahead
                .clone()
                .map(|segment| track.bytes(segment, rung) as f64 * 8.0)
                .sum::<f64>()
        };
        let rung = (1..=situation.top())
            .rev()
            .find(|rung| bits(*rung) <= bits_in_time)
            .unwrap_or(0);
        Choice { rung, wait: 0.0 }
    }
}
