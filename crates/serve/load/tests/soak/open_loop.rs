//! Viewers and requests that come at times of their own, against a server that stands still, and when they leave:
//! the server keeps its own account, and what is computed from that is what the engine has to say.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::acting::{Acting, After, answer, count, mpd, serving};
use crate::playing::{config, of_kind, play, viewers};
use weir_load::schedule::Arrivals;
use weir_load::viewer::Play;

/// When requests of a connection came and were answered, by the server's thread for it: ports are used again.
type Notes = Arc<Mutex<HashMap<ThreadId, Vec<(Instant, Instant)>>>>;

/// Answers with a manifest, and stands still for the first 200 ms of each second.
fn stalling(segments: u32) -> (Acting, Notes) {
    let notes = Notes::default();
    let (noting, began) = (notes.clone(), Instant::now());
    let server = Acting::start(move |path, stream| {
        let came = Instant::now();
        let phase = began.elapsed().as_nanos() % 1_000_000_000;
        if phase < 200_000_000 {
            std::thread::sleep(Duration::from_nanos(200_000_000 - phase as u64));
        }
        let answered = Instant::now();
        noting
            .lock()
            .unwrap()
            .entry(std::thread::current().id())
            .or_default()
            .push((came, answered));
        match path {
            "/manifest.mpd" => answer(stream, "200 OK", mpd(segments).as_bytes()),
            _ => answer(stream, "200 OK", &[1; 1000]),
        }
    });
    (server, notes)
}

/// What was reported is the value that `share` of all do not exceed, but for 3 % and how late the generator itself was.
/// A rank more or less is allowed: quantiles between two values are defined in more than one way.
#[track_caller]
fn agrees(sorted: &[Duration], share: f64, reported_ns: i64, late_ns: i64) {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let at = |rank: usize| sorted[rank.clamp(1, sorted.len()) - 1].as_nanos() as f64;
    let (low, high) = (at(rank - 1), at(rank + 1));
    let reported = reported_ns as f64;
    let late = late_ns as f64;
    assert!(
        (0.97 * low - late..=1.03 * high + late).contains(&reported),
        "quantile {share}: {} ms reported, {} to {} ms computed, the generator {} ms late",
        reported / 1e6,
        low / 1e6,
        high / 1e6,
        late / 1e6
    );
}

#[test]
fn no_coordinated_omission() {
    // 500 requests a second, of which a fifth falls into a stall and waits for what is left of it: P99 is about 190 ms,
    // P99.9 about 199 ms. A closed loop would have told of one request of each viewer in each stall.
    const PACE: Duration = Duration::from_millis(100);
    let (server, notes) = stalling(1);
    let mut config = config(&server.url("/manifest.mpd"), viewers(50), Play::Manifest);
    config.behaviour.pace = Some(PACE);
    config.duration = Some(Duration::from_secs(5));
    let summary = play(&config);
    let notes = notes.lock().unwrap();
    assert_eq!(notes.len(), 50);
    let mut latencies = Vec::new();
    for connection in notes.values() {
        // The k-th request is meant to come k times the pace after the first, and never comes before that: the server's
        // own clock says when the first was meant to come. The last one is sent as the run ends, whatever its time.
        let paced = &connection[..connection.len() - 1];
        let first = paced.iter().zip(0..).map(|((came, _), k)| *came - PACE * k);
        let first = first.min().expect("more than one request");
        let waited = connection.iter().zip(0..);
        latencies
            .extend(waited.map(|((_, answered), k)| answered.saturating_duration_since(first + PACE * k)));
    }
    latencies.sort();
    let times = summary.all.last_byte;
    assert_eq!(times.count, latencies.len() as u64);
    assert!((2300..=2600).contains(&times.count), "{} requests", times.count);
    // It did stand still.
    assert!(latencies[latencies.len() * 99 / 100] > Duration::from_millis(170));
    let late = summary.schedule_error;
    agrees(&latencies, 0.9, times.p90, late.p99);
    agrees(&latencies, 0.99, times.p99, late.p99);
    agrees(&latencies, 0.999, times.p999, late.max);
}

#[test]
fn viewers_come_at_their_rate_however_slow_the_server_is() {
    for poisson in [false, true] {
        let (server, notes) = stalling(1);
        let arrivals = Arrivals::Rate {
            per_second: 100.0,
            poisson,
        };
        let mut config = config(&server.url("/manifest.mpd"), arrivals.clone(), Play::Manifest);
        config.duration = Some(Duration::from_secs(3));
        let summary = play(&config);
        let notes = notes.lock().unwrap();
        // What the schedule says: each viewer has a connection and one session of one request.
        let due: Vec<u64> = arrivals
            .changes(config.behaviour.seed)
            .map(|(at, _)| at)
            .take_while(|at| *at < 6_000_000_000)
            .collect();
        let within = due.iter().filter(|at| **at < 3_000_000_000).count() as u64;
        // The end is noticed some time after it, and on a machine that stands still some are begun too late to be let
        // in.
        assert!(
            (within - within / 20..within + 50).contains(&summary.arrivals),
            "poisson {poisson}: {} of {within}",
            summary.arrivals
        );
        assert_eq!(notes.len() as u64, summary.all.requests, "poisson {poisson}");
        // The last viewer of each thread may have left before its first request.
        let silent = summary.arrivals - summary.all.requests;
        assert!(silent <= config.threads as u64, "poisson {poisson}: {silent}");
        assert!(notes.values().all(|requests| requests.len() == 1));
        // In a stall nobody leaves: those of up to 200 ms are there together.
        assert!(summary.most_viewers >= 5, "{} at once", summary.most_viewers);
        // From the intended start on: the server's clock and the schedule's are set by the first that came.
        let mut came: Vec<(Instant, Instant)> = notes.values().flatten().copied().collect();
        came.sort();
        let start = came
            .iter()
            .zip(&due)
            .map(|((came, _), at)| *came - Duration::from_nanos(*at))
            .min()
            .unwrap();
        let mut latencies: Vec<Duration> = came
            .iter()
            .zip(&due)
            .map(|((_, answered), at)| answered.saturating_duration_since(start + Duration::from_nanos(*at)))
            .collect();
        latencies.sort();
        let times = summary.all.last_byte;
        let late = summary.schedule_error;
        agrees(&latencies, 0.9, times.p90, late.p99);
        agrees(&latencies, 0.99, times.p99, late.max);
    }
}

#[test]
fn viewers_think_between_sessions_and_end_them_in_time() {
    // One viewer, which thinks for 150 ms after each manifest: in 0.7 s it has 5 sessions at most, and opens a
    // connection for each.
    let server = serving(3, 100);
    let mut thinking = config(&server.url("/a.mpd"), viewers(1), Play::Manifest);
    thinking.behaviour.think = (Duration::from_millis(150), Duration::from_millis(150));
    let summary = play(&thinking);
    assert!(
        (2..=5).contains(&summary.all.requests),
        "{} sessions",
        summary.all.requests
    );
    assert_eq!(summary.all.connections, summary.all.requests);
    // Segments that take 60 ms each, and sessions of 100 ms: nobody comes to the third segment of pictures.
    let server = Acting::start(|path, stream| -> After {
        if path.ends_with(".mpd") {
            return answer(stream, "200 OK", mpd(3).as_bytes());
        }
        std::thread::sleep(Duration::from_millis(60));
        answer(stream, "200 OK", b"x")
    });
    let mut short = config(&server.url("/a.mpd"), viewers(1), Play::Loop);
    short.behaviour.session = Some(Duration::from_millis(100));
    play(&short);
    let asked = server.asked();
    let sessions = count(&asked, |path| path.ends_with(".mpd"));
    assert!(sessions > 1, "{asked:?}");
    assert_eq!(count(&asked, |path| path.ends_with("/2")), 0, "{asked:?}");
}

#[test]
fn a_viewer_in_real_time_keeps_to_its_clock() {
    let server = serving(100, 1000);
    let mut config = config(&server.url("/manifest.mpd"), viewers(3), Play::RealTime);
    config.duration = Some(Duration::from_secs(2));
    let summary = play(&config);
    // Each fills its buffer of 25 s, with 12 segments of each kind, and then waits for two seconds of playback.
    for kind in ["audio", "video"] {
        let segments = of_kind(&summary, kind);
        assert!((3 * 11..=3 * 14).contains(&segments), "{segments} of {kind}");
    }
    assert_eq!((of_kind(&summary, "manifest"), of_kind(&summary, "init")), (3, 6));
    let quality = summary.quality.expect("sessions");
    assert_eq!(
        (quality.sessions, quality.stalls, quality.never_started),
        (3, 0, 0)
    );
    // Weighted by time, which leaves rounding.
    assert!(
        quality
            .bitrate
            .is_some_and(|bitrate| (bitrate - 3_894_000.0).abs() < 1.0),
        "{quality:?}"
    );
    assert!(quality.played_ns > 3 * 1_000_000_000, "{quality:?}");
}
