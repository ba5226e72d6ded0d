//! A mesh of hosts that are there, every pair joined by an emulated link: planned, run, killed in the middle, resumed,
//! reported; hosts in trouble, limits, interrupts; a survey for each pair.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::hosts::{PLACES, agents, folders_on_hosts, join, make_hosts, nothing_is_left};
use super::{finish, json_of, weir};
use crate::assert_documented;
use weir_rig::{LIMIT, Running, isolated, run, wait_until};

/// RTT that the links are given: milliseconds for each thousand kilometres.
const SLOPE: f64 = 15.0;
/// Small tests: six hosts share this machine.
const SMALL: [&str; 12] = [
    "--rtt-for",
    "600ms",
    "--tcp-for",
    "600ms",
    "--streams",
    "2",
    "--udp-for",
    "300ms",
    "--udp-rate",
    "1Mbit/s",
    "--max-bytes",
    "3MB",
];

/// Tests that went through, by their two hosts.
fn finished_tests() -> Vec<(String, String)> {
    let exported = finish(weir(&["mesh", "export"]), 0).stdout;
    exported
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[8].to_owned(), cells[14].to_owned())
        })
        .collect()
}

/// Distances in m, and median RTTs in ns, of the tests that went through.
fn delays_by_distance() -> Vec<(f64, f64)> {
    let exported = finish(weir(&["mesh", "export"]), 0).stdout;
    let mut lines = exported.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let (distance, rtt) = (place("distance_m"), place("rtt_p50_ns"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[distance].parse().unwrap(), cells[rtt].parse().unwrap())
        })
        .collect()
}

/// Slope of the straight line through these delays, ms per 1,000 km.
fn least_squares(delays: &[(f64, f64)]) -> f64 {
    let count = delays.len() as f64;
    let (mean_x, mean_y) = delays.iter().fold((0.0, 0.0), |(x, y), delay| {
        (x + delay.0 / count, y + delay.1 / count)
    });
    let (above, below) = delays.iter().fold((0.0, 0.0), |(above, below), (x, y)| {
        (above + (x - mean_x) * (y - mean_y), below + (x - mean_x).powi(2))
    });
    // Of ns and m.
    above / below
}

fn mesh_run(more: &[&str]) -> Command {
    weir(&[&["mesh", "run", "--json"], &SMALL[..], more].concat())
}

fn run_in(host: &str, command: &[&str]) -> String {
    run("ip", &[&["netns", "exec", host], command].concat())
}

#[test]
fn six_hosts_are_tested_through_a_kill_and_the_fitted_slope_is_the_one_that_was_set() {
    isolated!(root);
    let hosts = make_hosts(6);
    let plan = json_of(&["mesh", "plan", "--hosts", "hosts.yaml", "--json"], 0);
    assert_eq!(
        (&plan["tests"], &plan["hosts"], &plan["fewest_rounds"]),
        (&30.into(), &6.into(), &10.into())
    );
    assert!(plan["rounds"].as_u64().unwrap() <= 11, "{}", plan["rounds"]);
    for pair in plan["pairs"].as_array().unwrap() {
        let number = |field: &str| pair[field].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let (from, to) = (number("from_host"), number("to_host"));
        if from < to {
            join(from, to, pair["distance_m"].as_f64().unwrap() / 1e6 * SLOPE);
        }
    }

    let first = Running::start(mesh_run(&["--hosts", "hosts.yaml"]));
    wait_until("three tests", LIMIT, || {
        (Path::new("weir.db").exists() && finished_tests().len() >= 3).then_some(())
    });
    drop(first);
    let before = finished_tests().len();
    assert!(
        before < 30 && !folders_on_hosts().is_empty(),
        "it was killed in the middle"
    );

    let resumed = finish(mesh_run(&["--resume", "last"]), 0).json();
    assert_documented("mesh-run", &resumed);
    assert_eq!(
        resumed["finished"].as_u64().unwrap() + before as u64,
        30,
        "{resumed}"
    );
    let tests = finished_tests();
    assert_eq!(
        tests.iter().collect::<BTreeSet<_>>().len(),
        30,
        "every pair, none twice: {tests:?}"
    );
    assert_eq!(tests.len(), 30);
    nothing_is_left();

    let page = Path::new("mesh.html");
    let report = json_of(&["mesh", "report", "--json", "--html", "mesh.html"], 0);
    assert_eq!(report["html"]["bytes"], fs::metadata(page).unwrap().len());
    let said = finish(weir(&["mesh", "report", "--html", "mesh.html"]), 2).stderr;
    assert!(said.contains("mesh.html exists"), "{said}");
    // Whoever wants to look at it afterwards says where it is to be kept.
    if let Ok(keep) = std::env::var("WEIR_KEEP_MESH_PAGE") {
        fs::write(keep, fs::read(page).unwrap()).unwrap();
    }
    let fit = &report["groups"][0]["rtt"];
    let (slope, r) = (
        fit["slope"].as_f64().unwrap(),
        fit["correlation"].as_f64().unwrap(),
    );
    // A busy host adds delay to some pairs; nothing takes it away.
    let delays = delays_by_distance();
    assert_eq!((delays.len(), &fit["points"]), (30, &30.into()), "{fit}");
    for (distance_m, rtt_ns) in &delays {
        assert!(
            rtt_ns / 1e6 > distance_m / 1e6 * SLOPE * 0.99,
            "{rtt_ns} ns for {distance_m} m"
        );
    }
    assert!(
        (slope - least_squares(&delays)).abs() < 1e-6 * slope && r > 0.5,
        "{fit}"
    );
    assert_eq!(report["impossible"].as_array().unwrap().len(), 0);
    let said = finish(weir(&["mesh", "run", "--resume", "last"]), 2).stderr;
    assert!(said.contains("nothing to resume"), "{said}");
    drop(hosts);
}

#[test]
fn hosts_in_trouble_are_named_limits_hold_and_an_interrupted_run_leaves_nothing() {
    isolated!(root);
    let _hosts = make_hosts(4);
    for (one, other) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
        join(one, other, 5.0);
    }
    // The key of one host has changed, and another one's server is not there.
    let known = fs::read_to_string("known").unwrap();
    let other = fs::read_to_string("other.pub").unwrap();
    let changed: String = known
        .lines()
        .map(|line| {
            if line.starts_with("10.9.0.4 ") {
                format!("10.9.0.4 {other}")
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fs::write("known", changed).unwrap();
    let text = fs::read_to_string("hosts.yaml").unwrap();
    fs::write(
        "hosts.yaml",
        text.replace("address: 10.9.0.3,", "port: 2222, address: 10.9.0.3,"),
    )
    .unwrap();
    let run = json_of(
        &[&["mesh", "run", "--json", "--hosts", "hosts.yaml"], &SMALL[..]].concat(),
        3,
    );
    assert_eq!(
        (&run["finished"], &run["failed"]),
        (&2.into(), &10.into()),
        "{run}"
    );
    assert_documented("mesh-run", &run);
    assert_eq!(run["lost_hosts"]["h4"]["kind"], "host-key", "{run}");
    assert_eq!(run["lost_hosts"]["h3"]["kind"], "unreachable", "{run}");
    assert!(
        run["lost_hosts"]["h4"]["message"]
            .as_str()
            .unwrap()
            .contains("ssh-keygen -R")
    );
    fs::write("known", known).unwrap();
    fs::write("hosts.yaml", &text).unwrap();
    nothing_is_left();

    // A plan that could send more than it may is refused before anything happens.
    let limited = [
        &[
            "mesh",
            "run",
            "--json",
            "--hosts",
            "hosts.yaml",
            "--max-tests",
            "2",
            "--max-gb",
            "0.004",
        ],
        &SMALL[..],
    ]
    .concat();
    let said = finish(weir(&limited), 2).stderr;
    assert!(said.contains("more than --max-gb 0.004"), "{said}");

    // Paths carry more than was expected: what runs ends, and no test begins that could pass the limit.
    let dear: String = PLACES[..4]
        .iter()
        .flat_map(|place| ["internet-gb", "same-area-gb", "other-area-gb"].map(|what| (place, what)))
        .map(|(place, what)| format!("{},{what},1000\n", place.replace(':', ",")))
        .collect();
    fs::write("prices.csv", format!("cloud,area,what,usd\n{dear}")).unwrap();
    for (limit, most, halt) in [("--max-gb", "0.004", "bytes"), ("--max-usd", "4", "money")] {
        let stopped = [
            &["mesh", "run", "--json", "--hosts", "hosts.yaml"][..],
            &["--again", "--max-tests", "4", "--expect-rate", "100kbit/s"],
            &["--prices", "prices.csv", limit, most],
            &SMALL,
        ]
        .concat();
        let run = json_of(&stopped, 3);
        assert_eq!((&run["halt"], &run["failed"]), (&halt.into(), &0.into()), "{run}");
        let (finished, left) = (run["finished"].as_u64().unwrap(), run["left"].as_u64().unwrap());
        assert!(finished >= 1 && finished + left == 4 && left >= 1, "{run}");
        assert!(run["bytes"].as_u64().unwrap() <= 4_000_000, "{run}");
    }

    // An agent's port that another program holds.
    let busy =
        "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 4747)); s.listen(); time.sleep(60)";
    let mut thief = Command::new("ip");
    thief.args(["netns", "exec", "h4", "python3", "-c", busy]);
    let thief = Running::start(thief);
    wait_until("the thief", LIMIT, || {
        run_in("h4", &["ss", "-Hltn"]).contains(":4747").then_some(())
    });
    let run = json_of(
        &[
            &[
                "mesh",
                "run",
                "--json",
                "--hosts",
                "hosts.yaml",
                "--max-tests",
                "10",
            ],
            &SMALL[..],
        ]
        .concat(),
        3,
    );
    assert_eq!(run["lost_hosts"]["h4"]["kind"], "agent", "{run}");
    drop(thief);
    nothing_is_left();

    for presses in 1..=2 {
        let before = finished_tests().len();
        let order = [
            &["mesh", "run", "--json", "--again", "--hosts", "hosts.yaml"][..],
            &["--rtt-for", "1500ms", "--tcp-for", "0s", "--udp-for", "0s"],
        ];
        let run = Running::start(weir(&order.concat()));
        wait_until("a test", LIMIT, || {
            (finished_tests().len() > before).then_some(())
        });
        for _ in 0..presses {
            run.signal("INT");
            std::thread::sleep(Duration::from_millis(300));
        }
        let summary = run.wait(LIMIT).expect_code(3).json();
        assert_eq!(
            (&summary["halt"], &summary["run"]["outcome"]),
            (&"interrupted".into(), &"interrupted".into())
        );
        assert!(summary["left"].as_u64().unwrap() > 0, "{summary}");
        nothing_is_left();
    }

    // What a killed run leaves, a sweep finds.
    let killed = Running::start(mesh_run(&["--again", "--hosts", "hosts.yaml"]));
    wait_until("an agent", LIMIT, || (agents() > 0).then_some(()));
    drop(killed);
    let swept = json_of(&["mesh", "sweep", "--hosts", "hosts.yaml", "--json"], 0);
    assert_documented("mesh-sweep", &swept);
    assert!(!swept["removed"].as_array().unwrap().is_empty());
    nothing_is_left();
}

#[test]
fn the_survey_of_a_pair_is_a_run_of_its_own_that_its_test_names() {
    isolated!(root);
    let _hosts = make_hosts(2);
    join(1, 2, 5.0);
    let order = [
        &["mesh", "run", "--json", "--hosts", "hosts.yaml"][..],
        &["--max-tests", "1", "--survey"],
        &SMALL[..10],
        &["--max-bytes", "100MB"],
    ]
    .concat();
    let run = json_of(&order, 0);
    assert_documented("mesh-run", &run);
    assert_eq!(
        (&run["finished"], &run["notes"]),
        (&1.into(), &Value::Array(Vec::new())),
        "{run}"
    );
    let document = json_of(&["runs", "export", "last", "--as", "json"], 0);
    let runs = document["runs"].as_array().unwrap();
    let (mesh, survey) = (&runs[0], &runs[1]);
    assert_eq!(
        (&survey["kind"], &survey["parent_run_id"], &survey["outcome"]),
        (&"survey".into(), &mesh["run_id"], &"finished".into())
    );
    let test = &mesh["series"]["mesh_tests"]["columns"];
    assert_eq!(test["survey_run"]["values"][0], survey["run_id"]);
    let (from, to) = (&test["from_host"]["values"][0], &test["to_host"]["values"][0]);
    assert_eq!(
        survey["target"],
        format!("{} -> {}", from.as_str().unwrap(), to.as_str().unwrap())
    );
    let steps: BTreeSet<&str> = runs[2..]
        .iter()
        .filter(|step| step["parent_run_id"] == survey["run_id"])
        .filter_map(|step| step["kind"].as_str())
        .collect();
    assert_eq!(steps, BTreeSet::from(["mtu", "rtt", "tcp", "flows"]));
    // What the survey has sent counts with the test.
    let surveyed = survey["summary"]["bytes"].as_u64().unwrap();
    assert!(
        surveyed > 1_000_000 && run["bytes"].as_u64().unwrap() > surveyed,
        "{run}"
    );
    nothing_is_left();
}
