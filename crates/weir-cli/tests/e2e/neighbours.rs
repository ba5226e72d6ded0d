//! `weir lab neighbour` across links of known delay, rate and loss: what it says is what the link was told to do, and what
//! the link counted; and its server sends nothing to those who have not asked.

use std::time::Duration;

use serde_json::Value;

use crate::count;
use crate::lab::{self, Finished, Running, isolated, run, run_within, see_own_processes, weir};

/// Making hosts, and a measurement of a few seconds.
const LIMIT: Duration = Duration::from_secs(60);
const LISTEN: &str = "198.18.0.2:7000";

/// What a neighbour and then the link said, after `weir lab neighbour KIND far:7000` with these arguments.
#[track_caller]
fn neighbour(link: &[&str], kind: &[&str]) -> (Value, Value) {
    see_own_processes();
    let serve = format!("weir lab neighbour serve --listen {LISTEN}");
    let arguments = [
        &[
            "lab",
            "run",
            "--json",
            "--no-agent",
            "--max-lateness",
            "10s",
            "--far",
            &serve,
        ],
        link,
        &["--", "weir", "lab", "neighbour"],
        &kind[..1],
        &["far:7000", "--json"],
        &kind[1..],
    ]
    .concat();
    let done = run_within(LIMIT, weir(&arguments)).expect_code(0);
    // The server says where it listens on standard error, with all that the far host says.
    let mut lines: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect();
    let account = lines.pop().expect("an account");
    (lines.pop().expect("a measurement"), account)
}

fn ms(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) / 1e6
}

#[test]
fn a_call_takes_the_delay_that_was_set() {
    isolated!(heavy);
    let (voip, _) = neighbour(&["--rtt", "80ms"], &["voip", "--for", "4s"]);
    let figures = &voip["figures"];
    assert_eq!(
        (count(&figures["packets_sent"]), count(&figures["lost"])),
        (200, 0)
    );
    // Half of the round trip; never less, and hardly more.
    assert!(ms(&figures["owd"]["min"]) >= 40.0, "{figures}");
    assert!(ms(&figures["owd"]["p50"]) < 50.0, "{figures}");
    // 172 bytes of payload every 20 ms.
    assert_eq!(count(&figures["rate"]), 68_800);
    // 60 ms from mouth to ear without loss: R is 91.5 by the E-model.
    let voice = &figures["voice"];
    assert!(
        voice["r"].as_f64() > Some(88.0) && voice["mos"].as_f64() > Some(4.2),
        "{voice}"
    );
    let samples = voip["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 40);
    assert!(samples.iter().all(|sample| sample["packets"] == 5), "{samples:?}");
    let bins = voip["distribution"]["bins"]["counts"].as_array().expect("counts");
    assert_eq!(bins.iter().map(count).sum::<u64>(), 200);
}

#[test]
fn a_call_counts_the_losses_of_the_link() {
    isolated!();
    // Before the call come a token and whatever the far host says until its server is there; behind it, that it has ended.
    let lose = "reverse.loss={ packets = [50, 51, 52, 100] }";
    let (voip, account) = neighbour(&["--rtt", "20ms", "--set", lose], &["voip", "--for", "4s"]);
    assert_eq!(count(&account["reverse"]["dropped"]["loss"]), 4);
    let figures = &voip["figures"];
    assert_eq!(
        (count(&figures["packets_sent"]), count(&figures["lost"])),
        (200, 4)
    );
    assert_eq!(
        (count(&figures["longest_loss"]), &figures["loss"]),
        (3, &Value::from(0.02))
    );
    let lost_in_samples = voip["samples"].as_array().expect("samples").iter();
    assert_eq!(
        lost_in_samples.map(|sample| count(&sample["lost"])).sum::<u64>(),
        4
    );
}

#[test]
fn datagrams_that_a_queue_dropped_are_lost_and_the_rest_waited() {
    isolated!();
    let link = ["--rate", "1Mbit/s", "--rtt", "20ms", "--queue", "20packets"];
    let (udp, account) = neighbour(
        &link,
        &["udp", "--rate", "2Mbit/s", "--length", "1000", "--for", "3s"],
    );
    let figures = &udp["figures"];
    assert_eq!(count(&figures["packets_sent"]), 750);
    let (lost, dropped) = (
        count(&figures["lost"]),
        count(&account["reverse"]["dropped"]["queue"]),
    );
    // The word that all have been sent can be dropped too, again and again.
    assert!(
        lost <= dropped && dropped <= lost + 20,
        "{lost} lost, {dropped} dropped"
    );
    // 1,028 bytes of 1 Mbit/s are 8.224 ms: at most 365 of them in three seconds, and 20 that waited.
    let received = count(&figures["packets_received"]);
    assert!((330..=387).contains(&received), "{received}");
    // 20 packets before one: 173 ms of waiting and sending, and 10 of distance. Few wait for a machine that stands still, too.
    let (half, most) = (ms(&figures["owd"]["p50"]), ms(&figures["owd"]["max"]));
    assert!(
        (160.0..200.0).contains(&half) && half <= most,
        "{half} ms, {most} ms"
    );
    assert!(ms(&figures["owd_above_min"]["p95"]) > 100.0, "{figures}");
}

#[test]
fn a_download_fills_the_link() {
    isolated!(heavy);
    let link = ["--rate", "20Mbit/s", "--rtt", "20ms", "--queue", "2bdp"];
    let (bulk, account) = neighbour(
        &link,
        &["bulk", "--congestion", "reno", "--streams", "2", "--for", "4s"],
    );
    let figures = &bulk["figures"];
    // 1,448 of each 1,500 bytes are payload.
    let rate = count(&figures["rate"]);
    assert!((15_000_000..=19_310_000).contains(&rate), "{rate}");
    assert!(count(&figures["bytes"]) < count(&account["reverse"]["delivered_bytes"]));
    let sender = &figures["sender"];
    assert_eq!(sender["congestion"], "reno");
    // A full queue of two BDPs makes three of the round trip.
    let most = ms(&sender["rtt"]["max"]);
    assert!((40.0..90.0).contains(&most), "{most} ms");
    // What the queue dropped is sent again, and nothing else; the last tenth of a second is not told.
    let (again, dropped) = (
        count(&sender["retransmits"]),
        count(&account["reverse"]["dropped"]["queue"]),
    );
    assert!(
        again > 0 && again <= dropped + 20 && dropped <= again + 60,
        "{again} again, {dropped} dropped"
    );
    let samples = bulk["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 40);
    assert_eq!(
        samples.iter().map(|sample| count(&sample["bytes"])).sum::<u64>(),
        count(&figures["bytes"])
    );
    let again = samples
        .iter()
        .filter_map(|sample| sample["retransmits"].as_u64())
        .sum::<u64>();
    assert!(again <= count(&sender["retransmits"]), "{again}");
}

#[test]
fn repeated_downloads_take_the_time_that_the_link_takes() {
    isolated!();
    let link = ["--rate", "10Mbit/s", "--rtt", "20ms", "--queue", "2bdp"];
    let kind = ["http", "--bytes", "500kB", "--pause", "100ms", "--for", "4s"];
    let (http, _) = neighbour(&link, &kind);
    let figures = &http["figures"];
    // 346 segments of 1,500 bytes on 10 Mbit/s, and the round trip.
    let least = ms(&figures["completion"]["min"]);
    assert!((425.0..800.0).contains(&least), "{least} ms");
    assert!(ms(&figures["first_byte"]["min"]) >= 20.0);
    let downloads = count(&figures["downloads"]);
    assert!((3..=7).contains(&downloads), "{figures}");
    assert_eq!(
        figures["times"].as_array().map(|times| times.len() as u64),
        Some(downloads)
    );
    let bytes = count(&figures["bytes"]);
    assert!(
        (downloads * 500_000..=(downloads + 1) * 500_000).contains(&bytes),
        "{bytes}"
    );
}

#[test]
fn a_game_runs_on_a_link_that_holds_it_and_freezes_on_one_that_does_not() {
    isolated!(heavy);
    let link = ["--rate", "40Mbit/s", "--rtt", "20ms", "--queue", "2bdp"];
    let (game, account) = neighbour(&link, &["game", "--rate", "15Mbit/s", "--for", "4s"]);
    let figures = &game["figures"];
    assert_eq!(count(&figures["frames_sent"]), 240);
    // A server that is held up for 100 ms sends six frames at once, which the queue cannot hold.
    let down = &account["reverse"];
    let dropped = count(&down["dropped"]["queue"]) + count(&down["own_losses"]["device_queue"]);
    let incomplete = count(&figures["incomplete"]);
    assert!(incomplete <= dropped.min(24), "{incomplete} incomplete, {down}");
    // The shortest frames have about 21,900 bytes, 4.4 ms on the link, and 10 ms of distance.
    let least = ms(&figures["completion"]["min"]);
    assert!((14.0..20.0).contains(&least), "{least} ms");
    assert!(figures["late_share"].as_f64() < Some(0.2), "{figures}");
    let rate = count(&figures["rate"]);
    assert!((14_500_000..15_500_000).contains(&rate), "{rate}");
    assert!(ms(&figures["input_to_frame"]["min"]) >= 24.0, "{figures}");
    assert!(count(&figures["inputs_answered"]) > 400, "{figures}");

    let link = ["--rate", "8Mbit/s", "--rtt", "20ms", "--queue", "2bdp"];
    let (game, _) = neighbour(&link, &["game", "--rate", "15Mbit/s", "--for", "2s"]);
    let figures = &game["figures"];
    assert_eq!(count(&figures["frames_sent"]), 120);
    assert!(figures["incomplete_share"].as_f64() > Some(0.5), "{figures}");
    assert!(ms(&figures["longest_freeze_ns"]) > 50.0, "{figures}");
    assert!(figures["loss"].as_f64() > Some(0.3), "{figures}");
}

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

/// Sends what a stranger could: a start with a guessed token, a long and a short nonsense, a question. Prints the lengths
/// of the answers that come within a second.
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
    let script = lab::path("stranger.py");
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
    fails(2, &address, &["bulk", "--for", "2h"], "at most 1h");
    fails(2, &address, &["http", "--bytes", "2GB"], "--bytes");
    fails(2, &address, &["http", "--pause", "2min"], "--pause");
    fails(
        2,
        &address,
        &["voip", "--start-at", "18000000000000000000"],
        "--start-at",
    );
    fails(3, "127.0.0.1:9", &["voip"], "nobody answers at 127.0.0.1:9");
    fails(3, "127.0.0.1:9", &["bulk"], "nobody answers at 127.0.0.1:9");
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
