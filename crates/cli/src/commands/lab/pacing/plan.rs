//! From arguments to a scenario that this host can run.

use std::path::Path;

use crate::args::LabPacingArgs;
use serde_json::{Value, json};
use weir_lab::pacing::{Scenario, Server, named, nginx, scenarios};
use weir_net::tcp::CongestionControl;
use weir_units::TimeSpan;

use super::super::scenario_text;
use crate::commands::Failure;

/// Margin by which a title is longer than a trial, so that it does not end first.
pub const SPARE_SECONDS: u64 = 120;

/// The requested scenario, with the overrides of the other arguments.
pub fn scenario(name: &str, args: &LabPacingArgs, notes: &mut Vec<String>) -> Result<Scenario, Failure> {
    let mut scenario = read(name)?;
    if let Some(repeats) = args.repeats {
        scenario.repeats = repeats;
    }
    if let Some(duration) = args.duration {
        scenario.duration = duration;
    }
    if !args.congestion.is_empty() {
        scenario.congestion = congestion(&args.congestion)?;
    }
    choose("case", &mut scenario.cases, |case| &case.name, &args.case, 0)?;
    // The first variant stays: others are compared with it.
    choose(
        "variant",
        &mut scenario.variants,
        |variant| &variant.name,
        &args.only,
        1,
    )?;
    leave_out_nginx(&mut scenario, notes)?;
    Ok(scenario)
}

fn read(name: &str) -> Result<Scenario, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    if let Some(text) = named(name) {
        return Scenario::parse(text, name, Path::new(".")).map_err(|error| usage(&error));
    }
    let text = scenario_text::read(name, &known())?;
    let path = Path::new(name);
    let base = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Scenario::parse(&text, name, base.unwrap_or(Path::new("."))).map_err(|error| usage(&error))
}

/// Error for a name that is neither a scenario nor a file.
pub fn unknown(name: &str) -> Failure {
    scenario_text::unknown(name, &known())
}

fn known() -> Vec<&'static str> {
    scenarios().map(|(name, _)| name).collect()
}

fn congestion(names: &[String]) -> Result<Vec<CongestionControl>, Failure> {
    let mut found = Vec::new();
    for name in names {
        let known = CongestionControl::named(name).ok_or_else(|| {
            Failure::usage(format!(
                "unknown congestion control '{name}'; use reno, cubic or bbr"
            ))
        })?;
        if !found.contains(&known) {
            found.push(known);
        }
    }
    Ok(found)
}

/// Retains those of these names, if any are wanted; the first `always` stay.
fn choose<T>(
    what: &str,
    from: &mut Vec<T>,
    name: impl Fn(&T) -> &str,
    wanted: &[String],
    always: usize,
) -> Result<(), Failure> {
    let names: Vec<&str> = from.iter().map(&name).collect();
    if let Some(other) = wanted.iter().find(|wanted| !names.contains(&wanted.as_str())) {
        return Err(Failure::usage(format!(
            "unknown {what} '{other}'; use one of {}",
            names.join(", ")
        )));
    }
    let mut number = 0;
    from.retain(|one| {
        number += 1;
        wanted.is_empty() || number <= always || wanted.iter().any(|wanted| wanted == name(one))
    });
    Ok(())
}

fn leave_out_nginx(scenario: &mut Scenario, notes: &mut Vec<String>) -> Result<(), Failure> {
    let needs = scenario
        .variants
        .iter()
        .any(|variant| matches!(variant.server, Server::Nginx(_)));
    if !needs || nginx().is_some() {
        return Ok(());
    }
    const HOW: &str =
        "nginx is not installed; on Debian and Ubuntu 'apt-get install nginx-light' installs it";
    scenario
        .variants
        .retain(|variant| !matches!(variant.server, Server::Nginx(_)));
    if scenario.variants.is_empty() {
        return Err(Failure::environment(format!(
            "{HOW}; all variants of this scenario need it"
        )));
    }
    notes.push(format!("{HOW}; its variant is omitted"));
    Ok(())
}

/// Parameters of the run, for the store.
pub fn parameters(scenario: &Scenario, max_lateness: TimeSpan) -> Value {
    let variants = scenario.variants.iter().map(|variant| {
        let (server, limit) = match variant.server {
            Server::Weir => ("weir", None),
            Server::Nginx(limit) => ("nginx", limit),
        };
        json!({
            "name": variant.name,
            "server": server,
            "limit_rate": limit.map(|rate| rate.0),
            "pace": variant.pace.to_string(),
            "burst": variant.burst,
            "pace_factor": variant.origin.bounds.factor,
            "pace_burst": variant.origin.burst.to_string(),
        })
    });
    let cases: Vec<&str> = scenario.cases.iter().map(|case| case.name.as_str()).collect();
    let congestion: Vec<&str> = scenario.congestion.iter().map(|name| name.name()).collect();
    json!({
        "link": scenario.link,
        "rungs": scenario.media.rungs.iter().map(|rate| rate.0).collect::<Vec<u64>>(),
        "segment_ns": scenario.media.segment.0,
        "abr": scenario.player.abr.to_string(),
        "buffer_ns": scenario.player.buffer.0,
        "congestion": congestion,
        "repeats": scenario.repeats,
        "warm_up_ns": scenario.warm_up.0,
        "for_ns": scenario.duration.0,
        "variants": variants.collect::<Vec<Value>>(),
        "cases": cases,
        "max_lateness_ns": max_lateness.0,
    })
}
