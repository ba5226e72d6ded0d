//! `weir rtt` against an agent: what it reports and what it stores, and packets that a filter on the way drops.

use serde_json::Value;

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, LIMIT, count, isolated, join_by_veth, nft, nft_counter,
    quantiles_ascend, run_within, weir,
};

#[test]
fn ipv4_over_loopback_reports_and_stores_every_packet() {
    isolated!();
    lossless("127.0.0.1");
}

#[test]
fn ipv6_over_loopback_reports_and_stores_every_packet() {
    isolated!();
    lossless("::1");
}

fn lossless(address: &str) {
    let agent = Agent::start(Host::Near, &[]);
    let database = weir_rig::path("rtt.db");
    let target = agent.at(address);
    let done = run_within(
        LIMIT,
        weir(&[
            "rtt",
            &target,
            "--window",
            "5",
            "--length",
            "300",
            "--interval",
            "100ms",
            "--for",
            "1s",
            "--json",
            "--db",
            &database,
        ]),
    )
    .expect_code(0);
    let said = done.json();
    assert_eq!(
        (count(&said["sent"]), count(&said["received"])),
        (50, 50),
        "{said}"
    );
    for field in ["lost", "late", "duplicates", "lost_forward", "lost_reverse"] {
        assert_eq!(said[field], 0, "{field} in {said}");
    }
    assert_eq!(said["loss"], 0.0);
    // Clopper-Pearson for 0 of 50: 1 - 0.025^(1/50).
    let upper = said["loss_interval"][1].as_f64().expect("a bound");
    assert!((upper - 0.071_121).abs() < 1e-4, "{upper}");
    for times in ["rtt", "network_rtt", "application", "owd_forward", "owd_reverse"] {
        quantiles_ascend(&said[times]);
    }
    for times in ["rtt", "network_rtt"] {
        assert_eq!(count(&said[times]["count"]), 50, "{times} in {said}");
    }
    assert!(
        said["network_rtt"]["p50"].as_i64() <= said["rtt"]["p50"].as_i64(),
        "{said}"
    );
    assert!(said["rtt"]["min"].as_i64() > Some(0), "{said}");
    assert_eq!(said["delta_ttl"], 0, "nothing is between the ends");
    assert_eq!(said["timestamps"], "kernel");
    let positions = said["by_position"].as_array().expect("groups");
    assert_eq!(
        positions.iter().map(|group| count(&group["count"])).sum::<u64>(),
        50
    );
    assert_eq!(
        (&said["run"]["kind"], &said["run"]["outcome"]),
        (&"rtt".into(), &"finished".into())
    );

    let stored = Database::open(&database);
    assert_eq!(stored.one::<i64>("SELECT count(*) FROM rtt_packets"), 50);
    assert_eq!(
        stored.one::<i64>("SELECT count(DISTINCT sequence) FROM rtt_packets"),
        50
    );
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM rtt_packets WHERE lost OR duplicates"),
        0
    );
    assert_eq!(
        stored.one::<i64>(
            "SELECT count(*) FROM rtt_packets WHERE rtt_ns IS NULL OR network_rtt_ns > rtt_ns OR length != 300"
        ),
        0
    );
    assert_eq!(
        stored.one::<i64>(
            "SELECT count(*) FROM rtt WHERE window_size = 5 AND packet_length = 300 AND rtt > 0 AND delta_ttl = 0"
        ),
        50
    );
    let summary: String = stored.one("SELECT summary FROM runs");
    let summary: Value = serde_json::from_str(&summary).expect("a summary");
    assert_eq!(summary["rtt"], said["rtt"], "what is printed is what is stored");
}

#[test]
fn window_and_length_move_from_the_first_value_to_the_last() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = weir_rig::path("ranges.db");
    let said = run_within(
        LIMIT,
        weir(&[
            "rtt",
            &agent.local(),
            "--window",
            "50..100",
            "--length",
            "100..2000",
            "--interval",
            "100ms",
            "--for",
            "1100ms",
            "--json",
            "--db",
            &database,
        ]),
    )
    .expect_code(0)
    .json();
    let stored = Database::open(&database);
    let sizes: Vec<i64> = stored.all("SELECT window_size FROM rtt_packets GROUP BY window ORDER BY window");
    let lengths: Vec<i64> = stored.all("SELECT length FROM rtt_packets GROUP BY window ORDER BY window");
    let eleven_between =
        |from: i64, to: i64| -> Vec<i64> { (0..11).map(|n| from + (to - from) * n / 10).collect() };
    assert_eq!(sizes, eleven_between(50, 100));
    assert_eq!(lengths, eleven_between(100, 2000));
    assert_eq!(
        stored.one::<i64>(
            "SELECT count(*) FROM (SELECT window FROM rtt_packets GROUP BY window
             HAVING count(*) != max(window_size) OR min(window_size) != max(window_size)
                 OR min(length) != max(length) OR min(position) != 0 OR max(position) != window_size - 1)"
        ),
        0,
        "every window is whole"
    );
    assert_eq!(count(&said["sent"]), sizes.iter().sum::<i64>() as u64);
    assert_eq!(
        count(&said["sent"]),
        count(&said["received"]) + count(&said["lost"]),
        "{said}"
    );
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM rtt_packets") as u64,
        count(&said["sent"])
    );
}

#[test]
fn dropped_requests_are_lost_once_and_on_the_way_there() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open", "--udp-ports", "5000..5099"]);
    drop_every_tenth(Host::Far, "udp dport 5000-5099");
    let (said, stored) = lossy(&agent, FAR_IPV4);
    let dropped = nft_counter(Host::Far, "inet lab", "dropped");
    assert!(dropped >= 9, "{dropped} were dropped");
    assert_eq!(count(&said["lost"]), dropped, "{said}");
    assert_eq!(
        (count(&said["lost_forward"]), count(&said["lost_reverse"])),
        (dropped, 0)
    );
    lost_rows(&said, &stored);
}

#[test]
fn dropped_replies_are_lost_once_and_on_the_way_back() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open", "--udp-ports", "5000..5099"]);
    drop_every_tenth(Host::Near, "udp sport 5000-5099");
    let (said, stored) = lossy(&agent, FAR_IPV6);
    let dropped = nft_counter(Host::Near, "inet lab", "dropped");
    assert!(dropped >= 9, "{dropped} were dropped");
    assert_eq!(count(&said["lost"]), dropped, "{said}");
    assert_eq!(
        (count(&said["lost_forward"]), count(&said["lost_reverse"])),
        (0, dropped)
    );
    lost_rows(&said, &stored);
}

fn drop_every_tenth(host: Host, packets: &str) {
    nft(host, "add table inet lab");
    nft(host, "add counter inet lab dropped");
    nft(
        host,
        "add chain inet lab in { type filter hook input priority 0; }",
    );
    nft(
        host,
        &format!("add rule inet lab in {packets} numgen inc mod 10 == 3 counter name dropped drop"),
    );
}

fn lossy(agent: &Agent, address: &str) -> (Value, Database) {
    let database = weir_rig::path("lossy.db");
    let done = run_within(
        LIMIT,
        weir(&[
            "rtt",
            &agent.at(address),
            "--window",
            "5",
            "--interval",
            "50ms",
            "--for",
            "1s",
            "--timeout",
            "1s",
            "--json",
            "--db",
            &database,
        ]),
    )
    .expect_code(0);
    (done.json(), Database::open(&database))
}

fn lost_rows(said: &Value, stored: &Database) {
    assert_eq!(count(&said["sent"]), 100);
    assert_eq!(
        count(&said["sent"]),
        count(&said["received"]) + count(&said["lost"])
    );
    assert_eq!(
        (&said["late"], &said["duplicates"]),
        (&0.into(), &0.into()),
        "{said}"
    );
    let rows = |condition: &str| -> u64 {
        stored.one::<i64>(&format!("SELECT count(*) FROM rtt_packets WHERE {condition}")) as u64
    };
    assert_eq!(rows("true"), 100);
    assert_eq!(rows("lost"), count(&said["lost"]));
    assert_eq!(
        rows("lost AND (rtt_ns IS NOT NULL OR network_rtt_ns IS NOT NULL)"),
        0
    );
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM rtt WHERE rtt IS NULL") as u64,
        count(&said["lost"])
    );
}

#[test]
fn a_test_below_a_second_has_counters_of_both_hosts() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("short.db"));
    let arguments = [
        "rtt",
        &target,
        "--interval",
        "50ms",
        "--for",
        "300ms",
        "--db",
        &database,
    ];
    run_within(LIMIT, weir(&arguments)).expect_code(0);
    let sides: Vec<String> =
        Database::open(&database).all("SELECT DISTINCT side FROM host_seconds ORDER BY 1");
    assert_eq!(sides, ["local", "remote"]);
}
