//! `weir twin`: the path of a stored run as a link, and its tests over that.

use std::io::Write as _;

use crate::args::{GlobalOptions, TwinArgs};
use serde_json::json;
use weir_diagnose::{Comparison, Measured, Twin, compare};
use weir_results::Store;

use super::output::{print, say};
use super::progress::Waiting;
use super::run_store::find;
use super::{Failure, new_file, tables};

/// Builds the twin, checks it if that is asked for, and writes or prints it.
pub fn run(args: &TwinArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    if let Some(path) = &args.output {
        new_file::check(path, store.path(), args.force)?;
    }
    let run = find(&store, args.run)?;
    let waiting = Waiting::new("building the twin", global.quiet);
    let measured = weir_diagnose::load(&store, run)?;
    let twin = weir_diagnose::twin(&measured)?;
    let comparison = args.check.then(|| check(&measured, &twin)).transpose()?;
    drop(waiting);
    if let Some(path) = &args.output {
        new_file::write(path, args.force, |mut file| {
            let written = file.write_all(twin.toml.as_bytes());
            written.map_err(|error| new_file::failed(path, &error))
        })?;
    }
    if global.json {
        let object = json!({
            "run": run,
            "path": args.output.as_ref().map(|path| path.display().to_string()),
            "toml": twin.toml,
            "left_out": twin.left_out,
            "comparison": comparison,
        });
        return print(&format!("{object}\n"));
    }
    match (&comparison, &args.output) {
        (Some(comparison), _) => print(&tables::comparison(run, comparison))?,
        (None, None) => print(&twin.toml)?,
        (None, Some(_)) => {}
    }
    if let Some(path) = args.output.as_ref().filter(|_| !global.quiet) {
        let path = path.display();
        say(&format!(
            "{path} written; try it: weir lab run {path} -- weir survey far"
        ));
    }
    Ok(())
}

/// The tests of the run over its twin, kept no longer than it takes.
fn check(measured: &Measured, twin: &Twin) -> Result<Comparison, Failure> {
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::environment(format!("cannot create a temporary folder for the tests: {error}"))
    })?;
    let mut store = Store::open(folder.path().join("twin.db"))?;
    let repeated = weir_simulate::repeat(measured, twin, &mut store)?;
    Ok(compare(measured, &repeated))
}
