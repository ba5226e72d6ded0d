//! A run of a workflow: tasks in their namespaces, servers first; the workload; counters before, meanwhile and after; and the
//! removal of all of it. It must not know where results are kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use weir_net::affinity;
use weir_net::clock;
use weir_net::namespace::{Inmate, NetworkNamespace};
use weir_net::process;
use weir_results::TaskSecond;

use crate::cache_log;
use crate::error::{TestbedError, one_line};
use crate::filling::{Filling, Own, Served};
use crate::function::{ADDRESS, AGREED, PORT, Ready, fill, fill_command, read_file};
use crate::measured::{Readings, Sample};
use crate::network::{Joint, add_namespace};
use crate::place::{Places, place};
use crate::programs::path_with_sbin;
use crate::relay::{Relay, resolve};
use crate::response;
use crate::result::{CapacityResult, SinkResult, Summary};
use crate::state::{Registry, TaskState, TaskStatus, TestbedState};
use crate::workflow::{Task, Workflow};

/// Maximum time until a function is ready.
const START: Duration = Duration::from_secs(60);
/// Maximum time for a process to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval at which ends and stops are looked for.
const TICK: Duration = Duration::from_millis(50);
/// From one row of a task to the next.
const SECOND: Duration = Duration::from_secs(1);
const TERMINATE: i32 = 15;

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
    let places = place(workflow, &available);
    let state = TestbedState {
        name: setting.name.clone(),
        workflow: workflow.id.clone(),
        pid: std::process::id(),
        start_ticks: process::own_start_ticks().unwrap_or(0),
        started_unix_ns: clock::unix_ns(),
        tasks: workflow
            .tasks
            .iter()
            .map(|task| TaskStatus {
                task: task.name.clone(),
                function: task.function.id.clone(),
                state: TaskState::Instantiated,
                namespace: Registry::namespace(&setting.name, &task.name),
                pid: None,
                start_ticks: None,
            })
            .collect(),
    };
    registry.claim(&state)?;
    let mut bed = Bed {
        workflow,
        setting,
        registry,
        places,
        folder: registry.folder(&setting.name)?,
        state,
        namespaces: Vec::new(),
        joints: Vec::new(),
        processes: BTreeMap::new(),
        relays: Vec::new(),
    };
    let measured = bed.set_up(stop, watch).and_then(|()| bed.measure(stop, watch));
    let removed = bed.take_down();
    // This thread may run another workflow.
    pin(&available)?;
    let ended = measured?;
    removed?;
    Ok(ended)
}

struct Bed<'a> {
    workflow: &'a Workflow,
    setting: &'a Setting,
    registry: &'a Registry,
    places: Places,
    folder: PathBuf,
    state: TestbedState,
    namespaces: Vec<NetworkNamespace>,
    joints: Vec<Joint>,
    /// By task, as far as they have started.
    processes: BTreeMap<usize, Inmate>,
    /// To servers that run already.
    relays: Vec<Relay>,
}

impl Bed<'_> {
    fn is_sink(&self, task: usize) -> bool {
        self.workflow.tasks[task].function.ready == Ready::Sink
    }

    fn set_state(&mut self, task: usize, state: TaskState) -> Result<(), TestbedError> {
        self.state.tasks[task].state = state;
        self.registry.update(&self.state)
    }

    /// Makes the network and starts all servers.
    fn set_up(&mut self, stop: &dyn Fn() -> bool, watch: &mut dyn Watch) -> Result<(), TestbedError> {
        pin(&self.places.shared)?;
        for task in &self.state.tasks {
            let path = self.registry.namespace_file(&task.namespace);
            self.namespaces.push(add_namespace(&path)?);
        }
        for (number, connection) in (0..).zip(&self.workflow.connections) {
            let (server, client) = (&self.namespaces[connection.from], &self.namespaces[connection.to]);
            self.joints
                .push(Joint::make(number, server, client, connection.link.as_ref())?);
        }
        for task in 0..self.workflow.tasks.len() {
            if self.is_sink(task) {
                continue;
            }
            match self.workflow.tasks[task].function.relay {
                true => self.start_relay(task)?,
                false => self.start(task)?,
            }
            self.wait_until_ready(task, stop)?;
            self.set_state(task, TaskState::Idle)?;
            watch.ready(&self.workflow.tasks[task].name);
        }
        Ok(())
    }

    /// Opens the port of a server that runs already.
    fn start_relay(&mut self, index: usize) -> Result<(), TestbedError> {
        let task = &self.workflow.tasks[index];
        let key = format!("configuration: weir.{ADDRESS}");
        let wrong = |problem: String| TestbedError::task(&task.name, &key, problem);
        let parameter = |name: &str| task.parameters.get(name).map_or("", String::as_str);
        let address = parameter(ADDRESS);
        let server = resolve(address).map_err(|error| wrong(format!("'{address}': {error}")))?;
        let is_here = server.iter().all(|server| server.ip().is_loopback());
        if !is_here && parameter(AGREED) != "yes" {
            return Err(wrong(format!(
                "{address} is another host; set weir.{AGREED} to yes if you may load it"
            )));
        }
        let relay = Relay::start(&self.namespaces[index], PORT, server);
        self.relays
            .push(relay.map_err(|error| wrong(format!("cannot open a port for it: {error}")))?);
        Ok(())
    }

    /// Starts the process of a task on its cores.
    fn start(&mut self, index: usize) -> Result<(), TestbedError> {
        let task = &self.workflow.tasks[index];
        let folder = self.folder.join(&task.name);
        let values = self.values(index, &folder);
        std::fs::create_dir_all(&folder).map_err(TestbedError::file("create the folder", &folder))?;
        for file in &task.function.files {
            let path = folder.join(&file.name);
            std::fs::write(&path, fill(&file.text, &values)).map_err(TestbedError::file("write", &path))?;
        }
        let log = self.registry.log(&self.setting.name, &task.name)?;
        let open = |path: &Path| File::create(path).map_err(TestbedError::file("create", path));
        let words = fill_command(&task.function.command, &values);
        let Some((program, arguments)) = words.split_first() else {
            return Err(TestbedError::task(&task.name, "command", "it is empty"));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("PATH", path_with_sbin())
            .current_dir(&folder)
            // Ctrl-C goes to the runner, which ends the tasks in their order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(open(&self.printed(index))?)
            .stderr(open(&log)?);
        pin(&self.places.tasks[index])?;
        let started = self.namespaces[index].spawn(command, "");
        pin(&self.places.shared)?;
        let process = started.map_err(|error| {
            TestbedError::task(&task.name, "command", format!("cannot start {program}: {error}"))
        })?;
        self.state.tasks[index].pid = Some(process.id());
        self.state.tasks[index].start_ticks = process::start_ticks(process.id());
        self.processes.insert(index, process);
        Ok(())
    }

    /// File with the standard output of a task.
    fn printed(&self, task: usize) -> PathBuf {
        self.folder
            .join(format!("{}.out", self.workflow.tasks[task].name))
    }

    /// Standard output of a task; empty if it is no text.
    fn text_printed(&self, task: usize) -> String {
        read_file(&self.printed(task)).unwrap_or_default()
    }

    fn database(&self, task: usize) -> PathBuf {
        self.folder.join(format!("{}.db", self.workflow.tasks[task].name))
    }

    /// Values of the placeholders of a task.
    fn values(&self, index: usize, folder: &Path) -> BTreeMap<String, String> {
        let filling = Filling {
            workflow: self.workflow,
            contents: &self.setting.contents,
            weir: &self.setting.weir,
        };
        let own = Own {
            folder,
            database: &self.database(index),
        };
        filling.values(index, &own, |number| {
            format!("{}:{PORT}", self.joints[number].address)
        })
    }

    fn wait_until_ready(&mut self, index: usize, stop: &dyn Fn() -> bool) -> Result<(), TestbedError> {
        let began = Instant::now();
        loop {
            let connected =
                self.namespaces[index].run(|| TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).is_ok());
            if connected.unwrap_or(false) {
                return Ok(());
            }
            let ended = self.has_ended(index);
            if ended || began.elapsed() > START || stop() {
                self.set_state(index, TaskState::InError)?;
                let what = match ended {
                    true => "it ended before it accepted connections".to_owned(),
                    false => format!("it does not accept connections on port {PORT}"),
                };
                return Err(self.in_error(index, &what));
            }
            thread::sleep(TICK);
        }
    }

    fn has_ended(&mut self, index: usize) -> bool {
        let process = self.processes.get_mut(&index);
        // A process that cannot be waited for is gone.
        process.is_some_and(|process| process.try_wait().map_or(true, |status| status.is_some()))
    }

    /// The error of a task, with how its process ended and the last line of its log.
    fn in_error(&mut self, index: usize, what: &str) -> TestbedError {
        let process = self.processes.get_mut(&index);
        let status = process.and_then(|process| process.try_wait().ok().flatten());
        let status = status.map_or(String::new(), |status| format!(" ({status})"));
        let task = &self.workflow.tasks[index];
        let log = self.registry.log(&self.setting.name, &task.name);
        let log = log.and_then(|log| read_file(&log)).unwrap_or_default();
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or(String::new(), |line| {
            format!("; its log ends with: {}", one_line(line))
        });
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
        let mut summary = readings.end(self.workflow, &self.places, &last, clock::monotonic_ns());
        let mut databases = Vec::new();
        for task in 0..self.workflow.tasks.len() {
            summary.tasks[task].state = self.state.tasks[task].state;
            let Task { name, function, .. } = &self.workflow.tasks[task];
            let log = function.cache_log.as_ref();
            summary.tasks[task].cache =
                log.and_then(|log| cache_log::read(&self.folder.join(name).join(log)));
            if self.is_sink(task) {
                let printed = self.text_printed(task);
                summary.tasks[task].sink = SinkResult::of(&printed);
                summary.tasks[task].capacity = CapacityResult::of(&printed);
                if let Some(database) = Some(self.database(task)).filter(|path| path.is_file()) {
                    summary.tasks[task].responses = response::read(&database)?;
                    databases.push(database);
                }
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
                    Ok(sample) => {
                        for second in readings.second(self.workflow, &sample, clock::monotonic_ns()) {
                            watch.second(second);
                        }
                    }
                    Err(error) => return Some(error),
                }
            }
            let mut playing = false;
            for task in 0..self.workflow.tasks.len() {
                let ended = self.has_ended(task);
                if ended && !self.is_sink(task) {
                    self.state.tasks[task].state = TaskState::InError;
                    return Some(self.in_error(task, "it ended under load"));
                }
                playing |= !ended && self.is_sink(task);
            }
            if !playing {
                return self.failed_sink();
            }
            match asked {
                None if stop() => {
                    asked = Some(Instant::now());
                    self.signal_sinks();
                }
                Some(since) if since.elapsed() > PATIENCE => return None,
                _ => {}
            }
        }
    }

    fn signal_sinks(&self) {
        for (task, process) in &self.processes {
            if self.is_sink(*task) {
                process.signal(TERMINATE);
            }
        }
    }

    fn failed_sink(&mut self) -> Option<TestbedError> {
        for task in 0..self.workflow.tasks.len() {
            if !self.is_sink(task) {
                continue;
            }
            let process = self.processes.get_mut(&task);
            let status = process.and_then(|process| process.try_wait().ok().flatten());
            // A search that finds no capacity ends with status 1 and its result.
            let has_result = status.is_some_and(|status| status.success())
                || CapacityResult::of(&self.text_printed(task)).is_some();
            if !has_result {
                self.state.tasks[task].state = TaskState::InError;
                return Some(self.in_error(task, "it failed"));
            }
            self.state.tasks[task].state = TaskState::Idle;
        }
        None
    }

    /// Counters of all tasks; with `own`, what functions count themselves as well.
    fn sample(&self, own: bool) -> Result<Vec<Sample>, TestbedError> {
        let tasks = self.namespaces.iter().enumerate();
        tasks
            .map(|(index, namespace)| {
                let metrics = self.workflow.tasks[index].function.metrics.as_ref();
                let mut sample = Sample::of(namespace, metrics.filter(|_| own))?;
                for (connection, joint) in self.workflow.connections.iter().zip(&self.joints) {
                    if connection.to == index {
                        sample.flow.taken = sample.flow.taken.plus(joint.traffic(namespace)?.received);
                    }
                    if connection.from == index {
                        sample.flow.given = sample.flow.given.plus(joint.traffic(namespace)?.sent);
                    }
                }
                Ok(sample)
            })
            .collect()
    }

    /// Ends all processes, clients first, and removes namespaces.
    fn take_down(mut self) -> Result<(), TestbedError> {
        while let Some((_, mut process)) = self.processes.pop_last() {
            process.signal(TERMINATE);
            // What does not end in time is killed when it is dropped.
            let _ = process.wait_for(PATIENCE);
        }
        self.registry.remove_tasks(&self.state)?;
        for task in &mut self.state.tasks {
            if task.state != TaskState::InError {
                task.state = TaskState::Destroyed;
            }
        }
        self.registry.update(&self.state)
    }
}

fn pin(cores: &[usize]) -> Result<(), TestbedError> {
    affinity::run_on(cores)
        .map_err(|error| TestbedError::Failed(format!("cannot run on cores {cores:?}: {error}")))
}
