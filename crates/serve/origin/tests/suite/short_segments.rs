//! Short segments that are kept are sent from memory that the kernel has too: they arrive as those that nobody keeps, at clients
//! that are slow while what they are sent is given up for others.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;
use weir_origin::{Config, Configuration, Kind, Tier};
use weir_rig::film::make;

use crate::served::{Served, config};

const AUDIO: &str = "/film.mp4/audio/a1";

/// Addresses of all segments of the audio.
fn segments(served: &Served) -> Vec<String> {
    let (_, playlist) = served.get(&format!("{AUDIO}/playlist.m3u8"));
    let playlist = String::from_utf8(playlist).expect("a playlist");
    let names = playlist.lines().filter(|line| line.ends_with(".m4s"));
    names.map(|name| format!("{AUDIO}/{name}")).collect()
}

/// What a client has read until now and reads until it has as much as it waits for, with pauses.
fn read_slowly(client: &mut impl Read, length: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = [0; 9_000];
    while all.len() < length {
        let read = client.read(&mut piece).expect("an answer");
        assert!(read > 0, "{} of {length} bytes", all.len());
        all.extend(&piece[..read]);
        if all.len() % 5 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    all
}

#[test]
fn what_is_kept_and_given_up_while_it_is_sent_arrives_as_it_is() {
    let folder = TempDir::new().expect("a folder");
    let source = "-f lavfi -i anoisesrc=sample_rate=48000:amplitude=0.5:duration=60 -ac 2 -c:a aac -b:a 132k";
    make(
        &folder.path().join("film.mp4"),
        &format!("{source} -movflags +faststart"),
    );
    let place = folder.path().to_str().expect("UTF-8");
    let two_seconds = |config: Config| Config {
        segment: Duration::from_secs(2),
        ..config
    };
    let mut keeping = two_seconds(config(place));
    // An eighth of it for short segments, which are at most an eighth of that.
    keeping.memory_cache = 3 << 20;
    let keeping = Served::start(&keeping);
    let mut without = two_seconds(config(place));
    without.configuration = Configuration::C;
    let without = Served::start(&without);
    let paths = segments(&without);
    let wanted: Vec<Vec<u8>> = paths.iter().map(|path| without.get(path).1).collect();
    assert_eq!(wanted.len(), 30);
    let numbers = || (0..wanted.len()).chain(0..wanted.len());
    assert!(
        wanted.iter().all(|body| (20_000..64 << 10).contains(&body.len())),
        "{:?}",
        wanted.iter().map(Vec::len).collect::<Vec<_>>()
    );

    // All of them at once on a connection, of some only a part; others ask for all of them meanwhile.
    let mut slow = keeping.connect();
    let mut requests = String::new();
    for number in numbers() {
        let range = if number % 3 == 1 {
            "Range: bytes=100-20000\r\n"
        } else {
            ""
        };
        requests += &format!("GET {} HTTP/1.1\r\nHost: origin\r\n{range}\r\n", paths[number]);
    }
    slow.write_all(requests.as_bytes()).expect("requests");
    for _ in 0..3 {
        for (number, body) in wanted.iter().enumerate() {
            assert!(keeping.get(&paths[number]).1 == *body, "segment {number}");
        }
    }
    for number in numbers() {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(read_slowly(&mut (&mut slow).take(1), 1));
        }
        let body = match number % 3 {
            1 => &wanted[number][100..=20_000],
            _ => &wanted[number][..],
        };
        let head = String::from_utf8_lossy(&head);
        let length = format!("content-length: {}\r\n", body.len());
        assert!(head.to_lowercase().contains(&length), "segment {number}: {head}");
        assert!(
            read_slowly(&mut (&mut slow).take(body.len() as u64), body.len()) == body,
            "segment {number}"
        );
    }
    // They did not all fit.
    let (kept, asked) = (
        keeping.metrics.lookups(Kind::Media, Tier::Memory),
        5 * wanted.len() as u64,
    );
    assert!(kept < asked, "{kept} of {asked}");
}
