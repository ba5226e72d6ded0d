//! What a user measured, in place of what a file of a population assumes: paths, as traces of throughput or as pairs of a mesh,
//! and the sizes of a film's segments. It must not know files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_lab::scenario_file::{ScenarioError, Wrong, wrong};
use weir_player::MAX_SEGMENTS;
use weir_player::recorded::Film;
use weir_record::{MeshEnd, MeshTest};
use weir_units::Rate;

use crate::file::{LineRates, Population};
use crate::measured_path::{MeasuredPath, whole_ns};
use crate::spread_text::LINE_RATE;

/// Most steps of all paths.
const MOST_STEPS: usize = 200_000;

/// Paths that are named beside results.
const MOST_NAMED: usize = 20;

/// Sizes of a film's segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredFilm {
    segment_ns: u64,
    rungs: Vec<u64>,
    /// Of each segment by rung.
    bytes: Vec<Vec<u64>>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Paths, each as likely as the others; none: lines are those of the population.
    pub paths: Vec<MeasuredPath>,
    /// What is played; none: titles are those of the population.
    pub film: Option<MeasuredFilm>,
}

impl From<Film> for MeasuredFilm {
    fn from(film: Film) -> Self {
        MeasuredFilm {
            segment_ns: whole_ns(film.segment).unwrap_or(1),
            rungs: film.rungs.iter().map(|rate| rate.0).collect(),
            bytes: film.bytes,
        }
    }
}

impl Measured {
    /// The population with what was measured in place of its own.
    ///
    /// # Errors
    /// A path that is too slow, too fast or too long; a film that some device cannot play.
    pub fn over(&self, population: Population) -> Result<Population, ScenarioError> {
        let name = population.name.clone();
        self.put(population).map_err(|wrong| wrong.within(&name))
    }

    fn put(&self, mut population: Population) -> Result<Population, Wrong> {
        if let Some(film) = &self.film {
            film.check(&population)?;
            population.media.segment = Duration::from_nanos(film.segment_ns);
            population.media.rungs = film.rungs.iter().copied().map(Rate).collect();
            population.media.sizes.clone_from(&film.bytes);
        }
        if !self.paths.is_empty() {
            let steps: usize = self.paths.iter().map(|path| path.steps.len()).sum();
            if steps > MOST_STEPS {
                return wrong("paths", format!("{steps} steps together; at most {MOST_STEPS}"));
            }
            for path in &self.paths {
                let highest = path.steps.iter().map(|step| step.1).max().unwrap_or(0);
                if !LINE_RATE.allows(path.mean() as f64) || highest as f64 > LINE_RATE.most() {
                    let problem = format!("a mean and highest rate {}", LINE_RATE.allowed());
                    return wrong(format!("path {}", path.name), problem);
                }
            }
            population.lines.rate = LineRates::Measured(self.paths.clone());
        }
        let queues = population
            .variants
            .iter()
            .filter_map(|variant| variant.queue.as_ref());
        population
            .lines
            .check(population.lines.queue.values().chain(queues))?;
        if let Some(words) = self.words() {
            population.inputs = format!("{}\n{words}\n", population.inputs.trim_end());
        }
        Ok(population)
    }

    /// What it is, for the inputs of a result; none if there is nothing.
    fn words(&self) -> Option<String> {
        let mut words = Vec::new();
        if !self.paths.is_empty() {
            let count = self.paths.len();
            let named = self.paths.iter().take(MOST_NAMED);
            let names: Vec<&str> = named.map(|path| path.name.as_str()).collect();
            words.push(format!(
                "# {count} measured paths in place of line.rate: {}{}",
                names.join(", "),
                if count > MOST_NAMED { ", ..." } else { "" }
            ));
        }
        if let Some(film) = &self.film {
            let (segments, rungs) = (film.bytes.len(), film.rungs.len());
            words.push(format!(
                "# a film in place of [media]: {segments} segments, {rungs} rungs"
            ));
        }
        (!words.is_empty()).then(|| words.join("\n"))
    }
}

impl MeasuredFilm {
    fn check(&self, population: &Population) -> Result<(), Wrong> {
        let is_whole = |sizes: &Vec<u64>| sizes.len() == self.rungs.len() && !sizes.contains(&0);
        let is_one = !self.rungs.is_empty()
            && self.segment_ns > 0
            && (1..=MAX_SEGMENTS).contains(&self.bytes.len())
            && self.bytes.iter().all(is_whole);
        if !is_one {
            return wrong("film", "each segment has a size above 0 for each rung");
        }
        let segment = Duration::from_nanos(self.segment_ns);
        let lowest = self.rungs[0];
        let cannot = population
            .devices
            .values()
            .find(|device| device.top.is_some_and(|top| top.0 < lowest) || device.buffer < segment);
        match cannot {
            None => Ok(()),
            Some(device) => wrong(
                "film",
                format!(
                    "device {} cannot play its lowest rung, or holds no segment",
                    device.name
                ),
            ),
        }
    }
}

/// The pairs of a mesh: of each direction the medians of its tests' RTT (the median, the mean or the minimum, whichever there is) and of the highest rate that each test reached. Those
/// without an RTT or a rate are left out, and counted.
#[must_use]
pub fn paths_of_mesh(tests: &[MeshTest]) -> (Vec<MeasuredPath>, usize) {
    let mut pairs: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for test in tests {
        let pair = format!("{} to {}", place(&test.from), place(&test.to));
        let (rtts, rates) = pairs.entry(pair).or_default();
        let rate = test.tcp_bps.max(test.tcp_streams_bps).max(test.udp_bps);
        let rtt_ns = test.rtt_p50_ns.or(test.rtt_mean_ns).or(test.rtt_min_ns);
        rtts.extend(rtt_ns.map(|ns| ns as f64));
        rates.extend(rate.map(|rate| rate as f64));
    }
    let all = pairs.len();
    let paths: Vec<MeasuredPath> = pairs
        .into_iter()
        .filter(|(_, (rtts, rates))| !rtts.is_empty() && !rates.is_empty())
        .map(|(name, (rtts, rates))| MeasuredPath {
            name,
            rtt_ns: Some(weir_stats::median(rtts) as u64),
            steps: vec![(1_000_000_000, weir_stats::median(rates) as u64)],
        })
        .collect();
    let left_out = all - paths.len();
    (paths, left_out)
}

fn place(end: &MeshEnd) -> String {
    let parts = [&end.cloud, &end.region, &end.zone, &end.host];
    let known = parts.into_iter().filter(|part| !part.is_empty());
    known.map(String::as_str).collect::<Vec<_>>().join("/")
}
