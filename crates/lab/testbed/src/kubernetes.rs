//! A workflow as objects of Kubernetes: a Deployment and a Service for each server, a Job for each sink, and ConfigMaps with their
//! files. It must not know how tasks are run on this host.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::TestbedError;
use crate::filling::{Filling, Own, Served};
use crate::function::{ADDRESS, PORT, Ready, fill_command, fill_file};
use crate::workflow::{Task, Workflow};

/// Where titles are in a container.
pub const TITLES: &str = "/titles";
/// Where a task has its files, and may write.
pub(crate) const WORK: &str = "/work";

/// What the objects need besides the workflow.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Image with `weir`, and with the programs of the functions.
    pub image: String,
    /// Claim of the volume with titles.
    pub titles_claim: String,
    /// Content by the name of the task that serves it, in [`TITLES`].
    pub contents: BTreeMap<String, Served>,
}

/// The objects, as one `List`, and what of the workflow is not in them.
///
/// # Errors
/// A task whose name no object can have.
pub fn kubernetes(workflow: &Workflow, cluster: &Cluster) -> Result<(Value, Vec<String>), TestbedError> {
    let filling = Filling {
        workflow,
        contents: &cluster.contents,
        weir: Path::new("weir"),
    };
    let names = object_names(workflow, LONGEST_LABEL)?;
    let mut items = Vec::new();
    for (index, task) in workflow.tasks.iter().enumerate() {
        if task.function.relay {
            continue;
        }
        let authority = |number: usize| {
            let server = workflow.connections[number].from;
            let address = workflow.tasks[server].parameters.get(ADDRESS);
            match workflow.tasks[server].function.relay {
                true => address.cloned().unwrap_or_default(),
                false => format!("{}:{PORT}", names[server]),
            }
        };
        let own = Own {
            folder: Path::new(WORK),
            database: &Path::new(WORK).join("result.db"),
        };
        let object = Object {
            name: &names[index],
            labels: json!({ "app.kubernetes.io/part-of": names_of(workflow), "app.kubernetes.io/name": names[index] }),
            task,
            values: filling.values(index, &own, authority),
            cluster,
        };
        items.extend(object.items());
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    Ok((list, left_out(workflow)))
}

/// Maximum length of a DNS label (RFC 1123).
pub(crate) const LONGEST_LABEL: usize = 63;

/// Names of the objects of all tasks, of at most `longest` characters.
pub(crate) fn object_names(workflow: &Workflow, longest: usize) -> Result<Vec<String>, TestbedError> {
    let tasks = workflow.tasks.iter();
    tasks.map(|task| object_name(workflow, task, longest)).collect()
}

/// The part of names that is the workflow's.
pub(crate) fn names_of(workflow: &Workflow) -> String {
    let plain = workflow.id.to_ascii_lowercase();
    let plain: String = plain
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    plain.trim_matches('-').chars().take(30).collect::<String>()
}

/// Name of the objects of a task: a DNS label (RFC 1123), which a Service needs.
fn object_name(workflow: &Workflow, task: &Task, longest: usize) -> Result<String, TestbedError> {
    let name = format!("{}-{}", names_of(workflow), task.name).to_ascii_lowercase();
    let name = name.replace(['_', '.'], "-");
    let is_label = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match is_label && name.len() <= longest {
        true => Ok(name),
        false => Err(TestbedError::task(
            &task.name,
            "instance",
            format!(
                "'{name}' is no name for Kubernetes; use at most {longest} letters, digits and '-', and begin with a letter"
            ),
        )),
    }
}

pub(crate) fn left_out(workflow: &Workflow) -> Vec<String> {
    let with_link = workflow
        .connections
        .iter()
        .filter(|connection| connection.link.is_some());
    let placed = workflow.tasks.iter().filter_map(|task| {
        let host = task.host.as_ref()?;
        Some(format!(
            "the host {host} of task {} is left out: a cluster places tasks itself",
            task.name
        ))
    });
    let flows = with_link.map(|connection| {
        let (from, to) = (&workflow.tasks[connection.from], &workflow.tasks[connection.to]);
        format!(
            "the flow control between {} and {} is left out: a cluster has no emulated links",
            from.name, to.name
        )
    });
    placed.chain(flows).collect()
}

/// The objects of one task.
struct Object<'a> {
    name: &'a str,
    labels: Value,
    task: &'a Task,
    values: BTreeMap<String, String>,
    cluster: &'a Cluster,
}

impl Object<'_> {
    fn items(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.task.function.files.is_empty() {
            let files = self.task.function.files.iter();
            let data: BTreeMap<&str, String> = files
                .map(|file| (file.name.as_str(), fill_file(&file.text, &self.values)))
                .collect();
            items.push(
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(), "data": data }),
            );
        }
        if self.task.function.ready == Ready::Sink {
            // A server may not be there yet; who fails is started again.
            items.push(json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": self.metadata(),
                "spec": { "backoffLimit": 6, "template": self.pod("Never") },
            }));
            return items;
        }
        items.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": self.metadata(),
            "spec": { "replicas": 1, "selector": { "matchLabels": self.labels }, "template": self.pod("Always") },
        }));
        items.push(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(),
            "spec": { "selector": self.labels, "ports": [{ "port": PORT, "targetPort": PORT }] },
        }));
        items
    }

    fn metadata(&self) -> Value {
        json!({ "name": self.name, "labels": self.labels })
    }

    fn pod(&self, restart: &str) -> Value {
        let (mut mounts, mut volumes) = storage(self.task, &self.cluster.titles_claim);
        let files = &self.task.function.files;
        if !files.is_empty() {
            volumes.push(json!({ "name": "files", "configMap": { "name": self.name } }));
        }
        mounts.extend(files.iter().map(|file| {
            json!({ "name": "files", "mountPath": format!("{WORK}/{}", file.name), "subPath": file.name })
        }));
        let mut container = json!({
            "name": "task",
            "image": self.cluster.image,
            "command": fill_command(&self.task.function.command, &self.values),
            "workingDir": WORK,
            "volumeMounts": mounts,
            "resources": resources(self.task),
        });
        if self.task.function.ready == Ready::Listening {
            container["ports"] = json!([{ "containerPort": PORT }]);
            container["readinessProbe"] = json!({ "tcpSocket": { "port": PORT } });
        }
        json!({
            "metadata": { "labels": self.labels },
            "spec": { "restartPolicy": restart, "containers": [container], "volumes": volumes },
        })
    }
}

/// Mounts and volumes of a task's container: where it writes, and its titles.
pub(crate) fn storage(task: &Task, titles_claim: &str) -> (Vec<Value>, Vec<Value>) {
    let mut mounts = vec![json!({ "name": "work", "mountPath": WORK })];
    let mut volumes = vec![json!({ "name": "work", "emptyDir": {} })];
    if task.function.content.is_some() {
        volumes.push(json!({ "name": "titles", "persistentVolumeClaim": { "claimName": titles_claim } }));
        mounts.push(json!({ "name": "titles", "mountPath": TITLES }));
    }
    (mounts, volumes)
}

/// Requests and limits are equal, so that a cluster that gives whole cores gives them.
pub(crate) fn resources(task: &Task) -> Value {
    let mut amounts = BTreeMap::new();
    if let Some(cores) = task.own_time() {
        amounts.insert("cpu", cores.to_string());
    }
    if let Some(mib) = task.ram_mib {
        amounts.insert("memory", format!("{mib}Mi"));
    }
    match amounts.is_empty() {
        true => json!({}),
        false => json!({ "requests": amounts, "limits": amounts }),
    }
}
