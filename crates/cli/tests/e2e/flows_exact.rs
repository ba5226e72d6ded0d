//! `weir flows` over a link on which a packet filter drops packets and counts them: Weir's counts against the
//! kernel's.

use std::time::Duration;

use serde_json::Value;

use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, count, flow_on_port, isolated, join_by_veth, nft,
    nft_counter, run_within, wait_until, weir,
};

/// UDP port of one of the flows: the path MTU search takes 5000, the four flows take the next four.
const PORT: u16 = 5003;

fn link_and_agent() -> Agent {
    join_by_veth(9000);
    nft(Host::Far, "add table inet lab");
    nft(Host::Far, "add counter inet lab dropped");
    nft(
        Host::Far,
        "add chain inet lab in { type filter hook input priority 0; }",
    );
    Agent::start(Host::Far, &["--open", "--udp-ports", "5000..5099"])
}

fn flows_arguments<'a>(target: &'a str, duration: &'a str, database: &'a str) -> Vec<&'a str> {
    vec![
        "flows",
        target,
        "--rate",
        "20Mbit/s",
        "--length",
        "1000",
        "--flows",
        "4",
        "--for",
        duration,
        "--no-gso",
        "--no-gro",
        "--json",
        "--db",
        database,
        // A host that is held up brings nothing too late.
        "--reorder-depth",
        "65536,5s",
    ]
}

/// What holds however many packets one flow lost on the way.
fn only_one_flow_lost(forward: &Value, dropped: u64) {
    assert_eq!(count(&forward["lost"]), dropped, "{forward}");
    assert_eq!(
        count(&forward["sent"]),
        count(&forward["received"]) + dropped,
        "{forward}"
    );
    let per_flow = forward["per_flow"].as_array().expect("flows");
    assert_eq!(per_flow.len(), 4);
    for flow in per_flow {
        let lost = if flow["port"] == PORT { dropped } else { 0 };
        assert_eq!(count(&flow["lost"]), lost, "{flow}");
        assert_eq!(count(&flow["sent"]), count(&flow["received"]) + lost, "{flow}");
        assert_eq!(flow["socket_drops"], 0, "{flow}");
    }
    let sent: u64 = per_flow.iter().map(|flow| count(&flow["sent"])).sum();
    assert_eq!(count(&forward["sent"]), sent);
    let loss = forward["loss"].as_f64().expect("a loss");
    assert!((loss - dropped as f64 / sent as f64).abs() < 1e-9, "{forward}");
    let attribution = &forward["attribution"];
    assert_eq!(count(&attribution["network"]), dropped, "{attribution}");
    for place in ["socket", "host_receiver", "host_sender"] {
        assert_eq!(attribution[place], 0, "{attribution}");
    }
    for none in ["late", "duplicates", "rejected", "refused"] {
        assert_eq!(forward[none], 0, "{none} in {forward}");
    }
}

/// The rows of every second add up to the summary.
fn rows_add_up(stored: &Database, forward: &Value) {
    let sum = |column: &str, table: &str| {
        stored.one::<i64>(&format!(
            "SELECT sum({column}) FROM {table} WHERE direction = 'forward'"
        )) as u64
    };
    for table in ["stream_seconds", "flow_seconds"] {
        assert_eq!(sum("lost", table), count(&forward["lost"]), "{table}");
        assert_eq!(sum("received", table), count(&forward["received"]), "{table}");
    }
    assert_eq!(sum("sent", "sender_seconds"), count(&forward["sent"]));
    assert_eq!(
        stored.one::<i64>("SELECT max(packets_dropped) FROM drops") as u64,
        count(&forward["lost"])
    );
    assert_eq!(
        stored.one::<i64>("SELECT max(packets_total) FROM drops") as u64,
        count(&forward["received"])
    );
}

#[test]
fn scattered_losses_of_one_flow_equal_the_filters_count() {
    isolated!(heavy);
    let agent = link_and_agent();
    nft(
        Host::Far,
        &format!("add rule inet lab in udp dport {PORT} numgen inc mod 20 == 7 counter name dropped drop"),
    );
    let database = weir_rig::path("flows.db");
    let target = agent.at(FAR_IPV4);
    let arguments = flows_arguments(&target, "3s", &database);
    let said = run_within(LIMIT, weir(&arguments)).expect_code(0).json();
    let forward = &said["forward"];
    let dropped = nft_counter(Host::Far, "inet lab", "dropped");
    assert!(dropped > 20, "{dropped} packets were dropped");
    only_one_flow_lost(forward, dropped);
    // Every twentieth packet of one of four flows: no two lost ones are neighbours, in the flow or in the stream.
    let flow = flow_on_port(forward, PORT);
    for of in [forward, flow] {
        assert_eq!(count(&of["bursts"]), dropped, "{of}");
        assert_eq!(of["longest_burst"], 1, "{of}");
    }
    assert_eq!(forward["burst_lengths"], serde_json::json!({ "1": dropped }));
    let stored = Database::open(&database);
    rows_add_up(&stored, forward);
    let rows = |sql: &str| stored.one::<i64>(sql) as u64;
    assert_eq!(
        rows("SELECT count(*) FROM stream_bursts WHERE length_packets = 1"),
        dropped
    );
    assert_eq!(rows("SELECT count(*) FROM sbursts"), dropped);
    assert_eq!(
        rows(&format!("SELECT count(*) FROM bursts WHERE port = {PORT}")),
        dropped
    );
    assert_eq!(rows("SELECT count(*) FROM bursts"), dropped);
    assert_eq!(rows("SELECT sum(lost) FROM loss_windows"), dropped);
    assert_eq!(
        rows(&format!("SELECT max(burst_count) FROM flows WHERE port = {PORT}")),
        dropped
    );
    assert_eq!(
        rows(&format!(
            "SELECT max(burst_count) FROM flows WHERE port != {PORT}"
        )),
        0
    );
}

#[test]
fn congestion_marks_equal_the_filters_count() {
    isolated!(heavy);
    let agent = link_and_agent();
    nft(Host::Far, "add counter inet lab marked");
    for (address, field, database) in [(FAR_IPV4, "ip", "four.db"), (weir_rig::FAR_IPV6, "ip6", "six.db")] {
        let before = nft_counter(Host::Far, "inet lab", "marked");
        // Only what is capable of ECN may be marked.
        nft(
            Host::Far,
            &format!(
                "add rule inet lab in udp dport 5000-5099 {field} ecn ect0 numgen inc mod 20 == 7 {field} ecn set ce counter name marked"
            ),
        );
        let (target, database) = (agent.at(address), weir_rig::path(database));
        let marks = |ecn: &[&str]| -> u64 {
            let arguments = [&flows_arguments(&target, "1s", &database), ecn].concat();
            let said = run_within(LIMIT, weir(&arguments)).expect_code(0).json();
            let flows = said["forward"]["per_flow"].as_array().expect("flows");
            flows.iter().map(|flow| count(&flow["ecn_marked"])).sum()
        };
        assert_eq!(marks(&[]), 0);
        let marked = marks(&["--ecn"]);
        let counted = nft_counter(Host::Far, "inet lab", "marked") - before;
        assert!(counted > 40, "{counted} packets were marked");
        assert_eq!(marked, counted);
        let stored: i64 = Database::open(&database).one("SELECT sum(ecn_marked) FROM flow_seconds");
        assert_eq!(stored as u64, counted);
    }
}

#[test]
fn one_flow_blocked_for_a_second_is_silent_alone() {
    isolated!(heavy);
    let agent = link_and_agent();
    nft(Host::Far, "add counter inet lab seen");
    nft(Host::Far, "add chain inet lab block");
    nft(
        Host::Far,
        &format!("add rule inet lab in udp dport {PORT} counter name seen jump block"),
    );
    let database = weir_rig::path("blocked.db");
    let client = Running::start(weir(&flows_arguments(&agent.at(FAR_IPV4), "5s", &database)));
    wait_until("the flow's packets", LIMIT, || {
        (nft_counter(Host::Far, "inet lab", "seen") > 500).then_some(())
    });
    nft(Host::Far, "add rule inet lab block counter name dropped drop");
    std::thread::sleep(Duration::from_secs(1));
    nft(Host::Far, "flush chain inet lab block");
    let said = client.wait(LIMIT).expect_code(0).json();
    let forward = &said["forward"];
    let dropped = nft_counter(Host::Far, "inet lab", "dropped");
    assert!(dropped > 200, "{dropped} packets were dropped");
    only_one_flow_lost(forward, dropped);

    // For the flow it is one burst. The stream has the other flows' packets between: with every flow once a round,
    // at most the last of one round and the first of the next are neighbours.
    let flow = flow_on_port(forward, PORT);
    assert_eq!(
        (count(&flow["bursts"]), count(&flow["longest_burst"])),
        (1, dropped),
        "{flow}"
    );
    assert!(count(&forward["longest_burst"]) <= 2, "{forward}");
    let bursts = count(&forward["bursts"]);
    assert!(
        bursts <= dropped && 2 * bursts >= dropped,
        "{bursts} bursts of {dropped} lost"
    );

    // Longer where the machine is busy, and while it stands still, all flows are silent.
    let at_least_ns = 700_000_000;
    for other in forward["per_flow"].as_array().expect("flows") {
        let (silences, longest_ns) = (count(&other["silences"]), count(&other["longest_silence_ns"]));
        if other["port"] == PORT {
            assert!(silences >= 1 && longest_ns >= at_least_ns, "{other}");
        }
    }
    let by_flows_losing = forward["windows_by_flows_losing"].as_object().expect("windows");
    assert_eq!(by_flows_losing.keys().collect::<Vec<_>>(), ["1"], "{forward}");
    assert!(count(&by_flows_losing["1"]) >= 1, "{forward}");

    let stored = Database::open(&database);
    rows_add_up(&stored, forward);
    let long: i64 = stored.one(&format!(
        "SELECT count(*) FROM silences WHERE duration_ns >= {at_least_ns} AND flow IN
         (SELECT flow FROM flow_seconds WHERE port = {PORT})"
    ));
    assert!(long >= 1);
    assert_eq!(
        stored.one::<i64>("SELECT sum(lost) FROM loss_windows") as u64,
        dropped
    );
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM loss_windows WHERE flows_losing != 1"),
        0
    );
}
