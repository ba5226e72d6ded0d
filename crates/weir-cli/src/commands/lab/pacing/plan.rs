//! From arguments to a scenario that can be carried out here.

use std::path::Path;

use serde_json::{Value, json};
use weir_cli::args::LabPacingArgs;
use weir_lab::pacing::{CongestionControl, Scenario, Server, named, scenarios};

use super::super::scenario_text;
use super::servers;
use crate::commands::Failure;

/// A title lasts so much longer than a trial, so that it does not end within.
pub const SPARE_SECONDS: u64 = 120;

/// The scenario that is asked for, as the other arguments change it.
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
    choose_cases(&mut scenario, &args.case)?;
    choose_variants(&mut scenario, &args.only)?;
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

/// What names neither a scenario nor a file.
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
                "there is no congestion control '{name}'; there are reno, cubic, bbr"
            ))
        })?;
        if !found.contains(&known) {
            found.push(known);
        }
    }
    Ok(found)
}

fn no_such(what: &str, name: &str, known: &[String]) -> Failure {
    Failure::usage(format!(
        "there is no {what} '{name}'; there are {}",
        known.join(", ")
    ))
}

fn choose_cases(scenario: &mut Scenario, wanted: &[String]) -> Result<(), Failure> {
    let names: Vec<String> = scenario.cases.iter().map(|case| case.name.clone()).collect();
    if let Some(other) = wanted.iter().find(|name| !names.contains(name)) {
        return Err(no_such("case", other, &names));
    }
    if !wanted.is_empty() {
        scenario.cases.retain(|case| wanted.contains(&case.name));
    }
    Ok(())
}

/// The first variant stays: it is what others are compared with.
fn choose_variants(scenario: &mut Scenario, wanted: &[String]) -> Result<(), Failure> {
    let names: Vec<String> = scenario
        .variants
        .iter()
        .map(|variant| variant.name.clone())
        .collect();
    if let Some(other) = wanted.iter().find(|name| !names.contains(name)) {
        return Err(no_such("variant", other, &names));
    }
    if !wanted.is_empty() {
        let first = names.first().cloned();
        scenario
            .variants
            .retain(|variant| Some(&variant.name) == first.as_ref() || wanted.contains(&variant.name));
    }
    Ok(())
}

fn leave_out_nginx(scenario: &mut Scenario, notes: &mut Vec<String>) -> Result<(), Failure> {
    let needs = scenario
        .variants
        .iter()
        .any(|variant| matches!(variant.server, Server::Nginx(_)));
    if !needs || servers::nginx().is_some() {
        return Ok(());
    }
    const HOW: &str =
        "nginx is not installed here; on Debian and Ubuntu 'apt-get install nginx-light' installs it";
    scenario
        .variants
        .retain(|variant| !matches!(variant.server, Server::Nginx(_)));
    if scenario.variants.is_empty() {
        return Err(Failure::environment(format!(
            "{HOW}; there is nothing to measure without it"
        )));
    }
    notes.push(format!("{HOW}; its variant is left out"));
    Ok(())
}

/// What the store keeps of how a run was asked for.
pub fn parameters(scenario: &Scenario, args: &LabPacingArgs) -> Value {
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
        "max_lateness_ns": args.max_lateness.0,
    })
}
