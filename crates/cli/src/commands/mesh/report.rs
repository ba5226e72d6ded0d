//! `weir mesh report`: how tests vary with distance, and which place is best.

use std::collections::BTreeSet;

use crate::args::{GlobalOptions, Least, MeshReportArgs};
use crate::units::format_bytes;
use serde::Serialize;
use weir_mesh::best::{Candidate, Minimise, rank};
use weir_mesh::place::{Place, PlaceName, Places};
use weir_mesh::price::Prices;
use weir_mesh::report::{Report, report};
use weir_results::{MeshTest, RunId, Store};

use super::super::Failure;
use super::super::output::print;
use super::super::report::write_runs;
use super::super::run_store::json;
use super::super::tables;

/// What is printed.
#[derive(Serialize)]
struct Printed<'r> {
    #[serde(flatten)]
    report: &'r Report,
    best: Option<Vec<Candidate>>,
    html: Option<Html>,
}

/// The file that was written.
#[derive(Serialize)]
struct Html {
    path: String,
    bytes: u64,
}

/// Prints the report.
pub fn run(args: &MeshReportArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let (runs, tests): (BTreeSet<RunId>, Vec<MeshTest>) =
        super::tests(&store, &args.run, false)?.into_iter().unzip();
    if tests.is_empty() {
        return Err(Failure::usage(format!(
            "no tests between places in {}; create some with 'weir mesh run' or 'weir mesh import'",
            store.path().display()
        )));
    }
    let report = report(&tests);
    let prices = super::prices(args.prices.as_deref())?;
    let best = if args.peers.is_empty() {
        None
    } else {
        Some(best(args, &tests, &report, &prices)?)
    };
    let html = match &args.html {
        None => None,
        Some(path) => {
            let runs: Vec<RunId> = runs.into_iter().collect();
            let bytes = write_runs(&store, &runs, path, args.force)?;
            let path = path.display().to_string();
            Some(Html { path, bytes })
        }
    };
    if global.json {
        let printed = Printed {
            report: &report,
            best,
            html,
        };
        return print(&format!("{}\n", json(&printed)));
    }
    print(&tables::mesh_report(&report, best.as_deref(), global.verbose > 0))?;
    if !args.peers.is_empty() {
        print(&tables::mesh_prices(&prices))?;
    }
    match html {
        None => Ok(()),
        Some(Html { path, bytes }) => print(&format!("\n{path}, {}\n", format_bytes(bytes))),
    }
}

fn best(
    args: &MeshReportArgs,
    tests: &[MeshTest],
    report: &Report,
    prices: &Prices,
) -> Result<Vec<Candidate>, Failure> {
    let mut places = Places::known().clone();
    for test in tests {
        for end in [&test.from, &test.to] {
            let name = PlaceName::new(&end.cloud, &end.region);
            if places.get(&name).is_none() {
                let point = end.latitude.zip(end.longitude).and_then(|(latitude, longitude)| {
                    weir_mesh::distance::Coordinates::new(latitude, longitude)
                });
                places.add(Place::own(name, point));
            }
        }
    }
    let peers = args
        .peers
        .iter()
        .map(|name| places.find(name).cloned())
        .collect::<Result<Vec<Place>, _>>()?;
    let minimise = match args.minimise {
        Least::MaxRtt => Minimise::MaxRtt,
        Least::MeanRtt => Minimise::MeanRtt,
        Least::Egress => Minimise::Egress,
    };
    let ranked = rank(tests, report, &places, prices, &peers, minimise);
    if ranked.is_empty() {
        return Err(Failure::usage(
            "cannot rank any place: these peers have neither tests nor distances and prices",
        ));
    }
    Ok(ranked)
}
