//! The throughput rule of dash.js, with its insufficient-buffer rule.

use super::situation::{Choice, Situation};

/// Share of the estimated throughput that a rung may take.
const SAFETY: f64 = 0.9;
/// Share of what the buffer's time would carry that a segment may take: at first, and after some segments.
const BUFFER_SAFETY_AT_FIRST: f64 = 0.9;
const BUFFER_SAFETY: f64 = 0.5;

/// No segment longer than what arrives while the buffer lasts, with a margin that grows over the first segments.
#[derive(Clone, Debug)]
pub(super) struct InsufficientBuffer {
    safety: f64,
}

impl Default for InsufficientBuffer {
    fn default() -> InsufficientBuffer {
        InsufficientBuffer {
            safety: BUFFER_SAFETY_AT_FIRST,
        }
    }
}

impl InsufficientBuffer {
    /// The highest rung that the buffer allows.
    pub(super) fn limit(&mut self, situation: &Situation<'_>) -> usize {
        let Some(network) = situation.throughput else {
            return situation.top();
        };
        let bits = self.safety * (situation.buffer - network.latency) * network.rate;
        self.safety = (self.safety * BUFFER_SAFETY_AT_FIRST).max(BUFFER_SAFETY);
        let seconds = situation.segment_seconds();
        let fits = |rung: usize| situation.bitrate(rung) * seconds <= bits;
        (1..=situation.top())
            .take_while(|rung| fits(*rung))
            .last()
            .unwrap_or(0)
    }
}

/// The rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThroughputRule {
    buffer: InsufficientBuffer,
}

impl ThroughputRule {
    pub(super) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        let Some(network) = situation.throughput else {
            return Choice { rung: 0, wait: 0.0 };
        };
        let rung = situation.rung_for(network.rate * SAFETY, network.latency);
        Choice {
            rung: rung.min(self.buffer.limit(situation)),
            wait: 0.0,
        }
    }
}
