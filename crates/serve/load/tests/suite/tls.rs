//! TLS against nginx: sessions that are taken up again, as nginx's log says, and handshakes that fail.

use std::net::TcpListener;
use std::time::Duration;

use crate::playing::only;
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
        let mut config = secured(&nginx, Trust::File(certificate.authority()));
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
fn nothing_but(summary: &LoadSummary, cause: &str) {
    only(summary, cause);
    assert_eq!((summary.all.failed, summary.all.sent), (summary.all.requests, 0));
}

/// Eight viewers of what it serves over TLS.
fn secured(nginx: &Nginx, trust: Trust) -> Config {
    let mut config = eight(
        &format!("https://127.0.0.1:{}/dash/manifest.mpd", nginx.port.number),
        Play::Manifest,
    );
    config.trust = trust;
    config
}

#[test]
fn handshakes_that_fail() {
    let titles = titles();
    let good = Certificate::of("IP:127.0.0.1");
    let other = Certificate::of("DNS:other.example");
    for (certificate, trust, version) in [
        // Nobody known has signed it.
        (&good, Trust::default(), HttpVersion::Auto),
        // It is somebody else's.
        (&other, Trust::File(other.authority()), HttpVersion::Auto),
        // HTTP/2 is asked for, and the server has none.
        (&good, Trust::File(good.authority()), HttpVersion::Two),
    ] {
        let nginx = Nginx::start(titles.path(), "ssl", &certificate.lines());
        let mut config = secured(&nginx, trust);
        config.http = version;
        nothing_but(&play(&config), "tls");
        assert!(nginx.log().is_empty());
    }
    // A certificate of the client is asked for after the handshake, by nginx as an answer: that is no failure of TLS.
    let lines = format!(
        "{} ssl_verify_client on; ssl_client_certificate {};",
        good.lines(),
        good.authority().display()
    );
    let nginx = Nginx::start(titles.path(), "ssl", &lines);
    let summary = play(&secured(&nginx, Trust::File(good.authority())));
    assert!(
        summary.all.failures.contains_key("http_4xx"),
        "{:?}",
        summary.all.failures
    );
    // Any certificate will do, if so it was said.
    let nginx = Nginx::start(titles.path(), "ssl", &other.lines());
    let summary = play(&secured(&nginx, Trust::Anyone));
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
    nothing_but(&play(&config), "connect_timeout");
}
