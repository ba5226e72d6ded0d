//! The short form of a workflow, in TOML or YAML: tasks and connections, from which the whole document follows. It must not know how
//! tasks are run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::document::{
    Configuration, Connection, Document, End, FlowControl, General, Hardware, Location, Parameter, Port,
    Processing, Repository, Requirement, Restriction, placement_on,
};
use crate::function::Functions;
use crate::workflow::CPU_LIMIT;

/// The short form as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Short {
    name: String,
    description: String,
    /// Function documents, relative to its file.
    #[serde(default)]
    pub functions: Vec<String>,
    task: Vec<Task>,
    connection: Vec<Joined>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    name: String,
    function: String,
    #[serde(default)]
    parameters: BTreeMap<String, Scalar>,
    vcpu: Option<u64>,
    #[serde(rename = "cpu-limit")]
    cpu_limit: Option<f64>,
    ram: Option<u64>,
    host: Option<String>,
}

/// A value of a parameter; all are text in the document.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Whole(i64),
    Real(f64),
    Truth(bool),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Whole(number) => number.to_string(),
            Scalar::Real(number) => number.to_string(),
            Scalar::Truth(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Joined {
    from: String,
    to: String,
    link: Option<String>,
    typical_delay: Option<u64>,
    max_throughput: Option<u64>,
}

/// The whole document. Ports are written as in `origin.out`; without one, the first port of the function's document is meant.
pub fn expand(short: &Short, functions: &Functions) -> Document {
    let function_of = |task: &str| {
        let found = short.task.iter().find(|known| known.name == task);
        found.map(|task| task.function.as_str())
    };
    let end = |written: &str, output: bool| {
        let (task, port) = match written.split_once('.') {
            Some((task, port)) => (task, Some(port.to_owned())),
            None => (written, None),
        };
        let function = function_of(task).and_then(|id| functions.get(id));
        let first = function.and_then(|function| match output {
            true => function.outputs.first().cloned(),
            false => function.inputs.first().cloned(),
        });
        End {
            id: function_of(task).unwrap_or(task).to_owned(),
            instance: Some(task.to_owned()),
            port_name: Some(port.or(first).unwrap_or_default()),
            other: Map::new(),
        }
    };
    let connections = short
        .connection
        .iter()
        .map(|joined| connection(joined, end(&joined.from, true), end(&joined.to, false)))
        .collect();
    let tasks = short.task.iter().map(|task| restriction(task, functions));
    let repository = (!short.functions.is_empty()).then(|| Repository {
        location: short.functions.iter().map(|url| location(url)).collect(),
    });
    Document {
        general: general(&short.name, &short.description, &[], &[]),
        other: around(),
        repository,
        processing: Processing {
            other: object(
                json!({ "keywords": ["testbed"], "image": [{ "is-dynamic": false, "url": "urn:weir:testbed" }] }),
            ),
            connection_map: connections,
            function_restrictions: tasks.collect(),
        },
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn location(url: &str) -> Location {
    Location {
        url: url.to_owned(),
        name: url.to_owned(),
        description: "function document".to_owned(),
    }
}

/// The descriptors that the standard requires and a testbed does not use.
fn around() -> Map<String, Value> {
    let stream = |id: &str, url: &str| {
        json!({ "media-parameters": [{
            "stream-id": id, "name": id, "keywords": ["vod"], "mime-type": "video/mp4", "protocol": "http",
            "mode": "pull", "caching-server-url": url,
        }] })
    };
    object(json!({
        "scheme": { "uri": "urn:mpeg:mpegi:nbmp:2022" },
        "input": stream("title", "urn:weir:testbed:title"),
        "output": stream("media", "urn:weir:testbed:media"),
        "requirement": {},
    }))
}

pub(crate) fn general(id: &str, description: &str, inputs: &[String], outputs: &[String]) -> General {
    // The schema requires at least one port on each side, also of a source and a sink.
    let ports = |names: &[String], none: &str| match names {
        [] => vec![Port::named(none)],
        names => names.iter().map(|name| Port::named(name)).collect(),
    };
    General {
        id: id.to_owned(),
        name: id.to_owned(),
        description: description.to_owned(),
        state: "instantiated".to_owned(),
        input_ports: ports(inputs, "storage"),
        output_ports: ports(outputs, "results"),
        other: Map::new(),
    }
}

fn restriction(task: &Task, functions: &Functions) -> Restriction {
    let general = match functions.get(&task.function) {
        Some(function) => general(
            &function.id,
            &function.description,
            &function.inputs,
            &function.outputs,
        ),
        None => general(&task.function, "", &[], &[]),
    };
    let parameters = task
        .parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.text()));
    let limit = task.cpu_limit.map(|cores| (CPU_LIMIT, cores.to_string()));
    let parameters: Vec<Parameter> = parameters
        .chain(limit)
        .zip(1..)
        .map(|((name, value), id)| Parameter::own(name, id, &value))
        .collect();
    let hardware = Hardware {
        vcpu: task.vcpu,
        ram: task.ram,
        placement: task.host.as_deref().map(placement_on),
        ..Hardware::default()
    };
    Restriction {
        instance: task.name.clone(),
        general,
        configuration: (!parameters.is_empty()).then_some(Configuration { parameters }),
        requirements: (hardware != Hardware::default()).then_some(Requirement {
            hardware: Some(hardware),
            other: Map::new(),
        }),
        other: Map::new(),
    }
}

fn connection(joined: &Joined, from: End, to: End) -> Connection {
    let flow = FlowControl {
        typical_delay: joined.typical_delay,
        max_throughput: joined.max_throughput,
        ..FlowControl::default()
    };
    let link = joined.link.iter().map(|link| Parameter::own("link", 1, link));
    Connection {
        connection_id: format!("{} to {}", joined.from, joined.to),
        from,
        to,
        flowcontrol: (flow != FlowControl::default()).then_some(flow),
        other_parameters: link.collect(),
        other: Map::new(),
    }
}
