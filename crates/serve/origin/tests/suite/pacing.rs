//! Answers at the rate that players ask for, as it arrives over real sockets. Times are compared with each other, or
//! have to be longer than a rate allows: a busy machine makes nothing arrive too soon.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::arrivals::{Answer, LEAST_SHARE, ask, connect, request};
use crate::frames::{Client, END_STREAM, Frame};
use crate::misbehaving::object;
use crate::served::{Served, config, log_lines, make_certificate, wait_until};
use tempfile::TempDir;
use weir_origin::{Config, Configuration, LogTo};
use weir_pacing::{Burst, PaceBounds, Pacing};
use weir_units::Rate;

/// Bytes of `/a.mp4`.
const LENGTH: usize = 1_500_000;
/// Asks for 8 Mbit/s, 1 MB each second.
const PACED: &str = "/a.mp4?CMCD=bl%3D20000%2Crtp%3D8000";
const UNPACED: &str = "/a.mp4?CMCD=bl%3D20000%2Crtp%3D8000%2Csu";

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("a.mp4"), object(LENGTH)).expect("a file");
    folder
}

fn paced(folder: &TempDir) -> Config {
    Config {
        pacing: Some(Pacing::default()),
        ..config(folder.path().to_str().expect("a name"))
    }
}

/// Minimum time of these bytes at the rate of [`PACED`], less the initial burst.
fn at_its_rate(bytes: usize) -> Duration {
    Duration::from_secs_f64(bytes as f64 / 1e6 * LEAST_SHARE)
}

/// Checks that these bytes arrive well before the rate of [`PACED`] would allow.
#[track_caller]
fn assert_unpaced(bytes: usize, arrival: impl FnMut() -> Duration) {
    assert_sooner_than(at_its_rate(bytes) / 2, arrival);
}

/// Checks that one of three answers arrives sooner: a busy machine may slow one of them, a rate that holds slows all.
#[track_caller]
fn assert_sooner_than(most: Duration, mut arrival: impl FnMut() -> Duration) {
    let mut times = Vec::new();
    while times.len() < 3 {
        times.push(arrival());
        if times.last() < Some(&most) {
            return;
        }
    }
    panic!("{times:?}");
}

fn decisions(served: &Served, paced: &str, reason: &str) -> f64 {
    let labels = format!("{{paced=\"{paced}\",reason=\"{reason}\"}}");
    served.metric(&format!("weir_origin_pace_decisions_total{labels}"))
}

#[test]
fn an_answer_arrives_at_its_rate_and_the_next_on_its_connection_does_not() {
    // Read as it is sent, and at hand as a whole.
    for configuration in [Configuration::E, Configuration::D] {
        let folder = folder();
        let served = Served::start(&Config {
            configuration,
            ..paced(&folder)
        });
        let mut stream = connect(&served);
        let first = ask(&mut stream, PACED, &[]);
        assert_eq!(first.header("weir-pace"), Some("8000000;reason=asked"));
        assert_eq!(first.header("cmsd-dynamic"), Some("\"weir\";mb=8000"));
        assert!(first.body == object(LENGTH));
        // Nor was what lay in buffers when the body had ended here.
        first.assert_no_faster_than(1e6);

        assert_unpaced(LENGTH, || {
            let begun = Instant::now();
            let second = ask(&mut stream, UNPACED, &[]);
            let took = begun.elapsed();
            assert_eq!(second.header("weir-pace"), Some("unpaced;reason=startup"));
            assert_eq!(second.header("cmsd-dynamic"), None);
            assert!(second.body == object(LENGTH));
            // And paced again.
            ask(&mut stream, PACED, &[]).assert_no_faster_than(1e6);
            took
        });
        let count = served.metric("weir_origin_pace_bits_per_second_count");
        assert!(count >= 2.0);
        assert_eq!(served.metric("weir_origin_pace_bits_per_second_sum"), 8e6 * count);
        wait_until("the end of the rate", || {
            served.metric("weir_origin_paced_connections") == 0.0
        });
        assert!(
            configuration != Configuration::D
                || served.metrics.bytes_in(weir_origin::Kind::File) <= LENGTH as u64
        );
    }
}

#[test]
fn a_request_that_comes_before_the_last_answer_has_left_lets_nothing_out() {
    let folder = folder();
    let served = Served::start(&paced(&folder));
    assert_unpaced(LENGTH, || {
        let mut stream = connect(&served);
        let both = request(PACED, &[]) + &request(UNPACED, &[]);
        let asked = Instant::now();
        stream.write_all(both.as_bytes()).expect("requests");
        let first = Answer::read(&mut stream, asked);
        assert!(first.body == object(LENGTH));
        first.assert_no_faster_than(1e6);
        let second = Answer::read(&mut stream, Instant::now());
        assert!(second.body == object(LENGTH));
        second.took()
    });
}

#[test]
fn nothing_is_paced_unless_that_is_switched_on() {
    let folder = folder();
    let served = Served::folder(folder.path());
    assert_unpaced(LENGTH, || {
        let answer = ask(&mut connect(&served), PACED, &[("Pacing-Rate-KBps", "1000")]);
        assert!(answer.body == object(LENGTH));
        let told = (answer.header("weir-pace"), answer.header("cmsd-dynamic"));
        assert_eq!(told, (None, None));
        answer.took()
    });
    assert_eq!(decisions(&served, "yes", "asked"), 0.0);
}

#[test]
fn what_is_asked_for_is_held_within_bounds_wherever_it_stands() {
    let folder = folder();
    fs::write(folder.path().join("s.mp4"), object(1_000)).unwrap();
    let served = Served::start(&paced(&folder));
    let mut stream = connect(&served);
    let long = format!("rtp=8000,com.example-x=\"{}\"", "x".repeat(10_000));
    for (name, value, told) in [
        ("CMCD-Status", "rtp=8000", "8000000;reason=asked"),
        ("Pacing-Rate-KBps", "1000", "8000000;reason=asked"),
        ("CMCD-Object", "tb=3300", ""),
        ("CMCD-Status", "rtp=1", "1000000;reason=floor"),
        ("Pacing-Rate-KBps", "1", "1000000;reason=floor"),
        ("CMCD-Status", "rtp=1000000000", "1000000000000;reason=asked"),
        ("CMCD-Status", "rtp=2200,tb=3300", "6600000;reason=top_rung"),
        (
            "CMCD-Status",
            "rtp=2200,tb=(3300;v),ot=v,v=2",
            "6600000;reason=top_rung",
        ),
        ("CMCD-Status", "bs,rtp=8000", "unpaced;reason=starved"),
        ("CMCD-Request", "bl=3900,rtp=8000", "unpaced;reason=low_buffer"),
        // What else is malformed is in the table of `weir-media`.
        ("CMCD-Status", "rtp=0", "unpaced;reason=malformed"),
        ("CMCD-Status", &long, "unpaced;reason=malformed"),
        ("Pacing-Rate-KBps", "-1000", "unpaced;reason=malformed"),
    ] {
        let answer = ask(&mut stream, "/s.mp4", &[(name, value)]);
        assert_eq!(
            (answer.status.as_str(), answer.body.len()),
            ("200", 1_000),
            "{name}: {value}"
        );
        assert_eq!(answer.header("weir-pace").unwrap_or(""), told, "{name}: {value}");
    }
    assert_eq!(decisions(&served, "no", "malformed"), 3.0);
    assert_eq!(decisions(&served, "no", "not_asked"), 1.0);
    assert_eq!(decisions(&served, "yes", "floor"), 2.0);
    // What is no media is never paced.
    let answer = ask(&mut stream, "/healthz", &[("CMCD-Status", "rtp=8000")]);
    assert_eq!(answer.header("weir-pace"), None);
}

#[test]
fn a_connection_is_held_no_longer_than_allowed() {
    let folder = folder();
    let served = Served::start(&Config {
        pacing: Some(Pacing {
            bounds: PaceBounds {
                longest: Duration::from_secs(2),
                floor: Rate(1_000),
                ..PaceBounds::default()
            },
            burst: Burst::Auto,
        }),
        ..paced(&folder)
    });
    // 1 kbit/s would take three hours.
    let answer = ask(&mut connect(&served), "/a.mp4?CMCD=rtp%3D1", &[]);
    assert_eq!(answer.header("weir-pace"), Some("6000000;reason=time"));
    assert!(answer.took() > Duration::from_secs(1), "{:?}", answer.took());
}

/// A client of HTTP/2 that takes all there is.
fn http2(served: &Served) -> Client {
    let mut client = Client::start(connect(served));
    client.send(&Frame::window(0, 1 << 30));
    client
}

/// Asks for one path on each of these streams, and reads until all have ended.
fn fetch(client: &mut Client, requests: &[(u32, &str)]) -> Duration {
    let asked = Instant::now();
    for (stream, path) in requests {
        client.send(&Frame::get(*stream, path));
        client.send(&Frame::window(*stream, 1 << 30));
    }
    let mut left = requests.len();
    while left > 0 {
        let frame = client.read().expect("the connection goes on");
        // Settings that are acknowledged have the same flag.
        if frame.stream != 0 && frame.flags & END_STREAM != 0 {
            left -= 1;
        }
    }
    asked.elapsed()
}

#[test]
fn a_connection_of_http_2_has_the_highest_rate_of_its_streams() {
    const FASTER: &str = "/a.mp4?CMCD=rtp%3D24000";
    let folder = folder();
    let served = Served::start(&paced(&folder));
    let mut client = http2(&served);
    let mut streams = (1..).step_by(2);
    let mut ask = |paths: &[&str]| {
        let requests: Vec<(u32, &str)> = streams.by_ref().zip(paths.iter().copied()).collect();
        fetch(&mut client, &requests)
    };
    let alone = ask(&[PACED]);
    assert!(alone > at_its_rate(LENGTH), "{alone:?}");
    // Three times the rate for three times as much, of which one stream asks for a third.
    assert_sooner_than(at_its_rate(3 * LENGTH) * 3 / 4, || {
        let three = ask(&[FASTER, PACED, PACED]);
        assert!(three > at_its_rate(LENGTH), "{three:?}");
        three
    });
    // One that is not paced takes the others with it.
    assert_unpaced(2 * LENGTH, || ask(&[UNPACED, UNPACED]));
    let again = ask(&[PACED]);
    assert!(again > at_its_rate(LENGTH), "{again:?}");
}

#[test]
fn rates_hold_inside_tls() {
    let (folder, certificates) = (folder(), TempDir::new().expect("a folder"));
    let log = folder.path().join("access.log");
    let mut served = Served::start(&Config {
        tls: Some(make_certificate(certificates.path())),
        access_log: Some(LogTo::File(log.clone())),
        ..paced(&folder)
    });
    for version in ["--http1.1", "--http2"] {
        // Twice on one connection; what was sent at once of the first answer is not of the second.
        let url = format!("https://{}{PACED}", served.address);
        let done = Command::new("curl")
            .args(["--silent", "--show-error", version, "--cacert"])
            .arg(certificates.path().join("cert.pem"))
            .args(["--write-out", "%{time_total} %{size_download} %{num_connects}\n"])
            .args(["--output", "/dev/null", &url, "--output", "/dev/null", &url])
            .output()
            .expect("curl");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let said = String::from_utf8(done.stdout).expect("text");
        let second: Vec<f64> = said
            .lines()
            .nth(1)
            .expect("a second answer")
            .split(' ')
            .map(|number| number.parse().expect("a number"))
            .collect();
        assert_eq!(second[1..], [LENGTH as f64, 0.0], "{version}");
        assert!(second[0] > at_its_rate(LENGTH).as_secs_f64(), "{version}: {said}");
    }
    served.stop().expect("an orderly end");
    let lines = log_lines(&log);
    assert_eq!(lines.len(), 4);
    for (line, is_second) in lines.iter().zip([false, true].into_iter().cycle()) {
        // What the client waited for, and not what the socket took.
        let delivered = Duration::from_nanos(line["delivered_ns"].as_u64().expect("all of it"));
        assert!(!is_second || delivered > at_its_rate(LENGTH), "{line}");
        assert_eq!(
            (&line["pace"]["rate"], &line["pace"]["reason"]),
            (&8_000_000.into(), &"asked".into())
        );
        // TLS and headers of packets: on loopback packets are large.
        let wire = line["pace"]["wire_rate"].as_u64().expect("a rate");
        assert!((8_005_000..8_200_000).contains(&wire), "{wire}");
    }
}

#[test]
fn bursts_are_as_long_as_is_said() {
    /// What arrives at once where little does.
    fn short_burst(stream: &mut TcpStream) -> usize {
        let answer = ask(stream, PACED, &[]);
        answer.assert_no_faster_than(1e6);
        let mut pieces: Vec<usize> = answer.pieces();
        pieces.sort_unstable();
        // A tenth of the bytes came in pieces of at most that.
        let mut so_far = 0;
        let is_tenth = |piece: &&usize| {
            so_far += **piece;
            so_far > LENGTH / 10
        };
        *pieces.iter().find(is_tenth).expect("a tenth")
    }
    let folder = folder();
    // The kernel makes longer ones where the round trip is as short as here.
    for (burst, is_short) in [
        (Burst::Packets(4), true),
        (Burst::Auto, true),
        (Burst::Kernel, false),
    ] {
        let served = Served::start(&Config {
            pacing: Some(Pacing {
                burst,
                ..Pacing::default()
            }),
            ..paced(&folder)
        });
        // A reader that is held up finds several bursts at once, and never a part of one: the shortest pieces of some answers
        // are bursts.
        let mut answers = (0..3).map(|_| short_burst(&mut connect(&served)));
        let short = answers.find(|bytes| *bytes <= 4 * 1460);
        assert_eq!(short.is_some(), is_short, "{burst}: {short:?} bytes at once");
    }
}
