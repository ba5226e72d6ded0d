//! Wrong tokens, wrong hosts, wrong numbers and wrong files: each gives the right exit status and one line that says
//! what to do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use weir_rig::{Agent, FAR_IPV4, Finished, Host, LIMIT, isolated, join_by_veth, run_within, weir};

#[track_caller]
fn refused(arguments: &[&str], code: i32, words: &[&str]) -> Finished {
    let done = run_within(LIMIT, weir(arguments)).expect_code(code);
    for word in words {
        assert!(done.stderr.contains(word), "'{word}' in: {}", done.stderr);
    }
    assert!(done.stdout.is_empty(), "{}", done.stdout);
    done
}

fn token_file(name: &str, token: &str) -> String {
    let path = weir_rig::path(name);
    std::fs::write(&path, token).expect("a token file");
    path
}

#[test]
fn tokens_that_do_not_match() {
    isolated!();
    let (right, wrong) = (token_file("right", "right\n"), token_file("wrong", "wrong\n"));
    let guarded = Agent::start(Host::Near, &["--token-file", &right]);
    let target = guarded.local();
    refused(&["rtt", &target, "--token-file", &wrong], 3, &["token"]).one_error();
    refused(&["rtt", &target], 3, &["token required", "--token-file"]).one_error();
    refused(&["flows", &target], 3, &["token required"]).one_error();
    refused(&["survey", &target], 3, &["token required"]).one_error();
    guarded.check_serves(&["--token-file", &right]);

    let open = Agent::start(Host::Near, &[]);
    refused(&["rtt", &open.local(), "--token-file", &right], 3, &["open mode"]).one_error();
    open.check_serves(&[]);

    let empty = token_file("empty", " \n");
    refused(&["rtt", &target, "--token-file", &empty], 2, &["is empty"]).one_error();
    refused(
        &["rtt", &target, "--token-file", "/nowhere"],
        2,
        &["cannot read the token file"],
    )
    .one_error();
    refused(
        &["agent", "--token-file", "/nowhere"],
        2,
        &["cannot read the token file"],
    )
    .one_error();
    refused(
        &["agent", "--port", "0", "--token-file", &empty],
        2,
        &["is empty"],
    )
    .one_error();
    // Nothing was begun, so nothing was stored but by the two tests that worked.
    assert!(!std::path::Path::new("weir.db").exists());
}

#[test]
fn hosts_that_do_not_answer() {
    isolated!();
    refused(
        &["rtt", "no-such-host.invalid"],
        3,
        &["cannot resolve host 'no-such-host.invalid'"],
    )
    .one_error();
    refused(
        &["flows", "127.0.0.1:1"],
        3,
        &["cannot reach an agent at 127.0.0.1:1", "weir agent"],
    )
    .one_error();
    refused(
        &["rtt", "127.0.0.1", "-6"],
        3,
        &["no address of the requested IP version"],
    )
    .one_error();
    // Somebody listens there, but it is no agent: one that closes, and one that talks.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let target = listener.local_addr().expect("an address").to_string();
    let stranger = std::thread::spawn(move || {
        for word in [
            "",
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ] {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(word.as_bytes());
        }
    });
    refused(
        &["rtt", &target],
        3,
        &["is this the control port of 'weir agent'?"],
    )
    .one_error();
    refused(&["rtt", &target], 3, &["does not speak Weir's protocol"]).one_error();
    stranger.join().expect("the stranger");
}

#[test]
fn a_control_port_in_use() {
    isolated!();
    let first = Agent::start(Host::Near, &[]);
    let port = first.port.to_string();
    let done = run_within(LIMIT, weir(&["agent", "--port", &port]));
    assert!([2, 3].contains(&done.code()), "{}", done.code());
    assert!(done.one_error().contains("in use"), "{}", done.stderr);
    first.check_serves(&[]);
}

#[test]
fn arguments_that_make_no_sense() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let target = agent.local();
    let rtt =
        |options: &[&str], words: &[&str]| refused(&[&["rtt", &target][..], options].concat(), 2, words);
    let flows =
        |options: &[&str], words: &[&str]| refused(&[&["flows", &target][..], options].concat(), 2, words);
    rtt(&["--window", "100..50"], &["50..100"]);
    rtt(&["--window", "0"], &["--window"]);
    rtt(&["--length", "10"], &["--length"]);
    rtt(&["--length", "100..70000"], &["65507"]);
    rtt(&["--interval", "1us"], &["--interval"]);
    rtt(&["--interval", "5"], &["--interval"]);
    rtt(&["--for", "0s"], &["--for"]);
    rtt(&["--ttl", "0"], &["--ttl"]);
    flows(&["--rate", "0bit/s"], &["--rate"]);
    flows(&["--rate", "2500"], &["'2500' has no unit", "Gbit/s"]);
    flows(
        &["--rate", "2.5Gbit/s", "--format", "720p59.94-422-10"],
        &["--format"],
    );
    flows(&["--length", "47"], &["48 to 65507"]);
    flows(&["--flows", "0"], &["--flows"]);
    flows(&["--flows", "65"], &["--flows"]);
    flows(&["--format", "nonsense"], &["1080p59.94-422-10"]);
    flows(&["--reorder-depth", "2000000"], &["--reorder-depth", "1048576"]);
    flows(&["--reverse", "--both"], &["--both"]);
    refused(&["rtt"], 2, &["HOST"]);
    refused(&["nonsense"], 2, &["nonsense"]);
    refused(&["agent", "--udp-ports", "5000..4000"], 2, &["4000..5000"]);
    agent.check_serves(&[]);
}

#[test]
fn a_length_above_the_mtu_names_the_largest_that_fits() {
    isolated!();
    join_by_veth(1400);
    let agent = Agent::start(Host::Far, &["--open"]);
    let target = agent.at(FAR_IPV4);
    // 1400 less 20 of IPv4 and 8 of UDP.
    refused(
        &["flows", &target, "--length", "1373", "--for", "1s"],
        2,
        &["--length 1373", "1372"],
    )
    .one_error();
    refused(
        &["rtt", &target, "--length", "1373", "--for", "1s"],
        2,
        &["--length 1373", "1372"],
    )
    .one_error();
    let over_ipv6 = agent.at(weir_rig::FAR_IPV6);
    refused(
        &["flows", &over_ipv6, "--length", "1353", "--for", "1s"],
        2,
        &["--length 1353", "1352"],
    )
    .one_error();
    refused(
        &[
            "rtt",
            &over_ipv6,
            "--length",
            "100..1353",
            "--for",
            "1s",
            "--interval",
            "100ms",
        ],
        2,
        &["--length 1353", "1352"],
    )
    .one_error();
    let fits = run_within(
        LIMIT,
        weir(&[
            "flows", &target, "--length", "1372", "--rate", "5Mbit/s", "--flows", "2", "--for", "1s",
            "--json",
        ]),
    )
    .expect_code(0)
    .json();
    assert_eq!(
        (&fits["forward"]["length"], &fits["forward"]["lost"]),
        (&1372.into(), &0.into())
    );
}

#[test]
fn garbage_on_the_control_port() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let mut random = weir_rig::Noise::new(7);
    let hello = {
        // A right beginning, so that what follows is read: magic, version, purpose of a control connection.
        let mut hello = vec![0; 56];
        hello[..6].copy_from_slice(b"WEIR\x01\x01");
        hello
    };
    let mut idle = Vec::new();
    for round in 0..60 {
        let mut stream = TcpStream::connect(agent.local()).expect("the agent accepts");
        stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .expect("a limit");
        let mut bytes = match round % 3 {
            0 => {
                let length = 1 + random.below(3000);
                random.bytes(length)
            }
            1 => hello[..random.below(56)].to_vec(),
            _ => hello.clone(),
        };
        if round % 6 == 5 {
            let place = random.below(bytes.len());
            bytes[place] ^= 1 << random.below(8);
        }
        // The agent may have hung up.
        let _ = stream.write_all(&bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() <= 56, "a stranger received {} bytes", answer.len());
        if round % 3 == 2 {
            // To a challenge, an answer of noise.
            let _ = stream.write_all(&random.bytes(56));
            let _ = stream.read_to_end(&mut answer);
            assert!(
                answer.len() <= 2 * 56,
                "a stranger received {} bytes",
                answer.len()
            );
        }
        if round % 10 == 0 {
            idle.push(stream);
        }
    }
    agent.check_serves(&[]);
}
