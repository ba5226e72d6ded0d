//! A cloud launch without a cloud: the real engine and its built-in resource make network namespaces with SSH servers,
//! by `data/make_namespaces.sh`. Launched, tested, removed; killed in the middle and swept; refused in one place;
//! interrupted; ended at a limit of cost.
//!
//! They need `terraform` or `tofu`, too.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::engines::kill_engines;
use super::hosts::make_bridge;
use super::{mesh, weir};
use crate::documented;
use weir_rig::{LIMIT, Running, engine, isolated, run, wait_until};

pub const MAKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/make_namespaces.sh");
/// Three places, three machines.
const PLACES: &str = "--pair aws:eu-west-1->aws:us-east-1 --pair gcp:europe-west3->aws:eu-west-1";

fn names_in(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Killed before it was written down, a launch leaves a folder with its keys.
#[test]
fn a_folder_without_a_record_is_swept() {
    isolated!();
    fs::create_dir_all("states/ab12cd34ef").unwrap();
    fs::write("states/ab12cd34ef/key", "secret").unwrap();
    for (options, outcome, left) in [
        ("--list", "left", 1),
        ("--launch other", "", 1),
        ("", "removed", 0),
    ] {
        let swept = mesh(0, &format!("sweep --state states {options}"));
        assert_eq!(
            swept["launches"][0]["outcome"].as_str().unwrap_or_default(),
            outcome
        );
        assert_eq!(names_in("states").len(), left, "{options}");
    }
}

/// What `data/make_namespaces.sh` makes its machines in.
pub fn make_network() {
    assert!(
        engine().is_some(),
        "this test needs terraform or tofu in PATH: scripts/install_prerequisites.sh test says how to get it"
    );
    make_bridge();
    for folder in ["machines", "numbers"] {
        fs::create_dir(folder).unwrap();
    }
}

/// Machines as the kernel knows them.
pub fn namespaces() -> usize {
    run("ip", &["netns", "list"]).lines().count()
}

#[track_caller]
pub fn nothing_is_left() {
    assert_eq!(namespaces(), 0, "{}", run("ip", &["netns", "list"]));
    assert_eq!(names_in("machines"), [""; 0]);
    assert_eq!(names_in(".local/state/weir/mesh"), [""; 0]);
}

/// A launch with the shell's default for SIGHUP: whoever runs the tests may have had it ignored, as nohup does.
fn launch(more: &str) -> Running {
    let launch = weir(&format!(
        "mesh launch --json --again --machines-by {MAKER} {PLACES} {more}"
    ));
    let mut command = Command::new("env");
    command
        .arg("--default-signal=HUP")
        .arg(launch.get_program())
        .args(launch.get_args());
    command.envs(launch.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for (name, _) in launch.get_envs().filter(|(_, value)| value.is_none()) {
        command.env_remove(name);
    }
    Running::start(command)
}

/// The first line that a launch prints: its machines are up.
#[track_caller]
fn line_of(launch: &mut Running) -> Value {
    let line = launch.first_line(LIMIT);
    let up = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"));
    documented("mesh-launch", &up);
    up
}

#[test]
fn machines_are_launched_tested_and_removed_however_a_launch_is_refused_interrupted_or_killed() {
    isolated!(root);
    make_network();
    machines_are_launched_tested_and_removed_and_one_that_is_refused_holds_nothing_up();
    for refusal in ["refuse-aws-us-east-1", "refuse-gcp-europe-west3"] {
        fs::remove_file(refusal).unwrap();
    }
    a_launch_that_is_killed_is_swept();
    one_that_is_interrupted_removes_everything();
}

#[track_caller]
fn machines_are_launched_tested_and_removed_and_one_that_is_refused_holds_nothing_up() {
    let small = "--rtt-for 500ms --tcp-for 0s --udp-for 0s --max-bytes 1MB";
    let ran = mesh(0, &format!("run --launch --machines-by {MAKER} {PLACES} {small}"));
    assert_eq!(ran["finished"], 2, "{ran}");
    assert_eq!(ran["failed"], 0, "{ran}");
    let hosts: Vec<&String> = ran["hosts"].as_object().unwrap().keys().collect();
    assert_eq!(hosts, ["aws-eu-west-1", "aws-us-east-1", "gcp-europe-west3"]);
    nothing_is_left();

    // Held: the hosts file is there and right as long as the machines are.
    let mut held = launch("-o copy.yaml");
    line_of(&mut held);
    assert_eq!(namespaces(), 3);
    assert_eq!(mesh(0, "plan --again --hosts copy.yaml")["hosts"], 3);
    let status = mesh(0, &format!("status --machines-by {MAKER}"));
    let launched = &status["launches"][0];
    assert_eq!(launched["held"], true, "{status}");
    assert_eq!(launched["places"][0]["phase"], "up", "{status}");
    assert_eq!(status["tagged"], serde_json::json!([]));
    // It belongs to a process that is alive: nobody else takes it down.
    let swept = mesh(0, &format!("sweep --all --machines-by {MAKER}"));
    assert_eq!(swept["launches"][0]["outcome"], "held", "{swept}");
    assert_eq!(namespaces(), 3, "{swept}");
    held.signal("INT");
    let ended = held.wait(LIMIT).expect_code(0);
    let removed: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    documented("mesh-launch", &removed);
    assert_eq!(removed["places"].as_array().unwrap().len(), 3, "{removed}");
    nothing_is_left();

    // One of three refused, and two: one machine is no mesh. The first is held until the limit of cost is near, with
    // nobody to stop it: two and a half dollars a minute for each machine, and nothing for what is sent.
    fs::write(
        "prices.csv",
        "cloud,area,what,usd\naws,*,vm-hour,150\ngcp,*,vm-hour,150\n",
    )
    .unwrap();
    fs::write("refuse-aws-us-east-1", "").unwrap();
    let mut held = launch(&format!("--prices prices.csv --max-usd 10 {small}"));
    let up = line_of(&mut held);
    let refused = &up["places"][1];
    assert_eq!(refused["place"], "aws:us-east-1", "{up}");
    assert_eq!(refused["phase"], "gone", "{up}");
    assert!(refused["problem"].as_str().unwrap().contains("quota"), "{up}");
    let ended = held.wait(LIMIT).expect_code(0);
    ended.stderr_has("--max-usd 10 is nearly reached");
    nothing_is_left();
    fs::write("refuse-gcp-europe-west3", "").unwrap();
    let said = launch("").wait(LIMIT).expect_code(3).stderr;
    assert!(said.contains("only 1 of 3 machines started"), "{said}");
    nothing_is_left();
}

/// A launch in the middle: a machine hangs while it is made.
#[track_caller]
fn hanging() -> Running {
    fs::write("hang-gcp-europe-west3", "").unwrap();
    let launch = launch("");
    wait_until("machines, and one that hangs", LIMIT, || {
        (namespaces() == 3 && Path::new("hangs").exists()).then_some(())
    });
    launch
}

#[track_caller]
fn a_launch_that_is_killed_is_swept() {
    let engine = engine().unwrap();
    // With everything that it has started, as when a host goes down: nothing is written down of what hangs.
    let mut killed = hanging();
    drop(killed);
    kill_engines(&engine);
    fs::remove_file("hang-gcp-europe-west3").unwrap();
    fs::remove_file("hangs").unwrap();
    assert_eq!(mesh(0, "status")["launches"][0]["held"], false);
    assert_eq!(mesh(0, "sweep --list")["launches"][0]["outcome"], "left");
    assert!(namespaces() > 0);
    let swept = mesh(0, "sweep");
    assert_eq!(swept["launches"][0]["outcome"], "removed", "{swept}");
    let tagged = swept["tagged"].as_array().unwrap();
    assert!(
        tagged.iter().any(|one| one["id"] == "gcp-europe-west3"),
        "{swept}"
    );
    nothing_is_left();

    // With what was written down gone too, the tags find it; not before its time, unless it is named.
    killed = launch("--delete-after 1h");
    let up = line_of(&mut killed);
    drop(killed);
    fs::remove_dir_all(".local").unwrap();
    let early = mesh(0, &format!("sweep --machines-by {MAKER}"));
    assert_eq!(namespaces(), 3, "{early}");
    assert_eq!(early["tagged"].as_array().unwrap().len(), 3, "{early}");
    let name = up["launch"].as_str().unwrap();
    assert_eq!(
        mesh(0, &format!("status --machines-by {MAKER}"))["tagged"][0]["launch"],
        name
    );
    mesh(0, &format!("sweep --machines-by {MAKER} --launch {name}"));
    nothing_is_left();
}

/// Ctrl-C twice while a machine is being made; then a hangup while they are held.
#[track_caller]
fn one_that_is_interrupted_removes_everything() {
    let interrupted = hanging();
    for _ in 0..2 {
        interrupted.signal("INT");
        std::thread::sleep(Duration::from_millis(300));
    }
    interrupted.wait(LIMIT).expect_code(3);
    nothing_is_left();
    fs::remove_file("hang-gcp-europe-west3").unwrap();
    let mut held = launch("");
    line_of(&mut held);
    held.signal("HUP");
    held.wait(LIMIT).expect_code(0);
    nothing_is_left();
}
