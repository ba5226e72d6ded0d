//! `weir send` and `weir recv` on the hosts of a test, and a link whose packets of media a filter drops and counts.
//!
//! Formats are small and streams short. Receivers wait longer than they would in earnest, so that a busy machine loses
//! nothing that the test does not take away.

use std::io::Write;
use std::process::Command;

use serde_json::Value;

use crate::{
    Database, Finished, Host, LIMIT, Noise, Running, count, join_by_veth, nft, nft_counter, wait_until, weir,
    weir_line,
};

/// 76,800 bytes a frame, 50 frames a second.
pub const FORMAT: &str = "160x120@50:yuv422p10le";
/// Length of a frame.
pub const FRAME_BYTES: usize = 160 * 120 * 2 * 2;
/// What a receiver on the sender's host needs.
pub const LOCAL: &str = "--from 127.0.0.1 --latency 1s";
/// Where their events and rows are.
pub const SENT: &str = "send.db";
/// The receiver's.
pub const RECEIVED: &str = "recv.db";

/// The command with these options, and a database of its own unless they name one.
fn command(name: &str, database: &str, options: &str) -> Command {
    let database = if options.contains("--db") {
        String::new()
    } else {
        format!("--db {database}")
    };
    weir_line(&format!("{name} --json {database} {options}"))
}

/// `weir send` on a host.
#[track_caller]
pub fn send_on(host: Host, options: &str) -> Running {
    Running::start(host.command(command("send", SENT, options)))
}

/// `weir send` on this host.
#[track_caller]
pub fn send(options: &str) -> Running {
    send_on(Host::Near, options)
}

/// `weir recv` on this host; where from is among the options.
#[track_caller]
pub fn recv(options: &str) -> Running {
    Running::start(command("recv", RECEIVED, options))
}

/// What both ends said when they had ended well.
pub struct Carried {
    /// The sender's result.
    pub sent: Value,
    /// The receiver's result.
    pub received: Value,
}

/// Waits for the good end of both.
#[track_caller]
pub fn finish(sender: Running, receiver: Running) -> Carried {
    let received = receiver.wait(LIMIT);
    let sent = sender.wait(LIMIT);
    assert_eq!(
        (sent.code(), received.code()),
        (0, 0),
        "sender:\n{}\nreceiver:\n{}",
        sent.stderr,
        received.stderr
    );
    Carried {
        sent: sent.expect_code(0).json(),
        received: received.expect_code(0).json(),
    }
}

impl Carried {
    /// All frames that were sent were output complete, and there are this many.
    #[track_caller]
    pub fn all_whole(&self, frames: u64) {
        let (sent, received) = (&self.sent, &self.received);
        assert_eq!(count(&sent["frames"]), frames, "{sent}");
        all_whole(received, frames);
    }
}

/// This number of frames was output, all of them complete.
#[track_caller]
pub fn all_whole(received: &Value, frames: u64) {
    let counts = ["frames", "frames_damaged", "frames_lost", "frames_dropped"];
    let counts = counts.map(|name| count(&received[name]));
    assert_eq!(counts, [frames, 0, 0, 0], "{received}");
}

/// The one sender's part of a receiver's result.
#[track_caller]
pub fn from_one(received: &Value) -> &Value {
    let senders = received["senders"].as_array().expect("senders");
    assert_eq!(senders.len(), 1, "{received}");
    &senders[0]
}

/// Frames of noise in samples of 10 bits, as raw bytes: no two frames are alike.
pub fn noise_frames(frames: usize, seed: u64) -> Vec<u8> {
    let mut bytes = Noise::new(seed).bytes(frames * FRAME_BYTES);
    for sample in bytes.chunks_exact_mut(2) {
        sample[1] &= 3;
    }
    bytes
}

/// The same frames as Y4M, with the header that Weir writes.
pub fn as_y4m(raw: &[u8]) -> Vec<u8> {
    let mut y4m = b"YUV4MPEG2 W160 H120 F50:1 Ip A0:0 C422p10\n".to_vec();
    for frame in raw.chunks(FRAME_BYTES) {
        y4m.extend_from_slice(b"FRAME\n");
        y4m.extend_from_slice(frame);
    }
    y4m
}

/// Writes a file of the test.
#[track_caller]
pub fn write_file(path: &str, bytes: &[u8]) {
    let mut file = std::fs::File::create(path).expect(path);
    file.write_all(bytes).expect(path);
}

/// Reads a file of the test.
#[track_caller]
pub fn read_file(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails without printing what differs, which no terminal would survive.
#[track_caller]
pub fn same_bytes(one: &[u8], other: &[u8]) {
    assert_eq!(one.len(), other.len(), "lengths differ");
    let place = one.iter().zip(other).position(|(one, other)| one != other);
    assert_eq!(place, None, "bytes differ from there on");
}

/// Compares two files.
#[track_caller]
pub fn same_files(one: &str, other: &str) {
    same_bytes(&read_file(one), &read_file(other));
}

/// A shell command in which `weir` is the built binary, and a pipe fails with any of its parts.
pub fn shell(script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("set -euo pipefail\n{script}")]);
    let weir = weir(&[]);
    let place = std::path::Path::new(weir.get_program())
        .parent()
        .expect("a folder of the binary");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.display()));
    for variable in ["WEIR_TOKEN", "WEIR_DB", "WEIR_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Waits until a running program has said something on standard error.
#[track_caller]
pub fn wait_for_words(program: &mut Running, words: &str) {
    wait_until(&format!("'{words}'"), LIMIT, || {
        let said = program.stderr();
        let found = said.contains(words);
        assert!(
            found || program.is_running(),
            "it ended without '{words}':\n{}",
            program.stderr()
        );
        found.then_some(())
    });
}

/// The kinds of events that a run stored, in order; not its alarms, which depend on how busy the machine is.
#[track_caller]
pub fn events(database: &str) -> Vec<String> {
    Database::open(database)
        .all("SELECT event FROM media_events WHERE state = 'happened' ORDER BY unix_ns, id")
}

/// Checks that a program failed, and that the last thing it said is one line with these words.
#[track_caller]
pub fn failed(done: Finished, words: &[&str]) -> Finished {
    let done = done.expect_code(3);
    let last = done.stderr.lines().last().unwrap_or_default();
    for word in words {
        assert!(
            last.starts_with("weir: ") && last.contains(word),
            "'{word}' in: {}",
            done.stderr
        );
    }
    done
}

/// What a receiver on the near host needs: the sender is on the far one.
pub const FROM_FAR: &str = "--from 10.9.0.2 --latency 1s";

/// A link whose packets of media are counted and dropped where `rule` says so, before they come to the near host's
/// sockets. Packets are filtered one by one, so that the hosts must not hand over several as one.
pub fn lossy_link(rule: &str) {
    join_by_veth(1500);
    for (host, interface) in [(Host::Near, "near"), (Host::Far, "far")] {
        for feature in ["tso", "gso", "gro", "tx-udp-segmentation"] {
            host.run("ethtool", &["-K", interface, feature, "off"]);
        }
    }
    nft(Host::Near, "add table ip lab");
    nft(Host::Near, "add counter ip lab dropped");
    nft(
        Host::Near,
        "add chain ip lab in { type filter hook input priority 0; policy accept; }",
    );
    if !rule.is_empty() {
        drop_media(rule);
    }
}

/// Drops packets of media that match, of a sender with up to 16 threads; not the answers to greetings, which are shorter.
pub fn drop_media(rule: &str) {
    let rule =
        format!("add rule ip lab in udp sport 4848-4863 udp length > 200 {rule} counter name dropped drop");
    nft(Host::Near, &rule);
}

/// Packets that the rules have dropped.
pub fn dropped() -> u64 {
    nft_counter(Host::Near, "ip lab", "dropped")
}
