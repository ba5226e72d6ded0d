//! What somebody on the path sees of a stream, and ends that demand different protections.

use std::process::Command;

use weir_rig::carry::{
    FORMAT, FRAME_BYTES, LOCAL, failed, finish, from_one, recv, send, wait_for_words, write_file,
};
use weir_rig::{LIMIT, Running, count, isolated};

const FRAMES: usize = 20;
const TOKEN: &str = "--token-file token";

/// Counts the UDP packets on loopback that hold 16 bytes of the picture in a row, until it is interrupted.
const CAPTURE: &str = r#"
import json, signal, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
raw.bind(("lo", 0))
raw.settimeout(0.1)
ended = []
signal.signal(signal.SIGINT, lambda *_: ended.append(True))
print("ready", file=sys.stderr, flush=True)
packets = shown = 0
while True:
    try:
        packet = raw.recv(1 << 17)
    except TimeoutError:
        if ended:
            break
        continue
    packets += len(packet) > 1000
    shown += b"\xab" * 16 in packet
print(json.dumps({"packets": packets, "shown": shown}))
"#;

fn capture() -> Running {
    let mut python = Command::new("python3");
    python.args(["-c", CAPTURE]);
    let mut running = Running::start(python);
    wait_for_words(&mut running, "ready");
    running
}

#[test]
fn a_stream_is_encrypted_where_there_is_a_token_and_both_ends_say_so_where_it_is_not() {
    isolated!();
    std::fs::write("token", "9f86d081884c7d659a2feaa0c55ad015\n").expect("a token file");
    write_file("in.raw", &vec![0xab; FRAMES * FRAME_BYTES]);
    for (options, protection, words) in [
        (TOKEN.to_owned(), "", "encrypted with "),
        (
            format!("{TOKEN} --protect aes-256-gcm"),
            "aes-256-gcm",
            "encrypted with aes-256-gcm",
        ),
        (
            format!("{TOKEN} --protect chacha20-poly1305"),
            "chacha20-poly1305",
            "encrypted with chacha20-poly1305",
        ),
        (
            format!("{TOKEN} --protect auth"),
            "auth",
            "not encrypted: anybody on the path can see it",
        ),
        (
            String::new(),
            "off",
            "in the clear: anybody on the path can see and alter it",
        ),
    ] {
        let watched = capture();
        let fec = "--fec 4/16 --flows 4";
        let mut sender = send(&format!("in.raw --format {FORMAT} {fec} {options}"));
        let mut receiver = recv(&format!("{LOCAL} --verify {options}"));
        wait_for_words(&mut sender, words);
        wait_for_words(&mut receiver, words);
        let carried = finish(sender, receiver);
        carried.all_whole(FRAMES as u64);
        let of_receiver = &from_one(&carried.received)["protection"];
        assert_eq!(&carried.sent["protection"], of_receiver);
        assert!(
            of_receiver.as_str().is_some_and(|it| it.contains(protection)),
            "{of_receiver}"
        );
        watched.signal("INT");
        let seen = watched.wait(LIMIT).expect_code(0).json();
        assert!(count(&seen["packets"]) > FRAMES as u64, "{seen}");
        let hidden = words.starts_with("encrypted");
        assert_eq!(count(&seen["shown"]) == 0, hidden, "{options}: {seen}");
        for file in ["send.db", "recv.db"] {
            std::fs::remove_file(file).expect(file);
        }
    }

    // Neither end lowers what the other demands.
    let sender = send(&format!("--test-pattern {FORMAT} {TOKEN} --protect off"));
    for demand in ["", "--protect aes-128-gcm"] {
        let receiver = recv(&format!("{LOCAL} {TOKEN} {demand} --wait 5s --db refused.db"));
        failed(
            receiver.wait(LIMIT),
            &["protects the stream with off", "--protect at both ends"],
        );
    }
    sender.signal("INT");
    sender.wait(LIMIT).expect_code(0);
}
