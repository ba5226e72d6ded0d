//! Titles that ffmpeg makes, and what it decodes of what is played.

use std::process::Command;

use crate::{Finished, LIMIT, run_within};

/// Ten seconds of moving pictures, and a tone.
pub const PICTURES: &str = "-f lavfi -i testsrc2=size=320x180:rate=25:duration=10";
/// A tone of ten seconds.
const TONE: &str = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=10";
/// With B-frames, and a sync sample every second.
pub const VIDEO: &str =
    "-c:v libx264 -preset veryfast -bf 2 -g 25 -keyint_min 25 -sc_threshold 0 -pix_fmt yuv420p";
/// AAC.
const SOUND: &str = "-c:a aac -b:a 96k";

/// Runs ffmpeg, which must succeed without a word.
#[track_caller]
pub fn ffmpeg(arguments: &str) -> Finished {
    let mut command = Command::new("ffmpeg");
    command
        .args(["-nostdin", "-loglevel", "error", "-y"])
        .args(arguments.split_whitespace());
    let done = run_within(LIMIT, command).expect_code(0);
    assert!(done.stderr.is_empty(), "ffmpeg {arguments}: {}", done.stderr);
    done
}

/// Hashes of the decoded frames of a stream such as `v:0`, in the order in which they are shown.
#[track_caller]
pub fn frames(input: &str, stream: &str) -> Vec<String> {
    frames_with("", input, stream)
}

/// The same with options for the reader.
#[track_caller]
pub fn frames_with(options: &str, input: &str, stream: &str) -> Vec<String> {
    let done = ffmpeg(&format!("{options} -i {input} -map 0:{stream} -f framemd5 -"));
    let lines = done.stdout.lines().filter(|line| !line.starts_with('#'));
    let hashes: Vec<String> = lines
        .filter_map(|line| Some(line.rsplit(',').next()?.trim().to_owned()))
        .collect();
    assert!(!hashes.is_empty(), "{input} has no frames of {stream}");
    hashes
}

/// The same sound, but for what the edit list cuts off in front: ffmpeg does not look at it in DASH and HLS, and plays
/// the frame in which the encoder got going.
#[track_caller]
pub fn assert_same_sound(played: &[String], source: &[String]) {
    assert!(played.ends_with(source), "{played:?} is not {source:?}");
    assert!(
        played.len() <= source.len() + 1,
        "{} frames for {}",
        played.len(),
        source.len()
    );
}

/// Titles: one of several files, one of a single file, and one that is damaged.
pub fn make_titles(root: &str) {
    for folder in ["several", "broken"] {
        std::fs::create_dir_all(format!("{root}/{folder}")).expect("a folder");
    }
    ffmpeg(&format!("{PICTURES} {VIDEO} -b:v 600k {root}/several/high.mp4"));
    ffmpeg(&format!(
        "{PICTURES} {VIDEO} -b:v 150k -vf scale=160:90 {root}/several/low.mp4"
    ));
    ffmpeg(&format!("{TONE} {SOUND} {root}/several/sound.mp4"));
    let subtitles = "WEBVTT\n\n00:01.000 --> 00:02.000\nGuten Tag\n";
    std::fs::write(format!("{root}/several/film.de.vtt"), subtitles).expect("a file");
    let both = format!("{PICTURES} {TONE} {VIDEO} -b:v 300k {SOUND}");
    ffmpeg(&format!("{both} -movflags +faststart {root}/one.mp4"));
    let fragments = "-movflags +frag_keyframe+empty_moov+default_base_moof";
    ffmpeg(&format!("{both} {fragments} {root}/fragmented.mp4"));
    let whole = std::fs::read(format!("{root}/one.mp4")).expect("a file");
    std::fs::write(format!("{root}/broken/cut.mp4"), &whole[..2000]).expect("a file");
}
