//! Which rung comes next. Each rule sees the buffer, the estimated throughput and the ladder, and nothing else: it must not
//! know requests, pacing or the clock.

mod throughput_rule;

use std::time::Duration;

use crate::manifest::Track;
use crate::throughput::Estimate;

use throughput_rule::ThroughputRule;

/// How a player chooses rungs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AbrRule {
    /// Always the same rung, counted from 0; the highest where there are fewer.
    Fixed(usize),
    /// The highest rung that nine tenths of the estimated throughput carry, and no more than an emptying buffer allows:
    /// the throughput rule of dash.js with its insufficient-buffer rule.
    Throughput,
}

/// What a rule may look at.
pub(crate) struct Situation<'a> {
    pub(crate) track: &'a Track,
    /// The segment that is to be fetched.
    pub(crate) segment: usize,
    /// Seconds of media in the buffer that are not yet played.
    pub(crate) buffer: f64,
    /// Seconds that the buffer holds at most.
    #[allow(dead_code)]
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
    #[allow(dead_code)]
    pub(crate) seconds: f64,
}

/// A rule at work on one track.
#[derive(Clone, Debug)]
pub(crate) enum Abr {
    Fixed(usize),
    Throughput(ThroughputRule),
}

impl Abr {
    pub(crate) fn new(rule: AbrRule) -> Abr {
        match rule {
            AbrRule::Fixed(rung) => Abr::Fixed(rung),
            AbrRule::Throughput => Abr::Throughput(ThroughputRule::default()),
        }
    }

    /// The rung of a segment, once something is known of the network.
    pub(crate) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        match self {
            Abr::Fixed(rung) => Choice {
                rung: (*rung).min(situation.top()),
                wait: 0.0,
            },
            Abr::Throughput(rule) => rule.choose(situation),
        }
    }

    /// The player waited because its buffer was full.
    pub(crate) fn waited(&mut self, _time: Duration) {}

    /// A fetch is done and its segment in the buffer; the throughput does not count it yet.
    pub(crate) fn fetched(&mut self, _fetched: &Fetched, _situation: &Situation<'_>) {}

    /// The viewer went elsewhere; `segment` comes next.
    pub(crate) fn sought(&mut self, _segment: usize) {}
}
