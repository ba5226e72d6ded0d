//! Titles as their owners describe them, indexes built ahead, dref MP4s and tracks as single files, all as a user has
//! them: with the built binary, media of ffmpeg, and players that are not Weir's.

use std::path::Path;
use std::process::Command;

use weir_rig::film::{
    PICTURES, SOUND, TONE, VIDEO, assert_same_sound, ffmpeg, frames, frames_with, make_titles,
};
use weir_rig::origin::{get, metrics, start, stop, value};
use weir_rig::{Finished, LIMIT, isolated, run_within, weir};

/// Runs `weir origin` with these arguments to its end.
#[track_caller]
fn origin(arguments: &[&str], code: i32) -> Finished {
    run_within(LIMIT, weir(&[&["origin"], arguments].concat())).expect_code(code)
}

fn write(path: &str, text: &str) {
    std::fs::write(path, text).expect("a file");
}

/// A manifest with everything that can be said, one in JSON with a clip, and one of SMIL.
fn write_manifests(root: &str) {
    write(
        &format!("{root}/several/title.toml"),
        r#"
[[track]]
file = "low.mp4"
name = "small"

[[track]]
file = "sound.mp4"
kind = "audio"
language = "de"
label = "Deutsch & mehr"
roles = ["alternate"]

[[track]]
file = "sound.mp4"
track = 1
name = "english"
language = "en"
label = "English"
default = true

[[subtitles]]
file = "film.de.vtt"
language = "de"
label = "Untertitel"
roles = ["caption"]
"#,
    );
    write(
        &format!("{root}/several/part.json"),
        r#"{"clip": {"start": "2s", "end": "4s"}, "track": [{"file": "high.mp4"}, {"file": "sound.mp4"}]}"#,
    );
    write(
        &format!("{root}/server.ism"),
        r#"<?xml version="1.0" encoding="utf-8"?>
<smil xmlns="http://www.w3.org/2001/SMIL20/Language"><head/><body><switch>
<video src="one.mp4" systemBitrate="300000"><param name="trackID" value="1" valuetype="data"/></video>
<audio src="several/sound.mp4" systemBitrate="96000" systemLanguage="fra"/>
</switch></body></smil>"#,
    );
}

#[test]
fn titles_are_what_their_manifests_say() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    write_manifests(&root);
    let (process, url) = start(&[&root, "--segment", "2s"]);
    let at = |path: &str| format!("{url}{path}");
    let answers = get(&[
        at("several/manifest.mpd"),
        at("several/master.m3u8"),
        at("several/part.json/manifest.mpd"),
        at("server.ism/manifest.mpd"),
    ]);
    assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
    let mpd = &answers[0].1;
    for part in [
        "id=\"small\"",
        "id=\"english\"",
        "lang=\"de\"",
        "<Label>Deutsch &amp; mehr</Label>",
        "value=\"alternate\"",
        "value=\"caption\"",
        "<Label>Untertitel</Label>",
    ] {
        assert!(mpd.contains(part), "{part} is not in {mpd}");
    }
    assert!(!mpd.contains("height=\"180\""), "{mpd}");
    let english = answers[1].1.lines().find(|line| line.contains("\"English\""));
    assert!(
        english.is_some_and(|line| line.contains("DEFAULT=YES")),
        "{}",
        answers[1].1
    );
    assert!(answers[2].1.contains("presentationTimeOffset=") && answers[2].1.contains(" duration=\"PT2"));
    assert!(answers[3].1.contains("lang=\"fr\""), "{}", answers[3].1);
    // What is played is what was named.
    let source = frames(&format!("{root}/several/low.mp4"), "v:0");
    assert_eq!(frames(&at("several/manifest.mpd"), "v:0"), source);
    let high = frames(&format!("{root}/several/high.mp4"), "v:0");
    assert_eq!(frames(&at("several/part.json/master.m3u8"), "v:0"), high[50..100]);
    let one = frames(&format!("{root}/one.mp4"), "v:0");
    assert_eq!(frames(&at("server.ism/master.m3u8"), "v:0"), one);
    let sound = frames(&format!("{root}/several/sound.mp4"), "a:0");
    assert_same_sound(&frames(&at("server.ism/master.m3u8"), "a:0"), &sound);
    stop(process);
}

#[test]
fn a_manifest_that_cannot_be_followed_is_said_with_what_is_wrong() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    let manifests = [
        (
            "up.toml",
            "[[track]]\nfile = '../one.mp4'",
            "is not the path of a file in its folder or below",
        ),
        (
            "root.toml",
            "[[track]]\nfile = '/etc/passwd'",
            "is not the path of a file in its folder or below",
        ),
        (
            "hidden.toml",
            "[[track]]\nfile = '.secret.mp4'",
            "is not the path of a file in its folder or below",
        ),
        (
            "key.toml",
            "[[track]]\nfile = 'low.mp4'\nlang = 'en'",
            "unknown field `lang`",
        ),
        ("key.json", "{\"tracks\": []}", "unknown field `tracks`"),
        (
            "gone.toml",
            "[[track]]\nfile = 'gone.mp4'",
            "gone.mp4, which does not exist",
        ),
        (
            "kind.toml",
            "[[track]]\nfile = 'low.mp4'\nkind = 'audio'",
            "no playable audio track",
        ),
        (
            "id.toml",
            "[[track]]\nfile = 'low.mp4'\ntrack = 7",
            "no playable track with the number 7",
        ),
        (
            "late.toml",
            "[clip]\nstart = '1h'\n[[track]]\nfile = 'low.mp4'",
            "after the end of the title",
        ),
        (
            "web.ism",
            "<smil><body><video src='http://a/b.mp4'/></body></smil>",
            "only files in the folder",
        ),
        (
            "entity.ism",
            "<!DOCTYPE a><smil/>",
            "a document type declaration is not allowed",
        ),
        ("wrong.ism", "no xml", "no smil element"),
    ];
    let mut urls = Vec::new();
    let (process, url) = start(&[&root]);
    for (name, text, _) in manifests {
        write(&format!("{root}/several/{name}"), text);
        urls.push(format!("{url}several/{name}/manifest.mpd"));
    }
    // Two manifests of SMIL in a folder do not say which is meant.
    urls.push(format!("{url}several/manifest.mpd"));
    let answers = get(&urls);
    for ((name, _, part), (status, body)) in manifests.iter().zip(&answers) {
        assert_eq!(*status, 502, "{name}: {body}");
        assert!(
            body.contains(part) && body.contains("\"bad_media\""),
            "{name}: {body}"
        );
    }
    let (status, body) = &answers[manifests.len()];
    assert!(*status == 502 && body.contains("several manifests"), "{body}");
    stop(process);
}

/// Writes a copy of a dref MP4 that names its media in Apple's way too (an `alis` data reference), which is the only
/// one that ffmpeg follows.
const AS_ALIAS: &str = r#"
import struct, sys
source, target, media = sys.argv[1:]
data = open(source, "rb").read()
assert b"mdat" not in data
path = media.encode()
record = bytes(10) + bytes([0]) + bytes(27) + bytes(12) + bytes([0]) + bytes(63) + bytes(16)
record += struct.pack(">HH", 1, 1) + bytes(16)
record += struct.pack(">HH", 2, len(path)) + path + bytes(len(path) % 2) + struct.pack(">HH", 0xffff, 0)
alias = struct.pack(">I", 12 + len(record)) + b"alis" + bytes(4) + record

def rewrite(data):
    out = b""
    while data:
        length, kind = struct.unpack(">I4s", data[:8])
        body, data = data[8:length], data[length:]
        if kind in (b"moov", b"trak", b"mdia", b"minf", b"dinf"):
            body = rewrite(body)
        elif kind == b"dref":
            assert body[4:8] == struct.pack(">I", 1) and body[12:16] == b"url ", body
            body = body[:8] + alias
        out += struct.pack(">I4s", len(body) + 8, kind) + body
    return out

open(target, "wb").write(rewrite(data))
"#;

#[test]
fn a_dref_mp4_is_an_index_of_its_media_for_others_and_for_the_origin() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    for title in ["one", "fragmented"] {
        let media = format!("{root}/{title}.mp4");
        let done = origin(&["dref", &media, "--json"], 0).json();
        let written = format!("{root}/{title}.dref.mp4");
        assert_eq!(done["output"].as_str(), Some(written.as_str()));
        assert_eq!(done["url"].as_str(), Some(format!("{title}.mp4").as_str()));
        assert_eq!(weir_rig::count(&done["tracks"]), 2);
        let bytes = |path: &str| std::fs::metadata(path).expect("a file").len();
        assert!(bytes(&written) < bytes(&media) / 10);
        let alias = format!("{root}/alias.mov");
        let mut python = Command::new("python3");
        python.args(["-c", AS_ALIAS, &written, &alias, &media]);
        run_within(LIMIT, python).expect_code(0);
        for stream in ["v:0", "a:0"] {
            let played = frames_with("-enable_drefs 1 -use_absolute_path 1", &alias, stream);
            assert_eq!(played, frames(&media, stream), "{title} {stream}");
        }
        std::fs::remove_file(alias).expect("it is there");
    }
    let moved = format!("{root}/elsewhere.mp4");
    let refused = origin(&["dref", &format!("{root}/one.mp4"), "-o", "x/y.mp4"], 3);
    assert!(refused.stderr.contains("cannot find"), "{}", refused.stderr);
    let refused = origin(
        &[
            "dref",
            &format!("{root}/one.mp4"),
            "-o",
            &format!("{root}/several/y.mp4"),
        ],
        2,
    );
    assert!(refused.stderr.contains("is not below"), "{}", refused.stderr);
    let refused = origin(&["dref", &format!("{root}/one.dref.mp4"), "-o", &moved], 2);
    assert!(
        refused.stderr.contains("references one.mp4"),
        "{}",
        refused.stderr
    );

    // A folder with both offers the film once, and a single dref MP4 is a title.
    std::fs::create_dir(format!("{root}/both")).expect("a folder");
    for name in ["one.mp4", "one.dref.mp4"] {
        std::fs::copy(format!("{root}/{name}"), format!("{root}/both/{name}")).expect("a copy");
    }
    let source = frames(&format!("{root}/one.mp4"), "v:0");
    let (process, url) = start(&[&root, "--fresh", "0s"]);
    for title in ["one.dref.mp4", "both"] {
        assert_eq!(
            frames(&format!("{url}{title}/master.m3u8"), "v:0"),
            source,
            "{title}"
        );
    }
    let mpd = get(&[format!("{url}both/manifest.mpd")]).remove(0).1;
    assert_eq!(mpd.matches("<Representation ").count(), 2, "{mpd}");
    // Media that are shorter than the index says, gone, or elsewhere.
    let whole = std::fs::read(format!("{root}/one.mp4")).expect("a file");
    std::fs::write(format!("{root}/one.mp4"), &whole[..whole.len() / 2]).expect("a file");
    let ask = || get(&[format!("{url}one.dref.mp4/manifest.mpd")]).remove(0);
    let (status, body) = ask();
    assert!(
        status == 502 && body.contains("its samples extend"),
        "{status} {body}"
    );
    std::fs::remove_file(format!("{root}/one.mp4")).expect("it is there");
    let (status, body) = ask();
    assert!(
        (status, body.contains("no such file")) == (502, true),
        "{status} {body}"
    );
    let dref = std::fs::read(format!("{root}/one.dref.mp4")).expect("a file");
    let named = |url: &[u8; 7]| {
        let mut changed = dref.clone();
        while let Some(at) = changed.windows(7).position(|found| found == b"one.mp4") {
            changed[at..at + 7].copy_from_slice(url);
        }
        std::fs::write(format!("{root}/one.dref.mp4"), changed).expect("a file");
    };
    for url in [b"../x.mp", b"/x/a.mp", b"ftp://a", b"%2e./a4"] {
        named(url);
        let (status, body) = ask();
        assert!(
            status == 502 && body.contains("only files in its folder or below"),
            "{status} {body}"
        );
    }
    stop(process);
}

#[test]
fn indexes_built_ahead_save_every_first_request() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    std::fs::remove_dir_all(format!("{root}/broken")).expect("it is there");
    let lines = |done: Finished| -> Vec<serde_json::Value> {
        let lines = done
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect()
    };
    let states =
        |told: &[serde_json::Value], state: &str| told.iter().filter(|line| line["state"] == state).count();
    let built = lines(origin(&["index", &root, "--json"], 0));
    assert_eq!((built.len(), states(&built, "built")), (5, 5), "{built:?}");
    assert!(Path::new(&format!("{root}/several/high.mp4.weir-index")).exists());
    let again = lines(origin(&["index", &root, "several", "--json"], 0));
    assert_eq!((again.len(), states(&again, "there")), (3, 3), "{again:?}");

    let index_reads = |options: &[&str], title: &str| {
        let (process, url) = start(&[&[root.as_str()][..], options].concat());
        let (status, mpd) = get(&[format!("{url}{title}/manifest.mpd")]).remove(0);
        assert_eq!(status, 200, "{mpd}");
        let told = metrics(&url);
        stop(process);
        let bytes = value(&told, "weir_origin_storage_bytes_total{kind=\"index\"}");
        // What never happened is not listed.
        let from_disk = "weir_origin_cache_lookups_total{kind=\"index\",tier=\"disk\"} ";
        let disk = told.lines().find_map(|line| line.strip_prefix(from_disk));
        let disk = disk.map_or(0, |count| count.parse().expect("a count"));
        (mpd, bytes, disk)
    };
    let stored = |names: &[&str]| -> u64 {
        let files = names.iter().map(|name| format!("{root}/{name}.weir-index"));
        files
            .map(|file| std::fs::metadata(file).expect("an index").len())
            .sum()
    };
    let three = ["several/high.mp4", "several/low.mp4", "several/sound.mp4"];
    let (with, bytes, _) = index_reads(&[], "several");
    assert_eq!(bytes, stored(&three), "nothing but the stored indexes is read");
    let (_, bytes, _) = index_reads(&[], "one.mp4");
    assert_eq!(bytes, stored(&["one.mp4"]));

    // In the folder of a cache: not even those are read.
    let cache = weir_rig::path("cache");
    let kept = lines(origin(&["index", &root, "several", "-o", &cache, "--json"], 0));
    assert_eq!(states(&kept, "built"), 3);
    let (kept, bytes, disk) = index_reads(&["--disk-cache", &cache], "several");
    assert!(
        kept == with && bytes == 0 && disk == 3,
        "{bytes} bytes, {disk} from disk"
    );

    // A file that was replaced is read itself, and another index is built for it.
    ffmpeg(&format!("{PICTURES} {VIDEO} -b:v 400k {root}/several/high.mp4"));
    let (replaced, bytes, _) = index_reads(&[], "several");
    assert!(replaced != with && bytes > stored(&three), "{bytes}");
    let done = origin(&["index", &root], 0);
    assert!(
        done.stdout.starts_with("several/high.mp4: 1 tracks, 250 samples"),
        "{}",
        done.stdout
    );
    assert!(
        done.stderr.contains("1 built, 4 up to date, 0 failed"),
        "{}",
        done.stderr
    );

    // What is damaged is said; the others are done all the same.
    write(&format!("{root}/several/low.mp4"), "no film");
    let failed = lines(origin(&["index", &root, "--json"], 3));
    assert_eq!(
        (states(&failed, "failed"), states(&failed, "there")),
        (1, 4),
        "{failed:?}"
    );
    let refused = origin(&["index", &root, "none.mp4"], 3);
    assert!(refused.stderr.contains("has no none.mp4"), "{}", refused.stderr);
    let refused = origin(&["index", "http://127.0.0.1:9/"], 3);
    assert!(
        refused.stderr.contains("name the titles to index"),
        "{}",
        refused.stderr
    );
}

/// Reads a single file whole, and in ranges that begin and end anywhere.
const RANGES: &str = r#"
import random, sys, urllib.request
url = sys.argv[1]
def ask(first=None, last=None):
    request = urllib.request.Request(url)
    if first is not None:
        request.add_header("Range", f"bytes={first}-{last}")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.status, answer.read()
status, whole = ask()
assert status == 200 and whole[4:8] == b"ftyp", status
choose = random.Random(7)
for _ in range(60):
    first = choose.randrange(len(whole))
    last = min(len(whole) - 1, first + choose.randrange(1, 200000))
    assert ask(first, last) == (206, whole[first:last + 1]), (first, last)
open(sys.argv[2], "wb").write(whole)
# Each segment, as the segment index says it.
at = whole.index(b"sidx") - 4
length = int.from_bytes(whole[at:at + 4], "big")
count = int.from_bytes(whole[at + 38:at + 40], "big")
start = at + length
print(count)
for number in range(count):
    entry = at + 40 + 12 * number
    size = int.from_bytes(whole[entry:entry + 4], "big")
    assert whole[start + 4:start + 8] == b"styp", start
    assert ask(start, start + size - 1)[1] == whole[start:start + size]
    start += size
assert start == len(whole)
"#;

#[test]
fn tracks_are_single_files_whose_ranges_make_one_read_a_segment() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    let clip = r#"{"clip": {"start": "2s", "end": "6s"}, "track": [{"file": "high.mp4"}]}"#;
    write(&format!("{root}/several/part.json"), clip);
    let (process, url) = start(&[&root, "--segment", "2s"]);
    for title in ["several", "one.mp4", "fragmented.mp4"] {
        let file = if title == "several" {
            "several/high.mp4"
        } else {
            title
        };
        let source = frames(&format!("{root}/{file}"), "v:0");
        let single = format!("{url}{title}/video/v1/track.mp4");
        let copy = weir_rig::path("single.mp4");
        let mut python = Command::new("python3");
        python.args(["-c", RANGES, &single, &copy]);
        let segments: u64 = run_within(LIMIT, python)
            .expect_code(0)
            .stdout
            .trim()
            .parse()
            .expect("a count");
        assert_eq!(segments, 5);
        assert_eq!(frames(&copy, "v:0"), source, "{title}");
        assert_eq!(
            frames(&format!("{url}{title}/on-demand.mpd"), "v:0"),
            source,
            "{title}"
        );
    }
    let part = frames(&format!("{url}several/part.json/on-demand.mpd"), "v:0");
    assert_eq!(part, frames(&format!("{root}/several/high.mp4"), "v:0")[50..150]);
    let (status, body) = get(&[format!("{url}several/on-demand.mpd?start=2")]).remove(0);
    assert!(status == 400 && body.contains("complete tracks"), "{body}");
    let before = metrics(&url);
    let head = get(&[format!("{url}several/on-demand.mpd?filter=height%3C%3D90")])
        .remove(0)
        .1;
    assert!(
        head.contains("isoff-on-demand") && !head.contains("height=\"180\""),
        "{head}"
    );
    let reads = "weir_origin_storage_reads_total{kind=\"media\"}";
    assert_eq!(value(&before, reads), value(&metrics(&url), reads));
    let segment = value_range(&head);
    let mut curl = Command::new("python3");
    let ask = "import sys, urllib.request as u\nr = u.Request(sys.argv[1], headers={'Range': sys.argv[2]})\nu.urlopen(r).read()";
    curl.args(["-c", ask, &format!("{url}several/video/v2/track.mp4"), &segment]);
    run_within(LIMIT, curl).expect_code(0);
    assert_eq!(
        value(&before, reads),
        value(&metrics(&url), reads),
        "the head is made, not read"
    );
    stop(process);
}

/// The range of the head of a single file, as the MPD says it.
fn value_range(mpd: &str) -> String {
    let (_, behind) = mpd.split_once("indexRange=\"").expect("an index range");
    let (range, _) = behind.split_once('"').expect("its end");
    format!("bytes={range}")
}

#[test]
fn the_tone_is_the_same_in_a_single_file() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    std::fs::create_dir_all(&root).expect("a folder");
    ffmpeg(&format!("{TONE} {SOUND} {root}/sound.mp4"));
    let (process, url) = start(&[&root, "--segment", "2s"]);
    let source = frames(&format!("{root}/sound.mp4"), "a:0");
    assert_same_sound(
        &frames(&format!("{url}sound.mp4/audio/a1/track.mp4"), "a:0"),
        &source,
    );
    stop(process);
}
