//! `weir survey` over a router whose second link has a smaller MTU: the router drops what is too long and says so by ICMP,
//! which must not end a measurement.

use serde_json::Value;

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, count, interface_bytes, isolated, join_by_veth, nft,
    nft_counter, ran, run, weir_line,
};

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
    assert_eq!(said["by_source_port"]["flows"], 4);
    assert_eq!(said["families"], serde_json::json!([]));
    let single = ["reverse", "by_source_port"].map(|name| said[name].clone());
    let all = [rows("by_flows"), rows("by_length"), single.to_vec()].concat();
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
        (bytes..=bytes + bytes / 10).contains(&wire),
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
    let by_rate = said["by_rate"].as_array().expect("rates").len();
    let made = ["mtu", "rtt", "tcp", "flows"].map(parts);
    assert_eq!(made, [1, 1, 8, 3 + 1 + 1 + 1 + by_rate + repeats]);
}

/// IPv6 loses one in ten of the packets of media.
const LOSSY_IPV6: &str = "add rule ip6 lab in meta l4proto udp udp length > 200 numgen random mod 10 == 0 \
                          counter name dropped drop";

#[test]
fn both_address_families_of_a_name_are_compared_with_equal_payloads() {
    isolated!(heavy);
    join_by_veth(1500);
    // The filter is to see single packets.
    for (host, interface) in [(Host::Near, "near"), (Host::Far, "far")] {
        for feature in ["tso", "gso", "gro", "tx-udp-segmentation"] {
            host.run("ethtool", &["-K", interface, feature, "off"]);
        }
    }
    nft(Host::Far, "add table ip6 lab");
    nft(Host::Far, "add counter ip6 lab dropped");
    nft(
        Host::Far,
        "add chain ip6 lab in { type filter hook input priority 0; policy accept; }",
    );
    nft(Host::Far, LOSSY_IPV6);
    std::fs::write("hosts", format!("{FAR_IPV4} both\n{FAR_IPV6} both\n")).expect("written");
    run("mount", &["--bind", "hosts", "/etc/hosts"]);
    let agent = Agent::start(Host::Far, "--open --max-rate 100Mbit/s");
    let survey = |options: &str| {
        let line = format!(
            "survey both:{} --rate 4Mbit/s --max-flows 2 {options}",
            agent.port
        );
        ran(0, &format!("{line} --json --db both.db")).json()
    };
    let said = survey("--step 1s");
    let families = said["families"].as_array().expect("families");
    assert_eq!(families.len(), 2, "{said}");
    let of = |version: &str| {
        let mut found = families.iter().filter(|family| family["version"] == version);
        found.next().unwrap_or_else(|| panic!("no {version}: {said}"))
    };
    let (ipv4, ipv6) = (of("ipv4"), of("ipv6"));
    assert_eq!(
        (&ipv4["address"], &ipv6["address"]),
        (&FAR_IPV4.into(), &FAR_IPV6.into())
    );
    // The payload is what both carry; the headers of IPv6 are 20 bytes longer.
    assert_eq!(ipv4["flows"]["length"], ipv6["flows"]["length"]);
    assert_eq!(ipv4["mtu"]["forward"]["path_mtu"], 1500, "{ipv4}");
    let lost = |family: &Value| count(&family["flows"]["lost"]);
    assert!(
        lost(ipv6) > 0 && count(&ipv6["flows"]["attribution"]["network"]) > 0,
        "{ipv6}"
    );
    assert!(lost(ipv6) <= nft_counter(Host::Far, "ip6 lab", "dropped"));
    for family in [ipv4, ipv6] {
        assert!(count(&family["rtt"]["received"]) > 0, "{family}");
    }
    let findings = said["diagnosis"]["findings"].as_array().expect("findings");
    let found = findings.iter().filter(|one| one["name"] == "address-families");
    assert_eq!(found.count(), 1, "{findings:?}");
    // Its steps are parts of the survey that name their version.
    let named = Database::open("both.db").all::<String>(
        "SELECT kind || json_extract(parameters, '$.family') FROM runs WHERE parent_run_id = 1 AND \
         json_extract(CASE WHEN parameters LIKE '{%' THEN parameters ELSE '{}' END, '$.family') IS NOT NULL",
    );
    assert_eq!(named.len(), 5, "{named:?}");

    let one = survey("-4 --step 100ms");
    assert_eq!(one["families"], serde_json::json!([]));
}
