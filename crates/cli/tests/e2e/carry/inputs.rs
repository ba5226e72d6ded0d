//! Inputs that are not what they should be, and inputs that change.

use weir_rig::carry::{
    FORMAT, FRAME_BYTES, LOCAL, RECEIVED, SENT, all_whole, carry, events, failed, noise_frames, read_file,
    recv, same_bytes, same_files, send, write_file,
};
use weir_rig::{Database, LIMIT, Noise, count, isolated, run_within, weir};

#[test]
fn an_input_that_cannot_be_sent_is_refused_in_one_line() {
    isolated!();
    write_file("raw", &[0; 1000]);
    write_file("empty", b"");
    write_file("bad.y4m", b"YUV4MPEG2 W160 H120 F50:1 Cunknown\nFRAME\n");
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (
            &["nowhere.raw"],
            2,
            &["cannot open the input nowhere.raw", "No such file"],
        ),
        (&["/tmp"], 2, &["/tmp", "directory"]),
        (&["raw"], 2, &["--format", "1920x1080@59.94:yuv422p10le"]),
        (&["bad.y4m"], 3, &["colour space 'unknown'"]),
        (&["empty"], 3, &["empty"]),
        (&["raw", "--format", "160x120:yuv422p10le"], 2, &["--format"]),
        (&["raw", "--format", "160x120@50:nonsense"], 2, &["nonsense"]),
        (&["raw", "--format", FORMAT, "--packing", "rgba"], 2, &["rgba"]),
        (&["--test-pattern", FORMAT, "--fec", "96/12"], 2, &["--fec"]),
    ];
    for (options, code, words) in cases {
        let done = run_within(LIMIT, weir(&[&["send", "--json"], options].concat())).expect_code(code);
        for word in words {
            assert!(
                done.stderr.contains(word),
                "{options:?}: '{word}' in: {}",
                done.stderr
            );
        }
        assert!(done.stdout.is_empty(), "{options:?}: {}", done.stdout);
    }
}

#[test]
fn whole_frames_before_the_cut_are_delivered_and_then_both_ends_say_so() {
    isolated!();
    let raw = noise_frames(31, 31);
    let cut = 30 * FRAME_BYTES + 1234;
    write_file("in.raw", &raw[..cut]);
    let sender = send(&["in.raw", "--format", FORMAT]);
    let receiver = recv(&[&LOCAL[..], &["out.raw"]].concat()).wait(LIMIT);
    let said = ["after 30 frames", "inside frame 30", "1234 of 76800 bytes"];
    let sent = failed(sender.wait(LIMIT), 3, &said).json();
    let received = failed(receiver, 3, &said).json();
    assert_eq!(sent["run"]["outcome"], "failed", "{sent}");
    assert_eq!(count(&sent["frames"]), 30, "{sent}");
    all_whole(&received, 30);
    same_bytes(&raw[..30 * FRAME_BYTES], &read_file("out.raw"));
    for database in [SENT, RECEIVED] {
        let reason: String = Database::open(database).one("SELECT reason FROM runs");
        assert!(reason.contains("inside frame 30"), "{database}: {reason}");
        assert_eq!(events(database), ["connected", "stopped"], "{database}");
    }
}

/// Frames of a Y4M stream whose header is `parameters`.
fn stream(parameters: &str, frame_bytes: usize, frames: usize, seed: u64) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let mut bytes = format!("YUV4MPEG2 {parameters}\n").into_bytes();
    for _ in 0..frames {
        bytes.extend_from_slice(b"FRAME\n");
        bytes.extend_from_slice(&noise.bytes(frame_bytes));
    }
    bytes
}

#[test]
fn frames_of_two_formats_come_out_in_order_and_the_change_is_an_event() {
    isolated!();
    let first = stream("W160 H120 F50:1 Ip A0:0 C420jpeg", 160 * 120 * 3 / 2, 20, 32);
    let second = stream("W96 H64 F50:1 Ip A0:0 C444", 96 * 64 * 3, 20, 33);
    write_file("in.y4m", &[first, second].concat());
    let carried = carry(&["in.y4m"], &["out.y4m", "--as", "y4m", "--verify"]);
    carried.all_whole(40);
    assert_eq!(count(&carried.received["frames_verified"]), 40);
    same_files("in.y4m", "out.y4m");
    for database in [SENT, RECEIVED] {
        assert_eq!(events(database), ["connected", "format", "ended"], "{database}");
        let detail: String =
            Database::open(database).one("SELECT detail FROM media_events WHERE event = 'format'");
        assert!(detail.contains("96") && detail.contains("64"), "{detail}");
    }
}
