//! A cloud launch without a cloud: the real engine and its built-in resource make network namespaces with SSH servers,
//! by `data/make_namespaces.sh`. Launched, tested, removed; killed in the middle and swept; refused in one place;
//! interrupted.
//!
//! They need `terraform` or `tofu`, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{finish, json_of, make_bridge, weir};
use crate::assert_documented;
use weir_rig::{LIMIT, Running, isolated, run, wait_until};

const MAKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/make_namespaces.sh");
/// Three places, three machines.
const PLACES: [&str; 4] = [
    "--pair",
    "aws:eu-west-1->aws:us-east-1",
    "--pair",
    "gcp:europe-west3->aws:eu-west-1",
];
/// Small tests: the hosts share this machine.
const SMALL: [&str; 8] = [
    "--rtt-for",
    "500ms",
    "--tcp-for",
    "0s",
    "--udp-for",
    "0s",
    "--max-bytes",
    "1MB",
];

fn engine() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["tofu", "terraform"]
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|program| program.is_file())
}

fn names_in(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// What `data/make_namespaces.sh` makes its machines in.
fn make_network() {
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
fn namespaces() -> usize {
    run("ip", &["netns", "list"]).lines().count()
}

#[track_caller]
fn nothing_is_left() {
    assert_eq!(namespaces(), 0, "{}", run("ip", &["netns", "list"]));
    assert_eq!(names_in("machines"), [""; 0]);
    assert_eq!(names_in(".local/state/weir/mesh"), [""; 0]);
}

fn launch(more: &[&str]) -> Command {
    let order = ["mesh", "launch", "--json", "--again", "--machines-by", MAKER];
    weir(&[&order, &PLACES[..], more].concat())
}

/// The first line that a launch prints: its machines are up.
#[track_caller]
fn line_of(launch: &mut Running) -> Value {
    let line = launch.first_line(LIMIT);
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"))
}

/// Processes whose command line begins so.
fn processes(program: &Path) -> Vec<String> {
    let name = program.to_str().unwrap();
    names_in("/proc")
        .into_iter()
        .filter(|id| {
            let text = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            text.split(|byte| *byte == 0).next() == Some(name.as_bytes())
        })
        .collect()
}

#[test]
fn machines_are_launched_tested_and_removed() {
    isolated!(root);
    make_network();
    let arguments = [
        &["mesh", "run", "--json", "--launch", "--machines-by", MAKER],
        &PLACES[..],
        &SMALL[..],
    ]
    .concat();
    let ran = json_of(&arguments, 0);
    assert_documented("mesh-run", &ran);
    assert_eq!(
        (&ran["finished"], &ran["failed"]),
        (&2.into(), &0.into()),
        "{ran}"
    );
    let hosts: Vec<&String> = ran["hosts"].as_object().unwrap().keys().collect();
    assert_eq!(hosts, ["aws-eu-west-1", "aws-us-east-1", "gcp-europe-west3"]);
    nothing_is_left();

    // Held: the hosts file is there and right as long as the machines are.
    let mut held = Running::start(launch(&["-o", "copy.yaml"]));
    let up = line_of(&mut held);
    assert_documented("mesh-launch", &up);
    assert_eq!(namespaces(), 3);
    let plan = json_of(&["mesh", "plan", "--again", "--hosts", "copy.yaml", "--json"], 0);
    assert_eq!(plan["hosts"], 3);
    let status = json_of(&["mesh", "status", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-status", &status);
    assert_eq!(status["launches"][0]["held"], true, "{status}");
    assert_eq!(status["launches"][0]["places"][0]["phase"], "up", "{status}");
    assert_eq!(status["tagged"], serde_json::json!([]));
    // It belongs to a process that is alive: nobody else takes it down.
    let swept = json_of(&["mesh", "sweep", "--json", "--all", "--machines-by", MAKER], 0);
    assert_documented("mesh-sweep", &swept);
    assert_eq!(swept["launches"][0]["outcome"], "held", "{swept}");
    assert_eq!(namespaces(), 3);
    held.signal("INT");
    let ended = held.wait(LIMIT).expect_code(0);
    let removed: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_documented("mesh-launch", &removed);
    assert_eq!(removed["places"].as_array().unwrap().len(), 3, "{removed}");
    nothing_is_left();
}

#[test]
fn what_a_kill_in_the_middle_leaves_is_swept() {
    isolated!(root);
    make_network();
    let engine = engine().unwrap();
    let hang = "hang-gcp-europe-west3";
    // Of Weir alone: the engine goes on, and the sweep waits for it.
    for kills_engine in [false, true] {
        fs::write(hang, "").unwrap();
        let killed = Running::start(launch(&[]));
        wait_until("machines, and one that hangs", LIMIT, || {
            (namespaces() == 3 && Path::new("hangs").exists()).then_some(())
        });
        drop(killed);
        if kills_engine {
            // With everything that it has started, as when a host goes down: nothing is written down of what hangs.
            for id in processes(&engine) {
                run("kill", &["-KILL", "--", &format!("-{id}")]);
            }
            wait_until("the end of the engine", LIMIT, || {
                processes(&engine).is_empty().then_some(())
            });
        }
        fs::remove_file(hang).unwrap();
        let status = json_of(&["mesh", "status", "--json"], 0);
        assert_documented("mesh-status", &status);
        assert_eq!(status["launches"][0]["held"], false, "{status}");
        let listed = json_of(&["mesh", "sweep", "--json", "--list"], 0);
        assert_eq!(listed["launches"][0]["outcome"], "left", "{listed}");
        assert!(namespaces() > 0);
        let swept = json_of(&["mesh", "sweep", "--json"], 0);
        assert_documented("mesh-sweep", &swept);
        assert_eq!(swept["launches"][0]["outcome"], "removed", "{swept}");
        if kills_engine {
            // Others may have been cut off too.
            let tagged = swept["tagged"].as_array().unwrap();
            assert!(
                tagged.iter().any(|one| one["id"] == "gcp-europe-west3"),
                "{swept}"
            );
        }
        nothing_is_left();
        fs::remove_file("hangs").unwrap();
    }

    // With what was written down gone too, the tags find it.
    let mut killed = Running::start(launch(&["--delete-after", "1h"]));
    let up = line_of(&mut killed);
    drop(killed);
    fs::remove_dir_all(".local").unwrap();
    let early = json_of(&["mesh", "sweep", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-sweep", &early);
    assert_eq!(
        (namespaces(), early["tagged"].as_array().unwrap().len()),
        (3, 3),
        "{early}"
    );
    let status = json_of(&["mesh", "status", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-status", &status);
    assert_eq!(status["tagged"][0]["launch"], up["launch"], "{status}");
    let name = up["launch"].as_str().unwrap();
    json_of(
        &[
            "mesh",
            "sweep",
            "--json",
            "--machines-by",
            MAKER,
            "--launch",
            name,
        ],
        0,
    );
    nothing_is_left();
}

#[test]
fn what_machines_cost_counts_towards_max_usd_while_they_are_there() {
    isolated!(root);
    make_network();
    // A dollar a minute for each of three, and nothing for what is sent.
    let prices = "cloud,area,what,usd\naws,*,vm-hour,60\ngcp,*,vm-hour,60\n";
    fs::write("prices.csv", prices).unwrap();
    let most = ["--prices", "prices.csv", "--max-usd"];
    // Held until the limit is near, with nobody to stop it.
    let held = launch(&[&most[..], &["10"], &SMALL[..]].concat());
    let mut held = Running::start(held);
    line_of(&mut held);
    let ended = held.wait(LIMIT).expect_code(0);
    assert!(
        ended.stderr.contains("--max-usd 10 is nearly reached"),
        "{}",
        ended.stderr
    );
    nothing_is_left();
}

/// Tests of a run as the results store has them: both ends' zones and hosts.
#[track_caller]
fn ends_of_tests() -> Vec<[String; 4]> {
    let csv = finish(weir(&["mesh", "export"]), 0).stdout;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let header = lines.next().unwrap();
    let columns = ["from_zone", "from_host", "to_zone", "to_host"]
        .map(|name| header.iter().position(|column| *column == name).unwrap());
    let mut ends: Vec<[String; 4]> = lines
        .map(|row| columns.map(|column| row[column].to_owned()))
        .collect();
    ends.sort();
    ends
}

#[test]
fn machines_of_one_region_are_tested_against_each_other() {
    isolated!(root);
    make_network();
    let run = |more: &[&str]| {
        let start = [
            "mesh",
            "run",
            "--json",
            "--launch",
            "--machines-by",
            MAKER,
            "--again",
        ];
        let ran = json_of(&[&start, &SMALL[..], more].concat(), 0);
        assert_documented("mesh-run", &ran);
        assert_eq!(
            (&ran["finished"], &ran["failed"]),
            (&2.into(), &0.into()),
            "{ran}"
        );
        nothing_is_left();
        let ends = ends_of_tests();
        fs::remove_file("weir.db").unwrap();
        ends
    };
    let both = |zones: [&str; 2], hosts: [&str; 2]| {
        let ends =
            |from: usize, to: usize| [zones[from], hosts[from], zones[to], hosts[to]].map(str::to_owned);
        vec![ends(0, 1), ends(1, 0)]
    };
    let hosts = ["aws-eu-west-1", "aws-eu-west-1-2"];

    // Two zones of a region, by number: who made the machines says nothing of zones.
    let region = ["--pair", "aws:eu-west-1->aws:eu-west-1"];
    assert_eq!(
        run(&[&region[..], &["--zones"]].concat()),
        both(["1", "2"], hosts)
    );
    // Two that are named, once in each direction.
    let named = [
        "--pair",
        "aws:eu-west-1a->aws:eu-west-1b",
        "--pair",
        "aws:eu-west-1b->aws:eu-west-1a",
    ];
    assert_eq!(run(&named), both(["eu-west-1a", "eu-west-1b"], hosts));
    // Two machines side by side.
    let close = [&region[..], &["--all-hosts", "--placement-group"]].concat();
    assert_eq!(run(&close), both(["", ""], hosts));

    // Zones by number in pairs, with a machine elsewhere; who makes machines knows their zones' names.
    fs::write("names-zones", "").unwrap();
    let pairs = [
        "--pair",
        "aws:eu-west-1/2->gcp:europe-west3",
        "--pair",
        "aws:eu-west-1/1->aws:eu-west-1/2",
    ];
    let ends = run(&pairs);
    let expected = [
        ["west-1", "aws-eu-west-1", "west-2", "aws-eu-west-1-2"],
        ["west-2", "aws-eu-west-1-2", "west-", "gcp-europe-west3"],
    ];
    assert_eq!(ends, expected);
}

/// The command with SIGHUP as it is by default: whoever runs the tests may have had it ignored, as nohup does, and then
/// the command ignores it, too.
fn with_hang_up(command: &Command) -> Command {
    let mut with = Command::new("env");
    with.arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    with
}

#[test]
fn a_place_that_is_refused_does_not_hold_the_others_up_and_ctrl_c_removes_everything() {
    isolated!(root);
    make_network();
    fs::write("refuse-aws-us-east-1", "").unwrap();
    let mut held = Running::start(launch(&[]));
    let up = line_of(&mut held);
    let refused = &up["places"][1];
    assert_eq!(
        (&refused["place"], &refused["phase"]),
        (&"aws:us-east-1".into(), &"gone".into()),
        "{up}"
    );
    assert!(refused["problem"].as_str().unwrap().contains("quota"), "{up}");
    held.signal("INT");
    held.wait(LIMIT).expect_code(0);
    nothing_is_left();

    // Two of three refused: one machine is no mesh.
    fs::write("refuse-gcp-europe-west3", "").unwrap();
    let said = finish(launch(&[]), 3).stderr;
    assert!(said.contains("only 1 of 3 machines started"), "{said}");
    nothing_is_left();
    fs::remove_file("refuse-gcp-europe-west3").unwrap();
    fs::remove_file("refuse-aws-us-east-1").unwrap();

    // Ctrl-C once and twice while a machine is being made; then a hangup while they are held.
    fs::write("hang-gcp-europe-west3", "").unwrap();
    for presses in 1..=2 {
        let interrupted = Running::start(launch(&[]));
        wait_until("a machine that hangs", LIMIT, || {
            Path::new("hangs").exists().then_some(())
        });
        for _ in 0..presses {
            interrupted.signal("INT");
            std::thread::sleep(Duration::from_millis(300));
        }
        interrupted.wait(LIMIT).expect_code(3);
        nothing_is_left();
        fs::remove_file("hangs").unwrap();
    }
    fs::remove_file("hang-gcp-europe-west3").unwrap();
    let mut held = Running::start(with_hang_up(&launch(&[])));
    line_of(&mut held);
    held.signal("HUP");
    held.wait(LIMIT).expect_code(0);
    nothing_is_left();
}
