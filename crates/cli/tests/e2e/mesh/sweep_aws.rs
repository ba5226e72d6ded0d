//! `weir mesh sweep` in a region of AWS by tags alone, against a program that stands in for `aws` and refuses what AWS
//! refuses (`tests/data/aws_stand_in.py`), a group once while its interfaces are still going.

use std::fs;

use serde_json::{Map, Value, json};

use super::weir;
use crate::documented;
use weir_rig::{LIMIT, run_within};

/// A network, a group and a machine of a launch; ids end in its name, and are such that the order of names is the wrong one.
fn launched(run: &str, delete_after_unix_s: i64) -> Map<String, Value> {
    let id = |stem: &str| format!("{stem}-{run}");
    let tags = json!({ "weir-run": run, "weir-delete-after": delete_after_unix_s.to_string() });
    let (vpc, subnet, group) = (id("a-vpc"), id("b-subnet"), id("c-sg"));
    let things = [
        (&vpc, json!({ "kind": "vpc", "tags": tags })),
        (&subnet, json!({ "kind": "subnet", "vpc": vpc, "tags": tags })),
        (
            &group,
            json!({ "kind": "security-group", "vpc": vpc, "tags": tags }),
        ),
        (
            &id("d-i"),
            json!({ "kind": "instance", "state": "running", "subnet": subnet, "groups": [group], "placement": null, "tags": tags }),
        ),
    ];
    things
        .map(|(name, thing)| (name.clone(), thing))
        .into_iter()
        .collect()
}

#[track_caller]
pub fn everything_that_is_due_goes_and_what_is_refused_for_a_while_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/aws_stand_in.py");
    std::os::unix::fs::symlink(stand_in, at("aws")).unwrap();
    // One whose time was over long ago, one whose time is not, and a network of somebody else's.
    let mut objects = launched("due1", 1);
    objects.extend(launched("early1", i64::from(u32::MAX)));
    objects.insert("vpc-other".into(), json!({ "kind": "vpc", "tags": {} }));
    let state = json!({ "region": "eu-west-1", "groups_linger": 1, "objects": objects, "calls": [] });
    fs::write(at("state.json"), state.to_string()).unwrap();
    let state = || -> Value { serde_json::from_slice(&fs::read(at("state.json")).unwrap()).unwrap() };
    // What is there of a launch, besides instances that have ended, whose tags stay for a while.
    let left_of = |run: &str| {
        let state = state();
        let of_run = |thing: &&Value| thing["tags"]["weir-run"] == run && thing["state"] != "terminated";
        state["objects"]
            .as_object()
            .unwrap()
            .values()
            .filter(of_run)
            .count()
    };
    let sweep = |more: &str| {
        let mut command = weir(&format!("mesh sweep --place aws:eu-west-1 --json {more}"));
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        command
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("PATH", path);
        command.env("AWS_STAND_IN_STATE", at("state.json"));
        let swept = run_within(LIMIT, command).expect_code(0).json();
        documented("mesh-sweep", &swept);
        assert_eq!(swept["failed"], json!([]), "{swept}");
        swept["tagged"].as_array().unwrap().len()
    };
    assert_eq!(sweep("--list"), 8);
    assert_eq!(state()["calls"], json!([]), "a list changes nothing");
    sweep("");
    assert_eq!(left_of("due1"), 0, "its time is not over");
    assert_eq!(left_of("early1"), 4, "its time is not over");
    let calls = state()["calls"].as_array().unwrap().clone();
    let refused = |why: &str| -> Vec<Value> {
        let of_kind = calls
            .iter()
            .filter(|call| call["refused"].as_str().is_some_and(|said| said.contains(why)));
        of_kind.map(|call| call["call"].clone()).collect()
    };
    // The network had to wait for its group.
    assert_eq!(
        refused("DependencyViolation"),
        ["delete-security-group", "delete-vpc"]
    );
    sweep("--launch early1");
    assert_eq!((left_of("early1"), sweep("--all")), (0, 0));
    assert!(state()["objects"]["vpc-other"].is_object());
}
