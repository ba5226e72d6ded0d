//! The state machine, event by event: buffers, start-up, stalls, seeks, failures, what it tells servers.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use weir_media::cmcd::{Cmcd, ObjectType, StreamingFormat, Version};
use weir_player::virtual_time::{Step, SteppedLink, play};
use weir_player::{
    AbrRule, Action, Arrivals, CmcdSettings, Event, FirstRung, Manifest, MediaKind, Outcome, PacePolicy,
    Player, Request, RequestId, Rung, Settings, Track,
};
use weir_units::Rate;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn track(kind: MediaKind, seconds: u64, segments: usize, kbits: &[u64]) -> Track {
    let rungs = kbits.iter().map(|kbits| Rung {
        bitrate: Rate(kbits * 1_000),
        segment_bytes: vec![],
    });
    Track::new(
        kind,
        &vec![Duration::from_secs(seconds); segments],
        rungs.collect(),
    )
    .unwrap()
}

fn video(segments: usize) -> Arc<Manifest> {
    Arc::new(Manifest::new(vec![track(MediaKind::Video, 4, segments, &[1_000, 2_000, 4_000])]).unwrap())
}

fn video_and_audio() -> Arc<Manifest> {
    let video = track(MediaKind::Video, 4, 10, &[1_000, 2_000]);
    let audio = track(MediaKind::Audio, 2, 20, &[64, 128]);
    Arc::new(Manifest::new(vec![video, audio]).unwrap())
}

/// A player that always takes this rung.
fn fixed(rung: usize) -> Settings {
    Settings {
        abr: AbrRule::Fixed(rung),
        ..Settings::default()
    }
}

fn started(settings: Settings, manifest: &Arc<Manifest>) -> Player {
    let mut player = Player::new(settings, Duration::ZERO);
    assert_eq!(player.poll(Duration::ZERO), Action::Wait { until: None });
    player.handle(Duration::ZERO, Event::Manifest(Arc::clone(manifest)));
    player
}

fn fetch(player: &mut Player, now: Duration) -> Request {
    match player.poll(now) {
        Action::Fetch(request) => request,
        other => panic!("{other:?} instead of a fetch"),
    }
}

fn complete(player: &mut Player, now: Duration, request: &Request) {
    let bytes = request.expected_bytes;
    player.handle(
        now,
        Event::Bytes {
            request: request.id,
            bytes,
        },
    );
    player.handle(now, Event::Complete { request: request.id });
}

#[test]
fn playback_starts_stalls_and_goes_on_to_the_nanosecond() {
    let mut player = started(Settings::default(), &video(3));
    let first = fetch(&mut player, Duration::ZERO);
    assert_eq!((first.segment, first.rung, first.expected_bytes), (0, 0, 500_000));
    assert_eq!(player.poll(at(1.0)), Action::Wait { until: None });
    complete(&mut player, at(1.5), &first);
    assert!(player.is_playing());
    let second = fetch(&mut player, at(1.5));
    // Four seconds are played; then nothing is there until 7.25 s.
    assert_eq!(player.figures(at(6.5)).stalled, SECOND);
    complete(&mut player, at(7.25), &second);
    let third = fetch(&mut player, at(7.25));
    complete(&mut player, at(8.25), &third);
    assert_eq!(
        player.poll(at(8.25)),
        Action::Wait {
            until: Some(at(15.25))
        }
    );
    assert_eq!(player.poll(at(15.25)), Action::Finished(Outcome::Played));
    let figures = player.figures(at(100.0));
    assert_eq!(figures.startup_delay, Some(at(1.5)));
    assert_eq!((figures.stalls, figures.stalled), (1, at(1.75)));
    assert_eq!(figures.played, at(12.0));
    assert!((figures.stall_ratio() - 1.75 / 13.75).abs() < 1e-9);
    assert_eq!((figures.requests, figures.failures), (3, 0));
}

#[test]
fn a_full_buffer_waits_until_a_segment_fits() {
    let settings = Settings {
        max_buffer: at(10.0),
        ..fixed(0)
    };
    let mut player = started(settings, &video(10));
    for _ in 0..2 {
        let request = fetch(&mut player, SECOND);
        complete(&mut player, SECOND, &request);
    }
    // Eight seconds are there; four more fit two seconds later.
    assert_eq!(player.poll(SECOND), Action::Wait { until: Some(at(3.0)) });
    assert_eq!(player.poll(at(2.5)), Action::Wait { until: Some(at(3.0)) });
    assert_eq!(fetch(&mut player, at(3.0)).segment, 2);
}

#[test]
fn a_buffer_that_holds_no_segment_still_plays() {
    let settings = Settings {
        max_buffer: SECOND,
        start_buffer: at(60.0),
        ..Settings::default()
    };
    let mut player = started(settings, &video(2));
    let first = fetch(&mut player, Duration::ZERO);
    complete(&mut player, SECOND, &first);
    assert!(player.is_playing());
    assert_eq!(player.poll(SECOND), Action::Wait { until: Some(at(5.0)) });
    assert_eq!(fetch(&mut player, at(5.0)).segment, 1);
}

#[test]
fn playback_waits_for_every_track_and_stalls_with_the_first_that_is_empty() {
    let mut player = started(fixed(0), &video_and_audio());
    let video = fetch(&mut player, Duration::ZERO);
    let audio = fetch(&mut player, Duration::ZERO);
    assert_eq!((video.kind, audio.kind), (MediaKind::Video, MediaKind::Audio));
    complete(&mut player, SECOND, &video);
    assert!(!player.is_playing());
    let second_video = fetch(&mut player, SECOND);
    complete(&mut player, at(2.0), &audio);
    assert!(player.is_playing());
    let second_audio = fetch(&mut player, at(2.0));
    complete(&mut player, at(2.5), &second_video);
    // Two seconds of sound, from 2 s on: it stands still at 4 s though there are pictures until 8.
    complete(&mut player, at(4.5), &second_audio);
    assert_eq!(player.position(), at(2.0));
    assert_eq!(player.buffer(0), at(6.0));
    let figures = player.figures(at(5.0));
    assert_eq!(
        (figures.startup_delay, figures.stalls, figures.stalled),
        (Some(at(2.0)), 1, at(0.5))
    );
    assert_eq!(figures.played, at(2.5));
}

#[test]
fn who_fetches_one_after_the_other_gets_the_track_that_runs_dry_first() {
    let manifest = video_and_audio();
    let mut player = started(Settings::default(), &manifest);
    // Pictures in pieces of 4 s, sound in pieces of 2 s: as much of both.
    let tracks: Vec<usize> = (0..9)
        .map(|_| {
            let request = fetch(&mut player, Duration::ZERO);
            complete(&mut player, Duration::ZERO, &request);
            request.track
        })
        .collect();
    assert_eq!(tracks, [0, 1, 1, 0, 1, 1, 0, 1, 1]);
}

#[test]
fn a_seek_cancels_what_is_under_way_and_is_no_stall() {
    let mut player = started(fixed(1), &video_and_audio());
    let first: Vec<Request> = (0..2).map(|_| fetch(&mut player, Duration::ZERO)).collect();
    for request in &first {
        complete(&mut player, SECOND, request);
    }
    let mut under_way: Vec<RequestId> = (0..2).map(|_| fetch(&mut player, SECOND).id).collect();
    // Sound has less in its buffer, and is asked for first; what is cancelled goes by track.
    under_way.reverse();
    player.handle(at(2.0), Event::Seek { to: at(21.0) });
    let cancelled: Vec<Action> = (0..2).map(|_| player.poll(at(2.0))).collect();
    assert_eq!(
        cancelled,
        under_way.iter().map(|id| Action::Cancel(*id)).collect::<Vec<_>>()
    );
    let after: Vec<Request> = (0..2).map(|_| fetch(&mut player, at(2.0))).collect();
    assert_eq!(
        after.iter().map(|request| request.segment).collect::<Vec<_>>(),
        [5, 10]
    );
    // Events of cancelled requests are ignored.
    player.handle(
        at(2.5),
        Event::Complete {
            request: under_way[0],
        },
    );
    for request in &after {
        complete(&mut player, at(3.5), request);
    }
    assert!(player.is_playing());
    assert_eq!(player.position(), at(21.0));
    // The segment began at 20 s, one second before.
    assert_eq!((player.buffer(0), player.buffer(1)), (at(3.0), SECOND));
    let figures = player.figures(at(3.5));
    assert_eq!((figures.seeks, figures.seeking, figures.stalls), (1, at(1.5), 0));
}

#[test]
fn a_seek_within_the_buffer_plays_on() {
    let mut player = started(fixed(0), &video(10));
    for _ in 0..3 {
        let request = fetch(&mut player, SECOND);
        complete(&mut player, SECOND, &request);
    }
    player.handle(at(2.0), Event::Seek { to: at(9.0) });
    assert!(player.is_playing());
    assert_eq!((player.position(), player.buffer(0)), (at(9.0), at(3.0)));
    // One second from the beginning, and none of what was skipped.
    assert_eq!(player.figures(at(2.0)).played, SECOND);
    assert_eq!(player.figures(at(2.0)).seeking, Duration::ZERO);
}

#[test]
fn a_seek_to_the_end_ends_the_session() {
    let mut player = started(Settings::default(), &video(10));
    player.handle(SECOND, Event::Seek { to: at(1_000.0) });
    assert_eq!(player.poll(SECOND), Action::Finished(Outcome::Played));
}

#[test]
fn a_seek_before_the_manifest_is_known_is_where_playback_begins() {
    let mut player = Player::new(Settings::default(), Duration::ZERO);
    player.handle(SECOND, Event::Seek { to: at(21.0) });
    player.handle(SECOND, Event::Manifest(video(10)));
    let request = fetch(&mut player, SECOND);
    assert_eq!(request.segment, 5);
    complete(&mut player, at(2.0), &request);
    assert_eq!((player.position(), player.buffer(0)), (at(21.0), at(3.0)));
    assert_eq!(player.figures(at(2.0)).startup_delay, Some(at(2.0)));
}

#[test]
fn failures_are_tried_again_later_each_time_and_then_given_up() {
    let settings = Settings {
        attempts: 3,
        retry_wait: SECOND,
        seed: 7,
        ..Settings::default()
    };
    let mut player = started(settings, &video(10));
    let mut now = Duration::ZERO;
    for (attempt, longest) in [(1, 1.5), (2, 3.0)] {
        let request = fetch(&mut player, now);
        assert_eq!(request.segment, 0);
        player.handle(now, Event::Failed { request: request.id });
        let Action::Wait { until: Some(until) } = player.poll(now) else {
            panic!("no wait after {attempt}")
        };
        let waited = (until - now).as_secs_f64();
        assert!(
            (longest / 3.0..=longest).contains(&waited),
            "{waited} s after {attempt}"
        );
        now = until;
    }
    let request = fetch(&mut player, now);
    player.handle(now, Event::Failed { request: request.id });
    assert_eq!(player.poll(now), Action::Finished(Outcome::GaveUp));
    assert_eq!(player.figures(now).failures, 3);
}

#[test]
fn a_stopped_session_cancels_and_counts_its_last_stall() {
    let mut player = started(Settings::default(), &video(10));
    let first = fetch(&mut player, Duration::ZERO);
    complete(&mut player, SECOND, &first);
    let second = fetch(&mut player, SECOND);
    player.handle(at(7.0), Event::Stop);
    assert_eq!(player.poll(at(7.0)), Action::Cancel(second.id));
    assert_eq!(player.poll(at(7.0)), Action::Finished(Outcome::Stopped));
    assert_eq!(player.figures(at(50.0)).stalled, at(2.0));
}

#[test]
fn bitrates_and_switches_are_those_that_were_played() {
    // 6 s at 1 Mbit/s, 20 s at 4, 2 s at 1: the first 20 s have 6 of the one and 14 of the other.
    let ladder = [1_000_000, 4_000_000].map(|rate| Rung {
        bitrate: Rate(rate),
        segment_bytes: vec![],
    });
    let durations = [6, 10, 10, 2].map(Duration::from_secs);
    let track = Track::new(MediaKind::Video, &durations, ladder.to_vec()).unwrap();
    let manifest = Arc::new(Manifest::new(vec![track]).unwrap());
    let settings = Settings {
        abr: AbrRule::ThroughputShare(1.0),
        max_buffer: at(60.0),
        ..Settings::default()
    };
    let mut player = started(settings, &manifest);
    // Fast, fast, then so slow that the rule goes down for the last one.
    for (asked, done, rung) in [(0.0, 0.1, 0), (0.1, 0.2, 1), (0.2, 15.0, 1), (15.0, 15.5, 0)] {
        let request = fetch(&mut player, at(asked));
        assert_eq!(request.rung, rung, "of segment {}", request.segment);
        complete(&mut player, at(done), &request);
    }
    let figures = player.figures(at(100.0));
    assert_eq!(figures.played, at(28.0));
    assert_eq!((figures.switches, figures.switched_by), (2, 6_000_000));
    assert_eq!(
        figures.bitrate,
        Some(Rate((6_000_000 + 80_000_000 + 2_000_000) / 28))
    );
    assert_eq!(
        figures.first_20_s_bitrate,
        Some(Rate((6_000_000 + 56_000_000) / 20))
    );
}

#[test]
fn requests_tell_what_a_real_player_tells() {
    let cmcd = CmcdSettings {
        version: Version::V1,
        format: StreamingFormat::Dash,
        content_id: Some("film".into()),
    };
    let settings = Settings {
        cmcd: Some(cmcd),
        abr: AbrRule::Fixed(1),
        first_rung: FirstRung::Rung(1),
        pace: PacePolicy::TimesTopRung(2.5),
        seed: 3,
        ..Settings::default()
    };
    let mut player = started(settings, &video(10));
    let first = fetch(&mut player, Duration::ZERO);
    let keys = first.cmcd.clone().unwrap();
    assert!(keys.startup && !keys.starved);
    assert_eq!(
        (keys.bitrate, keys.top_bitrate, keys.duration_ms),
        (Some(2_000), Some(4_000), Some(4_000))
    );
    assert_eq!((keys.buffer_ms, keys.throughput), (Some(0), None));
    assert_eq!(
        (first.pace, keys.requested_throughput),
        (Some(Rate(10_000_000)), Some(10_000))
    );
    assert_eq!(keys.object, Some(ObjectType::Video));
    assert_eq!(keys.session_id.as_deref(), Some(player.session_id()));
    // What is written is read back.
    assert_eq!(
        Cmcd::from_query(&format!("CMCD={}", keys.query())).unwrap(),
        Some(keys)
    );
    complete(&mut player, SECOND, &first);
    let second = fetch(&mut player, SECOND).cmcd.unwrap();
    assert!(!second.startup && !second.starved);
    assert_eq!((second.buffer_ms, second.throughput), (Some(4_000), Some(8_000)));
    // It runs dry, and says so once.
    let request = RequestId(1);
    player.handle(
        at(9.0),
        Event::Bytes {
            request,
            bytes: 1_000_000,
        },
    );
    player.handle(at(9.0), Event::Complete { request });
    assert!(fetch(&mut player, at(9.0)).cmcd.unwrap().starved);
}

/// A session id is a UUID of version 4, and every seed has its own.
#[test]
fn session_ids_follow_from_the_seed() {
    let id = |seed: u64| {
        Player::new(
            Settings {
                seed,
                ..Settings::default()
            },
            SECOND,
        )
        .session_id()
        .to_owned()
    };
    let parts: Vec<String> = id(1).split('-').map(str::to_owned).collect();
    assert_eq!(
        parts.iter().map(String::len).collect::<Vec<_>>(),
        [8, 4, 4, 4, 12]
    );
    assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']));
    assert_eq!(id(1), id(1));
    assert_ne!(id(1), id(2));
}

#[test]
fn what_cannot_be_played_is_refused() {
    let rung = |kbits: u64, sizes: &[u64]| Rung {
        bitrate: Rate(kbits * 1_000),
        segment_bytes: sizes.to_vec(),
    };
    let refused = |durations: &[Duration], rungs: Vec<Rung>| {
        Track::new(MediaKind::Audio, durations, rungs)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&[], vec![rung(1, &[])]),
        "the Audio track has 0 segments; 1 to 86400 are supported"
    );
    assert_eq!(
        refused(&[SECOND], vec![]),
        "the Audio track has 0 rungs; 1 to 128 are supported"
    );
    assert_eq!(
        refused(&[SECOND, Duration::ZERO], vec![rung(1, &[])]),
        "segment 1 of the Audio track lasts 0ns; durations above 0 and up to 1 h are supported"
    );
    assert_eq!(
        refused(&[SECOND], vec![rung(2, &[]), rung(2, &[])]),
        "the bitrate of rung 1 of the Audio track is not above that of the rung below"
    );
    assert_eq!(
        refused(&[SECOND], vec![rung(1, &[1, 2])]),
        "rung 0 of the Audio track has 2 segment sizes; it needs one for each of 1 segments, or none"
    );
    let track = track(MediaKind::Audio, 1, 1, &[1]);
    assert_eq!(Manifest::new(vec![]).unwrap_err().to_string(), "no track to play");
    assert_eq!(
        Manifest::new(vec![track.clone(), track]).unwrap_err().to_string(),
        "there are two Audio tracks; a player plays one of each kind"
    );
}

fn any_rule() -> impl Strategy<Value = AbrRule> {
    prop_oneof![
        (0usize..5).prop_map(AbrRule::Fixed),
        (0.1f64..1.0).prop_map(AbrRule::ThroughputShare),
        Just(AbrRule::Throughput),
        (1u64..60).prop_map(|seconds| AbrRule::bba(Duration::from_secs(seconds))),
        Just(AbrRule::Bola),
        Just(AbrRule::BolaE),
        (0.1f64..1.0, 1u64..60).prop_map(|(beta, ahead)| AbrRule::Hyb {
            beta,
            look_ahead: Duration::from_secs(ahead)
        }),
        Just(AbrRule::Dynamic),
    ]
}

fn any_pace() -> impl Strategy<Value = PacePolicy> {
    prop_oneof![
        Just(PacePolicy::None),
        (0.5f64..5.0).prop_map(PacePolicy::TimesRung),
        (0.5f64..5.0).prop_map(PacePolicy::TimesTopRung),
        Just(PacePolicy::Sammy { c0: 3.2, c1: 2.8 }),
        Just(PacePolicy::HybFloor {
            margin: 1.2,
            beta: 0.5,
            look_ahead: Duration::from_secs(20)
        }),
        Just(PacePolicy::DashJs),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    (1u64..20_000, 100_000u64..20_000_000, 0u64..300).prop_map(|(length, rate, latency)| Step {
        duration: Duration::from_millis(length),
        rate,
        latency: Duration::from_millis(latency),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any events, in any order and at any time: nothing panics, times do not decrease, and an ended request is not
    /// repeated.
    #[test]
    fn nothing_that_is_told_upsets_the_player(
        abr in any_rule(),
        pace in any_pace(),
        told in proptest::collection::vec((0u8..8, 0u64..30, 0u64..20_000_000, any::<u64>()), 0..80),
        max_buffer in 0u64..100,
    ) {
        let settings = Settings { abr, pace, max_buffer: Duration::from_secs(max_buffer), ..Settings::default() };
        let mut player = Player::new(settings, SECOND);
        let mut latest = SECOND;
        let mut asked = Vec::new();
        for (kind, request, number, at) in told {
            let request = RequestId(request);
            // Mostly within minutes, and sometimes at the end of time.
            let at = if at % 64 == 0 { Duration::MAX } else { Duration::from_millis(at % 300_000) };
            let event = match kind {
                0 => Event::Manifest(video_and_audio()),
                1 | 2 => Event::Bytes { request, bytes: number },
                3 | 4 => Event::Complete { request },
                5 => Event::Failed { request },
                6 => {
                    let mut arrivals = Arrivals::default();
                    for packet in 0..number % 1_500 {
                        arrivals.push((number << 40).wrapping_mul(packet), number << (packet % 45));
                    }
                    Event::Arrived { request, arrivals }
                }
                _ if number % 50 == 0 => Event::Stop,
                _ => Event::Seek { to: Duration::from_millis(number) },
            };
            player.handle(at, event);
            latest = latest.max(at);
            for _ in 0..20 {
                match player.poll(at) {
                    Action::Fetch(request) => asked.push(request.id),
                    Action::Wait { until } => {
                        prop_assert!(until.is_none_or(|until| until >= latest));
                        break;
                    }
                    Action::Cancel(id) => prop_assert!(asked.contains(&id)),
                    Action::Finished(_) => break,
                }
            }
            let figures = player.figures(at);
            prop_assert!(figures.played <= at.max(latest));
        }
        prop_assert!(asked.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// Whatever the rule, policy, link and seeks: every session ends, plays no more than there is, and its times add
    /// up.
    #[test]
    fn every_session_ends_and_its_times_add_up(
        abr in any_rule(),
        pace in any_pace(),
        steps in proptest::collection::vec(any_step(), 1..6),
        seeks in proptest::collection::vec((0u64..60, 0u64..50), 0..4),
        max_buffer in 1u64..60,
        start_buffer in 0u64..60,
        seed in any::<u64>(),
    ) {
        let settings = Settings {
            abr,
            pace,
            max_buffer: Duration::from_secs(max_buffer),
            start_buffer: Duration::from_secs(start_buffer),
            resume_buffer: Duration::from_secs(start_buffer / 2),
            seed,
            ..Settings::default()
        };
        let mut script = vec![(at(0.25), Event::Manifest(video_and_audio()))];
        let mut seeks = seeks;
        seeks.sort_unstable();
        script.extend(seeks.iter().map(|(when, to)| (at(*when as f64 + 1.0), Event::Seek { to: at(*to as f64) })));
        let link = SteppedLink::new(steps).unwrap();
        let run = || play(Player::new(settings.clone(), Duration::ZERO), &link, &script, at(100_000.0));
        let session = run();
        prop_assert_eq!(&session, &run());
        prop_assert_eq!(session.outcome, Some(Outcome::Played));
        let figures = &session.figures;
        let before = figures.startup_delay.unwrap_or_default();
        if seeks.is_empty() {
            prop_assert_eq!(figures.played, at(40.0));
        }
        let sum = before + figures.played + figures.stalled + figures.seeking;
        prop_assert!(session.end.abs_diff(sum) < Duration::from_micros(1), "{sum:?} of {:?}", session.end);
    }
}
