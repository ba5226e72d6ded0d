//! Testbeds that are known on this host: a folder each in `/run/weir/testbed`, with the state of its tasks, their
//! configuration and logs. What a runner that was killed left behind is found by it: namespaces by their names, processes by the
//! namespace that they are in. It must not know how tasks are run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_net::clock;
use weir_net::cpu_time;
use weir_net::namespace::NetworkNamespace;
use weir_net::process::{self, ProcessHandle};

use crate::error::TestbedError;
use crate::name::{A_NAME, is_name};
use crate::workflow::Workflow;

/// The file with the state, in the folder of a testbed.
const STATE: &str = "state.json";
/// Maximum size of a state, bytes.
const MOST_STATE_BYTES: u64 = 1 << 20;
/// Maximum time for a process to end.
const PATIENCE_MS: u32 = 30_000;
const TERMINATE: i32 = 15;
const KILL: i32 = 9;

/// States of tasks as the standard names them (ISO/IEC 23090-8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Its namespace is there.
    #[default]
    Instantiated,
    /// It can take requests; nobody sends any.
    Idle,
    /// The workload runs.
    Running,
    /// It ended or did not start.
    InError,
    /// It is gone.
    Destroyed,
}

impl TaskState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Instantiated => "instantiated",
            TaskState::Idle => "idle",
            TaskState::Running => "running",
            TaskState::InError => "in-error",
            TaskState::Destroyed => "destroyed",
        }
    }
}

/// A task as it is known on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// Its name.
    pub task: String,
    /// Its function.
    pub function: String,
    /// Its host; none for this one.
    #[serde(default)]
    pub host: Option<String>,
    /// State.
    pub state: TaskState,
    /// Its network namespace, as `ip netns` takes it.
    pub namespace: String,
    /// Its process, once it has started.
    pub pid: Option<u32>,
    /// When that process began, clock ticks since boot.
    pub start_ticks: Option<u64>,
}

/// A testbed as it is known on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestbedState {
    /// Its name.
    pub name: String,
    /// Identifier of the workflow.
    pub workflow: String,
    /// Process of the runner.
    pub pid: u32,
    /// When that process began, clock ticks since boot.
    pub start_ticks: u64,
    /// Start, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// Its tasks, servers first.
    pub tasks: Vec<TaskStatus>,
    /// What of it may be on other hosts.
    #[serde(default)]
    pub parts: Vec<PartStatus>,
}

/// The part of a testbed on another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartStatus {
    /// Name of the host.
    pub host: String,
    /// Identifier of the part, in the name of its folder there.
    pub id: String,
}

impl TestbedState {
    /// That of a run of this process that begins, with these tasks of a workflow on this host.
    pub(crate) fn begin(name: &str, workflow: &Workflow, tasks: &[usize]) -> Self {
        let status = |task: &usize| {
            let task = &workflow.tasks[*task];
            TaskStatus {
                task: task.name.clone(),
                function: task.function.id.clone(),
                host: None,
                state: TaskState::Instantiated,
                namespace: Registry::namespace(name, &task.name),
                pid: None,
                start_ticks: None,
            }
        };
        TestbedState {
            name: name.to_owned(),
            workflow: workflow.id.clone(),
            pid: std::process::id(),
            start_ticks: process::own_start_ticks().unwrap_or(0),
            started_unix_ns: clock::unix_ns(),
            tasks: tasks.iter().map(status).collect(),
            parts: Vec::new(),
        }
    }

    /// Whether the runner still runs it.
    pub fn is_alive(&self) -> bool {
        !self.has_ended() && process::start_ticks(self.pid) == Some(self.start_ticks)
    }

    /// Whether the runner removed all tasks; the one that failed keeps its state.
    pub fn has_ended(&self) -> bool {
        let is_gone = |task: &TaskStatus| matches!(task.state, TaskState::Destroyed | TaskState::InError);
        self.tasks.iter().all(is_gone)
    }
}

/// Where testbeds are known.
#[derive(Clone, Debug)]
pub struct Registry {
    folders: PathBuf,
    namespaces: PathBuf,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            folders: PathBuf::from("/run/weir/testbed"),
            namespaces: PathBuf::from("/run/netns"),
        }
    }
}

fn check_name(name: &str) -> Result<(), TestbedError> {
    if is_name(name) {
        return Ok(());
    }
    let name = crate::error::one_line(name);
    Err(TestbedError::Document(format!(
        "'{name}' cannot be a name here: {A_NAME}"
    )))
}

impl Registry {
    /// Testbeds that are known in a folder of their own.
    pub fn of_folder(folder: &Path) -> Self {
        Registry {
            folders: folder.join("testbed"),
            ..Registry::default()
        }
    }

    /// Folder of a testbed.
    ///
    /// # Errors
    /// When no testbed can have this name.
    pub fn folder(&self, name: &str) -> Result<PathBuf, TestbedError> {
        check_name(name)?;
        Ok(self.folders.join(name))
    }

    /// The file with what a task has printed.
    ///
    /// # Errors
    /// When no testbed can have this name.
    pub fn log(&self, name: &str, task: &str) -> Result<PathBuf, TestbedError> {
        check_name(task)?;
        Ok(self.folder(name)?.join(format!("{task}.log")))
    }

    /// The name of a task's namespace.
    pub(crate) fn namespace(name: &str, task: &str) -> String {
        format!("weir-testbed-{name}-{task}")
    }

    pub(crate) fn namespace_file(&self, namespace: &str) -> PathBuf {
        self.namespaces.join(namespace)
    }

    /// What is known of a testbed; none when there is none. A file that cannot be understood counts as none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<TestbedState>, TestbedError> {
        let path = self.folder(name)?.join(STATE);
        match fs::metadata(&path) {
            Ok(found) if found.len() <= MOST_STATE_BYTES => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(TestbedError::file("look at", path)(error)),
        }
        let text = fs::read(&path).map_err(TestbedError::file("read", &path))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Names of all testbeds, in order.
    ///
    /// # Errors
    /// When the folder cannot be read; one that does not exist holds none.
    pub fn names(&self) -> Result<Vec<String>, TestbedError> {
        let entries = match fs::read_dir(&self.folders) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TestbedError::file("read the folder", &self.folders)(error)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_name(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Takes the name for a run of this process: what an earlier run left under it is removed.
    pub(crate) fn claim(&self, state: &TestbedState) -> Result<(), TestbedError> {
        let folder = self.folder(&state.name)?;
        if self.get(&state.name)?.is_some_and(|known| known.is_alive()) {
            return Err(TestbedError::Taken(state.name.clone()));
        }
        self.remove(&state.name)?;
        fs::create_dir_all(&self.folders).map_err(TestbedError::file("create the folder", &self.folders))?;
        // Of two runs that begin at once, one gets the folder.
        fs::create_dir(&folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => TestbedError::Taken(state.name.clone()),
            _ => TestbedError::file("create the folder", &folder)(error),
        })?;
        self.update(state)
    }

    /// Replaces the state in one step.
    pub(crate) fn update(&self, state: &TestbedState) -> Result<(), TestbedError> {
        let path = self.folder(&state.name)?.join(STATE);
        let draft = path.with_extension("draft");
        let text =
            serde_json::to_vec(state).map_err(|error| TestbedError::file("write", &path)(error.into()))?;
        fs::write(&draft, text)
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(TestbedError::file("write", &path))
    }

    /// Removes what the tasks of a testbed leave on the host: processes and namespaces. Its runner must have ended.
    fn remove_tasks(&self, state: &TestbedState) -> Result<(), TestbedError> {
        let mut tasks = state.tasks.iter().filter(|task| task.host.is_none());
        tasks.try_for_each(|task| self.remove_namespace(&task.namespace))
    }

    /// Ends all processes in a namespace and removes it, with the control group of its task; a missing one is no error.
    pub(crate) fn remove_namespace(&self, name: &str) -> Result<(), TestbedError> {
        let path = self.namespace_file(name);
        // A file that a crash left before the namespace was attached to it opens, too; nobody is in it.
        if let Ok(namespace) = NetworkNamespace::open(&path) {
            namespace
                .kill_processes(PATIENCE_MS)
                .map_err(TestbedError::file("end the processes in", &path))?;
        }
        cpu_time::remove(name).map_err(TestbedError::file("remove the control group of", &path))?;
        NetworkNamespace::detach_name(&path).map_err(TestbedError::file("remove the namespace", &path))
    }

    /// Removes all that a testbed that has ended leaves; one that runs stays.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn forget(&self, name: &str) -> Result<(), TestbedError> {
        match self.get(name)?.is_some_and(|state| state.is_alive()) {
            true => Ok(()),
            false => self.remove(name),
        }
    }

    /// Removes all that a testbed leaves. Its runner must have ended.
    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        if let Some(state) = self.get(name)? {
            self.remove_tasks(&state)?;
        }
        remove_folder(&self.folder(name)?)
    }

    /// Parts on other hosts of testbeds whose runner is gone; with `all`, of those that run as well.
    ///
    /// # Errors
    /// When what is known cannot be read.
    pub fn parts_left(&self, all: bool) -> Result<Vec<PartStatus>, TestbedError> {
        let mut parts = Vec::new();
        for name in self.names()? {
            let state = self.get(&name)?.filter(|state| all || !state.is_alive());
            parts.extend(state.into_iter().flat_map(|state| state.parts));
        }
        Ok(parts)
    }

    /// Ends a run: its runner removes what it made, and keeps what was measured.
    ///
    /// # Errors
    /// When the runner does not end.
    pub fn stop(&self, state: &TestbedState) -> Result<(), TestbedError> {
        let Ok(handle) = ProcessHandle::of(state.pid) else {
            return Ok(());
        };
        if !state.is_alive() {
            return Ok(());
        }
        for signal in [TERMINATE, KILL] {
            handle.signal(signal);
            let is_over = handle.wait_for_end(PATIENCE_MS).unwrap_or(false);
            // A runner that has removed its tasks may have more to do, such as to remove machines.
            if is_over || self.get(&state.name)?.is_none_or(|state| state.has_ended()) {
                return Ok(());
            }
        }
        Err(TestbedError::Failed(format!(
            "process {} of the testbed '{}' does not end",
            state.pid, state.name
        )))
    }

    /// Removes testbeds whose runner is gone, with processes, namespaces, configuration and logs; with `all`, those that run are
    /// ended first. Returns their names.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn clean(&self, all: bool) -> Result<Vec<String>, TestbedError> {
        let mut cleaned = Vec::new();
        for name in self.names()? {
            let state = self.get(&name)?;
            if let Some(state) = state.filter(TestbedState::is_alive) {
                if !all {
                    continue;
                }
                self.stop(&state)?;
            }
            self.remove(&name)?;
            cleaned.push(name);
        }
        Ok(cleaned)
    }
}

fn remove_folder(folder: &Path) -> Result<(), TestbedError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(TestbedError::file("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry {
            folders: folder.path().join("testbed"),
            namespaces: folder.path().join("netns"),
        };
        (folder, registry)
    }

    fn state(pid: u32, start_ticks: u64) -> TestbedState {
        TestbedState {
            name: "a".to_owned(),
            workflow: "w".to_owned(),
            pid,
            start_ticks,
            started_unix_ns: 1,
            parts: Vec::new(),
            tasks: vec![TaskStatus {
                task: "origin".to_owned(),
                function: "origin".to_owned(),
                host: None,
                state: TaskState::Idle,
                namespace: Registry::namespace("a", "origin"),
                pid: None,
                start_ticks: None,
            }],
        }
    }

    #[test]
    fn a_name_is_taken_while_its_runner_runs_and_cleaned_afterwards() {
        let (_folder, registry) = registry();
        let pid = std::process::id();
        let own = state(pid, process::own_start_ticks().expect("a start"));
        registry.claim(&own).expect("a name");
        assert_eq!(registry.get("a").expect("a state"), Some(own.clone()));
        assert!(matches!(registry.claim(&own), Err(TestbedError::Taken(_))));
        assert!(registry.clean(false).expect("cleaned").is_empty());
        // The number of a runner that is gone, taken by another process.
        registry.update(&state(pid, 1)).expect("a state");
        registry.claim(&own).expect("a name that was left");
        registry.update(&state(pid, 1)).expect("a state");
        assert_eq!(registry.clean(false).expect("cleaned"), ["a"]);
        // One command may run several workflows under a name.
        let mut ended = own.clone();
        ended.tasks[0].state = TaskState::Destroyed;
        registry.claim(&ended).expect("a name");
        registry.claim(&own).expect("a name that is free again");
        registry.update(&state(pid, 1)).expect("a state");
        assert_eq!(registry.clean(false).expect("cleaned"), ["a"]);
        assert!(registry.names().expect("names").is_empty());
        assert!(registry.get("../a").is_err() && registry.folder("").is_err());
    }
}
