//! The file of an experiment (TOML): its form, and what is wrong with one, in a line (its bounds are in `checks`). It
//! must not know what is done with an experiment.

use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;
use weir_units::{Rate, TimeSpan};

/// Most bytes of a file.
pub const MOST_FILE_BYTES: u64 = 1 << 20;
/// Most characters of what is said of a file.
const MOST_SAID: usize = 400;
/// Longest round trip to the storage.
const LONGEST_DELAY: TimeSpan = TimeSpan(10_000_000_000);

/// What is wrong with a file, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ExperimentError(pub(super) String);

/// An experiment as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name, one word.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Number that the order of runs follows from.
    pub seed: u64,
    /// How often each run is made.
    pub repeats: u32,
    /// What is played.
    pub titles: Titles,
    /// Where the titles lie.
    pub storage: Storage,
    /// Where origins run, and further options of `weir origin`.
    pub origin: Placed,
    /// Where the generator runs, and further options of `weir load`.
    pub generator: Placed,
    /// Its parts, each a matrix.
    pub parts: Vec<Part>,
    /// What somebody else found.
    pub published: Option<Published>,
}

/// Titles to play.
#[derive(Clone, Debug, PartialEq)]
pub enum Titles {
    /// Made by ffmpeg, one for each bit rate of pictures.
    Made {
        /// How long each is.
        duration: TimeSpan,
        /// Bit rate of the sound.
        audio: Rate,
    },
    /// They are in the storage.
    Given(Vec<GivenTitle>),
}

/// A title that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenTitle {
    /// Mean bit rate of its pictures.
    pub video: Rate,
    /// Mean bit rate of its sound.
    pub audio: Rate,
    /// Path of its manifest at the origin.
    pub path: String,
}

/// Where titles lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// In a folder that the experiment itself serves, at a distance.
    Served {
        /// The folder; none for the one that titles are made in.
        folder: Option<String>,
        /// Round trip to it.
        delay: TimeSpan,
        /// Cores of the server and of what puts it at a distance; none: those that the origin does not have.
        cores: Option<Vec<usize>>,
    },
    /// Elsewhere: what `weir origin` takes for a place.
    Location(String),
}

/// Where something runs, and how.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placed {
    /// Cores, from 0; none: the experiment chooses.
    pub cores: Option<Vec<usize>>,
    /// Threads.
    pub threads: u16,
    /// Further options of its command.
    pub options: Vec<String>,
}

impl Default for Placed {
    fn default() -> Self {
        Placed {
            cores: None,
            threads: 1,
            options: Vec::new(),
        }
    }
}

/// What the origin knows when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// A viewer has played for two seconds, which is not counted.
    Warm,
    /// Nothing: it has just been started.
    Cold,
}

impl Cache {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        }
    }
}

/// A matrix: every combination of what its lists hold is a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name, one word.
    pub name: String,
    /// Configurations of the origin, as `--configuration` takes them.
    pub configurations: Vec<String>,
    /// Durations of segments.
    pub segments: Vec<TimeSpan>,
    /// Bit rates of pictures.
    pub video: Vec<Rate>,
    /// Viewers, as `--viewers` takes them.
    pub viewers: Vec<String>,
    /// Caches.
    pub caches: Vec<Cache>,
    /// How long a ramp or a step takes; none: as long as the run.
    pub over: Option<TimeSpan>,
    /// How long a run takes.
    pub duration: TimeSpan,
    /// Further options of `weir load`.
    pub options: Vec<String>,
    /// Whether the model of throughput is fitted to its runs.
    pub model: bool,
}

/// What somebody else found for the configurations of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Where it stands.
    pub source: String,
    /// The part that it is held beside.
    pub part: String,
    /// A row for each configuration.
    pub rows: Vec<PublishedRow>,
    /// The configurations that are said to answer fastest; empty if nothing is said.
    pub fastest: Vec<String>,
}

/// A row of a published table.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    /// The configuration.
    pub configuration: String,
    /// From the storage to the origin.
    pub incoming: Rate,
    /// From the origin to viewers.
    pub outgoing: Rate,
    /// OUT / IN.
    pub efficiency: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default = "one_repeat")]
    repeats: u32,
    titles: Option<RawTitles>,
    #[serde(default)]
    title: Vec<RawTitle>,
    #[serde(default)]
    storage: RawStorage,
    #[serde(default)]
    origin: Placed,
    #[serde(default)]
    generator: Placed,
    #[serde(default)]
    part: Vec<RawPart>,
    published: Option<RawPublished>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTitles {
    duration: String,
    audio: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTitle {
    video: String,
    audio: String,
    path: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStorage {
    place: Option<String>,
    folder: Option<String>,
    delay: Option<String>,
    cores: Option<Vec<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    name: String,
    configurations: Vec<String>,
    segments: Vec<String>,
    video: Vec<String>,
    viewers: Vec<String>,
    #[serde(default = "warm")]
    caches: Vec<Cache>,
    over: Option<String>,
    duration: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    model: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPublished {
    source: String,
    part: String,
    row: Vec<RawRow>,
    #[serde(default)]
    fastest: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    configuration: String,
    #[serde(rename = "in")]
    incoming: String,
    #[serde(rename = "out")]
    outgoing: String,
    efficiency: f64,
}

fn one() -> u64 {
    1
}

fn one_repeat() -> u32 {
    1
}

fn warm() -> Vec<Cache> {
    vec![Cache::Warm]
}

pub(super) fn wrong<T>(what: impl Display) -> Result<T, ExperimentError> {
    Err(ExperimentError(what.to_string()))
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn read(text: &str) -> Result<Experiment, ExperimentError> {
    read_raw(text).map_err(|error| in_a_line(&error.0))
}

/// What a text holds may be long, and have what plays tricks on a terminal.
fn in_a_line(said: &str) -> ExperimentError {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    let mut line: String = said.chars().take(MOST_SAID).map(plain).collect();
    if said.chars().nth(MOST_SAID).is_some() {
        line.push('…');
    }
    ExperimentError(line)
}

fn read_raw(text: &str) -> Result<Experiment, ExperimentError> {
    if text.len() as u64 > MOST_FILE_BYTES {
        return wrong("it is too long for an experiment");
    }
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        let said = error.message().lines().next().unwrap_or_default().to_owned();
        ExperimentError(format!("line {line}: {said}"))
    })?;
    let experiment = from_raw(raw)?;
    experiment.check()?;
    Ok(experiment)
}

fn from_raw(raw: RawFile) -> Result<Experiment, ExperimentError> {
    let titles = match (raw.titles, raw.title.is_empty()) {
        (Some(made), true) => Titles::Made {
            duration: value("titles: duration", &made.duration)?,
            audio: value("titles: audio", &made.audio)?,
        },
        (None, false) => Titles::Given(raw.title.into_iter().map(given).collect::<Result<_, _>>()?),
        (Some(_), false) => return wrong("[titles] and [[title]] conflict: keep one of them"),
        (None, true) => {
            return wrong("no titles: generate some with [titles], or name existing ones with [[title]]");
        }
    };
    Ok(Experiment {
        name: raw.name,
        description: raw.description,
        seed: raw.seed,
        repeats: raw.repeats,
        titles,
        storage: storage(raw.storage)?,
        origin: raw.origin,
        generator: raw.generator,
        parts: raw.part.into_iter().map(part).collect::<Result<_, _>>()?,
        published: raw.published.map(published).transpose()?,
    })
}

fn given(raw: RawTitle) -> Result<GivenTitle, ExperimentError> {
    Ok(GivenTitle {
        video: value("title: video", &raw.video)?,
        audio: value("title: audio", &raw.audio)?,
        path: raw.path.trim_start_matches('/').to_owned(),
    })
}

fn storage(raw: RawStorage) -> Result<Storage, ExperimentError> {
    if let Some(place) = raw.place {
        if raw.folder.is_some() || raw.delay.is_some() || raw.cores.is_some() {
            return wrong(
                "storage: place conflicts with folder, delay and cores, which are for a local storage",
            );
        }
        return Ok(Storage::Location(place));
    }
    let delay = raw
        .delay
        .map_or(Ok(TimeSpan(0)), |text| value("storage: delay", &text))?;
    if delay > LONGEST_DELAY {
        return wrong(format!(
            "storage: delay {delay} exceeds the maximum of {LONGEST_DELAY}"
        ));
    }
    Ok(Storage::Served {
        folder: raw.folder,
        delay,
        cores: raw.cores,
    })
}

fn part(raw: RawPart) -> Result<Part, ExperimentError> {
    let at = |what: &str| format!("part {}: {what}", raw.name);
    let each = |what: &str, texts: &[String]| -> Result<Vec<Rate>, ExperimentError> {
        texts.iter().map(|text| value(&at(what), text)).collect()
    };
    let segments = raw.segments.iter().map(|text| value(&at("segments"), text));
    let over = raw.over.as_deref().map(|text| value(&at("over"), text));
    Ok(Part {
        segments: segments.collect::<Result<_, _>>()?,
        video: each("video", &raw.video)?,
        over: over.transpose()?,
        duration: value(&at("duration"), &raw.duration)?,
        name: raw.name,
        configurations: raw.configurations,
        viewers: raw.viewers,
        caches: raw.caches,
        options: raw.options,
        model: raw.model,
    })
}

fn published(raw: RawPublished) -> Result<Published, ExperimentError> {
    let row = |row: RawRow| -> Result<PublishedRow, ExperimentError> {
        Ok(PublishedRow {
            incoming: value("published: in", &row.incoming)?,
            outgoing: value("published: out", &row.outgoing)?,
            configuration: row.configuration,
            efficiency: row.efficiency,
        })
    };
    Ok(Published {
        source: raw.source,
        part: raw.part,
        fastest: raw.fastest,
        rows: raw.row.into_iter().map(row).collect::<Result<_, _>>()?,
    })
}

fn value<T: FromStr<Err: Display>>(what: &str, text: &str) -> Result<T, ExperimentError> {
    text.parse()
        .map_err(|error| ExperimentError(format!("{what}: {error}")))
}
