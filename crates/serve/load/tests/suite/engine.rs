//! The engine against servers that answer right, late, wrong or not at all: every request is accounted for, under its cause.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::acting::{Acting, After, answer, mpd, serving};
use crate::playing::{Nobody, config, of_kind, only, play, viewers};
use weir_load::engine::run;
use weir_load::measure::LoadSummary;
use weir_load::viewer::Play;

#[test]
fn the_background_s_loop_request_by_request() {
    let server = serving(3, 1000);
    let mut config = config(&server.url("/film/manifest.mpd"), viewers(1), Play::Loop);
    config.threads = 1;
    let summary = play(&config);
    let asked = server.asked();
    let round = [
        "/film/manifest.mpd",
        "/film/audio132000/0",
        "/film/video3894000/0",
        "/film/audio132000/1",
        "/film/video3894000/1",
        "/film/audio132000/2",
        "/film/video3894000/2",
    ];
    assert!(asked.len() > 3 * round.len(), "{asked:?}");
    for (number, path) in asked.iter().enumerate() {
        assert_eq!(path, round[number % round.len()], "request {number}");
    }
    assert_eq!(summary.all.requests, asked.len() as u64);
    assert_eq!((summary.all.failed, summary.all.connections), (0, 1));
    let media = of_kind(&summary, "audio") + of_kind(&summary, "video");
    let manifests = of_kind(&summary, "manifest");
    assert_eq!(media + manifests, summary.all.requests);
    assert_eq!(
        summary.all.body_bytes,
        1000 * media + mpd(3).len() as u64 * manifests
    );
}

#[test]
fn many_viewers_are_accounted_for_to_the_request_and_the_byte() {
    let server = serving(3, 5000);
    let summary = play(&config(&server.url("/manifest.mpd"), viewers(20), Play::Random));
    assert_eq!(summary.all.requests, server.asked().len() as u64);
    assert_eq!(
        (summary.all.failed, summary.most_viewers, summary.arrivals),
        (0, 20, 20)
    );
    assert_eq!(summary.all.connections, 20);
    assert_eq!(summary.all.last_byte.count, summary.all.requests);
}

/// A run against a server whose segments are answered by `act`.
fn failing(act: impl Fn(&mut std::net::TcpStream) -> After + Send + Sync + 'static) -> LoadSummary {
    let server = Acting::start(move |path, stream| match path {
        "/manifest.mpd" => answer(stream, "200 OK", mpd(2).as_bytes()),
        _ => act(stream),
    });
    let summary = play(&config(&server.url("/manifest.mpd"), viewers(2), Play::Loop));
    assert_eq!(summary.all.failed, summary.all.failures.values().sum::<u64>());
    assert!(summary.all.failed > 0, "{summary:?}");
    // Requests that were sent again are in the server's list twice.
    assert_eq!(
        summary.all.sent + summary.all.retries,
        server.asked().len() as u64
    );
    summary
}

#[test]
fn every_failure_has_its_cause() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it";
    let empty = "Content-Length: 0\r\n\r\n";
    for (said, then, cause) in [
        (
            format!("HTTP/1.1 404 Not Found\r\n{empty}"),
            After::Keep,
            "http_4xx",
        ),
        (format!("HTTP/1.1 503 Busy\r\n{empty}"), After::Keep, "http_5xx"),
        (
            format!("HTTP/1.1 304 Not Modified\r\n{empty}"),
            After::Keep,
            "http_other",
        ),
        (
            format!("HTTP/1.1 302 Found\r\nLocation: /again\r\n{empty}"),
            After::Keep,
            "redirect",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), After::Close, "bad_response"),
        (half.to_owned(), After::Close, "short_body"),
        (half.to_owned(), After::Reset, "reset"),
        (String::new(), After::Close, "closed"),
        (String::new(), After::Silence, "timeout"),
    ] {
        let summary = failing(move |stream| {
            let _ = stream.write_all(said.as_bytes());
            if then == After::Reset {
                // Long enough for the half to be read first.
                std::thread::sleep(Duration::from_millis(50));
            }
            then
        });
        only(&summary, cause);
    }
}

#[test]
fn manifests_that_cannot_be_read_are_failures() {
    for text in [
        "<MPD",
        "no manifest",
        "",
        "<MPD><Period><AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate \
        duration=\"1\"/><Representation id=\"1\" bandwidth=\"1\"/></AdaptationSet></Period></MPD>",
    ] {
        let server = Acting::start(move |_, stream| answer(stream, "200 OK", text.as_bytes()));
        for how in [Play::Loop, Play::RealTime, Play::Manifest] {
            let summary = play(&config(&server.url("/manifest.mpd"), viewers(1), how));
            only(&summary, "bad_manifest");
            assert_eq!(summary.all.failed, summary.all.requests, "{text}");
            // It waits longer after each failure.
            assert!(
                (1..10).contains(&summary.all.requests),
                "{}",
                summary.all.requests
            );
        }
    }
}

#[test]
fn hosts_that_are_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let server = Acting::start(|_, stream| answer(stream, "200 OK", b""));
    for (origin, cause) in [
        (format!("http://{address}"), "refused"),
        ("http://no-such-host.invalid".to_owned(), "dns"),
        // It speaks no TLS.
        (format!("https://{}", server.address), "tls"),
    ] {
        let summary = play(&config(&format!("{origin}/m.mpd"), viewers(1), Play::Loop));
        only(&summary, cause);
        assert_eq!(summary.all.sent, 0, "{cause}");
    }
}

#[test]
fn other_hosts_are_refused_without_leave() {
    // TEST-NET-1 (RFC 5737): an address of nobody. Nothing is sent there: the run does not begin.
    let url = "http://192.0.2.1/m.mpd";
    let crowd = config(url, viewers(20), Play::RealTime);
    assert!(run(&crowd, None, &|| false, &Nobody).is_err());
    let rush = config(url, viewers(1), Play::Loop);
    let said = run(&rush, None, &|| false, &Nobody)
        .expect_err("a refusal")
        .to_string();
    assert!(
        said.contains("192.0.2.1") && said.contains("--yes-really-load-this-host"),
        "{said}"
    );
    // A manifest here that leads there: each such request is a failure, and nothing is sent.
    let server = Acting::start(|_, stream| {
        let text = mpd(2).replace("<Period>", "<BaseURL>http://192.0.2.1/</BaseURL><Period>");
        answer(stream, "200 OK", text.as_bytes())
    });
    let summary = play(&config(&server.url("/manifest.mpd"), viewers(1), Play::Loop));
    only(&summary, "not_permitted");
}

#[test]
fn a_kept_connection_that_was_closed_is_no_failure() {
    let server = Acting::start(|path, stream| {
        match path {
            "/manifest.mpd" => answer(stream, "200 OK", mpd(2).as_bytes()),
            _ => answer(stream, "200 OK", b"x"),
        };
        // Without saying so, as servers do whose patience is over.
        After::Close
    });
    let summary = play(&config(&server.url("/manifest.mpd"), viewers(1), Play::Loop));
    assert_eq!(summary.all.failed, 0, "{:?}", summary.all.failures);
    assert_eq!(summary.all.requests, server.asked().len() as u64);
    assert!(summary.all.retries > 0);
}

#[test]
fn an_interrupted_run_finishes_its_account() {
    let server = Acting::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(100));
        answer(stream, "200 OK", mpd(1).as_bytes())
    });
    let mut config = config(&server.url("/manifest.mpd"), viewers(4), Play::Manifest);
    config.duration = None;
    let began = Instant::now();
    let stop = || began.elapsed() > Duration::from_millis(350);
    let summary = run(&config, None, &stop, &Nobody).expect("a run");
    assert_eq!(summary.all.failed, 0);
    assert_eq!(summary.all.requests, server.asked().len() as u64);
}
