//! `weir flows` where the kernel counts: packets that a filter drops and marks, sockets that overflow, offloads.

use serde_json::{Value, json};

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, count, counts, flow_on_port, isolated, join_by_veth, nft,
    nft_counter, ran,
};

/// UDP port of one of the flows: the path MTU search takes 5000, the four flows take the next four.
const PORT: u16 = 5003;

fn sum(flows: &Value, field: &str) -> u64 {
    let flows = flows.as_array().expect("flows");
    flows.iter().map(|flow| count(&flow[field])).sum()
}

/// What holds however many packets one flow lost on the way, no two of them neighbours.
#[track_caller]
fn only_one_flow_lost(forward: &Value, dropped: u64) {
    let flow = flow_on_port(forward, PORT);
    for of in [forward, flow] {
        assert_eq!(count(&of["lost"]), dropped, "{of}");
        assert_eq!(count(&of["sent"]), count(&of["received"]) + dropped, "{of}");
        assert_eq!(count(&of["bursts"]), dropped, "{of}");
        assert_eq!(of["longest_burst"], 1, "{of}");
    }
    assert_eq!(forward["burst_lengths"], json!({ "1": dropped }));
    assert_eq!(sum(&forward["per_flow"], "lost"), dropped, "{forward}");
    assert_eq!(sum(&forward["per_flow"], "sent"), count(&forward["sent"]));
    let loss = forward["loss"].as_f64().expect("a loss");
    assert!(
        (loss - dropped as f64 / count(&forward["sent"]) as f64).abs() < 1e-9,
        "{forward}"
    );
    let attribution = &forward["attribution"];
    assert_eq!(count(&attribution["network"]), dropped, "{attribution}");
    for none in ["late", "duplicates", "rejected", "refused"] {
        assert_eq!(forward[none], 0, "{none} in {forward}");
    }
}

/// Rows of the latest run, and the views that others read, add up to the summary.
#[track_caller]
fn rows_add_up(database: &str, forward: &Value, run: u64) {
    let stored = Database::open(database);
    let one = |what: &str, from: &str, condition: &str| {
        stored.one::<i64>(&format!(
            "SELECT {what} FROM {from} WHERE run_id = {run} {condition}"
        )) as u64
    };
    let lost = count(&forward["lost"]);
    for table in ["stream_seconds", "flow_seconds"] {
        assert_eq!(one("sum(lost)", table, ""), lost, "{table}");
        assert_eq!(
            one("sum(received)", table, ""),
            count(&forward["received"]),
            "{table}"
        );
    }
    assert_eq!(one("sum(sent)", "sender_seconds", ""), count(&forward["sent"]));
    assert_eq!(one("max(packets_dropped)", "drops", ""), lost);
    assert_eq!(one("count(*)", "bursts", &format!("AND port = {PORT}")), lost);
    assert_eq!(one("count(*)", "bursts", ""), lost);
    assert_eq!(one("count(*)", "sbursts", ""), lost);
    assert_eq!(one("sum(lost)", "loss_windows", ""), lost);
    assert_eq!(
        one("sum(ecn_marked)", "flow_seconds", ""),
        sum(&forward["per_flow"], "ecn_marked")
    );
}

#[test]
fn losses_and_congestion_marks_are_those_that_the_filter_counted() {
    isolated!();
    join_by_veth(9000);
    nft(Host::Far, "add table inet lab");
    for line in [
        "counter inet lab dropped",
        "counter inet lab marked",
        "chain inet lab in { type filter hook input priority 0; }",
    ] {
        nft(Host::Far, &format!("add {line}"));
    }
    let every = "numgen inc mod 20 == 7";
    let rule = format!("add rule inet lab in udp dport {PORT} {every} counter name dropped drop");
    nft(Host::Far, &rule);
    for field in ["ip", "ip6"] {
        // Only packets that are capable of ECN may be marked.
        let rule = format!("udp dport 5000-5099 {field} ecn ect0 {every} {field} ecn set ce");
        nft(
            Host::Far,
            &format!("add rule inet lab in {rule} counter name marked"),
        );
    }
    let (mut dropped, mut marked) = (0, 0);
    for address in [FAR_IPV4, FAR_IPV6] {
        let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5099");
        // A host that is held up brings nothing too late.
        let said = ran(
            0,
            &format!(
                "flows {} --rate 20Mbit/s --length 1000 --flows 4 --for 1500ms --no-gso --no-gro --ecn \
                 --reorder-depth 65536,2s --json --db flows.db",
                agent.at(address)
            ),
        )
        .json();
        let counters = ["dropped", "marked"].map(|name| nft_counter(Host::Far, "inet lab", name));
        let (lost, ce) = (counters[0] - dropped, counters[1] - marked);
        [dropped, marked] = counters;
        assert!(lost > 20 && ce > 40, "{lost} packets were dropped, {ce} marked");
        only_one_flow_lost(&said["forward"], lost);
        assert_eq!(sum(&said["forward"]["per_flow"], "ecn_marked"), ce, "{said}");
        rows_add_up("flows.db", &said["forward"], count(&said["run"]["id"]));
    }
}

/// 12 frames of 50 packets: ten frames a second, so that even the last is due well before the end.
const FRAMES: &str = "--bytes-per-frame 49900 --frame-rate 10 --length 1000 --for 1200ms --flows 5";
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
    let ports: std::collections::BTreeSet<String> = ports.map(Value::to_string).collect();
    assert_eq!(ports.len(), 5, "each flow has a port of its own");
}

#[test]
fn directions_offloads_and_a_byte_limit_send_what_was_ordered() {
    isolated!(heavy);
    let agent = Agent::start(Host::Near, "");
    let target = agent.local();
    // Over the wrap of the stream's sequence, too.
    let both = format!(
        "--both --spread random --no-gro --first-sequence {}",
        u32::MAX - 300
    );
    let both = ran(0, &format!("flows {} {FRAMES} {both} --json", agent.at("::1"))).json();
    for way in ["forward", "reverse"] {
        whole(&both[way]);
        assert_eq!(both[way]["segmented"], true);
        assert_eq!(both[way]["packets_per_buffer"], 1.0);
    }
    let back = ran(
        1,
        &format!(
            "flows {target} {FRAMES} --reverse --no-gso --spread round-robin --json --fail-if rate<1Gbit/s"
        ),
    );
    back.error_has("rate");
    let back = back.json();
    assert_eq!(back["forward"], Value::Null);
    assert_eq!(back["run"]["outcome"], "finished");
    whole(&back["reverse"]);
    assert_eq!(back["reverse"]["segmented"], false, "{back}");
    let flows = back["reverse"]["per_flow"].as_array().expect("flows");
    assert!(flows.iter().all(|flow| flow["sent"] == PACKETS / 5), "{back}");

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
    let (lost, attribution) = (count(&forward["lost"]), &forward["attribution"]);
    assert!(lost > 100, "a buffer of 8 kB cannot hold a burst: {forward}");
    assert_eq!(sum(&forward["per_flow"], "socket_drops"), lost, "{forward}");
    assert_eq!(count(&attribution["socket"]), lost);
    assert_eq!(attribution["estimated"], false);
}
