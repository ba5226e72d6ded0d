//! `weir runs merge`: the load of several generators as one run. Counts come from the rows per second, distributions
//! from the full histograms of each run, and the quality of sessions from the summaries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::args::{GlobalOptions, RunIn};
use serde_json::{Value, json};
use weir_load::engine::Second;
use weir_load::measure::{Account, Cause, Kind, KindAccount, LoadSummary, Quality};
use weir_measure::Sink;
use weir_net::host::HostFacts;
use weir_results::{LoadHistogram, Outcome, Record, Run, Store, StoreError, Table};
use weir_stats::DurationHistogram;

use super::super::result::StoredResult;
use super::super::run_store::{Ended, RunStore, find, json as stored, new_run};
use super::super::{Failure, tables};
use super::watching::{histogram_rows, second_rows};

/// Merges runs and stores the sum as a new run.
pub fn merge(names: &[RunIn], global: &GlobalOptions) -> Result<(), Failure> {
    let mut merged = Merged::default();
    let mut taken = BTreeSet::new();
    for name in names {
        let path = name.database.as_deref().unwrap_or(&global.db);
        let source = Store::open_read_only(path)?;
        let run = source.run(find(&source, name.run)?)?;
        if !taken.insert((identity(path), run.id)) {
            return Err(Failure::usage(format!(
                "run {} of {} is given twice",
                run.id,
                path.display()
            )));
        }
        merged.add(&source, &run, path)?;
    }
    let summary = merged.summary();
    let notes = merged.notes.clone();
    let store = RunStore::open(&global.db)?;
    let target = format!("{} merged runs", names.len());
    let parameters = json!({ "merged": merged.sources });
    let mut begun = new_run("load", &target, &parameters, &HostFacts::read(None));
    begun.started_unix_ns = merged.began_unix_ns;
    let run = store.begin(&begun, "merge", true)?;
    let id = run.id();
    for row in merged.rows() {
        run.record(row);
    }
    let kept = run.finish(&Ended::finished(), &stored(&summary))?;
    let notes = [notes, kept.notes()].concat();
    let result = StoredResult::new(&store, id, "load", Outcome::Finished, &notes);
    result.print(global.json, &summary, || tables::load(&summary))
}

/// One file is one database, by whatever name.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Sums of all runs.
#[derive(Default)]
struct Merged {
    account: Account,
    quality: Quality,
    /// Viewers at once, by the second.
    viewers: BTreeMap<u64, u64>,
    arrivals: u64,
    cpu_ns: u64,
    busiest: f64,
    limited: bool,
    began_unix_ns: u64,
    ended_unix_ns: u64,
    sources: Vec<Value>,
    notes: Vec<String>,
}

impl Merged {
    fn add(&mut self, store: &Store, run: &Run, path: &Path) -> Result<(), Failure> {
        let name = format!("run {} of {}", run.id, path.display());
        if run.kind != "load" {
            return Err(Failure::usage(format!(
                "{name} is of kind {}; only runs of kind load can be merged",
                run.kind
            )));
        }
        if run.outcome == Outcome::Running {
            return Err(Failure::usage(format!(
                "{name} is still being recorded; merge it when it has ended"
            )));
        }
        self.sources
            .push(json!({ "database": path.display().to_string(), "run": run.id }));
        let mut kinds: BTreeMap<Kind, KindAccount> = BTreeMap::new();
        let mut timed = self.add_rows(store, run, &name, &mut kinds)?;
        self.add_histograms(store, run, &name, &mut kinds)?;
        for (kind, account) in &mut kinds {
            let summed = of_kind(&run.summary, *kind);
            account.sent = summed
                .as_ref()
                .map_or(account.requests, |kind| count(kind, "sent"));
            account.retries = summed.as_ref().map_or(0, |kind| count(kind, "retries"));
            timed = timed.saturating_sub(account.last_byte.count());
            self.account.add_kind(*kind, account);
        }
        if timed > 0 {
            self.notes.push(format!(
                "{name} lacks the distributions of {timed} of its requests, because it was killed or is from an older Weir; \
                 quantiles exclude them"
            ));
        }
        self.add_summary(run, &name);
        Ok(())
    }

    /// Adds counts; returns the number of requests with a time.
    fn add_rows(
        &mut self,
        store: &Store,
        run: &Run,
        name: &str,
        kinds: &mut BTreeMap<Kind, KindAccount>,
    ) -> Result<u64, Failure> {
        let mut timed = 0_u64;
        let mut strange = None;
        let mut end_unix_ns = 0;
        store.each_record::<StoreError>(run.id, Table::LoadSeconds, |record| {
            if let Record::LoadSecond(row) = record {
                match kind(&row.kind) {
                    Some(kind) => {
                        let account = kinds.entry(kind).or_default();
                        account.requests += row.requests;
                        account.body_bytes += row.body_bytes;
                        account.all_bytes += row.all_bytes;
                        account.connections += row.connections;
                        timed += row.last_byte.count;
                    }
                    None => strange = Some(row.kind),
                }
            }
            Ok(())
        })?;
        store.each_record::<StoreError>(run.id, Table::LoadFailures, |record| {
            if let Record::LoadFailure(row) = record {
                match (kind(&row.kind), cause(&row.cause)) {
                    (Some(kind), Some(cause)) => {
                        *kinds.entry(kind).or_default().failures.entry(cause).or_default() += row.count;
                    }
                    _ => strange = Some(row.cause),
                }
            }
            Ok(())
        })?;
        store.each_record::<StoreError>(run.id, Table::ViewerSeconds, |record| {
            if let Record::ViewerSecond(row) = record {
                *self.viewers.entry(row.unix_ns / 1_000_000_000).or_default() += row.viewers;
                self.arrivals += row.arrivals;
                self.cpu_ns += row.cpu_ns;
                end_unix_ns = end_unix_ns.max(row.unix_ns);
            }
            Ok(())
        })?;
        self.covers(run.started_unix_ns, end_unix_ns.max(run.started_unix_ns));
        match strange {
            Some(word) => Err(Failure::environment(format!(
                "{name} has requests of the unknown kind '{}'; merge it with the version of Weir that recorded it",
                word.escape_debug()
            ))),
            None => Ok(timed),
        }
    }

    fn covers(&mut self, from_unix_ns: u64, to_unix_ns: u64) {
        if self.ended_unix_ns == 0 {
            self.began_unix_ns = from_unix_ns;
        }
        self.began_unix_ns = self.began_unix_ns.min(from_unix_ns);
        self.ended_unix_ns = self.ended_unix_ns.max(to_unix_ns);
    }

    fn add_histograms(
        &mut self,
        store: &Store,
        run: &Run,
        name: &str,
        kinds: &mut BTreeMap<Kind, KindAccount>,
    ) -> Result<(), Failure> {
        let mut damaged = false;
        store.each_record::<StoreError>(run.id, Table::LoadHistograms, |record| {
            let Record::LoadHistogram(row) = record else {
                return Ok(());
            };
            let Some(histogram) = histogram(&row) else {
                damaged = true;
                return Ok(());
            };
            match (kind(&row.kind), row.time.as_str()) {
                (Some(kind), "first_byte") => kinds.entry(kind).or_default().first_byte.merge(&histogram),
                (Some(kind), "last_byte") => kinds.entry(kind).or_default().last_byte.merge(&histogram),
                (None, "startup") => self.quality.startup.merge(&histogram),
                (None, "rebuffer_ppm") => self.quality.rebuffer_ppm.merge(&histogram),
                (None, "bitrate") => self.quality.bitrates.merge(&histogram),
                (None, "capacity") => self.quality.capacities.merge(&histogram),
                (None, "schedule_error") => self.account.schedule_error.merge(&histogram),
                _ => damaged = true,
            }
            Ok(())
        })?;
        if damaged {
            return Err(Failure::environment(format!(
                "{name} has an unreadable distribution in load_histograms; the results store is damaged"
            )));
        }
        Ok(())
    }

    fn add_summary(&mut self, run: &Run, name: &str) {
        let summary = &run.summary;
        self.busiest = self.busiest.max(summary["busiest"].as_f64().unwrap_or(0.0));
        self.limited |= summary["generator_limited"] == true;
        if summary.is_null() {
            self.notes.push(format!(
                "{name} has no summary; its sessions are missing from the sum"
            ));
        }
        let lived = &summary["quality"];
        if lived.is_null() {
            return;
        }
        let quality = &mut self.quality;
        let played_ns = count(lived, "played_ns");
        quality.sessions += count(lived, "sessions");
        quality.never_started += count(lived, "never_started");
        quality.gave_up += count(lived, "gave_up");
        quality.stalled_sessions += count(lived, "stalled_sessions");
        quality.played_ns += played_ns;
        quality.stalls += count(lived, "stalls");
        quality.stalled_ns += count(lived, "stalled_ns");
        quality.played_bits += lived["bitrate"].as_f64().unwrap_or(0.0) * played_ns as f64 / 1e9;
        quality.switches += count(lived, "switches");
    }

    fn duration_ns(&self) -> u64 {
        self.ended_unix_ns.saturating_sub(self.began_unix_ns)
    }

    fn summary(&self) -> LoadSummary {
        LoadSummary {
            most_viewers: self.viewers.values().copied().max().unwrap_or(0),
            arrivals: self.arrivals,
            cpu_ns: self.cpu_ns,
            busiest: self.busiest,
            generator_limited: self.limited,
            ..LoadSummary::of(&self.account, &self.quality, self.duration_ns())
        }
    }

    /// Stores the sums as one long second, with the distributions, so that a merged run can be merged as well.
    fn rows(&self) -> Vec<Record> {
        let (unix_ns, duration_ns) = (self.ended_unix_ns, self.duration_ns());
        let mut rows = second_rows(&Second {
            unix_ns,
            duration_ns,
            account: self.account.clone(),
            quality: self.quality.clone(),
            viewers: self.viewers.values().copied().max().unwrap_or(0),
            arrivals: self.arrivals,
            cpu_ns: self.cpu_ns,
            busiest: self.busiest,
            metrics: None,
            segments: Vec::new(),
        });
        rows.extend(histogram_rows(unix_ns, duration_ns, &self.account, &self.quality));
        rows
    }
}

fn kind(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.name() == name)
}

fn cause(name: &str) -> Option<Cause> {
    Cause::ALL.into_iter().find(|cause| cause.name() == name)
}

fn count(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

/// The summary of one kind.
fn of_kind(summary: &Value, kind: Kind) -> Option<Value> {
    let kinds = summary["kinds"].as_array()?;
    kinds.iter().find(|one| one["kind"] == kind.name()).cloned()
}

/// Parses a stored distribution; none if it is unreadable.
fn histogram(row: &LoadHistogram) -> Option<DurationHistogram> {
    let buckets: Vec<(i64, u64)> = serde_json::from_str(&row.buckets).ok()?;
    let histogram =
        DurationHistogram::from_buckets(&buckets, row.min_ns, row.max_ns, i128::from(row.sum_ns))?;
    (histogram.count() == row.count).then_some(histogram)
}
