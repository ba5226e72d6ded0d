//! Titles that ffmpeg makes, and what it decodes of what is played.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

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
    let done = encode(arguments);
    assert!(done.stderr.is_empty(), "ffmpeg {arguments}: {}", done.stderr);
    done
}

/// Runs ffmpeg, which must succeed; some encoders talk.
#[track_caller]
fn encode(arguments: &str) -> Finished {
    let mut command = Command::new("ffmpeg");
    command
        .args(["-nostdin", "-loglevel", "error", "-y"])
        .args(arguments.split_whitespace());
    run_within(LIMIT, command).expect_code(0)
}

/// A file that ffmpeg makes with these arguments, whose container is what the end of `name` says. It is made once, and stays
/// under cargo's target folder, since encoders take longer than most tests that read what they made. Another version of
/// ffmpeg makes it anew.
#[track_caller]
pub fn kept(name: &str, arguments: &str) -> PathBuf {
    static VERSION: LazyLock<String> = LazyLock::new(|| ffmpeg("-version").stdout);
    static MAKING: Mutex<()> = Mutex::new(());
    static UNFINISHED: AtomicU64 = AtomicU64::new(0);
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, container) = name.rsplit_once('.').expect("a container");
    let mut hasher = DefaultHasher::new();
    (&*VERSION, container, arguments).hash(&mut hasher);
    // target/debug/deps/TEST
    let test = std::env::current_exe().expect("the path of the test");
    let target = test.ancestors().nth(3).expect("cargo's target folder");
    let folder = target.join("tmp/films");
    let path = folder.join(format!("{:016x}.{container}", hasher.finish()));
    if !path.exists() {
        std::fs::create_dir_all(&folder).expect("a folder");
        // Under another name until it is whole: tests may be killed, and other programs may make it at this moment.
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{}-{number}.{container}", std::process::id()));
        encode(&format!("{arguments} {}", unfinished.display()));
        std::fs::rename(&unfinished, &path).expect("the same folder");
    }
    path
}

/// What makes another layout of what ffmpeg encodes with the arguments `encoded`: its packets are copied, which takes no time.
#[track_caller]
pub fn laid_out(encoded: &str, layout: &str) -> String {
    format!("-i {} -c copy {layout}", kept("encoded.mp4", encoded).display())
}

/// The same at a place of the test's own, where it may be changed.
#[track_caller]
pub fn make(path: &Path, arguments: &str) {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    std::fs::copy(kept(name, arguments), path).expect("the folder that it is for");
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
        std::fs::create_dir_all(Path::new(root).join(folder)).expect("a folder");
    }
    let root = Path::new(root);
    let make = |name: &str, arguments: String| make(&root.join(name), &arguments);
    make("several/high.mp4", format!("{PICTURES} {VIDEO} -b:v 600k"));
    let smaller = format!("{PICTURES} {VIDEO} -b:v 150k -vf scale=160:90");
    make("several/low.mp4", smaller);
    make("several/sound.mp4", format!("{TONE} {SOUND}"));
    let subtitles = "WEBVTT\n\n00:01.000 --> 00:02.000\nGuten Tag\n";
    std::fs::write(root.join("several/film.de.vtt"), subtitles).expect("a file");
    let both = format!("{PICTURES} {TONE} {VIDEO} -b:v 300k {SOUND}");
    make("one.mp4", format!("{both} -movflags +faststart"));
    let fragments = "-movflags +frag_keyframe+empty_moov+default_base_moof";
    make("fragmented.mp4", format!("{both} {fragments}"));
    let whole = std::fs::read(root.join("one.mp4")).expect("a file");
    std::fs::write(root.join("broken/cut.mp4"), &whole[..2000]).expect("a file");
}
