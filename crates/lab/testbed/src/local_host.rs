//! This host as one that holds tasks: a namespace for each, joined by links; processes on their cores; counters of the kernel. It
//! must not know what runs on other hosts, or when a workload begins and ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_net::affinity;
use weir_net::cpu_time::CpuBound;
use weir_net::namespace::{Inmate, NetworkNamespace};
use weir_net::process;

use crate::cache_log;
use crate::error::TestbedError;
use crate::filling::{Filling, Own};
use crate::function::{ADDRESS, AGREED, PORT, Ready, fill_command, fill_file, read_file};
use crate::host::{Ending, Host, Output, Started};
use crate::measured::Sample;
use crate::network::{Joint, add_namespace, new_namespace};
use crate::part::Part;
use crate::place::{Places, place};
use crate::plain_http::get;
use crate::programs::path_with_sbin;
use crate::relay::{Inside, Relay, listen_in, resolve};
use crate::state::Registry;
use crate::workflow::{CPU_LIMIT_KEY, Task};

/// Maximum time for a process to end after it was asked to.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How much of the end of a log is shown, bytes.
const MOST_LOG: u64 = 64 << 10;
const TERMINATE: i32 = 15;
/// Requests to a cache until it counts as ready without a log, some 5 s of them.
const MOST_ASKED: u32 = 100;

/// This host, with its part of a workflow. The testbed's name must be claimed in the registry.
pub(crate) struct LocalHost {
    part: Part,
    weir: PathBuf,
    registry: Registry,
    folder: PathBuf,
    places: Places,
    /// By task.
    namespaces: BTreeMap<usize, NetworkNamespace>,
    /// By connection.
    joints: BTreeMap<usize, Joint>,
    /// By task, as far as they have started.
    processes: BTreeMap<usize, Inmate>,
    /// To servers that run already, and between hosts.
    relays: Vec<Relay>,
    /// Requests to see a cache's log begin, by task.
    asked: BTreeMap<usize, u32>,
}

impl LocalHost {
    pub(crate) fn new(part: Part, registry: &Registry, weir: &Path) -> Result<Self, TestbedError> {
        Ok(LocalHost {
            weir: weir.to_owned(),
            folder: registry.folder(&part.name)?,
            registry: registry.clone(),
            places: Places::default(),
            namespaces: BTreeMap::new(),
            joints: BTreeMap::new(),
            processes: BTreeMap::new(),
            relays: Vec::new(),
            asked: BTreeMap::new(),
            part,
        })
    }

    fn task(&self, task: usize) -> &Task {
        &self.part.workflow.tasks[task]
    }

    fn is_sink(&self, task: usize) -> bool {
        self.task(task).function.ready == Ready::Sink
    }

    /// The namespace of one of its tasks.
    fn namespace(&self, task: usize) -> Result<&NetworkNamespace, TestbedError> {
        let known = self.namespaces.get(&task);
        known.ok_or_else(|| TestbedError::Failed(format!("task {task} is not on this host")))
    }

    /// Opens the port of a server that runs already.
    fn start_relay(&mut self, index: usize) -> Result<(), TestbedError> {
        let task = self.task(index);
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
        let listener = listen_in(self.namespace(index)?, PORT);
        let relay =
            listener.and_then(|listener| Relay::start(listener, move |_| TcpStream::connect(&*server)));
        let relay = relay.map_err(|error| wrong(format!("cannot open a port for it: {error}")))?;
        self.relays.push(relay);
        Ok(())
    }

    /// Starts the process of a task on its cores.
    fn start_process(&mut self, index: usize) -> Result<Started, TestbedError> {
        let task = self.task(index);
        let folder = self.folder.join(&task.name);
        let values = self.values(index, &folder);
        std::fs::create_dir_all(&folder).map_err(TestbedError::file("create the folder", &folder))?;
        for file in &task.function.files {
            let path = folder.join(&file.name);
            std::fs::write(&path, fill_file(&file.text, &values))
                .map_err(TestbedError::file("write", &path))?;
        }
        let log = self.registry.log(&self.part.name, &task.name)?;
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
        if let Some(cores) = task.cpu_limit {
            let group = Registry::namespace(&self.part.name, &task.name);
            let held = CpuBound::create(&group, cores).and_then(|bound| bound.hold(&mut command));
            held.map_err(|error| {
                let problem = format!("this host does not bound CPU time: {error}");
                TestbedError::task(&task.name, CPU_LIMIT_KEY, problem)
            })?;
        }
        pin(self.places.of(index))?;
        let started = self.namespace(index)?.spawn(command, "");
        pin(&self.places.shared)?;
        let process = started.map_err(|error| {
            TestbedError::task(&task.name, "command", format!("cannot start {program}: {error}"))
        })?;
        let started = Started {
            pid: process.id(),
            start_ticks: process::start_ticks(process.id()),
        };
        self.processes.insert(index, process);
        Ok(started)
    }

    /// Whether a cache's log has begun: what writes it may see the first requests too late. Each call makes one request.
    fn notes_requests(&mut self, index: usize) -> Result<bool, TestbedError> {
        let task = self.task(index);
        let Some(log) = &task.function.cache_log else {
            return Ok(true);
        };
        let log = self.folder.join(&task.name).join(log);
        let asked = self.asked.get(&index).copied().unwrap_or(0);
        // A log of somebody else's function may be written late for good reasons.
        if asked >= MOST_ASKED || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Ok(true);
        }
        let address = (Ipv4Addr::LOCALHOST, PORT).into();
        // Only that it is noted matters.
        let _ = self
            .namespace(index)?
            .run(|| get(address, cache_log::FIRST_PATH, 0));
        self.asked.insert(index, asked + 1);
        Ok(false)
    }

    /// File with the standard output of a task.
    fn printed(&self, task: usize) -> PathBuf {
        self.folder.join(format!("{}.out", self.task(task).name))
    }

    fn database(&self, task: usize) -> PathBuf {
        self.folder.join(format!("{}.db", self.task(task).name))
    }

    /// Values of the placeholders of a task.
    fn values(&self, index: usize, folder: &Path) -> BTreeMap<String, String> {
        let filling = Filling {
            workflow: &self.part.workflow,
            contents: &self.part.contents,
            weir: &self.weir,
        };
        let own = Own {
            folder,
            database: &self.database(index),
        };
        filling.values(index, &own, |number| {
            format!("{}:{PORT}", Joint::server_address(number))
        })
    }
}

impl LocalHost {
    /// Makes the connections of its tasks. One to another host ends in a namespace of its own here, at whose other side a relay is.
    fn join(&mut self) -> Result<(), TestbedError> {
        let mut servers = BTreeMap::new();
        for (number, connection) in self.part.workflow.connections.iter().enumerate() {
            let ends = (
                self.namespaces.get(&connection.from),
                self.namespaces.get(&connection.to),
            );
            let link = connection.link.as_ref();
            let joint = match ends {
                (Some(server), Some(client)) => Joint::make(number, server, client, link)?,
                // The link is emulated where the server is.
                (Some(server), None) => {
                    let far = new_namespace()?;
                    let joint = Joint::make(number, server, &far, link)?;
                    servers.insert(
                        number,
                        Inside::new(far, (Joint::server_address(number), PORT).into()),
                    );
                    joint
                }
                (None, Some(client)) => {
                    let far = new_namespace()?;
                    let joint = Joint::make(number, &far, client, None)?;
                    self.relays.push(self.leave(number, &far)?);
                    joint
                }
                (None, None) => continue,
            };
            self.joints.insert(number, joint);
        }
        if let Some(port) = self.part.port.filter(|_| !servers.is_empty()) {
            let relay = Relay::enter(port, &self.part.secret, servers);
            self.relays.push(relay.map_err(|error| {
                TestbedError::Failed(format!(
                    "cannot listen on TCP port {port} for other hosts: {error}; agent-port in the hosts file chooses another"
                ))
            })?);
        }
        Ok(())
    }

    /// Carries a connection to the host of its server, from a namespace in the place of the server's.
    fn leave(&self, number: usize, far: &NetworkNamespace) -> Result<Relay, TestbedError> {
        let failed = |problem: String| {
            TestbedError::Failed(format!(
                "cannot relay connection {number} to another host: {problem}"
            ))
        };
        let server = self.part.servers.get(&number).cloned();
        let server = server.ok_or_else(|| failed("its address is missing".to_owned()))?;
        let listener = listen_in(far, PORT);
        listener
            .and_then(|listener| Relay::leave(listener, server, &self.part.secret, number))
            .map_err(|error| failed(error.to_string()))
    }
}

impl Host for LocalHost {
    fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError> {
        let available = affinity::cores().map_err(|error| {
            TestbedError::Failed(format!("cannot read the cores of this process: {error}"))
        })?;
        self.places = place(&self.part.workflow, &self.part.tasks, &available);
        pin(&self.places.shared)?;
        for task in self.part.tasks.clone() {
            let name = Registry::namespace(&self.part.name, &self.task(task).name);
            let made = add_namespace(&self.registry.namespace_file(&name))?;
            self.namespaces.insert(task, made);
        }
        self.join()?;
        let cores = self.part.tasks.iter().map(|task| self.places.of(*task).to_vec());
        Ok(cores.collect())
    }

    fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError> {
        self.namespace(task)?;
        match self.task(task).function.relay {
            true => self.start_relay(task).map(|()| None),
            false => self.start_process(task).map(Some),
        }
    }

    fn is_listening(&mut self, task: usize) -> Result<bool, TestbedError> {
        let connected = self
            .namespace(task)?
            .run(|| TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).is_ok());
        Ok(connected.unwrap_or(false) && self.notes_requests(task)?)
    }

    fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
        let ending = |task: &usize| {
            let process = self.processes.get_mut(task)?;
            let (success, status) = match process.try_wait() {
                Ok(status) => status.map(|status| (status.success(), status.to_string()))?,
                // A process that cannot be waited for is gone.
                Err(error) => (false, error.to_string()),
            };
            Some(Ending { success, status })
        };
        Ok(self.part.tasks.iter().map(ending).collect())
    }

    fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError> {
        let sample = |index: &usize| {
            let namespace = self.namespace(*index)?;
            let metrics = self.task(*index).function.metrics.as_ref();
            let mut sample = Sample::of(namespace, metrics.filter(|_| own))?;
            for (number, joint) in &self.joints {
                let connection = &self.part.workflow.connections[*number];
                if connection.to == *index {
                    sample.flow.taken = sample.flow.taken.plus(joint.traffic(namespace)?.received);
                }
                if connection.from == *index {
                    sample.flow.given = sample.flow.given.plus(joint.traffic(namespace)?.sent);
                }
            }
            Ok(sample)
        };
        self.part.tasks.iter().map(sample).collect()
    }

    fn end_sinks(&mut self) -> Result<(), TestbedError> {
        for (task, process) in &self.processes {
            if self.is_sink(*task) {
                process.signal(TERMINATE);
            }
        }
        Ok(())
    }

    fn output(&mut self, task: usize) -> Result<Output, TestbedError> {
        self.namespace(task)?;
        let Task { name, function, .. } = self.task(task);
        let log = self.registry.log(&self.part.name, name)?;
        let cache = function.cache_log.as_ref();
        let cache = cache.and_then(|log| cache_log::read(&self.folder.join(name).join(log)));
        let is_sink = self.is_sink(task);
        // What is no text is no result.
        let printed = is_sink.then(|| read_file(&self.printed(task)).unwrap_or_default());
        Ok(Output {
            printed: printed.unwrap_or_default(),
            log: end_of(&log),
            cache,
            database: Some(self.database(task)).filter(|path| is_sink && path.is_file()),
        })
    }

    fn take_down(&mut self) -> Result<(), TestbedError> {
        while let Some((_, mut process)) = self.processes.pop_last() {
            process.signal(TERMINATE);
            // What does not end in time is killed when it is dropped.
            let _ = process.wait_for(PATIENCE);
        }
        for task in &self.part.tasks {
            let name = Registry::namespace(&self.part.name, &self.task(*task).name);
            self.registry.remove_namespace(&name)?;
        }
        Ok(())
    }
}

/// The end of a log; empty if there is none.
fn end_of(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_LOG)))?;
        file.take(MOST_LOG).read_to_end(&mut bytes)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// Holds the calling thread, and what it starts, on these cores.
pub(crate) fn pin(cores: &[usize]) -> Result<(), TestbedError> {
    affinity::run_on(cores)
        .map_err(|error| TestbedError::Failed(format!("cannot run on cores {cores:?}: {error}")))
}
