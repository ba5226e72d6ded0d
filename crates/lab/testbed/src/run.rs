//! A run of a workflow: servers first, then the workload; counters before, meanwhile and after; and the removal of all of it. It
//! must not know how hosts hold tasks, or where results are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use weir_net::affinity;
use weir_net::clock;
use weir_net::process;
use weir_results::TaskSecond;

use crate::error::{TestbedError, one_line};
use crate::filling::Served;
use crate::function::{PORT, Ready};
use crate::host::{Ending, Host, Output};
use crate::local_host::{LocalHost, PATIENCE, Part, pin};
use crate::measured::{Readings, Sample};
use crate::response;
use crate::result::{CapacityResult, SinkResult, Summary};
use crate::state::{Registry, TaskState, TaskStatus, TestbedState};
use crate::workflow::Workflow;

/// Maximum time until a function is ready.
const START: Duration = Duration::from_secs(60);
/// Interval at which ends and stops are looked for.
const TICK: Duration = Duration::from_millis(50);
/// From one row of a task to the next.
const SECOND: Duration = Duration::from_secs(1);

/// What a run needs besides its workflow.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the testbed.
    pub name: String,
    /// The `weir` binary.
    pub weir: PathBuf,
    /// Content by the name of the task that serves it.
    pub contents: BTreeMap<String, Served>,
}

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

/// Runs a workflow until its sinks have ended or `stop` says so. Nothing of it is left on the host afterwards but the folder with
/// configuration and logs.
///
/// # Errors
/// When a task does not start, so that there is nothing to measure.
pub fn run(
    workflow: &Workflow,
    setting: &Setting,
    registry: &Registry,
    stop: &dyn Fn() -> bool,
    watch: &mut dyn Watch,
) -> Result<Ended, TestbedError> {
    let available = affinity::cores()
        .map_err(|error| TestbedError::Failed(format!("cannot read the cores of this process: {error}")))?;
    let state = claimed(workflow, &setting.name);
    registry.claim(&state)?;
    let part = Part {
        name: setting.name.clone(),
        workflow: workflow.clone(),
        tasks: (0..workflow.tasks.len()).collect(),
        contents: setting.contents.clone(),
        weir: setting.weir.clone(),
    };
    let mut run = Run {
        workflow,
        registry,
        state,
        holders: vec![Holder {
            tasks: part.tasks.clone(),
            host: Box::new(LocalHost::new(part, registry)?),
        }],
        cores: vec![Vec::new(); workflow.tasks.len()],
    };
    let measured = run.set_up(stop, watch).and_then(|()| run.measure(stop, watch));
    let removed = run.take_down();
    // This thread may run another workflow.
    pin(&available)?;
    let ended = measured?;
    removed?;
    Ok(ended)
}

/// The state of a run that begins.
fn claimed(workflow: &Workflow, name: &str) -> TestbedState {
    let tasks = workflow.tasks.iter().map(|task| TaskStatus {
        task: task.name.clone(),
        function: task.function.id.clone(),
        state: TaskState::Instantiated,
        namespace: Registry::namespace(name, &task.name),
        pid: None,
        start_ticks: None,
    });
    TestbedState {
        name: name.to_owned(),
        workflow: workflow.id.clone(),
        pid: std::process::id(),
        start_ticks: process::own_start_ticks().unwrap_or(0),
        started_unix_ns: clock::unix_ns(),
        tasks: tasks.collect(),
    }
}

/// A host, and the tasks that it holds.
struct Holder {
    tasks: Vec<usize>,
    host: Box<dyn Host>,
}

struct Run<'a> {
    workflow: &'a Workflow,
    registry: &'a Registry,
    state: TestbedState,
    holders: Vec<Holder>,
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

    /// The host of a task.
    fn host(&mut self, task: usize) -> Result<&mut dyn Host, TestbedError> {
        let holder = self
            .holders
            .iter_mut()
            .find(|holder| holder.tasks.contains(&task));
        match holder {
            Some(holder) => Ok(holder.host.as_mut()),
            None => Err(TestbedError::Failed(format!("no host holds task {task}"))),
        }
    }

    /// Makes the networks and starts all servers.
    fn set_up(&mut self, stop: &dyn Fn() -> bool, watch: &mut dyn Watch) -> Result<(), TestbedError> {
        for holder in &mut self.holders {
            for (task, cores) in holder.tasks.iter().zip(holder.host.set_up()?) {
                self.cores[*task] = cores;
            }
        }
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
        if let Some(started) = self.host(task)?.start(task)? {
            self.state.tasks[task].pid = Some(started.pid);
            self.state.tasks[task].start_ticks = started.start_ticks;
        }
        Ok(())
    }

    fn wait_until_ready(&mut self, task: usize, stop: &dyn Fn() -> bool) -> Result<(), TestbedError> {
        let began = Instant::now();
        loop {
            if self.host(task)?.is_listening(task)? {
                return Ok(());
            }
            let ending = self.endings()?.swap_remove(task);
            if ending.is_some() || began.elapsed() > START || stop() {
                self.set_state(task, TaskState::InError)?;
                let what = match ending {
                    Some(_) => "it ended before it accepted connections".to_owned(),
                    None => format!("it does not accept connections on port {PORT}"),
                };
                return Err(self.in_error(task, &what, ending.as_ref()));
            }
            thread::sleep(TICK);
        }
    }

    /// How the processes of all tasks ended.
    fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
        let mut all = vec![None; self.workflow.tasks.len()];
        for holder in &mut self.holders {
            for (task, ending) in holder.tasks.iter().zip(holder.host.endings()?) {
                all[*task] = ending;
            }
        }
        Ok(all)
    }

    /// The error of a task, with how its process ended and the last line of its log.
    fn in_error(&mut self, task: usize, what: &str, ending: Option<&Ending>) -> TestbedError {
        let status = ending.map_or(String::new(), |ending| format!(" ({})", ending.status));
        let log = self.host(task).and_then(|host| host.output(task));
        let log = log.map(|output| output.log).unwrap_or_default();
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or(String::new(), |line| {
            format!("; its log ends with: {}", one_line(line))
        });
        let task = &self.workflow.tasks[task];
        let (name, function) = (&task.name, &task.function.id);
        TestbedError::Failed(format!("task {name}: function {function}: {what}{status}{last}"))
    }

    /// Starts the sinks, and measures until all of them have ended.
    fn measure(&mut self, stop: &dyn Fn() -> bool, watch: &mut dyn Watch) -> Result<Ended, TestbedError> {
        let mut readings = Readings::begin(self.sample(true)?, clock::monotonic_ns());
        for task in 0..self.workflow.tasks.len() {
            if self.is_sink(task) {
                self.start(task)?;
            }
            self.state.tasks[task].state = TaskState::Running;
        }
        self.registry.update(&self.state)?;
        let failure = self.follow(&mut readings, stop, watch);
        let last = self.sample(true)?;
        let mut summary = readings.end(self.workflow, &self.cores, &last, clock::monotonic_ns());
        let mut databases = Vec::new();
        for (task, result) in summary.tasks.iter_mut().enumerate() {
            result.state = self.state.tasks[task].state;
            let Output {
                printed,
                cache,
                database,
                ..
            } = self.host(task)?.output(task)?;
            result.cache = cache;
            result.sink = SinkResult::of(&printed);
            result.capacity = CapacityResult::of(&printed);
            if let Some(database) = database {
                result.responses = response::read(&database)?;
                databases.push(database);
            }
        }
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
                match self.sample(false) {
                    Ok(samples) => {
                        for second in readings.second(self.workflow, &samples) {
                            watch.second(second);
                        }
                    }
                    Err(error) => return Some(error),
                }
            }
            let endings = match self.endings() {
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
                    for holder in &mut self.holders {
                        if let Err(error) = holder.host.end_sinks() {
                            return Some(error);
                        }
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
                    .host(task)
                    .and_then(|host| host.output(task))
                    .is_ok_and(|output| CapacityResult::of(&output.printed).is_some());
            if !has_result {
                self.state.tasks[task].state = TaskState::InError;
                return Some(self.in_error(task, "it failed", ending.as_ref()));
            }
            self.state.tasks[task].state = TaskState::Idle;
        }
        None
    }

    /// Counters of all tasks; with `own`, what functions count themselves as well.
    fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError> {
        let mut all = vec![Sample::default(); self.workflow.tasks.len()];
        for holder in &mut self.holders {
            for (task, sample) in holder.tasks.iter().zip(holder.host.sample(own)?) {
                all[*task] = sample;
            }
        }
        Ok(all)
    }

    /// Ends and removes the tasks of all hosts.
    fn take_down(mut self) -> Result<(), TestbedError> {
        for holder in &mut self.holders {
            holder.host.take_down()?;
        }
        for task in &mut self.state.tasks {
            if task.state != TaskState::InError {
                task.state = TaskState::Destroyed;
            }
        }
        self.registry.update(&self.state)
    }
}
