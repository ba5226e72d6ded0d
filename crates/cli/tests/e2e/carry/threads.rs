//! Streams in shares: several threads at each end, with sockets of their own.

use weir_rig::carry::{
    Carried, FORMAT, FROM_FAR, LOCAL, RECEIVED, SENT, all_whole, dropped, events, failed, finish, from_one,
    lossy_link, noise_frames, recv, same_files, send, send_on, write_file,
};
use weir_rig::{Database, Host, LIMIT, count, isolated, nft, nft_counter};

use crate::documented;

const TOKEN: &str = "--token-file token";
const FRAMES: u64 = 100;

/// Each thread sends from a port of its own; some packets of both are dropped.
#[test]
fn frames_of_two_threads_come_as_they_were_over_a_link_that_loses_packets() {
    isolated!();
    std::fs::write("token", "9f86d081884c7d659a2feaa0c55ad015\n").expect("a token file");
    write_file("in.raw", &noise_frames(FRAMES as usize, 71));
    lossy_link("numgen random mod 100 < 2");
    for port in [4848, 4849] {
        nft(Host::Near, &format!("add counter ip lab from{port}"));
        let rule = format!("insert rule ip lab in udp sport {port} counter name from{port}");
        nft(Host::Near, &rule);
    }
    let sender = send_on(
        Host::Far,
        &format!("{TOKEN} in.raw --format {FORMAT} --threads 2 --flows 5 --fec 4/32"),
    );
    let receiver = recv(&format!("{FROM_FAR} {TOKEN} --threads 2 --verify out.raw"));
    let carried = finish(sender, receiver);
    carried.all_whole(FRAMES);
    same_files("in.raw", "out.raw");
    let Carried { sent, received } = carried;
    documented("send", &sent);
    documented("recv", &received);
    assert_eq!((&sent["threads"], &received["threads"]), (&2.into(), &2.into()));
    assert_eq!(sent["protection"], "aes-128-gcm", "{sent}");
    assert_eq!(received["frames_verified"], FRAMES);
    let one = from_one(&received);
    let of = |name: &str| count(&one[name]);
    assert!(dropped() > 30 && of("recovered") > 0, "{one}");
    assert_eq!(of("unrepaired"), 0, "{one}");
    assert_eq!(
        of("received") + of("recovered"),
        count(&sent["sources"]),
        "{sent} {one}"
    );
    for port in [4848, 4849] {
        let packets = nft_counter(Host::Near, "ip lab", &format!("from{port}"));
        assert!(
            packets > count(&sent["sources"]) / 3,
            "{packets} from {port}: {sent}"
        );
    }
    // One row per second for both threads, with each frame once.
    for (database, sum, expected) in [
        (SENT, "SELECT sum(frames) FROM send_seconds", FRAMES),
        (
            SENT,
            "SELECT sum(sources) FROM send_seconds",
            count(&sent["sources"]),
        ),
        (RECEIVED, "SELECT sum(frames) FROM frame_seconds", FRAMES),
        (RECEIVED, "SELECT sum(received) FROM recv_seconds", of("received")),
    ] {
        assert_eq!(Database::open(database).one::<i64>(sum) as u64, expected, "{sum}");
    }
    assert_eq!(events(SENT), ["connected", "ended"]);
}

#[test]
fn senders_with_threads_are_merged_and_those_with_others_are_refused() {
    isolated!();
    let second = "--from 127.0.0.1:4900";
    let pattern = format!("--test-pattern {FORMAT} --frames {FRAMES} --numbers clock");
    let other = format!("{pattern} --port 4900 --media-port 4900");
    let first = send(&format!("{pattern} --threads 2"));
    let redundant = send(&format!("{other} --threads 2 --db other.db"));
    let receiver = recv(&format!("{LOCAL} {second} --threads 2 --frames 60")).wait(LIMIT);
    let merged = receiver.expect_code(0).json();
    all_whole(&merged, 60);
    for sender in merged["senders"].as_array().unwrap() {
        assert_eq!(sender["rejected"], 0, "{sender}");
    }
    for sender in [first, redundant] {
        sender.signal("INT");
        sender.wait(LIMIT);
    }

    let first = send(&format!("{pattern} --threads 2 --db third.db"));
    let redundant = send(&format!("{other} --threads 1 --db fourth.db"));
    let receiver = recv(&format!("{LOCAL} {second} --threads 2 --db refused.db")).wait(LIMIT);
    failed(receiver, &["packet threads", "the same --threads"]);
    for sender in [first, redundant] {
        sender.signal("INT");
        sender.wait(LIMIT);
    }

    // A receiver that cannot follow is refused, and the next is served.
    let sender = send(&format!(
        "--test-pattern {FORMAT} --frames 20 --threads 2 --db last.db"
    ));
    for options in ["--threads 1 --db one.db", "--join switch --db switch.db"] {
        let receiver = recv(&format!("{LOCAL} {options}")).wait(LIMIT);
        failed(receiver, &["--threads 2", "the receiver accepts 1"]);
    }
    finish(sender, recv(&format!("{LOCAL} --threads 2 --db two.db"))).all_whole(20);
}
