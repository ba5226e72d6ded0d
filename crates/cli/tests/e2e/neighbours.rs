//! `weir lab neighbour` across links of known delay, rate and loss: its report agrees with the settings and the counts
//! of the link; and its server sends nothing to hosts that have not requested it.

use std::time::Duration;

use serde_json::Value;

use weir_rig::{Finished, LIMIT, Running, count, isolated, run, run_within, weir};

/// A server on loopback, and its address.
#[track_caller]
fn serving(arguments: &[&str]) -> (Running, String) {
    let serve = ["lab", "neighbour", "serve", "--json", "--listen", "127.0.0.1:0"];
    let mut server = Running::start(weir(&[&serve, arguments].concat()));
    let line = server.first_line(LIMIT);
    let said: Value = serde_json::from_str(&line).expect("JSON");
    (server, said["address"].as_str().expect("an address").to_owned())
}

#[track_caller]
fn ask(address: &str, kind: &[&str]) -> Finished {
    run_within(
        LIMIT,
        weir(&[&["lab", "neighbour"], &kind[..1], &[address], &kind[1..]].concat()),
    )
}

/// Sends what a stranger could: a start with a guessed token, a long and a short nonsense, a question. Prints the
/// lengths of the answers that come within a second.
const STRANGER: &str = r#"
import socket, struct, sys
host, port = sys.argv[1].rsplit(":", 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((host, int(port)))
head = lambda kind: b"WN\x01" + bytes([kind]) + struct.pack(">Q", 77)
start = head(2) + struct.pack(">QBBHHHQQ", 1234, 1, 0, 0, 0, 0, 0, 10**10)
for packet in (start[:-2], head(2) + struct.pack(">QBBHHQQ", 1234, 1, 0, 0, 0, 0, 10**10), b"x" * 1400, b"", head(9)):
    s.send(packet)
s.send(head(1) + bytes(20))
s.settimeout(1)
answers = []
try:
    while True: answers.append(len(s.recv(65535)))
except TimeoutError: pass
print(answers)
"#;

#[test]
fn a_stranger_gets_a_token_and_nothing_more() {
    isolated!();
    let (server, address) = serving(&[]);
    let script = weir_rig::path("stranger.py");
    std::fs::write(&script, STRANGER).expect("a file");
    // 32 bytes asked, 20 answered.
    assert_eq!(run("python3", &[&script, &address]).trim(), "[20]");
    server.signal("TERM");
    server.wait(LIMIT).expect_code(0);
}

#[test]
fn other_clients_are_served_over_http() {
    isolated!();
    let (_server, address) = serving(&[]);
    let url = |path: &str| format!("http://{address}{path}");
    let (first, second, wrong) = (url("/bytes/300000"), url("/bytes/7"), url("/etc/passwd"));
    let write = [
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code} %{size_download} %{num_connects}\n",
    ];
    let said = run(
        "curl",
        &[&write[..], &[&first, &second], &["-o", "/dev/null"]].concat(),
    );
    // Both on one connection.
    assert_eq!(said, "200 300000 1\n200 7 0\n");
    let said = run("curl", &[&write[..], &[&wrong]].concat());
    assert!(said.starts_with("404 0"), "{said}");
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    isolated!();
    let (_server, address) = serving(&["--max-rate", "1Mbit/s", "--max-for", "10s"]);
    let fails = |code: i32, to: &str, kind: &[&str], says: &str| {
        let done = ask(to, kind).expect_code(code);
        assert!(done.one_error().contains(says), "{}", done.one_error());
    };
    fails(2, &address, &["udp", "--rate", "2Mbit/s"], "--max-rate");
    fails(2, &address, &["voip", "--for", "11s"], "--max-for");
    fails(2, &address, &["bulk", "--for", "11s"], "--max-for");
    fails(2, &address, &["bulk", "--for", "2h"], "the maximum is 1h");
    fails(2, &address, &["http", "--bytes", "2GB"], "--bytes");
    fails(2, &address, &["http", "--pause", "2min"], "--pause");
    fails(
        2,
        &address,
        &["voip", "--start-at", "18000000000000000000"],
        "--start-at",
    );
    fails(3, "127.0.0.1:9", &["voip"], "no response from 127.0.0.1:9");
    fails(3, "127.0.0.1:9", &["bulk"], "no response from 127.0.0.1:9");
    fails(
        3,
        "nowhere.invalid:9",
        &["http"],
        "cannot resolve 'nowhere.invalid:9'",
    );
    let taken = weir(&["lab", "neighbour", "serve", "--listen", &address]);
    let done = run_within(LIMIT, taken).expect_code(3);
    assert!(done.one_error().contains(&address), "{}", done.one_error());
}

#[test]
fn an_interrupted_neighbour_tells_what_it_has() {
    isolated!();
    let (_server, address) = serving(&[]);
    for kind in ["voip", "game", "bulk", "http"] {
        let client = Running::start(weir(&[
            "lab",
            "neighbour",
            kind,
            &address,
            "--json",
            "--for",
            "50s",
        ]));
        std::thread::sleep(Duration::from_secs(1));
        client.signal("INT");
        let told = client.wait(LIMIT).expect_code(0).json();
        assert_eq!(
            (&told["interrupted"], &told["kind"]),
            (&Value::from(true), &Value::from(kind))
        );
        assert!(
            told["seconds"].as_f64() < Some(20.0),
            "{kind}: {}",
            told["seconds"]
        );
        assert!(count(&told["figures"]["bytes"]) > 0, "{kind}");
    }
}

#[test]
fn a_start_can_be_agreed_on() {
    isolated!();
    let (_server, address) = serving(&[]);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time");
    let start = (now.as_nanos() + 1_500_000_000) as u64;
    for kind in ["voip", "bulk", "http"] {
        let begin = [
            "lab",
            "neighbour",
            kind,
            &address,
            "--json",
            "--for",
            "100ms",
            "--start-at",
        ];
        let told = run_within(LIMIT, weir(&[&begin[..], &[&start.to_string()]].concat()))
            .expect_code(0)
            .json();
        let started = count(&told["started_unix_ns"]);
        assert!(
            started >= start,
            "{kind}: {} ms early",
            (start - started) / 1_000_000
        );
    }
}
