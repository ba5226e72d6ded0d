//! A testbed on machines that are launched for its hosts: one of them in two types. What it measured, what that cost, and that no
//! machine is left, by a run that ends, by one at its limit of cost, and by one that is killed.

use std::fs;

use serde_json::{Value, json};

use super::engines::kill_engines;
use super::hosts::hide_temporary_files;
use super::launch::{MAKER, make_network, namespaces, nothing_is_left};
use super::placed::{task, viewers, workflow};
use super::{finish, weir};
use crate::documented;
use weir_rig::{LIMIT, Running, engine, isolated, run, wait_until};

/// Storage and viewers on one machine, and the origin on another.
const HOSTS: Option<(&str, &str)> = Some(("store", "middle"));
const STORE: &str = "--launch store=aws:eu-west-1";

fn bed(workflow: &str, launches: &str) -> String {
    format!("testbed run {workflow} {launches} --machines-by {MAKER} --prices prices.csv --json --quiet")
}

#[test]
fn workflows_run_on_each_type_of_machine_that_is_launched_for_them_and_no_machine_is_left() {
    isolated!(root);
    // Parts have folders there, which real machines would take with them.
    hide_temporary_files();
    make_network();
    fs::write(
        "prices.csv",
        "cloud,area,what,usd\naws,*,vm-hour,1\ngcp,*,vm-hour,100\n",
    )
    .unwrap();
    fs::write("short.toml", workflow("short", HOSTS, "origin", &viewers("2s"))).unwrap();
    fs::write("long.toml", workflow("long", HOSTS, "origin", &viewers("120s"))).unwrap();

    what_cannot_be_is_refused_before_anything_is_launched();
    each_type_is_a_run_with_its_cost();
    a_limit_of_cost_ends_what_was_begun();
    what_a_killed_run_launched_is_cleaned();
}

#[track_caller]
fn what_cannot_be_is_refused_before_anything_is_launched() {
    for (launches, part) in [
        (STORE, "(host): no host is called 'middle'"),
        (
            "--launch store=aws:eu-west-1 --launch middle=aws:eu-west-1 --launch other=aws:eu-west-1",
            "--launch other=...: no task is placed on a host of this name",
        ),
        (
            "--launch store=aws:eu-west-1 --launch middle=aws:nowhere-1",
            "aws:nowhere-1",
        ),
    ] {
        finish(2, &bed("short.toml", launches)).error_has(part);
        nothing_is_left();
    }
}

#[track_caller]
fn each_type_is_a_run_with_its_cost() {
    let kinds = ["c5.large@aws:us-east-1", "e2-standard-2@gcp:europe-west3"];
    let middle = format!("{STORE} --launch middle={}", kinds.join(","));
    let summaries = finish(0, &bed("short.toml", &middle)).json_lines();
    assert_eq!(summaries.len(), 2);
    for (summary, (kind, usd)) in summaries.iter().zip(kinds.iter().zip([1.0, 100.0])) {
        documented("testbed", summary);
        assert_eq!(summary["varied"], json!({ "middle.machine": kind }));
        let machines = ["storage", "middle", "viewers"].map(|name| &task(summary, name)["machine"]["kind"]);
        assert_eq!(machines, ["aws:eu-west-1", kind, "aws:eu-west-1"]);
        let middle = task(summary, "middle");
        assert_eq!(middle["machine"]["usd_per_hour"], json!(usd));
        let expected = usd / (middle["out_bps"].as_f64().unwrap() / 1e9);
        let cost = middle["machine"]["usd_per_gbit_hour"].as_f64().unwrap();
        assert!((cost / expected - 1.0).abs() < 1e-9, "{cost} {expected}");
        assert_eq!(task(summary, "viewers")["sink"]["failed"], json!(0));
    }
    nothing_is_left();
}

/// 200 USD an hour, of which three minutes are kept for the removal: nothing is left for a run.
#[track_caller]
fn a_limit_of_cost_ends_what_was_begun() {
    let launches = "--launch store=gcp:europe-west3 --launch middle=gcp:us-central1 --max-usd 9";
    let done = finish(3, &bed("long.toml", launches).replace(" --quiet", ""));
    done.stderr_has("--max-usd 9 is nearly reached");
    done.stderr_has("weir: interrupted before anything was measured");
    nothing_is_left();
}

/// The number of namespaces that belong to tasks.
#[track_caller]
fn no_machine_is_left() -> usize {
    for folder in ["machines", ".local/state/weir/mesh"] {
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "{folder}");
    }
    let there = run("ip", &["netns", "list"]);
    there
        .lines()
        .filter(|line| line.starts_with("weir-testbed-"))
        .count()
}

#[track_caller]
fn what_a_killed_run_launched_is_cleaned() {
    let launches = format!("{STORE} --launch middle=c5.large@aws:eu-west-1");
    let runner = Running::start(weir(&bed("long.toml", &launches)));
    wait_until("a workload", LIMIT, || {
        let states = finish(0, "testbed status --json").json_lines();
        let state = states
            .into_iter()
            .find(|state| state["pid"] == json!(runner.id()))?;
        (state["tasks"][0]["state"] == "running").then_some(())
    });
    assert!(namespaces() > 2);
    runner.signal("KILL");
    runner.wait(LIMIT);
    kill_engines(&engine().unwrap());
    let cleaned: Value = finish(0, "testbed clean --json").json();
    documented("testbed-clean", &cleaned);
    assert_eq!(cleaned["cleaned"], json!(["testbed"]));
    assert_eq!(cleaned["launches"][0]["outcome"], "removed", "{cleaned}");
    // Namespaces of tasks would have gone with machines that are no namespaces themselves.
    assert_eq!(no_machine_is_left(), namespaces());
    assert_eq!(finish(0, "testbed clean --json").json()["launches"], json!([]));
}
