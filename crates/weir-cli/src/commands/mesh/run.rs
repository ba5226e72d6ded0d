//! `weir mesh run`: hosts prepared, tests made as the conductor says, results kept as they come, hosts left as they were.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};
use weir_cli::args::{GlobalOptions, MeshRunArgs};
use weir_cli::units::format_bytes;
use weir_mesh::hosts::Host;
use weir_mesh::import::mark;
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

/// Hosts that are prepared at the same time.
pub const PREPARED_AT_ONCE: usize = 16;
/// How often the store hears that the run is alive, and Ctrl-C is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Clocks that are further apart than this are told of.
const CLOCKS_APART_S: i64 = 5;

/// Runs the mesh, on machines that are launched for it if that was asked for.
pub fn run(args: &MeshRunArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = Presses::watch()?;
    has_ssh(&args.ssh)?;
    if !args.launch {
        return run_on(args, None, &presses, global);
    }
    let machines = launch::launch(&args.machines, &args.plan, &args.ssh, &presses, global)?;
    let mut on_them = args.clone();
    on_them.plan.hosts = Some(machines.hosts_file.clone());
    on_them.plan.filter.pair = machines.pairs_left(&args.plan.filter.pair)?;
    on_them.plan.filter.machines = None;
    let ran = run_on(&on_them, Some(&machines), &presses, global);
    // What went wrong first is told; what could not be removed is told where it happens.
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
        programs: programs(&args.program)?,
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

/// That there is no program for SSH is said once, before anything begins.
pub fn has_ssh(program: &str) -> Result<(), Failure> {
    check_program(program).map_err(|fault| Failure::environment(fault.message))
}

/// The order that the arguments ask for, and the plan in words.
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

/// The order of a run that was cut short, without the tests that went through. Its folders keep their names, so that
/// what the run has left on hosts is replaced.
fn resumed(store: &RunStore, run: RunId) -> Result<Order, Failure> {
    let found = store.store().run(run)?;
    let unfit = || Failure::usage(format!("run {run} is no 'weir mesh run' that can go on"));
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
            "all {} tests of run {run} went through: nothing is left",
            done.len()
        )));
    }
    left.resumes = Some(run.0);
    Ok(left)
}

/// This program for hosts like this one, and those that the user gives.
fn programs(given: &[String]) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program's own file: {error}")))?;
    let mut programs = BTreeMap::from([(std::env::consts::ARCH.to_owned(), own)]);
    for text in given {
        let (machine, file) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "'{text}' is no program for a processor: write aarch64=FILE"
            ))
        })?;
        let file = PathBuf::from(file);
        if !file.is_file() {
            return Err(Failure::usage(format!("there is no program {}", file.display())));
        }
        programs.insert(machine.to_owned(), file);
    }
    Ok(programs)
}

/// 256 random bits, as text.
pub fn random_hex() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::environment(format!("cannot make a token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Agents live three times as long as the run should take one test after the other on each host.
fn life_s(order: &Order) -> u64 {
    let mut tests = vec![0u64; order.hosts.len()];
    for (from, to) in &order.pairs {
        tests[*from] += 1;
        tests[*to] += 1;
    }
    let busiest = tests.into_iter().max().unwrap_or(0);
    // Thirty days: no run takes longer.
    const MOST_S: u64 = 30 * 24 * 3600;
    let tests_s = busiest.saturating_mul(order.shape.duration_ns() / 1_000_000_000);
    tests_s.saturating_mul(3).saturating_add(900).min(MOST_S)
}

fn target(order: &Order) -> String {
    format!("{} hosts, {} tests", order.hosts.len(), order.pairs.len())
}

/// A run that goes on.
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
    /// Hosts that could not be prepared, and why.
    lost: BTreeMap<usize, Fault>,
    line: LiveLine,
    /// Why a result could not be kept.
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
        // Missing a heartbeat marks the run as interrupted for readers, until the next one.
        let _ = self.store.store().heartbeat(self.run);
    }

    /// Brings the program everywhere; hosts where that fails are out, and the others go on.
    fn prepare(&mut self) {
        let hosts = self.taking_part();
        self.line.show(&format!("preparing {} hosts", hosts.len()));
        let prepared = std::thread::scope(|scope| {
            let work = scope.spawn(|| on_all(&hosts, PREPARED_AT_ONCE, |host| self.executor.prepare(host)));
            while !work.is_finished() {
                self.beat();
                std::thread::sleep(TICK / 5);
            }
            // A thread that broke off has prepared nothing.
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
        self.line.say(&format!("{fault}; its tests are left out"));
        for index in self.conductor.lose(host) {
            self.keep(&self.failed(index, &fault));
        }
        self.lost.insert(host, fault);
    }

    /// Starts tests and takes their results until nothing is left.
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
                        // It is heard as long as tests run.
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

    /// Keeps a result, or the reason of a failure, and tells of it.
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
                // What a failed test has sent is not known.
                let sent = match fault.kind {
                    FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied | FaultKind::Agent => 0,
                    _ => self.order.shape.max_bytes,
                };
                let fate = self.conductor.ended(index, false, sent);
                let again = if fate == Fate::Again {
                    "; once more at the end"
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

    /// Keeps the runs of a survey as parts of this one, and names it in its test. Without it the test is still worth having.
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
                // What it has sent is not known.
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

    /// What the client's host measured, with what only we know.
    fn placed(&self, index: usize, measured: MeshTest) -> MeshTest {
        let (from, to) = self.order.pairs[index];
        let mut test = MeshTest {
            source: "weir".into(),
            reason: None,
            from: self.end_of(from),
            to: self.end_of(to),
            from_window_bytes: self.ready.get(&from).and_then(|ready| ready.send_window_bytes),
            to_window_bytes: self.ready.get(&to).and_then(|ready| ready.receive_window_bytes),
            // The host's own clock may stand anywhere.
            unix_ns: clock::unix_ns(),
            ..measured
        };
        // It comes from the host, and more is put into it here.
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

    /// Ends agents and removes folders, also after an interruption.
    fn clean(&mut self) {
        // A second Ctrl-C has ended the tests; the way back is still gone.
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
                    "{fault}; what is left there ends by itself, or by 'weir mesh sweep'"
                ));
            }
        }
    }

    /// Ends the run in the store, and reports.
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
            (None, Some(Halt::Bytes), _, left) => Some(format!("--max-gb stopped it with {left} tests left")),
            (None, Some(Halt::Money), _, left) => {
                Some(format!("--max-usd stopped it with {left} tests left"))
            }
            (None, Some(Halt::Interrupted), _, left) => Some(format!(
                "interrupted with {left} tests left; 'weir mesh run --resume {run}' goes on"
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
                "{} of {} tests went through, {} sent\nrun {run} kept in {}; 'weir mesh report --run {run}' says what they tell\n",
                conductor.finished,
                order.pairs.len(),
                format_bytes(conductor.bytes),
                store.path().display()
            ))?;
        }
        problem.map_or(Ok(()), |problem| Err(Failure::environment(problem)))
    }
}

/// Nobody can be sent there to clean up.
fn is_out_of_reach(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied
    )
}
