//! Many households on several threads, given out in their order whatever the number of threads. It must not know where
//! they go.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use thiserror::Error;

use crate::PopulationError;
use crate::file::Population;
use crate::household::Household;
use crate::session::{Played, play};

/// Most shards.
const MOST_SHARDS: u64 = 100_000;
/// Households that wait to be given out, per thread.
const AHEAD: usize = 64;

/// One of several parts of a population: every `of`th household, from household `number - 1` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Default for Shard {
    fn default() -> Self {
        Shard { number: 1, of: 1 }
    }
}

/// A shard that is written wrongly.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is no shard; write K/N with K from 1 to N, such as 3/8")]
pub struct ShardError {
    text: String,
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let read = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            let is_one = (1..=MOST_SHARDS).contains(&of) && (1..=of).contains(&number);
            is_one.then_some(Shard { number, of })
        });
        read.ok_or_else(|| ShardError {
            text: text.chars().take(40).collect(),
        })
    }
}

/// What to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Households of the whole population.
    pub households: u64,
    /// Random seed.
    pub seed: u64,
    /// Which of them.
    pub shard: Shard,
    /// How many of these are there already: the first ones.
    pub done: u64,
    /// Threads.
    pub threads: usize,
    /// Start of the run, for records.
    pub unix_ns: u64,
}

impl Plan {
    /// Households of the shard.
    #[must_use]
    pub fn count(&self) -> u64 {
        let before = self.shard.number - 1;
        self.households.saturating_sub(before).div_ceil(self.shard.of)
    }

    /// Sessions of these that are not there yet.
    #[must_use]
    pub fn sessions(&self, population: &Population) -> u64 {
        (self.count() - self.done) * population.variants.len() as u64
    }

    fn household(&self, place: u64) -> u64 {
        self.shard.number - 1 + place * self.shard.of
    }
}

/// All variants of a household, or why there are none.
type Outcome = Result<Vec<Played>, PopulationError>;

/// Plays the households of a plan with each variant, and gives them out in their order, until `stopped` says so: then those
/// that are being played are given up.
///
/// # Errors
/// The first household that cannot be drawn.
pub fn play_all(
    population: &Population,
    plan: &Plan,
    stopped: &(dyn Fn() -> bool + Sync),
    mut give_out: impl FnMut(Vec<Played>),
) -> Result<(), PopulationError> {
    let threads = plan.threads.max(1);
    let next = AtomicU64::new(plan.done);
    let failed = AtomicBool::new(false);
    let ends = || failed.load(Ordering::Relaxed) || stopped();
    let (sender, receiver) = sync_channel(AHEAD * threads);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, ends) = (sender.clone(), &next, &ends);
            scope.spawn(move || work(population, plan, ends, next, &sender));
        }
        drop(sender);
        let result = in_order(plan, &receiver, &mut give_out);
        failed.store(result.is_err(), Ordering::Relaxed);
        // Threads that wait for room end.
        drop(receiver);
        result
    })
}

/// Sessions that [`play_some`] plays.
const SOME: usize = 4;
/// Households whose lengths stand for all.
const DRAWN: u64 = 200;

/// Plays a few sessions of a plan, spread over its variants, and returns the share of the plan that they are, by the length of
/// their titles: how long they take tells how long the plan takes.
///
/// # Errors
/// A household that cannot be drawn or played.
pub fn play_some(population: &Population, plan: &Plan) -> Result<f64, PopulationError> {
    let drawn = DRAWN.min(plan.count());
    let mut lengths_s = 0.0;
    let mut played_s = 0.0;
    for place in 0..drawn {
        let household = Household::draw(population, plan.seed, plan.household(place))?;
        lengths_s += household.length.as_secs_f64();
        let variants = population.variants.len();
        let number = place as usize;
        if number < SOME {
            let variant = &population.variants[number * variants / SOME % variants];
            play(&household, variant, population.grants, plan.unix_ns)?;
            played_s += household.length.as_secs_f64();
        }
    }
    let all = plan.sessions(population) as f64;
    Ok(played_s * drawn as f64 / (lengths_s * all))
}

fn work(
    population: &Population,
    plan: &Plan,
    ends: &(dyn Fn() -> bool + Sync),
    next: &AtomicU64,
    sender: &SyncSender<(u64, Outcome)>,
) {
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        if place >= plan.count() || ends() {
            return;
        }
        let household = Household::draw(population, plan.seed, plan.household(place));
        let outcome = household.and_then(|household| {
            // Of a grid, a household takes long: it is given up, and played again if the run is continued.
            let variants = population.variants.iter().take_while(|_| !ends());
            variants
                .map(|variant| play(&household, variant, population.grants, plan.unix_ns))
                .collect::<Result<Vec<_>, _>>()
        });
        if outcome
            .as_ref()
            .is_ok_and(|played| played.len() < population.variants.len())
        {
            return;
        }
        if sender.send((place, outcome)).is_err() {
            return;
        }
    }
}

fn in_order(
    plan: &Plan,
    receiver: &Receiver<(u64, Outcome)>,
    give_out: &mut impl FnMut(Vec<Played>),
) -> Result<(), PopulationError> {
    let mut waiting: BTreeMap<u64, Outcome> = BTreeMap::new();
    let mut next = plan.done;
    for (place, outcome) in receiver {
        waiting.insert(place, outcome);
        while let Some(outcome) = waiting.remove(&next) {
            give_out(outcome?);
            next += 1;
        }
    }
    Ok(())
}
