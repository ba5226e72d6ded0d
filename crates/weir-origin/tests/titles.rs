//! Titles in remote storage: how little is read of them, and what becomes of those that are replaced. The media are made by
//! ffmpeg.

#![allow(clippy::unwrap_used)]

mod misbehaving;
mod served;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use misbehaving::{Act, Misbehaving, answer};
use served::{Served, config, wait_until};
use tempfile::TempDir;
use weir_origin::{Config, Configuration, Kind, Tier};

const A: &str = "\"a\"";
const B: &str = "\"b\"";

/// Eight seconds of pictures, a sync sample each second, as an MP4 whose index is at its end.
fn film(seed: &str) -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("film.mp4");
    let source = format!("{seed}=size=160x90:rate=25:duration=8");
    let made = Command::new("ffmpeg")
        .args(["-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", &source])
        .args([
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "-g",
            "25",
            "-pix_fmt",
            "yuv420p",
        ])
        .arg(&file)
        .status()
        .expect("ffmpeg is needed for this test: apt-get install ffmpeg");
    assert!(made.success());
    std::fs::read(file).expect("the film")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

/// Addresses of the media segments of the only video track.
fn segments(served: &Served) -> Vec<String> {
    let (status, playlist) = served.get("/film.mp4/video/v1/playlist.m3u8");
    assert_eq!(status, 200);
    let lines = text(playlist);
    let names = lines.lines().filter(|line| line.ends_with(".m4s"));
    names.map(|name| format!("/film.mp4/video/v1/{name}")).collect()
}

#[test]
fn a_herd_of_first_touches_makes_one_index_fetch() {
    let film = film("testsrc2");
    let bytes = film.clone();
    let alone = Misbehaving::start(move |asked| answer(asked, &bytes, A));
    let (status, expected) = Served::start(&config(&alone.url())).get("/film.mp4/manifest.mpd");
    assert_eq!(status, 200);
    let storage = Misbehaving::start(move |asked| {
        let mut acts = vec![Act::Gate];
        acts.extend(answer(asked, &film, A));
        acts
    });
    let served = Served::start(&config(&storage.url()));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..200)
            .map(|_| scope.spawn(|| served.get("/film.mp4/manifest.mpd")))
            .collect();
        let there = || served.metric("weir_origin_connections") as u64 > 200;
        wait_until("all requests", there);
        storage.open_gate();
        for one in all {
            let (status, manifest) = one.join().expect("no panic");
            assert!(status == 200 && manifest == expected);
        }
    });
    assert_eq!(storage.count(), alone.count(), "as for one who asks alone");
    assert!(served.metrics.lookups(Kind::Index, Tier::Shared) > 0);
}

#[test]
fn without_a_cache_each_who_asks_reads_the_index() {
    for configuration in [Configuration::A, Configuration::C] {
        let film = film("testsrc2");
        let bytes = film.clone();
        let serve = |storage: &Misbehaving| {
            Served::start(&Config {
                configuration,
                ..config(&storage.url())
            })
        };
        let alone = Misbehaving::start(move |asked| answer(asked, &bytes, A));
        assert_eq!(serve(&alone).get("/film.mp4/manifest.mpd").0, 200);
        let storage = Misbehaving::start(move |asked| {
            let mut acts = vec![Act::Gate];
            acts.extend(answer(asked, &film, A));
            acts
        });
        let served = serve(&storage);
        std::thread::scope(|scope| {
            let ask = || served.get("/film.mp4/manifest.mpd").0;
            let all: Vec<_> = (0..5).map(|_| scope.spawn(ask)).collect();
            wait_until("the first reads of all", || storage.count() >= 5);
            storage.open_gate();
            assert!(all.into_iter().all(|one| one.join().expect("no panic") == 200));
        });
        assert_eq!(storage.count(), 5 * alone.count(), "{configuration}");
    }
}

#[test]
fn each_media_request_makes_one_read_of_just_its_bytes() {
    for configuration in Configuration::ALL {
        let film = film("testsrc2");
        let storage = Misbehaving::start(move |asked| answer(asked, &film, A));
        let served = Served::start(&Config {
            configuration,
            ..config(&storage.url())
        });
        let segments = segments(&served);
        assert_eq!(segments.len(), 2);
        let index_before = served.metrics.bytes_in(Kind::Index);
        for _ in 0..3 {
            for segment in &segments {
                assert_eq!(served.get(segment).0, 200);
            }
        }
        let reads = served.metrics.reads(Kind::Media);
        assert_eq!(
            reads,
            if configuration == Configuration::D { 2 } else { 6 },
            "{configuration}"
        );
        let (sent, read) = (
            served.metrics.bytes_out(Kind::Media),
            served.metrics.bytes_in(Kind::Media),
        );
        let times = if configuration == Configuration::D { 3 } else { 1 };
        assert!(
            read * times < sent && read * times > sent * 9 / 10,
            "{configuration}: {read} for {sent}"
        );
        let index_read = served.metrics.bytes_in(Kind::Index) - index_before;
        assert_eq!(
            index_read == 0,
            configuration.caches_indexes(),
            "{configuration}: {index_read}"
        );
    }
}

#[test]
fn a_title_that_is_replaced_is_served_as_it_is_now() {
    let (before, after) = (film("testsrc2"), film("testsrc"));
    let replaced = Arc::new(AtomicBool::new(false));
    let (seen, new) = (replaced.clone(), after.clone());
    let storage = Misbehaving::start(move |asked| match seen.load(Ordering::SeqCst) {
        false => answer(asked, &before, A),
        true => answer(asked, &new, B),
    });
    let served = Served::start(&config(&storage.url()));
    let segments = segments(&served);
    let (_, old) = served.get(&segments[1]);
    replaced.store(true, Ordering::SeqCst);
    // Its index counts as known for a minute more; If-Match finds out.
    let (status, found) = served.get(&segments[1]);
    let fresh = Misbehaving::start(move |asked| answer(asked, &after, B));
    let (_, expected) = Served::start(&config(&fresh.url())).get(&segments[1]);
    assert_eq!(status, 200);
    assert!(found == expected && found != old);
}

#[test]
fn segments_have_ranges_and_the_same_bytes_each_time() {
    let film = film("testsrc2");
    let storage = Misbehaving::start(move |asked| answer(asked, &film, A));
    let served = Served::start(&config(&storage.url()));
    let segment = segments(&served).remove(1);
    served.python(&format!(
        r#"
status, headers, whole = ask("GET", "{segment}")
assert status == 200 and headers["content-type"] == "video/mp4", headers
assert whole[4:8] == b"styp"
for first, last in [(0, 9), (10, 2000), (len(whole) - 5, len(whole) - 1)]:
    status, headers, part = ask("GET", "{segment}", {{"Range": f"bytes={{first}}-{{last}}"}})
    assert (status, part == whole[first:last + 1]) == (206, True), (first, last)
status, again, body = ask("GET", "{segment}", {{"If-None-Match": headers["etag"]}})
assert (status, body) == (304, b"")
status, head, body = ask("HEAD", "{segment}")
assert (status, head["content-length"], body) == (200, str(len(whole)), b"")
"#
    ));
}

#[test]
fn what_is_asked_for_wrongly_has_a_status_and_a_cause() {
    let film = film("testsrc2");
    let storage = Misbehaving::start(move |asked| match asked.path.as_str() {
        "/film.mp4" => answer(asked, &film, A),
        "/broken.mp4" => answer(asked, &film[..film.len() / 2], A),
        _ => misbehaving::status(404),
    });
    let served = Served::start(&Config {
        files: false,
        ..config(&storage.url())
    });
    for (path, code, cause) in [
        ("/film.mp4/video/v2/init.mp4", 404, "not_found"),
        ("/film.mp4/video/v1/1.m4s", 404, "not_found"),
        ("/film.mp4/audio/a1/playlist.m3u8", 404, "not_found"),
        ("/film.mp4/manifest.mpd?filter=nonsense", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?filter=height%3E2000", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?start=9", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?start=5&end=5", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?start=-1", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?start=1e300", 400, "bad_query"),
        ("/film.mp4/manifest.mpd?end=NaN", 400, "bad_query"),
        ("/none.mp4/manifest.mpd", 404, "storage_not_found"),
        ("/folder/manifest.mpd", 404, "storage_no_lists"),
        ("/broken.mp4/manifest.mpd", 502, "bad_media"),
        ("/%2e%2e/manifest.mpd", 400, "bad_path"),
    ] {
        let (status, body) = served.get(path);
        let told: serde_json::Value =
            serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(
            (status, told["cause"].as_str()),
            (code, Some(cause)),
            "{path}: {told}"
        );
    }
    let long = format!("/film.mp4/manifest.mpd?token={}", "a".repeat(3000));
    assert_eq!(served.get(&long).0, 400);
    assert_eq!(served.get("/film.mp4/manifest.mpd?token=abc&start=4").0, 200);
}
