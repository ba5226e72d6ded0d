//! Either end is killed, interrupted or cut off in the middle of a run: what was measured stays, the other end finds
//! out, and the next run works.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, interface_bytes, isolated, join_by_veth, nft,
    run_within, udp_ports_in_use, wait_until, weir,
};

const FLOWS: [&str; 8] = [
    "--rate", "5Mbit/s", "--length", "1000", "--flows", "2", "--for", "60s",
];
const RTT: [&str; 6] = ["--window", "5", "--interval", "50ms", "--for", "60s"];

fn start(kind: &str, target: &str, database: &str, options: &[&str]) -> Running {
    let test = if kind == "rtt" { &RTT[..] } else { &FLOWS };
    Running::start(weir(
        &[&[kind, target, "--json", "--db", database], test, options].concat(),
    ))
}

/// Waits until rows of about that many seconds are stored.
fn wait_for_rows(database: &str, kind: &str, seconds: i64) {
    let (table, rows) = if kind == "rtt" {
        ("rtt_packets", seconds * 100)
    } else {
        ("stream_seconds", seconds)
    };
    wait_until("stored rows", LIMIT, || {
        let uri = std::path::Path::new(database);
        // Before the schema is there, there is nothing to count.
        let count = uri
            .exists()
            .then(|| Database::try_count(database, table))
            .flatten();
        count.filter(|count| *count >= rows)
    });
}

fn unix_ns() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970");
    now.as_nanos() as i64
}

fn wait_for_closed_ports(host: Host) {
    wait_until("the agent to close its UDP ports", LIMIT, || {
        udp_ports_in_use(host)
            .iter()
            .all(|port| !(4750..=4849).contains(port))
            .then_some(())
    });
}

#[test]
fn a_killed_client_leaves_its_rows_and_an_agent_that_serves() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    for kind in ["rtt", "flows"] {
        let database = weir_rig::path(&format!("killed-{kind}.db"));
        let client = start(kind, &agent.local(), &database, &[]);
        wait_for_rows(&database, kind, 2);
        let killed_at = unix_ns();
        client.signal("KILL");
        client.wait(LIMIT);
        wait_for_closed_ports(Host::Near);
        agent.check_serves(&[]);

        let stored = Database::open(&database);
        let (table, time) = if kind == "rtt" {
            ("rtt_packets", "sent_unix_ns")
        } else {
            ("stream_seconds", "unix_ns")
        };
        let last: i64 = stored.one(&format!("SELECT max({time}) FROM {table}"));
        assert!(
            killed_at - last < 2_500_000_000,
            "{kind}: rows end {} ns before the kill",
            killed_at - last
        );
        assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "running");
        assert!(killed_at - stored.one::<i64>("SELECT last_unix_ns FROM runs") < 2_500_000_000);
        drop(stored);

        // As if ten seconds and more had passed since the last sign of life.
        Database::change(
            &database,
            "UPDATE runs SET last_unix_ns = last_unix_ns - 20000000000",
        );
        let listed = run_within(LIMIT, weir(&["runs", "list", "--json", "--db", &database]))
            .expect_code(0)
            .json();
        assert_eq!(listed["outcome"], "interrupted", "{listed}");
        run_within(LIMIT, weir(&["runs", "show", "last", "--db", &database])).expect_code(0);
        // The next run that opens the file notes it for good.
        run_within(
            LIMIT,
            weir(&["rtt", &agent.local(), "--for", "100ms", "--db", &database]),
        )
        .expect_code(0);
        let outcomes: Vec<String> = Database::open(&database).all("SELECT outcome FROM runs ORDER BY run_id");
        assert_eq!(outcomes, ["interrupted", "finished"]);
    }
}

#[test]
fn a_killed_agent_fails_the_run_and_a_new_one_serves_on_the_same_port() {
    isolated!();
    let mut agent = Agent::start(Host::Near, &[]);
    for (name, kind, options) in [
        ("rtt", "rtt", &[][..]),
        ("forward", "flows", &[]),
        ("reverse", "flows", &["--reverse"]),
    ] {
        let database = weir_rig::path(&format!("{name}.db"));
        let client = start(kind, &agent.local(), &database, options);
        wait_for_rows(&database, kind, 1);
        agent.process.signal("KILL");
        let done = client.wait(LIMIT).expect_code(3);
        assert!(
            done.one_error().contains("lost the agent at"),
            "{name}: {}",
            done.stderr
        );
        assert!(
            done.one_error().contains("what was measured until then is kept"),
            "{}",
            done.stderr
        );

        let stored = Database::open(&database);
        assert_eq!(
            stored.one::<String>("SELECT outcome FROM runs"),
            "failed",
            "{name}"
        );
        let reason: String = stored.one("SELECT reason FROM runs");
        assert!(reason.contains("lost the agent"), "{name}: {reason}");
        let table = if kind == "rtt" {
            "rtt_packets"
        } else {
            "stream_seconds"
        };
        assert!(
            stored.one::<i64>(&format!("SELECT count(*) FROM {table}")) > 0,
            "{name}"
        );

        let port = agent.port;
        agent = Agent::start_on_port(Host::Near, port, &[]);
        agent.check_serves(&[]);
    }
}

#[test]
fn an_interrupted_client_ends_well_with_what_it_has() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    for (name, kind, options) in [
        ("rtt", "rtt", &[][..]),
        ("forward", "flows", &[]),
        ("reverse", "flows", &["--reverse"]),
        ("both", "flows", &["--both"]),
    ] {
        let database = weir_rig::path(&format!("interrupted-{name}.db"));
        let client = start(kind, &agent.local(), &database, options);
        wait_for_rows(&database, kind, 1);
        client.signal("INT");
        let said = client.wait(LIMIT).expect_code(0).json();
        assert_eq!(said["run"]["outcome"], "interrupted", "{name}: {said}");
        let directions: &[&str] = match name {
            "rtt" => &[],
            "both" => &["forward", "reverse"],
            one => &[one],
        };
        for direction in directions {
            assert_eq!(said[direction]["lost"], 0, "{name}: {said}");
            assert!(said[direction]["sent"].as_u64() > Some(100), "{name}: {said}");
            assert_eq!(
                said[direction]["sent"], said[direction]["received"],
                "{name}: {said}"
            );
        }
        let stored = Database::open(&database);
        assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "interrupted");
        assert!(
            stored.one::<String>("SELECT summary FROM runs").contains("sent"),
            "{name}"
        );
    }
    wait_for_closed_ports(Host::Near);
    agent.check_serves(&[]);
}

#[test]
fn an_interrupted_agent_ends_and_its_client_fails() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = weir_rig::path("agent-ended.db");
    let client = start("flows", &agent.local(), &database, &[]);
    wait_for_rows(&database, "flows", 1);
    agent.process.signal("INT");
    assert_eq!(
        agent.process.wait(LIMIT).code(),
        0,
        "an agent ends cleanly on a signal"
    );
    let done = client.wait(LIMIT).expect_code(3);
    assert!(done.one_error().contains("lost the agent"), "{}", done.stderr);
}

#[test]
fn an_agent_that_sends_stops_when_its_client_is_killed() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let client = start(
        "flows",
        &agent.at(FAR_IPV4),
        &weir_rig::path("reverse.db"),
        &["--reverse"],
    );
    // Half a megabyte is a second of the test.
    let before = interface_bytes(Host::Far, "far", "tx");
    wait_until("the agent to send", LIMIT, || {
        (interface_bytes(Host::Far, "far", "tx") > before + 500_000).then_some(())
    });
    client.signal("KILL");
    client.wait(LIMIT);
    wait_until("the session's end", LIMIT, || {
        agent.process.stderr().contains("session closed").then_some(())
    });
    let stopped = interface_bytes(Host::Far, "far", "tx");
    std::thread::sleep(Duration::from_secs(1));
    let more = interface_bytes(Host::Far, "far", "tx") - stopped;
    assert!(more < 20_000, "{more} bytes were sent after the session ended");
    wait_for_closed_ports(Host::Far);
    agent.check_serves_at(FAR_IPV4, &[]);
}

#[test]
fn a_path_that_goes_dark_ends_the_test_at_both_ends() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let database = weir_rig::path("dark.db");
    let client = start("flows", &agent.at(FAR_IPV4), &database, &["--reverse"]);
    wait_for_rows(&database, "flows", 1);
    nft(Host::Far, "add table inet dark");
    nft(
        Host::Far,
        "add chain inet dark in { type filter hook prerouting priority -300; policy drop; }",
    );
    nft(Host::Near, "add table inet dark");
    nft(
        Host::Near,
        "add chain inet dark in { type filter hook prerouting priority -300; policy drop; }",
    );
    let done = client.wait(LIMIT).expect_code(3);
    assert!(done.one_error().contains("lost the agent"), "{}", done.stderr);
    let stored = Database::open(&database);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "failed");
    assert!(stored.one::<i64>("SELECT sum(received) FROM stream_seconds") > 100);
    // The agent does not go on sending into the dark for the minute that was asked.
    wait_for_closed_ports(Host::Far);
}
