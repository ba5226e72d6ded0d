//! Either end comes late, goes, is killed, interrupted or turned away, and comes back; readers are slow or leave.

use std::io::Read;

use weir_rig::carry::{
    Carried, FORMAT, FRAME_BYTES, LOCAL, RECEIVED, SENT, all_whole, events, failed, finish, from_one,
    noise_frames, read_file, recv, same_bytes, send, wait_for_words, write_file,
};
use weir_rig::{Database, LIMIT, count, counts, isolated, run};

#[test]
fn ends_that_are_killed_turned_away_interrupted_or_slow_cost_no_other_end_a_frame() {
    isolated!();
    a_receiver_and_then_the_sender_are_killed_and_others_go_on();
    forget();
    senders_that_cut_frames_otherwise_cannot_be_joined();
    tokens_have_to_match_one_receiver_is_served_and_an_interrupt_of_either_end_keeps_its_run();
    forget();
    a_slow_reader_loses_whole_frames_and_one_that_leaves_ends_the_receiver();
}

/// The next run of either end is the first of its database again.
fn forget() {
    for database in [SENT, RECEIVED] {
        for file in ["", "-wal", "-shm"] {
            // The files beside it stay only where a process was killed.
            let _ = std::fs::remove_file(format!("{database}{file}"));
        }
    }
}

#[track_caller]
fn a_receiver_and_then_the_sender_are_killed_and_others_go_on() {
    let (raw, next) = (noise_frames(500, 21), noise_frames(50, 22));
    write_file("in.raw", &raw);
    write_file("next.raw", &next);
    let mut sender = send(&format!("in.raw --format {FORMAT}"));
    let first = recv(&format!("{LOCAL} first.raw"));
    Database::wait_for_rows(RECEIVED, "frame_seconds", 1);
    first.signal("KILL");
    first.wait(LIMIT);
    let stored = Database::open(RECEIVED);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "running");
    assert!(stored.one::<i64>("SELECT sum(frames) FROM frame_seconds") > 20);
    wait_for_words(&mut sender, "disconnected");
    // The stream goes on without anybody, and the next one gets the rest of it.
    let mut second = recv(&format!("{LOCAL} --verify second.raw --db second.db"));
    Database::wait_for_rows("second.db", "frame_seconds", 1);
    sender.signal("KILL");
    sender.wait(LIMIT);
    assert_eq!(events(SENT), ["connected", "disconnected", "connected"]);
    let frames: i64 = Database::open(SENT).one("SELECT sum(frames) FROM send_seconds");
    assert!(frames > 40, "{frames}");
    wait_for_words(&mut second, "is gone");
    let restarted = send(&format!("next.raw --format {FORMAT} --db restarted.db"));
    let Carried { sent, received } = finish(restarted, second);
    assert_eq!(count(&sent["frames"]), 50);
    assert_eq!(from_one(&received)["sessions"], 2, "{received}");
    assert_eq!(count(&received["frames_unequal"]), 0, "{received}");
    assert_eq!(
        events("second.db"),
        ["connected", "disconnected", "restarted", "ended"]
    );

    // What was written last before the kill may be a part of a frame.
    let (first, second) = (read_file("first.raw"), read_file("second.raw"));
    same_bytes(&raw[..first.len()], &first);
    assert_eq!(second.len() % FRAME_BYTES, 0, "output is cut at frames");
    let (old, new) = second.split_at(second.len() - next.len());
    same_bytes(&next, new);
    // The last frames before the sender died may have come in part.
    let sound = &old[..20 * FRAME_BYTES];
    let place = raw
        .chunks(FRAME_BYTES)
        .position(|frame| frame == &sound[..FRAME_BYTES]);
    let from = place.expect("a frame that was sent") * FRAME_BYTES;
    assert!(from >= first.len() / FRAME_BYTES * FRAME_BYTES, "it came late");
    same_bytes(&raw[from..from + sound.len()], sound);
}

#[track_caller]
fn senders_that_cut_frames_otherwise_cannot_be_joined() {
    let pattern = |port: u16, length: u16| {
        let ports = format!("--port {port} --media-port {port} --db {length}.db");
        send(&format!("--test-pattern {FORMAT} --length {length} {ports}"))
    };
    let _senders = (pattern(5001, 1400), pattern(5002, 1200));
    let receiver = recv("--from 127.0.0.1:5001 --from 127.0.0.1:5002 --db unequal.db");
    failed(receiver.wait(LIMIT), &["1400", "1200", "--length"]);
}

#[track_caller]
fn tokens_have_to_match_one_receiver_is_served_and_an_interrupt_of_either_end_keeps_its_run() {
    for token in ["right", "wrong"] {
        let text = format!("{token}-9f86d081884c7d659a2feaa0c55ad015");
        std::fs::write(token, text).expect("a token file");
    }
    // A receiver may come before its sender.
    let receiver = recv(&format!("{LOCAL} --wait 25s --token-file right out.raw"));
    Database::wait_for_rows(RECEIVED, "runs", 1);
    let mut sender = send(&format!("--test-pattern {FORMAT} --token-file right"));
    Database::wait_for_rows(RECEIVED, "frame_seconds", 1);
    for (token, words) in [
        ("--token-file wrong", &["token"][..]),
        ("", &["token required", "--token-file"]),
        (
            "--token-file right --wait 0s",
            &["busy", "another receiver", "one at a time"],
        ),
    ] {
        failed(
            recv(&format!("{LOCAL} {token} --db refused.db")).wait(LIMIT),
            words,
        );
    }
    receiver.signal("INT");
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert_eq!(received["run"]["outcome"], "interrupted", "{received}");
    let frames = count(&received["frames"]);
    all_whole(&received, frames);
    assert_eq!(read_file("out.raw").len() as u64, frames * FRAME_BYTES as u64);
    let stored = Database::open(RECEIVED);
    assert_eq!(
        stored.one::<i64>("SELECT sum(frames) FROM frame_seconds") as u64,
        frames
    );
    wait_for_words(&mut sender, "disconnected");

    let again = recv(&format!("{LOCAL} --token-file right --frames 10 --db again.db"));
    assert_eq!(count(&again.wait(LIMIT).expect_code(0).json()["frames"]), 10);
    let last = recv(&format!("{LOCAL} --token-file right --db last.db"));
    Database::wait_for_rows("last.db", "frame_seconds", 1);
    sender.signal("INT");
    let sent = sender.wait(LIMIT).expect_code(0).json();
    assert_eq!(sent["run"]["outcome"], "interrupted", "{sent}");
    assert_eq!(count(&sent["receivers"]), 3, "{sent}");
    failed(last.wait(LIMIT), &["has stopped", "the sender was stopped"]);
    assert_eq!(events("last.db"), ["connected", "stopped"]);
    let told = events(SENT);
    assert_eq!(
        told.iter().filter(|event| *event == "refused").count(),
        3,
        "{told:?}"
    );
}

/// The reader opens the FIFO, takes nothing for two seconds of the stream, and then all; another one leaves.
#[track_caller]
fn a_slow_reader_loses_whole_frames_and_one_that_leaves_ends_the_receiver() {
    let raw = noise_frames(200, 41);
    write_file("in.raw", &raw);
    run("mkfifo", &["out.fifo"]);
    let start = || {
        let sender = send(&format!("in.raw --format {FORMAT}"));
        let receiver = recv(&format!("{LOCAL} out.fifo"));
        (
            sender,
            receiver,
            std::fs::File::open("out.fifo").expect("the receiver opens it too"),
        )
    };
    let (sender, receiver, mut fifo) = start();
    Database::wait_for_rows(RECEIVED, "recv_seconds", 3);
    let mut out = Vec::new();
    fifo.read_to_end(&mut out).expect("the rest");
    drop(fifo);
    let Carried { sent, received } = finish(sender, receiver);
    let dropped = count(&received["frames_dropped"]);
    let told = counts(&received, ["frames", "frames_damaged", "frames_lost"]);
    assert!(dropped > 30 && told == [200 - dropped, 0, 0], "{received}");
    assert_eq!(counts(&sent, ["frames", "frames_skipped"]), [200, 0], "{sent}");
    // All of the frames that came out are frames that went in, in order.
    assert_eq!(out.len() as u64, count(&received["frames"]) * FRAME_BYTES as u64);
    let mut all = raw.chunks(FRAME_BYTES);
    let mut frames = out.chunks(FRAME_BYTES);
    assert!(
        frames.all(|frame| all.any(|one| one == frame)),
        "a frame that was not sent, or not there"
    );
    assert!(events(RECEIVED).contains(&"slow_reader".to_owned()));
    forget();

    let (sender, receiver, mut fifo) = start();
    let mut first = vec![0; 10 * FRAME_BYTES];
    fifo.read_exact(&mut first).expect("ten frames");
    drop(fifo);
    same_bytes(&raw[..first.len()], &first);
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert!(count(&received["frames"]) >= 10, "{received}");
    let detail = "SELECT detail FROM media_events ORDER BY id DESC LIMIT 1";
    let detail: String = Database::open(RECEIVED).one(detail);
    assert!(detail.contains("closed the output"), "{detail}");
    drop(sender);
    let full = recv(&format!("{LOCAL} /dev/full --db full.db"));
    let _sender = send(&format!("--test-pattern {FORMAT} --db pattern.db"));
    failed(full.wait(LIMIT), &["/dev/full", "No space"]);
}
