//! Settings from a stored run, and event hooks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use weir_rig::carry::{FORMAT, LOCAL, failed, finish, recv, send, wait_for_words};
use weir_rig::{Agent, Database, Host, LIMIT, count, isolated, run_within, weir};

#[test]
fn settings_come_from_a_run_and_options_win() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let flows = [
        "flows",
        &agent.local(),
        "--rate",
        "20Mbit/s",
        "--length",
        "1400",
        "--flows",
        "3",
        "--for",
        "1s",
        "--db",
        "runs.db",
    ];
    run_within(LIMIT, weir(&flows)).expect_code(0);
    let pattern = [
        "--test-pattern",
        FORMAT,
        "--frames",
        "20",
        "--from-run",
        "1",
        "--db",
        "runs.db",
    ];
    let mut sender = send(&pattern);
    wait_for_words(&mut sender, "run 1 recommends:");
    finish(sender, recv(&LOCAL)).all_whole(20);
    let sender = send(&[&pattern[..], &["--flows", "5"]].concat());
    finish(sender, recv(&LOCAL)).all_whole(20);
    let stored = Database::open("runs.db");
    let of = |run: u8, name: &str| -> i64 {
        stored.one(&format!(
            "SELECT parameters ->> '{name}' FROM runs WHERE run_id = {run}"
        ))
    };
    assert_eq!((of(2, "flows"), of(2, "length")), (3, 1400));
    assert_eq!((of(3, "flows"), of(3, "length")), (5, 1400));

    // A run that says nothing about a path, and one that is not there.
    for (run, words) in [("2", "2"), ("77", "77")] {
        let arguments = ["--test-pattern", FORMAT, "--from-run", run, "--db", "runs.db"];
        let done = send(&arguments).wait(LIMIT);
        assert_ne!(done.code(), 0, "{}", done.stderr);
        let code = done.code();
        failed(done, code, &[words]);
    }
}

/// Answers the posts that come, and gives what they bring.
fn posts(listener: &TcpListener, count: usize) -> Vec<Value> {
    let mut bodies = Vec::new();
    while bodies.len() < count {
        let (stream, _) = listener.accept().expect("a connection");
        let mut stream = BufReader::new(stream);
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).expect("a line");
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        stream.get_mut().write_all(answer).expect("an answer is taken");
        bodies.push(serde_json::from_slice(&body).expect("JSON"));
    }
    bodies
}

#[test]
fn commands_and_addresses_are_told_of_events() {
    isolated!();
    let listener = TcpListener::bind("127.0.0.1:8080").expect("a port");
    let posted = std::thread::spawn(move || posts(&listener, 2));
    let told = weir_rig::path("told");
    let command = format!("echo \"$WEIR_EVENT $WEIR_SENDER\" >> {told}");
    let sender = send(&["--test-pattern", FORMAT, "--frames", "20"]);
    let hooks = ["--on-event", &command, "--on-event", "http://127.0.0.1:8080/hook"];
    // One that fails, and one that nobody answers, hold up nothing.
    let bad = ["--on-event", "exit 7", "--on-event", "http://127.0.0.1:9/"];
    let receiver = recv(&[&LOCAL[..], &hooks, &bad].concat());
    let carried = finish(sender, receiver);
    carried.all_whole(20);
    assert_eq!(count(&carried.received["events"]), 2);
    assert_eq!(
        std::fs::read_to_string(told).expect("a file"),
        "connected 0\nended 0\n"
    );
    let posted = posted.join().expect("posts");
    let kinds: Vec<&str> = posted
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(kinds, ["connected", "ended"]);
    assert!(
        posted
            .iter()
            .all(|event| event["sender"] == 0 && event["unix_ns"].is_u64())
    );
}
