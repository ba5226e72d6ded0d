//! What a launch leaves written down, so that another process can finish it: which places, how far each is, since when
//! and what an hour costs. Pure: text and times in, text out.

use serde::{Deserialize, Serialize};

use super::hosts::Launched;
use super::leftovers::is_run;
use super::network::Network;
use super::{MOST_HOSTS, Own, folder_name};
use crate::MeshError;
use crate::place::{CLOUDS, PlaceName, is_word};
use crate::run::MachinesCost;

/// Longest record, bytes.
pub const MOST_BYTES: usize = 4 << 20;
const VERSION: u32 = 1;

/// How far a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing has been made.
    Planned,
    /// The engine makes machines, or was killed while it did.
    Launching,
    /// Machines are there.
    Up,
    /// The engine removes them, or was killed while it did.
    Removing,
    /// Nothing is there any more.
    Gone,
}

impl Phase {
    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Planned => "planned",
            Phase::Launching => "launching",
            Phase::Up => "up",
            Phase::Removing => "removing",
            Phase::Gone => "gone",
        }
    }

    /// Something may be there that costs money.
    pub fn may_live(self) -> bool {
        !matches!(self, Phase::Planned | Phase::Gone)
    }
}

/// A place of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceRecord {
    /// The place.
    pub place: PlaceName,
    /// How far it is.
    pub phase: Phase,
    /// Machines that were asked for.
    pub machines: u32,
    /// Machines that are there, as far as they are known.
    pub hosts: Vec<Launched>,
    /// Their network, as far as it is made.
    #[serde(default)]
    pub network: Option<Network>,
    /// What an hour of one costs, US dollars; none where it is not known.
    pub usd_per_hour: Option<f64>,
    /// When the engine began to make machines, Unix seconds.
    pub begun_unix_s: Option<i64>,
    /// When they were gone, Unix seconds.
    pub gone_unix_s: Option<i64>,
    /// What went wrong.
    pub problem: Option<String>,
}

impl PlaceRecord {
    /// A place where nothing has happened yet.
    pub fn new(place: PlaceName, machines: u32, usd_per_hour: Option<f64>) -> PlaceRecord {
        PlaceRecord {
            place,
            phase: Phase::Planned,
            machines,
            hosts: Vec::new(),
            network: None,
            usd_per_hour,
            begun_unix_s: None,
            gone_unix_s: None,
            problem: None,
        }
    }

    /// Name of its folder in the launch's.
    pub fn folder(&self) -> String {
        folder_name(&self.place)
    }

    /// What its machines have cost up to `now`, US dollars, by their price for an hour and no minimum.
    pub fn usd(&self, now_unix_s: i64) -> Option<f64> {
        let Some(begun) = self.begun_unix_s else {
            return Some(0.0);
        };
        let seconds = self
            .gone_unix_s
            .unwrap_or(now_unix_s)
            .saturating_sub(begun)
            .max(0);
        Some(self.usd_per_hour? * f64::from(self.machines) * seconds as f64 / 3600.0)
    }
}

/// A launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// Word in names and tags.
    pub run: String,
    /// When it began, Unix seconds.
    pub begun_unix_s: i64,
    /// When its machines end by themselves, Unix seconds.
    pub delete_after_unix_s: i64,
    /// The engine that made it, with its path.
    pub engine: String,
    /// The program that makes machines instead of clouds.
    pub own: Option<Own>,
    /// Its places.
    pub places: Vec<PlaceRecord>,
}

impl Record {
    /// A launch that begins.
    pub fn new(run: String, begun_unix_s: i64, delete_after_unix_s: i64, engine: String) -> Record {
        Record {
            version: VERSION,
            run,
            begun_unix_s,
            delete_after_unix_s,
            engine,
            own: None,
            places: Vec::new(),
        }
    }

    /// Reads what [`Record::text`] wrote.
    ///
    /// # Errors
    /// When it is no record, or one that would lead out of its folder.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Record, MeshError> {
        let bad = |problem: String| {
            MeshError::file(
                file,
                format!("{problem}; remove that launch yourself, with the engine, in its folders"),
            )
        };
        if bytes.len() > MOST_BYTES {
            return Err(bad("it is longer than 4 MiB".into()));
        }
        let record: Record = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        let words = record.places.iter().all(|place| {
            let PlaceName { cloud, region } = &place.place;
            CLOUDS.contains(&cloud.as_str()) && is_word(region) && !region.starts_with('.')
        });
        if record.version != VERSION || !is_run(&record.run) || !words || record.places.len() > MOST_HOSTS {
            return Err(bad("it is not a launch record of this version".into()));
        }
        Ok(record)
    }

    /// As it is kept.
    pub fn text(&self) -> String {
        // Its fields are text, numbers and lists: that cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Whether everything that was made is gone.
    pub fn is_over(&self) -> bool {
        self.places.iter().all(|place| !place.phase.may_live())
    }

    /// What its machines have cost up to `now`, and cost in each hour that they stay, as far as prices are known.
    pub fn cost(&self, now_unix_s: i64) -> MachinesCost {
        let live = self.places.iter().filter(|place| place.phase.may_live());
        MachinesCost {
            usd: self.places.iter().filter_map(|place| place.usd(now_unix_s)).sum(),
            usd_per_hour: live
                .filter_map(|place| Some(place.usd_per_hour? * f64::from(place.machines)))
                .sum(),
        }
    }

    /// All machines that are there, with their places.
    pub fn hosts(&self) -> Vec<(PlaceName, Launched)> {
        self.places
            .iter()
            .filter(|place| place.phase == Phase::Up)
            .flat_map(|place| place.hosts.iter().map(|host| (place.place.clone(), host.clone())))
            .collect()
    }
}
