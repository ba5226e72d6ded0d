//! `weir mesh import` and `weir mesh export`: tests between places from and to files.

use std::fs::File;
use std::io;

use crate::args::{GlobalOptions, ImportArgs, MeshExportArgs};
use serde_json::json;
use weir_mesh::filter::ExactPair;
use weir_mesh::import::{ImportOptions, MOST_BYTES, export_csv, import, read_locations};
use weir_mesh::place::Places;
use weir_net::host::HostFacts;
use weir_results::Store;

use super::super::output::{print, say};
use super::super::run_store::{Ended, RunStore, new_run};
use super::super::{Failure, runs};
use weir_units::count_of;

/// Reads the file and stores its tests as one run.
pub fn run(args: &ImportArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let (name, bytes) = super::read_file(&args.file, MOST_BYTES)?;
    let (mut places, mut notes) = (Places::known().clone(), Vec::new());
    if let Some(path) = &args.locations {
        let (name, bytes) = super::read_file(path, MOST_BYTES)?;
        let (more, mended) = read_locations(&name, &bytes)?;
        for place in more.iter() {
            places.add(place.clone());
        }
        notes.extend(mended);
    }
    let pair = args.pair.as_deref().map(str::parse::<ExactPair>).transpose()?;
    if let Some(pair) = &pair {
        for end in [&pair.from, &pair.to] {
            // A place with a cloud must be a known region; any other name is the user's.
            if !end.place.cloud.is_empty() {
                places.find(&end.place.to_string())?;
            }
        }
    }
    let options = ImportOptions {
        as_published: args.as_published,
        pair: pair.map(|pair| (pair.from.place, pair.to.place)),
    };
    let imported = import(&name, &bytes, &places, &options)?;
    notes.extend(imported.notes);
    let store = RunStore::open(&global.db)?;
    let parameters = json!({
        "file": name,
        "source": imported.source,
        "as_published": args.as_published,
        "locations": args.locations.as_ref().map(|path| path.display().to_string()),
    });
    let run = store.begin_parent(&new_run(
        "mesh",
        imported.source,
        &parameters,
        &HostFacts::read(None),
    ))?;
    let kept = store.store().add_mesh_tests(run, &imported.tests);
    let failed = imported.tests.iter().filter(|test| test.reason.is_some()).count();
    let impossible = imported
        .tests
        .iter()
        .filter(|test| test.faster_than_light)
        .count();
    let summary = json!({
        "source": imported.source,
        "tests": imported.tests.len(),
        "failed": failed,
        "faster_than_light": impossible,
        "notes": notes,
    });
    let end = match &kept {
        Ok(()) => Ended::finished(),
        Err(error) => Ended::failed(error),
    };
    store.end(run, &end, &summary)?;
    kept?;
    if global.json {
        let mut line = summary;
        line["run"] = json!({ "id": run, "database": store.path().display().to_string() });
        return print(&format!("{line}\n"));
    }
    if !global.quiet {
        for note in &notes {
            say(&format!("weir: note: {note}"));
        }
    }
    print(&format!(
        "{} of {} kept as run {run} in {}\n",
        count_of(imported.tests.len() as u64, "test"),
        imported.source,
        store.path().display()
    ))
}

/// Writes tests as CSV.
pub fn export(args: &MeshExportArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let tests = super::tests(&store, &args.run, args.failed)?;
    let written = match &args.output {
        Some(path) if runs::is_same_file(path, store.path()) => {
            return Err(Failure::usage(format!(
                "-o {} is the results store itself; name another file",
                path.display()
            )));
        }
        Some(path) => File::create(path)
            .map_err(csv_error)
            .and_then(|file| export_csv(tests.iter(), file).map_err(|error| error.to_string())),
        None => match export_csv(tests.iter(), io::stdout().lock()) {
            // A closed pipe: the reader has stopped reading.
            Err(error) if is_closed_pipe(&error) => Ok(()),
            other => other.map_err(|error| error.to_string()),
        },
    };
    written.map_err(|error| Failure::environment(format!("cannot write the tests: {error}")))
}

fn csv_error(error: io::Error) -> String {
    error.to_string()
}

fn is_closed_pipe(error: &weir_mesh::import::CsvError) -> bool {
    matches!(error.kind(), weir_mesh::import::CsvErrorKind::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
}
