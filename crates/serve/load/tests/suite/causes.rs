//! Failures whose causes lie in the network or in the protocol: every request is counted under its cause, and ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::acting::{Acting, After, answer, mpd};
use crate::playing::{config, only, viewers};
use crate::served::{eight, play};
use socket2::{Domain, Socket, Type};
use weir_load::client::{HttpVersion, Patience};
use weir_load::engine::Config;
use weir_load::measure::LoadSummary;
use weir_load::viewer::Play;

/// As long as it takes to see that nothing comes.
const SHORT: Duration = Duration::from_millis(300);
/// Longer than a busy machine holds anybody up.
const LONG: Duration = Duration::from_secs(30);

/// Viewers who wait so long for a connection, and for bytes.
fn patient(url: &str, connect: Duration, silence: Duration) -> Config {
    let mut config = eight(url, Play::Manifest);
    config.behaviour.verify = false;
    config.patience = Patience { connect, silence };
    config
}

#[test]
fn no_connection_in_time() {
    // A queue of connections that nobody takes, and that is full: the kernel drops what comes then.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let began = Instant::now();
    let mut held = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        held.push(stream);
        assert!(held.len() < 100 && began.elapsed() < Duration::from_secs(20));
    }
    let summary = play(&patient(&format!("http://{address}/m.mpd"), SHORT, LONG));
    only(&summary, "connect_timeout");
    assert_eq!((summary.all.sent, summary.all.failed), (0, summary.all.requests));
}

#[test]
fn redirects_that_lead_nowhere() {
    let locations = ["http://127.0.0.1:1:1/", "ftp://127.0.0.1/film", ""];
    for location in locations {
        let server = Acting::start(move |path, stream| match (path, location) {
            ("/m.mpd", "") => answer(stream, "302 Found", b""),
            ("/m.mpd", location) => {
                let head = format!("HTTP/1.1 301 Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(head.as_bytes());
                After::Keep
            }
            _ => answer(stream, "200 OK", b"x"),
        });
        let summary = play(&config(&server.url("/m.mpd"), viewers(8), Play::Manifest));
        only(&summary, "redirect");
        assert_eq!(summary.all.failed, summary.all.requests);
    }
    // One that leads on and on: eleven requests each time, of which the last is the failure.
    let server = Acting::start(|path, stream| {
        let step: u32 = path.trim_start_matches('/').parse().unwrap_or(0);
        let head = format!(
            "HTTP/1.1 302 Found\r\nLocation: /{}\r\nContent-Length: 0\r\n\r\n",
            step + 1
        );
        let _ = stream.write_all(head.as_bytes());
        After::Keep
    });
    let summary = play(&config(&server.url("/0"), viewers(8), Play::Manifest));
    only(&summary, "redirect");
    let asked = server.asked();
    assert_eq!(summary.all.sent, asked.len() as u64);
    assert_eq!(asked.len() as u64, 11 * summary.all.failed);
}

#[test]
fn another_range_than_was_asked_for() {
    let playlist = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:2,\n\
        #EXT-X-BYTERANGE:100@1000\nmedia.mp4\n#EXT-X-ENDLIST\n";
    let server = Acting::start(move |path, stream| match path {
        "/media.m3u8" => answer(stream, "200 OK", playlist.as_bytes()),
        // The whole file, which is another thing.
        _ => answer(stream, "200 OK", &[0; 5000]),
    });
    let summary = play(&config(&server.url("/media.m3u8"), viewers(8), Play::Loop));
    only(&summary, "wrong_range");
}

/// Viewers of this patience with a server of HTTP/2 that reads what comes first, says `then`, and closes or waits.
fn two_within(silence: Duration, then: &'static [u8], wait: bool) -> LoadSummary {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(then);
                if wait {
                    std::thread::sleep(Duration::from_secs(60));
                }
                // What has come and was not read would reset the connection.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
            });
        }
    });
    let mut config = patient(&format!("http://{address}/m.mpd"), LONG, silence);
    config.http = HttpVersion::Two;
    let summary = play(&config);
    assert!(summary.all.requests > 0);
    assert_eq!(summary.all.failed, summary.all.requests);
    summary
}

fn two(then: &'static [u8], wait: bool) -> LoadSummary {
    two_within(LONG, then, wait)
}

/// SETTINGS without any.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

#[test]
fn http_2_that_goes_wrong() {
    only(&two(b"", false), "closed");
    only(&two_within(SHORT, b"", true), "timeout");
    only(&two_within(SHORT, SETTINGS, true), "timeout");
    only(&two(b"HTTP/1.1 400 Bad Request\r\n\r\n", false), "bad_response");
    // RST_STREAM with INTERNAL_ERROR.
    only(
        &two(b"\0\0\0\x04\0\0\0\0\0\0\0\x04\x03\0\0\0\0\x01\0\0\0\x02", true),
        "reset",
    );
    // A head with :status 200 and content-length 5, two bytes of body, and the end: of the stream, and of the connection.
    let short = b"\0\0\0\x04\0\0\0\0\0\0\0\x05\x01\x04\0\0\0\x01\x88\x0f\x0d\x015\0\0\x02\0\x01\0\0\0\x01ab";
    only(&two(short, true), "short_body");
    let cut = b"\0\0\0\x04\0\0\0\0\0\0\0\x05\x01\x04\0\0\0\x01\x88\x0f\x0d\x015\0\0\x02\0\0\0\0\0\x01ab";
    only(&two(cut, false), "short_body");
    // GOAWAY before any stream: it is asked again, and no more often than a few times.
    let refused = two(
        b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x02",
        false,
    );
    only(&refused, "reset");
    assert_eq!(refused.all.retries, 5 * refused.all.requests);
    // Status 404.
    only(
        &two(b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x8d", true),
        "http_4xx",
    );
}

#[test]
fn a_server_of_http_1_is_told_so_when_asked_for_http_2() {
    let server = Acting::start(|_, stream| answer(stream, "200 OK", mpd(1).as_bytes()));
    let mut config = config(&server.url("/m.mpd"), viewers(8), Play::Manifest);
    config.http = HttpVersion::Two;
    let summary = play(&config);
    assert_eq!(summary.all.failed, summary.all.requests);
    only(&summary, "bad_response");
}
