//! HTTPS as curl and OpenSSL see it, and clients that stop in the middle of a handshake.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::misbehaving::{Misbehaving, answer, object};
use crate::served::{LIMIT, Served, config, make_certificate};
use tempfile::TempDir;
use weir_origin::{Config, Kind, Server, TlsFiles};

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("a.mp4"), object(3_000_000)).expect("a file");
    folder
}

fn secured(place: &str, certificates: &Path) -> Config {
    Config {
        tls: Some(make_certificate(certificates)),
        ..config(place)
    }
}

/// A response as curl reports it: HTTP version, status and body. It trusts only that certificate.
#[track_caller]
fn curl(served: &Served, certificates: &Path, arguments: &[&str], path: &str) -> (String, Vec<u8>) {
    let body = certificates.join("body");
    let done = Command::new("curl")
        .args(["--silent", "--show-error", "--output"])
        .arg(&body)
        .arg("--cacert")
        .arg(certificates.join("cert.pem"))
        .args(["--write-out", "%{http_version} %{http_code}"])
        .args(arguments)
        .arg(format!("https://{}{path}", served.address))
        .output()
        .expect("curl");
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "curl {arguments:?}: {error}");
    let said = String::from_utf8(done.stdout).expect("text");
    (said, fs::read(&body).expect("a body"))
}

#[test]
fn https_speaks_both_versions_of_tls_and_of_http() {
    let (folder, certificates) = (folder(), TempDir::new().expect("a folder"));
    let place = folder.path().to_str().expect("a name");
    let served = Served::start(&secured(place, certificates.path()));
    let ask = |arguments: &[&str]| curl(&served, certificates.path(), arguments, "/a.mp4");
    for (arguments, said) in [
        (&["--http2"][..], "2 200"),
        (&["--http1.1"], "1.1 200"),
        (&["--no-alpn"], "1.1 200"),
        (&["--tlsv1.3", "--http2"], "2 200"),
        (&["--tls-max", "1.2", "--http2"], "2 200"),
    ] {
        let (told, body) = ask(arguments);
        assert_eq!(told, said, "{arguments:?}");
        assert!(body == object(3_000_000), "{arguments:?}");
    }
    let (told, body) = ask(&["--range", "1000-1999"]);
    assert_eq!((told.as_str(), body.len()), ("2 206", 1000));
    let (_, metrics) = curl(&served, certificates.path(), &[], "/metrics");
    let metrics = String::from_utf8(metrics).expect("text");
    for line in [
        "weir_origin_tls_handshakes_total{result=\"done\"} 7",
        "weir_origin_tls_handshakes_total{result=\"failed\"} 0",
        "weir_origin_http2_connections_total 5",
    ] {
        assert!(metrics.lines().any(|told| told == line), "no {line} in {metrics}");
    }
}

#[test]
fn requests_share_a_connection_of_http_2() {
    let (folder, certificates) = (folder(), TempDir::new().expect("a folder"));
    let place = folder.path().to_str().expect("a name");
    let served = Served::start(&secured(place, certificates.path()));
    let out = TempDir::new().expect("a folder");
    // Without TLS, curl 7.88 fails at this before nginx too.
    let done = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--http2", "--insecure"])
        .args(["--parallel", "--parallel-max", "30", "--output", "#1"])
        .args(["--write-out", "%{http_version} %{http_code}\n"])
        .arg(format!("https://{}/a.mp4?[1-60]", served.address))
        .current_dir(out.path())
        .output()
        .expect("curl");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.lines().filter(|line| *line == "2 200").count(), 60, "{said}");
    for number in 1..=60 {
        let got = fs::read(out.path().join(number.to_string())).expect("a file");
        assert!(got == object(3_000_000), "answer {number}");
    }
    assert_eq!(served.metrics.requests(Kind::File, 200), 60);
    let (_, metrics) = curl(&served, certificates.path(), &[], "/metrics");
    let metrics = String::from_utf8(metrics).expect("text");
    let connections = metrics
        .lines()
        .find_map(|line| line.strip_prefix("weir_origin_http2_connections_total "));
    let connections: u32 = connections.expect("a count").parse().expect("a number");
    assert!(connections < 30, "{connections} connections");
}

#[test]
fn openssl_gets_the_protocol_that_it_offers() {
    let (folder, certificates) = (folder(), TempDir::new().expect("a folder"));
    let place = folder.path().to_str().expect("a name");
    let served = Served::start(&secured(place, certificates.path()));
    for (offers, told) in [("h2,http/1.1", "h2"), ("http/1.1", "http/1.1")] {
        let done = Command::new("openssl")
            .args([
                "s_client",
                "-connect",
                &served.address.to_string(),
                "-alpn",
                offers,
            ])
            .arg("-CAfile")
            .arg(certificates.path().join("cert.pem"))
            .stdin(std::process::Stdio::null())
            .output()
            .expect("openssl");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(said.contains(&format!("ALPN protocol: {told}")), "{said}");
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    }
}

#[test]
fn a_handshake_that_does_not_end_is_cut_off() {
    let (folder, certificates) = (folder(), TempDir::new().expect("a folder"));
    let mut config = secured(folder.path().to_str().expect("a name"), certificates.path());
    config.limits.handshake_time = Duration::from_millis(500);
    let served = Served::start(&config);
    // One says nothing, one begins with the head of a record and never sends the rest of it.
    let mut silent = served.connect();
    let mut slow = served.connect();
    slow.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc")
        .expect("a beginning");
    let began = Instant::now();
    while slow.write_all(b"\0").is_ok() {
        assert!(began.elapsed() < LIMIT, "a slow client is kept for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
    // However it ends, it ends.
    let _ = silent.read_to_end(&mut Vec::new());
    // One speaks plain HTTP.
    let answer = served.raw(b"GET / HTTP/1.1\r\nHost: o\r\n\r\n");
    assert!(!answer.contains("200"), "{answer}");
    let (_, metrics) = curl(&served, certificates.path(), &[], "/metrics");
    let metrics = String::from_utf8(metrics).expect("text");
    for line in [
        "weir_origin_tls_handshakes_total{result=\"timed_out\"} 2",
        "weir_origin_tls_handshakes_total{result=\"failed\"} 1",
        "weir_origin_connections 1",
    ] {
        assert!(metrics.lines().any(|told| told == line), "no {line} in {metrics}");
    }
}

#[test]
fn a_client_that_goes_ends_the_read() {
    let certificates = TempDir::new().expect("a folder");
    let bytes = object(64 << 20);
    let storage = Misbehaving::start(move |asked| answer(asked, &bytes, "\"a\""));
    let served = Served::start(&secured(&storage.url(), certificates.path()));
    for version in ["--http1.1", "--http2"] {
        let before = storage.broken_sends();
        // Slow from its first byte on, and gone after some seconds.
        let done = Command::new("curl")
            .args([
                "--silent",
                "--insecure",
                "--limit-rate",
                "100k",
                "--max-time",
                "5",
                version,
            ])
            .args([
                "--output",
                "/dev/null",
                &format!("https://{}/a.mp4", served.address),
            ])
            .status()
            .expect("curl");
        assert_eq!(done.code(), Some(28), "{version}: out of time");
        crate::served::wait_until("the end of the read", || storage.broken_sends() == before + 1);
    }
    assert!(served.metrics.bytes_in(Kind::File) < 64 << 20);
}

#[test]
fn what_cannot_secure_a_connection_is_said() {
    let (folder, certificates, others) = (
        folder(),
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let place = folder.path().to_str().expect("a name");
    let good = make_certificate(certificates.path());
    let other = make_certificate(others.path());
    let nowhere = PathBuf::from("/nowhere.pem");
    for (certificate, key, word) in [
        (&nowhere, &good.key, "with --tls-cert"),
        (&good.certificate, &nowhere, "with --tls-key"),
        // Each has nothing of the other's kind.
        (&good.key, &good.key, "with --tls-cert"),
        (&good.certificate, &good.certificate, "with --tls-key"),
        (
            &good.certificate,
            &other.key,
            "name a certificate and its private key",
        ),
    ] {
        let (certificate, key) = (certificate.clone(), key.clone());
        let config = Config {
            tls: Some(TlsFiles { certificate, key }),
            ..config(place)
        };
        let error = Server::bind(&config).expect_err("no server").to_string();
        assert!(error.contains(word), "{error}");
    }
}
