//! A workflow as documents of nagare media engine: function and workflow description documents (NBMP), and the objects of Kubernetes
//! that run the functions there. Its repository (nagare-media/engine) has samples of all of them. It must not know how tasks are
//! run on this host.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::document::{Hardware, Parameter, Requirement};
use crate::error::TestbedError;
use crate::filling::{Filling, Own};
use crate::function::{ADDRESS, Function, PORT, fill_command, fill_file};
use crate::kubernetes::{Cluster, LONGEST_LABEL, WORK, left_out, names_of, object_names, resources, storage};
use crate::short::general;
use crate::workflow::{Connection, Task, Workflow};

/// Version of the standard that nagare media engine names.
const SCHEME: &str = "urn:mpeg:mpegi:nbmp:2020";
/// Prefix of the Service of a task there.
const SERVICE: &str = "task-";
/// Where a container has the configuration of nagare's task-shim.
const CONFIGURATION: &str = "/config";
/// Port of a task's API there.
const TASK_API: u16 = 8888;
/// Port on which its helper takes events.
const EVENT_API: u16 = 8181;
/// What a process gets as its PATH: the shim starts it with no other environment.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The documents.
#[derive(Clone, Debug)]
pub struct Nagare {
    /// Function description documents by the names of the functions.
    pub functions: BTreeMap<String, Value>,
    /// The workflow description document.
    pub workflow: Value,
    /// A `Function` and a ConfigMap for each task, as one `List` of Kubernetes.
    pub objects: Value,
    /// What of the workflow is in none of them.
    pub left_out: Vec<String>,
}

/// The documents of a workflow; `helper` is the image of nagare's workflow-manager-helper.
///
/// # Errors
/// A task whose name no object can have.
pub fn nagare(workflow: &Workflow, cluster: &Cluster, helper: &str) -> Result<Nagare, TestbedError> {
    let export = Export {
        workflow,
        cluster,
        helper,
        names: object_names(workflow, LONGEST_LABEL - SERVICE.len())?,
    };
    let tasks = (0..workflow.tasks.len()).filter(|task| !workflow.tasks[*task].function.relay);
    let objects: Vec<Value> = tasks.flat_map(|task| export.objects(task)).collect();
    let functions = workflow.tasks.iter().filter(|task| !task.function.relay);
    Ok(Nagare {
        functions: functions
            .map(|task| (task.function.id.clone(), function(&task.function, &cluster.image)))
            .collect(),
        workflow: export.document(),
        objects: json!({ "apiVersion": "v1", "kind": "List", "items": objects }),
        left_out: left_out(workflow),
    })
}

impl Nagare {
    /// Writes `workflow.json`, `objects.json`, and `function-NAME.json` for each function to a folder, which is made if it is not
    /// there.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TestbedError> {
        std::fs::create_dir_all(folder).map_err(TestbedError::file("create the folder", folder))?;
        let functions = self.functions.iter();
        let functions =
            functions.map(|(name, document)| (format!("function-{}.json", file_name(name)), document));
        let others = [("workflow.json", &self.workflow), ("objects.json", &self.objects)];
        let others = others.map(|(name, document)| (name.to_owned(), document));
        for (name, document) in functions.chain(others) {
            let path = folder.join(name);
            std::fs::write(&path, format!("{document:#}\n")).map_err(TestbedError::file("write", &path))?;
        }
        Ok(())
    }
}

/// A function's name may be any text.
fn file_name(function: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    function.chars().map(plain).collect()
}

/// A stream as MPEG's schema requires it.
fn stream(id: &str, url: &str) -> Value {
    json!({
        "stream-id": id, "name": id, "keywords": ["vod"], "mime-type": "video/mp4", "protocol": "http", "mode": "pull",
        "caching-server-url": url,
    })
}

/// A function description document.
fn function(function: &Function, image: &str) -> Value {
    let inputs: Vec<String> = function.all_inputs().cloned().collect();
    let streams = |ports: &[String]| -> Vec<Value> { ports.iter().map(|port| stream(port, "")).collect() };
    let parameters = function.parameters.iter().zip(1..);
    let parameters: Vec<Value> = parameters
        .map(|((name, spec), id)| {
            let mut parameter = json!(Parameter::own(name, id, &spec.default));
            // As the standard spells it.
            parameter["discription"] = json!(spec.description);
            parameter
        })
        .collect();
    let mut document = json!({
        "scheme": { "uri": SCHEME },
        "general": general(&function.id, &function.description, &inputs, &function.outputs),
        "input": { "media-parameters": streams(&inputs) },
        "output": { "media-parameters": streams(&function.outputs) },
        "processing": { "keywords": ["testbed"], "image": [{ "is-dynamic": false, "url": image }] },
        "requirement": {},
    });
    if !parameters.is_empty() {
        document["configuration"] = json!({ "parameters": parameters });
    }
    document
}

struct Export<'a> {
    workflow: &'a Workflow,
    cluster: &'a Cluster,
    helper: &'a str,
    /// Of the objects of each task.
    names: Vec<String>,
}

impl Export<'_> {
    /// The workflow description document. Tasks are made from its connections there.
    fn document(&self) -> Value {
        let mut inputs = Vec::new();
        let mut restrictions = Vec::new();
        for (task, name) in self.workflow.tasks.iter().zip(&self.names) {
            match task.function.relay {
                true => inputs.push(stream(name, &format!("http://{}/", address(task)))),
                false => restrictions.push(restriction(task, name)),
            }
        }
        let connections = self.workflow.connections.iter().enumerate();
        let connections: Vec<Value> = connections
            .map(|(number, connection)| self.connection(number, connection))
            .collect();
        let id = names_of(self.workflow);
        json!({
            "scheme": { "uri": SCHEME },
            "general": general(&id, &self.workflow.description, &[], &[]),
            "input": { "media-parameters": inputs },
            "output": { "media-parameters": [] },
            "processing": {
                "keywords": ["testbed"],
                // Required by MPEG, and refused there unless it is empty.
                "image": [{ "url": "" }],
                "connection-map": connections,
                "function-restrictions": restrictions,
            },
            "requirement": {},
        })
    }

    fn connection(&self, number: usize, connection: &Connection) -> Value {
        let (server, client) = (&self.names[connection.from], &self.names[connection.to]);
        let before = &self.workflow.connections[..number];
        let before = before
            .iter()
            .filter(|other| other.from == connection.from)
            .count();
        let output = &self.workflow.tasks[connection.from].function.outputs;
        let output = output.first().map_or("out", String::as_str);
        // An output port there has one stream.
        let output = match before {
            0 => output.to_owned(),
            before => format!("{output}.{}", before + 1),
        };
        let id = format!("{server}.{output}");
        json!({
            "connection-id": id,
            "from": {
                "id": server, "instance": server, "port-name": output,
                "output-restrictions": { "media-parameters": [stream(&id, "")] },
            },
            "to": {
                "id": client, "instance": client, "port-name": connection.input,
                "input-restrictions": { "media-parameters": [stream(&id, "")] },
            },
        })
    }

    /// The objects of a task: its parameters are filled in, and the addresses of its servers are filled by the shim.
    fn objects(&self, index: usize) -> [Value; 2] {
        let filling = Filling {
            workflow: self.workflow,
            contents: &self.cluster.contents,
            weir: Path::new("weir"),
        };
        let own = Own {
            folder: Path::new(WORK),
            database: &Path::new(WORK).join("result.db"),
        };
        let values = filling.values(index, &own, |number| mark(number).to_string());
        let configuration = self.shim(index, &values);
        let metadata = json!({
            "name": self.names[index],
            "labels": { "app.kubernetes.io/part-of": names_of(self.workflow), "app.kubernetes.io/name": self.names[index] },
        });
        let function = json!({
            "apiVersion": "engine.nagare.media/v1alpha1", "kind": "Function", "metadata": metadata,
            "spec": {
                "version": env!("CARGO_PKG_VERSION"),
                "template": { "spec": { "template": { "spec": self.pod(index) } } },
            },
        });
        let files = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": { "task-shim.yaml": configuration.to_string() },
        });
        [files, function]
    }

    /// Configuration of nagare's task-shim: it writes the files of the function, and starts its command.
    fn shim(&self, index: usize, values: &BTreeMap<String, String>) -> Value {
        let function = &self.workflow.tasks[index].function;
        let filled = |value: &Value| self.template(index, &value.to_string());
        let mut actions: Vec<Value> = function
            .files
            .iter()
            .map(|file| {
                let text = json!({ "path": format!("{WORK}/{}", file.name), "content": fill_file(&file.text, values) });
                json!({ "name": file.name, "action": "task-shim.engine.nagare.media/file", "config": filled(&text) })
            })
            .collect();
        let words = fill_command(&function.command, values);
        let (program, arguments) = words
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let run = json!({
            "command": program, "args": arguments, "workingDirectory": WORK, "env": { "PATH": PROGRAMS },
        });
        actions.push(json!({
            "name": function.id, "action": "task-shim.engine.nagare.media/exec", "config": filled(&run),
        }));
        json!({
            "apiVersion": "engine.nagare.media/v1alpha1", "kind": "TaskShimConfig", "task": { "actions": actions },
        })
    }

    /// A text as a template of Go, which gives the hosts of the servers from the task's inputs. No expression in it has quotes,
    /// which JSON would escape.
    fn template(&self, index: usize, text: &str) -> String {
        let mut text = text.replace("{{", "{{`{{`}}");
        for (input, (number, _)) in self.workflow.inputs(index).enumerate() {
            let url = format!("(index .Task.Input.MediaParameters {input}).CachingServerURL");
            text = text.replace(mark(number), &format!("{{{{(urlParse (toString {url})).host}}}}"));
        }
        text
    }

    /// The pod of a task, as in nagare's samples: the function, and the helper that gives it its task.
    fn pod(&self, index: usize) -> Map<String, Value> {
        let task = &self.workflow.tasks[index];
        let (mut mounts, mut volumes) = storage(task, &self.cluster.titles_claim);
        mounts.push(json!({ "name": "configuration", "mountPath": CONFIGURATION }));
        volumes.push(json!({ "name": "configuration", "configMap": { "name": self.names[index] } }));
        let container = |name: &str, image: &str, port: &str, number: u16| {
            let get = |path: &str| json!({ "path": path, "port": port });
            json!({
                "name": name,
                "image": image,
                "ports": [{ "name": port, "containerPort": number, "protocol": "TCP" }],
                "startupProbe": { "failureThreshold": 60, "periodSeconds": 2, "httpGet": get("/healthz") },
                "readinessProbe": { "periodSeconds": 2, "httpGet": get("/readyz") },
                "livenessProbe": { "periodSeconds": 2, "httpGet": get("/healthz") },
            })
        };
        let mut function = container("function", &self.cluster.image, "task-api", TASK_API);
        function["command"] = json!([
            "/task-shim",
            "--config",
            format!("{CONFIGURATION}/task-shim.yaml")
        ]);
        function["workingDir"] = json!(WORK);
        function["volumeMounts"] = json!(mounts);
        function["resources"] = resources(task);
        if let Some(ports) = function["ports"].as_array_mut() {
            ports.push(json!({ "name": "stream-http", "containerPort": PORT, "protocol": "TCP" }));
        }
        let helper = container("workflow-manager-helper", self.helper, "event-api", EVENT_API);
        Map::from_iter([
            ("restartPolicy".to_owned(), json!("Never")),
            ("terminationGracePeriodSeconds".to_owned(), json!(35)),
            ("containers".to_owned(), json!([function, helper])),
            ("volumes".to_owned(), json!(volumes)),
        ])
    }
}

/// Stands for host and port of the server at a connection until the text is a template: private characters of Unicode.
fn mark(connection: usize) -> char {
    u32::try_from(connection)
        .ok()
        .and_then(|number| char::from_u32(0xf_0000 + number))
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn address(task: &Task) -> &str {
    task.parameters.get(ADDRESS).map_or("", String::as_str)
}

fn restriction(task: &Task, name: &str) -> Value {
    let function = &task.function;
    let inputs: Vec<String> = function.all_inputs().cloned().collect();
    let id = format!("Function/{name}");
    let mut restriction = json!({
        "instance": name,
        "general": general(&id, &function.description, &inputs, &function.outputs),
    });
    let parameters = task.parameters.iter().filter(|(_, value)| !value.is_empty());
    let parameters: Vec<Parameter> = parameters
        .zip(1..)
        .map(|((name, value), id)| Parameter::own(name, id, value))
        .collect();
    if !parameters.is_empty() {
        restriction["configuration"] = json!({ "parameters": parameters });
    }
    let hardware = Hardware {
        vcpu: task.vcpu.and_then(|cores| u64::try_from(cores).ok()),
        ram: task.ram_mib,
        ..Hardware::default()
    };
    if hardware != Hardware::default() {
        restriction["requirements"] = json!(Requirement {
            hardware: Some(hardware),
            other: Map::new(),
        });
    }
    restriction
}
