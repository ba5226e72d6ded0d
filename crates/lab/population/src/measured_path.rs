//! A path that was measured: a rate that changes, and its round trips. It must not know populations.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_player::recorded::Trace;

use crate::draw::Draws;

/// A step of a path: nanoseconds, bits per second.
pub(crate) type RateStep = (u64, u64);

/// A path that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredPath {
    /// Its name.
    pub name: String,
    /// Round-trip time, nanoseconds; none: that of the population.
    pub rtt_ns: Option<u64>,
    /// Its rate, which repeats: nanoseconds, bits per second.
    pub(crate) steps: Vec<RateStep>,
}

impl MeasuredPath {
    /// A path with the rates of a trace, and the mean of its latencies as round-trip time.
    #[must_use]
    pub fn of_trace(name: String, trace: &Trace) -> Self {
        let latency: Duration = trace.steps.iter().map(|step| step.latency).sum();
        let steps = trace.steps.iter();
        MeasuredPath {
            name,
            rtt_ns: whole_ns(latency / u32::try_from(trace.steps.len().max(1)).unwrap_or(u32::MAX)),
            steps: steps
                .filter_map(|step| Some((whole_ns(step.duration)?, step.rate)))
                .collect(),
        }
    }

    /// Mean rate over its time, bits per second.
    pub(crate) fn mean(&self) -> u64 {
        let ns: u128 = self.steps.iter().map(|step| u128::from(step.0)).sum();
        let bits = self
            .steps
            .iter()
            .map(|step| u128::from(step.0) * u128::from(step.1));
        u64::try_from(bits.sum::<u128>() / ns.max(1)).unwrap_or(u64::MAX)
    }

    /// Its steps from a random one on; none if it has one rate.
    pub(crate) fn rotated(&self, draws: &mut Draws) -> Vec<RateStep> {
        let first = (draws.uniform() * self.steps.len() as f64) as usize;
        if self.steps.len() < 2 {
            return Vec::new();
        }
        let (before, after) = self.steps.split_at(first.min(self.steps.len() - 1));
        [after, before].concat()
    }
}

/// None where it is 0, or too long to count.
pub(crate) fn whole_ns(time: Duration) -> Option<u64> {
    u64::try_from(time.as_nanos()).ok().filter(|ns| *ns > 0)
}

/// Steps as in a link file.
pub(crate) fn steps_text(steps: &[RateStep]) -> toml::Value {
    let step = |(ns, rate): &RateStep| match rate {
        0 => toml::Value::String(format!("{ns}ns 0")),
        rate => toml::Value::String(format!("{ns}ns {rate}bit/s")),
    };
    toml::Value::Array(steps.iter().map(step).collect())
}
