//! A workflow description document (ISO/IEC 23090-8, NBMP) as it is read and written: the descriptors that a testbed uses, and
//! the others untouched. It must not know which functions there are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Prefix of the names of our own parameters.
pub const OWN: &str = "weir.";

/// Beginning of a placement that names a host. A placement is a country, or a part of one (ISO 3166-1 and 3166-2); ZZ is one that
/// users assign.
const HOSTS: &str = "ZZ-";

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// What the workflow is.
    pub general: General,
    /// Descriptors `input`, `output` and others that a testbed does not use.
    #[serde(flatten)]
    pub other: Map<String, Value>,
    /// Where function documents are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Repository>,
    /// Tasks and what connects them.
    pub processing: Processing,
}

/// The general descriptor, of a workflow or of a function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct General {
    /// Identifier; of a function its name.
    pub id: String,
    /// Name for people.
    #[serde(default)]
    pub name: String,
    /// A sentence.
    #[serde(default)]
    pub description: String,
    /// State of the workflow or task.
    #[serde(default)]
    pub state: String,
    /// Input ports.
    #[serde(default)]
    pub input_ports: Vec<Port>,
    /// Output ports.
    #[serde(default)]
    pub output_ports: Vec<Port>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Port {
    /// Its name.
    pub port_name: String,
    /// The stream on it.
    #[serde(default)]
    pub bind: Value,
}

impl Port {
    /// A port with a stream of the same name.
    pub fn named(name: &str) -> Self {
        Port {
            port_name: name.to_owned(),
            bind: json!({ "stream-id": name, "name": name }),
        }
    }
}

/// Where function documents are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repository {
    /// One place each.
    pub location: Vec<Location>,
}

/// A function document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// Path of the file, relative to the workflow's.
    pub url: String,
    /// Name for people.
    #[serde(default)]
    pub name: String,
    /// A sentence.
    #[serde(default)]
    pub description: String,
}

/// The processing descriptor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Processing {
    /// Keywords, image and others that a testbed does not use.
    #[serde(flatten)]
    pub other: Map<String, Value>,
    /// Connections.
    #[serde(default)]
    pub connection_map: Vec<Connection>,
    /// Tasks.
    #[serde(default)]
    pub function_restrictions: Vec<Restriction>,
}

/// A connection from an output port to an input port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Connection {
    /// Its identifier.
    #[serde(default)]
    pub connection_id: String,
    /// The side that media comes from: the server.
    pub from: End,
    /// The side that media goes to: the client.
    pub to: End,
    /// What the network between them does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flowcontrol: Option<FlowControl>,
    /// Parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_parameters: Vec<Parameter>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct End {
    /// Function or task; names the task where there is no instance.
    pub id: String,
    /// Name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Name of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_name: Option<String>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Flow control of a connection: delays in milliseconds, throughput in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct FlowControl {
    /// Delay of each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_delay: Option<u64>,
    /// Minimum delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_delay: Option<u64>,
    /// Maximum delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<u64>,
    /// Minimum throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_throughput: Option<u64>,
    /// Maximum throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_throughput: Option<u64>,
    /// Averaging window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averaging_window: Option<u64>,
}

/// A task: the function that it runs, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restriction {
    /// Name of the task.
    pub instance: String,
    /// The function.
    #[serde(default)]
    pub general: General,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// What it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Requirement>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Parameters of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// In order.
    pub parameters: Vec<Parameter>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Number in the list, from 1.
    #[serde(default)]
    pub id: u64,
    /// Type of its value.
    pub datatype: String,
    /// Values.
    #[serde(default)]
    pub values: Vec<Value>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Parameter {
    /// One of ours with this value; `id` is its number in the list.
    pub fn own(name: &str, id: u64, value: &str) -> Self {
        let name = format!("{OWN}{name}");
        Parameter {
            values: vec![json!({ "name": name, "id": 1, "restrictions": [value] })],
            name,
            id,
            datatype: "string".to_owned(),
            other: Map::new(),
        }
    }

    /// Its value as text; none if it has no single one.
    pub fn text(&self) -> Option<String> {
        let [value] = &self.values[..] else { return None };
        match &value["restrictions"] {
            Value::Array(texts) => match &texts[..] {
                [Value::String(text)] => Some(text.clone()),
                _ => None,
            },
            Value::Bool(value) => Some(if *value { "yes" } else { "no" }.to_owned()),
            range @ Value::Object(_) if range["min-value"] == range["max-value"] => match &range["min-value"]
            {
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a task needs of its host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// Hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
    /// The rest.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Hardware of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hardware {
    /// Cores that no other task runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vcpu: Option<u64>,
    /// GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vgpu: Option<u64>,
    /// Memory, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ram: Option<u64>,
    /// Disk, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// Country and region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

/// The placement on a host of this name.
pub fn placement_on(host: &str) -> String {
    format!("{HOSTS}{host}")
}

/// The host that a placement names; none for a country or region.
pub fn host_of(placement: &str) -> Option<&str> {
    placement.strip_prefix(HOSTS)
}
