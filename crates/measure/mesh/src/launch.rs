//! Machines launched and removed: the engine called for every place, with what happens written down before it happens,
//! so that another process can finish it. It knows steps and their order, not what clouds want or what tests are made.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cloud::hosts::{MOST_BYTES, Outputs, read_output};
use crate::cloud::leftovers::Leftover;
use crate::cloud::network::Network;
use crate::cloud::record::{Phase, PlaceRecord, Record};
use crate::cloud::verdict::{EngineFailure, FailureKind};
use crate::cloud::{Launch, MOST_HOSTS};
use crate::engine::{Engine, Step};
use crate::place::PlaceName;
use crate::ssh::on_all;
use crate::state::{RunFolder, StateError};
use crate::tagged::{Account, TaggedError};
use crate::{MeshError, fault::shown};

/// What the engine's lock of providers is called.
const PROVIDERS: &str = ".terraform.lock.hcl";
/// How often removal is tried.
const TRIES: usize = 3;
const MODULE: &str = "main.tf.json";

/// Why a launch cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(#[from] MeshError),
    /// Its files.
    #[error("{0}")]
    State(#[from] StateError),
    /// A cloud takes nothing.
    #[error("{cloud}: {failure}")]
    Cloud {
        /// The cloud.
        cloud: String,
        /// What the engine said in its first place.
        failure: EngineFailure,
    },
    /// Fewer machines came up than are needed.
    #[error("only {up} of {asked} machines started, and {least} are needed: {first}")]
    TooFew {
        /// Those that are needed.
        least: usize,
        /// Those that did.
        up: usize,
        /// Those that were asked for.
        asked: usize,
        /// What went wrong first.
        first: String,
    },
    /// Ctrl-C.
    #[error("interrupted while launching machines")]
    Interrupted,
    /// Keys, waiting, or the removal, in a sentence.
    #[error("{0}")]
    Failed(String),
}

/// A launch that this process looks after, until [`Machines::remove`].
pub struct Machines {
    engine: Engine,
    folder: RunFolder,
    record: Mutex<Record>,
    /// Places at the same time: a provider's process takes some 700 MB.
    at_once: usize,
    /// How often Ctrl-C was pressed.
    presses: Arc<AtomicUsize>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Machines {
    /// Of this launch, whose folder is locked.
    pub fn new(
        engine: Engine,
        folder: RunFolder,
        record: Record,
        at_once: usize,
        presses: Arc<AtomicUsize>,
        tell: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Machines {
        Machines {
            engine,
            folder,
            record: Mutex::new(record),
            at_once: at_once.max(1),
            presses,
            tell,
        }
    }

    /// How everything stands.
    pub fn record(&self) -> Record {
        self.locked().clone()
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Writes a file beside its record.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, StateError> {
        self.folder.write(name, text)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Record> {
        // A thread that broke off has left a whole record.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a place's record, and keeps it.
    fn change(&self, place: usize, change: impl FnOnce(&mut PlaceRecord)) -> Result<(), StateError> {
        let mut record = self.locked();
        change(&mut record.places[place]);
        self.folder.keep(&record)
    }

    fn place(&self, place: usize) -> PlaceName {
        self.locked().places[place].place.clone()
    }

    fn places(&self) -> Vec<usize> {
        (0..self.locked().places.len()).collect()
    }

    fn is_interrupted(&self) -> bool {
        self.presses.load(Ordering::Relaxed) > 0
    }

    /// What places of a cloud share: its provider.
    fn data(&self, cloud: &str) -> PathBuf {
        let cloud = if cloud.is_empty() { "own" } else { cloud };
        self.folder.path.join(format!("provider-{cloud}"))
    }

    fn step(
        &self,
        step: Step,
        place: &PlaceName,
        presses: Option<&AtomicUsize>,
    ) -> Result<(), EngineFailure> {
        let folder = self.folder.path.join(crate::cloud::folder_name(place));
        let cloud = if self.locked().own.is_some() {
            ""
        } else {
            &place.cloud
        };
        let done = self.engine.run(step, &folder, &self.data(cloud), cloud, presses);
        done.map_err(|failure| failure.at(place))
    }

    /// Writes the modules, gets the providers, and has the engine see whether each place can be made. Nothing is made.
    ///
    /// Places that cannot are left out; a cloud in which none can ends the launch, because it is the account's fault
    /// then.
    ///
    /// # Errors
    /// When files cannot be written, or a cloud takes nothing.
    pub fn check(&self, launch: &Launch) -> Result<(), LaunchError> {
        let places = self.places();
        let machines: usize = self
            .locked()
            .places
            .iter()
            .map(|place| place.machines as usize)
            .sum();
        if machines > MOST_HOSTS {
            return Err(MeshError::TooManyMachines {
                machines,
                most: MOST_HOSTS,
            }
            .into());
        }
        self.folder.keep(&self.locked())?;
        for place in &places {
            self.write_module(launch, &self.place(*place))?;
        }
        for cloud in self.clouds() {
            self.init(&cloud)?;
        }
        let planned = on_all(&places, self.at_once, |place| {
            self.step(Step::Plan, &self.place(place), Some(&self.presses))
        });
        for (place, result) in planned {
            if let Err(failure) = result {
                self.change(place, |record| record.problem = Some(failure.message.clone()))?;
                self.judge_cloud(place, failure)?;
            }
        }
        Ok(())
    }

    /// Ends the launch when no place is left of this one's cloud.
    fn judge_cloud(&self, place: usize, failure: EngineFailure) -> Result<(), LaunchError> {
        if failure.kind == FailureKind::Interrupted {
            return Err(LaunchError::Interrupted);
        }
        let record = self.locked();
        let cloud = &record.places[place].place.cloud;
        let others = record
            .places
            .iter()
            .any(|other| other.place.cloud == *cloud && other.problem.is_none());
        if others {
            (self.tell)(&format!(
                "{}: {failure}; it is excluded",
                record.places[place].place
            ));
            return Ok(());
        }
        let mut all = record.places.iter().filter(|other| other.place.cloud == *cloud);
        let one = all.next().is_some() && all.next().is_none();
        let cloud = if one {
            record.places[place].place.to_string()
        } else {
            cloud.clone()
        };
        Err(LaunchError::Cloud { cloud, failure })
    }

    fn write_module(&self, launch: &Launch, place: &PlaceName) -> Result<(), LaunchError> {
        let text = launch.module(place)?;
        let folder = crate::cloud::folder_name(place);
        self.folder.folder(&folder)?;
        self.folder.write(&format!("{folder}/{MODULE}"), &text)?;
        Ok(())
    }

    fn clouds(&self) -> BTreeSet<String> {
        self.locked()
            .places
            .iter()
            .map(|place| place.place.cloud.clone())
            .collect()
    }

    /// Gets a cloud's provider for its first place; the others take the same files.
    fn init(&self, cloud: &str) -> Result<(), LaunchError> {
        let places: Vec<PlaceName> = self
            .locked()
            .places
            .iter()
            .map(|place| place.place.clone())
            .filter(|place| place.cloud == cloud)
            .collect();
        let Some((first, others)) = places.split_first() else {
            return Ok(());
        };
        (self.tell)(&format!("{cloud}: downloading the engine's provider"));
        self.step(Step::Init, first, Some(&self.presses))
            .map_err(|failure| match failure.kind {
                FailureKind::Interrupted => LaunchError::Interrupted,
                _ => LaunchError::Cloud {
                    cloud: cloud.to_owned(),
                    failure,
                },
            })?;
        let name = |place: &PlaceName| format!("{}/{PROVIDERS}", crate::cloud::folder_name(place));
        // The engine's built-in resources have no provider, and no lock of it.
        if let Ok(lock) = self.folder.read(&name(first), MOST_BYTES) {
            let text = String::from_utf8_lossy(&lock);
            for place in others {
                self.folder.write(&name(place), &text)?;
            }
        }
        Ok(())
    }

    /// Makes the machines of all places that were not left out, then lets them reach each other. A place that fails is
    /// removed again and the others go on.
    ///
    /// # Errors
    /// When fewer than [`Launch::least`] machines are there in the end, it was interrupted, or files cannot be written.
    /// Whatever was made is there until [`Machines::remove`].
    pub fn make(
        &self,
        launch: &mut Launch,
        now_unix_s: &(dyn Fn() -> i64 + Sync),
    ) -> Result<(), LaunchError> {
        let wanted: Vec<usize> = self
            .places()
            .into_iter()
            .filter(|place| self.locked().places[*place].problem.is_none())
            .collect();
        let made = on_all(&wanted, self.at_once, |place| {
            self.make_place(launch, place, now_unix_s)
        });
        for (_, result) in made {
            result?;
        }
        if self.is_interrupted() {
            return Err(LaunchError::Interrupted);
        }
        if launch.own.is_none() {
            self.admit(launch, &wanted, now_unix_s)?;
        }
        let record = self.locked();
        let up = record.hosts().len();
        if up < launch.least {
            let first = record.places.iter().find_map(|place| {
                let problem = place.problem.as_deref()?;
                Some(format!("{}: {problem}", place.place))
            });
            return Err(LaunchError::TooFew {
                least: launch.least,
                up,
                asked: record.places.iter().map(|place| place.machines as usize).sum(),
                first: first.unwrap_or_else(|| "no more were requested".into()),
            });
        }
        Ok(())
    }

    /// Lets the hosts reach each other, whose addresses and networks are known now, and joins networks that are to be joined.
    fn admit(
        &self,
        launch: &mut Launch,
        places: &[usize],
        now_unix_s: &(dyn Fn() -> i64 + Sync),
    ) -> Result<(), LaunchError> {
        launch.mesh = self
            .locked()
            .hosts()
            .iter()
            .filter_map(|(_, host)| match host.address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            })
            .collect();
        launch.networks = self.networks();
        // What one side begins has a name, which the other side needs, only once it is begun.
        let passes = if launch.has_two_sides() { 2 } else { 1 };
        for _ in 0..passes {
            let is_up = |place: &usize| self.locked().places[*place].phase == Phase::Up;
            let up: Vec<usize> = places.iter().copied().filter(is_up).collect();
            for (_, result) in on_all(&up, self.at_once, |place| {
                self.make_place(launch, place, now_unix_s)
            }) {
                result?;
            }
            if self.is_interrupted() {
                return Err(LaunchError::Interrupted);
            }
            launch.networks = self.networks();
        }
        Ok(())
    }

    /// The networks of the places that are up.
    fn networks(&self) -> BTreeMap<PlaceName, Network> {
        let record = self.locked();
        let up = record.places.iter().filter(|place| place.phase == Phase::Up);
        up.filter_map(|place| Some((place.place.clone(), place.network.clone()?)))
            .collect()
    }

    fn make_place(
        &self,
        launch: &Launch,
        number: usize,
        now_unix_s: &(dyn Fn() -> i64 + Sync),
    ) -> Result<(), LaunchError> {
        if self.is_interrupted() {
            return Ok(());
        }
        let place = self.place(number);
        self.write_module(launch, &place)?;
        self.change(number, |record| {
            record.phase = Phase::Launching;
            record.begun_unix_s.get_or_insert_with(now_unix_s);
        })?;
        match self.apply(launch, &place) {
            Ok(made) => self.change(number, |record| {
                record.phase = Phase::Up;
                record.hosts = made.hosts;
                record.network = made.network;
            })?,
            Err(failure) if failure.kind == FailureKind::Interrupted => {}
            Err(failure) => {
                (self.tell)(&format!("{place}: {failure}; the others continue"));
                self.change(number, |record| record.problem = Some(failure.message))?;
                self.remove_place(number, now_unix_s)?;
            }
        }
        Ok(())
    }

    fn apply(&self, launch: &Launch, place: &PlaceName) -> Result<Outputs, EngineFailure> {
        self.step(Step::Apply, place, Some(&self.presses))?;
        self.step(Step::Output, place, Some(&self.presses))?;
        let file = format!("{}/output.log", crate::cloud::folder_name(place));
        let other = |message: String| EngineFailure {
            kind: FailureKind::Other,
            message,
        };
        let bytes = self
            .folder
            .read(&file, MOST_BYTES)
            .map_err(|error| other(error.to_string()))?;
        read_output(&bytes, &launch.host_names(place)).map_err(|error| other(error.to_string()))
    }

    /// Has the engine remove what it knows of in a place.
    fn remove_place(&self, number: usize, now_unix_s: &(dyn Fn() -> i64 + Sync)) -> Result<(), StateError> {
        let place = self.place(number);
        self.change(number, |record| record.phase = Phase::Removing)?;
        let mut result = Ok(());
        for _ in 0..TRIES {
            // Whoever presses Ctrl-C wants it gone all the more.
            result = self.step(Step::Destroy, &place, None);
            if result.is_ok() {
                break;
            }
        }
        match result {
            Ok(()) => self.change(number, |record| {
                record.phase = Phase::Gone;
                record.gone_unix_s = Some(now_unix_s());
            }),
            Err(failure) => {
                (self.tell)(&format!("{place}: cannot remove it: {failure}"));
                self.change(number, |record| record.problem = Some(failure.message))
            }
        }
    }

    /// Removes everything: what the engine knows of, then what carries the tags of this launch all the same. When
    /// nothing is left, its folder goes too.
    ///
    /// # Errors
    /// When files cannot be written. Else what became of it.
    pub fn remove(&self, now_unix_s: &(dyn Fn() -> i64 + Sync)) -> Result<Removed, StateError> {
        let before = self.record();
        // An engine that was cut off, or failed, may have made what it has not written down.
        let doubtful: BTreeSet<usize> = (0..before.places.len())
            .filter(|place| {
                let place = &before.places[*place];
                place.begun_unix_s.is_some()
                    && (place.problem.is_some() || matches!(place.phase, Phase::Launching | Phase::Removing))
            })
            .collect();
        let live: Vec<usize> = self
            .places()
            .into_iter()
            .filter(|place| before.places[*place].phase.may_live())
            .collect();
        for (_, result) in on_all(&live, self.at_once, |place| self.remove_place(place, now_unix_s)) {
            result?;
        }
        let mut removed = Removed::default();
        for (account, places) in self.accounts(&doubtful) {
            self.remove_tagged(&account, &places, &mut removed);
        }
        let record = self.record();
        removed.places = live.iter().map(|place| record.places[*place].clone()).collect();
        removed.is_clean = record.is_over() && removed.failed.is_empty();
        if removed.is_clean {
            self.folder.remove()?;
        }
        Ok(removed)
    }

    /// Where to look for what these places may have left, with their names.
    fn accounts(&self, places: &BTreeSet<usize>) -> BTreeMap<Account, String> {
        let record = self.locked();
        let mut accounts = BTreeMap::new();
        for place in places {
            let place = &record.places[*place].place;
            let account = match (&record.own, place.cloud.as_str()) {
                (Some(own), _) => Account::Own {
                    program: own.program.clone(),
                },
                (None, "aws") => Account::Aws {
                    region: place.region.clone(),
                },
                // Their providers write down what they make before it is there, or put it into one group that is known.
                _ => continue,
            };
            accounts.entry(account).or_insert_with(|| place.to_string());
        }
        accounts
    }

    fn remove_tagged(&self, account: &Account, place: &str, removed: &mut Removed) {
        let kill = AtomicBool::new(false);
        let run = self.locked().run.clone();
        match account.list(&kill) {
            Ok(mut found) => {
                found.retain(|leftover| leftover.run == run);
                let stuck = account.remove(&found, &kill);
                for (leftover, reason) in &stuck {
                    let id = shown(&leftover.id);
                    removed
                        .failed
                        .push(format!("{place}: {} {id}: {reason}", leftover.kind));
                }
                found.retain(|leftover| !stuck.iter().any(|(other, _)| other == leftover));
                removed.tagged.extend(found);
            }
            Err(error @ TaggedError::Missing { .. }) => {
                removed.notes.push(format!("{place}: {error}"));
            }
            Err(error) => removed.failed.push(format!("{place}: {error}")),
        }
    }
}

/// What became of a removal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Removed {
    /// Places that the engine was to remove, as they stand now.
    pub places: Vec<PlaceRecord>,
    /// What it did not know of and the tags gave away.
    pub tagged: Vec<Leftover>,
    /// What is still there, a sentence each.
    pub failed: Vec<String>,
    /// What could not be looked at, a sentence each.
    pub notes: Vec<String>,
    /// Nothing is left.
    pub is_clean: bool,
}
