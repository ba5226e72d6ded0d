//! A workflow that can be run: tasks with their functions and parameters, and the connections between their ports; checked
//! against the functions and against this host. It must not know how tasks are run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_link::LinkSpec;
use weir_net::cpu_time::LEAST_CORES;

use crate::document::{Connection as Joined, Document, End, OWN, Parameter, Restriction, host_of};
use crate::error::{TestbedError, one_line};
use crate::flow_control;
use crate::form::Form;
use crate::function::{Function, Functions, Ready, read_file};
use crate::name::{A_NAME, is_name};
use crate::short::{self, Short};

/// Maximum number of tasks.
const MOST_TASKS: usize = 64;
/// Maximum number of connections: each has a network of its own.
const MOST_CONNECTIONS: usize = 128;
/// Key of a task's host, for errors.
const PLACEMENT: &str = "requirements: hardware: placement (host)";
/// Name of the parameter of a connection that names a link file or profile.
pub(crate) const LINK: &str = "weir.link";
/// Our own parameter of every task: the CPU time that it gets at most, in cores.
pub(crate) const CPU_LIMIT: &str = "cpu-limit";
/// Its key, for errors.
pub(crate) const CPU_LIMIT_KEY: &str = "configuration: weir.cpu-limit";

/// A workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    /// Its identifier.
    pub id: String,
    /// A sentence.
    pub description: String,
    /// Tasks, servers before their clients.
    pub tasks: Vec<Task>,
    /// Connections.
    pub connections: Vec<Connection>,
}

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it runs.
    pub function: Function,
    /// All parameters of the function with their values.
    pub parameters: BTreeMap<String, String>,
    /// Cores that no other task runs on; none: it shares those that are left.
    pub vcpu: Option<usize>,
    /// CPU time that it gets at most, in cores.
    pub cpu_limit: Option<f64>,
    /// Memory that must be there, MiB.
    pub ram_mib: Option<u64>,
    /// Host that it is placed on; none for that of the runner.
    pub host: Option<String>,
}

impl Task {
    /// Threads that can be busy at a time, of a function that knows what it may use.
    pub(crate) fn threads(&self) -> usize {
        let limit = self.cpu_limit.map(|cores| cores.ceil() as usize);
        self.vcpu.or(limit).unwrap_or(1)
    }

    /// Cores that it can keep busy whatever others do; none if it shares them.
    pub(crate) fn own_time(&self) -> Option<f64> {
        self.cpu_limit.or(self.vcpu.map(|count| count as f64))
    }
}

/// A connection: media goes from the server to the client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// Index of the server's task.
    pub from: usize,
    /// Index of the client's task.
    pub to: usize,
    /// Input port of the client.
    pub input: String,
    /// The emulated link between them; none for a plain one.
    pub link: Option<LinkSpec>,
}

/// What this host has.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory, MiB.
    pub ram_mib: u64,
}

impl Capabilities {
    /// Those of this process on this host.
    ///
    /// # Errors
    /// When the host does not say.
    pub fn of_this_host() -> Result<Self, TestbedError> {
        let cores = weir_net::affinity::cores().map_err(|error| {
            TestbedError::Failed(format!("cannot read the cores of this process: {error}"))
        })?;
        let path = Path::new("/proc/meminfo");
        let text = std::fs::read_to_string(path).map_err(TestbedError::file("read", path))?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Ok(Capabilities {
            cores: cores.len(),
            ram_mib: kib.ok_or_else(|| TestbedError::Failed("/proc/meminfo has no MemTotal".to_owned()))?
                >> 10,
        })
    }
}

/// Reads the document of a workflow: JSON or YAML, or the short form in TOML or YAML. Function documents that it names are found
/// beside it; `extra` are others.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn read(path: &Path, extra: &[PathBuf]) -> Result<(Document, Functions), TestbedError> {
    let text = read_file(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let find = |named: &[String]| -> Result<Functions, TestbedError> {
        let mut functions = Functions::built_in()?;
        let beside = named.iter().map(|name| folder.join(name));
        beside
            .chain(extra.iter().cloned())
            .try_for_each(|file| functions.add(&file))?;
        Ok(functions)
    };
    let read = parse(&text, Form::of(path)).and_then(|written| written.document(find));
    read.map_err(|error| match error {
        TestbedError::Document(said) => TestbedError::Document(format!("{}: {said}", path.display())),
        other => other,
    })
}

/// A workflow as it is written.
enum Written {
    Whole(Box<Document>),
    Short(Short),
}

/// JSON is the whole document, TOML the short form; YAML is either.
fn parse(text: &str, form: Form) -> Result<Written, TestbedError> {
    let is_whole = match form {
        Form::Json => true,
        Form::Toml => false,
        Form::Yaml => {
            let value: Value = form.parse(text)?;
            ["general", "processing"]
                .iter()
                .any(|key| value.get(key).is_some())
        }
    };
    match is_whole {
        true => form
            .parse(text)
            .map(|document| Written::Whole(Box::new(document))),
        false => form.parse(text).map(Written::Short),
    }
}

impl Written {
    /// The document, and the functions that `find` gives for the names of function documents in it.
    fn document(
        self,
        find: impl Fn(&[String]) -> Result<Functions, TestbedError>,
    ) -> Result<(Document, Functions), TestbedError> {
        match self {
            Written::Whole(document) => {
                let locations = document
                    .repository
                    .iter()
                    .flat_map(|repository| &repository.location);
                let named: Vec<String> = locations.map(|location| location.url.clone()).collect();
                Ok((*document, find(&named)?))
            }
            Written::Short(short) => {
                let functions = find(&short.functions)?;
                Ok((short::expand(&short, &functions), functions))
            }
        }
    }
}

impl Workflow {
    /// The workflow of a document; link files are found beside it, in `folder`.
    ///
    /// # Errors
    /// The first thing that is wrong, in a line that names task and key.
    pub fn of(document: &Document, functions: &Functions, folder: &Path) -> Result<Self, TestbedError> {
        let restrictions = &document.processing.function_restrictions;
        if restrictions.is_empty() || restrictions.len() > MOST_TASKS {
            return Err(TestbedError::Document(format!(
                "processing: function-restrictions: {} tasks; a workflow has 1 to {MOST_TASKS}",
                restrictions.len()
            )));
        }
        known_functions(restrictions, functions)?;
        let mut names = BTreeSet::new();
        for restriction in restrictions {
            if !is_name(&restriction.instance) {
                return Err(TestbedError::task(&restriction.instance, "instance", A_NAME));
            }
            if !names.insert(&restriction.instance) {
                let problem = "two tasks have this name";
                return Err(TestbedError::task(&restriction.instance, "instance", problem));
            }
        }
        let tasks: Vec<Task> = restrictions
            .iter()
            .map(|restriction| task(restriction, functions))
            .collect::<Result<_, _>>()?;
        let joined = &document.processing.connection_map;
        if joined.len() > MOST_CONNECTIONS {
            return Err(TestbedError::Document(format!(
                "processing: connection-map: {} connections; the maximum is {MOST_CONNECTIONS}",
                joined.len()
            )));
        }
        let connections: Vec<Connection> = joined
            .iter()
            .map(|joined| connection(joined, &tasks, folder))
            .collect::<Result<_, _>>()?;
        inputs_are_connected_once(&tasks, &connections)?;
        let (tasks, connections) = servers_first(tasks, connections)?;
        if !tasks.iter().any(|task| task.function.ready == Ready::Sink) {
            return Err(TestbedError::Document(
                "no task is a sink, so that the workflow would never end; add one, such as weir-sink"
                    .to_owned(),
            ));
        }
        Ok(Workflow {
            id: one_line(&document.general.id),
            description: one_line(&document.general.description),
            tasks,
            connections,
        })
    }

    /// Tasks that are placed on a host, servers first; without one, on that of the runner.
    pub fn tasks_on(&self, host: Option<&str>) -> impl Iterator<Item = usize> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter_map(move |(index, task)| (task.host.as_deref() == host).then_some(index))
    }

    /// Hosts that tasks are placed on besides that of the runner, in the order of their first tasks.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = Vec::new();
        for host in self.tasks.iter().filter_map(|task| task.host.as_deref()) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// Refuses hosts that are not among the `known` ones, and servers that clients on other hosts cannot reach.
    ///
    /// # Errors
    /// The first one, in a line that names task and key.
    pub fn hosts_are_known(&self, known: &[&str]) -> Result<(), TestbedError> {
        for task in &self.tasks {
            let Some(host) = task.host.as_deref().filter(|host| !known.contains(host)) else {
                continue;
            };
            let problem = match known {
                [] => format!(
                    "there is no hosts file; give the one that has '{host}' to 'weir testbed run --hosts'"
                ),
                _ => format!(
                    "no host is called '{host}'; the hosts file has {}",
                    known.join(", ")
                ),
            };
            return Err(TestbedError::task(&task.name, PLACEMENT, problem));
        }
        for connection in &self.connections {
            let (server, client) = (&self.tasks[connection.from], &self.tasks[connection.to]);
            if let (None, Some(host)) = (&server.host, &client.host) {
                let problem = format!(
                    "{host} with the task {} may not reach the host of the runner; place this task on a host of the hosts file",
                    client.name
                );
                return Err(TestbedError::task(&server.name, PLACEMENT, problem));
            }
        }
        Ok(())
    }

    /// Refuses requirements of the tasks that are placed on `host`, which is this one, that it cannot meet.
    ///
    /// # Errors
    /// The first one, in a line that names task and key.
    pub fn fits(&self, host: Option<&str>, has: Capabilities) -> Result<(), TestbedError> {
        let tasks = || self.tasks_on(host).map(|index| &self.tasks[index]);
        let mut taken = 0;
        for task in tasks() {
            taken += task.vcpu.unwrap_or(0);
            if taken > has.cores {
                return Err(TestbedError::task(
                    &task.name,
                    "requirements: hardware: vcpu",
                    format!(
                        "{taken} cores are needed up to this task; this host has {}",
                        has.cores
                    ),
                ));
            }
            let most = task.vcpu.unwrap_or(has.cores);
            if let Some(limit) = task.cpu_limit.filter(|limit| *limit > most as f64) {
                let problem = format!("{limit} cores are above the {most} that it can have");
                return Err(TestbedError::task(&task.name, CPU_LIMIT_KEY, problem));
            }
            if let Some(ram) = task.ram_mib.filter(|ram| *ram > has.ram_mib) {
                return Err(TestbedError::task(
                    &task.name,
                    "requirements: hardware: ram",
                    format!("{ram} MiB are needed; this host has {}", has.ram_mib),
                ));
            }
        }
        let sharing = tasks().find(|task| task.vcpu.is_none());
        match sharing {
            Some(task) if taken == has.cores => Err(TestbedError::task(
                &task.name,
                "requirements: hardware: vcpu",
                format!("no core is left for it: other tasks have all {taken} of this host for themselves"),
            )),
            _ => Ok(()),
        }
    }

    /// Connections from which a task reads.
    pub fn inputs(&self, task: usize) -> impl Iterator<Item = (usize, &Connection)> {
        let all = self.connections.iter().enumerate();
        all.filter(move |(_, connection)| connection.to == task)
    }

    /// The connection on the function's first input port.
    pub fn first_input(&self, task: usize) -> Option<(usize, &Connection)> {
        let port = self.tasks[task].function.inputs.first()?;
        self.inputs(task)
            .find(|(_, connection)| connection.input == *port)
    }
}

/// Names every function that is unknown, with the first of its tasks.
fn known_functions(restrictions: &[Restriction], functions: &Functions) -> Result<(), TestbedError> {
    let mut unknown: BTreeMap<&str, &str> = BTreeMap::new();
    for restriction in restrictions {
        if functions.get(&restriction.general.id).is_none() {
            unknown
                .entry(&restriction.general.id)
                .or_insert(&restriction.instance);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown
        .iter()
        .map(|(id, task)| format!("{} (task {task})", if id.is_empty() { "without id" } else { id }));
    let known: Vec<&str> = functions.iter().map(|function| function.id.as_str()).collect();
    Err(TestbedError::Document(one_line(&format!(
        "general: id: unknown functions: {}; known: {}; --function FILE adds one",
        unknown.collect::<Vec<_>>().join(", "),
        known.join(", ")
    ))))
}

fn task(restriction: &Restriction, functions: &Functions) -> Result<Task, TestbedError> {
    let name = &restriction.instance;
    // Checked before.
    let Some(function) = functions.get(&restriction.general.id) else {
        return Err(TestbedError::task(name, "general: id", "unknown function"));
    };
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for (name, spec) in &function.parameters {
        parameters.insert(name.clone(), spec.default.clone());
    }
    let given = restriction
        .configuration
        .iter()
        .flat_map(|configuration| &configuration.parameters);
    let mut cpu_limit = None;
    for parameter in given {
        let key = format!("configuration: {}", parameter.name);
        if parameter.name.strip_prefix(OWN) == Some(CPU_LIMIT) {
            if function.relay {
                let problem = format!(
                    "function {} runs no process whose CPU time it could bound",
                    function.id
                );
                return Err(TestbedError::task(name, &key, problem));
            }
            cpu_limit = Some(cores(&value(parameter, name, &key)?, name)?);
            continue;
        }
        let known = parameter
            .name
            .strip_prefix(OWN)
            .filter(|own| parameters.contains_key(*own));
        let Some(own) = known else {
            let known: Vec<String> = parameters.keys().map(|name| format!("{OWN}{name}")).collect();
            return Err(TestbedError::task(
                name,
                &key,
                format!(
                    "function {} has no such parameter; known: {}",
                    function.id,
                    known.join(", ")
                ),
            ));
        };
        parameters.insert(own.to_owned(), value(parameter, name, &key)?);
    }
    let hardware = restriction
        .requirements
        .as_ref()
        .and_then(|needs| needs.hardware.clone());
    let hardware = hardware.unwrap_or_default();
    let refused = [
        ("vgpu", hardware.vgpu.is_some_and(|count| count > 0)),
        ("disk", hardware.disk.is_some_and(|size| size > 0)),
    ];
    if let Some((key, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(TestbedError::task(
            name,
            &format!("requirements: hardware: {key}"),
            "no host can promise it; leave it out",
        ));
    }
    let placed = hardware.placement.as_deref().map(|placement| {
        let host = host_of(placement).filter(|host| !host.is_empty());
        host.map(str::to_owned).ok_or_else(|| {
            let problem = format!("'{placement}' is no host; ZZ-NAME is the host NAME of the hosts file");
            TestbedError::task(name, PLACEMENT, problem)
        })
    });
    Ok(Task {
        name: name.clone(),
        function: function.clone(),
        parameters,
        vcpu: hardware
            .vcpu
            .filter(|count| *count > 0)
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
        cpu_limit,
        ram_mib: hardware.ram,
        host: placed.transpose()?,
    })
}

/// CPU time in cores.
fn cores(text: &str, task: &str) -> Result<f64, TestbedError> {
    let cores = text
        .parse::<f64>()
        .ok()
        .filter(|cores| *cores >= LEAST_CORES && cores.is_finite());
    cores.ok_or_else(|| {
        let problem = format!("'{text}' is no number of cores; the least is {LEAST_CORES}");
        TestbedError::task(task, CPU_LIMIT_KEY, problem)
    })
}

/// The one value of a parameter, without control characters: it becomes an argument, or a part of a configuration file.
fn value(parameter: &Parameter, task: &str, key: &str) -> Result<String, TestbedError> {
    match parameter.text() {
        Some(text) if text.chars().any(char::is_control) => {
            Err(TestbedError::task(task, key, "a value has no control characters"))
        }
        Some(text) => Ok(text),
        None => Err(TestbedError::task(
            task,
            key,
            "a parameter has one value with one restriction, as in [{\"restrictions\": [\"2s\"]}]",
        )),
    }
}

fn connection(joined: &Joined, tasks: &[Task], folder: &Path) -> Result<Connection, TestbedError> {
    let (from, output) = end(&joined.from, tasks, "from")?;
    let (to, input) = end(&joined.to, tasks, "to")?;
    let (server, client) = (&tasks[from], &tasks[to]);
    let missing = |task: &Task, key: &str, port: &str, ports: Vec<&str>| {
        Err(TestbedError::task(
            &task.name,
            &format!("connection-map: {key}: port-name"),
            format!(
                "function {} has no port '{port}'; it has: {}",
                task.function.id,
                ports.join(", ")
            ),
        ))
    };
    if !server.function.outputs.contains(&output) {
        let ports = server.function.outputs.iter().map(String::as_str).collect();
        return missing(server, "from", &output, ports);
    }
    if !client.function.all_inputs().any(|port| *port == input) {
        let ports = client.function.all_inputs().map(String::as_str).collect();
        return missing(client, "to", &input, ports);
    }
    Ok(Connection {
        from,
        to,
        input,
        link: link_between(joined, &client.name, folder)?,
    })
}

fn end(end: &End, tasks: &[Task], key: &str) -> Result<(usize, String), TestbedError> {
    let name = end.instance.as_ref().unwrap_or(&end.id);
    let Some(index) = tasks.iter().position(|task| task.name == *name) else {
        let problem = "no function-restriction has this instance";
        return Err(TestbedError::task(
            name,
            &format!("connection-map: {key}"),
            problem,
        ));
    };
    Ok((index, end.port_name.clone().unwrap_or_default()))
}

/// The emulated link of a connection to a task.
fn link_between(joined: &Joined, task: &str, folder: &Path) -> Result<Option<LinkSpec>, TestbedError> {
    let mut parameters = joined.other_parameters.iter();
    let named = parameters.find(|parameter| parameter.name == LINK);
    let named = named.map(|parameter| value(parameter, task, LINK)).transpose()?;
    let flow = joined.flowcontrol.unwrap_or_default();
    flow_control::link(named.as_deref(), &flow, folder).map_err(|problem| {
        let key = format!("connection-map: {}: flowcontrol", joined.connection_id);
        TestbedError::task(task, &key, problem)
    })
}

fn inputs_are_connected_once(tasks: &[Task], connections: &[Connection]) -> Result<(), TestbedError> {
    for (index, task) in tasks.iter().enumerate() {
        for port in task.function.all_inputs() {
            let at = |connection: &&Connection| connection.to == index && connection.input == *port;
            let problem = match connections.iter().filter(at).count() {
                1 => continue,
                0 if task.function.optional_inputs.contains(port) => continue,
                0 => "nothing is connected to it",
                _ => "several connections lead to it; an input port takes one",
            };
            return Err(TestbedError::task(
                &task.name,
                &format!("input port {port}"),
                problem,
            ));
        }
    }
    Ok(())
}

/// Puts servers before their clients; where that is not possible, there is a cycle.
fn servers_first(
    tasks: Vec<Task>,
    connections: Vec<Connection>,
) -> Result<(Vec<Task>, Vec<Connection>), TestbedError> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < tasks.len() {
        let free = |task: &usize| {
            let mut servers = connections.iter().filter(|connection| connection.to == *task);
            !order.contains(task) && servers.all(|connection| order.contains(&connection.from))
        };
        let Some(next) = (0..tasks.len()).find(free) else {
            let stuck = (0..tasks.len()).filter(|task| !order.contains(task));
            let names: Vec<&str> = stuck.map(|task| tasks[task].name.as_str()).collect();
            let problem = format!("a cycle: {} wait for each other", names.join(", "));
            return Err(TestbedError::task(names[0], "connection-map", problem));
        };
        order.push(next);
    }
    let place = |task: usize| order.iter().position(|known| *known == task).unwrap_or(task);
    let connections = connections
        .into_iter()
        .map(|connection| Connection {
            from: place(connection.from),
            to: place(connection.to),
            ..connection
        })
        .collect();
    let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
    let ordered = order.iter().filter_map(|index| tasks[*index].take());
    Ok((ordered.collect(), connections))
}
