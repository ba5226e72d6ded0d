//! Sources for the tests of indexes, segments and manifests, made by ffmpeg, and what ffmpeg and ffprobe say of files.
//! They know nothing of this crate. They have to be installed (`scripts/install_prerequisites.sh test`).

// Helpers of tests are no tests to clippy, and not every test uses all of them.
#![allow(clippy::unwrap_used, dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use weir_media::index::{FileIndex, IndexBuilder, IndexError, Step};

/// Ten seconds of moving pictures with B-frames and a sync sample every two seconds.
pub const VIDEO: &str = "-f lavfi -i testsrc2=size=320x180:rate=25:duration=10";
/// Ten seconds of sound.
pub const AUDIO: &str = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=10";
/// How the pictures are encoded.
pub const H264: &str =
    "-c:v libx264 -preset veryfast -bf 2 -g 50 -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p";
/// The same with other encoders.
pub const H265: &str = "-c:v libx265 -preset ultrafast -tag:v hvc1 -pix_fmt yuv420p -x265-params \
     log-level=error:keyint=50:min-keyint=50:scenecut=0:open-gop=0:bframes=2";
/// And of AV1.
pub const AV1: &str = "-c:v libaom-av1 -cpu-used 8 -g 50 -keyint_min 50 -pix_fmt yuv420p";
/// How the sound is.
pub const AAC: &str = "-c:a aac -b:a 96k -ac 2";
/// The same with other encoders.
pub const OPUS: &str = "-c:a libopus -b:a 96k -ac 2";
/// And of AC-3.
pub const AC3: &str = "-c:a ac3 -b:a 192k -ac 2";

/// Runs a program to its end; its standard output.
pub fn run<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> Vec<u8> {
    let arguments: Vec<A> = arguments.into_iter().collect();
    let output = Command::new(program)
        .args(&arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    let shown: Vec<_> = arguments
        .iter()
        .map(|argument| argument.as_ref().to_string_lossy())
        .collect();
    assert!(
        output.status.success(),
        "{program} {}: {}",
        shown.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// ffmpeg with these arguments, split at spaces, and a file; its standard output.
pub fn ffmpeg(arguments: &str, input: &Path, behind: &str) -> Vec<u8> {
    let mut all: Vec<String> = ["-nostdin", "-v", "error"].map(str::to_owned).to_vec();
    all.extend(arguments.split_whitespace().map(str::to_owned));
    all.extend(["-i".to_owned(), input.to_str().unwrap().to_owned()]);
    all.extend(behind.split_whitespace().map(str::to_owned));
    run("ffmpeg", all)
}

/// Makes a file with ffmpeg; `arguments` are split at spaces.
pub fn make(folder: &Path, name: &str, arguments: &str) -> PathBuf {
    let path = folder.join(name);
    let mut all: Vec<&str> = vec!["-nostdin", "-v", "error"];
    all.extend(arguments.split_whitespace());
    all.push(path.to_str().unwrap());
    run("ffmpeg", all);
    path
}

/// The same, made once and kept under cargo's target folder, for sources that several tests read and are slow to make. They
/// are made anew with another ffmpeg.
pub fn kept(name: &str, arguments: &str) -> PathBuf {
    static MAKING: Mutex<()> = Mutex::new(());
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hasher = DefaultHasher::new();
    (run("ffmpeg", ["-version"]), name, arguments).hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sources");
    let path = folder.join(format!("{:016x}-{name}", hasher.finish()));
    if !path.exists() {
        fs::create_dir_all(&folder).unwrap();
        // Under another name until it is whole: tests may be killed.
        let unfinished = tempfile::tempdir_in(&folder).unwrap();
        fs::rename(make(unfinished.path(), name, arguments), &path).unwrap();
    }
    path
}

/// The index of bytes, and what was read for it.
pub fn index_bytes(bytes: &[u8]) -> Result<(FileIndex, Vec<Range<u64>>), IndexError> {
    let length = bytes.len() as u64;
    let mut builder = IndexBuilder::new(length);
    let mut reads = Vec::new();
    loop {
        match builder.step()? {
            Step::Done(index) => return Ok((index, reads)),
            Step::Read(range) => {
                assert!(range.start < range.end && range.end <= length, "{range:?}");
                builder.give(range.start, &bytes[range.start as usize..range.end as usize]);
                reads.push(range);
            }
        }
    }
}

/// The index of a file, and what was read for it.
pub fn index(path: &Path) -> (FileIndex, Vec<Range<u64>>) {
    index_bytes(&fs::read(path).unwrap()).unwrap()
}

/// A packet as ffprobe shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub pts: i64,
    pub dts: i64,
    pub size: u32,
    pub position: u64,
    pub key: bool,
    pub discarded: bool,
}

/// The packets of a stream of a file.
pub fn packets(path: &Path, stream: usize, options: &str) -> Vec<Packet> {
    let mut all: Vec<String> = "-v error -of json -show_packets -select_streams"
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    all.push(stream.to_string());
    all.extend(options.split_whitespace().map(str::to_owned));
    all.push(path.to_str().unwrap().to_owned());
    let shown: Value = serde_json::from_slice(&run("ffprobe", all)).unwrap();
    let number = |packet: &Value, field: &str| match &packet[field] {
        Value::Number(number) => number.as_i64().unwrap(),
        Value::String(text) => text.parse().unwrap(),
        other => panic!("{field}: {other}"),
    };
    shown["packets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|packet| {
            let flags = packet["flags"].as_str().unwrap();
            Packet {
                pts: number(packet, "pts"),
                dts: number(packet, "dts"),
                size: number(packet, "size") as u32,
                position: number(packet, "pos") as u64,
                key: flags.contains('K'),
                discarded: flags.contains('D'),
            }
        })
        .collect()
}

/// Hashes of the packets or, decoded, of the frames of a stream, in order.
pub fn hashes(input: &Path, options: &str, stream: &str, codec: &str) -> Vec<String> {
    let behind = format!("-map {stream} {codec} -f framemd5 -");
    let text = String::from_utf8(ffmpeg(options, input, &behind)).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        // Behind the hash there may be those of side data.
        .map(|line| line.split(',').nth(5).unwrap().trim().to_owned())
        .collect()
}
