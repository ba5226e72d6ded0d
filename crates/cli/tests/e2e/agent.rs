//! Whom an agent listens to.

use std::net::TcpListener;

use serde_json::json;

use weir_rig::{
    Agent, FAR_IPV4, FAR_IPV6, Host, LIMIT, isolated, join_by_veth, ran, run, run_within, started,
    wait_until, weir_line,
};

/// Local addresses of listening TCP sockets on a port of the far host, as the kernel tells them.
fn listening(port: u16) -> Vec<String> {
    let said = Host::Far.run("ss", &["-H", "-l", "-t", "-n", &format!("sport = :{port}")]);
    let address = |line: &str| line.split_whitespace().nth(3).map(str::to_owned);
    let mut found: Vec<String> = said.lines().filter_map(address).collect();
    found.sort();
    found
}

#[test]
fn it_listens_where_its_token_and_options_say() {
    isolated!();
    join_by_veth(1500);
    std::fs::write("token", "9f86d081884c7d659a2feaa0c55ad015\n").expect("a token file");
    let everywhere: &[&str] = &["0.0.0.0", "[::]"];
    // Options, the addresses, what clients need, and a word to people.
    for (options, hosts, client, word) in [
        (
            "",
            &["127.0.0.1", "[::1]"][..],
            None,
            "no token, so loopback only",
        ),
        (
            "--open",
            everywhere,
            Some(""),
            "any client can use it without a token",
        ),
        ("--token-file token", everywhere, Some("--token-file token"), ""),
        ("--open --listen 10.9.0.2", &[FAR_IPV4], None, ""),
    ] {
        let agent = Agent::start(Host::Far, options);
        let addresses: Vec<String> = hosts
            .iter()
            .map(|host| format!("{host}:{}", agent.port))
            .collect();
        assert_eq!(agent.announced["control"], json!(addresses));
        assert_eq!(agent.announced["token"], options.contains("token-file"));
        assert_eq!(listening(agent.port), addresses, "{options}");
        for address in [FAR_IPV4, FAR_IPV6] {
            if let Some(client) = client {
                agent.check_serves(address, client);
            } else if !hosts.contains(&address) {
                let refused = ran(3, &format!("rtt {}", agent.at(address)));
                assert!(refused.one_error().contains("cannot reach an agent at"));
            }
        }
        if !word.is_empty() {
            let human = started(&format!("agent --port 0 {options}"));
            wait_until(word, LIMIT, || human.stderr().contains(word).then_some(()));
        }
    }
    let agent = Agent::start(Host::Far, "--token-file token");
    let mut by_environment = weir_line(&format!("rtt {} --for 100ms", agent.at(FAR_IPV4)));
    by_environment.env("WEIR_TOKEN", "9f86d081884c7d659a2feaa0c55ad015");
    run_within(LIMIT, by_environment).expect_code(0);

    // A port that is taken on IPv6 alone is an error, and no IPv6 is none.
    run("sysctl", &["-q", "-w", "net.ipv6.bindv6only=1"]);
    let other = TcpListener::bind("[::]:4747").expect("the port on IPv6");
    let refused = ran(2, "agent --open --port 4747");
    let error = refused.one_error();
    assert!(error.contains("4747 on ::"), "{error}");
    assert!(error.contains("in use"), "{error}");
    drop(other);
    run("sysctl", &["-q", "-w", "net.ipv6.conf.all.disable_ipv6=1"]);
    let agent = Agent::start(Host::Near, "");
    assert_eq!(agent.announced["control"], json!([agent.local()]));
    agent.check_serves("127.0.0.1", "");
}
