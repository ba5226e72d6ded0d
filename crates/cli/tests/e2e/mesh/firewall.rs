//! A firewall in front of a host's agent: SSH passes, tests do not, and the error names that host; a firewall in front
//! of SSH, passed through a jump host. Also the fields of a completed test about both its hosts.

use std::fs;

use super::hosts::{join, make_hosts, nothing_is_left};
use super::{finish, json_of, weir};
use crate::assert_documented;
use weir_rig::{Database, isolated, run};

const SMALL: [&str; 12] = [
    "--rtt-for",
    "500ms",
    "--tcp-for",
    "500ms",
    "--streams",
    "2",
    "--udp-for",
    "500ms",
    "--udp-rate",
    "2Mbit/s",
    "--max-bytes",
    "4MB",
];

fn run_in(host: &str, command: &[&str]) {
    run("ip", &[&["netns", "exec", host], command].concat());
}

/// Drops what comes to these ports of a host, without an answer.
fn wall(host: &str, ports: &str) {
    let rules = format!(
        "flush ruleset; add table inet wall; \
         add chain inet wall in {{ type filter hook input priority 0; }}; add rule inet wall in {ports} drop"
    );
    run_in(host, &["nft", &rules]);
}

/// The kind and the reason of the one test that failed in the newest run.
fn failure(run: &serde_json::Value) -> (String, String) {
    let database = Database::open("weir.db");
    let of_run = format!(
        "FROM mesh_tests WHERE outcome = 'failed' AND run_id = {}",
        run["run"]["id"]
    );
    (
        database.one(&format!("SELECT json_extract(details, '$.fault') {of_run}")),
        database.one(&format!("SELECT reason {of_run}")),
    )
}

#[test]
fn a_firewall_before_an_agent_is_told_with_its_host_and_the_other_direction_is_tested() {
    isolated!(root);
    let _hosts = make_hosts(2);
    join(1, 2, 5.0);
    // What both hosts let a TCP socket hold, different everywhere.
    for (host, limit, bytes) in [
        ("h1", "tcp_wmem", 1_100_000),
        ("h1", "tcp_rmem", 1_200_000),
        ("h2", "tcp_wmem", 1_300_000),
        ("h2", "tcp_rmem", 1_400_000),
    ] {
        let setting = format!("net.ipv4.{limit}=4096 16384 {bytes}");
        run_in(host, &["sysctl", "-q", "-w", &setting]);
    }
    let order = [&["mesh", "run", "--json", "--hosts", "hosts.yaml"][..], &SMALL].concat();

    // No answer to the connection: the one way fails for the reason that is there, the other goes through.
    wall("h2", "tcp dport 4747");
    let done = finish(weir(&order), 3);
    let run = done.json();
    assert_documented("mesh-run", &run);
    assert_eq!(
        (&run["finished"], &run["failed"], &run["lost_hosts"]),
        (&1.into(), &1.into(), &serde_json::json!({})),
        "{run}"
    );
    let (kind, reason) = failure(&run);
    assert_eq!(kind, "agent", "{reason}");
    assert!(
        reason.starts_with("h2: cannot reach its agent from h1: ") && reason.contains("10.1.0.2:4747"),
        "{reason}"
    );
    assert!(
        done.stderr.contains(&format!("h1 -> h2: {reason}")),
        "{}",
        done.stderr
    );
    let failed = finish(weir(&["mesh", "export", "--failed"]), 0).stdout;
    assert!(failed.contains("h2: cannot reach its agent"), "{failed}");

    // The one that went through says all that is asked of a test.
    let database = Database::open("weir.db");
    let tests = "FROM mesh_tests WHERE outcome = 'finished'";
    let windows = "SELECT from_host || ' ' || from_window_bytes || ' ' || to_host || ' ' || to_window_bytes";
    assert_eq!(
        database.one::<String>(&format!("{windows} {tests}")),
        "h2 1300000 h1 1200000"
    );
    for column in [
        "tcp_bps",
        "tcp_cwnd_bytes",
        "tcp_rtt_ns",
        "tcp_streams_bps",
        "tcp_streams_cwnd_bytes",
        "tcp_streams_rtt_ns",
        "udp_bps",
        "udp_sent",
        "udp_jitter_ns",
    ] {
        let value: Option<i64> = database.one(&format!("SELECT {column} {tests}"));
        assert!(value.is_some_and(|value| value > 0), "{column} is {value:?}");
    }
    for column in ["tcp_retransmits", "tcp_streams_retransmits", "udp_reordered"] {
        let value: Option<i64> = database.one(&format!("SELECT {column} {tests}"));
        assert!(value.is_some(), "{column} is not there");
    }
    assert_eq!(
        database.one::<i64>(&format!("SELECT congestion_control <> '' {tests}")),
        1
    );

    // The ports of the tests alone: the session is made, and then nothing comes through.
    wall("h2", "udp dport 4750-4849");
    let run = json_of(&order, 3);
    assert_eq!(
        (&run["finished"], &run["failed"]),
        (&0.into(), &1.into()),
        "{run}"
    );
    let (kind, reason) = failure(&run);
    assert_eq!(kind, "agent", "{reason}");
    assert!(
        reason.starts_with("h2: cannot reach its agent from h1: ") && reason.contains("UDP"),
        "{reason}"
    );
    nothing_is_left();
}

#[test]
fn a_host_behind_a_jump_host_is_reached_as_the_configuration_of_ssh_says() {
    isolated!(root);
    let _hosts = make_hosts(2);
    join(1, 2, 5.0);
    wall("h2", "ip saddr != 10.9.0.1 tcp dport 22");
    let order = [&["mesh", "run", "--json", "--hosts", "hosts.yaml"][..], &SMALL].concat();
    let run = json_of(&order, 3);
    assert_eq!(run["lost_hosts"]["h2"]["kind"], "unreachable", "{run}");

    let config = fs::read_to_string("ssh_config").unwrap();
    fs::write(
        "ssh_config",
        format!("Host 10.9.0.2\n ProxyJump 10.9.0.1\n{config}"),
    )
    .unwrap();
    let run = json_of(&order, 0);
    assert_documented("mesh-run", &run);
    assert_eq!(
        (&run["finished"], &run["lost_hosts"]),
        (&2.into(), &serde_json::json!({})),
        "{run}"
    );
    nothing_is_left();
}
