//! Titles whose media come encrypted, by ffmpeg with `cenc` and by shaka-packager with `cbcs`, and leave under another key and
//! scheme, or in the clear: ffmpeg and shaka-packager decrypt them to the frames of the clear source.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::misbehaving::{Act, Misbehaving, said, status};
use crate::protected::{KEY, KEY_ID, films, get, rule, text, with_keys};
use crate::served::{Served, run};

const SOURCE_KEY: &str = "ffeeddccbbaa99887766554433221100";
const SOURCE_KEY_ID: &str = "a0000000b000c000d000e00000000000";

/// Shaka-packager, with its arguments split at spaces.
#[track_caller]
fn packager(arguments: &str) {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../media/tests/packager/node_modules/shaka-packager/bin"
    );
    run(&format!("{folder}/packager-linux-{machine}"), arguments);
}

/// `sita/film.mp4` clear, in `counted` as ffmpeg encrypts it, in `chained` as shaka-packager does.
fn encrypted_films() -> TempDir {
    let films = films();
    let at = |name: &str| films.path().join(name).display().to_string();
    for title in ["counted", "chained"] {
        fs::create_dir(films.path().join(title)).unwrap();
    }
    let film = at("sita/film.mp4");
    run(
        "ffmpeg",
        &format!(
            "-nostdin -v error -i {film} -c copy -encryption_scheme cenc-aes-ctr -encryption_key {SOURCE_KEY} \
             -encryption_kid {SOURCE_KEY_ID} {}",
            at("counted/film.mp4")
        ),
    );
    let stream = |kind: &str| {
        format!(
            "in={film},stream={kind},output={}",
            at(&format!("chained/{kind}.mp4"))
        )
    };
    packager(&format!(
        "{} {} --segment_duration 2 --protection_scheme cbcs --clear_lead 0 --enable_raw_key_encryption --keys \
         label=:key_id={SOURCE_KEY_ID}:key={SOURCE_KEY} --iv 0123456789abcdef0123456789abcdef",
        stream("video"),
        stream("audio")
    ));
    films
}

fn sources() -> String {
    format!("[[source]]\nkey_id = '{SOURCE_KEY_ID}'\nkey = '{SOURCE_KEY}'\n")
}

/// Hashes of the frames of a file's only stream of that kind, decoded, without times.
fn frames(path: &Path, options: &str, stream: &str) -> Vec<String> {
    let arguments = format!(
        "-nostdin -v error -ignore_editlist 1 {options} -i {} -map 0:{stream} -f framehash -hash md5 -",
        path.display()
    );
    let printed = text(run("ffmpeg", &arguments));
    let hashes = printed.lines().filter(|line| !line.starts_with('#'));
    hashes
        .map(|line| line.rsplit(',').next().unwrap().trim().to_owned())
        .collect()
}

/// A track as HLS has it: its initialization segment and all media segments.
fn track(served: &Served, folder: &Path, track: &str) -> PathBuf {
    let playlist = text(get(served, &format!("/{track}/playlist.m3u8")));
    let mut whole = get(served, &format!("/{track}/init.mp4"));
    for segment in playlist.lines().filter(|line| !line.starts_with('#')) {
        whole.extend(get(served, &format!("/{track}/{segment}")));
    }
    let file = folder.join(track.replace('/', "-"));
    fs::write(&file, whole).unwrap();
    file
}

#[test]
fn what_comes_encrypted_leaves_under_another_key_and_scheme_or_in_the_clear() {
    let films = encrypted_films();
    let film = films.path().join("sita/film.mp4");
    let clear = [frames(&film, "", "v"), frames(&film, "", "a")];
    assert!(clear[0].len() == 200 && clear[1].len() > 350);
    for title in ["counted", "chained"] {
        for scheme in ["cenc", "cbcs", "clear"] {
            let (rule, options) = match scheme {
                "clear" => (
                    format!("[[title]]\npath = '{title}'\nclear = true\n"),
                    String::new(),
                ),
                scheme => (rule(title, scheme), format!("-seekable 0 -decryption_key {KEY}")),
            };
            let served = Served::start(&with_keys(films.path(), &(sources() + &rule), None, false));
            for (name, stream, clear) in [("video/v1", "v", &clear[0]), ("audio/a1", "a", &clear[1])] {
                let what = format!("{title} {scheme} {name}");
                let file = track(&served, films.path(), &format!("{title}/{name}"));
                assert!(frames(&file, &options, stream) == *clear, "{what}");
                let bytes = get(&served, &format!("/{title}/{name}/track.mp4"));
                let entries = bytes
                    .windows(4)
                    .filter(|four| **four == *b"encv" || **four == *b"enca");
                assert_eq!(entries.count(), usize::from(scheme != "clear"), "{what}");
                fs::write(&file, bytes).unwrap();
                assert!(frames(&file, &options, stream) == *clear, "{what}");
                if scheme != "clear" {
                    let decrypted = films.path().join("decrypted.mp4");
                    let stream = if stream == "v" { "video" } else { "audio" };
                    packager(&format!(
                        "in={},stream={stream},output={} --enable_raw_key_decryption --keys label=:key_id={}:key={KEY}",
                        file.display(),
                        decrypted.display(),
                        KEY_ID.replace('-', "")
                    ));
                    assert!(frames(&decrypted, "", &stream[..1]) == *clear, "{what}");
                }
            }
            // A range is the same bytes.
            served.python(&format!(
                r#"
path = "/{title}/video/v1/0.m4s"
whole = ask("GET", path)[2]
for first, last in [(0, 99), (1000, 4999), (len(whole) - 50, len(whole) - 1)]:
    status, _, part = ask("GET", path, {{"Range": f"bytes={{first}}-{{last}}"}})
    assert status == 206 and part == whole[first:last + 1], (first, last)
"#
            ));
        }
    }
}

/// Source key and its identifier in Base64 for URLs, without padding.
const SOURCE_KEY_BASE64: &str = "_-7dzLuqmYh3ZlVEMyIRAA";
const SOURCE_KEY_ID_BASE64: &str = "oAAAALAAwADQAOAAAAAAAA";

#[test]
fn a_key_server_is_asked_once_for_the_key_of_what_comes_encrypted() {
    let films = encrypted_films();
    let licence = format!(
        "{{\"keys\":[{{\"kty\":\"oct\",\"kid\":\"{SOURCE_KEY_ID_BASE64}\",\"k\":\"{SOURCE_KEY_BASE64}\"}}],\
         \"type\":\"temporary\"}}"
    );
    let pause = Act::Pause(Duration::from_millis(200));
    let server = Misbehaving::start(move |_| [vec![pause.clone()], said(&licence)].concat());
    let start = |url| {
        Served::start(&with_keys(
            films.path(),
            &rule("counted", "cbcs"),
            Some(url),
            false,
        ))
    };
    let served = start(server.url());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| get(&served, "/counted/video/v1/0.m4s"));
        }
    });
    let file = track(&served, films.path(), "counted/video/v1");
    let options = format!("-seekable 0 -decryption_key {KEY}");
    assert!(frames(&file, &options, "v") == frames(&films.path().join("sita/film.mp4"), "", "v"));
    assert_eq!(server.count(), 1);
    assert_eq!(
        text(server.asked().remove(0).body),
        format!("{{\"kids\":[\"{SOURCE_KEY_ID_BASE64}\"],\"type\":\"temporary\"}}")
    );
    for (code, expected) in [(404, (502, "key_wrong")), (503, (503, "key_unavailable"))] {
        let server = Misbehaving::start(move |_| status(code));
        let refusal = start(server.url()).refusal("/counted/video/v1/0.m4s");
        assert_eq!((refusal.0, refusal.1.as_str()), expected);
    }
}

#[test]
fn without_its_key_or_a_rule_encrypted_media_is_refused_and_other_titles_go_on() {
    let films = encrypted_films();
    let start = |keys: &str| Served::start(&with_keys(films.path(), keys, None, false));
    let served = start(&rule("counted", "cenc"));
    for path in ["/counted/manifest.mpd", "/counted/video/v1/0.m4s"] {
        assert_eq!(served.refusal(path), (502, "key_wrong".to_owned()), "{path}");
    }
    let (_, body) = served.get("/counted/master.m3u8");
    let body = text(body);
    let key_id = "a0000000-b000-c000-d000-e00000000000";
    assert!(body.contains(key_id) && body.contains("[[source]]"), "{body}");
    // Nobody said that it may be clear.
    assert_eq!(
        served.refusal("/chained/manifest.mpd"),
        (403, "protected".to_owned())
    );
    get(&served, "/sita/manifest.mpd");
    let served = start(&sources());
    assert_eq!(
        served.refusal("/chained/manifest.mpd"),
        (403, "protected".to_owned())
    );
}
