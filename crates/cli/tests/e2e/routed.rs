//! A path through a router whose second link has a smaller MTU: the router drops what is too long and says so by
//! ICMP, which must not end a measurement.

use weir_rig::{Agent, Host, LIMIT, count, isolated, run, run_within, weir};

const AGENT_ADDRESS: &str = "10.9.2.2";
const MTU_BEYOND: u64 = 1400;

/// near (1500) router (1400) far, over IPv4.
fn join_by_router() {
    run("ip", &["netns", "add", "router"]);
    run("ip", &["netns", "add", "far"]);
    let within = |space: &'static str| {
        move |arguments: &[&str]| {
            run("ip", &[&["netns", "exec", space], arguments].concat());
        }
    };
    let (router, far) = (within("router"), within("far"));
    run(
        "ip",
        &[
            "link",
            "add",
            "near",
            "type",
            "veth",
            "peer",
            "name",
            "towards-near",
            "netns",
            "router",
        ],
    );
    router(&[
        "ip",
        "link",
        "add",
        "towards-far",
        "mtu",
        "1400",
        "type",
        "veth",
        "peer",
        "name",
        "far",
        "netns",
        "far",
        "mtu",
        "1400",
    ]);
    run("ip", &["address", "add", "10.9.1.1/24", "dev", "near"]);
    run("ip", &["link", "set", "near", "up"]);
    run("ip", &["route", "add", "10.9.2.0/24", "via", "10.9.1.2"]);
    router(&["ip", "address", "add", "10.9.1.2/24", "dev", "towards-near"]);
    router(&["ip", "address", "add", "10.9.2.1/24", "dev", "towards-far"]);
    router(&["ip", "link", "set", "towards-near", "up"]);
    router(&["ip", "link", "set", "towards-far", "up"]);
    router(&["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"]);
    far(&["ip", "address", "add", "10.9.2.2/24", "dev", "far"]);
    far(&["ip", "link", "set", "far", "up"]);
    far(&["ip", "link", "set", "lo", "up"]);
    far(&["ip", "route", "add", "default", "via", "10.9.2.1"]);
}

#[test]
fn a_router_that_says_too_big_does_not_end_the_search() {
    isolated!();
    join_by_router();
    let agent = Agent::start(Host::Far, &["--open"]);
    let target = agent.at(AGENT_ADDRESS);
    let database = weir_rig::path("routed.db");
    let arguments = [
        "flows", &target, "--rate", "20Mbit/s", "--for", "1s", "--json", "--db", &database,
    ];
    let said = run_within(LIMIT, weir(&arguments)).expect_code(0).json();
    assert_eq!(count(&said["forward"]["length"]), MTU_BEYOND - 28, "{said}");
    assert_eq!(said["forward"]["lost"], 0, "{said}");
}
