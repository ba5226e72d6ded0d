//! The dynamic rule of dash.js, as Spiteri, Sitaraman and Sparacio describe it (MMSys 2018): the throughput rule while the
//! buffer is short, BOLA once it is long and BOLA chooses no lower.

use super::bola::Bola;
use super::situation::{Choice, Situation};
use super::throughput_rule::ThroughputRule;

/// Between short and long, in seconds.
const LONG_BUFFER: f64 = 10.0;

/// Both rules, of which one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dynamic {
    bola: Bola,
    throughput: ThroughputRule,
    by_bola: bool,
}

impl Dynamic {
    pub(super) fn sought(&mut self, segment: usize) {
        self.bola.sought(segment);
    }

    pub(super) fn began(&mut self, rung: usize) {
        self.bola.began(rung);
    }

    pub(super) fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        let bola = self.bola.choose(situation);
        let throughput = self.throughput.choose(situation);
        if self.by_bola {
            self.by_bola = situation.buffer >= LONG_BUFFER || bola.rung >= throughput.rung;
        } else {
            self.by_bola = situation.buffer > LONG_BUFFER && bola.rung >= throughput.rung;
        }
        if self.by_bola { bola } else { throughput }
    }
}
