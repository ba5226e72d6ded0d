//! Which pace: candidates over the same households, of which successive halving (Karnin, Koren and Somekh 2013) drops the
//! worse half while the number of households doubles. It must not know how households are played.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_lab::scenario_file::{ScenarioError, Wrong, wrong};
use weir_pacing::Burst;
use weir_player::PacePolicy;
use weir_record::{HouseholdNeighbour, HouseholdSession};

use crate::compared::Collected;
use crate::effects::{Measured, score};
use crate::file::{Population, Variant};
use crate::grid::{axis, pace};

/// Candidates that are played with all households.
const FINALISTS: usize = 4;
/// Fewest households of a round.
const LEAST_HOUSEHOLDS: u64 = 16;
const MOST_CANDIDATES: usize = 1_000;
const MOST_WEIGHT: f64 = 1_000.0;

/// What to try, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// Paces that players ask for.
    pub paces: Vec<String>,
    /// Bursts of servers: `auto`, `kernel` or packets.
    pub bursts: Vec<String>,
    /// How many percent of gain one percent of harm outweighs.
    pub harm_weight: f64,
    /// Whether every candidate is played with all households.
    pub exhaustive: bool,
}

/// A part of the work: these variants, the unpaced one first, with the households from one number to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What to play.
    pub variants: Vec<Variant>,
    /// First household.
    pub from: u64,
    /// The one after the last.
    pub until: u64,
}

/// A search.
#[derive(Debug)]
pub struct Tuner {
    pub(crate) tuning: Tuning,
    pub(crate) population: Population,
    /// The unpaced one, and the candidates.
    pub(crate) variants: Vec<Variant>,
    /// Candidates that are left.
    pub(crate) left: Vec<usize>,
    /// Households until the end of each round.
    rounds: Vec<u64>,
    done: usize,
    /// By variant and household.
    pub(crate) measured: Vec<BTreeMap<u64, Measured>>,
    /// Figures of sessions.
    pub(crate) collected: Collected,
}

impl Tuning {
    /// A search over the first households of a population.
    ///
    /// # Errors
    /// An unknown word, an invalid weight, or a population in which nobody can gain.
    pub fn begin(&self, population: Population, households: u64) -> Result<Tuner, ScenarioError> {
        let candidates = self.candidates(&population);
        let mut variants = candidates.map_err(|wrong| wrong.within(&population.name))?;
        variants.insert(0, Variant::new("none".to_owned(), PacePolicy::None));
        let population = Population {
            variants,
            ..population
        };
        let variants = population.variants.clone();
        Ok(Tuner {
            tuning: self.clone(),
            collected: Collected::new(&population),
            population,
            left: (1..variants.len()).collect(),
            rounds: rounds(variants.len() - 1, households, self.exhaustive),
            done: 0,
            measured: vec![BTreeMap::new(); variants.len()],
            variants,
        })
    }

    fn candidates(&self, population: &Population) -> Result<Vec<Variant>, Wrong> {
        if population.neighbours.is_empty() {
            return wrong(
                "neighbour",
                "missing: without neighbours, nobody gains from a pace",
            );
        }
        if !(0.0..=MOST_WEIGHT).contains(&self.harm_weight) {
            return wrong("harm-weight", format!("a number from 0 to {MOST_WEIGHT}"));
        }
        let paces = axis("paces", &self.paces, |text| match pace(text)? {
            PacePolicy::None => wrong("paces", "none is what candidates are compared with; leave it out"),
            pace => Ok(pace),
        })?;
        let burst = |text: &str| {
            text.parse::<Burst>()
                .or_else(|bad| wrong("bursts", bad.to_string()))
        };
        let bursts = axis("bursts", &self.bursts, burst)?;
        if paces.len() * bursts.len() > MOST_CANDIDATES {
            return wrong("paces", format!("at most {MOST_CANDIDATES} paces x bursts"));
        }
        let of_pace = |pace: &PacePolicy| bursts.iter().map(|burst| candidate(*pace, *burst)).collect();
        Ok(paces.iter().flat_map::<Vec<Variant>, _>(of_pace).collect())
    }
}

fn candidate(pace: PacePolicy, burst: Burst) -> Variant {
    Variant {
        pace_factor: Some(factor(pace)),
        pace_burst: burst,
        ..Variant::new(format!("{pace}/{burst}"), pace)
    }
}

/// The highest factor of a server that leaves the pace as it is asked for.
fn factor(pace: PacePolicy) -> f64 {
    match pace {
        PacePolicy::TimesTopRung(times) => times.max(1.0),
        PacePolicy::Sammy { c0, c1 } => c0.min(c1).max(1.0),
        _ => 1.0,
    }
}

/// Households until the end of each round.
fn rounds(candidates: usize, households: u64, exhaustive: bool) -> Vec<u64> {
    let mut rounds = vec![households];
    let mut left = candidates;
    while !exhaustive && left > FINALISTS && rounds[0] / 2 >= LEAST_HOUSEHOLDS {
        rounds.insert(0, rounds[0] / 2);
        left = left.div_ceil(2);
    }
    rounds
}

impl Tuner {
    /// The population with the variants of a round.
    #[must_use]
    pub fn population(&self, round: &Round) -> Population {
        Population {
            variants: round.variants.clone(),
            ..self.population.clone()
        }
    }

    /// The next round; none at the end.
    #[must_use]
    pub fn round(&self) -> Option<Round> {
        let until = *self.rounds.get(self.done)?;
        let left = self.left.iter().map(|place| self.variants[*place].clone());
        Some(Round {
            variants: [self.variants[0].clone()].into_iter().chain(left).collect(),
            from: self.done.checked_sub(1).map_or(0, |before| self.rounds[before]),
            until,
        })
    }

    /// Takes up a session; one of an unknown variant is ignored.
    pub fn session(&mut self, row: &HouseholdSession) {
        let top = self.population.media.rungs.last().map_or(0, |rung| rung.0);
        if let Some(measured) = self.of(&row.variant, row.household) {
            measured.set_value(row, top as f64);
        }
        self.collected.session(row);
    }

    /// Takes up a neighbour; one of an unknown variant is ignored.
    pub fn neighbour(&mut self, row: &HouseholdNeighbour) {
        if let Some(measured) = self.of(&row.variant, row.household) {
            measured.set_time(row);
        }
    }

    fn of(&mut self, variant: &str, household: u64) -> Option<&mut Measured> {
        let place = self.variants.iter().position(|known| known.name == variant)?;
        Some(self.measured[place].entry(household).or_default())
    }

    /// Ends a round whose sessions have been taken up: before the last one, the worse half of the candidates is dropped.
    pub fn end_round(&mut self) {
        self.done += 1;
        if self.done < self.rounds.len() {
            let keep = self.left.len().div_ceil(2);
            self.sort_left();
            self.left.truncate(keep);
            self.left.sort_unstable();
        } else {
            self.sort_left();
        }
    }

    /// The best first.
    fn sort_left(&mut self) {
        let of = |place: &usize| score(&self.measured[0], &self.measured[*place], self.tuning.harm_weight);
        let mut scored: Vec<(f64, usize)> = self.left.iter().map(|place| (of(place), *place)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.left = scored.into_iter().map(|(_, place)| place).collect();
    }

    /// Sessions of this and later rounds.
    #[must_use]
    pub fn sessions(&self) -> u64 {
        let mut candidates = self.left.len() as u64;
        let mut before = self.done.checked_sub(1).map_or(0, |before| self.rounds[before]);
        let mut sessions = 0;
        for until in &self.rounds[self.done.min(self.rounds.len())..] {
            sessions += (1 + candidates) * (until - before);
            (before, candidates) = (*until, candidates.div_ceil(2));
        }
        sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_double_households_until_few_candidates_are_left() {
        assert_eq!(rounds(28, 1_000, false), [125, 250, 500, 1_000]);
        assert_eq!(rounds(28, 1_000, true), [1_000]);
        assert_eq!(rounds(4, 1_000, false), [1_000]);
        assert_eq!(rounds(100, 40, false), [20, 40]);
        assert_eq!(rounds(100, 20, false), [20]);
    }

    #[test]
    fn a_factor_leaves_the_pace_as_it_is_asked_for() {
        let of = |text: &str| factor(text.parse().expect(text));
        assert_eq!(
            [of("top:1.5"), of("top:0.8"), of("sammy:4,2"), of("rung:3")],
            [1.5, 1.0, 2.0, 1.0]
        );
    }
}
