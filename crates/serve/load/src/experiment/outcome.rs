//! Results of an experiment: of each run, of repeats together, and in comparison with published figures.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::Experiment;
use super::matrix::Cell;
use crate::measure::{KindSummary, LoadSummary};
use crate::metrics::{Metric, sum};

/// What an origin's own metrics and its process came to over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OriginChange {
    /// Bytes that it read from its storage.
    pub in_bytes: Option<f64>,
    /// Requests that it made to its storage.
    pub storage_requests: Option<f64>,
    /// CPU time that it took, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// The most memory that it held, bytes.
    pub memory_bytes: Option<u64>,
}

impl OriginChange {
    /// What metrics of `weir origin` say between two readings.
    pub fn between(before: &[Metric], after: &[Metric]) -> Self {
        let change = |name| Some((sum(after, name)? - sum(before, name)?).max(0.0));
        OriginChange {
            in_bytes: change("weir_origin_storage_bytes_total"),
            storage_requests: change("weir_origin_storage_reads_total"),
            ..OriginChange::default()
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How long it took, nanoseconds.
    pub duration_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Requests a second.
    pub requests_per_second: f64,
    /// Requests for segments of sound and pictures a second: R of the model.
    pub media_per_second: f64,
    /// Bodies that viewers got, bit/s (OUT).
    pub out_bps: f64,
    /// Bodies that the origin read from its storage, bit/s (IN).
    pub in_bps: Option<f64>,
    /// OUT / IN.
    pub efficiency: Option<f64>,
    /// Requests to the storage for each request of a viewer.
    pub storage_requests_each: Option<f64>,
    /// Mean time to the last byte, nanoseconds.
    pub mean_ns: f64,
    /// Its median.
    pub p50_ns: f64,
    /// Its 90th percentile.
    pub p90_ns: f64,
    /// Its 99th percentile.
    pub p99_ns: f64,
    /// CPU time of the origin for each request, nanoseconds.
    pub origin_cpu_each_ns: Option<f64>,
    /// Cores that the origin kept busy.
    pub origin_cores: Option<f64>,
    /// The most memory that the origin held, bytes.
    pub origin_memory_bytes: Option<u64>,
    /// Stalls of viewers; none where none played in real time.
    pub stalls: Option<u64>,
    /// Share of the viewing time that was stalled.
    pub rebuffer_ratio: Option<f64>,
    /// Whether the generator was the limit.
    pub generator_limited: bool,
}

impl Outcome {
    /// From the summary of a run and what its origin says.
    pub fn of(summary: &LoadSummary, origin: &OriginChange) -> Self {
        let seconds = (summary.duration_ns as f64 / 1e9).max(1e-9);
        let all = &summary.all;
        let each = |value: f64| (all.requests > 0).then(|| value / all.requests as f64);
        let media = |kind: &&KindSummary| kind.kind == "audio" || kind.kind == "video";
        let media: u64 = summary.kinds.iter().filter(media).map(|kind| kind.requests).sum();
        let quality = summary.quality.as_ref();
        let read = origin.in_bytes.filter(|bytes| *bytes > 0.0);
        Outcome {
            duration_ns: summary.duration_ns,
            requests: all.requests,
            failed: all.failed,
            requests_per_second: all.requests as f64 / seconds,
            media_per_second: media as f64 / seconds,
            out_bps: all.body_bytes as f64 * 8.0 / seconds,
            in_bps: origin.in_bytes.map(|bytes| bytes * 8.0 / seconds),
            efficiency: read.map(|read| all.body_bytes as f64 / read),
            storage_requests_each: origin.storage_requests.and_then(each),
            mean_ns: all.last_byte.mean,
            p50_ns: all.last_byte.p50 as f64,
            p90_ns: all.last_byte.p90 as f64,
            p99_ns: all.last_byte.p99 as f64,
            origin_cpu_each_ns: origin.cpu_ns.and_then(|cpu| each(cpu as f64)),
            origin_cores: origin
                .cpu_ns
                .map(|cpu| cpu as f64 / summary.duration_ns.max(1) as f64),
            origin_memory_bytes: origin.memory_bytes,
            stalls: quality.map(|quality| quality.stalls),
            rebuffer_ratio: quality.and_then(|quality| quality.rebuffer_ratio),
            generator_limited: summary.generator_limited,
        }
    }
}

/// A run that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What it was.
    pub cell: Cell,
    /// Its number in the store.
    pub run: i64,
    /// What it came to.
    pub outcome: Outcome,
}

impl Done {
    /// For the store and for programs.
    pub fn json(&self) -> Value {
        let mut object = self.cell.json();
        object["run"] = self.run.into();
        // Plain data of our own always serialises.
        object["outcome"] = serde_json::to_value(&self.outcome).unwrap_or(Value::Null);
        object
    }
}

/// A value over repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let (mut sum, mut count, mut low, mut high) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            sum += value;
            count += 1.0;
            low = value.min(low);
            high = value.max(high);
        }
        (count > 0.0).then(|| Spread {
            mean: sum / count,
            low,
            high,
        })
    }
}

/// The repeats of one run together.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// What it was; its repeat is the first that was made.
    #[serde(skip)]
    pub cell: Cell,
    /// Repeats.
    #[serde(rename = "repeats")]
    pub count: usize,
    /// IN, bit/s.
    pub in_bps: Option<Spread>,
    /// OUT, bit/s.
    pub out_bps: Option<Spread>,
    /// OUT / IN.
    pub efficiency: Option<Spread>,
    /// Requests a second.
    pub requests_per_second: Option<Spread>,
    /// Mean time to the last byte, nanoseconds.
    pub mean_ns: Option<Spread>,
    /// Its 99th percentile.
    pub p99_ns: Option<Spread>,
    /// CPU time of the origin for each request, nanoseconds.
    pub origin_cpu_each_ns: Option<Spread>,
    /// Cores that the origin kept busy.
    pub origin_cores: Option<Spread>,
    /// Requests to the storage for each request.
    pub storage_requests_each: Option<Spread>,
    /// Requests that failed, all repeats together.
    pub failed: u64,
    /// In how many repeats the generator was the limit.
    pub generator_limited: usize,
}

impl Group {
    /// Of all repeats, in the order of the file.
    pub fn all(experiment: &Experiment, done: &[Done]) -> Vec<Group> {
        let mut cells = experiment.cells();
        cells.retain(|cell| cell.repeat == 1);
        let place = |cell: &Cell| {
            let part = experiment.parts.iter().position(|part| part.name == cell.part);
            let at = part.and_then(|part| Some((part, experiment.parts.get(part)?)));
            at.map(|(number, part)| {
                let configuration = part
                    .configurations
                    .iter()
                    .position(|name| *name == cell.configuration);
                let viewers = part.viewers.iter().position(|viewers| *viewers == cell.viewers);
                (
                    number,
                    configuration,
                    cell.segment,
                    cell.video,
                    viewers,
                    cell.cache as u8,
                )
            })
        };
        cells.sort_by_key(place);
        let groups = cells.into_iter().filter_map(|cell| {
            let key = cell.group_key();
            let members: Vec<&Done> = done.iter().filter(|done| done.cell.group_key() == key).collect();
            (!members.is_empty()).then(|| Group::of(cell, &members))
        });
        groups.collect()
    }

    fn of(cell: Cell, members: &[&Done]) -> Group {
        let spread = |of: &dyn Fn(&Outcome) -> Option<f64>| {
            Spread::of(members.iter().filter_map(|done| of(&done.outcome)))
        };
        Group {
            cell,
            count: members.len(),
            in_bps: spread(&|one| one.in_bps),
            out_bps: spread(&|one| Some(one.out_bps)),
            efficiency: spread(&|one| one.efficiency),
            requests_per_second: spread(&|one| Some(one.requests_per_second)),
            mean_ns: spread(&|one| Some(one.mean_ns)),
            p99_ns: spread(&|one| Some(one.p99_ns)),
            origin_cpu_each_ns: spread(&|one| one.origin_cpu_each_ns),
            origin_cores: spread(&|one| one.origin_cores),
            storage_requests_each: spread(&|one| one.storage_requests_each),
            failed: members.iter().map(|done| done.outcome.failed).sum(),
            generator_limited: members
                .iter()
                .filter(|done| done.outcome.generator_limited)
                .count(),
        }
    }

    /// For the store and for programs.
    pub fn json(&self) -> Value {
        let mut object = self.cell.json();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("repeat");
            fields.insert("key".to_owned(), self.cell.group_key().into());
            if let Ok(Value::Object(figures)) = serde_json::to_value(self) {
                fields.extend(figures);
            }
        }
        object
    }
}

/// A configuration here and where it was published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The configuration.
    pub configuration: String,
    /// IN as published, bit/s.
    pub published_in_bps: f64,
    /// OUT as published, bit/s.
    pub published_out_bps: f64,
    /// OUT / IN as published.
    pub published_efficiency: f64,
    /// OUT as published, as a multiple of the first row's.
    pub published_relative: f64,
    /// IN here, bit/s.
    pub in_bps: Option<f64>,
    /// OUT here, bit/s.
    pub out_bps: Option<f64>,
    /// OUT / IN here.
    pub efficiency: Option<f64>,
    /// OUT here, as a multiple of the first row's.
    pub relative: Option<f64>,
}

impl Compared {
    /// Every published row beside the means of the configuration in the part that it is held beside.
    pub fn all(experiment: &Experiment, groups: &[Group]) -> Vec<Compared> {
        let Some(published) = &experiment.published else {
            return Vec::new();
        };
        let group = |configuration: &str| {
            groups
                .iter()
                .find(|group| group.cell.part == published.part && group.cell.configuration == configuration)
        };
        let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
        let first = published.rows.first();
        let first_here = first
            .and_then(|row| group(&row.configuration))
            .and_then(|group| mean(group.out_bps));
        let compared = published.rows.iter().map(|row| {
            let found = group(&row.configuration);
            let out_bps = found.and_then(|group| mean(group.out_bps));
            Compared {
                configuration: row.configuration.clone(),
                published_in_bps: row.incoming.0 as f64,
                published_out_bps: row.outgoing.0 as f64,
                published_efficiency: row.efficiency,
                published_relative: row.outgoing.0 as f64
                    / first.map_or(1.0, |first| first.outgoing.0 as f64),
                in_bps: found.and_then(|group| mean(group.in_bps)),
                out_bps,
                efficiency: found.and_then(|group| mean(group.efficiency)),
                relative: out_bps.zip(first_here).map(|(out, first)| out / first),
            }
        });
        compared.collect()
    }
}
