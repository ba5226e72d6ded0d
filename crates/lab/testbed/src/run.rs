//! A run of a workflow: servers first, then the workload; counters before, meanwhile and after; and the removal of all of it. It
//! must not know how hosts hold tasks, or where results are kept.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use weir_net::affinity;
use weir_net::clock;
use weir_results::TaskSecond;

use crate::elsewhere::Elsewhere;
use crate::error::{TestbedError, one_line};
use crate::function::{PORT, Ready};
use crate::holders::Holders;
use crate::host::{Ending, Output};
use crate::local_host::{PATIENCE, pin};
use crate::measured::Readings;
use crate::response;
use crate::result::{CapacityResult, SinkResult, Summary};
use crate::setting::Setting;
use crate::state::{PartStatus, Registry, TaskState, TestbedState};
use crate::workflow::Workflow;

/// Maximum time until a function is ready.
const START: Duration = Duration::from_secs(60);
/// Interval at which ends and stops are looked for.
const TICK: Duration = Duration::from_millis(50);
/// From one row of a task to the next.
const SECOND: Duration = Duration::from_secs(1);

/// What hears of a run.
pub trait Watch {
    /// A task is ready.
    fn ready(&mut self, task: &str);
    /// A second of a task.
    fn second(&mut self, second: TaskSecond);
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What was measured.
    pub summary: Summary,
    /// Databases of the sinks, with a run each.
    pub databases: Vec<PathBuf>,
    /// Why it ended early; none if all sinks ended by themselves or a stop was asked for.
    pub failure: Option<TestbedError>,
}

/// Runs a workflow until its sinks have ended or `stop` says so. Tasks that are placed on hosts run on those of `elsewhere`. Nothing
/// of it is left afterwards but the folder with configuration and logs on this host.
///
/// # Errors
/// When a task does not start, so that there is nothing to measure.
pub fn run(
    workflow: &Workflow,
    setting: &Setting,
    elsewhere: Option<&dyn Elsewhere>,
    registry: &Registry,
    stop: &dyn Fn() -> bool,
    watch: &mut dyn Watch,
) -> Result<Ended, TestbedError> {
    let available = affinity::cores()
        .map_err(|error| TestbedError::Failed(format!("cannot read the cores of this process: {error}")))?;
    workflow.hosts_are_known(&elsewhere.map(Elsewhere::names).unwrap_or_default())?;
    let mut run = Run {
        workflow,
        setting,
        registry,
        state: begun(workflow, &setting.name, elsewhere)?,
        hosts: Holders::new(workflow),
        cores: Vec::new(),
    };
    registry.claim(&run.state)?;
    let parts = run.state.parts.clone();
    let others = elsewhere.map(|elsewhere| (elsewhere, &parts[..]));
    let opened = run.hosts.open(setting, registry, others);
    let measured = opened
        .and_then(|()| run.set_up(stop, watch))
        .and_then(|()| run.measure(stop, watch));
    let removed = run.take_down();
    // This thread may run another workflow.
    pin(&available)?;
    let mut ended = measured?;
    match removed {
        // What was measured before is kept.
        Err(error @ TestbedError::Lost { .. }) => {
            ended.failure.get_or_insert(error);
        }
        removed => removed?,
    }
    Ok(ended)
}

/// The state of a run that begins, with what of it will be on other hosts.
fn begun(
    workflow: &Workflow,
    name: &str,
    elsewhere: Option<&dyn Elsewhere>,
) -> Result<TestbedState, TestbedError> {
    let all: Vec<usize> = (0..workflow.tasks.len()).collect();
    let mut state = TestbedState::begin(name, workflow, &all);
    for host in workflow.hosts() {
        let Some(elsewhere) = elsewhere else { break };
        let id = elsewhere.id(host)?;
        for task in workflow.tasks_on(Some(host)) {
            let status = &mut state.tasks[task];
            status.host = Some(host.to_owned());
            status.namespace = Registry::namespace(&id, &status.task);
        }
        let host = host.to_owned();
        state.parts.push(PartStatus { host, id });
    }
    Ok(state)
}

struct Run<'a> {
    workflow: &'a Workflow,
    setting: &'a Setting,
    registry: &'a Registry,
    state: TestbedState,
    hosts: Holders<'a>,
    /// Of each task.
    cores: Vec<Vec<usize>>,
}

impl Run<'_> {
    fn is_sink(&self, task: usize) -> bool {
        self.workflow.tasks[task].function.ready == Ready::Sink
    }

    fn set_state(&mut self, task: usize, state: TaskState) -> Result<(), TestbedError> {
        self.state.tasks[task].state = state;
        self.registry.update(&self.state)
    }

    /// What a task has written until now; nothing if its host went away. The log of a task on another host is kept on this one.
    fn output(&mut self, task: usize) -> Result<Output, TestbedError> {
        let Some(output) = self.hosts.output(task)? else {
            return Ok(Output::default());
        };
        let task = &self.workflow.tasks[task];
        if task.host.is_some() {
            let log = self.registry.log(&self.setting.name, &task.name)?;
            std::fs::write(&log, &output.log).map_err(TestbedError::file("write", log))?;
        }
        Ok(output)
    }

    /// Makes the networks and starts all servers.
    fn set_up(&mut self, stop: &dyn Fn() -> bool, watch: &mut dyn Watch) -> Result<(), TestbedError> {
        self.cores = self.hosts.set_up()?;
        for task in 0..self.workflow.tasks.len() {
            if self.is_sink(task) {
                continue;
            }
            self.start(task)?;
            self.wait_until_ready(task, stop)?;
            self.set_state(task, TaskState::Idle)?;
            watch.ready(&self.workflow.tasks[task].name);
        }
        Ok(())
    }

    fn start(&mut self, task: usize) -> Result<(), TestbedError> {
        if let Some(started) = self.hosts.start(task)? {
            self.state.tasks[task].pid = Some(started.pid);
            self.state.tasks[task].start_ticks = started.start_ticks;
        }
        Ok(())
    }

    fn wait_until_ready(&mut self, task: usize, stop: &dyn Fn() -> bool) -> Result<(), TestbedError> {
        let began = Instant::now();
        loop {
            if self.hosts.is_listening(task)? {
                return Ok(());
            }
            let ending = self.hosts.endings()?.swap_remove(task);
            if ending.is_some() || began.elapsed() > START || stop() {
                self.set_state(task, TaskState::InError)?;
                let what = match ending {
                    Some(_) => "it ended before it accepted connections".to_owned(),
                    None if stop() => "interrupted before it accepted connections".to_owned(),
                    None => format!("it does not accept connections on port {PORT}"),
                };
                return Err(self.in_error(task, &what, ending.as_ref()));
            }
            thread::sleep(TICK);
        }
    }

    /// The error of a task, with how its process ended and the last line of its log.
    fn in_error(&mut self, task: usize, what: &str, ending: Option<&Ending>) -> TestbedError {
        let status = ending.map_or(String::new(), |ending| format!(" ({})", ending.status));
        let log = self.output(task).map(|output| output.log).unwrap_or_default();
        // The last line about wrong arguments names the help.
        let says = |line: &&str| !line.trim().is_empty() && !line.starts_with("For more information, try");
        let last = log.lines().rev().find(says);
        let last = last.map_or(String::new(), |line| {
            format!("; its log ends with: {}", one_line(line))
        });
        let task = &self.workflow.tasks[task];
        let (name, function) = (&task.name, &task.function.id);
        TestbedError::Failed(format!("task {name}: function {function}: {what}{status}{last}"))
    }

    /// Starts the sinks, and measures until all of them have ended.
    fn measure(&mut self, stop: &dyn Fn() -> bool, watch: &mut dyn Watch) -> Result<Ended, TestbedError> {
        let mut readings = Readings::begin(self.hosts.sample(true)?, clock::monotonic_ns());
        for task in 0..self.workflow.tasks.len() {
            if self.is_sink(task) {
                self.start(task)?;
            }
            self.state.tasks[task].state = TaskState::Running;
        }
        self.registry.update(&self.state)?;
        let mut failure = self.follow(&mut readings, stop, watch);
        let last = loop {
            match self.hosts.sample(true) {
                // What the others have counted is read without it.
                Err(error @ TestbedError::Lost { .. }) => {
                    failure.get_or_insert(error);
                }
                samples => break samples?,
            }
        };
        let mut summary = readings.end(self.workflow, &self.cores, &last, clock::monotonic_ns());
        let mut databases = Vec::new();
        for (task, result) in summary.tasks.iter_mut().enumerate() {
            let Output {
                printed,
                cache,
                database,
                ..
            } = self.output(task)?;
            result.state = match &result.host {
                Some(host) if self.hosts.lost().contains_key(host) => TaskState::InError,
                _ => self.state.tasks[task].state,
            };
            self.state.tasks[task].state = result.state;
            result.cache = cache;
            result.sink = SinkResult::of(&printed);
            result.capacity = CapacityResult::of(&printed);
            if let Some(database) = database {
                match response::read(&database) {
                    Ok(responses) => {
                        result.responses = responses;
                        databases.push(database);
                    }
                    // A sink that still played may have stored nothing.
                    Err(_) if failure.is_some() => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        summary.lost_hosts = self.hosts.lost().clone();
        Ok(Ended {
            summary,
            databases,
            failure,
        })
    }

    /// Waits for the sinks, with a row of each task every second. Returns why it ended early.
    fn follow(
        &mut self,
        readings: &mut Readings,
        stop: &dyn Fn() -> bool,
        watch: &mut dyn Watch,
    ) -> Option<TestbedError> {
        let mut next = Instant::now() + SECOND;
        let mut asked: Option<Instant> = None;
        loop {
            thread::sleep(TICK);
            if Instant::now() >= next {
                next += SECOND;
                match self.hosts.sample(false) {
                    Ok(samples) => {
                        for second in readings.second(self.workflow, &samples) {
                            watch.second(second);
                        }
                    }
                    Err(error) => return Some(error),
                }
            }
            let endings = match self.hosts.endings() {
                Ok(endings) => endings,
                Err(error) => return Some(error),
            };
            let mut playing = false;
            for (task, ending) in endings.iter().enumerate() {
                if ending.is_some() && !self.is_sink(task) {
                    self.state.tasks[task].state = TaskState::InError;
                    return Some(self.in_error(task, "it ended under load", ending.as_ref()));
                }
                playing |= ending.is_none() && self.is_sink(task);
            }
            if !playing {
                return self.failed_sink(&endings);
            }
            match asked {
                None if stop() => {
                    asked = Some(Instant::now());
                    if let Err(error) = self.hosts.end_sinks() {
                        return Some(error);
                    }
                }
                Some(since) if since.elapsed() > PATIENCE => return None,
                _ => {}
            }
        }
    }

    fn failed_sink(&mut self, endings: &[Option<Ending>]) -> Option<TestbedError> {
        for (task, ending) in endings.iter().enumerate() {
            if !self.is_sink(task) {
                continue;
            }
            // A search that finds no capacity ends with status 1 and its result.
            let has_result = ending.as_ref().is_some_and(|ending| ending.success)
                || self
                    .output(task)
                    .is_ok_and(|output| CapacityResult::of(&output.printed).is_some());
            if !has_result {
                self.state.tasks[task].state = TaskState::InError;
                return Some(self.in_error(task, "it failed", ending.as_ref()));
            }
            self.state.tasks[task].state = TaskState::Idle;
        }
        None
    }

    /// Ends and removes the tasks of all hosts.
    fn take_down(mut self) -> Result<(), TestbedError> {
        let clean = self.hosts.take_down()?;
        self.state.parts.retain(|part| !clean.contains(&part.host));
        for task in &mut self.state.tasks {
            if task.state != TaskState::InError {
                task.state = TaskState::Destroyed;
            }
        }
        self.registry.update(&self.state)
    }
}
