//! What the network carries, estimated from finished fetches: two exponentially weighted averages with a short and a long
//! half-life, of which the more careful one counts. This is how dash.js and the Sabre simulator estimate.

use std::time::Duration;

/// Half-lives of the averages, in seconds of download.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];

/// Bodies that arrived faster than this tell nothing about the network by themselves; the wait for them counts too.
const TOO_SHORT: Duration = Duration::from_millis(1);

/// What the next fetch may expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Bits each second while a body arrives.
    pub(crate) rate: f64,
    /// Seconds from a request to its first byte.
    pub(crate) latency: f64,
}

/// One finished fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Seconds during which the body arrived.
    pub(crate) seconds: f64,
    /// Bits each second meanwhile.
    pub(crate) rate: f64,
    /// Seconds before its first byte.
    pub(crate) latency: f64,
}

impl Sample {
    /// Of `bytes` that were asked for, began and ended at these times. Nothing where no time passed.
    pub(crate) fn new(bytes: u64, asked: Duration, first_byte: Duration, end: Duration) -> Option<Sample> {
        let mut latency = first_byte.saturating_sub(asked);
        let mut body = end.saturating_sub(first_byte);
        if body < TOO_SHORT {
            body += latency;
            latency = Duration::ZERO;
        }
        let seconds = body.as_secs_f64();
        (seconds > 0.0 && bytes > 0).then(|| Sample {
            seconds,
            rate: bytes as f64 * 8.0 / seconds,
            latency: latency.as_secs_f64(),
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Average {
    rate: f64,
    latency: f64,
}

/// Averages over the fetches of one track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throughput {
    averages: [Average; HALF_LIVES.len()],
    /// Seconds of download so far.
    seconds: f64,
    fetches: u32,
}

impl Throughput {
    /// Counts one more fetch, of a segment that is shown for `segment_seconds`. Latency has no duration of its own: each
    /// fetch weighs as much as one segment does.
    pub(crate) fn push(&mut self, sample: Sample, segment_seconds: f64) {
        for (average, half_life) in self.averages.iter_mut().zip(HALF_LIVES) {
            let keep = 0.5_f64.powf(sample.seconds / half_life);
            average.rate = keep * average.rate + (1.0 - keep) * sample.rate;
            let keep = 0.5_f64.powf(segment_seconds / half_life);
            average.latency = keep * average.latency + (1.0 - keep) * sample.latency;
        }
        self.seconds += sample.seconds;
        self.fetches = self.fetches.saturating_add(1);
    }

    /// The lower rate and the longer latency of the averages, for fetches of such segments; nothing before the first.
    pub(crate) fn estimate(&self, segment_seconds: f64) -> Option<Estimate> {
        if self.fetches == 0 {
            return None;
        }
        let mut estimate = Estimate {
            rate: f64::INFINITY,
            latency: 0.0,
        };
        for (average, half_life) in self.averages.iter().zip(HALF_LIVES) {
            // Averages began at nought: this takes that out.
            let rate_weight = 1.0 - 0.5_f64.powf(self.seconds / half_life);
            let fetched = segment_seconds * f64::from(self.fetches);
            let latency_weight = 1.0 - 0.5_f64.powf(fetched / half_life);
            estimate.rate = estimate.rate.min(average.rate / rate_weight);
            estimate.latency = estimate.latency.max(average.latency / latency_weight);
        }
        estimate.rate.is_finite().then_some(estimate)
    }
}
