//! `weir origin` as a user starts it: titles that ffmpeg has made, played over HTTP by ffmpeg, frame for frame what they
//! were; on a bucket whose server checks each signature; with a certificate that changes; and its demo.

use std::path::Path;
use std::process::Command;

use weir_rig::film::{assert_same_sound, ffmpeg, frames, frames_with, make_titles};
use weir_rig::origin::{get, make_certificate, metrics, start, stop, value};
use weir_rig::{
    LIMIT, Running, count, isolated, ran, run, run_within, see_own_processes, wait_until, weir, weir_line,
};

use crate::documented;

const CONTENT_KEY: &str = "00112233445566778899aabbccddeeff";

/// A clip in JSON, a manifest of SMIL, and a key file with a rule for each scheme.
fn write_manifests() {
    let part =
        r#"{"clip": {"start": "2s", "end": "4s"}, "track": [{"file": "high.mp4"}, {"file": "sound.mp4"}]}"#;
    let smil = r#"<?xml version="1.0" encoding="utf-8"?>
<smil xmlns="http://www.w3.org/2001/SMIL20/Language"><head/><body><switch>
<video src="several/low.mp4" systemBitrate="300000"><param name="trackID" value="1" valuetype="data"/></video>
<audio src="several/sound.mp4" systemBitrate="96000" systemLanguage="fra"/>
</switch></body></smil>"#;
    let rule = |(title, scheme): (&str, &str)| {
        format!(
            "[[title]]\npath = '{title}'\nscheme = '{scheme}'\nkey_id = '10000000200030004000500000000000'\nkey = '{CONTENT_KEY}'\n"
        )
    };
    let rules = [("one.mp4", "cenc"), ("fragmented.mp4", "aes-128")]
        .map(rule)
        .concat();
    for (file, text) in [
        ("media/several/part.json", part),
        ("media/server.ism", smil),
        ("keys.toml", &rules),
    ] {
        std::fs::write(file, text).expect("a file");
    }
}

#[test]
fn clear_encrypted_described_and_referencing_titles_play_frame_for_frame_and_so_does_the_demo() {
    isolated!(heavy);
    make_titles("media");
    titles_clear_encrypted_and_described();
    a_dref_mp4_is_an_index_of_its_media_for_ffmpeg_and_for_the_origin();
    the_demo_plays_has_its_page_and_leaves_nothing();
}

#[track_caller]
fn titles_clear_encrypted_and_described() {
    write_manifests();
    let (process, url) = start("media --segment 2s --keys keys.toml --serve-keys --files");
    let played = |path: &str, stream: &str| frames(&format!("{url}{path}"), stream);
    let source = |file: &str, stream: &str| frames(&format!("media/{file}"), stream);
    let (high, sound) = (
        source("several/high.mp4", "v:0"),
        source("several/sound.mp4", "a:0"),
    );
    assert_eq!(high.len(), 250);
    for manifest in ["manifest.mpd", "master.m3u8"] {
        let path = format!("several/{manifest}");
        assert_eq!(played(&path, "v:0"), high, "{manifest}");
        assert_same_sound(&played(&path, "a:0"), &sound);
    }
    assert_eq!(played("several/on-demand.mpd", "v:0"), high);
    assert_eq!(played("several/part.json/master.m3u8", "v:0"), high[50..100]);
    assert_eq!(
        played("server.ism/manifest.mpd", "v:0"),
        source("several/low.mp4", "v:0")
    );

    // Players of HLS get the key by themselves.
    for stream in ["v:0", "a:0"] {
        let fragmented = source("fragmented.mp4", stream);
        assert_same_sound(&played("fragmented.mp4/master.m3u8", stream), &fragmented);
    }
    let key = format!("-cenc_decryption_key {CONTENT_KEY}");
    let decrypted = |stream: &str| frames_with(&key, &format!("{url}one.mp4/manifest.mpd"), stream);
    assert_eq!(decrypted("v:0"), source("one.mp4", "v:0"));
    assert_same_sound(&decrypted("a:0"), &source("one.mp4", "a:0"));
    let paths = [
        "one.mp4",
        "several/high.mp4",
        "broken/manifest.mpd",
        "none/manifest.mpd",
        "server.ism/manifest.mpd",
    ];
    let answers = get(&paths.map(|path| format!("{url}{path}")));
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(
        statuses,
        [403, 200, 502, 404, 200],
        "media with a key are not served as files"
    );
    assert!(answers[4].1.contains("lang=\"fr\""), "{}", answers[4].1);
    let done = stop(process);
    done.stderr_has("Ctrl-C stops it");
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

#[track_caller]
fn a_dref_mp4_is_an_index_of_its_media_for_ffmpeg_and_for_the_origin() {
    for title in ["one", "fragmented"] {
        let media = weir_rig::path(&format!("media/{title}.mp4"));
        let done = ran(0, &format!("origin dref {media} --json")).json();
        documented("origin-dref", &done);
        let alias = weir_rig::path("media/alias.mov");
        let written = done["output"].as_str().expect("a path");
        let bytes = |path: &str| std::fs::metadata(path).expect("a file").len();
        assert!(bytes(written) < bytes(&media) / 10);
        run("python3", &["-c", AS_ALIAS, written, &alias, &media]);
        for stream in ["v:0", "a:0"] {
            let played = frames_with("-enable_drefs 1 -use_absolute_path 1", &alias, stream);
            assert_eq!(played, frames(&media, stream), "{title} {stream}");
        }
    }
    for (order, code, words) in [
        ("media/one.mp4 -o x/y.mp4", 3, "cannot find"),
        ("media/one.mp4 -o media/several/y.mp4", 2, "is not below"),
        (
            "media/one.dref.mp4 -o media/elsewhere.mp4",
            2,
            "references one.mp4",
        ),
    ] {
        let refused = ran(code, &format!("origin dref {order}"));
        refused.error_has(words);
    }
    let source = frames("media/one.mp4", "v:0");
    let (process, url) = start("media --fresh 0s");
    assert_eq!(frames(&format!("{url}one.dref.mp4/master.m3u8"), "v:0"), source);
    // Media that are shorter than the index says, and gone.
    let whole = std::fs::read("media/one.mp4").expect("a file");
    std::fs::write("media/one.mp4", &whole[..whole.len() / 2]).expect("a file");
    let ask = || get(&[format!("{url}one.dref.mp4/manifest.mpd")]).remove(0);
    for words in ["its samples extend", "no such file"] {
        let (status, body) = ask();
        assert!(status == 502 && body.contains(words), "{status} {body}");
        // The second time it has gone already.
        let _ = std::fs::remove_file("media/one.mp4");
    }
    stop(process);
}

const ACCESS: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const TOKEN: &str = "a/session+token==";

/// Answers for a title of the bucket, in a folder whose name wants encoding, and the log of the bucket's server.
#[track_caller]
fn on_a_bucket(
    style: &str,
    secret: &str,
    token: Option<&str>,
    wanted: Option<&str>,
) -> (Vec<(u64, String)>, String) {
    let mut python = Command::new("python3");
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/s3_server.py"));
    python.args(["films", "bucket", ACCESS, SECRET]).args(wanted);
    let mut server = Running::start(python);
    let port = server.first_line(LIMIT);
    let options = "--segment 2s --storage-tries 2 --listen 127.0.0.1:0";
    let mut command = weir_line(&format!(
        "origin s3://films/2026 --s3-endpoint http://s3.test:{port} --s3-style {style} {options}"
    ));
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("AWS_")) {
        command.env_remove(variable);
    }
    command
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", secret);
    command.env("AWS_REGION", "eu-central-1");
    command.envs(token.map(|token| ("AWS_SESSION_TOKEN", token)));
    let mut process = Running::start(command);
    let url = process.first_line(LIMIT);
    let paths = [
        "manifest.mpd",
        "video/v1/init.mp4",
        "video/v1/0.m4s",
        "none.mp4/manifest.mpd",
    ];
    let mut answers = get(&paths.map(|path| format!("{url}a%20film%20%281%29/{path}")));
    if answers[0].0 == 502 {
        let refused = value(
            &metrics(&url),
            "weir_origin_errors_total{cause=\"storage_forbidden\"}",
        );
        assert!(refused >= 1);
        answers.truncate(1);
    }
    drop(process);
    (answers, server.stdout())
}

#[test]
fn requests_to_a_bucket_are_signed_as_an_independent_server_computes_it() {
    isolated!();
    // Names in a zone of our own, in this test's mount namespace alone.
    std::fs::write("hosts", "127.0.0.1 localhost s3.test films.s3.test\n").expect("a file");
    run("mount", &["--bind", "hosts", "/etc/hosts"]);
    std::fs::create_dir_all("bucket/2026/a film (1)").expect("a folder");
    ffmpeg(
        "-f lavfi -i testsrc2=size=160x90:rate=25:duration=4 -c:v libx264 -g 25 -pix_fmt yuv420p video.mp4",
    );
    std::fs::rename("video.mp4", "bucket/2026/a film (1)/ä+video.mp4").expect("a name");
    for (style, token) in [("path", None), ("virtual", None), ("path", Some(TOKEN))] {
        let (answers, told) = on_a_bucket(style, SECRET, token, token);
        let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [200, 200, 200, 404], "{style}: {answers:?}");
        let asked: Vec<&str> = told.lines().skip(1).collect();
        // A list, reads of the index and of the segment.
        assert!(asked.len() >= 3, "{told}");
        assert!(
            asked
                .iter()
                .all(|line| line.starts_with(style) && !line.contains(" 403 ")),
            "{told}"
        );
        assert!(told.contains("list-type=2") && told.contains("bytes="), "{told}");
    }
    for (secret, token) in [("another secret", None), (SECRET, Some(TOKEN))] {
        let (answers, told) = on_a_bucket("path", secret, token, None);
        let (status, body) = &answers[0];
        assert_eq!(*status, 502, "{body}");
        for words in ["storage_forbidden", "check the origin's credentials"] {
            assert!(body.contains(words), "{body}");
        }
        assert!(told.lines().skip(1).all(|line| line.contains(" 403 ")), "{told}");
    }
}

/// Asks for an object of a megabyte twice on one connection and reads the first answer slowly. Prints for each the last time
/// (Unix, nanoseconds) at which the client still lacked more than its buffers hold, so that the last byte had not arrived.
const SLOW_CLIENT: &str = r#"
import socket, time
BUFFER = 64 << 10
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
client.connect(("198.18.0.2", 8080))
for pause in (0.008, 0):
    client.sendall(b"GET /a.bin HTTP/1.1\r\nHost: origin\r\n\r\n")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    left = 1_000_000
    while left > 0:
        # The kernel doubles what is asked for.
        if left > 2 * BUFFER:
            lacking = time.time_ns()
        left -= len(client.recv(min(left, 16 << 10)))
        time.sleep(pause)
    print(lacking)
"#;

#[test]
fn the_access_log_knows_when_a_slow_client_behind_a_delay_has_its_answer() {
    isolated!();
    see_own_processes();
    std::fs::create_dir_all("media").expect("a folder");
    std::fs::write("media/a.bin", vec![7; 1_000_000]).expect("a file");
    ran(0, "lab link up -q --rtt 60ms");
    let origin = format!(
        "lab link shell far -- {} origin media --files --listen 0.0.0.0:8080 --access-log log -q",
        weir_rig::binary().display()
    );
    let mut origin = weir_rig::started(&origin);
    origin.first_line(LIMIT);
    let client = ["lab", "link", "shell", "near", "--", "python3", "-c", SLOW_CLIENT];
    let lacking = run_within(LIMIT, weir(&client)).expect_code(0).stdout;
    // The client's end is in the log at once.
    let lines = wait_until("two lines", LIMIT, || {
        let text = std::fs::read_to_string("log").ok()?;
        let lines = text.lines().map(|line| serde_json::from_str(line).ok());
        let lines: Vec<serde_json::Value> = lines.collect::<Option<_>>()?;
        (lines.len() == 2).then_some(lines)
    });
    for (line, lacking) in lines.iter().zip(lacking.lines()) {
        documented("origin-access-log", line);
        let lacking: u64 = lacking.parse().expect("nanoseconds");
        let delivered = count(&line["time_ns"]) + count(&line["delivered_ns"]);
        assert!(delivered > lacking, "{lacking}: {line}");
    }
    stop(origin);
    ran(0, "lab link down -q");
}

const MANIFEST: &str = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT2S\"><Period>\
    <AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"$Number$\"/><Representation id=\"a\" \
    bandwidth=\"1000\"/></AdaptationSet></Period></MPD>";

/// The subject of the certificate that a server shows.
fn shown(address: &str) -> String {
    let script =
        format!("openssl s_client -connect {address} </dev/null 2>/dev/null | openssl x509 -noout -subject");
    run("sh", &["-c", &script]).trim().to_owned()
}

#[test]
fn a_certificate_is_read_again_on_a_signal_and_a_bad_one_is_not_taken() {
    isolated!();
    make_certificate("first");
    let (process, url) = start(". --files --tls-cert cert.pem --tls-key key.pem");
    let address = url
        .trim_start_matches("https://")
        .trim_end_matches('/')
        .to_owned();
    let answer = run(
        "curl",
        &["--silent", "--cacert", "cert.pem", &format!("{url}healthz")],
    );
    assert!(answer.contains("\"ok\""), "{answer}");
    let load = |options: &str, code: i32| {
        let order = format!("load {url}list.mpd --play manifest --for 300ms --json -q {options}");
        ran(code, &order).json()["all"]["failures"].clone()
    };
    // Of this origin, whose certificate nobody has signed, but for those who trust all.
    std::fs::write("list.mpd", MANIFEST).expect("a manifest");
    assert_eq!(
        load("", 3).as_object().map(|causes| causes.contains_key("tls")),
        Some(true)
    );
    for options in ["--insecure --http 2", "--insecure --http 1.1"] {
        assert_eq!(load(options, 0), serde_json::json!({}), "{options}");
    }
    make_certificate("second");
    assert_eq!(shown(&address), "subject=CN = first");
    process.signal("HUP");
    wait_until("the new certificate", LIMIT, || {
        (shown(&address) == "subject=CN = second").then_some(())
    });
    std::fs::write("cert.pem", "nothing").expect("a file");
    process.signal("HUP");
    let warning = "cannot reload the certificate; keeping the previous one";
    wait_until("a warning", LIMIT, || {
        process.stderr().contains(warning).then_some(())
    });
    assert_eq!(shown(&address), "subject=CN = second");
    stop(process);
}

#[track_caller]
fn the_demo_plays_has_its_page_and_leaves_nothing() {
    std::fs::create_dir("temporary").expect("a folder");
    let mut command = weir_line("origin demo --duration 10s --listen 127.0.0.1:0 --json");
    command.env("TMPDIR", weir_rig::path("temporary"));
    let mut process = Running::start(command);
    let told: serde_json::Value = serde_json::from_str(&process.first_line(LIMIT)).expect("JSON");
    documented("origin-demo", &told);
    let at = |name: &str| told[name].as_str().expect("a text").to_owned();
    assert!(Path::new(&at("folder")).starts_with(weir_rig::path("temporary")));
    for (manifest, stream) in [("dash", "v:0"), ("hls", "v:2")] {
        assert_eq!(frames(&at(manifest), stream).len(), 250, "{manifest} {stream}");
        assert!(frames(&at(manifest), "a:1").len() >= 468, "{manifest}");
    }
    // A viewer fetches subtitles only where it is to.
    let subtitles = |option: &str| {
        let load = format!("load {} --for 500ms --json -q {option}", at("dash"));
        let kinds = ran(0, &load).json()["kinds"].clone();
        let kinds = kinds.as_array().expect("kinds");
        kinds.iter().any(|kind| kind["kind"] == "subtitle")
    };
    // On a busy machine a viewer may have got no further than the audio.
    wait_until("subtitles", LIMIT, || subtitles("--subtitles").then_some(()));
    assert!(!subtitles(""));
    let page = at("url");
    let paths = [
        "",
        ".page/titles.json",
        ".page/shaka.js",
        ".page/nothing.js",
        "demo/subtitles/s1/text.vtt",
    ];
    let answers = get(&paths.map(|path| format!("{page}{path}")));
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 400, 200]);
    let words = [
        "/.page/page.js",
        "{\"titles\":[\"demo\"]}\n",
        "Shaka Player",
        "",
        "Sekunde 8",
    ];
    for ((_, body), word) in answers.iter().zip(words) {
        assert!(body.contains(word), "{word}: {body}");
    }
    stop(process);
    assert_eq!(std::fs::read_dir("temporary").expect("a folder").count(), 0);
}
