//! A testbed whose tasks are placed on hosts over SSH: the same totals as on one host, and nothing left on hosts by a runner that
//! is killed, or by a part that is.

use std::fs;

use serde_json::{Value, json};

use super::hosts::{Beds, make_hosts};
use super::{finish, weir};
use crate::documented;
use weir_rig::{LIMIT, Running, count, isolated, run, wait_until};

/// A client that requests a file twenty times, and counts in the words of `weir load`.
const FETCH: &str = r#"
id = "fetch"
description = "twenty requests"
inputs = ["in"]
ready = "sink"
command = ["python3", "{dir}/fetch.py"]

[[file]]
name = "fetch.py"
text = '''
import json, urllib.request
file = "{upstream}/" + "{manifest}".split("/")[0] + "/video.mp4"
body = sum(len(urllib.request.urlopen(file).read()) for _ in range(20))
times = dict(requests_per_second=0, last_byte=dict(mean=0, p99=0))
print(json.dumps(dict(all=dict(requests=20, failed=0, all_bytes=body, body_bytes=body, **times), generator_limited=False)))
'''
"#;

/// Storage and a sink on one host, and what is between them on another.
pub fn workflow(name: &str, hosts: Option<(&str, &str)>, middle: &str, sink: &str) -> String {
    let (one, other) = hosts.map_or_else(Default::default, |(one, other)| {
        (format!("host = '{one}'\n"), format!("host = '{other}'\n"))
    });
    let functions = if sink.contains("fetch") {
        "functions = ['fetch.toml']\n"
    } else {
        ""
    };
    format!(
        "name = '{name}'\ndescription = 'one behind the other'\n{functions}\
         [[task]]\nname = 'storage'\nfunction = 'weir-source'\n{one}\
         parameters = {{ video = '300kbit/s', audio = '64kbit/s', duration = '10s' }}\n\
         [[task]]\nname = 'middle'\nfunction = '{middle}'\n{other}\
         [[task]]\nname = 'viewers'\n{sink}\n{one}\
         [[connection]]\nfrom = 'storage'\nto = 'middle'\n[[connection]]\nfrom = 'middle'\nto = 'viewers'\ntypical-delay = 2\n"
    )
}

/// Viewers for some time.
pub fn viewers(time: &str) -> String {
    format!("function = 'weir-sink'\nparameters = {{ viewers = 2, for = '{time}' }}")
}

pub fn task<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let tasks = summary["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["task"] == name).unwrap()
}

/// Payload at one end of a connection.
fn payload(summary: &Value, task_name: &str, way: &str) -> u64 {
    count(&task(summary, task_name)[way]["payload_bytes"])
}

/// Both are within half a percent of the larger.
#[track_caller]
fn assert_close(what: &str, one: u64, other: u64) {
    let apart = one.abs_diff(other) as f64 / one.max(other).max(1) as f64;
    assert!(one > 0 && apart <= 0.005, "{what}: {one} and {other}");
}

#[track_caller]
fn placement_changes_no_totals() {
    let hosts = Some(("h2", "h3"));
    let fetch = "function = 'fetch'";
    fs::write("fetch.toml", FETCH).unwrap();
    fs::write("plain.toml", workflow("plain", None, "cache", fetch)).unwrap();
    fs::write("placed.toml", workflow("placed", hosts, "cache", fetch)).unwrap();
    fs::write(
        "viewers.toml",
        workflow("viewers", hosts, "origin", &viewers("1s")),
    )
    .unwrap();
    let line = "testbed run plain.toml placed.toml viewers.toml --hosts hosts.yaml --json --quiet";
    let summaries = finish(0, line).json_lines();
    let [plain, placed, viewed] = &summaries[..] else {
        panic!("{summaries:?}")
    };
    for summary in &summaries {
        documented("testbed", summary);
    }
    // A second of viewers takes so little that one segment which is sent again, where a busy host is late to acknowledge it, would
    // be more than half a percent.
    for summary in [plain, placed] {
        assert_close(
            "storage",
            payload(summary, "storage", "out"),
            payload(summary, "middle", "in"),
        );
        assert_close(
            "viewers",
            payload(summary, "middle", "out"),
            payload(summary, "viewers", "in"),
        );
        let received = count(&task(summary, "viewers")["sink"]["received_bytes"]);
        assert_close("sink", payload(summary, "viewers", "in"), received);
    }
    // As the client counts, as the log of the cache does, and as the kernels do.
    for summary in [plain, placed] {
        assert_eq!(task(summary, "middle")["cache"]["passed"], json!(20));
    }
    assert_eq!(task(plain, "viewers")["sink"], task(placed, "viewers")["sink"]);
    for (name, way) in [
        ("storage", "out"),
        ("middle", "in"),
        ("middle", "out"),
        ("viewers", "in"),
    ] {
        assert_close(name, payload(plain, name, way), payload(placed, name, way));
    }
    let hosts = ["storage", "middle", "viewers"].map(|name| &task(placed, name)["host"]);
    assert_eq!(hosts, ["h2", "h3", "h2"]);
    assert_eq!(task(plain, "middle")["host"], json!(null));
    // The run of viewers comes from their host.
    let parts = finish(0, "runs list --parts --kind load --json").json_lines();
    assert_eq!(parts.len(), 1);
    assert_eq!(task(viewed, "viewers")["sink"]["failed"], json!(0));
    Beds::nothing_is_left();
}

/// A run whose workload runs.
fn running() -> Running {
    let runner = Running::start(weir("testbed run long.toml --hosts hosts.yaml --json --quiet"));
    wait_until("a workload", LIMIT, || {
        let states = finish(0, "testbed status --json").json_lines();
        let state = states
            .into_iter()
            .find(|state| state["pid"] == json!(runner.id()))?;
        documented("testbed-status", &state);
        (state["tasks"][0]["state"] == "running").then_some(())
    });
    runner
}

/// Removes what is left on hosts, and says on which.
#[track_caller]
fn cleaned() -> Vec<String> {
    let cleaned = finish(0, "testbed clean --hosts hosts.yaml --json").json();
    documented("testbed-clean", &cleaned);
    assert_eq!(cleaned["cleaned"], json!(["testbed"]));
    Beds::nothing_is_left();
    let on_hosts = cleaned["on_hosts"].as_array().unwrap().iter();
    on_hosts
        .map(|one| one["host"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_placed_workflow_has_the_totals_of_one_host_and_leaves_nothing_on_hosts() {
    isolated!(root);
    let _hosts = make_hosts(3);
    // There are no links between the hosts but the bridge.
    let file = fs::read_to_string("hosts.yaml").unwrap();
    fs::write(
        "hosts.yaml",
        file.replace("test-address: 10.1.", "test-address: 10.9."),
    )
    .unwrap();
    placement_changes_no_totals();

    fs::write(
        "unknown.toml",
        workflow("unknown", Some(("h2", "h9")), "origin", &viewers("1s")),
    )
    .unwrap();
    let line = finish(2, "testbed run unknown.toml --hosts hosts.yaml").stderr;
    assert!(
        line.contains("task middle: ") && line.contains("(host): no host is called 'h9'"),
        "{line}"
    );

    fs::write(
        "long.toml",
        workflow("long", Some(("h2", "h3")), "origin", &viewers("120s")),
    )
    .unwrap();
    let runner = running();
    runner.signal("KILL");
    runner.wait(LIMIT);
    cleaned();

    // A part that is killed is a host that goes away: the run says so, and what the part left is found.
    let runner = running();
    let killed = Beds::folders()
        .into_iter()
        .find(|folder| folder.ends_with("-2"))
        .unwrap();
    run(
        "kill",
        &["-9", fs::read_to_string(format!("{killed}/pid")).unwrap().trim()],
    );
    let ended = runner.wait(LIMIT).expect_code(3);
    ended.error_has("host h3 is lost");
    let summary = ended.json();
    documented("testbed", &summary);
    assert!(summary["lost_hosts"]["h3"].is_string(), "{summary}");
    assert_eq!(task(&summary, "middle")["state"], "in-error");
    assert_eq!(Beds::folders(), [killed]);
    // By any of the hosts, since they share a file system.
    assert_eq!(cleaned().len(), 1);
}
