//! Households in virtual time, kept row by row: a population, or a grid over it, begun, resumed, and merged from shards.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weir_measure::{Sink, Stop};
use weir_net::host::HostFacts;
use weir_population::{
    Collected, Grid, GridSummary, Measured, Plan, Population, Shard, Summary, named, play_all, play_some,
    populations,
};
use weir_results::{Outcome, Record, Run, RunId, Store};

use super::household_rows::{Rows, progress};
use super::{Failure, measured, scenario_text};
use crate::args::{GlobalOptions, HouseholdOptions, RunIn, RunName};
use crate::commands::output::say;
use crate::commands::result::StoredResult;
use crate::commands::run_store::{Ended, OpenRun, RunStore, find, json as stored, new_run};
use crate::commands::tables;
use crate::units::format_duration;
use weir_units::count_of;

const POPULATION: &str = "population";
const GRID: &str = "grid";
const KINDS: [&str; 2] = [POPULATION, GRID];

/// Whether runs of this kind consist of households that can be merged.
pub fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Names of the built-in populations.
pub fn known() -> Vec<&'static str> {
    populations().map(|(name, _)| name).collect()
}

/// The text of a population, by its name or file.
pub fn text(name: &str) -> Result<String, Failure> {
    match named(name) {
        Some(text) => Ok(text.to_owned()),
        None => scenario_text::read(name, &known()),
    }
}

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
    /// None: the variants of the file are played.
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<Grid>,
    #[serde(default, skip_serializing_if = "is_nothing")]
    measured: Measured,
}

/// Whether nothing was measured.
pub fn is_nothing(measured: &Measured) -> bool {
    *measured == Measured::default()
}

impl Parameters {
    fn kind(&self) -> &'static str {
        match self.grid {
            None => POPULATION,
            Some(_) => GRID,
        }
    }

    fn parsed(&self) -> Result<Population, Failure> {
        let population = Population::parse(&self.inputs, &self.population);
        let population = population.and_then(|population| self.measured.over(population));
        let population = population.and_then(|population| match &self.grid {
            None => Ok(population),
            Some(grid) => grid.over(population),
        });
        population.map_err(|error| Failure::usage(error.to_string()))
    }

    fn result(&self, population: &Population, collected: &Collected) -> Found {
        match &self.grid {
            None => Found::Population(collected.summary(population)),
            Some(grid) => Found::Grid(GridSummary::new(grid, population, collected)),
        }
    }

    fn plan(&self, options: &HouseholdOptions, unix_ns: u64) -> Result<Plan, Failure> {
        let plan = Plan {
            households: self.households,
            seed: self.seed,
            shard: Shard {
                number: self.shard.0,
                of: self.shard.1,
            },
            done: 0,
            threads: options.threads(),
            unix_ns,
        };
        if plan.count() > 0 {
            return Ok(plan);
        }
        Err(Failure::usage(format!(
            "shard {}/{} of {} households has none; use at most {0} shards",
            self.shard.0, self.shard.1, self.households
        )))
    }
}

/// What households came to.
#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    Population(Summary),
    Grid(GridSummary),
}

impl Found {
    fn unfinished(&self) -> u64 {
        match self {
            Found::Population(summary) => summary.unfinished,
            Found::Grid(summary) => summary.unfinished,
        }
    }

    fn table(&self, verbose: bool) -> String {
        match self {
            Found::Population(summary) => tables::population(summary, verbose),
            Found::Grid(summary) => tables::grid(summary, verbose),
        }
    }
}

/// Plays a population, by its name or file, or a grid over it. Of a grid, `most_sessions` are what it may consist of.
pub fn begin(
    name: &str,
    options: &HouseholdOptions,
    grid: Option<(Grid, u64)>,
    global: &GlobalOptions,
    stop: &Stop,
) -> Result<(), Failure> {
    let inputs = text(name)?;
    let (grid, most_sessions) = grid.unzip();
    let mut parameters = Parameters {
        population: name.to_owned(),
        inputs,
        households: 0,
        seed: options.seed,
        shard: (options.shard.number, options.shard.of),
        grid,
        measured: measured::measured(&options.measured, global)?,
    };
    let population = parameters.parsed()?;
    parameters.households = options.households.unwrap_or(population.households);
    let new = new_run(parameters.kind(), name, &parameters, &HostFacts::read(None));
    let plan = parameters.plan(options, new.started_unix_ns)?;
    if let Some(most) = most_sessions {
        let (cells, households) = (population.variants.len() as u64, plan.count());
        let what = format!(
            "{} x {}",
            count_of(cells, "cell"),
            count_of(households, "household")
        );
        let sessions = (plan.sessions(&population), most);
        announce(&what, sessions, (&population, &plan), global)?;
    }
    let store = RunStore::open(&global.db)?;
    let run = store.begin(&new, parameters.kind(), global.quiet)?;
    let playing = Playing {
        parameters: &parameters,
        population: &population,
        plan,
        before: Rows::default(),
    };
    playing.play(&store, run, global, stop)
}

/// Reports what is played, so many sessions, and about how long they take; refuses more than `most`.
pub fn announce(
    what: &str,
    (sessions, most): (u64, u64),
    (population, plan): (&Population, &Plan),
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let began = Instant::now();
    let share = play_some(population, plan).map_err(|error| Failure::environment(error.to_string()))?;
    let of_all = sessions as f64 / plan.sessions(population) as f64;
    let seconds = began.elapsed().as_secs_f64() / share * of_all / plan.threads as f64;
    let line = format!(
        "{what} = {}, about {} on {}",
        count_of(sessions, "session"),
        format_duration((seconds * 1e9) as u64),
        count_of(plan.threads as u64, "thread")
    );
    if sessions > most {
        return Err(Failure::usage(format!(
            "{line}: more than --max-sessions {most}; take fewer --households, or allow more"
        )));
    }
    if !global.quiet {
        say(&line);
    }
    Ok(())
}

/// An interrupted run of one of these kinds, and where it is.
pub fn interrupted(store: &RunStore, name: RunName, kinds: &[&str]) -> Result<(Run, String), Failure> {
    let run = store.store().run(find(store.store(), name)?)?;
    let place = format!("run {} of {}", run.id, store.path().display());
    match run.outcome {
        _ if !kinds.contains(&run.kind.as_str()) => Err(Failure::usage(format!(
            "{place} is of kind {}; only runs of kind {} can be continued here",
            run.kind,
            kinds.join(" or ")
        ))),
        Outcome::Finished => Err(Failure::usage(format!("{place} is finished"))),
        Outcome::Running => Err(Failure::usage(format!(
            "{place} is being recorded by another process"
        ))),
        Outcome::Interrupted | Outcome::Failed => Ok((run, place)),
    }
}

/// Continues an interrupted run of a population or of a grid.
pub fn resume(
    name: RunName,
    options: &HouseholdOptions,
    global: &GlobalOptions,
    stop: &Stop,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let (run, place) = interrupted(&store, name, &KINDS)?;
    let parameters: Parameters = parameters(&run, &place)?;
    let population = parameters.parsed()?;
    let before = Rows::read(store.store(), &run)?;
    let plan = Plan {
        done: before.whole(0, population.variants.len()),
        ..parameters.plan(options, run.started_unix_ns)?
    };
    let open = store.resume(run.id, parameters.kind(), global.quiet)?;
    let playing = Playing {
        parameters: &parameters,
        population: &population,
        plan,
        before,
    };
    playing.play(&store, open, global, stop)
}

/// What was asked for.
pub fn parameters<T: DeserializeOwned>(run: &Run, place: &str) -> Result<T, Failure> {
    serde_json::from_value(run.parameters.clone()).map_err(|error| {
        Failure::usage(format!(
            "the parameters of {place} are not those of a {}: {error}",
            run.kind
        ))
    })
}

/// A run of households.
struct Playing<'a> {
    parameters: &'a Parameters,
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
        let (mut played, whole) = (0.0, (self.plan.count() - self.plan.done) as f64);
        let made = play_all(self.population, &self.plan, &|| stop.is_set(), |variants| {
            self.before
                .go_on(variants, &run, |row| take_up(&mut collected, row));
            played += 1.0;
            run.progress(progress(began, played / whole));
        });
        let end = Ended::of(&made, stop);
        let (id, outcome) = (run.id(), end.outcome());
        let found = self.parameters.result(self.population, &collected);
        let kept = run.finish(&end, &stored(&found))?;
        made.map_err(|error| Failure::environment(error.to_string()))?;
        let shown = Shown {
            kind: self.parameters.kind(),
            run: (id, outcome),
            notes: kept.notes(),
        };
        shown.show(store, &found, global)
    }
}

fn take_up(collected: &mut Collected, row: &Record) {
    match row {
        Record::HouseholdSession(row) => collected.session(row),
        Record::HouseholdNeighbour(row) => collected.neighbour(row),
        _ => {}
    }
}

/// A run that has ended.
struct Shown {
    kind: &'static str,
    run: (RunId, Outcome),
    notes: Vec<String>,
}

impl Shown {
    fn show(mut self, store: &RunStore, found: &Found, global: &GlobalOptions) -> Result<(), Failure> {
        let (run, outcome) = self.run;
        if found.unfinished() > 0 {
            self.notes.push(format!(
                "{} not played to the end of the title within three times its length",
                count_of(found.unfinished(), "session")
            ));
        }
        if outcome == Outcome::Interrupted {
            self.notes.push(format!(
                "'weir lab {} --resume {run}' continues the run",
                self.kind
            ));
        }
        StoredResult::new(store, run, self.kind, outcome, &self.notes)
            .print(global.json, found, || found.table(global.verbose > 0))
    }
}

/// Merges shards of a population or of a grid: all of their households, none of which may be there twice.
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
    let population = parameters.parsed()?;
    let store = RunStore::open(&global.db)?;
    let mut new = new_run(
        parameters.kind(),
        &parameters.population,
        &parameters,
        &HostFacts::read(None),
    );
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
    let found = parameters.result(&population, &collected);
    let kept = run.finish(&Ended::finished(), &stored(&found))?;
    let mut notes = kept.notes();
    if missing > 0 {
        notes.push(format!(
            "{missing} of {} households are missing",
            parameters.households
        ));
    }
    let shown = Shown {
        kind: parameters.kind(),
        run: (id, Outcome::Finished),
        notes,
    };
    shown.show(&store, &found, global)
}

/// The rows of a run, which must be of the same population as those before it; and the earliest start.
fn of_shard(
    store: &Store,
    run: &Run,
    place: &str,
    common: &mut Option<(Parameters, u64)>,
) -> Result<Rows, Failure> {
    if !is_kind(&run.kind) {
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
                "{place} is of another population, grid, seed or number of households than the first run"
            )));
        }
        Some((_, began_unix_ns)) => *began_unix_ns = run.started_unix_ns.min(*began_unix_ns),
    }
    Rows::read(store, run)
}
