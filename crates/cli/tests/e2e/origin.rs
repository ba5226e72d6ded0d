//! `weir origin` as a user starts it: titles that ffmpeg has made, played over HTTP by ffmpeg, frame for frame what
//! they were.

use std::path::Path;
use weir_rig::film::{assert_same_sound, frames, frames_with, make_titles};
use weir_rig::origin::{get, metrics, start, stop, value};

use weir_rig::{LIMIT, isolated, run_within, weir};

#[test]
fn titles_play_frame_for_frame_as_dash_and_as_hls() {
    isolated!(heavy);
    let root = weir_rig::path("media");
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

/// Rules of a key file, one for each scheme, and the key of all of them.
fn write_keys(file: &str, titles: &[(&str, &str)]) {
    let rule = |(title, scheme): &(&str, &str)| {
        format!(
            "[[title]]\npath = '{title}'\nscheme = '{scheme}'\nkey_id = '10000000200030004000500000000000'\nkey = '{CONTENT_KEY}'\n"
        )
    };
    let rules: String = titles.iter().map(rule).collect();
    std::fs::write(file, rules).expect("a file");
}

const CONTENT_KEY: &str = "00112233445566778899aabbccddeeff";

#[test]
fn encrypted_titles_play_frame_for_frame() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    let keys = weir_rig::path("keys.toml");
    write_keys(
        &keys,
        &[
            ("several", "aes-128"),
            ("one.mp4", "cenc"),
            ("fragmented.mp4", "cbcs"),
        ],
    );
    let (process, url) = start(&[
        &root,
        "--segment",
        "2s",
        "--keys",
        &keys,
        "--serve-keys",
        "--files",
    ]);
    // Players of HLS get the key by themselves.
    for (stream, file) in [("v:0", "several/high.mp4"), ("v:1", "several/low.mp4")] {
        let source = frames(&format!("{root}/{file}"), "v:0");
        assert_eq!(
            frames(&format!("{url}several/master.m3u8"), stream),
            source,
            "{stream}"
        );
    }
    let sound = frames(&format!("{root}/several/sound.mp4"), "a:0");
    assert_same_sound(&frames(&format!("{url}several/master.m3u8"), "a:0"), &sound);
    let source = |stream: &str| frames(&format!("{root}/one.mp4"), stream);
    let played = |stream: &str| {
        let key = format!("-cenc_decryption_key {CONTENT_KEY}");
        frames_with(&key, &format!("{url}one.mp4/manifest.mpd"), stream)
    };
    assert_eq!(played("v:0"), source("v:0"));
    assert_same_sound(&played("a:0"), &source("a:0"));
    let answers = get(&[
        format!("{url}one.mp4"),
        format!("{url}several/high.mp4"),
        format!("{url}several/high.mp4/master.m3u8"),
        format!("{url}fragmented.mp4/manifest.mpd"),
    ]);
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [403, 403, 200, 200]);
    assert!(
        answers[2].1.contains("#EXT-X-SESSION-KEY:METHOD=AES-128"),
        "{}",
        answers[2].1
    );
    assert!(answers[3].1.contains("value=\"cbcs\""), "{}", answers[3].1);
    stop(process);
}

#[test]
fn nothing_is_clear_while_the_key_server_is_down() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    let (process, url) = start(&[&root, "--key-server", "http://127.0.0.1:9/keys", "--files"]);
    let answers = get(&[
        format!("{url}several/manifest.mpd"),
        format!("{url}several/video/v1/0.m4s"),
        format!("{url}several/audio/a1/init.mp4"),
        format!("{url}several/high.mp4"),
    ]);
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [503, 503, 503, 403]);
    assert!(answers[1].1.contains("key_unavailable"), "{}", answers[1].1);
    assert_eq!(
        value(
            &metrics(&url),
            "weir_origin_errors_total{cause=\"key_unavailable\"}"
        ),
        3
    );
    stop(process);
}

#[test]
fn media_is_read_once_and_the_index_once_for_all() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_titles(&root);
    let cache = weir_rig::path("cache");
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

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    isolated!();
    let refused = |arguments: &[&str], code: i32, word: &str| {
        let all = [&["origin"], arguments].concat();
        let done = run_within(LIMIT, weir(&all)).expect_code(code);
        assert!(done.stderr.contains(word), "{arguments:?}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{}", done.stdout);
    };
    refused(&["/nowhere/at/all"], 3, "name an existing folder");
    refused(&["ftp://host/films"], 2, "s3://BUCKET/PREFIX");
    refused(&[".", "--listen", "192.0.2.1:0"], 3, "--listen");
    refused(&[".", "--configuration", "F"], 2, "A, B, C, D or E");
    refused(&[".", "--keys", "/nowhere"], 3, "--keys");
    refused(&[".", "--key-server", "keys"], 3, "http://");
    let (process, url) = start(&["."]);
    let taken = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    refused(&[".", "--listen", &taken], 3, "in use");
    let done = stop(process);
    assert_eq!(done.stdout, format!("{url}\n"));
    assert!(done.stderr.contains("Ctrl-C stops it"), "{}", done.stderr);
}
