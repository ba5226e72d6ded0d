//! `weir mesh sweep`: finds and removes leftovers of killed runs and launches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::args::{GlobalOptions, SweepArgs};
use serde_json::{Value, json};
use weir_mesh::cloud::leftovers::Leftover;
use weir_mesh::cloud::record::Record;
use weir_mesh::engine::Engine;
use weir_mesh::held::now_unix_s;
use weir_mesh::launch::{Machines, Removed};
use weir_mesh::place::Places;
use weir_mesh::run::threads::{PREPARED_AT_ONCE, Presses};
use weir_mesh::ssh::{Caller, on_all, sweep as sweep_host};
use weir_mesh::state::RunFolder;

use super::super::Failure;
use super::super::output::{print, say};
use super::launches::{Look, find, looks, state_folder};
use super::plan;
use super::run::has_ssh;
use super::status::tagged_json;

/// Number of places of a launch that the engine removes concurrently.
const REMOVED_AT_ONCE: usize = 4;

/// Removals and failures.
#[derive(Default)]
struct Swept {
    /// Folders on hosts.
    removed: Vec<Value>,
    /// Launches found by their records.
    launches: Vec<Value>,
    /// Resources found by their tags.
    tagged: Vec<Value>,
    notes: Vec<String>,
    failed: Vec<String>,
}

/// Removes leftovers.
pub fn run(args: &SweepArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = super::presses::watch()?;
    let mut swept = Swept::default();
    let looks = looks(&args.tagged, &presses.kill)?;
    if let Some(hosts) = &args.hosts {
        swept.sweep_hosts(hosts, args, &presses)?;
    }
    let which = Which {
        state: args.tagged.state.as_deref(),
        only: args.launch.as_deref(),
        list: args.list,
    };
    let alive = swept.sweep_launches(which, &presses, global)?;
    swept.sweep_tagged(args, &looks, &alive, &presses);
    swept.tell(global)
}

/// Removes the machines of launches whose process is gone, by the records in this folder; returns the launches.
pub fn finish_launches(state: Option<&Path>, global: &GlobalOptions) -> Result<Vec<Value>, Failure> {
    let mut swept = Swept::default();
    if state.is_none() && state_folder(None).is_err() {
        // A user without a home has launched nothing.
        return Ok(Vec::new());
    }
    let which = Which {
        state,
        only: None,
        list: false,
    };
    swept.sweep_launches(which, &Presses::default(), global)?;
    swept.failure()?;
    swept.launches.retain(|launch| word(launch, "outcome") != HELD);
    Ok(swept.launches)
}

/// Outcome of a launch whose process runs.
const HELD: &str = "held";

/// Launches to finish.
#[derive(Clone, Copy)]
struct Which<'w> {
    /// Folder of the launch records.
    state: Option<&'w Path>,
    /// This one alone.
    only: Option<&'w str>,
    /// Only say what would be removed.
    list: bool,
}

impl Which<'_> {
    fn has(&self, run: &str) -> bool {
        self.only.is_none_or(|only| only == run)
    }
}

impl Swept {
    /// Stops agents on hosts and removes their folders.
    fn sweep_hosts(&mut self, file: &Path, args: &SweepArgs, presses: &Presses) -> Result<(), Failure> {
        has_ssh(&args.ssh)?;
        let hosts = plan::hosts_of(file, None, Places::known())?;
        if args.list {
            self.notes
                .push("--list omits folders on hosts, which are found and removed in one step".into());
            return Ok(());
        }
        let numbers: Vec<usize> = (0..hosts.len()).collect();
        let caller = Caller {
            ssh: &args.ssh,
            kill: &presses.kill,
        };
        let swept = on_all(&numbers, PREPARED_AT_ONCE, |host| {
            sweep_host(&hosts[host], caller)
        });
        for (host, result) in swept {
            match result {
                Ok(folders) => self.removed.extend(
                    folders
                        .into_iter()
                        .map(|folder| json!({ "host": hosts[host].name, "folder": folder })),
                ),
                Err(fault) => self.failed.push(fault.message),
            }
        }
        Ok(())
    }

    /// Finishes launches whose process is gone; returns those whose process runs.
    fn sweep_launches(
        &mut self,
        which: Which<'_>,
        presses: &Presses,
        global: &GlobalOptions,
    ) -> Result<BTreeSet<String>, Failure> {
        let mut alive = BTreeSet::new();
        let state = state_folder(which.state)?;
        self.sweep_unrecorded(which, state.unrecorded()?)?;
        for mut folder in state.runs()? {
            let record = match folder.record() {
                Ok(record) => record,
                Err(error) => {
                    self.failed.push(error.to_string());
                    continue;
                }
            };
            let run = record.run.clone();
            if !which.has(&run) {
                continue;
            }
            if !folder.try_lock()? {
                self.launches.push(launch_json(&record, HELD));
                alive.insert(run);
            } else if which.list {
                self.launches.push(launch_json(&record, "left"));
            } else {
                self.finish(folder, record, presses, global)?;
            }
        }
        Ok(alive)
    }

    /// Removes the folders of launches that have nothing else, unless they are just beginning.
    fn sweep_unrecorded(&mut self, which: Which<'_>, folders: Vec<RunFolder>) -> Result<(), Failure> {
        for mut folder in folders {
            let run = folder
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if !which.has(&run) || !folder.try_lock()? {
                continue;
            }
            // It may have got its record, machines and its end since it was looked for.
            if folder.is_recorded() {
                continue;
            }
            if !which.list {
                folder.remove()?;
            }
            let outcome = if which.list { "left" } else { "removed" };
            self.launches
                .push(json!({ "launch": run, "outcome": outcome, "places": [] }));
        }
        Ok(())
    }

    /// Removes a launch by its record.
    fn finish(
        &mut self,
        folder: RunFolder,
        record: Record,
        presses: &Presses,
        global: &GlobalOptions,
    ) -> Result<(), Failure> {
        let mut engine = Engine {
            program: PathBuf::from(&record.engine),
        };
        if !engine.program.is_file() {
            engine = Engine::find(std::env::var_os("PATH").as_deref())
                .map_err(|error| Failure::environment(error.to_string()))?;
        }
        let quiet = global.quiet;
        let tell = Box::new(move |text: &str| {
            if !quiet {
                say(&format!("weir: {text}"));
            }
        });
        let run = record.run.clone();
        let machines = Machines::new(
            engine,
            folder,
            record.clone(),
            REMOVED_AT_ONCE,
            presses.count.clone(),
            tell,
        );
        let Removed {
            places,
            tagged,
            failed,
            notes,
            is_clean,
        } = machines.remove(&now_unix_s)?;
        let outcome = if is_clean { "removed" } else { "left" };
        self.launches.push(launch_json(&record, outcome));
        self.tagged
            .extend(tagged.iter().map(|leftover| with_outcome(&run, leftover, true)));
        self.failed.extend(failed);
        for place in places.iter().filter(|place| place.phase.may_live()) {
            let problem = place.problem.as_deref().unwrap_or_default();
            self.failed.push(format!("{}: {problem}", place.place));
        }
        self.notes.extend(notes);
        Ok(())
    }

    /// Removes tagged resources past their deadline, or as the user requests.
    fn sweep_tagged(
        &mut self,
        args: &SweepArgs,
        looks: &[Look],
        alive: &BTreeSet<String>,
        presses: &Presses,
    ) {
        let now = now_unix_s();
        let (found, failed) = find(looks, &presses.kill);
        self.failed.extend(failed);
        let is_wanted = |leftover: &Leftover| match &args.launch {
            Some(only) => leftover.run == *only,
            None => args.all || leftover.is_due(now),
        };
        let mut early = 0;
        for (number, look) in looks.iter().enumerate() {
            let here: Vec<Leftover> = found
                .iter()
                .filter(|(of, leftover)| *of == number && !alive.contains(&leftover.run))
                .map(|(_, leftover)| leftover.clone())
                .collect();
            let (wanted, others): (Vec<Leftover>, Vec<Leftover>) = here.into_iter().partition(is_wanted);
            early += others.len();
            let stuck = if args.list {
                Vec::new()
            } else {
                look.account.remove(&wanted, &presses.kill)
            };
            for leftover in wanted.iter().chain(&others) {
                let is_stuck = stuck.iter().any(|(other, _)| other == leftover);
                let is_removed = !args.list && !is_stuck && wanted.contains(leftover);
                self.tagged.push(with_outcome(&look.name, leftover, is_removed));
            }
            for (leftover, reason) in stuck {
                self.failed.push(format!(
                    "{}: {} {}: {reason}",
                    look.name, leftover.kind, leftover.id
                ));
            }
        }
        if early > 0 && args.launch.is_none() {
            self.notes.push(format!(
                "{early} tagged resources are of launches before their deadline; remove them with --launch NAME or --all"
            ));
        }
    }

    /// Reports the removals.
    fn tell(&self, global: &GlobalOptions) -> Result<(), Failure> {
        if global.json {
            let object = json!({
                "removed": self.removed,
                "launches": self.launches,
                "tagged": self.tagged,
                "notes": self.notes,
                "failed": self.failed,
            });
            print(&format!("{object}\n"))?;
        } else if !global.quiet {
            let mut text = String::new();
            for one in &self.launches {
                text.push_str(&format!(
                    "launch {}: {}\n",
                    word(one, "launch"),
                    word(one, "outcome")
                ));
            }
            for one in &self.tagged {
                let outcome = if one["removed"] == true { "removed" } else { "left" };
                text.push_str(&format!(
                    "{} {} {} of launch {}: {outcome}\n",
                    word(one, "place"),
                    word(one, "kind"),
                    word(one, "id"),
                    word(one, "launch")
                ));
            }
            for note in &self.notes {
                text.push_str(&format!("note: {note}\n"));
            }
            text.push_str(&format!(
                "{} launches, {} tagged resources, {} folders on hosts\n",
                self.launches.len(),
                self.tagged.len(),
                self.removed.len()
            ));
            print(&text)?;
        }
        self.failure()
    }

    /// What could not be removed.
    fn failure(&self) -> Result<(), Failure> {
        match self.failed.first() {
            None => Ok(()),
            Some(first) => Err(Failure::environment(format!(
                "{} could not be removed: {first}",
                self.failed.len()
            ))),
        }
    }
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn launch_json(record: &Record, outcome: &str) -> Value {
    let places: Vec<String> = record
        .places
        .iter()
        .filter(|place| place.phase.may_live())
        .map(|place| place.place.to_string())
        .collect();
    json!({ "launch": record.run, "outcome": outcome, "places": places })
}

fn with_outcome(place: &str, leftover: &Leftover, removed: bool) -> Value {
    let mut object = tagged_json(place, leftover);
    object["removed"] = removed.into();
    object
}
