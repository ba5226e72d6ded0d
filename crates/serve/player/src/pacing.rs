//! How fast a server should send a segment. A policy sees the buffer, the ladder and the chosen rung. Whether a server does
//! as it is asked is no business of this module.

use std::time::Duration;

use weir_units::Rate;

/// How a player chooses the pace rate of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PacePolicy {
    /// No pacing: as fast as the network carries.
    None,
    /// This many times the bitrate of the chosen rung.
    TimesRung(f64),
    /// This many times the bitrate of the top rung.
    TimesTopRung(f64),
    /// Sammy (Spang et al., SIGCOMM 2023): nothing before playback starts; then, with a buffer that is filled to a share
    /// B, `c1 B + c0 (1 - B)` times the top rung.
    Sammy {
        /// With an empty buffer. 3.2 in production.
        c0: f64,
        /// With a full one. 2.8 in production.
        c1: f64,
    },
    /// The least rate at which HYB still chooses the top rung, times a margin: `margin (r / beta) / (1 + B / D)` with the
    /// top rung r and B seconds in the buffer. Nothing before playback starts.
    HybFloor {
        /// 1 or more.
        margin: f64,
        /// Share of the throughput that HYB counts on.
        beta: f64,
        /// D, what HYB looks ahead.
        look_ahead: Duration,
    },
    /// What dash.js tells servers as `rtp`, as it is: five times the rate at which the segment arrives just before the
    /// buffer is empty, rounded up to the next 100 kbit/s. It falls below the bitrate when more than five segments are
    /// in the buffer.
    DashJs,
}

/// What a policy may look at.
pub(crate) struct PaceInput {
    /// Playback has not started, or starts anew after a seek.
    pub(crate) initial: bool,
    /// Bits each second.
    pub(crate) rung: f64,
    /// Bits each second.
    pub(crate) top_rung: f64,
    pub(crate) segment_seconds: f64,
    /// Seconds.
    pub(crate) buffer: f64,
    /// Seconds.
    pub(crate) max_buffer: f64,
}

/// dash.js's margin over the rate that arrives just in time.
const DASH_JS_MARGIN: f64 = 5.0;
/// The buffer that dash.js counts with where there is none, in seconds.
const DASH_JS_NO_BUFFER: f64 = 0.5;
/// dash.js rounds up to the next of these, in bits each second.
const DASH_JS_STEP: f64 = 100_000.0;

impl PacePolicy {
    pub(crate) fn rate(self, input: &PaceInput) -> Option<Rate> {
        let rate = match self {
            PacePolicy::None => return None,
            PacePolicy::TimesRung(times) => times * input.rung,
            PacePolicy::TimesTopRung(times) => times * input.top_rung,
            PacePolicy::Sammy { .. } | PacePolicy::HybFloor { .. } if input.initial => return None,
            PacePolicy::Sammy { c0, c1 } => {
                let filled = (input.buffer / input.max_buffer).clamp(0.0, 1.0);
                (c1 * filled + c0 * (1.0 - filled)) * input.top_rung
            }
            PacePolicy::HybFloor {
                margin,
                beta,
                look_ahead,
            } => margin * (input.top_rung / beta) / (1.0 + input.buffer / look_ahead.as_secs_f64()),
            PacePolicy::DashJs => dash_js_rate(input.rung, input.segment_seconds, input.buffer),
        };
        // Settings can be anything: what is no rate at all asks for nothing.
        (rate.is_finite() && rate >= 1.0).then_some(Rate(rate as u64))
    }
}

/// `CmcdModel._calculateRtp` of dash.js at normal speed.
fn dash_js_rate(rung: f64, segment_seconds: f64, buffer: f64) -> f64 {
    let buffer = if buffer > 0.0 { buffer } else { DASH_JS_NO_BUFFER };
    let rate = DASH_JS_MARGIN * rung * segment_seconds / buffer;
    ((rate / DASH_JS_STEP).floor() + 1.0) * DASH_JS_STEP
}

/// Initial phases that are kept.
const KEPT: usize = 8;

/// Throughputs of the initial phases of a viewer's sessions, before playback began. Only these say what the network
/// carries: later ones are as slow as they were paced. Sammy chooses its first rung by them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitialThroughputs {
    rates: Vec<Rate>,
}

impl InitialThroughputs {
    /// Adds what [`crate::Figures::initial_throughput`] said of a session.
    pub fn push(&mut self, rate: Rate) {
        if self.rates.len() == KEPT {
            self.rates.remove(0);
        }
        self.rates.push(rate);
    }

    /// The harmonic mean of the latest sessions, so that a slow one weighs more than a fast one; nothing before the first.
    pub fn estimate(&self) -> Option<Rate> {
        if self.rates.is_empty() {
            return None;
        }
        let sum: f64 = self.rates.iter().map(|rate| 1.0 / rate.0.max(1) as f64).sum();
        Some(Rate((self.rates.len() as f64 / sum) as u64))
    }
}
