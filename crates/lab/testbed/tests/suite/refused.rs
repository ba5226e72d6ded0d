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
fn hosts_of_tasks_are_named_and_a_country_is_none() {
    let placed =
        text("host = 'h2'", "host = 'h1'", &WHOLE).replacen("'weir-source'", "'weir-source'\nhost = 'h1'", 1);
    let known = |text: &str, hosts: &[&str]| {
        let known = workflow(text).expect("a workflow").hosts_are_known(hosts);
        known.map_err(|error| error.to_string())
    };
    assert_eq!(known(&placed, &["h1", "h2"]), Ok(()));
    for (hosts, words) in [
        (
            &["h1", "h3"][..],
            "no host is called 'h2'; the hosts file has h1, h3",
        ),
        (&["h2"], "no host is called 'h1'"),
        (&[], "there is no hosts file"),
    ] {
        let line = known(&placed, hosts).expect_err(words);
        assert!(
            line.contains("requirements: hardware: placement (host)") && line.contains(words),
            "{line}"
        );
    }
    // The host of the runner may be behind a firewall.
    let behind = known(&text("host = 'h2'", "", &WHOLE), &["h2"]).expect_err("storage here");
    assert!(
        behind.starts_with("task storage: ") && behind.contains("task middle"),
        "{behind}"
    );
    let viewers_here = placed.replace("host = 'h1'\n[[connection]]", "[[connection]]");
    assert_ne!(viewers_here, placed);
    assert_eq!(known(&viewers_here, &["h1", "h2"]), Ok(()));

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("workflow.toml");
    std::fs::write(&path, &placed).expect("a file");
    let (document, _) = read(&path).expect("a workflow");
    let json = serde_json::to_string(&document).expect("JSON");
    assert!(json.contains("\"placement\":\"ZZ-h2\""), "{json}");
    let path = folder.path().join("workflow.json");
    std::fs::write(&path, json.replace("ZZ-h2", "DE-BY")).expect("a file");
    let line = read(&path).expect_err("a region").to_string();
    assert!(
        line.starts_with("task middle: ") && line.contains("'DE-BY' is no host"),
        "{line}"
    );
}

#[test]
fn requirements_that_the_host_cannot_meet_are_refused() {
    let said = |origin: &str, host: Capabilities| {
        let workflow = workflow(&text(origin, "", &WHOLE)).expect("a workflow");
        workflow.fits(None, host).map_err(|error| error.to_string())
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
    assert!(said("cpu-limit = 2", small).is_ok());
    for too_much in ["cpu-limit = 2.1", "vcpu = 1\ncpu-limit = 1.1"] {
        assert!(
            said(too_much, small)
                .expect_err("cores")
                .contains("task middle: configuration: weir.cpu-limit")
        );
    }
    for limit in ["0.04", "-1", "nan", "inf"] {
        refused(
            &text(&format!("cpu-limit = {limit}"), "", &WHOLE),
            "task middle: configuration: weir.cpu-limit",
            "the least is 0.05",
        );
    }
    let there = "[[task]]\nname = 'there'\nfunction = 'address'\ncpu-limit = 1\nparameters = { address = '127.0.0.1:80' }";
    refused(
        &text("", there, &WHOLE),
        "task there: configuration: weir.cpu-limit",
        "function address runs no process",
    );
}

#[test]
fn programs_that_the_host_does_not_have_are_named_with_how_to_install_them() {
    let task = "[[task]]\nname = 'users'\nfunction = 'locust'\nparameters = { locust = '/nowhere/locust' }";
    let connections = [WHOLE[0], WHOLE[1], ("middle", "users")];
    let workflow = workflow(&text("", task, &connections)).expect("a workflow");
    let line = workflow
        .programs_are_here(None)
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
