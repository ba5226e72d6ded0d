//! What rules see, and what they decide. It must not know rules.

use crate::manifest::Track;
use crate::throughput::Estimate;

/// What a rule may look at.
pub(crate) struct Situation<'a> {
    pub(crate) track: &'a Track,
    /// The segment that is to be fetched.
    pub(crate) segment: usize,
    /// Seconds of media in the buffer that are not yet played.
    pub(crate) buffer: f64,
    /// Seconds that the buffer holds at most.
    pub(crate) max_buffer: f64,
    /// Nothing before the first fetch is done.
    pub(crate) throughput: Option<Estimate>,
}

impl Situation<'_> {
    pub(crate) fn segment_seconds(&self) -> f64 {
        self.track.duration(self.segment).as_secs_f64()
    }

    pub(crate) fn bitrate(&self, rung: usize) -> f64 {
        self.track.rungs()[rung].bitrate.0 as f64
    }

    pub(crate) fn top(&self) -> usize {
        self.track.rungs().len() - 1
    }

    /// The highest rung whose segments arrive within the time that they are shown for, wait included, at `rate` bits each
    /// second.
    pub(crate) fn rung_for(&self, rate: f64, latency: f64) -> usize {
        let seconds = self.segment_seconds();
        let fits = |rung: usize| latency + seconds * self.bitrate(rung) / rate <= seconds;
        (1..=self.top())
            .take_while(|rung| fits(*rung))
            .last()
            .unwrap_or(0)
    }
}

/// What a rule decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) rung: usize,
    /// Seconds to wait before the fetch, so that the buffer can shrink to where the rule would choose this rung.
    pub(crate) wait: f64,
}

/// A fetch that is done, as rules see it.
pub(crate) struct Fetched {
    pub(crate) rung: usize,
    /// Seconds from the request to the last byte.
    pub(crate) seconds: f64,
}
