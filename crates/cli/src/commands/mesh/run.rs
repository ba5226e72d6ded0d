//! `weir mesh run`: from arguments to an order and hosts over SSH, and its result.

use std::path::Path;
use std::time::Duration;

use crate::args::{CopyArgs, GlobalOptions, MachineArgs, MeshRunArgs};
use crate::units::{format_bytes, format_duration};
use serde_json::json;
use weir_mesh::cloud::Arch;
use weir_mesh::held::Held;
use weir_mesh::programs::Programs;
use weir_mesh::run::repeats::{Repeats, left_of};
use weir_mesh::run::threads::{Presses, Threads};
use weir_mesh::run::whole::{Ending, Summary, Watch, carry_out};
use weir_mesh::run::{Order, ResumeError};
use weir_mesh::ssh::{SshExecutor, check_program};
use weir_net::host::HostFacts;
use weir_results::{MeshTest, Outcome, RunId};

use super::super::output::{print, say};
use super::super::progress::LiveLine;
use super::super::run_store::{Ended, RunStore, find, json as to_json, new_run};
use super::super::{Failure, tables};
use super::launch;
use super::launches::random_hex;
use super::{plan, presses};
use weir_units::count_of;

/// Interval at which a wait looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(200);

/// Runs the mesh, with --launch on machines launched for it.
pub fn run(args: &MeshRunArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = presses::watch()?;
    has_ssh(&args.copies.ssh)?;
    if !args.launch {
        return run_on(args, None, &presses, global);
    }
    can_copy(&args.machines, &args.copies)?;
    lives_long_enough(args)?;
    let machines = launch::launch(&args.machines, &args.plan, &args.copies.ssh, &presses, global)?;
    let mut on_them = args.clone();
    on_them.plan.hosts = Some(machines.hosts_file.clone());
    on_them.plan.filter.pair = machines.pairs_left(&args.plan.filter.pair)?;
    on_them.plan.filter.machines = None;
    let ran = run_on(&on_them, Some(&machines), &presses, global);
    // Reports the first failure; failures of removal are printed where they occur.
    let removed = machines.remove();
    ran.and(removed.map(drop).map_err(Failure::from))
}

/// Makes the run, and repeats it with --every.
fn run_on(
    args: &MeshRunArgs,
    launched: Option<&Held>,
    presses: &Presses,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let now_ns = weir_net::clock::unix_ns();
    let repeats = args
        .every
        .map(|every| Repeats::new(now_ns, every.0, args.duration.map(|span| span.0)));
    let (mut order, announced) = match args.resume {
        Some(name) => (Order::resume(store.store(), find(store.store(), name)?)?, None),
        None => ordered(args, repeats.and_then(|repeats| repeats.count(now_ns)), global)?,
    };
    if let (Some(text), false) = (&announced, global.quiet) {
        say(text.trim_end());
    }
    let mut all = Ok(());
    loop {
        let (summary, ended) = once(args, &order, launched, (&store, presses), global)?;
        let next_ns = repeats.and_then(|repeats| repeats.next(weir_net::clock::unix_ns()));
        let Some(next_ns) = next_ns.filter(|_| summary.halt.is_none()) else {
            return all.and(ended);
        };
        if let Err(failure) = &ended {
            say(&format!("weir: {}", failure.message));
        }
        all = all.and(ended);
        if !wait_until(next_ns, presses, global) {
            return all;
        }
        order.limits = left_of(order.limits, &summary);
        order.token = token()?;
    }
}

/// Waits; false if it was interrupted.
fn wait_until(unix_ns: u64, presses: &Presses, global: &GlobalOptions) -> bool {
    let line = LiveLine::new("mesh", global.quiet);
    loop {
        let left_ns = unix_ns.saturating_sub(weir_net::clock::unix_ns());
        if left_ns == 0 || presses.count() > 0 {
            return presses.count() == 0;
        }
        line.show(&format!("next run in {}", format_duration(left_ns)));
        std::thread::sleep(Duration::from_nanos(left_ns).min(TICK));
    }
}

/// Makes the run once.
fn once(
    args: &MeshRunArgs,
    order: &Order,
    launched: Option<&Held>,
    (store, presses): (&RunStore, &Presses),
    global: &GlobalOptions,
) -> Result<(Summary, Result<(), Failure>), Failure> {
    let executor = SshExecutor {
        hosts: &order.hosts,
        programs: programs(&args.copies)?,
        token: random_hex()?,
        folder: order.token.clone(),
        life_s: order.life_s(),
        kill: &presses.kill,
        ssh: args.copies.ssh.clone(),
    };
    let hosts = count_of(order.hosts.len() as u64, "host");
    let target = format!("{hosts}, {}", count_of(order.pairs.len() as u64, "test"));
    let run = store.begin_parent(&new_run("mesh", &target, order, &HostFacts::read(None)))?;
    let shown = Shown(LiveLine::new("mesh", global.quiet));
    let machines = || launched.map(Held::cost).unwrap_or_default();
    let ending = std::thread::scope(|scope| {
        let mut hosts = Threads::new(scope, &executor, order, presses, &machines);
        let kept = (store.store(), run);
        carry_out(order, args.parallel as usize, &mut hosts, kept, &shown)
    });
    drop(shown);
    let summary = ending.summary.clone();
    Ok((summary, end(store, run, ending, global)))
}

/// A word for the folders of a run.
fn token() -> Result<String, Failure> {
    Ok(random_hex()?[..16].to_owned())
}

/// Checks the SSH client once, before anything starts.
pub fn has_ssh(program: &str) -> Result<(), Failure> {
    check_program(program).map_err(|fault| Failure::environment(fault.message))
}

/// The order of the arguments, and the plan as text, of a run that is made `times` times.
fn ordered(
    args: &MeshRunArgs,
    times: Option<u64>,
    global: &GlobalOptions,
) -> Result<(Order, Option<String>), Failure> {
    let mut made = plan::make(&args.plan, global)?;
    let mut announced = tables::mesh_plan(&made);
    if let Some(times) = times {
        made.plan.estimate.repeat(times);
        announced = format!(
            "{times} runs; each, and all together at most {:.2} USD for traffic and {}:\n{announced}",
            made.plan.estimate.egress_usd,
            format_bytes(made.plan.estimate.bytes)
        );
    }
    made.check()?;
    let order = Order {
        strict_placement: args.strict_placement,
        ..made.order(token()?)
    };
    Ok((order, Some(announced)))
}

/// This program and those of --program and --binaries.
pub fn programs(args: &CopyArgs) -> Result<Programs, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find the path of this program: {error}")))?;
    let folders: Vec<&Path> = args.binaries.as_deref().into_iter().collect();
    Ok(Programs::new(&args.program, &folders)?.with_own(&own, cfg!(target_feature = "crt-static")))
}

/// Fails before machines cost anything if no program fits them. A program that makes machines may install one.
pub fn can_copy(machines: &MachineArgs, copies: &CopyArgs) -> Result<(), Failure> {
    if machines.machines_by.is_none() {
        let arch = if machines.arm { Arch::Arm } else { Arch::X86 };
        let chosen = programs(copies)?.choose(&format!("Linux {}", arch.machine()));
        chosen.map_err(|error| Failure::usage(format!("no program for the machines: {error}")))?;
    }
    Ok(())
}

/// Fails before machines cost anything if they would end before the last of repeated runs.
fn lives_long_enough(args: &MeshRunArgs) -> Result<(), Failure> {
    let life = args.machines.delete_after;
    if args.every.is_none() || args.duration.is_some_and(|span| span.0 < life.0) {
        return Ok(());
    }
    Err(Failure::usage(
        "--every with --launch needs --for, and a longer --delete-after: the machines have to outlive the last run",
    ))
}

impl From<ResumeError> for Failure {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Store(error) => error.into(),
            _ => Failure::usage(error.to_string()),
        }
    }
}

/// Shows the run on the terminal.
struct Shown(LiveLine);

impl Watch for Shown {
    fn doing(&self, text: &str) {
        self.0.show(text);
    }

    fn say(&self, text: &str) {
        self.0.say(text);
    }

    fn result(&self, from: &str, to: &str, test: &MeshTest) {
        self.0.say(&tables::mesh_result(from, to, test));
    }
}

/// Finishes the run in the store, and reports.
fn end(store: &RunStore, run: RunId, ending: Ending, global: &GlobalOptions) -> Result<(), Failure> {
    let Ending {
        outcome,
        problem,
        summary,
    } = ending;
    let end = match (outcome, &problem) {
        (Outcome::Interrupted, _) => Ended::interrupted(),
        (_, Some(problem)) => Ended::failed(problem),
        (_, None) => Ended::finished(),
    };
    let mut line = to_json(&summary);
    store.end(run, &end, &line)?;
    if global.json {
        line["run"] = json!({
            "id": run,
            "outcome": outcome.as_str(),
            "database": store.path().display().to_string(),
        });
        print(&format!("{line}\n"))?;
    } else {
        for note in &summary.notes {
            print(&format!("note: {note}\n"))?;
        }
        print(&format!(
            "{} of {} tests completed, {} sent\nrun {run} kept in {}; evaluate it with 'weir mesh report --run {run}'\n",
            summary.finished,
            summary.tests,
            format_bytes(summary.bytes),
            store.path().display()
        ))?;
    }
    problem.map_or(Ok(()), |problem| Err(Failure::environment(problem)))
}
