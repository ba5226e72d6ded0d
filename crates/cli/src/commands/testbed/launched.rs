//! Machines that are launched for the hosts of workflows, held while these run, and removed whatever happens.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_measure::Stop;
use weir_mesh::cloud::Launch;
use weir_mesh::cloud::record::PlaceRecord;
use weir_mesh::held::Held;
use weir_mesh::hosts::Host;
use weir_mesh::run::threads::Presses;
use weir_mesh::wanted::Fleet;
use weir_testbed::Values;
use weir_units::count_of;

use crate::args::{GlobalOptions, TestbedLaunchArgs};

use super::super::Failure;
use super::super::mesh::{begin_launch, launch_spec, prices};
use super::super::output::say;
use super::hosts;

/// Hosts on which workflows run once.
#[derive(Default)]
pub struct Bed {
    /// The hosts, by the names that workflows have for them.
    pub hosts: Vec<Host>,
    /// Which of several machines some of them are, by the names of results.
    pub varied: Values,
    /// Those that were launched, by their names: what they are, and what an hour costs in US dollars.
    pub machines: BTreeMap<String, (String, Option<f64>)>,
}

/// Machines that may be launched.
pub struct LaunchPlan {
    launch: Launch,
    fleet: Fleet,
}

impl LaunchPlan {
    /// As the arguments say.
    pub fn of(args: &TestbedLaunchArgs) -> Result<Self, Failure> {
        let mut launch = Launch {
            // Parts of a testbed make namespaces.
            root: true,
            packages: args.package.clone(),
            ..launch_spec(&args.machines)?
        };
        let prices = prices(args.prices.as_deref())?;
        let of_user = args.machines.machines_by.is_some();
        let fleet = Fleet::of(&args.launch, &mut launch, &prices, of_user)?;
        Ok(LaunchPlan { launch, fleet })
    }

    /// Launches all machines, and waits until they answer.
    pub fn up(
        mut self,
        args: &TestbedLaunchArgs,
        ssh: &str,
        presses: &Presses,
        global: &GlobalOptions,
    ) -> Result<Launched, Failure> {
        let (places, limits) = (self.fleet.places(), (presses, args.max_usd));
        if !global.quiet {
            let hour = |place: &PlaceRecord| Some(place.usd_per_hour? * f64::from(place.machines));
            let price = match places.iter().map(hour).sum::<Option<f64>>() {
                Some(usd) => format!("{usd:.3} USD per hour by list prices"),
                None => "of unknown prices".to_owned(),
            };
            let machines = count_of(self.launch.least as u64, "machine");
            say(&format!("weir testbed: {machines} to launch, {price}"));
        }
        let held = begin_launch(&args.machines, &mut self.launch, |_| places, limits, global)?;
        held.up(&mut self.launch, ssh, presses)?;
        let there = hosts::read(Some(&held.hosts_file))?;
        Ok(Launched {
            beds: beds(&self.fleet, &there),
            held,
            max_usd: args.max_usd,
        })
    }
}

/// Machines that exist until this is dropped.
pub struct Launched {
    held: Held,
    max_usd: Option<f64>,
    /// A bed for each combination of machines.
    pub beds: Vec<Bed>,
}

/// Set when it is dropped, by a panic as well.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Launched {
    /// Does `work`, and sets `stop` at the deadline of the machines or the limit of their cost.
    pub fn while_held<T>(&self, stop: &Stop, global: &GlobalOptions, work: impl FnOnce() -> T) -> T {
        let is_done = AtomicBool::new(false);
        let end = || {
            stop.set();
            if !global.quiet {
                say("weir testbed: no run goes on, so that the machines are removed in time");
            }
        };
        if self.held.is_due(self.max_usd) {
            end();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let is_over = || is_done.load(Ordering::Relaxed) || stop.is_set();
                self.held.hold(&is_over, self.max_usd);
                if !is_over() {
                    end();
                }
            });
            let _done = Done(&is_done);
            work()
        })
    }

    /// Removes the machines.
    pub fn remove(self) -> Result<(), Failure> {
        self.held.remove()?;
        Ok(())
    }
}

/// The hosts of each combination, from those of the hosts file of the launch.
fn beds(fleet: &Fleet, there: &[Host]) -> Vec<Bed> {
    let choices = fleet.choices().into_iter();
    let beds = choices.map(|choice| {
        let mut bed = Bed::default();
        for machine in choice {
            let hosts = there.iter().filter(|host| host.name == machine.host);
            bed.hosts.extend(hosts.cloned().map(|host| Host {
                name: machine.name.clone(),
                ..host
            }));
            if fleet.is_varied(&machine.name) {
                bed.varied
                    .insert(format!("{}.machine", machine.name), machine.way.clone());
            }
            let known = (machine.way.clone(), machine.usd_per_hour);
            bed.machines.insert(machine.name.clone(), known);
        }
        bed
    });
    beds.collect()
}
