//! HTTP/2 in the clear: curl for what a client does, frames of our own for what none would.

use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::frames::{Client, DATA, END_STREAM, Frame, GOAWAY, HEADERS, PREFACE, RST_STREAM};
use crate::misbehaving::{Act, Misbehaving, answer, gated, half_gated, object};
use crate::served::{LIMIT, Served, config, wait_until};
use tempfile::TempDir;
use weir_origin::{Config, Kind};

const A: &str = "\"a\"";
const BIG: usize = 16 << 20;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("a.mp4"), object(300_000)).expect("a file");
    folder
}

/// Storage with an object that is larger than what sockets hold.
fn big() -> Misbehaving {
    let bytes = object(BIG);
    Misbehaving::start(move |asked| answer(asked, &bytes, A))
}

fn small_limits(place: &str) -> Config {
    let mut config = config(place);
    config.limits.head_time = Duration::from_millis(500);
    config.limits.stalled = Duration::from_secs(1);
    config
}

/// Connections now, but for the one that asks.
fn connections(served: &Served) -> f64 {
    served.metric("weir_origin_connections") - 1.0
}

#[test]
fn ranges_heads_and_errors_are_those_of_http_1() {
    let folder = folder();
    let served = Served::folder(folder.path());
    let curl = |arguments: &[&str], path: &str| {
        let done = Command::new("curl")
            .args(["--silent", "--http2-prior-knowledge", "--include"])
            .args(arguments)
            .arg(format!("http://{}{path}", served.address))
            .output()
            .expect("curl");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let range = "content-range: bytes 100-199/300000";
    let methods = "allow: GET, HEAD, OPTIONS";
    for (arguments, path, status, said) in [
        (&["--range", "100-199", "--output", "-"][..], "/a.mp4", 206, range),
        (&["--head"], "/a.mp4", 200, "content-length: 300000"),
        (&[], "/none.mp4", 404, "storage_not_found"),
        (&["--request", "DELETE"], "/a.mp4", 405, methods),
        (&["--path-as-is"], "/..%2fsecret", 400, "bad_path"),
    ] {
        let answer = curl(arguments, path);
        assert!(answer.starts_with(&format!("HTTP/2 {status}")), "{answer}");
        assert!(answer.contains(said), "{answer}");
    }
    let long = curl(&["--header", &format!("X-A: {}", "a".repeat(100_000))], "/a.mp4");
    assert!(long.is_empty() || long.starts_with("HTTP/2 431"), "{long}");
}

#[test]
fn a_stream_that_is_reset_ends_its_read_and_no_other() {
    let storage = big();
    let served = Served::start(&config(&storage.url()));
    let mut client = Client::start(served.connect());
    client.send(&Frame::window(0, 1 << 30));
    client.send(&Frame::get(1, "/a.mp4"));
    client.body(1, 50_000);
    client.send(&Frame::cancel(1));
    wait_until("the end of the read", || storage.broken_sends() == 1);
    assert!(served.metrics.bytes_in(Kind::File) < BIG as u64 / 2);
    wait_until("the account", || served.errors("client_gone") == 1.0);
    client.send(&Frame::get(3, "/healthz"));
    let body = client.body(3, usize::MAX);
    assert!(String::from_utf8_lossy(&body).contains("ok"));
}

#[test]
fn a_stream_that_is_reset_before_its_answer_is_counted() {
    let storage = Misbehaving::start(|_| vec![Act::Hang]);
    let served = Served::start(&config(&storage.url()));
    let mut client = Client::start(served.connect());
    client.send(&Frame::get(1, "/a.mp4"));
    wait_until("the read", || storage.count() > 0);
    client.send(&Frame::cancel(1));
    wait_until("the account", || served.metrics.requests(Kind::Other, 499) == 1);
    assert_eq!(served.errors("client_gone"), 1.0);
}

#[test]
fn a_stream_whose_client_takes_nothing_is_given_up_and_no_other() {
    let storage = big();
    let mut config = small_limits(&storage.url());
    config.limits.head_time = LIMIT;
    let served = Served::start(&config);
    let mut client = Client::start(served.connect());
    // More for the connection, and nothing for the stream beyond the 65,535 bytes that it begins with.
    client.send(&Frame::window(0, 1 << 30));
    client.send(&Frame::get(1, "/a.mp4"));
    let reset = client.wait_for(RST_STREAM);
    assert_eq!(reset.stream, 1);
    assert_eq!(served.errors("client_stalled"), 1.0);
    wait_until("the end of the read", || storage.broken_sends() == 1);
    client.send(&Frame::get(3, "/healthz"));
    let body = client.body(3, usize::MAX);
    assert!(String::from_utf8_lossy(&body).contains("ok"));
}

#[test]
fn an_answer_that_takes_too_long_is_cut_off() {
    let storage = big();
    let mut config = config(&storage.url());
    // Storage has to have answered by then, on a busy machine too.
    config.limits.request_time = Duration::from_secs(4);
    let served = Served::start(&config);
    // On HTTP/2, one that takes a little again and again.
    let mut client = Client::start(served.connect());
    client.send(&Frame::window(0, 1 << 30));
    client.send(&Frame::get(1, "/a.mp4"));
    let began = Instant::now();
    loop {
        let frame = client.read().expect("the connection goes on");
        if frame.kind == RST_STREAM {
            break;
        }
        if frame.kind == DATA {
            std::thread::sleep(Duration::from_millis(20));
            client.send(&Frame::window(1, 1000));
        }
        assert!(began.elapsed() < LIMIT);
    }
    assert_eq!(served.errors("client_stalled"), 1.0);
    // On HTTP/1.1 likewise, a client that takes too little for a new piece to be asked for.
    let mut slow = served.ask("/a.mp4");
    let began = Instant::now();
    while served.errors("client_stalled") < 2.0 {
        slow.read_exact(&mut [0; 1000]).expect("bytes");
        std::thread::sleep(Duration::from_millis(20));
        assert!(began.elapsed() < LIMIT);
    }
}

#[test]
fn who_is_slow_to_begin_or_never_ends_its_headers_is_cut_off() {
    let folder = folder();
    let served = Served::start(&small_limits(folder.path().to_str().expect("a name")));
    // A first line, byte for byte, of which nobody knows yet what it becomes; then nothing more.
    for beginning in [&b"P"[..], b"PRI", &PREFACE[..20], PREFACE] {
        let mut slow = served.connect();
        slow.write_all(beginning).expect("a beginning");
        let mut rest = Vec::new();
        // However it ends, it ends.
        let _ = slow.read_to_end(&mut rest);
    }
    // Headers that go on for ever, a few bytes now and then.
    let mut client = Client::start(served.connect());
    client.send(&Frame::new(HEADERS, END_STREAM, 1, &[0x82]));
    let began = Instant::now();
    while client.try_send(&Frame::new(9, 0, 1, b"\0\x01a\x01b").bytes()) {
        assert!(began.elapsed() < LIMIT, "a slow client is kept for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
    // An idle connection receives GOAWAY.
    let mut idle = Client::start(served.connect());
    let kinds = idle.kinds_to_the_end();
    assert!(kinds.contains(&GOAWAY), "{kinds:?}");
    wait_until("the end of all", || connections(&served) == 0.0);
    assert_eq!(served.get("/a.mp4").0, 200, "others are served");
}

#[test]
fn a_storm_of_resets_ends_the_connection() {
    let folder = folder();
    let served = Served::folder(folder.path());
    let mut client = Client::start(served.connect());
    let mut storm = Vec::new();
    for stream in (1..4001).step_by(2) {
        storm.extend(Frame::get(stream, "/a.mp4").bytes());
        storm.extend(Frame::cancel(stream).bytes());
    }
    while client.try_send(&storm) {
        // The same streams again are against the rules as well.
        std::thread::sleep(Duration::from_millis(10));
    }
    wait_until("the end of the connection", || connections(&served) == 0.0);
    assert_eq!(served.get("/a.mp4").0, 200, "others are served");
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let storage = Misbehaving::start(|asked| gated(asked, &object(100), A));
    let mut config = config(&storage.url());
    config.limits.streams = 3;
    let served = Served::start(&config);
    let mut client = Client::start(served.connect());
    for stream in [1, 3, 5, 7] {
        client.send(&Frame::get(stream, "/a.mp4"));
    }
    assert_eq!(client.wait_for(RST_STREAM).stream, 7);
    storage.open_gate();
    let mut left = 3;
    while left > 0 {
        let frame = client.read().expect("the connection goes on");
        left -= usize::from(frame.kind == DATA && frame.flags & END_STREAM != 0);
    }
}

#[test]
fn the_end_is_told_and_waits_for_what_is_on_its_way() {
    let storage = Misbehaving::start(|asked| half_gated(asked, &object(1000), A));
    let mut served = Served::start(&config(&storage.url()));
    let mut client = Client::start(served.connect());
    client.send(&Frame::get(1, "/a.mp4"));
    let mut got = client.body(1, 500);
    served.stop.store(true, Ordering::SeqCst);
    client.wait_for(GOAWAY);
    storage.open_gate();
    got.extend(client.body(1, usize::MAX));
    assert!(got == object(1000));
    client.kinds_to_the_end();
    served.stop().expect("an orderly end");
}
