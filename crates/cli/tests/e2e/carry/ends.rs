//! Either end comes late, goes, is killed, interrupted or turned away, and comes back.

use std::net::{TcpListener, UdpSocket};
use std::time::Instant;

use weir_rig::carry::{
    Carried, FORMAT, FRAME_BYTES, LOCAL, RECEIVED, SENT, all_whole, events, failed, finish, from_one,
    noise_frames, read_file, recv, same_bytes, seconds, send, wait_for_rows, wait_for_words, write_file,
};
use weir_rig::{Database, LIMIT, count, isolated, run_within, wait_until, weir};

fn token_file(name: &str, token: &str) -> String {
    let path = weir_rig::path(name);
    std::fs::write(&path, token).expect("a token file");
    path
}

#[test]
fn tokens_have_to_match() {
    isolated!();
    let (right, wrong) = (token_file("right", "right\n"), token_file("wrong", "wrong\n"));
    let sender = send(&["--test-pattern", FORMAT, "--frames", "20", "--token-file", &right]);
    let with = |options: &[&str]| recv(&[&LOCAL, options].concat()).wait(LIMIT);
    failed(with(&["--token-file", &wrong]), 3, &["token"]);
    failed(with(&[]), 3, &["token required", "--token-file"]);
    failed(
        with(&["--token-file", "/nowhere"]),
        2,
        &["cannot read the token file"],
    );
    let receiver = recv(&[&LOCAL[..], &["--token-file", &right]].concat());
    finish(sender, receiver).all_whole(20);
    // Each that was refused is an event, and the one that was not.
    assert_eq!(events(SENT), ["refused", "refused", "connected", "ended"]);

    let open = send(&["--test-pattern", FORMAT, "--frames", "20"]);
    failed(with(&["--token-file", &right]), 3, &["open mode"]);
    finish(open, recv(&LOCAL)).all_whole(20);
}

#[test]
fn a_receiver_looks_for_its_sender_as_long_as_it_is_told() {
    isolated!();
    let began = Instant::now();
    let done = recv(&["--from", "127.0.0.1", "--wait", "1s"]).wait(LIMIT);
    let done = failed(done, 3, &["cannot reach a sender", "127.0.0.1:4848", "weir send"]);
    assert!(began.elapsed() >= seconds(1), "{:?}", began.elapsed());
    assert!(done.stdout.is_empty(), "{}", done.stdout);
    failed(
        recv(&["--from", "no-such-host.invalid", "--wait", "0s"]).wait(LIMIT),
        3,
        &["cannot resolve host 'no-such-host.invalid'"],
    );
    let reasons: Vec<String> = Database::open(RECEIVED).all("SELECT outcome FROM runs");
    assert_eq!(reasons, ["failed", "failed"]);
}

#[test]
fn a_receiver_may_come_before_its_sender() {
    isolated!();
    let receiver = recv(&[&LOCAL[..], &["--verify", "--wait", "25s"]].concat());
    wait_until("the receiver's store", LIMIT, || {
        std::path::Path::new(RECEIVED).exists().then_some(())
    });
    let sender = send(&["--test-pattern", FORMAT, "--frames", "30"]);
    let carried = finish(sender, receiver);
    carried.all_whole(30);
    assert_eq!(count(&carried.received["frames_verified"]), 30);
}

#[test]
fn a_second_receiver_is_turned_away_and_the_first_does_not_notice() {
    isolated!();
    let sender = send(&["--test-pattern", FORMAT, "--frames", "150"]);
    let first = recv(&[&LOCAL[..], &["--verify"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    let second = run_within(
        LIMIT,
        weir(&["recv", "--from", "127.0.0.1", "--wait", "0s", "--db", "second.db"]),
    );
    failed(second, 3, &["busy", "another receiver", "one at a time"]);
    let carried = finish(sender, first);
    carried.all_whole(150);
    assert_eq!(count(&carried.received["frames_verified"]), 150);
    assert_eq!(count(&carried.sent["receivers"]), 1);
}

/// The stream goes on without anybody, and the next one gets the rest of it.
#[test]
fn a_receiver_is_killed_and_another_one_comes_late() {
    isolated!();
    let raw = noise_frames(250, 21);
    write_file("in.raw", &raw);
    let mut sender = send(&["in.raw", "--format", FORMAT]);
    let first = recv(&[&LOCAL[..], &["first.raw"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    first.signal("KILL");
    first.wait(LIMIT);
    wait_for_words(&mut sender, "disconnected");
    let second = recv(&[&LOCAL[..], &["second.raw", "--db", "second.db"]].concat());
    let received = second.wait(LIMIT).expect_code(0).json();
    let sent = sender.wait(LIMIT).expect_code(0).json();

    let (first, second) = (read_file("first.raw"), read_file("second.raw"));
    let frames = count(&received["frames"]);
    assert!(frames > 10, "{received}");
    all_whole(&received, frames);
    assert_eq!(second.len() as u64, frames * FRAME_BYTES as u64);
    same_bytes(&raw[raw.len() - second.len()..], &second);
    // What was written last before the kill may be a part of a frame.
    same_bytes(&raw[..first.len()], &first);
    assert!(first.len() + second.len() < raw.len());
    assert!(count(&sent["frames_skipped"]) > 0, "{sent}");
    assert_eq!(
        count(&sent["frames"]) + count(&sent["frames_skipped"]),
        250,
        "{sent}"
    );
    assert_eq!(count(&sent["receivers"]), 2, "{sent}");
    assert_eq!(events(SENT), ["connected", "disconnected", "connected", "ended"]);
}

#[test]
fn a_sender_is_killed_and_started_again_and_the_receiver_goes_on() {
    isolated!();
    let raw = noise_frames(100, 22);
    write_file("in.raw", &raw);
    let first = send(&["in.raw", "--format", FORMAT]);
    let mut receiver = recv(&[&LOCAL[..], &["out.raw", "--verify"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    first.signal("KILL");
    first.wait(LIMIT);
    wait_for_words(&mut receiver, "is gone");
    let second = send(&["in.raw", "--format", FORMAT]);
    let Carried { sent, received } = finish(second, receiver);
    assert_eq!(count(&sent["frames"]), 100);
    assert_eq!(from_one(&received)["sessions"], 2, "{received}");
    assert_eq!(count(&received["frames_unequal"]), 0, "{received}");
    assert_eq!(
        events(RECEIVED),
        ["connected", "disconnected", "restarted", "ended"]
    );
    let out = read_file("out.raw");
    assert_eq!(out.len() % FRAME_BYTES, 0, "output is cut at frames");
    assert!(out.len() > raw.len() + 20 * FRAME_BYTES, "{}", out.len());
    same_bytes(&raw, &out[out.len() - raw.len()..]);
    let before = &out[..20 * FRAME_BYTES];
    same_bytes(&raw[..before.len()], before);
}

#[test]
fn an_interrupted_receiver_keeps_its_run_and_the_sender_waits_for_another() {
    isolated!();
    let mut sender = send(&["--test-pattern", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.raw"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    receiver.signal("INT");
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert_eq!(received["run"]["outcome"], "interrupted", "{received}");
    let frames = count(&received["frames"]);
    all_whole(&received, frames);
    assert_eq!(read_file("out.raw").len() as u64, frames * FRAME_BYTES as u64);
    let stored = Database::open(RECEIVED);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "interrupted");
    assert_eq!(
        stored.one::<i64>("SELECT sum(frames) FROM frame_seconds"),
        frames as i64
    );

    wait_for_words(&mut sender, "disconnected");
    let again = recv(&[&LOCAL[..], &["--frames", "10", "--db", "again.db"]].concat());
    assert_eq!(count(&again.wait(LIMIT).expect_code(0).json()["frames"]), 10);
    sender.signal("INT");
    let sent = sender.wait(LIMIT).expect_code(0).json();
    assert_eq!(sent["run"]["outcome"], "interrupted", "{sent}");
    assert_eq!(count(&sent["receivers"]), 2);
}

#[test]
fn an_interrupted_sender_keeps_its_run_and_the_receiver_says_why_it_ends() {
    isolated!();
    let sender = send(&["--test-pattern", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.raw"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    sender.signal("INT");
    let sent = sender.wait(LIMIT).expect_code(0).json();
    assert_eq!(sent["run"]["outcome"], "interrupted", "{sent}");
    let stored = Database::open(SENT);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "interrupted");
    assert_eq!(
        stored.one::<i64>("SELECT sum(frames) FROM send_seconds"),
        count(&sent["frames"]) as i64
    );
    let done = failed(
        receiver.wait(LIMIT),
        3,
        &["has stopped", "the sender was stopped"],
    );
    let received = done.json();
    assert_eq!(received["run"]["outcome"], "failed", "{received}");
    assert_eq!(events(RECEIVED), ["connected", "stopped"]);
    // Frames are whole in the output, also the last.
    let out = read_file("out.raw");
    assert_eq!(out.len() % FRAME_BYTES, 0);
    assert!(count(&received["frames"]) > 10, "{received}");
}

#[test]
fn what_was_stored_until_a_kill_can_be_read() {
    isolated!();
    for victim in ["send", "recv"] {
        let sender = send(&["--test-pattern", FORMAT]);
        let receiver = recv(&LOCAL);
        let (database, table) = match victim {
            "send" => (SENT, "send_seconds"),
            _ => (RECEIVED, "frame_seconds"),
        };
        wait_for_rows(database, table, 2);
        let killed = if victim == "send" { &sender } else { &receiver };
        killed.signal("KILL");
        let killed_at: i64 = weir_rig::run("date", &["+%s%N"]).trim().parse().expect("a time");
        drop((sender, receiver));
        let stored = Database::open(database);
        let last: i64 = stored.one(&format!("SELECT max(unix_ns) FROM {table}"));
        assert!(
            killed_at - last < 2_500_000_000,
            "{victim}: rows end {} ns before the kill",
            killed_at - last
        );
        assert!(stored.one::<i64>(&format!("SELECT sum(frames) FROM {table}")) > 50);
        assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "running");
        assert_eq!(stored.one::<i64>("SELECT count(*) FROM media_events"), 1);
        for file in [SENT, RECEIVED] {
            for suffix in ["", "-wal", "-shm"] {
                // A store that was closed has no more than the first.
                let _ = std::fs::remove_file(format!("{file}{suffix}"));
            }
        }
    }
}

#[test]
fn ports_that_are_in_use_are_named() {
    isolated!();
    let taken = TcpListener::bind("127.0.0.1:4848").expect("a port");
    let sender = send(&["--test-pattern", FORMAT]);
    failed(sender.wait(LIMIT), 2, &["TCP port 4848", "in use", "--port"]);
    drop(taken);

    let taken = UdpSocket::bind("127.0.0.1:4900").expect("a port");
    let sender = send(&["--test-pattern", FORMAT, "--media-port", "4900"]);
    let receiver = recv(&["--from", "127.0.0.1", "--wait", "5s"]);
    failed(sender.wait(LIMIT), 2, &["4900", "in use", "--media-port"]);
    failed(receiver.wait(LIMIT), 3, &["4900"]);
    drop(taken);
}
