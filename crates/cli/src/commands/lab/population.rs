//! `weir lab population`: households in virtual time, kept row by row, and `weir runs merge` of their shards.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use weir_measure::{Progress, Sink, Stop};
use weir_net::host::HostFacts;
use weir_population::{Collected, Plan, Played, Population, Shard, Summary, named, play_all, populations};
use weir_results::{HouseholdNeighbour, Outcome, Record, Run, Store, StoreError, Table};

use super::{Failure, scenario_text};
use crate::args::{GlobalOptions, LabPopulationArgs, RunIn, RunName};
use crate::commands::result::StoredResult;
use crate::commands::run_store::{Ended, OpenRun, RunStore, find, json as stored, new_run};
use crate::commands::tables;
use crate::dispatch::stop_on_signals;

const KIND: &str = "population";

/// What was asked for: enough to continue the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parameters {
    population: String,
    /// Text of the file.
    inputs: String,
    households: u64,
    seed: u64,
    /// From 1, and how many there are; 1 of 1 for merged shards.
    shard: (u64, u64),
}

/// Lists, prints or plays populations.
pub fn run(args: &LabPopulationArgs, global: &GlobalOptions) -> Result<(), Failure> {
    if args.list {
        return scenario_text::list(populations(), global);
    }
    if let Some(name) = &args.show {
        return match named(name) {
            Some(text) => scenario_text::show(name, text, global),
            None => Err(scenario_text::unknown(name, &known())),
        };
    }
    let stop = stop_on_signals()?;
    match (&args.population, args.resume) {
        (_, Some(run)) => resume(run, args, global, &stop),
        (Some(name), None) => begin(name, args, global, &stop),
        (None, None) => Err(Failure::usage("name a population, or a file")),
    }
}

fn known() -> Vec<&'static str> {
    populations().map(|(name, _)| name).collect()
}

fn parsed(text: &str, name: &str) -> Result<Population, Failure> {
    Population::parse(text, name).map_err(|error| Failure::usage(error.to_string()))
}

fn begin(name: &str, args: &LabPopulationArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let text = match named(name) {
        Some(text) => text.to_owned(),
        None => scenario_text::read(name, &known())?,
    };
    let population = parsed(&text, name)?;
    let parameters = Parameters {
        population: name.to_owned(),
        inputs: text,
        households: args.households.unwrap_or(population.households),
        seed: args.seed,
        shard: (args.shard.number, args.shard.of),
    };
    let new = new_run(KIND, name, &parameters, &HostFacts::read(None));
    let plan = plan(&parameters, args, new.started_unix_ns)?;
    let store = RunStore::open(&global.db)?;
    let run = store.begin(&new, KIND, global.quiet)?;
    let playing = Playing {
        population: &population,
        plan,
        before: Rows::default(),
    };
    playing.play(&store, run, global, stop)
}

fn plan(parameters: &Parameters, args: &LabPopulationArgs, unix_ns: u64) -> Result<Plan, Failure> {
    let plan = Plan {
        households: parameters.households,
        seed: parameters.seed,
        shard: Shard {
            number: parameters.shard.0,
            of: parameters.shard.1,
        },
        done: 0,
        threads: match args.threads {
            Some(threads) => usize::from(threads),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        },
        unix_ns,
    };
    if plan.count() > 0 {
        return Ok(plan);
    }
    Err(Failure::usage(format!(
        "shard {}/{} of {} households has none; use at most {0} shards",
        parameters.shard.0, parameters.shard.1, parameters.households
    )))
}

fn resume(
    name: RunName,
    args: &LabPopulationArgs,
    global: &GlobalOptions,
    stop: &Stop,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let run = store.store().run(find(store.store(), name)?)?;
    let place = format!("run {} of {}", run.id, store.path().display());
    match run.outcome {
        _ if run.kind != KIND => {
            return Err(Failure::usage(format!(
                "{place} is of kind {}; only runs of kind {KIND} can be continued here",
                run.kind
            )));
        }
        Outcome::Finished => return Err(Failure::usage(format!("{place} is finished"))),
        Outcome::Running => {
            return Err(Failure::usage(format!(
                "{place} is being recorded by another process"
            )));
        }
        Outcome::Interrupted | Outcome::Failed => {}
    }
    let parameters = parameters(&run, &place)?;
    let population = parsed(&parameters.inputs, &parameters.population)?;
    let before = Rows::read(store.store(), &run)?;
    let plan = Plan {
        done: before.whole(&population),
        ..plan(&parameters, args, run.started_unix_ns)?
    };
    let open = store.resume(run.id, KIND, global.quiet)?;
    let playing = Playing {
        population: &population,
        plan,
        before,
    };
    playing.play(&store, open, global, stop)
}

fn parameters(run: &Run, place: &str) -> Result<Parameters, Failure> {
    serde_json::from_value(run.parameters.clone()).map_err(|error| {
        Failure::usage(format!(
            "the parameters of {place} are not those of a population: {error}"
        ))
    })
}

/// Rows of a run, by household; neighbours before sessions, variants in their order.
#[derive(Default)]
struct Rows(BTreeMap<u64, Vec<Record>>);

fn household(record: &Record) -> Option<u64> {
    match record {
        Record::HouseholdSession(row) => Some(row.household),
        Record::HouseholdNeighbour(row) => Some(row.household),
        _ => None,
    }
}

impl Rows {
    fn read(store: &Store, run: &Run) -> Result<Self, Failure> {
        let mut rows = Rows::default();
        for table in [Table::HouseholdNeighbours, Table::HouseholdSessions] {
            store.each_record::<StoreError>(run.id, table, |record| {
                if let Some(household) = household(&record) {
                    rows.0.entry(household).or_default().push(record);
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Households from the first on that have a session with every variant: the last rows that are written of each.
    fn whole(&self, population: &Population) -> u64 {
        let is_whole = |rows: &&Vec<Record>| {
            let sessions = rows
                .iter()
                .filter(|row| matches!(row, Record::HouseholdSession(_)));
            sessions.count() == population.variants.len()
        };
        self.0.values().take_while(is_whole).count() as u64
    }
}

/// The rows of a household in the order in which they are written: those that mark it as whole last.
fn rows(variants: Vec<Played>) -> impl Iterator<Item = Record> {
    let mut neighbours: Vec<HouseholdNeighbour> = Vec::new();
    let mut sessions = Vec::new();
    for played in variants {
        neighbours.extend(played.neighbours);
        sessions.push(played.session);
    }
    let neighbours = neighbours.into_iter().map(Record::HouseholdNeighbour);
    neighbours.chain(sessions.into_iter().map(Record::HouseholdSession))
}

/// A run of a population.
struct Playing<'a> {
    population: &'a Population,
    plan: Plan,
    /// What was played before an interruption.
    before: Rows,
}

impl Playing<'_> {
    fn play(
        &self,
        store: &RunStore,
        run: OpenRun<'_>,
        global: &GlobalOptions,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let mut collected = Collected::new(self.population);
        let before = self.before.0.values().take(self.plan.done as usize);
        before.flatten().for_each(|row| take_up(&mut collected, row));
        let began = Instant::now();
        let mut played = 0;
        let made = play_all(self.population, &self.plan, &|| stop.is_set(), |variants| {
            for row in rows(variants) {
                take_up(&mut collected, &row);
                // A household that was being written when the run was killed is partly there.
                let is_there = household(&row)
                    .and_then(|household| self.before.0.get(&household))
                    .is_some_and(|there| there.contains(&row));
                if !is_there {
                    run.record(row);
                }
            }
            played += 1;
            run.progress(self.progress(played, began));
        });
        let end = Ended::of(&made, stop);
        let (id, outcome) = (run.id(), end.outcome());
        let summary = collected.summary(self.population);
        let kept = run.finish(&end, &stored(&summary))?;
        made.map_err(|error| Failure::environment(error.to_string()))?;
        show(store, (id, outcome), &summary, &kept.notes(), global)
    }

    fn progress(&self, played: u64, began: Instant) -> Progress {
        let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let whole = self.plan.count() - self.plan.done;
        let total_ns = u128::from(elapsed_ns) * u128::from(whole) / u128::from(played);
        Progress {
            elapsed_ns,
            total_ns: u64::try_from(total_ns).unwrap_or(u64::MAX),
            ..Progress::default()
        }
    }
}

fn take_up(collected: &mut Collected, row: &Record) {
    match row {
        Record::HouseholdSession(row) => collected.session(row),
        Record::HouseholdNeighbour(row) => collected.neighbour(row),
        _ => {}
    }
}

fn show(
    store: &RunStore,
    (run, outcome): (weir_results::RunId, Outcome),
    summary: &Summary,
    notes: &[String],
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let mut notes = notes.to_vec();
    if summary.unfinished > 0 {
        notes.push(format!(
            "{} sessions were not played to the end of their title within three times its length",
            summary.unfinished
        ));
    }
    if outcome == Outcome::Interrupted {
        notes.push(format!("'weir lab population --resume {run}' continues the run"));
    }
    StoredResult::new(store, run, KIND, outcome, &notes).print(global.json, summary, || {
        tables::population(summary, global.verbose > 0)
    })
}

/// Merges shards of a population: all of their households, none of which may be there twice.
pub fn merge(names: &[RunIn], global: &GlobalOptions) -> Result<(), Failure> {
    let mut merged: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    let mut common: Option<(Parameters, u64)> = None;
    for name in names {
        let path = name.database.as_deref().unwrap_or(&global.db);
        let source = Store::open_read_only(path)?;
        let run = source.run(find(&source, name.run)?)?;
        let place = format!("run {} of {}", run.id, path.display());
        let rows = of_shard(&source, &run, &place, &mut common)?;
        for (household, rows) in rows.0 {
            if merged.insert(household, rows).is_some() {
                return Err(Failure::usage(format!(
                    "household {household} of {place} is in an earlier run, too; give each shard once"
                )));
            }
        }
    }
    let Some((parameters, began_unix_ns)) = common else {
        return Err(Failure::usage("name the runs to merge"));
    };
    let population = parsed(&parameters.inputs, &parameters.population)?;
    let store = RunStore::open(&global.db)?;
    let mut new = new_run(KIND, &parameters.population, &parameters, &HostFacts::read(None));
    new.started_unix_ns = began_unix_ns;
    let run = store.begin(&new, "merge", true)?;
    let id = run.id();
    let mut collected = Collected::new(&population);
    let missing = parameters.households.saturating_sub(merged.len() as u64);
    for mut row in merged.into_values().flatten() {
        match &mut row {
            Record::HouseholdSession(row) => row.unix_ns = began_unix_ns,
            Record::HouseholdNeighbour(row) => row.unix_ns = began_unix_ns,
            _ => {}
        }
        take_up(&mut collected, &row);
        run.record(row);
    }
    let summary = collected.summary(&population);
    let kept = run.finish(&Ended::finished(), &stored(&summary))?;
    let mut notes = kept.notes();
    if missing > 0 {
        notes.push(format!(
            "{missing} of {} households are missing",
            parameters.households
        ));
    }
    show(&store, (id, Outcome::Finished), &summary, &notes, global)
}

/// The rows of a run, which must be of the same population as those before it; and the earliest start.
fn of_shard(
    store: &Store,
    run: &Run,
    place: &str,
    common: &mut Option<(Parameters, u64)>,
) -> Result<Rows, Failure> {
    if run.kind != KIND {
        return Err(Failure::usage(format!(
            "{place} is of kind {}; only runs of one kind can be merged",
            run.kind
        )));
    }
    if run.outcome == Outcome::Running {
        return Err(Failure::usage(format!(
            "{place} is still being recorded; merge it when it has ended"
        )));
    }
    let found = Parameters {
        shard: (1, 1),
        ..parameters(run, place)?
    };
    match common {
        None => *common = Some((found, run.started_unix_ns)),
        Some((known, _)) if *known != found => {
            return Err(Failure::usage(format!(
                "{place} is of another population, seed or number of households than the first run"
            )));
        }
        Some((_, began_unix_ns)) => *began_unix_ns = run.started_unix_ns.min(*began_unix_ns),
    }
    Rows::read(store, run)
}
