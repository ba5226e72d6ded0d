//! STAMP against a sender and a reflector that were written from the RFCs, in another language, without Weir's code.

use std::process::Command;

use serde_json::Value;

use weir_rig::{
    Agent, FAR_IPV4, Finished, Host, LIMIT, Running, count, isolated, join_by_veth, nft, nft_counter,
    run_within, weir,
};

const PORT: &str = "8620";
const KEY: &str =
    "a key of any length, which may well be longer than one block of SHA-256, that is sixty-four bytes\n";

fn script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR")))
        .args(arguments);
    command
}

fn key_file(name: &str, key: &str) -> String {
    let path = weir_rig::path(name);
    std::fs::write(&path, key).expect("a key file");
    path
}

/// Answers that the independent sender got.
fn ask(arguments: &[&str]) -> Vec<Value> {
    let done = run_within(LIMIT, script("stamp_sender.py", arguments)).expect_code(0);
    done.json().as_array().expect("a list of answers").clone()
}

/// Checks every field of section 4.3 of RFC 8762.
#[track_caller]
fn right(answers: &[Value], ssid: u64, ttl: u64) {
    assert_eq!(answers.len(), 5, "all are answered: {answers:?}");
    for answer in answers {
        assert_eq!(answer["length"], answer["length_asked"], "{answer}");
        // A stateless reflector repeats the sender's number.
        assert_eq!(answer["sequence"], answer["sequence_asked"], "{answer}");
        assert_eq!(answer["sender_sequence"], answer["sequence_asked"], "{answer}");
        assert_eq!(answer["sender_timestamp"], answer["timestamp_asked"], "{answer}");
        assert_eq!(answer["sender_error"], answer["error_asked"], "{answer}");
        assert_eq!(
            (count(&answer["ssid"]), count(&answer["sender_ttl"])),
            (ssid, ttl),
            "{answer}"
        );
        for holds in ["times_are_in_order", "zeros_are_zero", "hmac_is_right"] {
            assert_eq!(answer[holds], true, "{holds} in {answer}");
        }
        assert_eq!(
            (&answer["error_synchronised"], &answer["error_is_ptp"]),
            (&0.into(), &0.into()),
            "{answer}"
        );
        assert!(count(&answer["error_multiplier"]) > 0, "{answer}");
    }
}

#[test]
fn the_reflector_answers_an_independent_sender() {
    isolated!();
    let agent = Agent::start(Host::Near, &["--stamp-port", PORT]);
    let announced = agent.announced["stamp"].as_array().expect("addresses");
    assert_eq!(announced.len(), 2, "IPv4 and IPv6: {}", agent.announced);
    right(&ask(&["127.0.0.1", PORT]), 0, 255);
    right(&ask(&["::1", PORT, "--ssid", "4660", "--ttl", "77"]), 4660, 77);
    right(
        &ask(&["127.0.0.1", PORT, "--ssid", "65535", "--ttl", "1"]),
        65535,
        1,
    );
    let answers = ask(&["127.0.0.1", PORT, "--tlvs"]);
    right(&answers, 0, 255);
    for answer in &answers {
        let tlvs = &answer["tlvs"];
        assert_eq!(
            (&tlvs[0]["type"], &tlvs[0]["flags"]),
            (&200.into(), &0x80.into()),
            "unknown stays marked: {tlvs}"
        );
        assert_eq!(
            (&tlvs[1]["type"], &tlvs[1]["flags"]),
            (&1.into(), &0.into()),
            "padding is known: {tlvs}"
        );
    }
    assert!(
        ask(&["127.0.0.1", PORT, "--spoil", "short"]).is_empty(),
        "43 bytes are no STAMP packet"
    );
    right(&ask(&["127.0.0.1", PORT]), 0, 255);
    agent.check_serves(&[]);
}

#[test]
fn the_authenticated_reflector_answers_only_who_has_the_key() {
    isolated!();
    let (right_key, wrong_key) = (key_file("right", KEY), key_file("wrong", "another key"));
    let _agent = Agent::start(
        Host::Near,
        &["--stamp-port", PORT, "--stamp-key-file", &right_key],
    );
    let with = |key: &str, more: &[&str]| ask(&[&["127.0.0.1", PORT, "--key-file", key], more].concat());
    right(&with(&right_key, &["--ssid", "7"]), 7, 255);
    right(&ask(&["::1", PORT, "--key-file", &right_key]), 0, 255);
    assert!(
        with(&wrong_key, &["--spoil", "nothing"]).is_empty(),
        "another key"
    );
    for spoil in ["hmac", "covered", "short"] {
        assert!(with(&right_key, &["--spoil", spoil]).is_empty(), "{spoil}");
    }
    assert!(
        ask(&["127.0.0.1", PORT, "--spoil", "nothing"]).is_empty(),
        "no HMAC at all"
    );
    right(&with(&right_key, &[]), 0, 255);
}

/// `weir rtt --stamp` with these options against the independent reflector.
fn measure(address: &str, reflector: &[&str], options: &[&str]) -> (Value, Value) {
    let arguments = [&[address, "50"], reflector].concat();
    let mut reflecting = Running::start(script("stamp_reflector.py", &arguments));
    let port = reflecting.first_line(LIMIT);
    let target = if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    };
    let test = [
        "rtt",
        &target,
        "--stamp",
        "--window",
        "5",
        "--interval",
        "100ms",
        "--for",
        "1s",
        "--json",
    ];
    let done: Finished =
        run_within(LIMIT, weir(&[&test[..], &["--timeout", "1s"], options].concat())).expect_code(0);
    let told = reflecting.wait(LIMIT).expect_code(0).stdout;
    let told = told.lines().nth(1).expect("the reflector's account");
    (
        done.json(),
        serde_json::from_str(told).expect("JSON of the reflector"),
    )
}

#[track_caller]
fn measured(said: &Value, told: &Value) {
    assert_eq!(told["wrong"], Value::Array(Vec::new()));
    assert_eq!(
        (
            count(&said["sent"]),
            count(&said["received"]),
            count(&said["lost"])
        ),
        (50, 47, 3),
        "{said}"
    );
    assert_eq!(
        (count(&said["duplicates"]), count(&said["late"])),
        (2, 0),
        "{said}"
    );
    assert_eq!(
        said["lost_forward"],
        Value::Null,
        "a reflector without an account cannot tell"
    );
    assert_eq!(said["delta_ttl"], 0, "{said}");
    weir_rig::quantiles_ascend(&said["rtt"]);
}

const CHOSEN: [&str; 5] = ["4660", "--silent-to", "3,13,49", "--twice-to", "5,20"];

#[test]
fn the_sender_measures_an_independent_reflector() {
    isolated!();
    let (said, told) = measure("127.0.0.1", &CHOSEN, &["--ssid", "4660"]);
    measured(&said, &told);
    assert_eq!((&told["shortest"], &told["longest"]), (&100.into(), &100.into()));
    let (said, told) = measure("::1", &CHOSEN, &["--ssid", "4660", "--length", "44..1400"]);
    measured(&said, &told);
    assert_eq!((&told["shortest"], &told["longest"]), (&44.into(), &1400.into()));
}

#[test]
fn the_authenticated_sender_measures_an_independent_reflector() {
    isolated!();
    let key = key_file("key", KEY);
    let reflector = [&CHOSEN[..], &["--key-file", &key]].concat();
    let (said, told) = measure(
        "127.0.0.1",
        &reflector,
        &["--ssid", "4660", "--stamp-key-file", &key, "--length", "112"],
    );
    measured(&said, &told);
    assert_eq!((&told["shortest"], &told["longest"]), (&112.into(), &112.into()));
}

#[test]
fn weir_measures_itself_by_stamp_and_says_when_nobody_answers() {
    isolated!();
    let key = key_file("key", KEY);
    let _agent = Agent::start(Host::Near, &["--stamp-port", PORT, "--stamp-key-file", &key]);
    let target = format!("127.0.0.1:{PORT}");
    let test = [
        "rtt",
        &target,
        "--stamp",
        "--interval",
        "50ms",
        "--for",
        "500ms",
        "--timeout",
        "500ms",
    ];
    let keyed = [
        &test[..],
        &["--length", "200", "--stamp-key-file", &key, "--json"],
    ]
    .concat();
    let said = run_within(LIMIT, weir(&keyed)).expect_code(0).json();
    assert_eq!((count(&said["sent"]), count(&said["lost"])), (100, 0), "{said}");
    let unanswered = run_within(LIMIT, weir(&test)).expect_code(3);
    assert!(
        unanswered.one_error().contains("no UDP packet came through"),
        "{}",
        unanswered.stderr
    );
    let closed = run_within(
        LIMIT,
        weir(&[
            "rtt",
            "127.0.0.1:9",
            "--stamp",
            "--for",
            "100ms",
            "--timeout",
            "300ms",
        ]),
    );
    assert!(
        closed
            .expect_code(3)
            .one_error()
            .contains("no UDP packet came through")
    );
    // A length between the base packet and the shortest padding cannot be made.
    let odd = run_within(
        LIMIT,
        weir(&["rtt", &target, "--stamp", "--length", "46", "--for", "100ms"]),
    );
    assert!(odd.expect_code(2).one_error().contains("--length"));
}

#[test]
fn two_reflectors_do_not_answer_each_other() {
    isolated!();
    let _agents = [
        Agent::start(Host::Near, &["--stamp-port", "8620"]),
        Agent::start(Host::Near, &["--stamp-port", "8621"]),
    ];
    nft(Host::Near, "add table ip lab");
    nft(Host::Near, "add counter ip lab stamp");
    nft(
        Host::Near,
        "add chain ip lab in { type filter hook input priority 0; }",
    );
    nft(
        Host::Near,
        "add rule ip lab in udp dport 8620-8621 counter name stamp",
    );
    // A request to one that seems to come from the other: 44 zeros behind a UDP header without a checksum.
    let forge = "import socket, struct; s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP); \
                 s.sendto(struct.pack('!HHHH', 8621, 8620, 52, 0) + bytes(44), ('127.0.0.1', 0))";
    weir_rig::run("python3", &["-c", forge]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    // The forged one, the answer, and the answer to that.
    assert_eq!(nft_counter(Host::Near, "ip lab", "stamp"), 3);
    right(&ask(&["127.0.0.1", "8620"]), 0, 255);
    right(&ask(&["127.0.0.1", "8621"]), 0, 255);
}

#[test]
fn every_address_of_the_reflector_answers_as_itself() {
    isolated!();
    join_by_veth(1500);
    Host::Far.run("ip", &["address", "add", "10.9.0.3/24", "dev", "far"]);
    Host::Far.run("ip", &["address", "add", "fd09::3/64", "dev", "far", "nodad"]);
    let _agent = Agent::start(Host::Far, &["--open", "--stamp-port", PORT]);
    for address in [FAR_IPV4, "10.9.0.3", "[fd09::2]", "[fd09::3]"] {
        let target = format!("{address}:{PORT}");
        let test = [
            "rtt",
            &target,
            "--stamp",
            "--window",
            "5",
            "--interval",
            "50ms",
            "--for",
            "200ms",
            "--json",
        ];
        let said = run_within(LIMIT, weir(&test)).expect_code(0).json();
        assert_eq!(
            (count(&said["sent"]), count(&said["lost"])),
            (20, 0),
            "{address}: {said}"
        );
    }
}

#[test]
fn nobody_is_sent_more_by_stamp_than_is_harmless() {
    isolated!();
    for beyond in [
        ["--window", "11", "--interval", "1ms"],
        ["--window", "10000", "--length", "1400"],
    ] {
        let arguments = [&["rtt", "127.0.0.1:9", "--stamp", "--for", "1h"][..], &beyond].concat();
        let done = run_within(LIMIT, weir(&arguments)).expect_code(2);
        let error = done.one_error();
        assert!(
            error.contains("100.0 Mbit/s") && error.contains("10000 packets a second"),
            "{error}"
        );
    }
}
