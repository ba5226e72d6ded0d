//! Readers of the output that are slow or leave, and outputs that cannot be written.

use std::io::Read;

use weir_rig::carry::{
    Carried, FORMAT, FRAME_BYTES, LOCAL, RECEIVED, carry, events, failed, finish, noise_frames, recv,
    same_bytes, send, wait_for_rows, write_file,
};
use weir_rig::{Database, LIMIT, Running, count, isolated, run};

/// The reader opens the FIFO, takes nothing for two seconds of the stream, and then all.
#[test]
fn a_slow_reader_loses_whole_frames_and_the_sender_does_not_notice() {
    isolated!();
    let raw = noise_frames(200, 41);
    write_file("in.raw", &raw);
    run("mkfifo", &["out.fifo"]);
    let sender = send(&["in.raw", "--format", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.fifo"]].concat());
    let mut fifo = std::fs::File::open("out.fifo").expect("the receiver opens it too");
    wait_for_rows(RECEIVED, "recv_seconds", 3);
    let mut out = Vec::new();
    fifo.read_to_end(&mut out).expect("the rest");
    let Carried { sent, received } = finish(sender, receiver);
    let dropped = count(&received["frames_dropped"]);
    assert!(dropped > 30, "{received}");
    assert_eq!(count(&received["frames"]) + dropped, 200, "{received}");
    assert_eq!(
        count(&received["frames_damaged"]) + count(&received["frames_lost"]),
        0
    );
    assert_eq!(
        (count(&sent["frames"]), count(&sent["frames_skipped"])),
        (200, 0),
        "{sent}"
    );
    // All of the frames that came out are frames that went in, in order.
    assert_eq!(out.len() as u64, count(&received["frames"]) * FRAME_BYTES as u64);
    let mut all = raw.chunks(FRAME_BYTES);
    for frame in out.chunks(FRAME_BYTES) {
        assert!(
            all.any(|one| one == frame),
            "a frame that was not sent, or not there"
        );
    }
    assert!(events(RECEIVED).contains(&"slow_reader".to_owned()));
    let stored: i64 = Database::open(RECEIVED).one("SELECT sum(dropped) FROM frame_seconds");
    assert_eq!(stored as u64, dropped);
}

#[test]
fn a_reader_that_leaves_ends_the_receiver_in_order() {
    isolated!();
    let raw = noise_frames(200, 42);
    write_file("in.raw", &raw);
    run("mkfifo", &["out.fifo"]);
    let sender = send(&["in.raw", "--format", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.fifo"]].concat());
    let mut fifo = std::fs::File::open("out.fifo").expect("the receiver opens it too");
    let mut first = vec![0; 10 * FRAME_BYTES];
    fifo.read_exact(&mut first).expect("ten frames");
    drop(fifo);
    same_bytes(&raw[..first.len()], &first);
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert!(count(&received["frames"]) >= 10, "{received}");
    let events = events(RECEIVED);
    assert_eq!(events, ["connected", "slow_reader"]);
    let detail: String =
        Database::open(RECEIVED).one("SELECT detail FROM media_events ORDER BY id DESC LIMIT 1");
    assert!(detail.contains("closed the output"), "{detail}");
    let sent = sender.wait(LIMIT).expect_code(0).json();
    assert_eq!(
        count(&sent["frames"]) + count(&sent["frames_skipped"]),
        200,
        "{sent}"
    );
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    isolated!();
    let failing = |options: &[&str]| -> (Running, Running) {
        (
            send(&["--test-pattern", FORMAT]),
            recv(&[&LOCAL, options].concat()),
        )
    };
    for (output, words) in [
        ("/nowhere/out.raw", ["/nowhere/out.raw", "No such file"]),
        ("/dev/full", ["/dev/full", "No space"]),
    ] {
        let (sender, receiver) = failing(&[output]);
        failed(receiver.wait(LIMIT), 3, &words);
        drop(sender);
    }
    // What Y4M cannot hold, it is not made of.
    let (sender, receiver) = failing(&["out.y4m", "--as", "y4m", "--packing", "st2110-20"]);
    failed(receiver.wait(LIMIT), 3, &["st2110-20"]);
    drop(sender);
    // The video and the result cannot both be on standard output.
    failed(
        recv(&["--from", "127.0.0.1", "-"]).wait(LIMIT),
        2,
        &["--json", "standard output"],
    );
    // A second stream through the same name is a new file.
    write_file("out.raw", &[7; 9 * FRAME_BYTES]);
    carry(&["--test-pattern", FORMAT, "--frames", "5"], &["out.raw"]).all_whole(5);
    assert_eq!(
        std::fs::metadata("out.raw").expect("a file").len(),
        5 * FRAME_BYTES as u64
    );
}
