//! What goes in comes out, over IPv6, packed otherwise on the way, and over a link whose filter drops packets and counts
//! them.

use weir_rig::carry::{
    Carried, FORMAT, FRAME_BYTES, FROM_FAR, LOCAL, RECEIVED, SENT, drop_media, dropped, events, failed,
    finish, from_one, lossy_link, noise_frames, read_file, recv, same_bytes, same_files, send, send_on,
    write_file,
};
use weir_rig::{Agent, Database, Host, LIMIT, Noise, count, counts, isolated, nft, ran};

use crate::documented;

/// Frames of a Y4M stream whose header is `parameters`.
fn stream(parameters: &str, frame_bytes: usize, seed: u64) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let mut bytes = format!("YUV4MPEG2 {parameters}\n").into_bytes();
    for _ in 0..20 {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend_from_slice(&noise.bytes(frame_bytes));
    }
    bytes
}

#[test]
fn frames_come_as_they_were_and_what_is_dropped_is_repaired_or_reported_and_concealed() {
    isolated!();
    frames_come_as_they_were_and_both_ends_keep_their_run();
    // Every 40th packet, and over one flow, of which nothing can overtake anything; nothing repairs it.
    lossy_link("numgen inc mod 40 == 7");
    what_is_reported_as_lost_is_what_was_dropped_and_is_concealed();
    nft(Host::Near, "flush chain ip lab in");
    drop_media("numgen random mod 100 < 2");
    random_loss_is_repaired_to_the_same_frames();
}

#[track_caller]
fn frames_come_as_they_were_and_both_ends_keep_their_run() {
    write_file("in.raw", &noise_frames(50, 1));
    // 10 bits in 16 become 10 bits in 10 on the way; flows differ in both ports.
    let packed = "--packing st2110-20 --source-ports --flows 5 --length 1400 --fec 4/16";
    let sender = send(&format!("in.raw --format {FORMAT} {packed}"));
    let receiver = recv("--from [::1] --latency 1s --no-gro --verify out.raw --packing yuv422p10le");
    let carried = finish(sender, receiver);
    carried.all_whole(50);
    same_files("in.raw", "out.raw");
    let (sent, received) = (&carried.sent, &carried.received);
    for (name, printed) in [("send", sent), ("recv", received)] {
        documented(name, printed);
    }
    assert_eq!(received["frames_verified"], 50);
    assert_eq!(received["frames_unequal"], 0);
    assert!(count(&sent["repairs"]) > 0, "{sent} {received}");
    assert!(received["senders"][0]["from"] == "[::1]", "{sent} {received}");
    for (database, kind, table) in [
        (SENT, "send", "send_seconds"),
        (RECEIVED, "recv", "frame_seconds"),
    ] {
        let stored = Database::open(database);
        let run: String =
            stored.one("SELECT kind || ' ' || outcome || ' ' || (summary ->> 'frames') FROM runs");
        assert_eq!(run, format!("{kind} finished 50"));
        assert_eq!(stored.one::<i64>(&format!("SELECT sum(frames) FROM {table}")), 50);
        assert_eq!(events(database), ["connected", "ended"], "{kind}");
        let refused = ran(3, &format!("diagnose 1 --db {database}"));
        refused.error_has("'weir report 1'");
    }

    // The format changes in the middle.
    let first = stream("W160 H120 F50:1 Ip A0:0 C420jpeg", 160 * 120 * 3 / 2, 32);
    let second = stream("W96 H64 F50:1 Ip A0:0 C444", 96 * 64 * 3, 33);
    write_file("in.y4m", &[first, second].concat());
    let sender = send("in.y4m --db changed.db");
    let receiver = recv(&format!("{LOCAL} out.y4m --as y4m --db change.db"));
    finish(sender, receiver).all_whole(40);
    same_files("in.y4m", "out.y4m");
    assert_eq!(events("change.db"), ["connected", "format", "ended"]);

    // The input ends inside a frame: whole frames before the cut are delivered, and then both ends say so.
    let raw = noise_frames(31, 31);
    write_file("cut.raw", &raw[..30 * FRAME_BYTES + 1234]);
    let sender = send(&format!("cut.raw --format {FORMAT} --db cut.db"));
    let receiver = recv(&format!("{LOCAL} cut-out.raw --db cuts.db")).wait(LIMIT);
    for done in [sender.wait(LIMIT), receiver] {
        failed(
            done,
            &["after 30 frames", "inside frame 30", "1234 of 76800 bytes"],
        );
    }
    same_bytes(&raw[..30 * FRAME_BYTES], &read_file("cut-out.raw"));

    // Settings come from a stored run, and options win.
    let agent = Agent::start(Host::Near, "");
    let test = "--rate 20Mbit/s --length 1400 --flows 3 --for 1s --db runs.db";
    ran(0, &format!("flows {} {test}", agent.local()));
    let sender = send(&format!(
        "--test-pattern {FORMAT} --frames 10 --from-run 1 --flows 5 --db runs.db"
    ));
    finish(sender, recv(&format!("{LOCAL} --db other.db"))).all_whole(10);
    let of =
        "SELECT (parameters ->> 'flows') || ' ' || (parameters ->> 'length') FROM runs WHERE kind = 'send'";
    assert_eq!(Database::open("runs.db").one::<String>(of), "5 1400");
}

/// Planes of 10-bit 4:2:2 that are black: luma 64, then both chroma 512, little-endian (ITU-R BT.709, section 6.10).
fn black() -> Vec<u8> {
    let half = FRAME_BYTES / 4;
    [
        64u16.to_le_bytes().repeat(half),
        512u16.to_le_bytes().repeat(half),
    ]
    .concat()
}

/// Every byte of the output is the sender's, or that of the frame before, or black; gives the frames with such bytes.
#[track_caller]
fn concealed(how: &str, shown: &[u8], sent: &[u8]) -> u64 {
    assert_eq!(shown.len(), sent.len(), "a frame for each, whole or not");
    let mut before = black();
    let mut damaged = 0;
    let pairs = shown.chunks(FRAME_BYTES).zip(sent.chunks(FRAME_BYTES));
    for (number, (shown, sent)) in pairs.enumerate() {
        let instead = if how == "repeat" { before } else { black() };
        // Packets may end within a sample.
        let strange = (0..FRAME_BYTES).find(|at| shown[*at] != sent[*at] && shown[*at] != instead[*at]);
        assert_eq!(
            strange, None,
            "frame {number}: a byte that is neither sent nor shown before"
        );
        damaged += u64::from(shown != sent);
        before = shown.to_vec();
    }
    damaged
}

#[track_caller]
fn what_is_reported_as_lost_is_what_was_dropped_and_is_concealed() {
    let mut before = 0;
    for how in ["repeat", "blank"] {
        let frames = noise_frames(100, 61);
        write_file("in.raw", &frames);
        let sender = send_on(
            Host::Far,
            &format!("--open in.raw --format {FORMAT} --flows 1 --no-arq --db {how}.db"),
        );
        let receiver = recv(&format!(
            "{FROM_FAR} --verify --conceal {how} out.raw --db to-{how}.db"
        ));
        let Carried { sent, received } = finish(sender, receiver);
        let one = from_one(&received);
        let lost = dropped() - before;
        before += lost;
        assert!(lost > 100, "{lost}");
        assert_eq!(counts(one, ["lost", "unrepaired"]), [lost; 2], "{received}");
        assert_eq!(
            count(&one["received"]) + lost,
            count(&sent["sources"]),
            "{sent} {received}"
        );
        let rows: i64 =
            Database::open(&format!("to-{how}.db")).one("SELECT sum(unrepaired) FROM recv_seconds");
        assert_eq!(rows as u64, lost);
        let counts = [
            "frames",
            "frames_damaged",
            "frames_lost",
            "frames_verified",
            "frames_dropped",
        ];
        let [whole, damaged, gone, verified, thrown] = counts.map(|name| count(&received[name]));
        assert_eq!(whole + damaged + gone, 100, "{received}");
        assert_eq!(verified, whole, "{received}");
        assert_eq!(thrown, 0, "{received}");
        assert_eq!(
            concealed(how, &read_file("out.raw"), &frames),
            damaged + gone,
            "{received}"
        );
        assert!(damaged > 30, "{received}");
    }
}

#[track_caller]
fn random_loss_is_repaired_to_the_same_frames() {
    write_file("in.raw", &noise_frames(100, 62));
    let mut before = dropped();
    for (name, options, by, not_by) in [
        ("arq", "", "retransmitted", "recovered"),
        ("fec", "--no-arq --fec 4/64", "recovered", "retransmitted"),
        // By which of the two is a matter of time.
        ("auto", "--fec auto", "lost", "unrepaired"),
    ] {
        let sender = send_on(
            Host::Far,
            &format!("--open in.raw --format {FORMAT} {options} --db {name}.db"),
        );
        let carried = finish(
            sender,
            recv(&format!("{FROM_FAR} --verify out.raw --db to-{name}.db")),
        );
        let lost = dropped() - before;
        before += lost;
        carried.all_whole(100);
        same_files("in.raw", "out.raw");
        let one = from_one(&carried.received);
        let of = |name: &str| count(&one[name]);
        assert!(lost > 30 && of(by) > 0, "{lost}: {one}");
        assert_eq!((of("unrepaired"), of(not_by)), (0, 0), "{one}");
        // A packet that came again before it came itself counts as lost, and then as a duplicate.
        assert!(of("lost") <= lost + of("duplicates"), "{lost}: {one}");
        assert_eq!(of("lost"), of("retransmitted") + of("recovered"), "{one}");
    }
}
