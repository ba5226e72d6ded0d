//! From a store to the document: which runs, in which order, and what belongs to each. It must not know how a series is
//! made.

use std::collections::BTreeSet;

use weir_diagnose::{DiagnoseError, Options, diagnose_with};
use weir_results::{Run, RunFilter, RunId, Store};

use crate::ReportError;
use crate::data::{FORMAT, MeshData, ReportData, RunData, VERSION};
use crate::series;

/// Reads `runs` and their parts into one document, all of it at one state of the database. `now` is when, Unix
/// nanoseconds. Memory is bounded by the limits of the series, whatever the length of the runs. They are diagnosed with
/// `options`.
///
/// # Errors
/// When the store cannot be read or a run is not in it. That a run cannot be diagnosed is no error.
pub fn report_data(
    store: &Store,
    runs: &[RunId],
    now: u64,
    options: &Options,
) -> Result<ReportData, ReportError> {
    let _one_state = store.snapshot()?;
    let mut data = ReportData {
        format: FORMAT,
        version: VERSION,
        weir_version: env!("CARGO_PKG_VERSION"),
        made_unix_ns: now,
        runs: Vec::new(),
        mesh: None,
    };
    let mut taken = BTreeSet::new();
    for run in runs {
        add(store, store.run(*run)?, Some(options), &mut taken, &mut data.runs)?;
    }
    data.mesh = mesh_of(store, &data.runs)?;
    Ok(data)
}

/// The tests between places of these runs together; none where fewer than two have some, for one run draws its own.
fn mesh_of(store: &Store, runs: &[RunData]) -> Result<Option<MeshData>, ReportError> {
    let with_tests: Vec<&Run> = runs
        .iter()
        .filter(|data| data.series.contains_key("mesh_tests"))
        .map(|data| &data.run)
        .collect();
    let earliest = with_tests.iter().map(|run| run.started_unix_ns).min();
    let (Some(started_unix_ns), 2..) = (earliest, with_tests.len()) else {
        return Ok(None);
    };
    let runs: Vec<RunId> = with_tests.iter().map(|run| run.id).collect();
    let series = series::of_mesh(store, &runs, started_unix_ns)?;
    Ok(Some(MeshData {
        runs,
        started_unix_ns,
        series,
    }))
}

/// Adds a run and its parts, if they are not there yet. Parts are not diagnosed.
fn add(
    store: &Store,
    run: Run,
    options: Option<&Options>,
    taken: &mut BTreeSet<RunId>,
    found: &mut Vec<RunData>,
) -> Result<(), ReportError> {
    if !taken.insert(run.id) {
        return Ok(());
    }
    let id = run.id;
    let (mut diagnosis, mut no_diagnosis) = (None, None);
    if let Some(options) = options {
        match weir_diagnose::load(store, id) {
            Ok(measured) => diagnosis = Some(diagnose_with(&measured, options)),
            Err(DiagnoseError::Store(error)) => return Err(error.into()),
            // Nothing is missing: its own summary describes it.
            Err(DiagnoseError::Carried { .. }) => {}
            Err(error) => no_diagnosis = Some(error.to_string()),
        }
    }
    let clock_steps = store.clock_steps(id)?;
    let series = series::of_run(store, &run)?;
    // Months of flow tests are too many; alarms name the runs with their evidence.
    let has_parts = run.kind != series::WATCH;
    found.push(RunData {
        run,
        diagnosis,
        no_diagnosis,
        clock_steps,
        series,
    });
    if !has_parts {
        return Ok(());
    }
    let mut parts = store.runs(&RunFilter {
        parent: Some(id),
        ..RunFilter::default()
    })?;
    // They come the newest first.
    parts.reverse();
    for part in parts {
        add(store, part, None, taken, found)?;
    }
    Ok(())
}
