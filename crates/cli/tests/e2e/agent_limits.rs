//! What an agent does not allow, and several clients at once.

use weir_rig::{Agent, Database, Host, LIMIT, Running, count, isolated, run_within, wait_until, weir};

#[test]
fn each_limit_is_named_when_it_refuses() {
    isolated!();
    let agent = Agent::start(
        Host::Near,
        &[
            "--max-rate",
            "100Mbit/s",
            "--max-flows",
            "4",
            "--max-duration",
            "5s",
            "--max-length",
            "1000",
        ],
    );
    let target = agent.local();
    let within = [
        "--rate", "5Mbit/s", "--length", "500", "--flows", "2", "--for", "1s",
    ];
    for (beyond, words) in [
        (["--rate", "1Gbit/s"], ["at most 100", "--max-rate"]),
        (["--flows", "5"], ["1 to 4 flows", "--flows"]),
        (["--for", "6s"], ["at most 5 s", "--max-duration"]),
        (["--length", "1001"], ["at most 1000 bytes", "--max-length"]),
    ] {
        let mut arguments = vec!["flows", &target];
        arguments.extend(within.chunks(2).filter(|option| option[0] != beyond[0]).flatten());
        arguments.extend(beyond);
        let done = run_within(LIMIT, weir(&arguments)).expect_code(2);
        for word in words {
            assert!(done.one_error().contains(word), "'{word}' in: {}", done.stderr);
        }
    }
    for (beyond, word) in [
        (&["--for", "1s", "--length", "1001"][..], "--max-length"),
        (&["--for", "6s"], "--max-duration"),
        (
            &["--window", "10000", "--length", "1000", "--interval", "100ms"],
            "--max-rate",
        ),
    ] {
        let done = run_within(LIMIT, weir(&[&["rtt", &target], beyond].concat())).expect_code(2);
        assert!(done.one_error().contains(word), "{}", done.stderr);
    }
    // What is within the limits goes, and a length left to Weir is within them.
    let said = run_within(
        LIMIT,
        weir(&[
            "flows", &target, "--rate", "5Mbit/s", "--flows", "4", "--for", "1s", "--json",
        ]),
    )
    .expect_code(0)
    .json();
    assert_eq!(said["forward"]["length"], 1000);
    // A test as fast as the host can stays below the agent's rate.
    let said = run_within(
        LIMIT,
        weir(&[
            "flows", &target, "--rate", "max", "--flows", "2", "--for", "2s", "--json",
        ]),
    )
    .expect_code(0)
    .json();
    let rate = count(&said["forward"]["rate"]);
    assert!((20_000_000..=125_000_000).contains(&rate), "{rate} bit/s");
    assert_eq!(said["forward"]["aborted"], serde_json::Value::Null);
}

#[test]
fn a_session_too_many_is_told_that_the_agent_is_busy() {
    isolated!();
    let agent = Agent::start(Host::Near, &["--max-sessions", "1"]);
    let first_db = weir_rig::path("first.db");
    let first = Running::start(weir(&["rtt", &agent.local(), "--for", "30s", "--db", &first_db]));
    wait_until("the first session", LIMIT, || {
        agent.process.stderr().contains("session opened").then_some(())
    });
    let second = run_within(LIMIT, weir(&["rtt", &agent.local()])).expect_code(3);
    assert!(second.one_error().contains("busy"), "{}", second.stderr);
    first.signal("INT");
    first.wait(LIMIT).expect_code(0);
    wait_until("the end of the session", LIMIT, || {
        agent.process.stderr().contains("session closed").then_some(())
    });
    agent.check_serves(&[]);
}

#[test]
fn four_clients_share_one_agent_and_one_database() {
    isolated!(heavy);
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("shared.db"));
    let flows = [
        "--rate", "5Mbit/s", "--length", "1000", "--flows", "3", "--for", "2s",
    ];
    let rtt = ["--window", "5", "--interval", "50ms", "--for", "2s"];
    let clients: Vec<(&str, Running)> = [
        ("forward", "flows", &flows[..], &[][..]),
        ("reverse", "flows", &flows, &["--reverse"]),
        ("rtt", "rtt", &rtt, &[]),
        ("rtt", "rtt", &rtt, &["--length", "1000"]),
    ]
    .map(|(name, kind, options, more)| {
        let arguments = [&[kind, &target, "--json", "--db", &database], options, more].concat();
        (name, Running::start(weir(&arguments)))
    })
    .into();
    let mut runs = Vec::new();
    for (name, client) in clients {
        let said = client.wait(LIMIT).expect_code(0).json();
        let test = if name == "rtt" { &said } else { &said[name] };
        assert_eq!(test["lost"], 0, "{name}: {said}");
        assert_eq!(test["sent"], test["received"], "{name}: {said}");
        runs.push(count(&said["run"]["id"]));
    }
    runs.sort_unstable();
    assert_eq!(runs, [1, 2, 3, 4], "each client has a run of its own");
    let stored = Database::open(&database);
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM runs WHERE outcome = 'finished'"),
        4
    );
    assert_eq!(
        stored.all::<i64>("SELECT count(*) FROM rtt_packets GROUP BY run_id"),
        [200, 200]
    );
    // All sessions have been given back.
    wait_until("the end of the sessions", LIMIT, || {
        (agent.process.stderr().matches("session closed").count() == 4).then_some(())
    });
}

#[test]
fn more_flows_than_udp_ports_and_a_stamp_port_in_use() {
    isolated!();
    let agent = Agent::start(Host::Near, &["--udp-ports", "5000..5003", "--stamp-port", "8620"]);
    let done = run_within(
        LIMIT,
        weir(&[
            "flows",
            &agent.local(),
            "--rate",
            "5Mbit/s",
            "--length",
            "1000",
            "--flows",
            "8",
            "--for",
            "1s",
        ]),
    )
    .expect_code(2);
    assert!(
        done.one_error().contains("4 UDP ports 5000 to 5003 are taken"),
        "{}",
        done.stderr
    );
    assert!(done.one_error().contains("--udp-ports"), "{}", done.stderr);
    agent.check_serves(&[]);
    let second = run_within(LIMIT, weir(&["agent", "--port", "0", "--stamp-port", "8620"]));
    assert!([2, 3].contains(&second.code()), "{}", second.code());
    assert!(second.one_error().contains("8620"), "{}", second.stderr);
}
