//! `weir testbed audience`: viewers and costs of an origin's output.

use crate::args::{AudienceArgs, GlobalOptions};
use weir_mesh::instances::{Instance, Read, read_instances};
use weir_mesh::place::cloud;
use weir_testbed::{Audience, Catalogue, Machine, Reach};

use super::super::Failure;
use super::super::output::print;
use super::super::run_store::json;
use super::super::tables;

/// Calculates and prints.
pub fn run(args: &AudienceArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let clouds = args.cloud.iter().map(|name| cloud(name));
    let clouds: Vec<&str> = clouds.collect::<Result<_, _>>()?;
    let catalogue = match (args.titles, args.cached) {
        (Some(titles), Some(cached)) if cached < titles => Some(Catalogue {
            titles,
            zipf: args.zipf,
            cached,
        }),
        (Some(titles), Some(cached)) => {
            return Err(Failure::usage(format!(
                "--cached {cached}: a cache that holds all {titles} titles asks for each once; use less, or --hit-ratio"
            )));
        }
        _ => None,
    };
    let given = args.hit_ratio.map(weir_units::Share::fraction);
    let hit_ratio = catalogue
        .map(|catalogue| catalogue.hit_ratio())
        .or(given)
        .unwrap_or(0.0);
    if hit_ratio >= 1.0 {
        return Err(Failure::usage(
            "--hit-ratio 100% leaves nothing to the origin; use less",
        ));
    }
    let audience = Audience {
        out_bps: args.out.0 as f64,
        viewer_bps: args.rate.0 as f64,
        hit_ratio,
        at_once: args.at_once.fraction(),
    };
    if audience.at_once <= 0.0 {
        return Err(Failure::usage("--at-once 0% is nobody; use more"));
    }
    let machines: Vec<Machine> = read_instances()?
        .iter()
        .filter(|instance| clouds.is_empty() || clouds.contains(&instance.cloud.as_str()))
        .filter_map(machine)
        .collect();
    let reach = Reach::new(audience, catalogue, args.viewers, &machines);
    if global.json {
        return print(&format!("{}\n", json(&reach)));
    }
    print(&tables::testbed_audience(&reach))
}

/// An instance type whose sustained rate is published.
fn machine(instance: &Instance) -> Option<Machine> {
    Some(Machine {
        name: format!("{} {}", instance.cloud, instance.name),
        holds_bps: instance.baseline_mbps? as f64 * 1e6,
        usd_each_hour: instance.usd_hour,
        rate_read: instance.read == Read::Provider,
        price_read: instance.usd_read == Read::Provider,
        date: instance.date.clone(),
    })
}
