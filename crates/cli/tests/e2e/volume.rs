//! What a test says that it will send and cost, and that `--max-bytes` holds it to that.

use serde_json::Value;

use weir_rig::{Agent, Finished, Host, LIMIT, count, isolated, run_within, weir};

/// Frames of 100 packets of 1,000 bytes in bursts of 10, 10 MB per second: a limit ends them long before their minute.
const TRAFFIC: [&str; 10] = [
    "--bytes-per-frame",
    "100000",
    "--frame-rate",
    "100",
    "--length",
    "1000",
    "--burst",
    "10",
    "--flows",
    "5",
];

fn flows(agent: &Agent, options: &[&str]) -> Finished {
    flows_for("60s", agent, options)
}

fn flows_for(time: &str, agent: &Agent, options: &[&str]) -> Finished {
    let (target, database) = (agent.local(), weir_rig::path("volume.db"));
    let arguments = [
        &["flows", &target, "--db", &database, "--for", time][..],
        &TRAFFIC,
        options,
    ]
    .concat();
    run_within(LIMIT, weir(&arguments)).expect_code(0)
}

fn sent(said: &Value, way: &str) -> u64 {
    let direction = &said[way];
    assert_eq!(direction["hit_byte_limit"], true, "{said}");
    assert_eq!(
        count(&direction["sent"]),
        count(&direction["received"]) + count(&direction["lost"]),
        "{direction}"
    );
    count(&direction["sent"])
}

#[test]
fn a_byte_limit_ends_flows_before_the_burst_that_would_pass_it() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    // 1,005 packets fit, and 100 whole bursts of 10.
    let done = flows(&agent, &["--max-bytes", "1005kB", "--json"]);
    let said = done.json();
    assert_eq!(sent(&said, "forward"), 1000);
    assert_eq!(said["run"]["outcome"], "finished");
    assert_eq!(count(&said["estimate"]["bytes"]), 1_005_000);
    // 1.005 MB at 10 MB per second.
    assert_eq!(count(&said["estimate"]["duration_ns"]), 100_500_000);
    assert!(said["estimate"]["cost_usd"].is_null(), "{said}");
    let line = format!(
        "flows to {} at 80.00 Mbit/s: about 101 ms, at most 1.01 MB sent (--max-bytes ends it there)",
        agent.local()
    );
    assert!(done.stderr.contains(&line), "{}", done.stderr);

    // Each direction gets half.
    let both = flows(&agent, &["--max-bytes", "1005kB", "--both", "--json"]).json();
    assert_eq!((sent(&both, "forward"), sent(&both, "reverse")), (500, 500));

    // The path MTU search counts, too: its estimate is 2 MB.
    let searched = flows(&agent, &["--max-bytes", "4MB", "--reverse", "--json"]).json();
    let packets = sent(&searched, "reverse");
    assert!((2000..4000).contains(&packets), "{packets}");
    assert_eq!(count(&searched["estimate"]["bytes"]), 4_000_000);

    let text = flows(&agent, &["--max-bytes", "1005kB"]);
    assert!(
        text.stdout.contains("stopped at the limit of --max-bytes"),
        "{}",
        text.stdout
    );
    let whole = flows_for("100ms", &agent, &["--json", "-q"]);
    assert_eq!(whole.json()["forward"]["hit_byte_limit"], false);
    assert!(whole.stderr.is_empty(), "{}", whole.stderr);
}

#[test]
fn a_cloud_adds_the_cost_of_egress() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("cost.db"));
    let rtt = |options: &[&str]| {
        let all = [
            &[
                "rtt",
                &target,
                "--for",
                "300ms",
                "--interval",
                "100ms",
                "--db",
                &database,
            ][..],
            options,
        ]
        .concat();
        run_within(LIMIT, weir(&all))
    };
    let done = rtt(&["--cloud", "amazon:us-east-1", "--json"]).expect_code(0);
    let estimate = &done.json()["estimate"];
    // Three windows of ten packets of 100 bytes, and their replies.
    assert_eq!(
        (count(&estimate["bytes"]), count(&estimate["egress_bytes"])),
        (6000, 3000)
    );
    assert_eq!(
        (&estimate["cloud"], &estimate["region"]),
        (&"aws".into(), &"us-east-1".into())
    );
    let price = estimate["usd_per_gb"].as_f64().expect("a price");
    let cost = estimate["cost_usd"].as_f64().expect("a cost");
    assert!(
        price > 0.0 && (cost - 3000.0 / 1e9 * price).abs() < 1e-12,
        "{estimate}"
    );
    for words in [
        "both directions: about 300 ms, at most 6.00 kB sent",
        "cost: less than 0.01 USD of egress at AWS us-east-1 (",
        "counts 3.00 kB from this host, not what the far host sends",
    ] {
        assert!(done.stderr.contains(words), "no '{words}' in {}", done.stderr);
    }
    let paid = flows(&agent, &["--max-bytes", "100kB", "--cloud", "azure", "--json"]);
    assert!(
        paid.stderr.contains("egress at Azure (standard price, "),
        "{}",
        paid.stderr
    );
    assert_eq!(count(&paid.json()["estimate"]["egress_bytes"]), 100_000);
    let silent = rtt(&["--cloud", "gcp", "-q"]).expect_code(0);
    assert!(silent.stderr.is_empty(), "{}", silent.stderr);

    let refused = |options: &[&str], words: &str| {
        let done = rtt(options).expect_code(2);
        let line = done.one_error();
        assert!(line.contains(words), "{line}");
    };
    refused(
        &["--cloud", "cellar"],
        "no price of egress for 'cellar'; the clouds with one are aws, gcp, azure, oracle",
    );
    refused(
        &["--cloud", "oracle:mars-1"],
        "no price of egress for 'oracle:mars-1'; the regions of oracle with one are ",
    );
}

#[test]
fn a_byte_limit_without_room_is_refused_in_one_line() {
    isolated!();
    let refused = |options: &[&str], words: &str| {
        let done = run_within(LIMIT, weir(&[&["flows", "127.0.0.1:1"][..], options].concat())).expect_code(2);
        let line = done.one_error();
        assert!(line.contains(words), "{line}");
    };
    refused(
        &["--max-bytes", "1MB"],
        "no room for the path MTU search; give --length",
    );
    // Bursts are whole rounds over the flows: 8 of at most 10 packets.
    refused(
        &["--max-bytes", "7kB", "--length", "1000", "--burst", "10"],
        "use at least 8000B, or a lower --burst",
    );
}
