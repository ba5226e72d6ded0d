//! `weir lab tune`: candidates for a pace over the same households, kept row by row.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use weir_measure::{Sink, Stop};
use weir_net::host::HostFacts;
use weir_population::{
    Measured, Plan, Population, PopulationError, Round, Shard, Tuner, Tuning, pace_list, play_all,
};
use weir_results::{Outcome, Record, Run};

use super::household_rows::{Rows, progress};
use super::{Failure, households, measured};
use crate::args::{GlobalOptions, LabTuneArgs};
use crate::commands::result::StoredResult;
use crate::commands::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use crate::commands::signals::stop_on_signals;
use crate::commands::tables;
use crate::units::format_count;

pub const KIND: &str = "tune";

/// What was asked for: enough to continue the run.
#[derive(Debug, Serialize, Deserialize)]
struct Parameters {
    population: String,
    /// Text of the file.
    inputs: String,
    households: u64,
    seed: u64,
    tuning: Tuning,
    #[serde(default, skip_serializing_if = "households::is_nothing")]
    measured: Measured,
}

/// Searches, or continues a search.
pub fn run(args: &LabTuneArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    match (&args.population, args.resume) {
        (_, Some(run)) => {
            let store = RunStore::open(&global.db)?;
            let (run, place) = households::interrupted(&store, run, &[KIND])?;
            let parameters: Parameters = households::parameters(&run, &place)?;
            let mut search = Search::new(&parameters, args, run.started_unix_ns)?;
            search.before = Rows::read(store.store(), &run)?;
            let open = store.resume(run.id, KIND, global.quiet)?;
            search.go(&store, open, global, &stop)
        }
        (Some(name), None) => begin(name, args, global, &stop),
        (None, None) => Err(Failure::usage("name a population, or a file")),
    }
}

fn begin(name: &str, args: &LabTuneArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let mut parameters = Parameters {
        population: name.to_owned(),
        inputs: households::text(name)?,
        households: 0,
        seed: args.seed,
        tuning: Tuning {
            paces: pace_list(&args.paces),
            bursts: args.bursts.clone(),
            harm_weight: args.harm_weight,
            exhaustive: args.exhaustive,
        },
        measured: measured::measured(&args.measured, global)?,
    };
    let usual = parameters.parsed()?.households;
    parameters.households = args.households.unwrap_or(usual);
    let new = new_run(KIND, name, &parameters, &HostFacts::read(None));
    let search = Search::new(&parameters, args, new.started_unix_ns)?;
    if let Some(round) = search.tuner.round() {
        let what = format!(
            "{} candidates, the last with {} households",
            format_count(round.variants.len() as u64 - 1),
            format_count(parameters.households)
        );
        let first = (&search.tuner.population(&round), &search.plan(&round));
        let sessions = (search.tuner.sessions(), args.max_sessions);
        households::announce(&what, sessions, first, global)?;
    }
    let store = RunStore::open(&global.db)?;
    let run = store.begin(&new, KIND, global.quiet)?;
    search.go(&store, run, global, stop)
}

/// The population of a search.
pub fn population(run: &Run, place: &str) -> Result<Population, Failure> {
    households::parameters::<Parameters>(run, place)?.parsed()
}

impl Parameters {
    fn parsed(&self) -> Result<Population, Failure> {
        let population = Population::parse(&self.inputs, &self.population);
        let population = population.and_then(|population| self.measured.over(population));
        population.map_err(|error| Failure::usage(error.to_string()))
    }
}

/// A search in progress.
struct Search {
    tuner: Tuner,
    seed: u64,
    threads: usize,
    unix_ns: u64,
    /// What was played before an interruption.
    before: Rows,
}

impl Search {
    fn new(parameters: &Parameters, args: &LabTuneArgs, unix_ns: u64) -> Result<Self, Failure> {
        let tuner = parameters
            .tuning
            .begin(parameters.parsed()?, parameters.households);
        Ok(Search {
            tuner: tuner.map_err(|error| Failure::usage(error.to_string()))?,
            seed: parameters.seed,
            threads: args.threads(),
            unix_ns,
            before: Rows::default(),
        })
    }

    fn plan(&self, round: &Round) -> Plan {
        Plan {
            households: round.until,
            seed: self.seed,
            shard: Shard::default(),
            done: round.from,
            threads: self.threads,
            unix_ns: self.unix_ns,
        }
    }

    fn go(
        mut self,
        store: &RunStore,
        run: OpenRun<'_>,
        global: &GlobalOptions,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let made = self.rounds(&run, stop);
        let end = Ended::of(&made, stop);
        let (id, outcome) = (run.id(), end.outcome());
        let summary = self.tuner.summary();
        let kept = run.finish(&end, &stored(&summary))?;
        made.map_err(|error| Failure::environment(error.to_string()))?;
        let mut notes = kept.notes();
        if outcome == Outcome::Interrupted {
            notes.push(format!("'weir lab tune --resume {id}' continues the run"));
        }
        StoredResult::new(store, id, KIND, outcome, &notes).print(global.json, &summary, || {
            tables::tune(&summary, global.verbose > 0)
        })
    }

    fn rounds(&mut self, run: &OpenRun<'_>, stop: &Stop) -> Result<(), PopulationError> {
        let began = Instant::now();
        let whole = self.tuner.sessions();
        let mut played = 0;
        while let Some(round) = self.tuner.round() {
            let (population, mut plan) = (self.tuner.population(&round), self.plan(&round));
            let there = self.before.whole(round.from, round.variants.len());
            plan.done = (round.from + there).min(round.until);
            for rows in self.before.0.range(round.from..plan.done).map(|(_, rows)| rows) {
                rows.iter().for_each(|row| take_up(&mut self.tuner, row));
            }
            played += (plan.done - round.from) * round.variants.len() as u64;
            play_all(&population, &plan, &|| stop.is_set(), |variants| {
                played += variants.len() as u64;
                self.before
                    .go_on(variants, run, |row| take_up(&mut self.tuner, row));
                run.progress(progress(began, played as f64 / whole as f64));
            })?;
            if stop.is_set() {
                return Ok(());
            }
            self.tuner.end_round();
        }
        Ok(())
    }
}

fn take_up(tuner: &mut Tuner, row: &Record) {
    match row {
        Record::HouseholdSession(row) => tuner.session(row),
        Record::HouseholdNeighbour(row) => tuner.neighbour(row),
        _ => {}
    }
}
