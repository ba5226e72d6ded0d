//! `weir rtt` and `weir flows` where the kernel counts: packets that a filter drops and marks, sockets that overflow, offloads.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, count, counts, flow_on_port, isolated, join_by_veth, nft,
    nft_counter, ran,
};

/// UDP port of one of the flows: the path MTU search takes 5000, the four flows take the next four.
const PORT: u16 = 5003;

#[test]
fn losses_and_marks_are_those_that_filters_and_sockets_counted() {
    isolated!(heavy);
    join_by_veth(9000);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5099");
    round_trips_lost_in_either_direction(&agent);
    drop(agent);
    flows_dropped_and_marked();
    let agent = Agent::start(Host::Near, "--max-threads 2");
    flows_are_whole_with_and_without_offloads(&agent);
    limits_of_bytes_and_of_a_socket_buffer(&agent.local());
}

/// A chain for what comes in, and these counters.
fn filter(host: Host, counters: &[&str]) {
    nft(host, "add table inet lab");
    for counter in counters {
        nft(host, &format!("add counter inet lab {counter}"));
    }
    nft(
        host,
        "add chain inet lab in { type filter hook input priority 0; }",
    );
}

fn rule(host: Host, rule: &str) {
    nft(host, &format!("add rule inet lab in {rule}"));
}

/// A hundred packets, of which `lost` were lost, are reported and stored, each once.
#[track_caller]
fn accounted(said: &Value, database: &str, lost: u64) {
    let counts = counts(said, ["sent", "received", "lost", "late", "duplicates"]);
    assert_eq!(counts, [100, 100 - lost, lost, 0, 0], "{said}");
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
    let timed = "NOT lost AND network_rtt_ns <= rtt_ns";
    let untimed = "lost AND rtt_ns IS NULL AND network_rtt_ns IS NULL";
    assert_eq!([timed, untimed].map(rows), [100 - lost, lost]);
    let sides: Vec<String> = stored.all("SELECT DISTINCT side FROM host_seconds ORDER BY 1");
    assert_eq!(sides, ["local", "remote"], "counters of both hosts");
}

#[track_caller]
fn round_trips_lost_in_either_direction(agent: &Agent) {
    let test = "--window 5 --interval 50ms --for 1s --timeout 1s --length 300 --json";
    let line = |address: &str, more: &str| format!("rtt {} {test} {more}", agent.at(address));
    let limits = "--fail-if loss>0% --fail-if duplicates>0 --fail-if p50>10s";
    let clean = ran(0, &line(FAR_IPV6, &format!("--db clean.db {limits}"))).json();
    accounted(&clean, "clean.db", 0);
    // Clopper-Pearson for 0 of 100: 1 - 0.025^(1/100).
    let upper = clean["loss_interval"][1].as_f64().expect("a bound");
    assert!((upper - 0.036_217).abs() < 1e-4, "{upper}");

    let drop = "numgen inc mod 10 == 3 counter name dropped drop";
    filter(Host::Far, &["dropped"]);
    rule(Host::Far, &format!("udp dport 5000-5099 {drop}"));
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

    filter(Host::Near, &["dropped"]);
    rule(Host::Near, &format!("udp sport 5000-5099 {drop}"));
    let reverse = ran(0, &line(FAR_IPV6, "--db reverse.db")).json();
    let replies = nft_counter(Host::Near, "inet lab", "dropped");
    accounted(&reverse, "reverse.db", replies);
    let ways = |said: &Value| [count(&said["lost_forward"]), count(&said["lost_reverse"])];
    assert_eq!((ways(&forward), ways(&reverse)), ([dropped, 0], [0, replies]));
    nft(Host::Near, "delete table inet lab");
}

fn sum(flows: &Value, field: &str) -> u64 {
    let flows = flows.as_array().expect("flows");
    flows.iter().map(|flow| count(&flow[field])).sum()
}

/// What holds however many packets one flow lost on the way, no two of them neighbours: in the result, and in its rows.
#[track_caller]
fn only_one_flow_lost(said: &Value, dropped: u64) {
    let forward = &said["forward"];
    for of in [forward, flow_on_port(forward, PORT)] {
        let told = counts(of, ["lost", "bursts", "longest_burst"]);
        assert_eq!(told, [dropped, dropped, 1], "{of}");
        assert_eq!(count(&of["sent"]), count(&of["received"]) + dropped, "{of}");
    }
    assert_eq!(forward["burst_lengths"], json!({ "1": dropped }));
    assert_eq!(sum(&forward["per_flow"], "lost"), dropped, "{forward}");
    assert_eq!(sum(&forward["per_flow"], "sent"), count(&forward["sent"]));
    let attribution = &forward["attribution"];
    assert_eq!(count(&attribution["network"]), dropped, "{attribution}");
    let none = counts(forward, ["late", "duplicates", "rejected", "refused"]);
    assert_eq!(none, [0; 4], "{forward}");

    let stored = Database::open("flows.db");
    let run = &said["run"]["id"];
    let of_run = |what: &str| stored.one::<i64>(&format!("SELECT {what} WHERE run_id = {run}")) as u64;
    for (what, expected) in [
        ("sum(sent) FROM sender_seconds", count(&forward["sent"])),
        ("sum(received) FROM stream_seconds", count(&forward["received"])),
        ("sum(received) FROM flow_seconds", count(&forward["received"])),
        ("sum(lost) FROM stream_seconds", dropped),
        ("sum(lost) FROM flow_seconds", dropped),
        ("sum(lost) FROM loss_windows", dropped),
        ("max(packets_dropped) FROM drops", dropped),
        (&*format!("sum(port = {PORT}) FROM bursts"), dropped),
        ("count(*) FROM bursts", dropped),
        ("count(*) FROM sbursts", dropped),
        (
            "sum(ecn_marked) FROM flow_seconds",
            sum(&forward["per_flow"], "ecn_marked"),
        ),
        (
            "sum(ecn_cleared) FROM flow_seconds",
            sum(&forward["per_flow"], "ecn_cleared"),
        ),
    ] {
        assert_eq!(of_run(what), expected, "{what}");
    }
}

#[track_caller]
fn flows_dropped_and_marked() {
    filter(Host::Far, &["dropped", "marked", "cleared"]);
    let every = "numgen inc mod 20 == 7";
    rule(
        Host::Far,
        &format!("udp dport {PORT} {every} counter name dropped drop"),
    );
    for field in ["ip", "ip6"] {
        // Only packets that are capable of ECN may be marked.
        let mark = format!("{field} ecn ect0 {every} {field} ecn set ce counter name marked");
        rule(Host::Far, &format!("udp dport 5000-5099 {mark}"));
        let clear =
            format!("{field} ecn ect0 numgen inc mod 30 == 11 {field} ecn set not-ect counter name cleared");
        rule(Host::Far, &format!("udp dport 5000-5099 {clear}"));
    }
    let mut before = [0; 3];
    for (address, threads) in [(FAR_IPV4, 1), (FAR_IPV6, 2)] {
        let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5099 --max-threads 2");
        // A host that is held up brings nothing too late.
        let said = ran(
            0,
            &format!(
                "flows {} --rate 20Mbit/s --length 1000 --flows 4 --for 1500ms --no-gso --no-gro --ecn \
                 --threads {threads} --reorder-depth 65536,2s --json --db flows.db",
                agent.at(address)
            ),
        )
        .json();
        let counters = ["dropped", "marked", "cleared"].map(|name| nft_counter(Host::Far, "inet lab", name));
        let [lost, ce, cleared] = [0, 1, 2].map(|place| counters[place] - before[place]);
        before = counters;
        assert!(
            lost > 20 && ce > 40 && cleared > 40,
            "{lost} packets were dropped, {ce} marked, {cleared} cleared"
        );
        for end in ["sender_threads", "receiver_threads"] {
            assert_eq!(said["forward"][end], threads, "{said}");
        }
        only_one_flow_lost(&said, lost);
        assert_eq!(sum(&said["forward"]["per_flow"], "ecn_marked"), ce, "{said}");
        assert_eq!(
            sum(&said["forward"]["per_flow"], "ecn_cleared"),
            cleared,
            "{said}"
        );
        let diagnosis = ran(0, "diagnose last --json --db flows.db").json();
        let findings = diagnosis["findings"].as_array().expect("findings").iter();
        let found: Vec<&Value> = findings.filter(|found| found["name"] == "ecn-cleared").collect();
        assert!(
            found.len() == 1 && found[0]["evidence"][0]["value"] == cleared,
            "{diagnosis}"
        );
    }
}

/// 12 frames of 50 packets: ten frames a second, so that even the last is due well before the end. A host that is held up brings
/// nothing too late.
const FRAMES: &str =
    "--bytes-per-frame 49900 --frame-rate 10 --length 1000 --for 1200ms --flows 5 --reorder-depth 65536,2s";
const PACKETS: u64 = 12 * 50;

#[track_caller]
fn whole(direction: &Value) {
    let counts = counts(direction, ["sent", "received", "lost", "late", "duplicates"]);
    assert_eq!(counts, [PACKETS, PACKETS, 0, 0, 0], "{direction}");
    let flows = &direction["per_flow"];
    assert_eq!((sum(flows, "received"), sum(flows, "ecn_marked")), (PACKETS, 0));
    // The last packet of a frame is 900 bytes.
    assert_eq!(sum(flows, "bytes"), 12 * 49_900);
    assert_eq!(count(&direction["owd"]["count"]), PACKETS);
    let ports = flows.as_array().expect("flows").iter().map(|flow| &flow["port"]);
    let ports: BTreeSet<String> = ports.map(Value::to_string).collect();
    assert_eq!(ports.len(), 5, "each flow has a port of its own");
}

#[track_caller]
fn flows_are_whole_with_and_without_offloads(agent: &Agent) {
    // Over the wrap of the stream's sequence, too.
    let both = format!(
        "--both --spread random --no-gro --threads 2 --first-sequence {}",
        u32::MAX - 300
    );
    let both = ran(0, &format!("flows {} {FRAMES} {both} --json", agent.at("::1"))).json();
    for way in ["forward", "reverse"] {
        whole(&both[way]);
        assert_eq!(both[way]["segmented"], true);
        assert_eq!(both[way]["packets_per_buffer"], 1.0);
    }
    let back = "--reverse --no-gso --spread round-robin --json --fail-if rate<1Gbit/s";
    let back = ran(1, &format!("flows {} {FRAMES} {back}", agent.local()));
    back.error_has("rate");
    let back = back.json();
    assert_eq!(back["forward"], Value::Null);
    assert_eq!(back["run"]["outcome"], "finished");
    whole(&back["reverse"]);
    assert_eq!(back["reverse"]["segmented"], false, "{back}");
    let flows = back["reverse"]["per_flow"].as_array().expect("flows");
    assert!(flows.iter().all(|flow| flow["sent"] == PACKETS / 5), "{back}");
}

#[track_caller]
fn limits_of_bytes_and_of_a_socket_buffer(target: &str) {
    // Half for each direction: 502.5 packets, of which 50 whole bursts of 10 fit.
    let limited = format!(
        "flows {target} --both --bytes-per-frame 100000 --frame-rate 100 --length 1000 --burst 10 --flows 5 \
         --for 60s --max-bytes 1005kB --json"
    );
    let limited = ran(0, &limited);
    limited.stderr_has("at most 1.01 MB sent (--max-bytes ends it there)");
    let limited = limited.json();
    for way in ["forward", "reverse"] {
        assert_eq!(limited[way]["hit_byte_limit"], true, "{limited}");
        assert_eq!(count(&limited[way]["sent"]), 500, "{limited}");
    }

    // Without merging a drop is a packet, and nothing else on loopback drops any.
    let overflow = format!(
        "flows {target} --rate 400Mbit/s --length 1400 --flows 2 --for 1s --receive-buffer 8kB --no-gso --no-gro --json"
    );
    let forward = &ran(0, &overflow).json()["forward"];
    // A host that stood still reads two sockets one after the other: packets of the second come late, and were not dropped.
    let dropped = count(&forward["lost"]) - count(&forward["late"]);
    let attribution = &forward["attribution"];
    assert!(dropped > 100, "a buffer of 8 kB cannot hold a burst: {forward}");
    assert_eq!(sum(&forward["per_flow"], "socket_drops"), dropped, "{forward}");
    assert_eq!(count(&attribution["socket"]), dropped, "{forward}");
    assert_eq!(attribution["estimated"], false);
}
