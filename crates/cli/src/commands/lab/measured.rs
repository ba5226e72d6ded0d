//! What was measured, from files and from the store.

use std::path::Path;

use weir_net::bounded_file;
use weir_player::recorded::{Film, Gap, Trace};
use weir_population::{Measured, MeasuredPath, paths_of_mesh};
use weir_results::{MeshFilter, Store};

use super::Failure;
use crate::args::{GlobalOptions, MeasuredOptions, RunIn};
use crate::commands::output::say;
use crate::commands::run_store::find;

/// Longest file.
const MOST_BYTES: u64 = 64 << 20;
/// Gaps of a trace that are named.
const MOST_NAMED: usize = 5;

/// Reads all of it; what was left out is reported.
pub fn measured(options: &MeasuredOptions, global: &GlobalOptions) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    let mut notes = Vec::new();
    for file in &options.traces {
        let trace = Trace::read(&text(file)?).map_err(|error| wrong(file, &error))?;
        notes.extend(gaps(file, &trace.gaps));
        let path = MeasuredPath::of_trace(file.display().to_string(), &trace);
        measured.paths.push(path);
    }
    if let Some(run) = &options.mesh {
        let (paths, left_out) = of_mesh(run, global)?;
        if left_out > 0 {
            notes.push(format!("{left_out} pairs without an RTT or a rate are left out"));
        }
        measured.paths = paths;
    }
    if let Some(file) = &options.sizes {
        let film = Film::read(&text(file)?).map_err(|error| wrong(file, &error))?;
        measured.film = Some(film.into());
    }
    if !global.quiet {
        notes.iter().for_each(|note| say(note));
    }
    Ok(measured)
}

fn gaps(file: &Path, gaps: &[Gap]) -> Vec<String> {
    let named = gaps.iter().take(MOST_NAMED);
    let mut notes: Vec<String> = named
        .map(|gap| format!("{}: {gap}: left out, what follows comes at once", file.display()))
        .collect();
    if gaps.len() > MOST_NAMED {
        notes.push(format!("{}: {} gaps in all", file.display(), gaps.len()));
    }
    notes
}

fn of_mesh(run: &RunIn, global: &GlobalOptions) -> Result<(Vec<MeasuredPath>, usize), Failure> {
    let path = run.database.as_deref().unwrap_or(&global.db);
    let store = Store::open_read_only(path)?;
    let found = store.run(find(&store, run.run)?)?;
    let only = MeshFilter {
        runs: vec![found.id],
        ..MeshFilter::default()
    };
    let tests: Vec<_> = store
        .mesh_tests(&only)?
        .into_iter()
        .map(|(_, test)| test)
        .collect();
    match paths_of_mesh(&tests) {
        (paths, _) if paths.is_empty() => Err(Failure::usage(format!(
            "run {} of {} has no pair with an RTT and a rate; name a run of 'weir mesh'",
            found.id,
            path.display()
        ))),
        paths => Ok(paths),
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    bounded_file::read_text(file, MOST_BYTES).map_err(|error| wrong(file, &error))
}

fn wrong(file: &Path, problem: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {problem}", file.display()))
}
