//! `weir flows` in every direction and with every way of spreading, sending and receiving, at a rate that anything
//! carries: nothing is lost, and what was asked is what is sent.

use serde_json::Value;

use weir_rig::{Agent, Database, Host, LIMIT, count, isolated, run_within, weir};

/// 12 frames of 50 packets: ten frames a second, so that even the last is due well before the end.
const TRAFFIC: [&str; 10] = [
    "--bytes-per-frame",
    "49900",
    "--frame-rate",
    "10",
    "--length",
    "1000",
    "--for",
    "1200ms",
    "--flows",
    "5",
];
const PACKETS: u64 = 12 * 50;

fn run(agent: &Agent, address: &str, options: &[&str]) -> Value {
    let (target, database) = (agent.at(address), weir_rig::path("directions.db"));
    let arguments = [
        &["flows", &target, "--json", "--db", &database][..],
        &TRAFFIC,
        options,
    ]
    .concat();
    run_within(LIMIT, weir(&arguments)).expect_code(0).json()
}

fn whole(said: &Value, directions: &[&str]) {
    for way in ["forward", "reverse"] {
        assert_eq!(
            said[way].is_object(),
            directions.contains(&way),
            "{way} in {said}"
        );
    }
    for way in directions {
        let direction = &said[*way];
        assert_eq!(direction["direction"], **way);
        assert_eq!(count(&direction["sent"]), PACKETS, "{direction}");
        assert_eq!(count(&direction["received"]), PACKETS, "{direction}");
        for none in ["lost", "late", "duplicates", "rejected", "bursts", "refused"] {
            assert_eq!(direction[none], 0, "{none} in {direction}");
        }
        let per_flow = direction["per_flow"].as_array().expect("flows");
        assert_eq!(per_flow.len(), 5);
        let sum = |field: &str| per_flow.iter().map(|flow| count(&flow[field])).sum::<u64>();
        assert_eq!((sum("sent"), sum("received"), sum("lost")), (PACKETS, PACKETS, 0));
        // The last packet of a frame is 900 bytes.
        assert_eq!(sum("bytes"), 12 * 49_900);
        assert_eq!(count(&direction["owd"]["count"]), PACKETS);
        let ports: std::collections::BTreeSet<u64> =
            per_flow.iter().map(|flow| count(&flow["port"])).collect();
        assert_eq!(ports.len(), 5, "each flow has a port of its own");
    }
}

#[test]
fn reverse_both_and_ipv6() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    whole(&run(&agent, "127.0.0.1", &["--reverse"]), &["reverse"]);
    whole(&run(&agent, "127.0.0.1", &["--both"]), &["forward", "reverse"]);
    whole(&run(&agent, "::1", &[]), &["forward"]);
    whole(&run(&agent, "::1", &["--both"]), &["forward", "reverse"]);
    let stored = Database::open(&weir_rig::path("directions.db"));
    let rows: Vec<i64> =
        stored.all("SELECT sum(received) FROM stream_seconds GROUP BY run_id, direction ORDER BY run_id");
    assert_eq!(rows, [PACKETS as i64; 6]);
    let sent: Vec<i64> = stored.all("SELECT sum(sent) FROM sender_seconds GROUP BY run_id, direction");
    assert_eq!(sent, [PACKETS as i64; 6]);
}

#[test]
fn every_way_of_spreading() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    for spread in ["round-robin", "permuted", "random"] {
        let said = run(&agent, "127.0.0.1", &["--spread", spread]);
        whole(&said, &["forward"]);
        let sent: Vec<u64> = said["forward"]["per_flow"]
            .as_array()
            .expect("flows")
            .iter()
            .map(|flow| count(&flow["sent"]))
            .collect();
        let even = sent.iter().all(|sent| *sent == PACKETS / 5);
        assert_eq!(even, spread != "random", "{spread}: {sent:?}");
        assert!(sent.iter().all(|sent| *sent > PACKETS / 10), "{spread}: {sent:?}");
    }
}

#[test]
fn with_and_without_offloads() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    for (options, segmented) in [
        (&["--no-gso"][..], false),
        (&["--no-gro"], true),
        (&["--no-gso", "--no-gro"], false),
        (&["--reverse", "--no-gso"], false),
    ] {
        let said = run(&agent, "127.0.0.1", options);
        let way = if options.contains(&"--reverse") {
            "reverse"
        } else {
            "forward"
        };
        whole(&said, &[way]);
        assert_eq!(said[way]["segmented"], segmented, "{options:?}");
        if options.contains(&"--no-gro") {
            assert_eq!(said[way]["merged_receive"], false, "{options:?}");
            assert_eq!(said[way]["packets_per_buffer"], 1.0, "{options:?}");
        }
    }
}
