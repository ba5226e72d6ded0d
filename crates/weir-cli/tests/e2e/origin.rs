//! `weir origin` as a user starts it: titles that ffmpeg has made, played over HTTP by ffmpeg, frame for frame what they were.

use std::path::Path;
use std::process::Command;

use crate::LIMIT;
use crate::lab::{self, Finished, Running, isolated, run_within, weir};

/// Ten seconds of moving pictures, and a tone.
const PICTURES: &str = "-f lavfi -i testsrc2=size=320x180:rate=25:duration=10";
const TONE: &str = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=10";
/// With B-frames, and a sync sample every second.
const VIDEO: &str =
    "-c:v libx264 -preset veryfast -bf 2 -g 25 -keyint_min 25 -sc_threshold 0 -pix_fmt yuv420p";
const SOUND: &str = "-c:a aac -b:a 96k";

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
fn frames(input: &str, stream: &str) -> Vec<String> {
    let done = ffmpeg(&format!("-i {input} -map 0:{stream} -f framemd5 -"));
    let lines = done.stdout.lines().filter(|line| !line.starts_with('#'));
    let hashes: Vec<String> = lines
        .filter_map(|line| Some(line.rsplit(',').next()?.trim().to_owned()))
        .collect();
    assert!(!hashes.is_empty(), "{input} has no frames of {stream}");
    hashes
}

/// The same sound, but for what the edit list cuts off in front: ffmpeg does not look at it in DASH and HLS, and plays the
/// frame in which the encoder got going.
#[track_caller]
fn assert_same_sound(played: &[String], source: &[String]) {
    assert!(played.ends_with(source), "{played:?} is not {source:?}");
    assert!(
        played.len() <= source.len() + 1,
        "{} frames for {}",
        played.len(),
        source.len()
    );
}

/// Titles: one of several files, one of a single file, and one that is damaged.
fn make_titles(root: &str) {
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

/// An origin that is served, and its address.
#[track_caller]
pub fn start(options: &[&str]) -> (Running, String) {
    let arguments = [&["origin"], options, &["--listen", "127.0.0.1:0"]].concat();
    let mut process = Running::start(weir(&arguments));
    let url = process.first_line(LIMIT);
    (process, url)
}

#[track_caller]
pub fn stop(process: Running) -> Finished {
    process.signal("TERM");
    process.wait(LIMIT).expect_code(0)
}

#[test]
fn titles_play_frame_for_frame_as_dash_and_as_hls() {
    isolated!(heavy);
    let root = lab::path("media");
    make_titles(&root);
    let (process, url) = start(&[&root, "--segment", "2s"]);
    for manifest in ["manifest.mpd", "master.m3u8"] {
        let played = |title: &str, stream: &str| frames(&format!("{url}{title}/{manifest}"), stream);
        for (stream, file) in [("v:0", "several/high.mp4"), ("v:1", "several/low.mp4")] {
            let source = frames(&format!("{root}/{file}"), "v:0");
            assert_eq!(source.len(), 250);
            assert_eq!(played("several", stream), source, "{manifest} {stream}");
        }
        let source = frames(&format!("{root}/several/sound.mp4"), "a:0");
        assert_same_sound(&played("several", "a:0"), &source);
        for title in ["one.mp4", "fragmented.mp4"] {
            let source = |stream: &str| frames(&format!("{root}/{title}"), stream);
            assert_eq!(played(title, "v:0"), source("v:0"), "{title} {manifest}");
            assert_same_sound(&played(title, "a:0"), &source("a:0"));
        }
    }
    stop(process);
}

/// Asks for the addresses in its arguments and prints status and body of each as JSON.
const GET: &str = r#"
import json, sys, urllib.error, urllib.request
answers = []
for url in sys.argv[1:]:
    try:
        answer = urllib.request.urlopen(url, timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    answers.append({"status": answer.status, "body": answer.read().decode("latin-1")})
print(json.dumps(answers))
"#;

#[track_caller]
pub fn get(urls: &[String]) -> Vec<(u64, String)> {
    let mut python = Command::new("python3");
    python.args(["-c", GET]).args(urls);
    let told = run_within(LIMIT, python).expect_code(0).json();
    let told = told.as_array().expect("answers").iter();
    told.map(|answer| {
        (
            crate::count(&answer["status"]),
            answer["body"].as_str().expect("a body").to_owned(),
        )
    })
    .collect()
}

#[test]
fn media_is_read_once_and_the_index_once_for_all() {
    isolated!(heavy);
    let root = lab::path("media");
    make_titles(&root);
    let cache = lab::path("cache");
    let (process, url) = start(&[&root, "--segment", "2s", "--disk-cache", &cache]);
    let at = |path: &str| format!("{url}{path}");
    let answers = get(&[
        at("several/manifest.mpd"),
        at("several/manifest.mpd?filter=height%3C%3D90"),
        at("several/video/v1/playlist.m3u8"),
        at("several/subtitles/s1/text.vtt"),
        at("several/video/v9/init.mp4"),
        at("several/manifest.mpd?filter=nonsense"),
        at("broken/manifest.mpd"),
        at("none/manifest.mpd"),
        at("one.mp4"),
    ]);
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 404, 400, 502, 404, 404]);
    assert_eq!(answers[0].1.matches("contentType=\"video\"").count(), 1);
    assert_eq!(answers[0].1.matches("<Representation ").count(), 4);
    assert_eq!(answers[1].1.matches("<Representation ").count(), 3);
    assert!(answers[3].1.contains("Guten Tag"));
    assert!(answers[6].1.contains("bad_media"), "{}", answers[6].1);
    let segments: Vec<String> = answers[2]
        .1
        .lines()
        .filter(|line| line.ends_with(".m4s"))
        .map(|line| at(&format!("several/video/v1/{line}")))
        .collect();
    assert_eq!(segments.len(), 5);
    let before = metrics(&url);
    let sent: u64 = get(&segments)
        .iter()
        .map(|(status, body)| {
            assert_eq!(*status, 200);
            // Each byte is a character in Latin-1.
            body.chars().count() as u64
        })
        .sum();
    let after = metrics(&url);
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown("weir_origin_storage_reads_total{kind=\"media\"}"), 5);
    assert_eq!(grown("weir_origin_storage_reads_total{kind=\"index\"}"), 0);
    assert_eq!(grown("weir_origin_sent_bytes_total{kind=\"media\"}"), sent);
    let read = grown("weir_origin_storage_bytes_total{kind=\"media\"}");
    assert!(read < sent && read > sent * 9 / 10, "{read} for {sent}");
    stop(process);
    assert!(Path::new(&cache).read_dir().expect("a cache").count() >= 3);
}

#[track_caller]
pub fn metrics(url: &str) -> String {
    get(&[format!("{url}metrics")]).remove(0).1
}

#[track_caller]
pub fn value(metrics: &str, sample: &str) -> u64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {sample} in {metrics}"))
        .parse()
        .expect("a number")
}

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    isolated!();
    let refused = |arguments: &[&str], code: i32, word: &str| {
        let all = [&["origin"], arguments].concat();
        let done = run_within(LIMIT, weir(&all)).expect_code(code);
        assert!(done.stderr.contains(word), "{arguments:?}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{}", done.stdout);
    };
    refused(&["/nowhere/at/all"], 3, "name a folder that is there");
    refused(&["ftp://host/films"], 2, "s3://BUCKET/PREFIX");
    refused(&[".", "--listen", "192.0.2.1:0"], 3, "--listen");
    refused(&[".", "--configuration", "F"], 2, "A, B, C, D or E");
    let (process, url) = start(&["."]);
    let taken = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    refused(&[".", "--listen", &taken], 3, "in use");
    let done = stop(process);
    assert_eq!(done.stdout, format!("{url}\n"));
    assert!(done.stderr.contains("Ctrl-C ends it"), "{}", done.stderr);
}
