//! Documents for nagare media engine: valid by MPEG's schemas, and names, ports and addresses as its gateway and its task-shim
//! connect them. It was not run.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_testbed::{Nagare, Workflow, nagare};

use crate::kubernetes::cluster;
use crate::schemas::{assert_valid, data, schema};
use crate::{read, shipped};

fn exported() -> Vec<(String, Workflow, Nagare)> {
    let made = |path: &std::path::PathBuf| {
        let (_, workflow) = read(path).expect("a workflow");
        let documents = nagare(&workflow, &cluster(&workflow), "helper:1").expect("documents");
        (path.display().to_string(), workflow, documents)
    };
    shipped().iter().map(made).collect()
}

#[test]
fn mpegs_schemas_accept_what_is_written_for_nagare() {
    let Some(data) = data() else { return };
    let (of_workflow, of_function) = (schema(&data, "workflow"), schema(&data, "function"));
    for (name, _, documents) in exported() {
        assert_valid(&of_workflow, &name, &documents.workflow);
        assert!(!documents.functions.is_empty());
        for (function, document) in &documents.functions {
            assert_valid(&of_function, function, document);
            let mut less = document.clone();
            less["general"]
                .as_object_mut()
                .expect("an object")
                .remove("input-ports");
            assert!(!of_function.is_valid(&less), "without ports");
        }
    }
}

/// Connections of a document that lead to a task, in order: its streams have these numbers there.
fn inputs<'a>(document: &'a Value, task: &str) -> Vec<&'a Value> {
    let connections = document["processing"]["connection-map"]
        .as_array()
        .expect("connections");
    connections
        .iter()
        .filter(|connection| connection["to"]["id"] == task)
        .collect()
}

#[test]
fn tasks_functions_and_streams_name_each_other() {
    for (name, workflow, documents) in exported() {
        let items = documents.objects["items"].as_array().expect("items");
        let named = |kind: &str| -> BTreeSet<&str> {
            let items = items.iter().filter(|item| item["kind"] == kind);
            items
                .map(|item| item["metadata"]["name"].as_str().expect("a name"))
                .collect()
        };
        let functions = named("Function");
        assert_eq!(functions.len(), workflow.tasks.len(), "{name}");
        assert_eq!(functions, named("ConfigMap"), "{name}");
        let restrictions = &documents.workflow["processing"]["function-restrictions"];
        for restriction in restrictions.as_array().expect("tasks") {
            let id = restriction["general"]["id"].as_str().expect("an id");
            let function = id.strip_prefix("Function/").expect("a kind");
            assert!(
                functions.contains(function) && restriction["instance"] == function,
                "{name}: {id}"
            );
            // Its Service is 'task-' and this, a DNS label.
            assert!(function.len() <= 58);
        }
        let streams = documents.workflow["processing"]["connection-map"]
            .as_array()
            .expect("connections");
        let outputs: BTreeSet<String> = streams.iter().map(|stream| stream["from"].to_string()).collect();
        assert_eq!(
            outputs.len(),
            streams.len(),
            "{name}: an output port has one stream"
        );
    }
}

#[test]
fn addresses_are_those_of_the_streams_with_their_numbers() {
    let (_, _, documents) = exported()
        .into_iter()
        .find(|(_, workflow, _)| workflow.id == "configuration-e")
        .expect("the workflow with two inputs");
    let items = documents.objects["items"].as_array().expect("items");
    let actions = |task: &str| -> Vec<Value> {
        let of_task = |item: &&Value| item["kind"] == "ConfigMap" && item["metadata"]["name"] == task;
        let item = items.iter().find(of_task).expect("a ConfigMap");
        let text = item["data"]["task-shim.yaml"].as_str().expect("a text");
        let shim: Value = serde_json::from_str(text).expect("JSON");
        shim["task"]["actions"].as_array().expect("actions").clone()
    };
    let host = |number: usize| {
        format!(
            "{{{{(urlParse (toString (index .Task.Input.MediaParameters {number}).CachingServerURL)).host}}}}"
        )
    };
    let task = "configuration-e-origin";
    let ports: Vec<&Value> = inputs(&documents.workflow, task)
        .iter()
        .map(|connection| &connection["to"]["port-name"])
        .collect();
    let number = |port: &str| ports.iter().position(|known| *known == port).expect("a port");
    let command = actions(task).pop().expect("a command")["config"].to_string();
    assert!(
        command.contains(&format!("--index-storage=http://{}/", host(number("index")))),
        "{command}"
    );
    assert!(
        command.contains(&format!("http://{}/", host(number("in")))),
        "{command}"
    );
    // nginx's configuration is written before nginx starts.
    let cache = actions("configuration-e-cache");
    let file = &cache[0];
    assert_eq!(file["action"], "task-shim.engine.nagare.media/file");
    assert!(
        file["config"]
            .as_str()
            .expect("a template")
            .contains(&format!("server {}; keepalive", host(0)))
    );
    assert_eq!(cache[1]["action"], "task-shim.engine.nagare.media/exec");
}
