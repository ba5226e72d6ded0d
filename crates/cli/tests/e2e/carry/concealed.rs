//! What is shown for what is missing: every byte of the output is the sender's, or that of the frame before, or black.

use weir_rig::carry::{FORMAT, FRAME_BYTES, finish, noise_frames, read_file, recv, send_on, write_file};
use weir_rig::carry::{FROM_FAR, lossy_link};
use weir_rig::{Host, count, isolated};

const FRAMES: usize = 100;

/// Planes of 10-bit 4:2:2 that are black: luma 64, then both chroma 512, little-endian (ITU-R BT.709, section 6.10).
fn black() -> Vec<u8> {
    let half = FRAME_BYTES / 4;
    let luma = 64u16.to_le_bytes().repeat(half);
    let chroma = 512u16.to_le_bytes().repeat(half);
    [luma, chroma].concat()
}

/// How many bytes of a frame are not the sender's; each of those has to be that of `instead`. (Packets may end within a
/// sample.)
#[track_caller]
fn concealed(number: usize, shown: &[u8], sent: &[u8], instead: &[u8]) -> usize {
    let bytes = || shown.iter().zip(sent).zip(instead);
    let strange = bytes().position(|((shown, sent), instead)| shown != sent && shown != instead);
    assert_eq!(
        strange, None,
        "frame {number}: a byte that is neither sent nor shown before"
    );
    bytes().filter(|((shown, sent), _)| shown != sent).count()
}

fn check(how: &str) {
    // Every 40th packet, over one flow, and nothing repairs it.
    lossy_link("numgen inc mod 40 == 7");
    let sent = noise_frames(FRAMES, 61);
    write_file("in.raw", &sent);
    let options = ["--open", "in.raw", "--format", FORMAT, "--flows", "1", "--no-arq"];
    let sender = send_on(Host::Far, &options);
    let receiver = recv(&[&FROM_FAR[..], &["--conceal", how, "out.raw"]].concat());
    let received = finish(sender, receiver).received;
    let shown = read_file("out.raw");
    assert_eq!(shown.len(), sent.len(), "a frame for each, whole or not");

    let mut before = black();
    let (mut damaged, mut bytes) = (0, 0);
    let pairs = shown.chunks(FRAME_BYTES).zip(sent.chunks(FRAME_BYTES));
    for (number, (shown, sent)) in pairs.enumerate() {
        let instead = if how == "repeat" { before } else { black() };
        let found = concealed(number, shown, sent, &instead);
        damaged += u64::from(found > 0);
        bytes += found;
        before = shown.to_vec();
    }
    let counted = ["frames_damaged", "frames_lost"].map(|name| count(&received[name]));
    assert_eq!(damaged, counted.iter().sum::<u64>(), "{received}");
    assert!(damaged > 30 && bytes > 10_000, "{damaged} frames, {bytes} bytes");
}

#[test]
fn what_is_missing_is_shown_as_in_the_frame_before() {
    isolated!(heavy);
    check("repeat");
}

#[test]
fn what_is_missing_is_black() {
    isolated!(heavy);
    check("blank");
}
