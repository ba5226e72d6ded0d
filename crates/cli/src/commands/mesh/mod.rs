//! `weir mesh`: tests between many places.

mod import;
mod launch;
mod launches;
mod plan;
mod presses;
mod probe;
mod regions;
mod report;
mod run;
mod status;
mod sweep;
mod window;

pub use self::launch::{begin as begin_launch, spec as launch_spec};
pub use self::launches::random_hex;
pub use self::plan::hosts_of;
pub use self::presses::watch as watch_presses;
pub use self::run::{can_copy, has_ssh, programs};
pub use self::sweep::finish_launches;

use std::path::Path;

use crate::args::{GlobalOptions, MeshCommand};
use weir_mesh::price::Prices;
use weir_net::bounded_file;
use weir_results::{MeshFilter, MeshTest, RunId, Store};

use super::Failure;

/// Runs the subcommand.
pub fn run(command: &MeshCommand, global: &GlobalOptions) -> Result<(), Failure> {
    match command {
        MeshCommand::Regions(args) => regions::run(args, global),
        MeshCommand::Plan(args) => plan::run(args, global),
        MeshCommand::Run(args) => run::run(args, global),
        MeshCommand::Launch(args) => launch::run(args, global),
        MeshCommand::Status(args) => status::run(args, global),
        MeshCommand::Sweep(args) => sweep::run(args, global),
        MeshCommand::Import(args) => import::run(args, global),
        MeshCommand::Export(args) => import::export(args, global),
        MeshCommand::Report(args) => report::run(args, global),
        MeshCommand::Window(args) => window::run(args, global),
        MeshCommand::Probe(args) => probe::run(args, global),
    }
}

/// The content of a file of at most `most` bytes, and its name for messages.
fn read_file(path: &Path, most: u64) -> Result<(String, Vec<u8>), Failure> {
    let name = path.display().to_string();
    match bounded_file::read(path, most) {
        Ok(bytes) => Ok((name, bytes)),
        Err(error) => Err(Failure::usage(format!("cannot read {name}: {error}"))),
    }
}

/// The table of prices, overridden by the user's.
pub fn prices(own: Option<&Path>) -> Result<Prices, Failure> {
    const MOST: u64 = 4 << 20;
    let mut prices = Prices::known()?;
    if let Some(path) = own {
        let (name, bytes) = read_file(path, MOST)?;
        prices.override_with(&name, &String::from_utf8_lossy(&bytes))?;
    }
    Ok(prices)
}

/// Tests of the named runs, or of all.
fn tests(
    store: &Store,
    runs: &[crate::args::RunName],
    failed: bool,
) -> Result<Vec<(RunId, MeshTest)>, Failure> {
    let runs = runs
        .iter()
        .map(|run| super::run_store::find(store, *run))
        .collect::<Result<Vec<RunId>, Failure>>()?;
    for run in &runs {
        store.run(*run)?;
    }
    Ok(store.mesh_tests(&MeshFilter { runs, failed })?)
}
