//! Rules and pace rates against worked examples: values that follow from the papers' formulas by hand.

use std::sync::Arc;
use std::time::Duration;

use weir_player::virtual_time::{Fetch, Session, Step, SteppedLink, play};
use weir_player::{
    AbrRule, Event, FirstRung, InitialThroughputs, Manifest, MediaKind, PacePolicy, Player, Rung, Settings,
    Track,
};
use weir_units::Rate;

fn manifest(kbits: &[u64], seconds: u64, segments: usize) -> Arc<Manifest> {
    let rungs = kbits.iter().map(|kbits| Rung {
        bitrate: Rate(kbits * 1_000),
        segment_bytes: vec![],
    });
    let durations = vec![Duration::from_secs(seconds); segments];
    let track = Track::new(MediaKind::Video, &durations, rungs.collect()).unwrap();
    Arc::new(Manifest::new(vec![track]).unwrap())
}

/// Over a link of this constant rate without latency.
fn session(settings: Settings, manifest: &Arc<Manifest>, rate: u64) -> Session {
    let step = Step {
        duration: Duration::from_secs(1),
        rate,
        latency: Duration::ZERO,
    };
    let link = SteppedLink::new(vec![step]).unwrap();
    let script = [(Duration::ZERO, Event::Manifest(Arc::clone(manifest)))];
    play(
        Player::new(settings, Duration::ZERO),
        &link,
        &script,
        Duration::from_secs(100_000),
    )
}

/// The first fetch that was asked for with at least so much in the buffer.
fn at_buffer(session: &Session, seconds: f64) -> Fetch {
    *session
        .fetches
        .iter()
        .find(|fetch| fetch.buffer.as_secs_f64() >= seconds)
        .unwrap()
}

/// BBA-0 with the ladder and the buffer of its paper: Rmin 235 kbit/s, Rmax 3000, reservoir 90 s, cushion 126 s. On so
/// fast a link the buffer grows by 4 s a segment, so it is asked at 4, 8, 12 ... s. The line is
/// f(B) = 235 + 2765 (B - 90) / 126, and a rung is left upwards when f(B) has reached the next one; the new rung is the
/// highest below f(B); the top rung comes at 216 s. Reached: 375 at 96.4 s, 560 at 104.8, 750 at 113.5, 1050 at 127.1, 1750 at 159.0, 2350 at 186.4.
#[test]
fn bba_climbs_where_its_line_crosses_the_rungs() {
    let manifest = manifest(&[235, 375, 560, 750, 1050, 1750, 2350, 3000], 4, 120);
    let max_buffer = Duration::from_secs(240);
    let rule = AbrRule::bba(max_buffer);
    assert_eq!(
        rule,
        AbrRule::Bba {
            reservoir: Duration::from_secs(90),
            cushion: Duration::from_secs(126)
        }
    );
    let settings = Settings {
        abr: rule,
        max_buffer,
        ..Settings::default()
    };
    // Some gigabits each second: hardly anything is played while the buffer fills.
    let session = session(settings, &manifest, 100_000_000_000);
    let rung = |seconds: f64| at_buffer(&session, seconds - 0.5).rung;
    let expected = [
        (88.0, 0),
        (96.0, 0),
        (100.0, 1),
        (104.0, 1),
        (108.0, 2),
        (112.0, 2),
        (116.0, 3),
        (124.0, 3),
        (128.0, 4),
        (156.0, 4),
        (160.0, 5),
        (184.0, 5),
        (188.0, 6),
        (212.0, 6),
        (216.0, 6),
        (220.0, 7),
        (236.0, 7),
    ];
    for (buffer, wanted) in expected {
        assert_eq!(rung(buffer), wanted, "with {buffer} s in the buffer");
    }
}

/// r <= beta x (1 + B / D) with beta 0.5 and D 20 s, on a link of 4 Mbit/s and a ladder of 1, 2, 2.93, 3.93 and 5.93 Mbit/s:
/// with 4 s in the buffer up to 2.4 Mbit/s, with 10 s up to 3, with 20 s up to 4, with 40 s up to 6.
#[test]
fn hyb_takes_what_arrives_before_the_buffer_is_empty() {
    let manifest = manifest(&[1_000, 2_000, 2_930, 3_930, 5_930], 2, 400);
    let rule = AbrRule::Hyb {
        beta: 0.5,
        look_ahead: Duration::from_secs(20),
    };
    let settings = Settings {
        abr: rule,
        max_buffer: Duration::from_secs(60),
        ..Settings::default()
    };
    let session = session(settings, &manifest, 4_000_000);
    for fetch in session.fetches.iter().skip(1).take(300) {
        let most = 0.5 * 4.0 * (1.0 + fetch.buffer.as_secs_f64() / 20.0);
        let wanted = [2.0, 2.93, 3.93, 5.93]
            .iter()
            .filter(|rung| **rung <= most)
            .count();
        assert_eq!(fetch.rung, wanted, "with {:?} in the buffer", fetch.buffer);
    }
    // It goes up to where 4 Mbit/s carry it: to the fourth rung, which needs 19.3 s; the fifth would need 39.3.
    let last = session.fetches[250];
    assert_eq!(last.rung, 3);
    assert_eq!(session.figures.stalls, 0);
}

/// Sammy: (c1 B + c0 (1 - B)) times the top rung, B the share of the buffer that is filled; nothing before playback. With
/// 3.2 and 2.8, 3.3 Mbit/s and a buffer of 40 s: 10.56 Mbit/s with an empty one, 9.9 with 20 s, 9.24 with 40.
#[test]
fn sammy_paces_by_the_buffer_and_the_top_rung() {
    let manifest = manifest(&[300, 1_500, 3_300], 4, 60);
    let settings = Settings {
        abr: AbrRule::Fixed(1),
        pace: PacePolicy::Sammy { c0: 3.2, c1: 2.8 },
        max_buffer: Duration::from_secs(40),
        start_buffer: Duration::from_secs(8),
        ..Settings::default()
    };
    let session = session(settings, &manifest, 40_000_000);
    // The first two are the initial phase.
    assert!(session.fetches[..2].iter().all(|fetch| fetch.pace.is_none()));
    for fetch in &session.fetches[2..] {
        let filled = fetch.buffer.as_secs_f64() / 40.0;
        let wanted = (2.8 * filled + 3.2 * (1.0 - filled)) * 3_300_000.0;
        let pace = fetch.pace.unwrap().0 as f64;
        assert!((pace - wanted).abs() < 2.0, "{pace} for {wanted}");
        assert!((9_239_998.0..=10_560_000.0).contains(&pace));
    }
    // What the link carries, though all later ones were paced to a quarter of it.
    let initial = session.figures.initial_throughput.unwrap().0 as f64;
    assert!((initial / 40e6 - 1.0).abs() < 0.01, "{initial}");
}

/// dash.js: 5 x bitrate x duration / buffer, up to the next 100 kbit/s. 2 Mbit/s and segments of 4 s: with 8 s 5.1 Mbit/s
/// (5.0 goes up too), with 20 s 2.1, with 40 s 1.1, which is below the bitrate.
#[test]
fn the_rate_of_dash_js_falls_below_the_bitrate() {
    let manifest = manifest(&[2_000], 4, 60);
    let settings = Settings {
        abr: AbrRule::Fixed(0),
        pace: PacePolicy::DashJs,
        max_buffer: Duration::from_secs(60),
        start_buffer: Duration::from_secs(40),
        ..Settings::default()
    };
    let session = session(settings, &manifest, 100_000_000);
    let paces: Vec<u64> = session
        .fetches
        .iter()
        .take(10)
        .map(|fetch| fetch.pace.unwrap().0 / 1_000)
        .collect();
    // Nothing is played before 40 s are there. Without a buffer it counts with half a second.
    assert_eq!(
        paces,
        [
            80_100, 10_100, 5_100, 3_400, 2_600, 2_100, 1_700, 1_500, 1_300, 1_200
        ]
    );
}

/// (r / beta) / (1 + B / D) times a margin, with the top rung r: the pace at which HYB just still chooses the top rung. So
/// a player that is paced with a margin of 1.05 stays on it, and one that is paced to 0.8 of the floor does not.
#[test]
fn hyb_stays_on_the_top_rung_at_its_floor_and_not_below() {
    let manifest = manifest(&[500, 1_000, 2_000, 3_000], 2, 300);
    let (beta, look_ahead) = (0.5, Duration::from_secs(20));
    let settings = |margin: f64| Settings {
        abr: AbrRule::Hyb { beta, look_ahead },
        pace: PacePolicy::HybFloor {
            margin,
            beta,
            look_ahead,
        },
        first_rung: FirstRung::Rung(3),
        max_buffer: Duration::from_secs(20),
        ..Settings::default()
    };
    let on_top = |session: &Session| {
        let later = &session.fetches[100..250];
        later.iter().filter(|fetch| fetch.rung == 3).count() as f64 / later.len() as f64
    };
    let with_margin = session(settings(1.05), &manifest, 50_000_000);
    assert!(
        with_margin
            .fetches
            .iter()
            .skip(1)
            .any(|fetch| fetch.pace.is_some())
    );
    assert_eq!(on_top(&with_margin), 1.0);
    // 3 / 0.5 = 6 Mbit/s with an empty buffer, 3 with 20 s.
    for fetch in with_margin.fetches.iter().filter(|fetch| fetch.pace.is_some()) {
        let wanted = 1.05 * 6e6 / (1.0 + fetch.buffer.as_secs_f64() / 20.0);
        assert!((fetch.pace.unwrap().0 as f64 - wanted).abs() < 2.0);
    }
    assert!(on_top(&session(settings(0.8), &manifest, 50_000_000)) < 0.5);
}

/// Sammy's history is of initial phases alone: the harmonic mean of 40 and 10 Mbit/s is 16, and half of that carries the
/// whole ladder. What the playing phase of the same session saw would not: it was paced to 1.6 times the top rung at most.
#[test]
fn sammy_begins_by_the_initial_phases_of_earlier_sessions() {
    let manifest = manifest(&[300, 1_500, 3_300, 7_000], 4, 30);
    let settings = |first_rung: FirstRung| Settings {
        pace: PacePolicy::Sammy { c0: 1.6, c1: 1.4 },
        abr: AbrRule::ThroughputShare(0.5),
        first_rung,
        start_buffer: Duration::from_secs(8),
        ..Settings::default()
    };
    let mut history = InitialThroughputs::default();
    assert_eq!(history.estimate(), None);
    for rate in [40_000_000, 10_000_000] {
        let session = session(settings(FirstRung::Lowest), &manifest, rate);
        history.push(session.figures.initial_throughput.unwrap());
    }
    let rate = history.estimate().unwrap();
    assert!((rate.0 as f64 / 16e6 - 1.0).abs() < 0.01, "{rate:?}");
    let next = session(
        settings(FirstRung::FromThroughput { rate, share: 0.5 }),
        &manifest,
        40_000_000,
    );
    assert_eq!((next.fetches[0].rung, next.fetches[0].pace), (3, None));
    // Only the latest eight count.
    for _ in 0..8 {
        history.push(Rate(5_000_000));
    }
    assert_eq!(history.estimate(), Some(Rate(5_000_000)));
}
