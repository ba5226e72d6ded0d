//! `weir mesh launch`: launches machines, keeps them, and removes them whatever happens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::args::{GlobalOptions, LaunchArgs, MachineArgs, MeshPlanArgs};
use serde_json::{Value, json};
use weir_mesh::cloud::hosts::{Files, Launched, hosts_file, known_hosts};
use weir_mesh::cloud::record::{PlaceRecord, Record};
use weir_mesh::cloud::{Arch, Keys, Launch, Own, Zone};
use weir_mesh::engine::Engine;
use weir_mesh::filter::{End, ExactPair};
use weir_mesh::launch::{Machines, Removed};
use weir_mesh::place::{Place, PlaceName, Places, cloud};
use weir_mesh::price::What;
use weir_mesh::run::MachinesCost;
use weir_mesh::run::threads::{PREPARED_AT_ONCE, Presses};
use weir_mesh::select::Node;
use weir_mesh::ssh::{on_all, reach};
use weir_mesh::state::RunFolder;

use super::super::output::{print, say};
use super::super::{Failure, tables};
use super::launches::{now_unix_s, own_program, state_folder};
use super::plan;
use super::run::random_hex;

/// Maximum lifetime of machines: 30 days.
const MOST_LIFE_S: u64 = 30 * 24 * 3600;
/// Maximum time until machines answer.
const BOOT: Duration = Duration::from_secs(300);
/// Removal takes some minutes, during which machines still cost money.
const REMOVAL_HOURS: f64 = 0.05;
const TICK: Duration = Duration::from_millis(200);
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
    held.tell(global)?;
    held.hold(&presses, plan.cost.max_usd);
    let removed = held.remove()?;
    if global.json {
        print(&format!("{}\n", removed_json(&removed)))?;
    }
    Ok(())
}

/// Zones of machines, by place.
type Zones = BTreeMap<PlaceName, Vec<Zone>>;

/// Machines that exist until this is dropped.
pub struct Held {
    machines: Option<Machines>,
    /// The hosts file.
    pub hosts_file: PathBuf,
    /// Deadline for their removal, Unix seconds.
    until_unix_s: i64,
    /// Requested zones, in the order of a place's machines.
    zones: Zones,
    quiet: bool,
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
    made.plan.estimate.check(&made.limits)?;
    let mut launch = spec(args)?;
    launch.zones = zones(&made);
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
    let folder = state_folder(args.state.as_deref())?.begin(&launch.run)?;
    launch.keys = keys(&folder).inspect_err(|_| {
        // Nothing has been launched; a leftover folder is empty.
        let _ = folder.remove();
    })?;
    let begun = now_unix_s();
    launch.delete_after_unix_s = begun.saturating_add_unsigned(launch.life_s);
    let mut record = Record::new(
        launch.run.clone(),
        begun,
        launch.delete_after_unix_s,
        engine.program.display().to_string(),
    );
    launch.own = own.map(|program| Own {
        program,
        host_key_file: folder.path.join("host_key"),
    });
    record.own = launch.own.clone();
    record.places = places(&made, &launch, plan_args)?;
    if !global.quiet {
        say(tables::mesh_plan(&made.nodes, &made.plan).trim_end());
        say_unpriced(&record, made.limits.max_usd);
    }
    let quiet = global.quiet;
    let tell = Box::new(move |text: &str| tell_unless(quiet, text));
    let machines = Machines::new(
        engine,
        folder,
        record,
        usize::from(args.at_once),
        presses.count.clone(),
        tell,
    );
    let hosts_file = machines.path().join("hosts.yaml");
    let margin = i64::try_from(launch.life_s / 10).unwrap_or(0).min(300);
    let held = Held {
        machines: Some(machines),
        hosts_file,
        until_unix_s: launch.delete_after_unix_s - margin,
        zones: launch.zones.clone(),
        quiet: global.quiet,
    };
    held.up(&mut launch, ssh, presses)?;
    Ok(held)
}

fn tell_unless(quiet: bool, text: &str) {
    if !quiet {
        say(&format!("weir: {text}"));
    }
}

/// The launch that the arguments describe.
fn spec(args: &MachineArgs) -> Result<Launch, Failure> {
    if args.admit.is_empty() && args.machines_by.is_none() {
        return Err(Failure::usage(
            "--admit is required: your public address, which alone may reach the machines by SSH \
            (https://checkip.amazonaws.com prints it)",
        ));
    }
    let mut machine_types = BTreeMap::new();
    for text in &args.machine_type {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let (name, kind) = text
            .split_once('=')
            .filter(|(_, kind)| !kind.is_empty() && kind.chars().all(fits))
            .ok_or_else(|| {
                Failure::usage(format!(
                    "'{text}' is not a machine type; write it like aws=c7i.large"
                ))
            })?;
        machine_types.insert(cloud(name)?.to_owned(), kind.to_owned());
    }
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
        spot: args.spot,
        mtu: args.mtu,
        placement_group: args.placement_group,
        oracle_compartment: args.oracle_compartment.clone(),
        ..Launch::default()
    })
}

/// Keys generated for this launch: the operator's, and the machines'.
fn keys(folder: &RunFolder) -> Result<Keys, Failure> {
    let make = |name: &str, kind: &[&str]| -> Result<(), Failure> {
        let output = Command::new("ssh-keygen")
            .args(["-q", "-N", "", "-C", "weir-mesh", "-f"])
            .arg(folder.path.join(name))
            .args(kind)
            .output()
            .map_err(|error| {
                Failure::environment(format!(
                    "cannot start 'ssh-keygen': {error}; install the OpenSSH client"
                ))
            })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failure::environment(format!(
            "ssh-keygen failed: {}",
            said.trim()
        )))
    };
    // The only kind that Azure accepts everywhere.
    make("key", &["-t", "rsa", "-b", "3072"])?;
    make("host_key", &["-t", "ed25519"])?;
    let read = |name: &str| -> Result<String, Failure> {
        const MOST: usize = 16 << 10;
        Ok(String::from_utf8_lossy(&folder.read(name, MOST)?).into_owned())
    };
    Ok(Keys {
        operator_public: read("key.pub")?,
        host_private: read("host_key")?,
        host_public: read("host_key.pub")?,
    })
}

/// The nodes that take part in the plan.
fn taking_part(made: &plan::Made) -> Vec<&Node> {
    let numbers: BTreeSet<usize> = made
        .plan
        .pairs
        .iter()
        .flat_map(|(from, to)| [*from, *to])
        .collect();
    numbers.into_iter().map(|node| &made.nodes[node]).collect()
}

/// The zone of each machine of the plan, by place.
fn zones(made: &plan::Made) -> Zones {
    let mut zones = Zones::new();
    for node in taking_part(made) {
        let of_place = zones.entry(node.place.name.clone()).or_default();
        of_place.push(Zone::of(&node.zone));
    }
    zones
}

/// The places that take part in the plan.
fn places(made: &plan::Made, launch: &Launch, args: &MeshPlanArgs) -> Result<Vec<PlaceRecord>, Failure> {
    let prices = super::prices(args.cost.prices.as_deref())?;
    let places: BTreeMap<&PlaceName, &Place> = taking_part(made)
        .into_iter()
        .map(|node| (&node.place.name, &node.place))
        .collect();
    let price = |place: &Place| {
        // The table has the smallest machines only; for others, and for a program of the user's, the user gives prices.
        let smallest = launch.own.is_none() && !launch.machine_types.contains_key(&place.name.cloud);
        let price = prices.of(place, What::VmHour)?;
        (smallest || price.is_users()).then_some(price.usd)
    };
    Ok(places
        .into_iter()
        .map(|(name, place)| {
            // At most the maximum of a region.
            let machines = u32::try_from(launch.zones_of(name).len()).unwrap_or(u32::MAX);
            PlaceRecord::new(name.clone(), machines, price(place))
        })
        .collect())
}

/// Note that --max-usd does not cover machines without a price.
fn say_unpriced(record: &Record, max_usd: Option<f64>) {
    if max_usd.is_some() && record.places.iter().any(|place| place.usd_per_hour.is_none()) {
        say(
            "note: --max-usd excludes machines without a known price; set it with --prices, as in \
            aws,*,vm-hour,0.09",
        );
    }
}

impl Held {
    /// Launches the machines and waits until they answer.
    fn up(&self, launch: &mut Launch, ssh: &str, presses: &Presses) -> Result<(), Failure> {
        let Some(machines) = &self.machines else {
            return Ok(());
        };
        tell_unless(self.quiet, "checking the plan of the launch");
        machines.check(launch)?;
        tell_unless(self.quiet, "launching machines");
        machines.make(launch, &now_unix_s)?;
        let hosts = machines.record().hosts();
        let known = machines.write("known_hosts", &known_hosts(launch, &hosts))?;
        let key = machines.path().join("key");
        let files = Files {
            key: &key,
            known_hosts: &known,
        };
        machines.write("hosts.yaml", &hosts_file(launch, &hosts, files))?;
        tell_unless(self.quiet, "waiting until the machines answer");
        self.wait_for(ssh, presses)
    }

    /// Waits until SSH works on all machines, or a timeout.
    fn wait_for(&self, ssh: &str, presses: &Presses) -> Result<(), Failure> {
        let hosts = plan::hosts(&self.hosts_file, None, Places::known())?;
        let numbers: Vec<usize> = (0..hosts.len()).collect();
        let deadline = Instant::now() + BOOT;
        let answers = on_all(&numbers, PREPARED_AT_ONCE, |host| {
            loop {
                let answer = reach(&hosts[host], ssh, &presses.kill);
                if answer.is_ok() || presses.count() > 0 || Instant::now() > deadline {
                    return answer;
                }
                std::thread::sleep(5 * TICK);
            }
        });
        if presses.count() > 0 {
            return Err(Failure::environment("interrupted while machines were starting"));
        }
        for (_, answer) in answers {
            if let Err(fault) = answer {
                tell_unless(self.quiet, &format!("{fault}; not reachable yet"));
            }
        }
        Ok(())
    }

    /// Reports the machines.
    fn tell(&self, global: &GlobalOptions) -> Result<(), Failure> {
        let Some(machines) = &self.machines else {
            return Ok(());
        };
        let record = machines.record();
        let now = now_unix_s();
        if global.json {
            let object = json!({
                "event": "up",
                "launch": record.run,
                "hosts_file": self.hosts_file.display().to_string(),
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
            self.hosts_file.display()
        ))?;
        tell_unless(self.quiet, "Ctrl-C removes them");
        Ok(())
    }

    /// Waits for Ctrl-C, the deadline, or --max-usd.
    fn hold(&self, presses: &Presses, max_usd: Option<f64>) {
        while presses.count() == 0 && now_unix_s() < self.until_unix_s {
            let cost = self.cost();
            if let Some(most) = max_usd.filter(|most| cost.usd + cost.usd_per_hour * REMOVAL_HOURS > *most) {
                tell_unless(self.quiet, &format!("--max-usd {most} is nearly reached"));
                return;
            }
            std::thread::sleep(TICK);
        }
    }

    /// Cost of the machines so far, and per hour.
    pub fn cost(&self) -> MachinesCost {
        let record = self.machines.as_ref().map(Machines::record);
        record.map_or_else(MachinesCost::default, |record| record.cost(now_unix_s()))
    }

    /// The pairs with a machine at both ends, with the actual names of zones.
    pub fn pairs_left(&self, pairs: &[String]) -> Result<Vec<String>, Failure> {
        let mut there: BTreeMap<PlaceName, Vec<Launched>> = BTreeMap::new();
        for (place, host) in self
            .machines
            .iter()
            .flat_map(|machines| machines.record().hosts())
        {
            there.entry(place).or_default().push(host);
        }
        let named = |end: End| -> Option<End> {
            let hosts = there.get(&end.place)?;
            let zone = end.zone.map(|text| {
                let asked = Zone::of(&text);
                let zones = self.zones.get(&end.place).into_iter().flatten();
                let mut machines = zones.zip(hosts).filter(|(_, host)| !host.zone.is_empty());
                let machine = machines.find(|(zone, _)| **zone == asked);
                machine.map_or(text, |(_, host)| host.zone.clone())
            });
            Some(End {
                place: end.place,
                zone,
            })
        };
        let mut left = Vec::new();
        for text in pairs {
            let pair: ExactPair = text.parse()?;
            if let (Some(from), Some(to)) = (named(pair.from), named(pair.to)) {
                left.push(format!("{from}->{to}"));
            }
        }
        if left.is_empty() && !pairs.is_empty() {
            return Err(Failure::environment(
                "no pair remains: one end of each could not be launched",
            ));
        }
        Ok(left)
    }

    /// Removes the machines.
    pub fn remove(mut self) -> Result<Removed, Failure> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<Removed, Failure> {
        let Some(machines) = self.machines.take() else {
            return Ok(Removed::default());
        };
        let run = machines.record().run;
        if !machines.record().is_over() {
            tell_unless(self.quiet, "removing the machines");
        }
        let removed = machines.remove(&now_unix_s)?;
        for note in &removed.notes {
            tell_unless(self.quiet, note);
        }
        if removed.is_clean {
            return Ok(removed);
        }
        let first = removed.failed.first().cloned().unwrap_or_else(|| {
            let place = removed.places.iter().find(|place| place.phase.may_live());
            place.map_or_else(String::new, |place| {
                format!(
                    "{}: {}",
                    place.place,
                    place.problem.as_deref().unwrap_or_default()
                )
            })
        });
        Err(Failure::environment(format!(
            "could not remove everything of launch {run}: {first}; try again with 'weir mesh sweep'"
        )))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(failure) = self.take_down() {
            say(&format!("weir: {}", failure.message));
        }
    }
}

/// A place of a launch, for machines.
pub fn place_json(place: &PlaceRecord, now_unix_s: i64) -> Value {
    let hosts: Vec<Value> = place
        .hosts
        .iter()
        .map(|host| json!({ "name": host.name, "address": host.address, "zone": host.zone }))
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
