//! Either end is killed, interrupted or cut off in the middle of a run: what was measured stays, the other end notices, and
//! the next run works.

use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, count, counts, isolated, join_by_veth, nft, ran,
    started, udp_ports_in_use, wait_until,
};

const FLOWS: &str = "--rate 5Mbit/s --length 1000 --flows 2 --for 60s --json";
const RTT: &str = "--window 5 --interval 50ms --for 60s --json";

/// Two clients of an agent, with rows of a second and more, and their databases.
#[track_caller]
fn two_clients(agent: &Agent, name: &str) -> [(Running, String); 2] {
    let target = agent.at(FAR_IPV4);
    let start = |kind: &str, test: &str| {
        let database = format!("{name}-{kind}.db");
        let client = started(&format!("{kind} {target} {test} --db {database}"));
        (client, database)
    };
    let clients = [start("rtt", RTT), start("flows", &format!("{FLOWS} --reverse"))];
    for ((_, database), (table, rows)) in clients.iter().zip([("rtt_packets", 150), ("stream_seconds", 2)]) {
        Database::wait_for_rows(database, table, rows);
    }
    clients
}

fn rows(database: &str) -> i64 {
    let rows = ["rtt_packets", "stream_seconds"].map(|table| Database::try_count(database, table));
    rows.into_iter().flatten().sum()
}

/// Nothing is sent from a host that has none.
#[track_caller]
fn wait_for_closed_ports() {
    wait_until("the agent to close its UDP ports", LIMIT, || {
        let open = udp_ports_in_use(Host::Far)
            .iter()
            .any(|port| (4750..=4849).contains(port));
        (!open).then_some(())
    });
}

/// The run failed for want of its agent, and what it had is stored.
#[track_caller]
fn lost_the_agent(client: Running, database: &str) {
    let done = client.wait(LIMIT).expect_code(3);
    for words in ["lost the agent at", "what was measured until then is kept"] {
        done.error_has(words);
    }
    let stored = Database::open(database);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "failed");
    assert!(
        stored
            .one::<String>("SELECT reason FROM runs")
            .contains("lost the agent")
    );
    assert!(rows(database) > 0);
}

#[test]
fn what_was_measured_stays_when_either_end_is_killed_or_interrupted_or_the_path_goes_dark() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open");
    clients_are_killed(&agent);

    let clients = two_clients(&agent, "agent");
    agent.process.signal("KILL");
    for (client, database) in clients {
        lost_the_agent(client, &database);
    }
    let port = agent.port;
    agent.process.wait(LIMIT);
    let agent = Agent::start_on_port(Host::Far, port, "--open");
    agent.check_serves(FAR_IPV4, "");

    clients_are_interrupted(&agent);
    let client = started(&format!(
        "flows {} {FLOWS} --db interrupted.db",
        agent.at(FAR_IPV4)
    ));
    Database::wait_for_rows("interrupted.db", "stream_seconds", 1);
    agent.process.signal("INT");
    agent.process.wait(LIMIT).expect_code(0);
    lost_the_agent(client, "interrupted.db");

    let agent = Agent::start(Host::Far, "--open");
    let clients = two_clients(&agent, "dark");
    for host in [Host::Near, Host::Far] {
        nft(host, "add table inet dark");
        nft(
            host,
            "add chain inet dark in { type filter hook prerouting priority -300; policy drop; }",
        );
    }
    for (client, database) in clients {
        lost_the_agent(client, &database);
    }
    // The agent does not go on sending into the dark for the minute that was asked.
    wait_for_closed_ports();
}

#[track_caller]
fn clients_are_killed(agent: &Agent) {
    for (client, database) in two_clients(agent, "client") {
        let before = rows(&database);
        client.signal("KILL");
        client.wait(LIMIT);
        assert!(rows(&database) >= before, "{database}");
        let outcome = "SELECT outcome FROM runs ORDER BY run_id";
        assert_eq!(Database::open(&database).all::<String>(outcome), ["running"]);
        // As if ten seconds and more had passed since the last sign of life.
        let silent = "UPDATE runs SET last_unix_ns = last_unix_ns - 20000000000";
        Database::change(&database, silent);
        let listed = ran(0, &format!("runs list --json --db {database}")).json();
        assert_eq!(listed["outcome"], "interrupted", "{listed}");
        // The next run that opens the file notes it for good.
        let next = format!("rtt {} --for 100ms --db {database}", agent.at(FAR_IPV4));
        ran(0, &next);
        let outcomes = Database::open(&database).all::<String>(outcome);
        assert_eq!(outcomes, ["interrupted", "finished"]);
    }
    wait_for_closed_ports();
}

#[track_caller]
fn clients_are_interrupted(agent: &Agent) {
    let target = agent.at(FAR_IPV4);
    // All of them at the same time, in one database.
    let clients: Vec<(&str, Running)> = [
        ("rtt", format!("rtt {target} {RTT}")),
        ("forward", format!("flows {target} {FLOWS}")),
        ("both", format!("flows {target} {FLOWS} --both")),
        (
            "survey",
            format!("survey {target} --rate 5Mbit/s --step 20s --json"),
        ),
    ]
    .map(|(name, line)| (name, started(&format!("{line} --db all.db"))))
    .into();
    Database::wait_for_rows("all.db", "rtt_packets", 300);
    Database::wait_for_rows("all.db", "stream_seconds", 6);
    let refused = ran(3, "runs delete 1 --db all.db");
    refused.error_has("still being recorded");
    let mut runs = Vec::new();
    for (name, client) in clients {
        client.signal("INT");
        let said = client.wait(LIMIT).expect_code(0).json();
        assert_eq!(said["run"]["outcome"], "interrupted", "{name}: {said}");
        runs.push(count(&said["run"]["id"]));
        let directions: &[&str] = match name {
            "both" => &["forward", "reverse"],
            "forward" => &["forward"],
            _ => &[],
        };
        for way in directions {
            let [sent, received, lost] = counts(&said[way], ["sent", "received", "lost"]);
            assert!(sent > 100 && sent == received + lost, "{name}: {said}");
        }
    }
    let stored = Database::open("all.db");
    let parents: Vec<i64> = stored.all(
        "SELECT run_id FROM runs WHERE parent_run_id IS NULL AND outcome = 'interrupted' AND summary IS NOT NULL",
    );
    runs.sort_unstable();
    assert_eq!(
        parents,
        runs.iter().map(|id| *id as i64).collect::<Vec<_>>(),
        "a run for each"
    );
    wait_for_closed_ports();
}
