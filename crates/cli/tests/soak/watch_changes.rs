//! Routes and the path MTU of a watched path change, as the kernel makes them.

use serde_json::Value;
use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, isolated, join_by_veth, nft, ran, started, wait_until,
};

/// Waits for the change of a metric.
fn change(watcher: &Running, metric: &str) -> Value {
    wait_until(&format!("a change of {metric}"), LIMIT, || {
        let text = watcher.stdout();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let events = whole
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let is_it = |event: &Value| event["change"]["metric"] == metric;
        events.into_iter().find(is_it)
    })
}

#[test]
fn routes_and_the_path_mtu_of_a_watched_path_change_as_the_kernel_makes_them() {
    isolated!(heavy);
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    let file = format!(
        "here = \"near\"\n[[host]]\nname = \"near\"\n[[host]]\nname = \"ams\"\naddress = \"{}\"\n\
         [flows]\nevery = \"6s\"\nduration = \"1s\"\nflows = 16\nmtu-every = \"6s\"\n",
        agent.at(FAR_IPV4)
    );
    std::fs::write("watch.toml", file).expect("the file");
    let watcher = started("watch watch.toml --json -q --db watch.db");
    let whole = "runs WHERE kind = 'flows' AND outcome = 'finished'";
    wait_until("ten flow tests", LIMIT, || {
        (Database::try_count("watch.db", whole) >= Some(10)).then_some(())
    });
    // Half of the ports are behind two more routers.
    let odd: Vec<String> = (5_001..5_050).step_by(2).map(|port| port.to_string()).collect();
    nft(
        Host::Far,
        &format!(
            "add table ip routes; add chain ip routes in {{ type filter hook prerouting priority -150; }}; \
             add rule ip routes in udp dport {{ {} }} ip ttl set 62",
            odd.join(", ")
        ),
    );
    let routes = change(&watcher, "routes_forward");
    let detail = routes["change"]["detail"].as_str().expect("words");
    assert!(
        detail.starts_with("0 hops (100 %) before, 0 hops (") && detail.contains("2 hops ("),
        "{routes}"
    );
    assert_eq!(
        (&routes["change"]["before"], &routes["change"]["after"]),
        (&1.0.into(), &2.0.into())
    );
    let kind = format!("SELECT kind FROM runs WHERE run_id = {}", routes["run_id"]);
    assert_eq!(Database::open("watch.db").one::<String>(&kind), "flows");

    Host::Far.run("ip", &["link", "set", "far", "mtu", "1400"]);
    let reverse = change(&watcher, "mtu_reverse");
    assert_eq!(
        (&reverse["change"]["before"], &reverse["change"]["after"]),
        (&1500.0.into(), &1400.0.into())
    );
    let forward = change(&watcher, "mtu_forward");
    // A veth takes a VLAN tag more than its MTU.
    let after = forward["change"]["after"].as_f64().expect("bytes");
    assert!((1_400.0..=1_404.0).contains(&after), "{forward}");

    // Started again, the watcher knows them.
    watcher.signal("KILL");
    watcher.wait(LIMIT);
    let tests = || Database::try_count("watch.db", whole);
    let before = tests();
    let watcher = started("watch watch.toml --json -q --db watch.db");
    wait_until("three flow tests", LIMIT, || {
        (tests() >= before.map(|before| before + 3)).then_some(())
    });
    watcher.signal("INT");
    for metric in ["routes", "mtu"] {
        let printed = watcher.stdout();
        assert!(!printed.contains(&format!("\"metric\":\"{metric}")), "{printed}");
    }
    watcher.wait(LIMIT).expect_code(0);
    is_told_by_history_and_evidence();
}

fn is_told_by_history_and_evidence() {
    let history = ran(0, "watch history --since 1h --db watch.db --json").json();
    let changes = history["pairs"][0]["changes"].as_array().expect("changes");
    let of = |metric: &str| changes.iter().filter(|change| change["metric"] == metric).count();
    assert_eq!(
        (of("routes_forward"), of("mtu_forward"), of("mtu_reverse")),
        (1, 1, 1),
        "{changes:?}"
    );
    ran(
        0,
        "evidence --pair near..ams --since 1h --db watch.db -o e.tar.gz -q",
    );
    weir_rig::run("tar", &["xzf", "e.tar.gz"]);
    let page = std::fs::read_to_string("evidence-near-ams/index.html").expect("the page");
    assert!(
        page.contains("number of forward routes changed from 1 to 2"),
        "{page}"
    );
}
