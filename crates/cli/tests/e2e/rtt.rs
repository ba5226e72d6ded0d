//! `weir rtt` against an agent: what it reports and stores of packets that a filter on the way drops.

use serde_json::Value;

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, count, counts, isolated, join_by_veth, nft, nft_counter,
    quantiles_ascend, ran,
};

fn drop_every_tenth(host: Host, packets: &str) {
    nft(host, "add table inet lab");
    nft(host, "add counter inet lab dropped");
    nft(
        host,
        "add chain inet lab in { type filter hook input priority 0; }",
    );
    let rule = format!("add rule inet lab in {packets} numgen inc mod 10 == 3 counter name dropped drop");
    nft(host, &rule);
}

const TEST: &str = "--window 5 --interval 50ms --for 1s --timeout 1s --length 300 --json";

/// A hundred packets, of which `lost` were lost, are reported and stored, each once.
#[track_caller]
fn accounted(said: &Value, database: &str, lost: u64) {
    let counts = counts(said, ["sent", "received", "lost", "late", "duplicates"]);
    assert_eq!(counts, [100, 100 - lost, lost, 0, 0], "{said}");
    for times in ["rtt", "network_rtt", "application", "owd_forward", "owd_reverse"] {
        quantiles_ascend(&said[times]);
    }
    for times in ["rtt", "network_rtt"] {
        assert_eq!(count(&said[times]["count"]), 100 - lost, "{times} in {said}");
    }
    assert!(said["network_rtt"]["p50"].as_i64() <= said["rtt"]["p50"].as_i64());
    assert_eq!(said["delta_ttl"], 0);
    assert_eq!(said["timestamps"], "kernel");

    let stored = Database::open(database);
    let rows = |condition: &str| -> u64 {
        stored.one::<i64>(&format!("SELECT count(*) FROM rtt_packets WHERE {condition}")) as u64
    };
    assert_eq!((rows("true"), rows("lost")), (100, lost));
    assert_eq!(
        rows("lost AND (rtt_ns IS NOT NULL OR network_rtt_ns IS NOT NULL)"),
        0
    );
    assert_eq!(
        rows("NOT lost AND (rtt_ns IS NULL OR network_rtt_ns > rtt_ns)"),
        0
    );
    assert_eq!(
        stored.one::<i64>(
            "SELECT count(*) FROM rtt WHERE window_size = 5 AND packet_length = 300 AND rtt IS NOT NULL"
        ),
        100 - lost as i64
    );
    let summary: String = stored.one("SELECT summary FROM runs");
    let summary: Value = serde_json::from_str(&summary).expect("a summary");
    assert_eq!(summary["rtt"], said["rtt"], "what is printed is what is stored");
    let sides: Vec<String> = stored.all("SELECT DISTINCT side FROM host_seconds ORDER BY 1");
    assert_eq!(sides, ["local", "remote"], "counters of both hosts");
}

#[test]
fn losses_are_those_that_the_filter_counted_in_the_direction_where_it_is() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5099");
    let line = |address: &str, more: &str| format!("rtt {} {TEST} {more}", agent.at(address));
    let limits = "--fail-if loss>0% --fail-if duplicates>0 --fail-if p50>10s";
    let clean = ran(0, &line(FAR_IPV6, &format!("--db clean.db {limits}"))).json();
    accounted(&clean, "clean.db", 0);
    // Clopper-Pearson for 0 of 100: 1 - 0.025^(1/100).
    let upper = clean["loss_interval"][1].as_f64().expect("a bound");
    assert!((upper - 0.036_217).abs() < 1e-4, "{upper}");

    drop_every_tenth(Host::Far, "udp dport 5000-5099");
    let crossed = ran(1, &line(FAR_IPV4, &format!("--db forward.db {limits}")));
    let error = crossed.one_error();
    assert!(error.contains("loss") && !error.contains("p50"), "{error}");
    let forward = crossed.json();
    let dropped = nft_counter(Host::Far, "inet lab", "dropped");
    assert!(dropped >= 9, "{dropped} were dropped");
    accounted(&forward, "forward.db", dropped);
    // The run itself went well: that it crossed a limit is the exit status's to say.
    assert_eq!(forward["run"]["outcome"], "finished");
    nft(Host::Far, "delete table inet lab");

    drop_every_tenth(Host::Near, "udp sport 5000-5099");
    let reverse = ran(0, &line(FAR_IPV6, "--db reverse.db")).json();
    let replies = nft_counter(Host::Near, "inet lab", "dropped");
    accounted(&reverse, "reverse.db", replies);
    let ways = |said: &Value| [count(&said["lost_forward"]), count(&said["lost_reverse"])];
    assert_eq!((ways(&forward), ways(&reverse)), ([dropped, 0], [0, replies]));
}
