//! Whom an agent listens to, and what it says about it.

use std::net::TcpListener;

use serde_json::json;

use weir_rig::{
    Agent, FAR_IPV4, FAR_IPV6, Host, LIMIT, Running, isolated, join_by_veth, run_within, wait_until, weir,
};

/// Local addresses of listening TCP sockets on a port, as the kernel tells them.
fn listening(host: Host, port: u16) -> Vec<String> {
    let said = host.run("ss", &["-H", "-l", "-t", "-n", &format!("sport = :{port}")]);
    let address = |line: &str| line.split_whitespace().nth(3).map(str::to_owned);
    let mut found: Vec<String> = said.lines().filter_map(address).collect();
    found.sort();
    found
}

#[test]
fn without_a_token_it_listens_on_loopback_only_and_says_so() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &[]);
    let port = agent.port;
    assert_eq!(
        agent.announced["control"],
        json!([format!("127.0.0.1:{port}"), format!("[::1]:{port}")])
    );
    assert_eq!(agent.announced["token"], false);
    assert_eq!(
        listening(Host::Far, port),
        [format!("127.0.0.1:{port}"), format!("[::1]:{port}")]
    );
    for address in [FAR_IPV4, FAR_IPV6] {
        let refused = run_within(LIMIT, weir(&["rtt", &agent.at(address)])).expect_code(3);
        assert!(
            refused.one_error().contains("cannot reach an agent at"),
            "{}",
            refused.stderr
        );
    }
    let human = Running::start(weir(&["agent", "--port", "0"]));
    wait_until("a word about loopback", LIMIT, || {
        human
            .stderr()
            .contains("no token, so loopback only")
            .then_some(())
    });
}

#[test]
fn open_it_listens_to_everybody_and_says_so() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let port = agent.port;
    assert_eq!(
        agent.announced["control"],
        json!([format!("0.0.0.0:{port}"), format!("[::]:{port}")])
    );
    assert_eq!(
        listening(Host::Far, port),
        [format!("0.0.0.0:{port}"), format!("[::]:{port}")]
    );
    agent.check_serves_at(FAR_IPV4, &[]);
    agent.check_serves_at(FAR_IPV6, &[]);
    let human = Running::start(weir(&["agent", "--port", "0", "--open"]));
    wait_until("a word about being open", LIMIT, || {
        human
            .stderr()
            .contains("any client can use it without a token")
            .then_some(())
    });
}

#[test]
fn with_a_token_it_listens_to_everybody_who_knows_it() {
    isolated!();
    join_by_veth(1500);
    let token = weir_rig::path("token");
    std::fs::write(&token, "a shared secret\n").expect("a token file");
    let agent = Agent::start(Host::Far, &["--token-file", &token]);
    assert_eq!(agent.announced["token"], true);
    assert!(!listening(Host::Far, agent.port).is_empty());
    agent.check_serves_at(FAR_IPV4, &["--token-file", &token]);
    let mut by_environment = weir(&["rtt", &agent.at(FAR_IPV4), "--for", "100ms"]);
    by_environment.env("WEIR_TOKEN", "a shared secret");
    run_within(LIMIT, by_environment).expect_code(0);
}

#[test]
fn an_address_that_others_reach_needs_a_token_or_open() {
    isolated!();
    join_by_veth(1500);
    let refused = run_within(LIMIT, weir(&["agent", "--port", "0", "--listen", "0.0.0.0"])).expect_code(2);
    assert!(
        refused
            .one_error()
            .contains("--token-file or WEIR_TOKEN, or --open"),
        "{}",
        refused.stderr
    );
    // With --open, only the address that was named.
    let agent = Agent::start(Host::Far, &["--open", "--listen", FAR_IPV4]);
    assert_eq!(
        listening(Host::Far, agent.port),
        [format!("{FAR_IPV4}:{}", agent.port)]
    );
}

#[test]
fn a_port_that_is_taken_on_ipv6_alone_is_an_error_and_no_ipv6_is_none() {
    isolated!();
    weir_rig::run("sysctl", &["-q", "-w", "net.ipv6.bindv6only=1"]);
    let other = TcpListener::bind("[::]:4747").expect("the port on IPv6");
    let arguments = ["agent", "--open", "--port", "4747"];
    let refused = run_within(LIMIT, weir(&arguments)).expect_code(2);
    let error = refused.one_error();
    assert!(
        error.contains("4747 on ::") && error.contains("in use"),
        "{error}"
    );
    drop(other);
    // Without a token, loopback: on a host whose loopback has no IPv6 address, IPv4 alone is right.
    weir_rig::run("sysctl", &["-q", "-w", "net.ipv6.conf.all.disable_ipv6=1"]);
    let agent = Agent::start(Host::Near, &[]);
    assert_eq!(agent.announced["control"], json!([agent.local()]));
    agent.check_serves(&[]);
}
