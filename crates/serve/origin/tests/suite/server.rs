//! The server as its clients see it: Python's HTTP client, and plain sockets for clients that no library would be.
//! Storage is a folder, or a server that misbehaves.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::misbehaving::{Act, Misbehaving, answer, begun, gated, half_gated, object};
use crate::served::{LIMIT, Served, config, log_lines, wait_until};
use tempfile::TempDir;
use weir_origin::{Config, Configuration, Kind, LogTo, Server, Tier};

const A: &str = "\"a\"";

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("films")).expect("a folder");
    fs::write(folder.path().join("films/a b.mp4"), object(300_000)).expect("a file");
    fs::write(folder.path().join("empty.vtt"), "").expect("a file");
    folder
}

#[test]
fn ranges_conditions_and_headers_are_those_of_the_standard() {
    let folder = folder();
    let served = Served::folder(folder.path());
    served.python(
        r#"
whole = bytes((place * 7 + place // 251) % 256 for place in range(300000))
path = "/films/a%20b.mp4"
status, headers, body = ask("GET", path)
assert (status, body == whole, headers["content-length"]) == (200, True, "300000"), (status, headers)
assert headers["content-type"] == "video/mp4" and headers["accept-ranges"] == "bytes"
assert headers["access-control-allow-origin"] == "*" and "max-age" in headers["cache-control"]
etag, date = headers["etag"], headers["last-modified"]
status, head, body = ask("HEAD", path)
assert (status, body) == (200, b"") and head["content-length"] == "300000" and head["etag"] == etag
for wanted, first, last in [("0-9", 0, 9), ("100-", 100, 299999), ("-5", 299995, 299999), ("299999-400000", 299999, 299999), ("1000-250000", 1000, 250000)]:
    status, headers, body = ask("GET", path, {"Range": "bytes=" + wanted})
    assert (status, body == whole[first:last + 1]) == (206, True), (wanted, status, len(body))
    assert headers["content-range"] == f"bytes {first}-{last}/300000", headers
    status, headers, body = ask("HEAD", path, {"Range": "bytes=" + wanted})
    assert (status, body, headers["content-length"]) == (206, b"", str(last + 1 - first)), headers
status, headers, body = ask("GET", path, {"Range": "bytes=300000-"})
assert (status, headers["content-range"]) == (416, "bytes */300000")
assert ask("GET", path, {"Range": "bytes=0-1,5-6"})[0] == 200
for condition, expected in [
    ({"If-None-Match": etag}, 304), ({"If-None-Match": '"other"'}, 200), ({"If-Modified-Since": date}, 304),
    ({"If-Match": etag}, 200), ({"If-Match": '"other"'}, 412), ({"If-Range": etag, "Range": "bytes=0-1"}, 206),
    ({"If-Range": '"other"', "Range": "bytes=0-1"}, 200),
]:
    status, headers, body = ask("GET", path, condition)
    assert status == expected, (condition, status)
    assert headers["etag"] == etag and (body == b"") == (expected in (304, 412)), condition
status, headers, body = ask("GET", "/empty.vtt")
assert (status, body, headers["content-length"]) == (200, b"", "0")
status, headers, body = ask("GET", "/films/none.mp4")
assert (status, json.loads(body)["cause"]) == (404, "storage_not_found"), body
status, headers, body = ask("HEAD", "/films/none.mp4")
assert (status, body) == (404, b"")
status, headers, body = ask("OPTIONS", path, {"Origin": "https://page.example", "Access-Control-Request-Method": "GET"})
assert status == 204 and "Range" in headers["access-control-allow-headers"] and "HEAD" in headers["access-control-allow-methods"]
status, headers, body = ask("DELETE", path)
assert (status, headers["allow"]) == (405, "GET, HEAD, OPTIONS")
status, headers, body = ask("GET", "/healthz")
assert (status, json.loads(body)["status"]) == (200, "ok") and headers["cache-control"] == "no-store"
"#,
    );
    assert_eq!(
        served.metric("weir_origin_requests_total{kind=\"file\",status=\"416\"}"),
        1.0
    );
    // One for the script, one for the metrics.
    assert_eq!(served.metric("weir_origin_connections_total"), 3.0);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let outer = folder();
    fs::write(outer.path().join("secret"), "secret").expect("a file");
    fs::create_dir(outer.path().join("root")).expect("a folder");
    std::os::unix::fs::symlink("../secret", outer.path().join("root/link")).expect("a link");
    let served = Served::folder(&outer.path().join("root"));
    for (path, expected) in [
        ("/../secret", 400),
        ("/a/../../secret", 400),
        ("/%2e%2e/secret", 400),
        ("/..%2fsecret", 400),
        ("/%2e%2e%2fsecret", 400),
        ("/..%5csecret", 400),
        ("//secret", 400),
        ("/%2fetc/passwd", 400),
        ("/link", 404),
        ("/%252e%252e/secret", 404),
        ("/secret%00.mp4", 400),
    ] {
        let answer =
            served.raw(format!("GET {path} HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n").as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected}")),
            "{path}: {answer}"
        );
        assert!(!answer.ends_with("secret"), "{path}: {answer}");
    }
    assert!(served.errors("bad_path") > 0.0);
}

#[test]
fn stored_files_are_not_served_unless_that_is_asked_for() {
    let folder = folder();
    let served = Served::start(&Config {
        files: false,
        ..config(folder.path().to_str().expect("a name"))
    });
    let (status, body) = served.get("/films/a%20b.mp4");
    assert_eq!(status, 404);
    assert!(String::from_utf8_lossy(&body).contains("--files"));
}

#[test]
fn an_object_that_is_replaced_while_it_is_sent_breaks_the_connection() {
    let storage = Misbehaving::start(|asked| {
        // One HEAD, then a read that breaks off, then another version.
        let etag = if asked.number < 2 { A } else { "\"b\"" };
        match asked.number {
            1 => begun(asked, &object(400_000), etag, 200_000, Act::Close),
            _ => answer(asked, &object(400_000), etag),
        }
    });
    let served = Served::start(&config(&storage.url()));
    let (status, body) = served.get("/a.mp4");
    assert_eq!(
        (status, body.len()),
        (200, 200_000),
        "not a byte of the other version"
    );
    assert_eq!(served.errors("storage_changed"), 1.0);
    // The next one finds what there is.
    assert_eq!(served.get("/a.mp4").1.len(), 400_000);
}

#[test]
fn a_version_that_is_gone_is_looked_at_anew() {
    let replaced = Arc::new(AtomicBool::new(false));
    let seen = replaced.clone();
    let storage = Misbehaving::start(move |asked| match seen.load(Ordering::SeqCst) {
        false => answer(asked, &object(1000), A),
        true => answer(asked, &object(2000), "\"b\""),
    });
    let served = Served::start(&Config {
        configuration: Configuration::D,
        memory_cache: 0,
        ..config(&storage.url())
    });
    assert_eq!(served.get("/a.mp4").1.len(), 1000);
    replaced.store(true, Ordering::SeqCst);
    // Its version counts as known for a minute more; If-Match finds out.
    assert_eq!(served.get("/a.mp4"), (200, object(2000)));
}

#[test]
fn a_herd_of_first_requests_makes_one_read() {
    let storage = Misbehaving::start(|asked| gated(asked, &object(100_000), A));
    let served = Served::start(&Config {
        configuration: Configuration::D,
        ..config(&storage.url())
    });
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..200).map(|_| scope.spawn(|| served.get("/a.mp4"))).collect();
        wait_until("all requests", || {
            served.metrics.requests(Kind::File, 200) == 0 && connections(&served) >= 200
        });
        storage.open_gate();
        for one in all {
            let (status, body) = one.join().expect("no panic");
            assert!(status == 200 && body == object(100_000));
        }
    });
    let asked = storage.asked();
    let methods: Vec<&str> = asked.iter().map(|asked| asked.method.as_str()).collect();
    assert_eq!(methods, ["HEAD", "GET"]);
    assert_eq!(served.metrics.bytes_in(Kind::File), 100_000);
    assert_eq!(served.metrics.bytes_out(Kind::File), 200 * 100_000);
    assert_eq!(served.get("/a.mp4").1.len(), 100_000);
    assert_eq!(storage.count(), 2);
    assert!(served.metrics.lookups(Kind::File, Tier::Memory) > 0);
    // And what the metrics themselves took, which were asked for again and again.
    let ratio = served.metric("weir_origin_efficiency_ratio");
    assert!((201.0..300.0).contains(&ratio), "{ratio}");
}

/// Connections so far, but for those that ask.
fn connections(served: &Served) -> u64 {
    served.metric("weir_origin_connections") as u64 - 1
}

#[test]
fn only_configuration_d_keeps_media_and_a_and_b_open_a_connection_for_each_read() {
    for configuration in Configuration::ALL {
        let storage = Misbehaving::start(|asked| answer(asked, &object(50_000), A));
        let served = Served::start(&Config {
            configuration,
            ..config(&storage.url())
        });
        for _ in 0..4 {
            assert_eq!(served.get("/a.mp4").1.len(), 50_000);
        }
        let reads = if configuration == Configuration::D { 1 } else { 4 };
        assert_eq!(storage.gets(), reads, "{configuration}");
        let (connections, requests) = (storage.connections(), storage.count());
        match configuration {
            Configuration::A | Configuration::B => assert_eq!(connections, requests, "{configuration}"),
            // A busy origin may begin a read before the connection of the last one is idle, but not each time.
            Configuration::C | Configuration::E => {
                assert!(connections < requests, "{configuration}: {connections}");
            }
            Configuration::D => {}
        }
    }
}

#[test]
fn the_disk_tier_outlives_the_server() {
    let cache = TempDir::new().expect("a folder");
    let storage = Misbehaving::start(|asked| answer(asked, &object(50_000), A));
    let config = Config {
        configuration: Configuration::D,
        disk_cache: Some((cache.path().join("cache"), 1 << 20)),
        ..config(&storage.url())
    };
    for _ in 0..2 {
        let mut served = Served::start(&config);
        assert_eq!(served.get("/a.mp4"), (200, object(50_000)));
        served.stop().expect("an orderly end");
    }
    assert_eq!(storage.gets(), 1);
}

#[test]
fn who_is_slow_to_ask_or_asks_for_too_long_is_cut_off() {
    let folder = folder();
    let mut config = config(folder.path().to_str().expect("a name"));
    config.limits.head_time = Duration::from_millis(500);
    let served = Served::start(&config);
    // A header that never ends, a byte now and then.
    let mut slow = served.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nX-A: ").expect("a beginning");
    let began = Instant::now();
    while slow.write_all(b"a").is_ok() {
        assert!(began.elapsed() < LIMIT, "a slow client is kept for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
    let long = format!("GET / HTTP/1.1\r\nX-A: {}\r\n\r\n", "a".repeat(100_000));
    let answer = served.raw(long.as_bytes());
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000));
    let answer = served.raw(many.as_bytes());
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    assert!(
        served.raw(b"\x16\x03\x01\x02\x00").is_empty()
            || served.raw(b"\x16\x03\x01").starts_with("HTTP/1.1 400")
    );
    assert_eq!(served.get("/films/a%20b.mp4").0, 200, "others are served");
}

#[test]
fn a_client_that_takes_nothing_is_given_up_and_holds_little_meanwhile() {
    let whole = object(64 << 20);
    let storage = Misbehaving::start(move |asked| answer(asked, &whole, A));
    let mut config = config(&storage.url());
    config.limits.stalled = Duration::from_secs(1);
    let served = Served::start(&config);
    let client = served.ask("/a.mp4");
    wait_until("the answer", || served.metrics.requests(Kind::File, 200) == 1);
    wait_until("the end of the connection", || connections(&served) == 0);
    // What the sockets on the way hold, and not the file.
    assert!(
        served.metrics.bytes_in(Kind::File) < 32 << 20,
        "{}",
        served.metrics.bytes_in(Kind::File)
    );
    assert_eq!(served.errors("client_stalled"), 1.0);
    drop(client);
}

/// What the kernel has of an answer is lost when the server closes its side for good and the client says anything more.
#[test]
fn an_answer_arrives_though_its_client_goes_on_to_speak() {
    let folder = folder();
    let served = Served::folder(folder.path());
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4096).expect("an option");
    socket.connect(&served.address.into()).expect("a connection");
    let mut client = TcpStream::from(socket);
    client.set_read_timeout(Some(LIMIT)).expect("an option");
    client
        .write_all(b"GET /films/a%20b.mp4 HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n")
        .expect("a request");
    wait_until("the answer", || served.metrics.bytes_out(Kind::File) == 300_000);
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..3 {
        client.write_all(b"more").expect("an open connection");
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut got = Vec::new();
    client.read_to_end(&mut got).expect("all of it");
    assert!(got.ends_with(&object(300_000)), "{} bytes", got.len());
}

#[test]
fn an_answer_that_is_on_its_way_arrives_when_the_server_ends() {
    let storage = Misbehaving::start(|asked| half_gated(asked, &object(1000), A));
    let mut served = Served::start(&config(&storage.url()));
    let mut client = served.ask("/a.mp4");
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    while !got.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = client.read(&mut buffer).expect("bytes");
        got.extend_from_slice(&buffer[..read]);
    }
    served.stop.store(true, Ordering::SeqCst);
    wait_until("the end of listening", || {
        TcpStream::connect(served.address).is_err()
    });
    storage.open_gate();
    client.read_to_end(&mut got).expect("the rest");
    assert!(got.ends_with(&object(1000)));
    served.stop().expect("an orderly end");
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let storage = Misbehaving::start(|asked| begun(asked, &object(1000), A, 0, Act::Hang));
    let mut config = config(&storage.url());
    config.limits.drain = Duration::from_millis(300);
    let mut served = Served::start(&config);
    let _client = served.ask("/a.mp4");
    wait_until("the read", || storage.count() == 2);
    let began = Instant::now();
    served.stop().expect("an end");
    assert!(began.elapsed() < LIMIT / 2);
}

#[test]
fn connections_beyond_the_limit_wait() {
    let folder = folder();
    let mut config = config(folder.path().to_str().expect("a name"));
    config.limits.connections = 2;
    let served = Served::start(&config);
    let (first, second) = (served.connect(), served.connect());
    let mut third = served.ask("/healthz");
    third
        .set_read_timeout(Some(Duration::from_millis(300)))
        .expect("an option");
    let mut buffer = [0; 100];
    assert!(third.read(&mut buffer).is_err(), "it waits");
    drop((first, second));
    third.set_read_timeout(Some(LIMIT)).expect("an option");
    assert!(third.read(&mut buffer).expect("an answer") > 0);
}

#[test]
fn each_request_is_a_line_in_the_log() {
    let folder = folder();
    let log = folder.path().join("access.log");
    let mut served = Served::start(&Config {
        access_log: Some(LogTo::File(log.clone())),
        configuration: Configuration::D,
        ..config(folder.path().to_str().expect("a name"))
    });
    served.python(
        r#"
ranges = {"Range": "bytes=0-99", "User-Agent": "player \"one\"\t"}
ask("GET", "/films/a%20b.mp4?session=7", ranges)
ask("GET", "/none")
ask("GET", "/films/a%20b.mp4", ranges)
ask("HEAD", "/films/a%20b.mp4")
ask("GET", "/healthz")
"#,
    );
    served.stop().expect("an orderly end");
    let lines = log_lines(&log);
    assert_eq!(lines.len(), 5);
    for (line, (media, read)) in lines.iter().zip([
        ("\"miss\"", 100),
        ("\"miss\"", 0),
        ("\"hit\"", 0),
        ("\"hit\"", 0),
        ("null", 0),
    ]) {
        assert_eq!(line["cache"]["media"].to_string(), media, "{line}");
        assert_eq!(line["storage_bytes"], read, "{line}");
        // Whether it had a body or not.
        assert!(
            line["delivered_ns"].as_u64() >= line["total_ns"].as_u64(),
            "{line}"
        );
    }
    let first = &lines[0];
    assert_eq!(first["path"], "/films/a%20b.mp4?session=7");
    assert_eq!((&first["status"], &first["bytes"]), (&206.into(), &100.into()));
    assert_eq!(first["kind"], "file");
    assert_eq!(first["range"], "bytes=0-99");
    assert!(
        first["user_agent"]
            .as_str()
            .expect("a name")
            .starts_with("player \"one\"")
    );
    assert!(
        first["total_ns"].as_u64() >= first["first_byte_ns"].as_u64()
            && first["first_byte_ns"].as_u64() > Some(0)
    );
    assert_eq!(
        (&lines[1]["status"], &lines[1]["cause"]),
        (&404.into(), &"storage_not_found".into())
    );
}

#[test]
fn a_request_that_is_cut_off_before_its_answer_is_counted_and_logged() {
    let storage = Misbehaving::start(|_| vec![Act::Hang]);
    let folder = folder();
    let log = folder.path().join("access.log");
    let mut config = config(&storage.url());
    config.access_log = Some(LogTo::File(log.clone()));
    let mut served = Served::start(&config);
    let client = served.ask("/a.mp4?session=9");
    wait_until("the read", || storage.count() > 0);
    drop(client);
    wait_until("the account", || served.metrics.requests(Kind::Other, 499) == 1);
    assert_eq!(served.errors("client_gone"), 1.0);
    // It has no first byte whose time could count: that of the request for the counts is the only one.
    assert_eq!(served.metric("weir_origin_first_byte_seconds_count"), 1.0);
    served.stop().expect("an orderly end");
    let mut lines = log_lines(&log);
    lines.retain(|line| line["path"] != "/metrics");
    let [line] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(line["path"], "/a.mp4?session=9");
    assert_eq!((&line["status"], &line["bytes"]), (&499.into(), &0.into()));
    assert_eq!(line["cause"], "client_gone");
    assert_eq!(line["first_byte_ns"], 0);
    assert!(line["delivered_ns"].is_null());
    assert!(line["total_ns"].as_u64() > Some(0));
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = folder();
    let place = folder.path().to_str().expect("a name");
    let refused = |config: Config, word: &str| {
        let error = Server::bind(&config).expect_err("no server").to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(config("/nowhere/at/all"), "name an existing folder");
    refused(config("/etc/hostname"), "name an existing folder");
    let served = Served::folder(folder.path());
    refused(
        Config {
            listen: served.address,
            ..config(place)
        },
        "--listen",
    );
    refused(
        Config {
            access_log: Some(LogTo::File("/nowhere/log".into())),
            ..config(place)
        },
        "--access-log",
    );
    let file = folder.path().join("empty.vtt");
    refused(
        Config {
            disk_cache: Some((file, 1 << 20)),
            ..config(place)
        },
        "name a writable folder",
    );
}
