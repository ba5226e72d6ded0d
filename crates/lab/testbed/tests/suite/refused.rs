//! Workflows that cannot be run, and the line that says so.

use weir_testbed::{Capabilities, Workflow};

use crate::{LARGE, read};

/// A workflow of storage, origin and viewers; `more` stands before the connections.
fn text(origin: &str, more: &str, connections: &[(&str, &str)]) -> String {
    let mut text = format!(
        "name = 'w'\ndescription = 'd'\n[[task]]\nname = 'storage'\nfunction = 'weir-source'\n\
         [[task]]\nname = 'middle'\nfunction = 'origin'\n{origin}\n\
         [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\n{more}\n"
    );
    for (from, to) in connections {
        text.push_str(&format!("[[connection]]\nfrom = '{from}'\nto = '{to}'\n"));
    }
    text
}

const WHOLE: [(&str, &str); 2] = [("storage", "middle"), ("middle", "viewers")];

fn workflow(text: &str) -> Result<Workflow, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("workflow.toml");
    std::fs::write(&path, text).expect("a file");
    read(&path)
        .map(|(_, workflow)| workflow)
        .map_err(|error| error.to_string())
}

#[track_caller]
fn refused(text: &str, task: &str, words: &str) {
    let error = workflow(text).expect_err(words);
    assert!(
        error.contains(task) && error.contains(words),
        "{words} in: {error}"
    );
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn a_line_names_task_and_key() {
    workflow(&text("", "", &WHOLE)).expect("a workflow");
    refused(
        &text("", "[[task]]\nname = 'x'\nfunction = 'nonsense'", &WHOLE),
        "task x",
        "nonsense",
    );
    refused(
        &text("", "[[task]]\nname = 'x/y'\nfunction = 'cache'", &WHOLE),
        "task x/y",
        "instance",
    );
    refused(
        &text("", "[[task]]\nname = 'middle'\nfunction = 'cache'", &WHOLE),
        "task middle",
        "two tasks",
    );
    refused(
        &text("parameters = { nonsense = 1 }", "", &WHOLE),
        "task middle",
        "weir.nonsense",
    );
    refused(
        &text("parameters = { segment = \"2s\\nx\" }", "", &WHOLE),
        "task middle",
        "control characters",
    );
    refused(
        &text("placement = 'DE'", "", &WHOLE),
        "task middle",
        "hardware: placement",
    );
    let ports = [("storage.nonsense", "middle"), ("middle", "viewers")];
    refused(&text("", "", &ports), "task storage", "no port 'nonsense'");
    let ports = [("storage", "middle.nonsense"), ("middle", "viewers")];
    refused(&text("", "", &ports), "task middle", "no port 'nonsense'");
    refused(
        &text("", "", &[("nobody", "middle"), ("middle", "viewers")]),
        "task nobody",
        "connection-map: from",
    );
    refused(
        &text("", "", &[("middle", "viewers")]),
        "task middle",
        "input port in",
    );
    let twice = [WHOLE[0], WHOLE[0], WHOLE[1]];
    refused(&text("", "", &twice), "task middle", "several connections");
    let cache = "[[task]]\nname = 'kept'\nfunction = 'cache'";
    let cycle = [("kept", "middle"), ("middle", "kept"), ("storage", "viewers")];
    refused(&text("", cache, &cycle), "task middle", "a cycle");
    refused("name = 'w'\nnonsense = 1", "line 2", "nonsense");
    let links = text("", "", &WHOLE).replace("to = 'middle'", "to = 'middle'\nlink = 'nonsense'");
    refused(&links, "task middle", "nonsense");
}

#[test]
fn requirements_that_the_host_cannot_meet_are_refused() {
    let said = |origin: &str, host: Capabilities| {
        let workflow = workflow(&text(origin, "", &WHOLE)).expect("a workflow");
        workflow.fits(host).map_err(|error| error.to_string())
    };
    let small = Capabilities {
        cores: 2,
        ram_mib: 4096,
    };
    assert!(said("vcpu = 1\nram = 1024", small).is_ok());
    assert!(
        said("vcpu = 3", small)
            .expect_err("cores")
            .contains("task middle: requirements: hardware: vcpu")
    );
    assert!(
        said("vcpu = 2", small)
            .expect_err("cores")
            .contains("no core is left")
    );
    assert!(
        said("ram = 8192", small)
            .expect_err("memory")
            .contains("task middle: requirements: hardware: ram")
    );
    assert!(said("vcpu = 2\nram = 8192", LARGE).is_ok());
}

#[test]
fn programs_that_the_host_does_not_have_are_named_with_how_to_install_them() {
    let task = "[[task]]\nname = 'users'\nfunction = 'locust'\nparameters = { locust = '/nowhere/locust' }";
    let connections = [WHOLE[0], WHOLE[1], ("middle", "users")];
    let workflow = workflow(&text("", task, &connections)).expect("a workflow");
    let line = workflow
        .programs_are_here()
        .expect_err("no such program")
        .to_string();
    for words in [
        "task users: command",
        "'/nowhere/locust' is not installed",
        "pip install locust",
        "weir.locust",
    ] {
        assert!(line.contains(words), "{words} in: {line}");
    }
    assert!(!line.contains('\n'), "{line}");
}

#[test]
fn servers_come_before_their_clients() {
    let reversed = text("", "", &[WHOLE[1], WHOLE[0]]);
    let workflow = workflow(&reversed).expect("a workflow");
    for connection in &workflow.connections {
        assert!(connection.from < connection.to);
    }
}
