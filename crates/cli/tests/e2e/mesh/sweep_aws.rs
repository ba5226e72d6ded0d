//! `weir mesh sweep` in a region of AWS by tags alone, against a program that stands in for `aws` and refuses what AWS
//! refuses (`tests/data/aws_stand_in.py`): everything goes, in an order in which nothing is refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{finish, weir};
use crate::assert_documented;

const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/aws_stand_in.py");
/// A launch whose time was over long ago, and one whose time is not.
const DUE: &str = "due1";
const EARLY: &str = "early1";

/// What `weir mesh launch` makes in a region, and some of what others may tag as theirs; ids end in the launch's name.
fn launched(run: &str, delete_after_unix_s: i64) -> Map<String, Value> {
    let id = |stem: &str| format!("{stem}-{run}");
    let tags = json!({ "weir-run": run, "weir-delete-after": delete_after_unix_s.to_string() });
    let (vpc, subnet, group) = (id("vpc"), id("subnet"), format!("weir-{run}"));
    let instance = |groups: &[&str]| {
        let groups: Vec<String> = groups.iter().map(|group| id(group)).collect();
        json!({ "kind": "instance", "state": "running", "subnet": subnet, "groups": groups, "placement": group })
    };
    let things = [
        // Named so that the order of names is the wrong one.
        ("vpc", json!({ "kind": "vpc" })),
        ("igw", json!({ "kind": "internet-gateway", "vpc": vpc })),
        ("pg", json!({ "kind": "placement-group", "name": group })),
        (
            "rtb",
            json!({ "kind": "route-table", "vpc": vpc, "associations": { (id("rtbassoc")): subnet } }),
        ),
        ("sg-mesh1", json!({ "kind": "security-group", "vpc": vpc })),
        ("sg-operator", json!({ "kind": "security-group", "vpc": vpc })),
        ("subnet", json!({ "kind": "subnet", "vpc": vpc })),
        ("vol-data", json!({ "kind": "volume", "instance": id("i-1") })),
        (
            "vol-root",
            json!({ "kind": "volume", "instance": id("i-1"), "delete_on_termination": true }),
        ),
        ("i-1", instance(&["sg-operator", "sg-mesh1"])),
        ("i-2", instance(&["sg-operator"])),
    ];
    things
        .into_iter()
        .map(|(stem, mut thing)| {
            thing["tags"] = tags.clone();
            (id(stem), thing)
        })
        .collect()
}

struct Region {
    folder: tempfile::TempDir,
}

impl Region {
    fn new(groups_linger: u32) -> Region {
        let folder = tempfile::tempdir().unwrap();
        symlink(STAND_IN, folder.path().join("aws")).unwrap();
        let mut objects = launched(DUE, 1);
        objects.extend(launched(EARLY, i64::from(u32::MAX)));
        // A network of somebody else's.
        objects.insert("vpc-other".into(), json!({ "kind": "vpc", "tags": {} }));
        let state = json!({
            "region": "eu-west-1",
            "groups_linger": groups_linger,
            "objects": objects,
            "calls": [],
        });
        fs::write(folder.path().join("state.json"), state.to_string()).unwrap();
        Region { folder }
    }

    fn state(&self) -> Value {
        let text = fs::read(self.folder.path().join("state.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Sweeps, and returns what it says.
    #[track_caller]
    fn sweep(&self, more: &[&str]) -> Value {
        let arguments = [&["mesh", "sweep", "--place", "aws:eu-west-1", "--json"], more].concat();
        let mut command = weir(&arguments);
        let path = std::env::var_os("PATH").unwrap();
        let folders = [self.folder.path().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path));
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("AWS_STAND_IN_STATE", self.folder.path().join("state.json"));
        let done = finish(command, 0);
        let said = done.json();
        assert_documented("mesh-sweep", &said);
        assert_eq!(said["failed"], json!([]), "{said}");
        said
    }

    /// What is there of a launch, besides instances that have ended, whose tags stay for a while.
    fn left_of(&self, run: &str) -> Vec<String> {
        let state = self.state();
        let objects = state["objects"].as_object().unwrap();
        let of_run = objects
            .iter()
            .filter(|(_, thing)| thing["tags"]["weir-run"] == run && thing["state"] != "terminated");
        of_run.map(|(name, _)| name.clone()).collect()
    }

    /// Calls that changed something, with the reason where they were refused.
    fn calls(&self) -> Vec<(String, Option<String>)> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let state = self.state();
        let calls = state["calls"].as_array().unwrap();
        calls
            .iter()
            .map(|call| (text(&call["call"]).unwrap(), text(&call["refused"])))
            .collect()
    }
}

#[test]
fn everything_with_tags_goes_from_a_region_of_aws_in_an_order_in_which_nothing_is_refused() {
    assert!(Path::new(STAND_IN).is_file());
    let region = Region::new(0);
    let early = region.left_of(EARLY);

    let listed = region.sweep(&["--list"]);
    assert_eq!(listed["tagged"].as_array().unwrap().len(), 22, "{listed}");
    assert_eq!(region.calls(), [], "a list changes nothing");

    let swept = region.sweep(&[]);
    assert_eq!(region.left_of(DUE), [""; 0], "{swept}");
    assert_eq!(region.left_of(EARLY), early, "its time is not over");
    let calls = region.calls();
    let refused: Vec<_> = calls.iter().filter(|(_, refused)| refused.is_some()).collect();
    // The root disk has gone with its machine.
    let expected = "(InvalidVolume.NotFound) The volume 'vol-root-due1' does not exist";
    assert_eq!(
        refused,
        [&("delete-volume".to_owned(), Some(expected.to_owned()))]
    );
    let mut order: Vec<&str> = calls.iter().map(|(call, _)| call.as_str()).collect();
    order.dedup();
    assert_eq!(
        order,
        [
            "terminate-instances",
            "wait instance-terminated",
            "terminate-instances",
            "wait instance-terminated",
            "delete-volume",
            "delete-security-group",
            "disassociate-route-table",
            "delete-route-table",
            "delete-subnet",
            "detach-internet-gateway",
            "delete-internet-gateway",
            "delete-vpc",
            "delete-placement-group",
        ]
    );

    let swept = region.sweep(&["--launch", EARLY]);
    assert_eq!(region.left_of(EARLY), [""; 0], "{swept}");
    let nothing = region.sweep(&["--all"]);
    assert_eq!(nothing["tagged"], json!([]), "{nothing}");
    assert!(region.state()["objects"]["vpc-other"].is_object());
}

#[test]
fn what_aws_refuses_while_interfaces_are_still_going_is_tried_again() {
    let region = Region::new(2);
    region.sweep(&["--launch", DUE]);
    assert_eq!(region.left_of(DUE), [""; 0]);
    let refused = region
        .calls()
        .into_iter()
        .filter(|(_, refused)| {
            refused
                .as_deref()
                .is_some_and(|why| why.contains("DependencyViolation"))
        })
        .map(|(call, _)| call);
    // Both groups, and with them the network, which had to wait for them.
    assert_eq!(
        refused.collect::<Vec<_>>(),
        ["delete-security-group", "delete-security-group", "delete-vpc"]
    );
}
