//! Titles that are protected: keys from a file and from key servers that fail in every way. The media are made by
//! ffmpeg, and decrypted by OpenSSL and ffmpeg.

use std::fs;
use std::time::Duration;

use crate::misbehaving::{Act, Misbehaving, said, status};
use crate::protected::{KEY, KEY_ID, films, get, rule, text, with_keys, write_slices};
use crate::served::{Served, config, run};
use tempfile::TempDir;
use weir_origin::{Config, Configuration, Kind};

/// The same in Base64 for URLs, without padding.
const KEY_BASE64: &str = "ABEiM0RVZneImaq7zN3u_w";
const KEY_ID_BASE64: &str = "EAAAACAAMABAAFAAAAAAAA";

/// Whatever there might be of a title, and the stored file.
const PARTS: [&str; 14] = [
    "/sita/manifest.mpd",
    "/sita/master.m3u8",
    "/sita/on-demand.mpd",
    "/sita/video/v1/playlist.m3u8",
    "/sita/video/v1/iframes.m3u8",
    "/sita/video/v1/init.mp4",
    "/sita/video/v1/0.m4s",
    "/sita/video/v1/sync-0.m4s",
    "/sita/video/v1/track.mp4",
    "/sita/audio/a1/0.m4s",
    "/sita/film.mp4",
    "/sita/film.mp4/manifest.mpd",
    "/sita/film.mp4/video/v1/0.m4s",
    "/sita/manifest.mpd?start=1",
];

/// Nothing comes of a protected title but refusals, of which one at least has that status and cause.
#[track_caller]
fn check_refused(folder: &TempDir, server: String, expected: (u16, &str)) {
    let served = Served::start(&with_keys(folder.path(), "", Some(server), true));
    let film = fs::read(folder.path().join("sita/film.mp4")).unwrap();
    for path in PARTS.iter().chain(&["/sita/content.key"]) {
        let (status, body) = served.get(path);
        assert!((400..600).contains(&status), "{path}: {status}");
        assert!(
            !body
                .windows(32)
                .any(|bytes| film.windows(32).step_by(32).take(100).any(|clear| clear == bytes))
        );
    }
    let (status, body) = served.get("/sita/video/v1/0.m4s");
    let body = text(body);
    assert_eq!(status, expected.0, "{body}");
    assert!(body.contains(expected.1), "{body}");
    assert!(body.contains("not served unencrypted"), "{body}");
    let count = served.errors(expected.1);
    assert!(count >= 5.0, "{count}");
    assert_eq!(served.metrics.bytes_out(Kind::Media), 0);
    assert_eq!(served.metrics.reads(Kind::Media), 0);
}

#[test]
fn nothing_of_a_protected_title_is_served_without_its_key() {
    let films = films();
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (unavailable, wrong) = ((503, "key_unavailable"), (502, "key_wrong"));
    check_refused(&films, format!("http://{gone}/"), unavailable);
    for code in [500, 503, 429] {
        let server = Misbehaving::start(move |_| status(code));
        check_refused(&films, server.url(), unavailable);
    }
    for code in [404, 403, 301] {
        let server = Misbehaving::start(move |_| status(code));
        check_refused(&films, server.url(), wrong);
    }
    let broken = b"HTTP/1.1 200 Said\r\nContent-Length: 500\r\n\r\n{".to_vec();
    let server = Misbehaving::start(move |_| vec![Act::Send(broken.clone()), Act::Reset]);
    check_refused(&films, server.url(), unavailable);
    for answer in [
        String::new(),
        "clear".to_owned(),
        "{}".to_owned(),
        "{\"clear\":true}".to_owned(),
        format!("{{\"scheme\":\"none\",\"key_id\":\"{KEY_ID}\",\"key\":\"{KEY}\"}}"),
        format!("{{\"scheme\":\"cenc\",\"key_id\":\"{KEY_ID}\"}}"),
    ] {
        let server = Misbehaving::start(move |_| said(&answer));
        check_refused(&films, server.url(), wrong);
    }
}

#[test]
fn a_key_server_that_hangs_is_not_waited_for_forever() {
    let films = films();
    let server = Misbehaving::start(|_| vec![Act::Hang]);
    let served = Served::start(&with_keys(films.path(), "", Some(server.url()), false));
    let (status, body) = served.get("/sita/manifest.mpd");
    assert_eq!(status, 503, "{}", text(body));
}

#[test]
fn a_key_server_is_asked_once_for_all_by_the_title() {
    let films = films();
    let json = format!(
        "{{\"scheme\":\"cbcs\",\"key_id\":\"{KEY_ID}\",\"key\":\"{KEY}\",\"licence_url\":\"https://l/{{title}}?a&b\"}}"
    );
    let pause = Act::Pause(Duration::from_millis(200));
    let server = Misbehaving::start(move |_| [vec![pause.clone()], said(&json)].concat());
    let keys = "[[title]]\npath = 'free'\nclear = true\n";
    let url = format!("{}/keys?tenant=1", server.url());
    let served = Served::start(&with_keys(films.path(), keys, Some(url), false));
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| get(&served, "/sita/manifest.mpd"));
        }
    });
    get(&served, "/sita/video/v1/0.m4s");
    assert_eq!(server.count(), 1);
    let asked = server.asked().remove(0);
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("GET", "/keys?tenant=1&title=sita")
    );
    let manifest = text(get(&served, "/sita/manifest.mpd"));
    assert!(
        manifest.contains(&format!("cenc:default_KID=\"{KEY_ID}\"")),
        "{manifest}"
    );
    assert!(manifest.contains("value=\"cbcs\""), "{manifest}");
    assert!(manifest.contains(">https://l/sita?a&amp;b</"), "{manifest}");
}

#[test]
fn a_key_server_gives_a_licence_where_the_key_identifier_is_known() {
    let films = films();
    let licence = format!(
        "{{\"keys\":[{{\"kty\":\"oct\",\"kid\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"k\":\"AAAAAAAAAAAAAAAAAAAAAA\"}},\
         {{\"kty\":\"oct\",\"kid\":\"{KEY_ID_BASE64}\",\"k\":\"{KEY_BASE64}\"}}],\"type\":\"temporary\"}}"
    );
    let server = Misbehaving::start(move |_| said(&licence));
    let keys = format!("[[title]]\npath = 'sita'\nscheme = 'cenc'\nkey_id = '{KEY_ID}'\n");
    let served = Served::start(&with_keys(films.path(), &keys, Some(server.url()), true));
    assert_eq!(
        get(&served, "/sita/content.key"),
        b"\0\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
    );
    let asked = server.asked().remove(0);
    assert_eq!(asked.method, "POST");
    assert_eq!(
        text(asked.body),
        format!("{{\"kids\":[\"{KEY_ID_BASE64}\"],\"type\":\"temporary\"}}")
    );
}

#[test]
fn there_is_no_way_around_a_rule() {
    let films = films();
    fs::create_dir(films.path().join("other")).unwrap();
    fs::copy(
        films.path().join("sita/film.mp4"),
        films.path().join("other/film.mp4"),
    )
    .unwrap();
    let keys = format!("{}{}", rule("sita", "cenc"), rule("other/film.mp4", "cenc"));
    let served = Served::start(&with_keys(films.path(), &keys, None, false));
    // The title, and its file as a title: by the same key.
    for title in ["sita", "sita/film.mp4", "other/film.mp4"] {
        assert!(text(get(&served, &format!("/{title}/manifest.mpd"))).contains("default_KID"));
        assert!(text(get(&served, &format!("/{title}/master.m3u8"))).starts_with("#EXTM3U"));
    }
    // The stored files, and a title that has the file of another one.
    for path in [
        "/sita/film.mp4",
        "/sita/%66ilm.mp4",
        "/other/film.mp4",
        "/other/manifest.mpd",
        "/other/video/v1/0.m4s",
    ] {
        let (status, body) = served.get(path);
        let body = text(body);
        assert_eq!(status, 403, "{path}: {body}");
        assert!(body.contains("\"protected\""), "{path}: {body}");
    }
    assert!(served.errors("protected") >= 5.0);
    let (status, _) = served.get("/sita/content.key");
    assert_eq!(status, 403, "keys are given to nobody unless that is asked for");
}

#[test]
fn encrypted_segments_are_the_same_bytes_each_time_and_by_ranges() {
    let films = films();
    for scheme in ["cenc", "cbcs", "aes-128"] {
        let clear = Served::start(&config(films.path().to_str().unwrap()));
        let keys = rule("sita", scheme);
        let settings = with_keys(films.path(), &keys, None, true);
        let served = Served::start(&settings);
        let again = Served::start(&Config {
            configuration: Configuration::A,
            ..settings
        });
        for path in [
            "/sita/video/v1/init.mp4",
            "/sita/video/v1/0.m4s",
            "/sita/audio/a1/0.m4s",
            "/sita/video/v1/sync-0.m4s",
        ] {
            let whole = get(&served, path);
            assert_eq!(get(&again, path), whole, "{path}");
            assert_ne!(clear.get(path).1, whole, "{path}");
        }
        served.python(
            r#"
path = "/sita/video/v1/0.m4s"
status, headers, whole = ask("GET", path)
assert status == 200 and headers["content-length"] == str(len(whole))
etag = headers["etag"]
assert ask("HEAD", path)[1]["content-length"] == str(len(whole))
for first, last in [(0, 0), (100, 5000), (len(whole) - 20, len(whole) - 1)]:
    status, headers, body = ask("GET", path, {"Range": f"bytes={first}-{last}"})
    assert (status, body == whole[first:last + 1], headers["etag"]) == (206, True, etag), (status, headers)
    assert headers["content-range"] == f"bytes {first}-{last}/{len(whole)}"
reads = lambda: [line for line in ask("GET", "/metrics")[2].decode().splitlines() if line.startswith('weir_origin_storage_reads_total{kind="media"}')]
before = reads()
assert ask("GET", path, {"If-None-Match": etag})[0] == 304
assert before == reads() and before
"#,
        );
        let other = keys.replace("00112233", "99112233");
        let changed = Served::start(&with_keys(films.path(), &other, None, true));
        let etag = |served: &Served| {
            let answer =
                served.raw(b"HEAD /sita/video/v1/0.m4s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            answer
                .lines()
                .find(|line| line.starts_with("etag"))
                .unwrap()
                .to_owned()
        };
        assert_ne!(etag(&served), etag(&changed));
        assert_eq!(etag(&served), etag(&again));
    }
}

#[test]
fn whole_segments_are_decrypted_by_openssl_with_what_the_playlist_says() {
    let films = films();
    let clear = Served::start(&config(films.path().to_str().unwrap()));
    let served = Served::start(&with_keys(films.path(), &rule("sita", "aes-128"), None, true));
    let playlist = text(get(&served, "/sita/video/v1/playlist.m3u8"));
    let key = playlist
        .lines()
        .find(|line| line.starts_with("#EXT-X-KEY"))
        .unwrap();
    let iv = key
        .strip_prefix("#EXT-X-KEY:METHOD=AES-128,URI=\"/sita/content.key\",IV=0x")
        .unwrap_or_else(|| panic!("{key}"));
    for path in [
        "/sita/video/v1/init.mp4",
        "/sita/video/v1/0.m4s",
        "/sita/audio/a1/0.m4s",
    ] {
        let file = films.path().join("encrypted");
        fs::write(&file, get(&served, path)).unwrap();
        let decrypted = run(
            "openssl",
            &format!("enc -d -aes-128-cbc -K {KEY} -iv {iv} -in {}", file.display()),
        );
        assert_eq!(decrypted, get(&clear, path), "{path}");
    }
    let (status, body) = served.get("/sita/manifest.mpd");
    assert_eq!(status, 404);
    assert!(text(body).contains("master.m3u8"));
    let iframes = text(get(&served, "/sita/video/v1/iframes.m3u8"));
    assert!(
        iframes.contains("sync-0.m4s") && !iframes.contains("BYTERANGE"),
        "{iframes}"
    );
}

#[test]
fn licences_and_keys_are_served_if_that_is_asked_for() {
    let films = films();
    let served = Served::start(&with_keys(films.path(), &rule("sita", "cenc"), None, true));
    let manifest = text(get(&served, "/sita/manifest.mpd"));
    assert!(
        manifest.contains(">/sita/clearkey.json</dashif:Laurl>"),
        "{manifest}"
    );
    let master = text(get(&served, "/sita/master.m3u8"));
    assert!(
        master.contains("#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES-CTR,URI=\"/sita/content.key\""),
        "{master}"
    );
    let ask = |path: &str, body: &str| {
        let length = body.len();
        served.raw(
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").as_bytes(),
        )
    };
    let request = format!("{{\"kids\":[\"{KEY_ID_BASE64}\"],\"type\":\"temporary\"}}");
    let answer = ask("/sita/clearkey.json", &request);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let expected = format!(
        "{{\"keys\":[{{\"kty\":\"oct\",\"kid\":\"{KEY_ID_BASE64}\",\"k\":\"{KEY_BASE64}\"}}],\"type\":\"temporary\"}}"
    );
    assert!(answer.ends_with(&expected), "{answer}");
    let other = ask("/sita/clearkey.json", "{\"kids\":[\"AAAAAAAAAAAAAAAAAAAAAA\"]}");
    assert!(other.ends_with("{\"keys\":[],\"type\":\"temporary\"}"), "{other}");
    assert!(ask("/sita/clearkey.json", "{").starts_with("HTTP/1.1 400"));
    assert!(ask("/sita/manifest.mpd", "{}").starts_with("HTTP/1.1 405"));
    assert!(ask("/none/clearkey.json", &request).starts_with("HTTP/1.1 404"));
    let preflight =
        served.raw(b"OPTIONS /sita/clearkey.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(
        preflight.contains("POST") && preflight.contains("Content-Type"),
        "{preflight}"
    );
}

#[test]
fn video_that_cannot_be_encrypted_is_refused() {
    let films = films();
    // More slices in a picture than a sample's auxiliary information can tell.
    write_slices(&films, 45);
    for scheme in ["cenc", "cbcs"] {
        let served = Served::start(&with_keys(films.path(), &rule("sita", scheme), None, false));
        let (status, body) = served.get("/sita/video/v1/0.m4s");
        let body = text(body);
        assert_eq!(status, 501, "{scheme}: {body}");
        assert!(
            body.contains("not_encrypted") && body.contains("45 subsamples"),
            "{body}"
        );
        assert_eq!(served.metrics.bytes_out(Kind::Media), 0);
    }
    let served = Served::start(&with_keys(films.path(), &rule("sita", "aes-128"), None, true));
    get(&served, "/sita/video/v1/0.m4s");
}
