//! TLS against nginx: sessions that are taken up again, as nginx's log says, and handshakes that fail.

use std::net::TcpListener;
use std::time::Duration;

use crate::served::{Certificate, Nginx, eight, play, titles};
use weir_load::client::{HttpVersion, Patience, Trust};
use weir_load::engine::Config;
use weir_load::measure::LoadSummary;
use weir_load::viewer::Play;

#[test]
fn each_viewer_takes_up_its_own_sessions_again() {
    let titles = titles();
    let certificate = Certificate::of("IP:127.0.0.1");
    for (protocol, listen) in [("TLSv1.3", "ssl"), ("TLSv1.2", "ssl"), ("TLSv1.3", "ssl http2")] {
        let lines = format!("{} ssl_protocols {protocol};", certificate.lines());
        let nginx = Nginx::start(titles.path(), listen, &lines);
        let url = format!("https://127.0.0.1:{}/dash/manifest.mpd", nginx.port);
        let mut config = eight(&url, Play::Manifest);
        config.trust = Trust::File(certificate.authority());
        // A viewer that thinks closes its connection.
        config.behaviour.think = (Duration::from_millis(20), Duration::from_millis(40));
        let summary = play(&config);
        assert_eq!(summary.all.failed, 0, "{summary:?}");
        assert_eq!(summary.all.connections, summary.all.requests);
        let log = nginx.log();
        assert!(log.len() > 3 * 8, "{}", log.len());
        let fresh = log.iter().filter(|line| line.session == ".").count();
        let again = log.iter().filter(|line| line.session == "r").count();
        // The first of each of eight viewers; every other one goes on with what that viewer had.
        assert_eq!((fresh, again), (8, log.len() - 8), "{protocol} {listen}");
    }
}

#[track_caller]
fn only(summary: &LoadSummary, cause: &str) {
    let failures = &summary.all.failures;
    assert!(
        failures.len() == 1 && failures.contains_key(cause) && summary.all.failed == summary.all.requests,
        "not only {cause}: {failures:?} of {}",
        summary.all.requests
    );
    assert_eq!(summary.all.sent, 0);
}

#[test]
fn handshakes_that_fail() {
    let titles = titles();
    let good = Certificate::of("IP:127.0.0.1");
    let trusted = |config: &mut Config, certificate: &Certificate| {
        config.trust = Trust::File(certificate.authority());
    };
    let failing = |listen: &str, lines: &str, change: &dyn Fn(&mut Config)| {
        let nginx = Nginx::start(titles.path(), listen, lines);
        let url = format!("https://127.0.0.1:{}/dash/manifest.mpd", nginx.port);
        let mut config = eight(&url, Play::Manifest);
        change(&mut config);
        let summary = play(&config);
        assert!(nginx.log().is_empty());
        summary
    };
    // Nobody known has signed it.
    only(&failing("ssl", &good.lines(), &|_| ()), "tls");
    // It is somebody else's.
    let other = Certificate::of("DNS:other.example");
    only(
        &failing("ssl", &other.lines(), &|config| trusted(config, &other)),
        "tls",
    );
    // HTTP/2 is asked for, and the server has none.
    let two = |config: &mut Config| {
        trusted(config, &good);
        config.http = HttpVersion::Two;
    };
    only(&failing("ssl", &good.lines(), &two), "tls");
    // A certificate of the client is asked for after the handshake, by nginx as an answer: that is no failure of TLS.
    let lines = format!(
        "{} ssl_verify_client on; ssl_client_certificate {};",
        good.lines(),
        good.authority().display()
    );
    let nginx = Nginx::start(titles.path(), "ssl", &lines);
    let mut config = eight(
        &format!("https://127.0.0.1:{}/dash/manifest.mpd", nginx.port),
        Play::Manifest,
    );
    trusted(&mut config, &good);
    let summary = play(&config);
    assert!(
        summary.all.failures.contains_key("http_4xx"),
        "{:?}",
        summary.all.failures
    );
    // Any certificate will do, if so it was said.
    let nginx = Nginx::start(titles.path(), "ssl", &other.lines());
    let mut config = eight(
        &format!("https://127.0.0.1:{}/dash/manifest.mpd", nginx.port),
        Play::Manifest,
    );
    config.trust = Trust::Anyone;
    let summary = play(&config);
    assert_eq!(summary.all.failed, 0, "{:?}", summary.all.failures);
    assert_eq!(summary.all.requests, nginx.log().len() as u64);
}

#[test]
fn a_server_that_says_nothing_in_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/m.mpd", listener.local_addr().unwrap());
    let mut config = eight(&url, Play::Manifest);
    config.patience = Patience {
        connect: Duration::from_millis(200),
        silence: Duration::from_secs(1),
    };
    only(&play(&config), "connect_timeout");
}
