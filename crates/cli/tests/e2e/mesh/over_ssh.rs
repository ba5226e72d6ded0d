//! A mesh of hosts that are there, every pair joined by an emulated link: planned, run, killed in the middle, resumed,
//! reported; hosts in trouble, firewalls, interrupts; a survey for a pair.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::hosts::{agents, folders_on_hosts, join, make_hosts, nothing_is_left};
use super::{finish, mesh, weir};
use crate::documented;
use weir_rig::{Database, LIMIT, Running, isolated, run, wait_until};

/// RTT that the links are given: milliseconds for each thousand kilometres.
const SLOPE: f64 = 15.0;
/// Small tests: all hosts share this machine. One of UDP has no jitter unless two packets leave in its time, however long its host
/// was held up.
const SMALL: &str =
    "--rtt-for 300ms --tcp-for 300ms --streams 2 --udp-for 1s --udp-rate 2Mbit/s --max-bytes 4MB";

/// Columns of the tests that went through.
#[track_caller]
fn finished_tests<const N: usize>(columns: [&str; N]) -> Vec<[String; N]> {
    let exported = finish(0, "mesh export").stdout;
    let mut lines = exported.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let places = columns.map(|name| names.iter().position(|other| *other == name).unwrap());
    lines
        .map(|row| places.map(|place| row[place].to_owned()))
        .collect()
}

fn run_in(host: &str, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    run("ip", &[&["netns", "exec", host], &words[..]].concat())
}

/// Every column of a completed test about both its hosts. What a TCP socket may hold is different everywhere.
#[track_caller]
fn check_columns() {
    let database = Database::open("weir.db");
    let tests = "FROM mesh_tests WHERE outcome = 'finished' AND from_host IN ('h1', 'h2') AND to_host IN ('h1', 'h2')";
    let windows = "from_host || ' ' || from_window_bytes || ' ' || to_window_bytes";
    let windows: String = database.one(&format!("SELECT {windows} {tests}"));
    assert!(
        ["h1 1100000 1400000", "h2 1300000 1200000"].contains(&&*windows),
        "{windows}"
    );
    let columns = "tcp_bps tcp_cwnd_bytes tcp_rtt_ns tcp_streams_bps tcp_streams_cwnd_bytes tcp_streams_rtt_ns udp_bps \
                   udp_sent udp_jitter_ns";
    let beside: String = database.one(&format!("SELECT json_array(udp_sent, udp_loss, details) {tests}"));
    for column in columns.split_whitespace() {
        let value: Option<i64> = database.one(&format!("SELECT {column} {tests}"));
        assert!(
            value.is_some_and(|value| value > 0),
            "{column} is {value:?}: {beside}"
        );
    }
    for column in [
        "tcp_retransmits",
        "tcp_streams_retransmits",
        "udp_reordered",
        "congestion_control <> ''",
    ] {
        let value: Option<i64> = database.one(&format!("SELECT {column} {tests}"));
        assert!(value.is_some(), "{column} is not there");
    }
}

#[test]
fn pairs_are_tested_through_kills_firewalls_and_interrupts_reported_surveyed_and_leave_nothing() {
    isolated!(root);
    let _hosts = make_hosts(4);
    for (host, limits) in [("h1", [1_100_000, 1_200_000]), ("h2", [1_300_000, 1_400_000])] {
        for (name, bytes) in ["tcp_wmem", "tcp_rmem"].iter().zip(limits) {
            let setting = format!("net.ipv4.{name}=4096 16384 {bytes}");
            run("ip", &["netns", "exec", host, "sysctl", "-q", "-w", &setting]);
        }
    }
    let plan = mesh(0, "plan --hosts hosts.yaml --one-way");
    assert_eq!(plan["tests"], 6);
    assert_eq!(plan["hosts"], 4);
    assert_eq!(plan["fewest_rounds"], 3);
    for pair in plan["pairs"].as_array().unwrap() {
        let number = |field: &str| pair[field].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let (from, to) = (number("from_host"), number("to_host"));
        join(from, to, pair["distance_m"].as_f64().unwrap() / 1e6 * SLOPE);
    }
    every_pair_is_tested_once_through_a_kill();
    let report = mesh(0, "report --html mesh.html");
    assert_eq!(report["html"]["bytes"], fs::metadata("mesh.html").unwrap().len());
    let said = finish(2, "mesh report --html mesh.html").stderr;
    assert!(said.contains("mesh.html exists"), "{said}");
    // A busy host adds delay to some pairs, and none is faster than light.
    assert_eq!(report["groups"][0]["rtt"]["points"], 6, "{report}");
    assert_eq!(report["impossible"], serde_json::json!([]));
    a_pair_is_surveyed();
    private_and_public_addresses_are_tested_side_by_side();
    hosts_in_trouble_are_named();
    what_is_interrupted_or_killed_leaves_nothing();
}

#[track_caller]
fn every_pair_is_tested_once_through_a_kill() {
    let ends = || finished_tests(["from_host", "to_host"]);
    let first = Running::start(weir(&format!("mesh run --hosts hosts.yaml --one-way {SMALL}")));
    Database::wait_for_rows("weir.db", "mesh_tests", 1);
    drop(first);
    let before = ends().len();
    assert!(before < 6, "it was killed in the middle");
    assert!(!folders_on_hosts().is_empty(), "it was killed in the middle");
    let resumed = mesh(0, &format!("run --resume last {SMALL}"));
    let finished = resumed["finished"].as_u64().unwrap();
    assert_eq!(finished + before as u64, 6, "{resumed}");
    let tests = ends();
    let different = tests.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(
        (different, tests.len()),
        (6, 6),
        "every pair, none twice: {tests:?}"
    );
    nothing_is_left();
    check_columns();
    let said = finish(2, "mesh run --resume last").stderr;
    assert!(said.contains("nothing to resume"), "{said}");
}

/// The bridge is the private network of the first two hosts: it has no delay of its own, where their link has one.
#[track_caller]
fn private_and_public_addresses_are_tested_side_by_side() {
    let mut file = fs::read_to_string("hosts.yaml").unwrap();
    for host in [1, 2] {
        let address = format!("test-address: 10.1.0.{host},");
        let private = format!("{address} private-address: 10.9.0.{host}, network: bridge,");
        file = file.replace(&address, &private);
    }
    fs::write("private.yaml", file).unwrap();
    let pair = "--one-way --addresses both --pair aws:eu-west-1->aws:us-east-1";
    // Medians are compared: in less time, a host that stands still for half a second changes them.
    let small = "--rtt-for 2s --tcp-for 0s --udp-for 0s --max-bytes 5MB";
    let ran = mesh(0, &format!("run --hosts private.yaml --again {pair} {small}"));
    assert_eq!(ran["finished"], 2, "{ran}");
    let report = mesh(0, "report --run last");
    let pair = &report["side_by_side"][0];
    let rtt = |side: &str| pair[side]["rtt_ns"].as_f64().unwrap();
    // Some 5,500 km by the slope of the links.
    assert!(rtt("public") > 60e6 && rtt("private") < rtt("public"), "{pair}");
    // Both kinds of interfaces have the usual MTU.
    for side in ["private", "public"] {
        assert_eq!(pair[side]["path_mtu"], 1500, "{pair}");
    }
    nothing_is_left();
}

#[track_caller]
fn a_pair_is_surveyed() {
    let order = "--hosts hosts.yaml --again --max-tests 1 --survey --rtt-for 500ms --tcp-for 0s --udp-for 0s --max-bytes 20MB";
    let surveyed = mesh(0, &format!("run {order}"));
    let document = finish(0, "runs export last --as json").json();
    let runs = document["runs"].as_array().unwrap();
    let (of_mesh, survey) = (&runs[0], &runs[1]);
    assert_eq!(survey["kind"], "survey");
    assert_eq!(survey["parent_run_id"], of_mesh["run_id"]);
    assert_eq!(survey["outcome"], "finished");
    let test = &of_mesh["series"]["mesh_tests"]["columns"];
    assert_eq!(test["survey_run"]["values"][0], survey["run_id"]);
    // What the survey has sent counts with the test.
    let bytes = survey["summary"]["bytes"].as_u64().unwrap();
    assert!(bytes > 1_000_000, "{surveyed}");
    assert!(surveyed["bytes"].as_u64().unwrap() > bytes, "{surveyed}");
    nothing_is_left();
}

/// Drops packets to these ports of a host without an answer.
fn wall(host: &str, ports: &str) {
    let rules = format!(
        "flush ruleset; add table inet wall; \
         add chain inet wall in {{ type filter hook input priority 0; }}; add rule inet wall in {ports} drop"
    );
    run("ip", &["netns", "exec", host, "nft", &rules]);
}

/// The kind and the reason of the failed test from h1 to h2 in the newest run.
fn failure(run: &Value) -> (String, String) {
    let of_run = format!(
        "FROM mesh_tests WHERE outcome = 'failed' AND from_host = 'h1' AND to_host = 'h2' AND run_id = {}",
        run["run"]["id"]
    );
    let one = |what: &str| Database::open("weir.db").one(&format!("SELECT {what} {of_run}"));
    (one("json_extract(details, '$.fault')"), one("reason"))
}

/// From and to the first two hosts, and from each of the others to the first.
const FOUR: &str = "--pair aws:eu-west-1->aws:us-east-1 --pair aws:us-east-1->aws:eu-west-1 \
                    --pair gcp:asia-northeast1->aws:eu-west-1 --pair azure:australiaeast->aws:eu-west-1";

/// Runs these tests; one way from h1 to h2 is behind a firewall.
#[track_caller]
fn behind_a_firewall(what: &str) -> Value {
    let run = mesh(3, &format!("run --hosts hosts.yaml --again {FOUR} {SMALL}"));
    let (kind, reason) = failure(&run);
    assert_eq!(kind, "agent", "{reason}");
    assert!(
        reason.starts_with("h2: cannot reach its agent from h1: ") && reason.contains(what),
        "{reason}"
    );
    run
}

#[track_caller]
fn hosts_in_trouble_are_named() {
    // The key of one host has changed, another one's server is not there, and a third one has a firewall: the one way
    // fails for the reason that is there, the other goes through.
    let known = fs::read_to_string("known").unwrap();
    let host_key = fs::read_to_string("host.pub").unwrap();
    let other = fs::read_to_string("other.pub").unwrap();
    let h4 = format!("10.9.0.4 {host_key}");
    assert!(known.contains(&h4));
    fs::write("known", known.replace(&h4, &format!("10.9.0.4 {other}"))).unwrap();
    let text = fs::read_to_string("hosts.yaml").unwrap();
    let moved = text.replace("address: 10.9.0.3,", "port: 2222, address: 10.9.0.3,");
    fs::write("hosts.yaml", moved).unwrap();
    wall("h2", "tcp dport 4747");
    let run = behind_a_firewall("10.1.0.2:4747");
    assert_eq!(run["finished"], 1, "{run}");
    assert_eq!(run["failed"], 3, "{run}");
    let lost = &run["lost_hosts"];
    assert_eq!(lost["h4"]["kind"], "host-key");
    assert_eq!(lost["h3"]["kind"], "unreachable");
    assert!(
        lost["h4"]["message"].as_str().unwrap().contains("ssh-keygen -R"),
        "{lost}"
    );
    let failed = finish(0, "mesh export --failed").stdout;
    assert!(failed.contains("h2: cannot reach its agent"), "{failed}");
    fs::write("known", known).unwrap();
    fs::write("hosts.yaml", &text).unwrap();
    nothing_is_left();

    // An agent's port that another program holds; and a firewall before the ports of tests alone: the session is made,
    // and then nothing comes through.
    let busy =
        "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 4747)); s.listen(); time.sleep(60)";
    let mut thief = Command::new("ip");
    thief.args(["netns", "exec", "h4", "python3", "-c", busy]);
    let thief = Running::start(thief);
    wait_until("the thief", LIMIT, || {
        run_in("h4", "ss -Hltn").contains(":4747").then_some(())
    });
    wall("h2", "udp dport 4750-4849");
    let run = behind_a_firewall("UDP");
    assert_eq!(run["lost_hosts"]["h4"]["kind"], "agent", "{run}");
    drop(thief);
    run_in("h2", "nft flush ruleset");
    nothing_is_left();
}

#[track_caller]
fn what_is_interrupted_or_killed_leaves_nothing() {
    let before = finished_tests(["from_host"]).len();
    let order = format!(
        "mesh run --json --again --hosts hosts.yaml {FOUR} --rtt-for 1500ms --tcp-for 0s --udp-for 0s"
    );
    let interrupted = Running::start(weir(&order));
    wait_until("a test", LIMIT, || {
        (finished_tests(["from_host"]).len() > before).then_some(())
    });
    interrupted.signal("INT");
    let summary = interrupted.wait(LIMIT).expect_code(3).json();
    documented("mesh-run", &summary);
    let [halt, outcome] = [&summary["halt"], &summary["run"]["outcome"]];
    assert_eq!((halt, outcome), (&"interrupted".into(), &"interrupted".into()));
    assert!(summary["left"].as_u64().unwrap() > 0, "{summary}");
    nothing_is_left();

    // What a killed run leaves, a sweep finds.
    let killed = Running::start(weir(&format!(
        "mesh run --again --hosts hosts.yaml {FOUR} {SMALL}"
    )));
    wait_until("an agent", LIMIT, || (agents() > 0).then_some(()));
    drop(killed);
    let swept = mesh(0, "sweep --hosts hosts.yaml");
    assert!(!swept["removed"].as_array().unwrap().is_empty());
    nothing_is_left();
}
