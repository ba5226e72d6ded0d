//! Against nginx, which serves titles that ffmpeg has packaged: Weir's account is nginx's own log, to the request and the
//! byte, by HTTP/1.1 and HTTP/2, with and without TLS.

use crate::served::{Certificate, Line, compare, titles};
use weir_load::client::{HttpVersion, Trust};
use weir_load::engine::Config;
use weir_load::viewer::Play;

const TITLES: [(&str, Play); 4] = [
    ("dash/manifest.mpd", Play::Loop),
    ("dash/manifest.mpd", Play::RealTime),
    ("hls/master.m3u8", Play::Random),
    ("hls/master.m3u8", Play::RealTime),
];

#[track_caller]
fn all_by(log: &[Line], protocol: &str) {
    let other = log.iter().find(|line| line.protocol != protocol);
    assert!(other.is_none(), "{}", other.unwrap().protocol);
}

#[test]
fn the_account_is_nginx_s_own_log() {
    let titles = titles();
    for (path, how) in TITLES {
        let log = compare(titles.path(), "", "", |_| (), path, how);
        all_by(&log, "HTTP/1.1");
    }
}

#[test]
fn by_http_2_too() {
    let titles = titles();
    for (path, how) in TITLES {
        // Every hundredth request is the last of its connection (keepalive_requests).
        let log = compare(
            titles.path(),
            "http2",
            "",
            |config| config.http = HttpVersion::Two,
            path,
            how,
        );
        all_by(&log, "HTTP/2.0");
    }
    // Bodies of more than the windows that a connection begins with, and heads in frames of their own.
    std::fs::write(
        titles.path().join("dash/chunk-stream0-00002.m4s"),
        vec![0; 40 << 20],
    )
    .unwrap();
    let change = |config: &mut Config| {
        config.http = HttpVersion::Two;
        config.behaviour.verify = false;
    };
    compare(
        titles.path(),
        "http2",
        "",
        change,
        "dash/manifest.mpd",
        Play::Loop,
    );
}

#[test]
fn over_tls_in_the_version_that_was_agreed_on() {
    let titles = titles();
    let certificate = Certificate::of("IP:127.0.0.1");
    let table = [
        ("ssl http2", HttpVersion::Auto, "HTTP/2.0"),
        ("ssl http2", HttpVersion::Two, "HTTP/2.0"),
        ("ssl http2", HttpVersion::One, "HTTP/1.1"),
        ("ssl", HttpVersion::Auto, "HTTP/1.1"),
    ];
    for (listen, version, protocol) in table {
        for (path, how) in [TITLES[0], TITLES[3]] {
            let change = |config: &mut Config| {
                config.http = version;
                config.trust = Trust::File(certificate.authority());
            };
            let log = compare(titles.path(), listen, &certificate.lines(), change, path, how);
            all_by(&log, protocol);
        }
    }
}
