//! `weir survey`: every promised step, its estimate, and the limit on what it sends.

use serde_json::Value;

use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, count, interface_bytes, isolated, join_by_veth,
    run_within, wait_until, weir,
};

#[test]
fn every_step_is_made_and_stored() {
    isolated!(heavy);
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open", "--max-rate", "500Mbit/s"]);
    let (target, database) = (agent.at(FAR_IPV4), weir_rig::path("survey.db"));
    let client = Running::start(weir(&[
        "survey",
        &target,
        "--rate",
        "50Mbit/s",
        "--step",
        "300ms",
        "--max-flows",
        "4",
        "--json",
        "--db",
        &database,
    ]));
    wait_until("the estimate", LIMIT, || {
        client.stderr().contains("survey of").then_some(())
    });
    // The handshake and a few probes of the path MTU at most; the survey as a whole sends a hundred times as much.
    assert!(interface_bytes(Host::Near, "near", "tx") < 200_000);
    let estimate = client.stderr();
    assert!(
        estimate.contains("about") && estimate.contains("at most"),
        "{estimate}"
    );
    let said = client.wait(LIMIT).expect_code(0).json();
    assert_eq!(said["run"]["outcome"], "finished", "{said}");
    for way in ["forward", "reverse"] {
        assert_eq!(said["mtu"][way]["path_mtu"], 1500, "{said}");
    }
    assert!(count(&said["rtt"]["received"]) > 1000, "{said}");
    assert_eq!(said["rtt"]["sent"], said["rtt"]["received"], "{said}");
    let rows = |name: &str| said[name].as_array().expect("rows").clone();
    let numbers =
        |name: &str, field: &str| -> Vec<u64> { rows(name).iter().map(|row| count(&row[field])).collect() };
    assert_eq!(numbers("tcp", "streams"), [1, 2, 4, 8, 1, 2, 4, 8]);
    for (number, tcp) in rows("tcp").iter().enumerate() {
        assert_eq!(tcp["direction"], if number < 4 { "forward" } else { "reverse" });
        assert!(
            (1_000_000..600_000_000).contains(&count(&tcp["goodput"])),
            "{tcp}"
        );
    }
    assert_eq!(numbers("by_flows", "flows"), [1, 2, 4]);
    assert_eq!(numbers("by_flows", "length"), [1472; 3]);
    assert_eq!(numbers("by_length", "length"), [1200, 1400, 1472]);
    assert_eq!(numbers("by_length", "flows"), [4; 3]);
    assert_eq!(
        (&said["reverse"]["direction"], &said["reverse"]["flows"]),
        (&"reverse".into(), &4.into())
    );
    for flows in rows("by_flows")
        .iter()
        .chain(&rows("by_length"))
        .chain([&said["reverse"]])
    {
        assert!(count(&flows["sent"]) > 0, "{flows}");
        assert_eq!(
            count(&flows["sent"]),
            count(&flows["received"]) + count(&flows["lost"]),
            "{flows}"
        );
    }
    assert!(
        said["best"].is_object() && count(&said["best"]["flows"]) > 0,
        "{said}"
    );
    assert_eq!(said["hit_byte_limit"], false);

    let listed = run_within(
        LIMIT,
        weir(&["runs", "list", "--all", "--parts", "--json", "--db", &database]),
    )
    .expect_code(0);
    let runs: Vec<Value> = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(
        runs.iter().all(|run| run["outcome"] == "finished"),
        "{}",
        listed.stdout
    );
    let parts = |kind: &str| {
        runs.iter()
            .filter(|run| run["kind"] == kind && run["parent_run_id"] == 1)
            .count()
    };
    // A step that a busy host did not keep up with is repeated, and marked.
    let limited = said["limited"].as_array().expect("limited steps");
    let repeats = limited
        .iter()
        .filter(|step| !step["repeated_at"].is_null())
        .count();
    assert_eq!(
        (parts("mtu"), parts("rtt"), parts("tcp"), parts("flows")),
        (1, 1, 8, 3 + 2 + 1 + repeats)
    );
    assert_eq!(runs.len(), 17 + repeats);
    let stored = Database::open(&database);
    for table in [
        "mtu_probes",
        "rtt_packets",
        "tcp_seconds",
        "stream_seconds",
        "flow_seconds",
        "host_seconds",
    ] {
        assert!(
            stored.one::<i64>(&format!("SELECT count(*) FROM {table}")) > 0,
            "{table}"
        );
    }
    drop(stored);
    run_within(LIMIT, weir(&["runs", "delete", "1", "--db", &database])).expect_code(0);
    assert_eq!(
        Database::open(&database).one::<i64>("SELECT count(*) FROM runs"),
        0,
        "its parts go with it"
    );
}

#[test]
fn a_limit_on_bytes_ends_it_early() {
    isolated!(heavy);
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let database = weir_rig::path("limited.db");
    let done = run_within(
        LIMIT,
        weir(&[
            "survey",
            &agent.at(FAR_IPV4),
            "--rate",
            "50Mbit/s",
            "--step",
            "500ms",
            "--max-bytes",
            "20MB",
            "--json",
            "--db",
            &database,
        ]),
    )
    .expect_code(0);
    let said = done.json();
    assert!(done.stderr.contains("at most 20"), "{}", done.stderr);
    assert_eq!(said["hit_byte_limit"], true, "{said}");
    let bytes = count(&said["bytes"]);
    assert!((1_000_000..=20_000_000).contains(&bytes), "{bytes}");
    // Headers, acknowledgements and what the control connection carries come on top of the payload.
    let wire = interface_bytes(Host::Near, "near", "tx") + interface_bytes(Host::Far, "far", "tx");
    assert!(
        (bytes..=23_000_000).contains(&wire),
        "{wire} bytes on the wire, {bytes} reported"
    );
    assert!(
        said["mtu"].is_object() && said["rtt"].is_object(),
        "the small steps are made: {said}"
    );
    assert_eq!(said["run"]["outcome"], "finished");
    // What was not made is not there, and what is there is true.
    assert_eq!(
        said["best"].is_null(),
        said["by_flows"].as_array().is_some_and(Vec::is_empty),
        "{said}"
    );
}

#[test]
fn an_interrupted_survey_keeps_its_steps() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open", "--max-rate", "500Mbit/s"]);
    let database = weir_rig::path("interrupted.db");
    let client = Running::start(weir(&[
        "survey",
        &agent.at(FAR_IPV4),
        "--rate",
        "20Mbit/s",
        "--json",
        "--db",
        &database,
    ]));
    wait_until("rows of the second step", LIMIT, || {
        let exists = std::path::Path::new(&database).exists();
        exists
            .then(|| Database::try_count(&database, "rtt_packets"))
            .flatten()
            .filter(|rows| *rows > 0)
    });
    client.signal("INT");
    let said = client.wait(LIMIT).expect_code(0).json();
    assert_eq!(said["run"]["outcome"], "interrupted", "{said}");
    assert_eq!(said["mtu"]["forward"]["path_mtu"], 1500, "{said}");
    let stored = Database::open(&database);
    let outcomes: Vec<String> = stored.all("SELECT kind || ' ' || outcome FROM runs ORDER BY run_id");
    assert_eq!(
        outcomes,
        ["survey interrupted", "mtu finished", "rtt interrupted"]
    );
}
