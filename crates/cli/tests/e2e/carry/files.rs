//! What goes in comes out: test pattern, files, pipes and FIFOs, raw and as Y4M, packed otherwise on the way.

use weir_rig::carry::{
    FORMAT, LOCAL, RECEIVED, SENT, as_y4m, carry, events, finish, noise_frames, read_file, recv, same_bytes,
    same_files, send, shell, write_file,
};
use weir_rig::{Database, LIMIT, Running, count, isolated, run, run_within, wait_until};

#[test]
fn a_test_pattern_comes_whole_and_both_ends_keep_their_run() {
    isolated!();
    let carried = carry(
        &["--test-pattern", FORMAT, "--frames", "60", "--fec", "4/16"],
        &["--verify"],
    );
    carried.all_whole(60);
    let (sent, received) = (&carried.sent, &carried.received);
    assert_eq!(count(&received["frames_verified"]), 60, "{received}");
    assert_eq!(count(&received["frames_unequal"]), 0, "{received}");
    assert!(count(&sent["repairs"]) > 0, "{sent}");
    assert_eq!(count(&received["senders"][0]["unrepaired"]), 0, "{received}");

    for (database, kind, table) in [
        (SENT, "send", "send_seconds"),
        (RECEIVED, "recv", "frame_seconds"),
    ] {
        let stored = Database::open(database);
        assert_eq!(stored.one::<String>("SELECT kind FROM runs"), kind);
        assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "finished");
        let frames: i64 = stored.one(&format!("SELECT sum(frames) FROM {table}"));
        assert_eq!(frames, 60, "{table}");
        assert_eq!(stored.one::<i64>("SELECT summary ->> 'frames' FROM runs"), 60);
        assert_eq!(events(database), ["connected", "ended"], "{kind}");
    }
}

#[test]
fn a_file_comes_as_it_was_over_flows_that_differ_in_both_ports() {
    isolated!();
    write_file("in.raw", &noise_frames(50, 1));
    let carried = carry(
        &[
            "in.raw",
            "--format",
            FORMAT,
            "--source-ports",
            "--flows",
            "5",
            "--length",
            "1400",
        ],
        &["out.raw", "--no-gro"],
    );
    carried.all_whole(50);
    same_files("in.raw", "out.raw");
}

/// One IPv6 socket for all flows, then one for each.
#[test]
fn frames_come_over_ipv6_too() {
    isolated!();
    write_file("in.raw", &noise_frames(50, 2));
    for (name, spread) in [("ports", &[][..]), ("source", &["--source-ports"])] {
        let (sent, stored) = (format!("{name}-{SENT}"), format!("{name}-{RECEIVED}"));
        let input = ["in.raw", "--format", FORMAT, "--fec", "4/16", "--db", &sent];
        let sender = send(&[&input[..], spread].concat());
        let options = ["--from", "[::1]", "--latency", "1s", "--db", &stored, "out.raw"];
        let carried = finish(sender, recv(&options));
        carried.all_whole(50);
        same_files("in.raw", "out.raw");
        let from = &carried.received["senders"][0]["from"];
        assert_eq!(from, "[::1]", "{}", carried.received);
    }
}

#[test]
fn y4m_comes_as_it_was_whatever_it_is_packed_in_on_the_way() {
    isolated!();
    write_file("in.y4m", &as_y4m(&noise_frames(40, 2)));
    for packing in [&[][..], &["--packing", "st2110-20"], &["--packing", "v210"]] {
        let carried = carry(&[&["in.y4m"], packing].concat(), &["out.y4m", "--as", "y4m"]);
        carried.all_whole(40);
        same_files("in.y4m", "out.y4m");
        std::fs::remove_file("out.y4m").expect("an output");
    }
}

/// 10 bits in 16 become 10 bits in 10, and the receiver may give out what the sender had read.
#[test]
fn frames_are_packed_for_the_way_and_unpacked_for_the_output() {
    isolated!();
    write_file("in.raw", &noise_frames(30, 3));
    let packed = ["in.raw", "--format", FORMAT, "--packing", "st2110-20"];
    let carried = carry(&packed, &["packed.raw"]);
    carried.all_whole(30);
    assert_eq!(
        read_file("packed.raw").len() * 8,
        read_file("in.raw").len() * 5,
        "20 bits a pixel, of 32"
    );
    let carried = carry(&packed, &["out.raw", "--packing", "yuv422p10le"]);
    carried.all_whole(30);
    same_files("in.raw", "out.raw");
    // What was packed by the sender is what is packed by the receiver.
    carry(
        &["in.raw", "--format", FORMAT],
        &["again.raw", "--packing", "st2110-20"],
    )
    .all_whole(30);
    same_files("packed.raw", "again.raw");
}

#[test]
fn standard_input_comes_out_of_standard_output() {
    isolated!();
    write_file("in.raw", &noise_frames(50, 4));
    let sender = Running::start(shell(&format!(
        "cat in.raw | weir send --format {FORMAT} --db send.db"
    )));
    let receiver = run_within(
        LIMIT,
        shell("weir recv --from 127.0.0.1 --latency 1s --db recv.db - | cat > out.raw"),
    )
    .expect_code(0);
    let sent = sender.wait(LIMIT).expect_code(0);
    same_files("in.raw", "out.raw");
    // The account of the receiver goes to standard error, that of the sender to standard output.
    assert!(
        receiver.stderr.contains("50 frames complete, 0 damaged, 0 lost"),
        "{}",
        receiver.stderr
    );
    assert!(sent.stdout.contains("50 frames in"), "{}", sent.stdout);
}

#[test]
fn a_fifo_is_read_and_a_fifo_is_written() {
    isolated!();
    let raw = noise_frames(50, 5);
    write_file("in.raw", &raw);
    run("mkfifo", &["in.fifo", "out.fifo"]);
    let sender = send(&["in.fifo", "--format", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.fifo"]].concat());
    let reader = Running::start(shell("cat out.fifo > out.raw"));
    let writer = Running::start(shell("cat in.raw > in.fifo"));
    finish(sender, receiver).all_whole(50);
    writer.wait(LIMIT).expect_code(0);
    reader.wait(LIMIT).expect_code(0);
    same_bytes(&raw, &read_file("out.raw"));
}

#[test]
fn the_writer_of_a_fifo_may_come_after_the_receiver() {
    isolated!();
    write_file("in.raw", &noise_frames(20, 6));
    run("mkfifo", &["in.fifo"]);
    let sender = send(&["in.fifo", "--format", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.raw"]].concat());
    // Connected, and waiting for what the sender has not got.
    wait_until("the receiver's connection", LIMIT, || {
        let said = run("ss", &["-H", "-t", "-n", "state", "established"]);
        said.contains(":4848").then_some(())
    });
    let writer = Running::start(shell("cat in.raw > in.fifo"));
    finish(sender, receiver).all_whole(20);
    writer.wait(LIMIT).expect_code(0);
    same_files("in.raw", "out.raw");
}

#[test]
fn as_many_frames_come_as_were_asked_for() {
    isolated!();
    write_file("in.raw", &noise_frames(40, 7));
    let raw = read_file("in.raw");
    let carried = carry(&["in.raw", "--format", FORMAT, "--for", "500ms"], &["out.raw"]);
    carried.all_whole(25);
    same_bytes(&raw[..raw.len() * 25 / 40], &read_file("out.raw"));
    // A receiver that has what it wants leaves, and the sender waits for the next.
    let sender = send(&["--test-pattern", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["--frames", "10"]].concat());
    let received = receiver.wait(LIMIT).expect_code(0).json();
    assert_eq!(count(&received["frames"]), 10, "{received}");
    sender.signal("INT");
    let sent = sender.wait(LIMIT).expect_code(0).json();
    assert_eq!(sent["run"]["outcome"], "interrupted");
}
