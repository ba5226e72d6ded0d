//! Two senders of the same stream: merged, or one at a time.

use weir_rig::carry::{
    FORMAT, FRAME_BYTES, RECEIVED, all_whole, events, noise_frames, read_file, recv, same_bytes, same_files,
    send, wait_for_rows, wait_for_words, write_file,
};
use weir_rig::{Database, LIMIT, Running, count, isolated};

const BOTH: [&str; 4] = ["--from", "127.0.0.1:5001", "--from", "127.0.0.1:5002"];

/// A sender on a control port, which is its UDP port too.
fn sender_at(port: &str, options: &[&str]) -> Running {
    let database = format!("{port}.db");
    let common = ["--port", port, "--media-port", port, "--db", &database];
    send(&[&common[..], options].concat())
}

#[test]
fn two_senders_are_merged_and_one_is_killed_without_a_frame_lost() {
    isolated!();
    write_file("in.raw", &noise_frames(200, 51));
    let input = ["in.raw", "--format", FORMAT];
    let first = sender_at("5001", &input);
    let second = sender_at("5002", &input);
    // The senders begin one after the other, when the receiver has come to each.
    let options = ["--latency", "1s", "--verify", "out.raw"];
    let mut receiver = recv(&[&BOTH[..], &options].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 2);
    first.signal("KILL");
    first.wait(LIMIT);
    wait_for_words(&mut receiver, "127.0.0.1:5001 is gone");
    second.wait(LIMIT).expect_code(0);
    // The one that is gone is not waited for.
    let received = receiver.wait(LIMIT).expect_code(0).json();
    all_whole(&received, 200);
    assert_eq!(count(&received["frames_unequal"]), 0, "{received}");
    same_files("in.raw", "out.raw");
    let kinds = events(RECEIVED);
    assert_eq!(kinds[..3], ["connected", "connected", "disconnected"]);
    let received = &received["senders"];
    assert!(
        count(&received[0]["received"]) > 0 && count(&received[1]["received"]) > 0,
        "{received}"
    );
}

#[test]
fn a_sender_that_dies_is_switched_from() {
    isolated!();
    let raw = noise_frames(250, 52);
    write_file("in.raw", &raw);
    let input = ["in.raw", "--format", FORMAT];
    let first = sender_at("5001", &input);
    let options = ["--join", "switch", "--latency", "1s", "out.raw"];
    let mut receiver = recv(&[&BOTH[..], &options].concat());
    // The sender that is there first is the one that sends; the other stands by.
    wait_for_words(&mut receiver, "127.0.0.1:5001 (");
    let second = sender_at("5002", &input);
    wait_for_words(&mut receiver, "127.0.0.1:5002 (");
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    first.signal("KILL");
    first.wait(LIMIT);
    wait_for_words(&mut receiver, "switched to 127.0.0.1:5002");
    second.wait(LIMIT).expect_code(0);
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert!(events(RECEIVED).contains(&"switched".to_owned()));
    // It is reported once, however often connecting is retried.
    let gone = events(RECEIVED)
        .iter()
        .filter(|event| *event == "disconnected")
        .count();
    assert_eq!(gone, 1);
    let about: i64 = Database::open(RECEIVED).one("SELECT sender FROM media_events WHERE event = 'switched'");
    assert_eq!(about, 1);
    // The output is cut at frames, ends with the file's end, and begins with its beginning.
    let out = read_file("out.raw");
    assert_eq!(out.len() % FRAME_BYTES, 0);
    same_bytes(&raw[..10 * FRAME_BYTES], &out[..10 * FRAME_BYTES]);
    let last = 50 * FRAME_BYTES;
    same_bytes(&raw[raw.len() - last..], &out[out.len() - last..]);
    assert_eq!(count(&received["frames_dropped"]), 0, "{received}");
    let counted = ["frames", "frames_damaged", "frames_lost"].map(|name| count(&received[name]));
    assert_eq!(
        counted.iter().sum::<u64>() * FRAME_BYTES as u64,
        out.len() as u64,
        "{received}"
    );
}

#[test]
fn senders_that_cut_frames_otherwise_cannot_be_joined() {
    isolated!();
    let _first = sender_at("5001", &["--test-pattern", FORMAT, "--length", "1400"]);
    let _second = sender_at("5002", &["--test-pattern", FORMAT, "--length", "1200"]);
    let receiver = recv(&BOTH);
    weir_rig::carry::failed(receiver.wait(LIMIT), 3, &["1400", "1200", "--length"]);
}
