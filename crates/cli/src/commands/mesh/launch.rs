//! `weir mesh launch`: launches machines, keeps them, and removes them whatever happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::args::{GlobalOptions, LaunchArgs, MachineArgs, MeshPlanArgs};
use serde_json::{Value, json};
use weir_mesh::cloud::network::Placement;
use weir_mesh::cloud::record::PlaceRecord;
use weir_mesh::cloud::{Arch, Image, Launch, of_cloud};
use weir_mesh::engine::Engine;
use weir_mesh::held::{Held, Means, now_unix_s};
use weir_mesh::launch::Removed;
use weir_mesh::run::threads::Presses;

use super::super::output::{print, say};
use super::super::{Failure, tables};
use super::launches::{own_program, random_hex, state_folder};
use super::plan;

/// Maximum lifetime of machines: 30 days.
const MOST_LIFE_S: u64 = 30 * 24 * 3600;
/// Characters of a launch's name.
const RUN_LENGTH: usize = 10;

/// Launches machines, keeps them, and removes them.
pub fn run(args: &LaunchArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = super::presses::watch()?;
    let plan = MeshPlanArgs {
        hosts: None,
        group: None,
        filter: args.filter.clone(),
        shape: args.shape.clone(),
        cost: args.cost.clone(),
    };
    let held = launch(&args.machines, &plan, &args.ssh, &presses, global)?;
    if let Some(output) = &args.output {
        std::fs::copy(&held.hosts_file, output)
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", output.display())))?;
    }
    tell(&held, global)?;
    held.hold(&|| presses.count() > 0, plan.cost.max_usd);
    let removed = held.remove()?;
    if global.json {
        print(&format!("{}\n", removed_json(&removed)))?;
    }
    Ok(())
}

/// Launches a machine for each place of the plan, and waits until they answer.
pub fn launch(
    args: &MachineArgs,
    plan_args: &MeshPlanArgs,
    ssh: &str,
    presses: &Presses,
    global: &GlobalOptions,
) -> Result<Held, Failure> {
    let made = plan::make(plan_args, global)?;
    made.check()?;
    let mut launch = Launch {
        zones: made.zones(),
        peering: plan_args.filter.peering,
        // Fewer are no mesh.
        least: 2,
        ..spec(args)?
    };
    if let Some(preset) = made.preset {
        preset.order(&mut launch);
    }
    let prices = super::prices(plan_args.cost.prices.as_deref())?;
    let places = |launch: &Launch| made.places(launch, &prices);
    let held = begin(args, &mut launch, places, (presses, made.limits.max_usd), global)?;
    if !global.quiet {
        say(tables::mesh_plan(&made).trim_end());
    }
    held.up(&mut launch, ssh, presses)?;
    Ok(held)
}

/// Writes down a launch of these places; nothing is made.
pub fn begin(
    args: &MachineArgs,
    launch: &mut Launch,
    places: impl FnOnce(&Launch) -> Vec<PlaceRecord>,
    (presses, max_usd): (&Presses, Option<f64>),
    global: &GlobalOptions,
) -> Result<Held, Failure> {
    launch.check()?;
    let own = args.machines_by.as_deref().map(own_program).transpose()?;
    let engine = match &args.engine {
        Some(program) => Engine {
            program: own_program(program)?,
        },
        None => Engine::find(std::env::var_os("PATH").as_deref())
            .map_err(|error| Failure::environment(error.to_string()))?,
    };
    launch.run = random_hex()?[..RUN_LENGTH].to_owned();
    let quiet = global.quiet;
    let means = Means {
        engine,
        own,
        state: &state_folder(args.state.as_deref())?,
        at_once: usize::from(args.at_once),
        presses,
        tell: Arc::new(move |text| tell_unless(quiet, text)),
        complain: Arc::new(|text| tell_unless(false, text)),
    };
    let held = Held::begin(launch, places, means)?;
    let record = held.record();
    let mut places = record.iter().flat_map(|record| &record.places);
    if !quiet && max_usd.is_some() && places.any(|place| place.usd_per_hour.is_none()) {
        say(
            "note: --max-usd excludes machines without a known price; set it with --prices, as in \
            aws,*,vm-hour,0.09",
        );
    }
    Ok(held)
}

/// Says what happens, unless --quiet is given.
fn tell_unless(quiet: bool, text: &str) {
    if !quiet {
        say(&format!("weir: {text}"));
    }
}

/// The launch that the arguments describe.
pub fn spec(args: &MachineArgs) -> Result<Launch, Failure> {
    if args.admit.is_empty() && args.machines_by.is_none() {
        return Err(Failure::usage(
            "--admit is required: your public address, which alone may reach the machines by SSH \
            (https://checkip.amazonaws.com prints it)",
        ));
    }
    let machine_types: BTreeMap<String, String> = args
        .machine_type
        .iter()
        .map(|text| of_cloud(text).map(|(cloud, kind)| (cloud, kind.to_owned())))
        .collect::<Result<_, _>>()?;
    let images: BTreeMap<String, Image> = args
        .image
        .iter()
        .map(|text| of_cloud(text).and_then(|(cloud, system)| Ok((cloud, system.parse()?))))
        .collect::<Result<_, _>>()?;
    let life_s = args.delete_after.0 / 1_000_000_000;
    if !(60..=MOST_LIFE_S).contains(&life_s) {
        return Err(Failure::usage(
            "--delete-after must be from 1 minute to 30 days, as in 2h",
        ));
    }
    Ok(Launch {
        life_s,
        arch: if args.arm { Arch::Arm } else { Arch::X86 },
        admit: args
            .admit
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?,
        machine_types,
        images,
        spot: args.spot,
        mtu: args.mtu.as_deref().map(str::parse).transpose()?,
        placement: match (args.placement_group, args.fault_domains) {
            (true, _) => Placement::Close,
            (false, true) => Placement::Apart,
            (false, false) => Placement::Any,
        },
        oracle_compartment: args.oracle_compartment.clone(),
        ..Launch::default()
    })
}

/// Reports the machines.
fn tell(held: &Held, global: &GlobalOptions) -> Result<(), Failure> {
    let Some(record) = held.record() else {
        return Ok(());
    };
    let now = now_unix_s();
    if global.json {
        let object = json!({
            "event": "up",
            "launch": record.run,
            "hosts_file": held.hosts_file.display().to_string(),
            "delete_after_unix_s": record.delete_after_unix_s,
            "places": record.places.iter().map(|place| place_json(place, now)).collect::<Vec<Value>>(),
        });
        return print(&format!("{object}\n"));
    }
    print(&format!(
        "{}launch {} has {} machines: {}\n",
        tables::mesh_machines(&record, now),
        record.run,
        record.hosts().len(),
        held.hosts_file.display()
    ))?;
    tell_unless(global.quiet, "Ctrl-C removes them");
    Ok(())
}

/// A place of a launch, for machines.
pub fn place_json(place: &PlaceRecord, now_unix_s: i64) -> Value {
    let hosts: Vec<Value> = place
        .hosts
        .iter()
        .map(|host| {
            json!({
                "name": host.name,
                "address": host.address,
                "private_address": host.private_address,
                "network": host.network,
                "zone": host.zone,
            })
        })
        .collect();
    json!({
        "place": place.place.to_string(),
        "phase": place.phase,
        "machines": place.machines,
        "hosts": hosts,
        "begun_unix_s": place.begun_unix_s,
        "gone_unix_s": place.gone_unix_s,
        "usd_per_hour": place.usd_per_hour,
        "usd": place.usd(now_unix_s),
        "problem": place.problem,
    })
}

fn removed_json(removed: &Removed) -> Value {
    let now = now_unix_s();
    json!({
        "event": "removed",
        "places": removed.places.iter().map(|place| place_json(place, now)).collect::<Vec<Value>>(),
        "tagged": removed.tagged,
        "notes": removed.notes,
    })
}
