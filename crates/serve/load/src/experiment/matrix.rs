//! The runs of an experiment: what each is made with, in which order, and which are left. All of it follows from the file.

use std::fmt;

use serde_json::{Value, json};
use weir_units::{Rate, TimeSpan};

use super::file::{Cache, Experiment, Part, Titles};
use crate::schedule::Random;

/// The stream of random numbers that the order comes from.
const ORDER: u64 = 7;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The part that it belongs to.
    pub part: String,
    /// Configuration of the origin.
    pub configuration: String,
    /// Duration of segments.
    pub segment: TimeSpan,
    /// Bit rate of the pictures.
    pub video: Rate,
    /// Bit rate of the sound.
    pub audio: Rate,
    /// Viewers, as `--viewers` takes them.
    pub viewers: String,
    /// Caches.
    pub cache: Cache,
    /// Which repeat, from 1.
    pub repeat: u32,
}

impl fmt::Display for Cell {
    /// All but the repeat, in words.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}: {}, {}, {}, {} viewers, {}",
            self.part,
            self.configuration,
            self.segment,
            self.video,
            self.viewers,
            self.cache.name()
        )
    }
}

impl Cell {
    /// What tells this run from the others of its experiment.
    pub fn key(&self) -> String {
        format!("{}#{}", self.group_key(), self.repeat)
    }

    /// The same without the repeat.
    pub fn group_key(&self) -> String {
        format!(
            "{}:{}:{}:{}:{}:{}",
            self.part,
            self.configuration,
            self.segment,
            self.video,
            self.viewers,
            self.cache.name()
        )
    }

    /// Mean bit rate of what a request for media brings, bit/s: the background's loop asks for sound and pictures in turn.
    pub fn media_rate(&self) -> f64 {
        (self.video.0 as f64 + self.audio.0 as f64) / 2.0
    }

    /// For the store and for programs: times are nanoseconds, rates bits per second.
    pub fn json(&self) -> Value {
        json!({
            "key": self.key(),
            "part": self.part,
            "configuration": self.configuration,
            "segment_ns": self.segment.0,
            "video_bps": self.video.0,
            "audio_bps": self.audio.0,
            "viewers": self.viewers,
            "cache": self.cache.name(),
            "repeat": self.repeat,
        })
    }

    /// Words to find the run by.
    pub fn tags(&self, experiment: &str) -> Vec<String> {
        let words = [
            experiment.to_owned(),
            self.part.clone(),
            format!("configuration={}", self.configuration),
            format!("segment={}", self.segment),
            format!("video={}", self.video),
            format!("viewers={}", self.viewers),
            self.cache.name().to_owned(),
            format!("repeat={}", self.repeat),
        ];
        // Bounds of the store on tags.
        let fits = |word: &String| word.chars().count() <= 50 && !word.contains(char::is_whitespace);
        words.into_iter().filter(fits).collect()
    }
}

impl Experiment {
    /// All runs, in the order in which they are to be made. Every repeat makes all runs once, in an order of its own that
    /// follows from the seed, so that a machine that grows slower does so for all of them.
    pub fn cells(&self) -> Vec<Cell> {
        let mut random = Random::new(self.seed, ORDER);
        let mut all = Vec::new();
        for repeat in 1..=self.repeats {
            let mut block: Vec<Cell> = self
                .parts
                .iter()
                .flat_map(|part| self.cells_of(part, repeat))
                .collect();
            // Fisher and Yates.
            for last in (1..block.len()).rev() {
                block.swap(last, random.below(last + 1));
            }
            all.append(&mut block);
        }
        all
    }

    fn cells_of(&self, part: &Part, repeat: u32) -> Vec<Cell> {
        let mut cells = Vec::new();
        for configuration in &part.configurations {
            for segment in &part.segments {
                for video in &part.video {
                    for viewers in &part.viewers {
                        for cache in &part.caches {
                            cells.push(Cell {
                                part: part.name.clone(),
                                configuration: configuration.clone(),
                                segment: *segment,
                                video: *video,
                                audio: self.audio_of(*video),
                                viewers: viewers.clone(),
                                cache: *cache,
                                repeat,
                            });
                        }
                    }
                }
            }
        }
        cells
    }

    fn audio_of(&self, video: Rate) -> Rate {
        match &self.titles {
            Titles::Made { audio, .. } => *audio,
            // The file has been checked: each rate has a title.
            Titles::Given(titles) => titles
                .iter()
                .find(|title| title.video == video)
                .map_or(Rate(0), |title| title.audio),
        }
    }

    /// The part that a cell belongs to.
    pub fn part(&self, cell: &Cell) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == cell.part)
    }

    /// All bit rates of pictures, each once.
    pub fn videos(&self) -> Vec<Rate> {
        let mut rates: Vec<Rate> = self.parts.iter().flat_map(|part| part.video.clone()).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// How long the runs themselves take.
    pub fn takes_ns(&self, cells: &[Cell]) -> u64 {
        let of_cell = |cell: &Cell| self.part(cell).map_or(0, |part| part.duration.0);
        cells.iter().map(of_cell).fold(0, u64::saturating_add)
    }

    /// Options of `weir origin` for a run, behind the place that it reads from.
    pub fn origin_options(&self, cell: &Cell) -> Vec<String> {
        let named = [
            ("--configuration", cell.configuration.clone()),
            ("--segment", cell.segment.to_string()),
            ("--threads", self.origin.threads.to_string()),
        ];
        let mut options = words(named);
        options.extend(self.origin.options.iter().cloned());
        options
    }

    /// Options of `weir load` for a run, behind the address of its title.
    pub fn load_options(&self, cell: &Cell) -> Vec<String> {
        let seed = self.seed.wrapping_add(u64::from(cell.repeat));
        let mut options = words([
            ("--viewers", cell.viewers.clone()),
            ("--threads", self.generator.threads.to_string()),
            ("--seed", seed.to_string()),
        ]);
        if let Some(part) = self.part(cell) {
            options.extend(words([("--for", part.duration.to_string())]));
            let ramp = cell.viewers.contains("..");
            let over = part.over.or(ramp.then_some(part.duration));
            options.extend(words(over.map(|over| ("--over", over.to_string()))));
            options.extend(part.options.iter().cloned());
        }
        options.extend(self.generator.options.iter().cloned());
        options
    }
}

/// Options as the words of a command.
fn words(options: impl IntoIterator<Item = (&'static str, String)>) -> Vec<String> {
    let words = options.into_iter();
    words.flat_map(|(name, value)| [name.to_owned(), value]).collect()
}
