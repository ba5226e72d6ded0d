//! STAMP against a sender and a reflector that were written from the RFCs, in another language, without Weir's code.

use std::process::Command;

use serde_json::Value;

use weir_rig::{Agent, Host, LIMIT, Running, count, counts, isolated, ran, run, run_within};

const KEY: &str =
    "a key of any length, which may well be longer than one block of SHA-256, that is sixty-four bytes\n";

fn script(name: &str, line: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR")))
        .args(line.split_whitespace());
    command
}

/// Answers that the independent sender got.
fn ask(line: &str) -> Vec<Value> {
    let done = run_within(LIMIT, script("stamp_sender.py", line)).expect_code(0);
    done.json().as_array().expect("a list of answers").clone()
}

/// Checks every field of section 4.3 of RFC 8762 in the answers to this sender.
#[track_caller]
fn right(line: &str, ssid: u64, ttl: u64) -> Vec<Value> {
    let answers = ask(line);
    assert_eq!(answers.len(), 5, "all are answered: {answers:?}");
    for answer in &answers {
        // A stateless reflector repeats the sender's number.
        for (told, asked) in [
            ("length", "length_asked"),
            ("sequence", "sequence_asked"),
            ("sender_sequence", "sequence_asked"),
            ("sender_timestamp", "timestamp_asked"),
            ("sender_error", "error_asked"),
        ] {
            assert_eq!(answer[told], answer[asked], "{told} in {answer}");
        }
        let numbers = ["ssid", "sender_ttl", "error_synchronised", "error_is_ptp"];
        assert_eq!(
            numbers.map(|name| count(&answer[name])),
            [ssid, ttl, 0, 0],
            "{answer}"
        );
        for holds in ["times_are_in_order", "zeros_are_zero", "hmac_is_right"] {
            assert_eq!(answer[holds], true, "{holds} in {answer}");
        }
        assert!(count(&answer["error_multiplier"]) > 0, "{answer}");
    }
    answers
}

#[test]
fn reflector_and_sender_agree_with_independent_ones_and_with_a_key_with_nobody_else() {
    isolated!();
    the_reflector_answers();
    the_sender_measures();
}

#[track_caller]
fn the_reflector_answers() {
    for address in ["127.0.0.2/8", "fd09::3/128"] {
        run("ip", &["address", "add", address, "dev", "lo"]);
    }
    let agent = Agent::start(Host::Near, "--open --stamp-port 8620");
    assert_eq!(
        agent.announced["stamp"].as_array().map(Vec::len),
        Some(2),
        "IPv4 and IPv6"
    );
    right("127.0.0.1 8620", 0, 255);
    // Every address answers as itself.
    right("127.0.0.2 8620 --ssid 65535 --ttl 1", 65535, 1);
    right("fd09::3 8620 --ssid 4660 --ttl 77", 4660, 77);
    for answer in right("127.0.0.1 8620 --tlvs", 0, 255) {
        let tlvs = [0, 1].map(|at| &answer["tlvs"][at]);
        let told = tlvs.map(|tlv| (count(&tlv["type"]), count(&tlv["flags"])));
        assert_eq!(
            told,
            [(200, 0x80), (1, 0)],
            "unknown stays marked, padding is known"
        );
    }
    assert!(
        ask("127.0.0.1 8620 --spoil short").is_empty(),
        "43 bytes are no STAMP packet"
    );

    for (name, key) in [("right", KEY), ("wrong", "another key")] {
        std::fs::write(name, key).expect("a key file");
    }
    let _agent = Agent::start(Host::Near, "--stamp-port 8621 --stamp-key-file right");
    right("127.0.0.1 8621 --key-file right --ssid 7", 7, 255);
    right("::1 8621 --key-file right", 0, 255);
    for bad in [
        "--key-file wrong --spoil nothing",
        "--key-file right --spoil hmac",
        "--key-file right --spoil covered",
        "--key-file right --spoil short",
        "--spoil nothing",
    ] {
        assert!(ask(&format!("127.0.0.1 8621 {bad}")).is_empty(), "{bad}");
    }
    right("127.0.0.1 8621 --key-file right", 0, 255);
}

#[track_caller]
fn the_sender_measures() {
    std::fs::write("key", KEY).expect("a key file");
    for (address, reflector, options, lengths) in [
        ("127.0.0.1", "", "", [100, 100]),
        ("::1", "", "--length 44..1400", [44, 1400]),
        (
            "127.0.0.1",
            "--key-file key",
            "--length 112 --stamp-key-file key",
            [112, 112],
        ),
    ] {
        let order = format!("{address} 50 4660 --silent-to 3,13,49 --twice-to 5,20 {reflector}");
        let mut reflecting = Running::start(script("stamp_reflector.py", &order));
        let port = reflecting.first_line(LIMIT);
        let target = if address == "::1" { "[::1]" } else { address };
        let test = "--stamp --ssid 4660 --window 5 --interval 100ms --for 1s --timeout 1s --json";
        let said = ran(0, &format!("rtt {target}:{port} {test} {options}")).json();
        let told = reflecting.wait(LIMIT).expect_code(0).stdout;
        let told = told.lines().nth(1).expect("the reflector's account");
        let told: Value = serde_json::from_str(told).expect("JSON of the reflector");
        assert_eq!(told["wrong"], Value::Array(Vec::new()));
        assert_eq!(counts(&told, ["shortest", "longest"]), lengths);
        let counts = ["sent", "received", "lost", "duplicates", "late"];
        assert_eq!(counts.map(|name| count(&said[name])), [50, 47, 3, 2, 0], "{said}");
        assert_eq!(
            said["lost_forward"],
            Value::Null,
            "a reflector without an account cannot tell"
        );
        assert_eq!(said["delta_ttl"], 0, "{said}");
        weir_rig::quantiles_ascend(&said["rtt"]);
    }
    let nobody = ran(3, "rtt 127.0.0.1:9 --stamp --for 100ms --timeout 300ms");
    assert!(nobody.one_error().contains("no UDP packet came through"));
}
