//! `weir mesh run`: prepares hosts, runs tests in the order of the conductor, stores results as they arrive, and cleans
//! up the hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::args::{GlobalOptions, MeshRunArgs};
use crate::units::format_bytes;
use serde_json::{Value, json};
use weir_mesh::cloud::Arch;
use weir_mesh::hosts::Host;
use weir_mesh::import::mark;
use weir_mesh::programs::{ProgramError, Programs};
use weir_mesh::run::{Conductor, Executor, Fate, Fault, FaultKind, Halt, Order, Ready};
use weir_mesh::ssh::{SshExecutor, check_program, on_all};
use weir_net::clock;
use weir_net::host::HostFacts;
use weir_results::{MeshEnd, MeshFilter, MeshTest, NewRun, RunId};

use super::super::output::{print, say};
use super::super::progress::LiveLine;
use super::super::run_store::{Ended, RunStore, json as to_json, new_run};
use super::super::{Failure, runs, tables};
use super::launch::{self, Held};
use super::pair_survey::{self, Measured};
use super::plan;
use super::presses::Presses;

/// Number of hosts that are prepared concurrently.
pub const PREPARED_AT_ONCE: usize = 16;
/// Interval of heartbeats in the store and of polling for Ctrl-C.
const TICK: Duration = Duration::from_millis(500);
/// Clock difference above which a note is printed.
const CLOCKS_APART_S: i64 = 5;

/// Runs the mesh, with --launch on machines launched for it.
pub fn run(args: &MeshRunArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = Presses::watch()?;
    has_ssh(&args.ssh)?;
    if !args.launch {
        return run_on(args, None, &presses, global);
    }
    can_copy(args)?;
    let machines = launch::launch(&args.machines, &args.plan, &args.ssh, &presses, global)?;
    let mut on_them = args.clone();
    on_them.plan.hosts = Some(machines.hosts_file.clone());
    on_them.plan.filter.pair = machines.pairs_left(&args.plan.filter.pair)?;
    on_them.plan.filter.machines = None;
    let ran = run_on(&on_them, Some(&machines), &presses, global);
    // Reports the first failure; failures of removal are printed where they occur.
    let removed = machines.remove();
    ran.and(removed.map(drop))
}

fn run_on(
    args: &MeshRunArgs,
    launched: Option<&Held>,
    presses: &Presses,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let store = RunStore::open(&global.db)?;
    let (order, announced) = match args.resume {
        Some(name) => (resumed(&store, runs::find(store.store(), name)?)?, None),
        None => ordered(args, global)?,
    };
    if let (Some(text), false) = (&announced, global.quiet) {
        say(text.trim_end());
    }
    let executor = SshExecutor {
        hosts: &order.hosts,
        programs: programs(args)?,
        token: random_hex()?,
        folder: order.token.clone(),
        life_s: life_s(&order),
        kill: &presses.kill,
        ssh: args.ssh.clone(),
    };
    let begun: NewRun = new_run("mesh", &target(&order), &order, &HostFacts::read(None));
    let run = store.begin_parent(&begun)?;
    let mut mesh = Mesh {
        store: &store,
        run,
        order: &order,
        executor: &executor,
        launched,
        presses,
        conductor: Conductor::new(&order, args.parallel as usize),
        ready: BTreeMap::new(),
        notes: Vec::new(),
        lost: BTreeMap::new(),
        line: LiveLine::new("mesh", global.quiet),
        unkept: None,
    };
    mesh.prepare();
    mesh.make_tests();
    mesh.clean();
    mesh.end(global)
}

/// Checks the SSH client once, before anything starts.
pub fn has_ssh(program: &str) -> Result<(), Failure> {
    check_program(program).map_err(|fault| Failure::environment(fault.message))
}

/// The order of the arguments, and the plan as text.
fn ordered(args: &MeshRunArgs, global: &GlobalOptions) -> Result<(Order, Option<String>), Failure> {
    let made = plan::make(&args.plan, global)?;
    made.plan.estimate.check(&made.limits)?;
    let in_rounds: Vec<usize> = made.plan.rounds.concat();
    let announced = tables::mesh_plan(&made.nodes, &made.plan);
    let order = Order {
        token: random_hex()?[..16].to_owned(),
        pairs: in_rounds.iter().map(|index| made.plan.pairs[*index]).collect(),
        usd_per_gb: in_rounds
            .iter()
            .map(|index| made.plan.usd_per_gb[*index])
            .collect(),
        hosts: made.hosts,
        shape: made.shape,
        limits: made.limits,
        resumes: None,
    };
    Ok((order, Some(announced)))
}

/// The order of an interrupted run, without the completed tests. Folders keep their names, so that leftovers of the run
/// on hosts are replaced.
fn resumed(store: &RunStore, run: RunId) -> Result<Order, Failure> {
    let found = store.store().run(run)?;
    let unfit = || {
        Failure::usage(format!(
            "cannot resume run {run}: it is not an interrupted 'weir mesh run'"
        ))
    };
    let order: Order = serde_json::from_value(found.parameters).map_err(|_| unfit())?;
    if !order.is_sound() {
        return Err(unfit());
    }
    let filter = MeshFilter {
        runs: vec![run],
        failed: false,
    };
    let done: BTreeMap<(String, String), u64> = store
        .store()
        .mesh_tests(&filter)?
        .into_iter()
        .map(|(_, test)| ((test.from.host, test.to.host), test.bytes))
        .collect();
    let mut left = order.without(&done);
    if left.pairs.is_empty() {
        return Err(Failure::usage(format!(
            "nothing to resume: all {} tests of run {run} completed",
            done.len()
        )));
    }
    left.resumes = Some(run.0);
    Ok(left)
}

/// This program and those of --program and --binaries.
fn programs(args: &MeshRunArgs) -> Result<Programs, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find the path of this program: {error}")))?;
    let folders: Vec<&Path> = args.binaries.as_deref().into_iter().collect();
    Ok(Programs::new(&args.program, &folders)?.with_own(&own, cfg!(target_feature = "crt-static")))
}

/// Fails before machines cost anything if no program fits them. A program that makes machines may install one.
fn can_copy(args: &MeshRunArgs) -> Result<(), Failure> {
    if args.machines.machines_by.is_none() {
        let arch = if args.machines.arm { Arch::Arm } else { Arch::X86 };
        let chosen = programs(args)?.choose(&format!("Linux {}", arch.machine()));
        chosen.map_err(|error| Failure::usage(format!("no program for the machines: {error}")))?;
    }
    Ok(())
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        Failure::usage(error.to_string())
    }
}

/// 256 random bits, as text.
pub fn random_hex() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::environment(format!("cannot generate a token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Agents live three times the expected duration of the run.
fn life_s(order: &Order) -> u64 {
    let mut tests = vec![0u64; order.hosts.len()];
    for (from, to) in &order.pairs {
        tests[*from] += 1;
        tests[*to] += 1;
    }
    let busiest = tests.into_iter().max().unwrap_or(0);
    // 30 days, longer than any run.
    const MOST_S: u64 = 30 * 24 * 3600;
    let tests_s = busiest.saturating_mul(order.shape.duration_ns() / 1_000_000_000);
    tests_s.saturating_mul(3).saturating_add(900).min(MOST_S)
}

fn target(order: &Order) -> String {
    format!("{} hosts, {} tests", order.hosts.len(), order.pairs.len())
}

/// A run in progress.
struct Mesh<'r> {
    store: &'r RunStore,
    run: RunId,
    order: &'r Order,
    executor: &'r SshExecutor<'r>,
    launched: Option<&'r Held>,
    presses: &'r Presses,
    conductor: Conductor,
    ready: BTreeMap<usize, Ready>,
    notes: Vec<String>,
    /// Hosts that could not be prepared, with the reason.
    lost: BTreeMap<usize, Fault>,
    line: LiveLine,
    /// Why a result could not be stored.
    unkept: Option<Failure>,
}

impl Mesh<'_> {
    fn host(&self, number: usize) -> &Host {
        &self.order.hosts[number]
    }

    /// Hosts that take part.
    fn taking_part(&self) -> Vec<usize> {
        let hosts: BTreeSet<usize> = self
            .order
            .pairs
            .iter()
            .flat_map(|(from, to)| [*from, *to])
            .collect();
        hosts.into_iter().collect()
    }

    fn beat(&self) {
        // After a missed heartbeat, readers see the run as interrupted until the next one.
        let _ = self.store.store().heartbeat(self.run);
    }

    /// Copies the program to all hosts; hosts where that fails are excluded.
    fn prepare(&mut self) {
        let hosts = self.taking_part();
        self.line.show(&format!("preparing {} hosts", hosts.len()));
        let prepared = std::thread::scope(|scope| {
            let work = scope.spawn(|| on_all(&hosts, PREPARED_AT_ONCE, |host| self.executor.prepare(host)));
            while !work.is_finished() {
                self.beat();
                std::thread::sleep(TICK / 5);
            }
            // A thread that panicked has prepared nothing.
            work.join().unwrap_or_default()
        });
        for (host, result) in prepared {
            match result {
                Ok(ready) => {
                    if ready.clock_ahead_s.abs() > CLOCKS_APART_S {
                        let note = format!(
                            "the clock of {} is {} s from this host's; RTTs do not depend on it",
                            self.host(host).name,
                            ready.clock_ahead_s
                        );
                        self.notes.push(note);
                    }
                    self.ready.insert(host, ready);
                }
                Err(fault) => self.lose(host, fault),
            }
        }
    }

    fn lose(&mut self, host: usize, fault: Fault) {
        self.line.say(&format!("{fault}; its tests are skipped"));
        for index in self.conductor.lose(host) {
            self.keep(&self.failed(index, &fault));
        }
        self.lost.insert(host, fault);
    }

    /// Starts tests and collects their results until none remain.
    fn make_tests(&mut self) {
        let (said, hears) = mpsc::channel::<(usize, Result<Measured, Fault>)>();
        let (executor, order, presses) = (self.executor, self.order, self.presses);
        std::thread::scope(|scope| {
            loop {
                if self.presses.count() > 0 {
                    self.conductor.interrupt();
                }
                if let Some(machines) = self.launched {
                    self.conductor.machines = machines.cost();
                }
                while let Some(index) = self.conductor.start() {
                    let said = said.clone();
                    scope.spawn(move || {
                        let result = executor
                            .test(order.pairs[index], &order.shape)
                            .map(|test| Measured {
                                test,
                                survey: pair_survey::make(executor, order, index, presses.count() > 0),
                            });
                        // The sender lives as long as tests run.
                        let _ = said.send((index, result));
                    });
                }
                if self.conductor.is_done() {
                    break;
                }
                self.show();
                match hears.recv_timeout(TICK) {
                    Ok((index, result)) => self.take(index, result),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
                self.beat();
            }
        });
    }

    fn show(&self) {
        let Conductor {
            finished,
            failed,
            bytes,
            ..
        } = self.conductor;
        let stopping = if self.presses.count() > 0 {
            "stopping; "
        } else {
            ""
        };
        self.line.show(&format!(
            "{stopping}{finished} of {} done, {failed} failed, {} running, {} sent",
            self.order.pairs.len(),
            self.conductor.running(),
            format_bytes(bytes)
        ));
    }

    /// Stores and prints a result, or the reason of a failure.
    fn take(&mut self, index: usize, result: Result<Measured, Fault>) {
        let (from, to) = self.order.pairs[index];
        let names = (self.host(from).name.clone(), self.host(to).name.clone());
        match result {
            Ok(Measured { test, survey }) => {
                let mut test = self.placed(index, test);
                if let Some(survey) = survey {
                    self.take_survey(index, survey, &mut test);
                }
                self.conductor.ended(index, true, test.bytes);
                self.line.say(&tables::mesh_result(&names.0, &names.1, &test));
                self.keep(&test);
            }
            Err(fault) => {
                // The volume of a failed test is unknown.
                let sent = match fault.kind {
                    FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied | FaultKind::Agent => 0,
                    _ => self.order.shape.max_bytes,
                };
                let fate = self.conductor.ended(index, false, sent);
                let again = if fate == Fate::Again {
                    "; repeated at the end"
                } else {
                    ""
                };
                self.line
                    .say(&format!("{} -> {}: {fault}{again}", names.0, names.1));
                if fate == Fate::Failed {
                    self.keep(&self.failed(index, &fault));
                }
            }
        }
    }

    /// Stores the runs of a survey as parts of this one, and links it to its test. Without the survey the test is kept.
    fn take_survey(&mut self, index: usize, survey: Result<PathBuf, Fault>, test: &mut MeshTest) {
        let (from, to) = self.order.pairs[index];
        let name = format!("{} -> {}", self.host(from).name, self.host(to).name);
        let kept = survey.map_err(|fault| fault.message).and_then(|file| {
            let kept = pair_survey::keep(self.store, self.run, &file, &name, self.order.shape.max_bytes);
            kept.map_err(|failure| failure.message)
        });
        match kept {
            Ok((run, bytes)) => {
                test.details["survey_run"] = json!(run);
                test.bytes = test.bytes.saturating_add(bytes);
            }
            Err(message) => {
                self.notes.push(format!("{name}: no survey: {message}"));
                test.details["survey_failed"] = json!(message);
                // Its volume is unknown.
                test.bytes = test.bytes.saturating_add(self.order.shape.max_bytes);
            }
        }
    }

    fn keep(&mut self, test: &MeshTest) {
        if let Err(error) = self
            .store
            .store()
            .add_mesh_tests(self.run, std::slice::from_ref(test))
        {
            self.line.say(&format!("warning: {error}"));
            self.unkept.get_or_insert(error.into());
            self.conductor.interrupt();
        }
    }

    /// The result of the client's host, completed with data of this host.
    fn placed(&self, index: usize, measured: MeshTest) -> MeshTest {
        let (from, to) = self.order.pairs[index];
        let mut test = MeshTest {
            source: "weir".into(),
            reason: None,
            from: self.end_of(from),
            to: self.end_of(to),
            from_window_bytes: self.ready.get(&from).and_then(|ready| ready.send_window_bytes),
            to_window_bytes: self.ready.get(&to).and_then(|ready| ready.receive_window_bytes),
            // The host's clock may be wrong.
            unix_ns: clock::unix_ns(),
            ..measured
        };
        // It comes from the host; fields are added here.
        if !test.details.is_object() {
            test.details = json!({});
        }
        mark(&mut test);
        test
    }

    fn failed(&self, index: usize, fault: &Fault) -> MeshTest {
        let failed = MeshTest {
            details: json!({ "fault": fault.kind }),
            ..MeshTest::default()
        };
        MeshTest {
            reason: Some(fault.message.clone()),
            ..self.placed(index, failed)
        }
    }

    fn end_of(&self, number: usize) -> MeshEnd {
        let host = self.host(number);
        MeshEnd {
            cloud: host.place.cloud.clone(),
            region: host.place.region.clone(),
            zone: host.zone.clone(),
            host: host.name.clone(),
            latitude: host.coordinates.map(|point| point.latitude),
            longitude: host.coordinates.map(|point| point.longitude),
        }
    }

    /// Stops agents and removes folders, also after an interruption.
    fn clean(&mut self) {
        // A second Ctrl-C has aborted the tests; hosts are cleaned all the same.
        self.presses.kill.store(false, Ordering::Relaxed);
        let hosts: Vec<usize> = self
            .taking_part()
            .into_iter()
            .filter(|host| {
                !self
                    .lost
                    .get(host)
                    .is_some_and(|fault| is_out_of_reach(fault.kind))
            })
            .collect();
        self.line.show(&format!("cleaning {} hosts", hosts.len()));
        for (_, cleaned) in on_all(&hosts, PREPARED_AT_ONCE, |host| self.executor.clean(host)) {
            if let Err(fault) = cleaned {
                self.notes.push(format!(
                    "{fault}; leftovers stop on their own, or remove them with 'weir mesh sweep'"
                ));
            }
        }
    }

    /// Finishes the run in the store, and reports.
    fn end(self, global: &GlobalOptions) -> Result<(), Failure> {
        let Mesh {
            store,
            run,
            order,
            conductor,
            ready,
            notes,
            lost,
            line,
            unkept,
            ..
        } = self;
        drop(line);
        let named = |host: &usize| order.hosts[*host].name.clone();
        let hosts: BTreeMap<String, Value> = ready
            .iter()
            .map(|(host, ready)| (named(host), to_json(ready)))
            .collect();
        let lost: BTreeMap<String, Value> = lost
            .iter()
            .map(|(host, fault)| {
                (
                    named(host),
                    json!({ "kind": fault.kind, "message": fault.message }),
                )
            })
            .collect();
        let left = conductor.waiting();
        let summary = json!({
            "tests": order.pairs.len(),
            "finished": conductor.finished,
            "failed": conductor.failed,
            "left": left,
            "bytes": conductor.bytes,
            "egress_usd": conductor.usd,
            "halt": conductor.halt,
            "hosts": hosts,
            "lost_hosts": lost,
            "notes": notes,
        });
        let problem = match (&unkept, conductor.halt, conductor.failed, left) {
            (Some(failure), ..) => Some(failure.message.clone()),
            (None, Some(Halt::Bytes), _, left) => {
                Some(format!("--max-gb stopped the run, {left} tests remain"))
            }
            (None, Some(Halt::Money), _, left) => {
                Some(format!("--max-usd stopped the run, {left} tests remain"))
            }
            (None, Some(Halt::Interrupted), _, left) => Some(format!(
                "interrupted, {left} tests remain; continue with 'weir mesh run --resume {run}'"
            )),
            (None, None, 0, _) => None,
            (None, None, failed, _) => Some(format!("{failed} of {} tests failed", order.pairs.len())),
        };
        let end = match (&problem, conductor.halt) {
            (None, _) => Ended::finished(),
            (_, Some(Halt::Interrupted)) => Ended::interrupted(),
            (Some(problem), _) => Ended::failed(problem),
        };
        let outcome = end.outcome();
        store.end(run, &end, &summary)?;
        if global.json {
            let mut line = summary;
            line["run"] = json!({
                "id": run,
                "outcome": outcome.as_str(),
                "database": store.path().display().to_string(),
            });
            print(&format!("{line}\n"))?;
        } else {
            for note in &notes {
                print(&format!("note: {note}\n"))?;
            }
            print(&format!(
                "{} of {} tests completed, {} sent\nrun {run} kept in {}; evaluate it with 'weir mesh report --run {run}'\n",
                conductor.finished,
                order.pairs.len(),
                format_bytes(conductor.bytes),
                store.path().display()
            ))?;
        }
        problem.map_or(Ok(()), |problem| Err(Failure::environment(problem)))
    }
}

/// A host that cannot be reached for cleaning up.
fn is_out_of_reach(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied
    )
}
