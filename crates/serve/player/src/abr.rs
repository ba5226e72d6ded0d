//! Which rung comes next. Each rule sees the buffer, the estimated throughput and the ladder, and nothing else: it must not
//! know requests, pacing or the clock.

mod bba;
mod bola;
mod bola_e;
mod dynamic;
mod hyb;
mod situation;
mod throughput_rule;

use std::time::Duration;

use bba::Bba;
use bola::Bola;
use bola_e::BolaE;
use dynamic::Dynamic;
use hyb::Hyb;
use situation::Choice;
use throughput_rule::ThroughputRule;

pub(crate) use situation::{Fetched, Situation};

/// How a player chooses rungs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AbrRule {
    /// Always the same rung, counted from 0; the highest where there are fewer.
    Fixed(usize),
    /// The highest rung that this share of the estimated throughput carries, and nothing else.
    ThroughputShare(f64),
    /// The highest rung that nine tenths of the estimated throughput carry, and no more than an emptying buffer allows:
    /// the throughput rule of dash.js with its insufficient-buffer rule.
    Throughput,
    /// BBA-0 (Huang et al., SIGCOMM 2014): by the buffer alone. [`AbrRule::bba`] gives it the paper's shares of a buffer.
    Bba {
        /// Below this much media in the buffer: the lowest rung. 90 s in the paper.
        reservoir: Duration,
        /// Above the reservoir by this much: the highest rung. 126 s in the paper.
        cushion: Duration,
    },
    /// BOLA (Spiteri et al., INFOCOM 2016), with a finite buffer and without oscillation.
    Bola,
    /// BOLA-E (Spiteri et al., MMSys 2018), with a virtual buffer.
    BolaE,
    /// HYB: the highest rung at which what lies ahead arrives in time.
    Hyb {
        /// Share of the throughput that is counted on: above 0, at most 1.
        beta: f64,
        /// How much media is looked ahead; at least one segment.
        look_ahead: Duration,
    },
    /// dash.js's dynamic rule (MMSys 2018): the throughput rule with a short buffer, BOLA with a long one.
    Dynamic,
}

impl AbrRule {
    /// BBA-0 with the paper's shares of a buffer, which is 240 s there.
    pub fn bba(max_buffer: Duration) -> AbrRule {
        let (reservoir, cushion) = bba::shares_of(max_buffer);
        AbrRule::Bba { reservoir, cushion }
    }
}

/// A rule at work on one track.
#[derive(Clone, Debug)]
pub(crate) enum Abr {
    Fixed(usize),
    ThroughputShare(f64),
    Throughput(ThroughputRule),
    Bba(Bba),
    Bola(Bola),
    BolaE(BolaE),
    Hyb(Hyb),
    Dynamic(Dynamic),
}

impl Abr {
    pub(crate) fn new(rule: AbrRule) -> Abr {
        match rule {
            AbrRule::Fixed(rung) => Abr::Fixed(rung),
            AbrRule::ThroughputShare(share) => Abr::ThroughputShare(share),
            AbrRule::Throughput => Abr::Throughput(ThroughputRule::default()),
            AbrRule::Bba { reservoir, cushion } => Abr::Bba(Bba::new(reservoir, cushion)),
            AbrRule::Bola => Abr::Bola(Bola::default()),
            AbrRule::BolaE => Abr::BolaE(BolaE::default()),
            AbrRule::Hyb { beta, look_ahead } => Abr::Hyb(Hyb::new(beta, look_ahead)),
            AbrRule::Dynamic => Abr::Dynamic(Dynamic::default()),
        }
    }

    /// The rung of a segment, once something is known of the network.
    pub(crate) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        match self {
            Abr::Fixed(rung) => Choice {
                rung: (*rung).min(situation.top()),
                wait: 0.0,
            },
            Abr::ThroughputShare(share) => {
                let rate = situation.throughput.map_or(0.0, |network| *share * network.rate);
                Choice {
                    rung: situation.rung_for(rate, 0.0),
                    wait: 0.0,
                }
            }
            Abr::Throughput(rule) => rule.choose(situation),
            Abr::Bba(rule) => rule.choose(situation),
            Abr::Bola(rule) => rule.choose(situation),
            Abr::BolaE(rule) => rule.choose(situation),
            Abr::Hyb(rule) => rule.choose(situation),
            Abr::Dynamic(rule) => rule.choose(situation),
        }
    }

    /// The player waited because its buffer was full.
    pub(crate) fn waited(&mut self, time: Duration) {
        if let Abr::BolaE(rule) = self {
            rule.waited(time.as_secs_f64());
        }
    }

    /// A fetch is done and its segment in the buffer; the throughput does not count it yet.
    pub(crate) fn fetched(&mut self, fetched: &Fetched, situation: &Situation<'_>) {
        let is_first = situation.throughput.is_none();
        match self {
            Abr::Bba(rule) => rule.fetched(fetched.rung),
            Abr::BolaE(rule) => rule.fetched(fetched, situation),
            Abr::Bola(rule) if is_first => rule.began(fetched.rung),
            Abr::Dynamic(rule) if is_first => rule.began(fetched.rung),
            _ => {}
        }
    }

    /// The viewer went elsewhere; `segment` comes next.
    pub(crate) fn sought(&mut self, segment: usize) {
        match self {
            Abr::Bola(rule) => rule.sought(segment),
            Abr::BolaE(rule) => rule.sought(),
            Abr::Dynamic(rule) => rule.sought(segment),
            _ => {}
        }
    }
}
