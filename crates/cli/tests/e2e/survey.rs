//! `weir survey` over a router whose second link has a smaller MTU: the router drops what is too long and says so by ICMP,
//! which must not end a measurement.

use serde_json::Value;

use weir_rig::{Agent, Database, Host, count, interface_bytes, isolated, ran, run, weir_line};

/// near (1500) router (1400) far, over IPv4.
fn join_by_router() {
    let script = "\
        ip netns add router; ip netns add far; in_router='ip netns exec router'; in_far='ip netns exec far'
        ip link add near type veth peer name towards-near netns router
        $in_router ip link add towards-far mtu 1400 type veth peer name far netns far mtu 1400
        ip address add 10.9.1.1/24 dev near; ip link set near up; ip route add 10.9.2.0/24 via 10.9.1.2
        $in_router ip address add 10.9.1.2/24 dev towards-near; $in_router ip link set towards-near up
        $in_router ip address add 10.9.2.1/24 dev towards-far; $in_router ip link set towards-far up
        $in_router sysctl -q -w net.ipv4.ip_forward=1
        $in_far ip address add 10.9.2.2/24 dev far; $in_far ip link set far up; $in_far ip link set lo up
        $in_far ip route add default via 10.9.2.1";
    run("sh", &["-ec", script]);
}

/// Every promised row of the sweeps, and what each counted.
#[track_caller]
fn check_steps(said: &Value) {
    let rows = |name: &str| said[name].as_array().expect("rows").clone();
    let numbers =
        |name: &str, field: &str| -> Vec<u64> { rows(name).iter().map(|row| count(&row[field])).collect() };
    for way in ["forward", "reverse"] {
        assert_eq!(said["mtu"][way]["path_mtu"], 1400, "{said}");
    }
    assert_eq!(said["rtt"]["sent"], said["rtt"]["received"], "{said}");
    assert_eq!(numbers("tcp", "streams"), [1, 2, 4, 8, 1, 2, 4, 8]);
    for (number, tcp) in rows("tcp").iter().enumerate() {
        assert_eq!(tcp["direction"], if number < 4 { "forward" } else { "reverse" });
        // Within the agent's limit.
        assert!(
            (1_000_000..600_000_000).contains(&count(&tcp["goodput"])),
            "{tcp}"
        );
    }
    assert_eq!(numbers("by_flows", "length"), vec![1372; 3]);
    assert_eq!(numbers("by_length", "length"), vec![1200, 1372]);
    let all = [rows("by_flows"), rows("by_length"), vec![said["reverse"].clone()]].concat();
    for flows in all {
        assert!(count(&flows["sent"]) > 0, "{flows}");
        assert_eq!(
            count(&flows["sent"]),
            count(&flows["received"]) + count(&flows["lost"]),
            "{flows}"
        );
    }
    assert!(count(&said["best"]["flows"]) > 0, "{said}");
}

#[test]
fn every_step_is_made_behind_a_router_and_stored_and_sends_what_it_reports() {
    isolated!(heavy);
    join_by_router();
    let agent = Agent::start(Host::Far, "--open --max-rate 500Mbit/s");
    let sent = || interface_bytes(Host::Near, "near", "tx") + interface_bytes(Host::Far, "far", "tx");
    let mut survey = weir_line(&format!(
        "survey {} --rate 20Mbit/s --step 200ms --max-flows 4 --max-bytes 2GB --json --db survey.db",
        agent.at("10.9.2.2")
    ));
    survey.stderr(std::fs::File::create("estimate").expect("a file"));
    let done = survey.output().expect("weir starts");
    assert!(done.status.success(), "{done:?}");
    let said: Value = serde_json::from_slice(&done.stdout).expect("a result");
    let estimate = std::fs::read_to_string("estimate").expect("the estimate");
    let far_mtu = "interface-mtu of the agent: 1400 bytes, wanted at least 1500 bytes";
    for words in ["survey of", "about", "at most", "before the survey: ", far_mtu] {
        assert!(estimate.contains(words), "{estimate}");
    }
    // All of it was there before the first step.
    let written = std::fs::metadata("estimate")
        .and_then(|file| file.modified())
        .expect("a time");
    let written = written
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_nanos();
    let first = "SELECT min(started_unix_ns) FROM runs WHERE parent_run_id = 1";
    assert!(
        written <= Database::open("survey.db").one::<i64>(first) as u128,
        "{estimate}"
    );
    assert_eq!(said["run"]["outcome"], "finished");
    assert_eq!(said["hit_byte_limit"], false);
    // Headers, acknowledgements and what the control connection carries come on top of the payload.
    let (bytes, wire) = (count(&said["bytes"]), sent());
    assert!(
        (bytes..=bytes + bytes / 6).contains(&wire),
        "{wire} bytes on the wire, {bytes} reported"
    );
    check_steps(&said);

    let runs = ran(0, "runs list --all --parts --json --db survey.db").json_lines();
    assert!(runs.iter().all(|run| run["outcome"] == "finished"), "{runs:?}");
    let parts = |kind: &str| {
        let of_kind = runs
            .iter()
            .filter(|run| run["kind"] == kind && run["parent_run_id"] == 1);
        of_kind.count()
    };
    // A step that a busy host did not keep up with is repeated, and marked.
    let limited = said["limited"].as_array().expect("limited steps").iter();
    let repeats = limited.filter(|step| !step["repeated_at"].is_null()).count();
    let made = ["mtu", "rtt", "tcp", "flows"].map(parts);
    assert_eq!(made, [1, 1, 8, 3 + 1 + 1 + repeats]);
}
