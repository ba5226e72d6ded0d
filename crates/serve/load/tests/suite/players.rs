//! Players in real time tell servers what they do, and of every segment what became of it.

use std::cell::RefCell;
use std::time::Duration;

use crate::acting::{Acting, answer, mpd, serving};
use crate::playing::{config, viewers};
use weir_load::client::HttpVersion;
use weir_load::engine::{Config, Second, SoFar, Watch, run};
use weir_load::measure::Segment;
use weir_load::viewer::{Play, RealTime, RungChoice};
use weir_media::cmcd::{Cmcd, Version};
use weir_player::PacePolicy;

/// Keeps the segments of all seconds.
#[derive(Default)]
struct Keeping(RefCell<Vec<Segment>>);

impl Watch for Keeping {
    fn second(&self, second: &Second, _: &SoFar) -> bool {
        self.0.borrow_mut().extend(second.segments.iter().cloned());
        true
    }
}

fn watch(server: &Acting, real_time: RealTime) -> Vec<Segment> {
    let mut config = Config {
        duration: Some(Duration::from_millis(1_500)),
        threads: 1,
        http: HttpVersion::One,
        ..config(&server.url("/manifest.mpd"), viewers(1), Play::RealTime)
    };
    config.behaviour.rung = RungChoice::Adaptive;
    config.behaviour.real_time = real_time;
    let keeping = Keeping::default();
    run(&config, None, &|| false, &keeping).unwrap();
    keeping.0.into_inner()
}

#[test]
fn servers_are_told_the_pace_that_the_segment_log_tells() {
    let server = serving(100, 20_000);
    let real_time = RealTime {
        pace: PacePolicy::TimesTopRung(2.0),
        max_buffer: Duration::from_secs(10),
        cmcd: Some(Version::V2),
        tell_segments: true,
        ..RealTime::default()
    };
    let segments = watch(&server, real_time);
    let told: Vec<Cmcd> = server
        .asked()
        .iter()
        .filter_map(|path| path.split_once('?'))
        .map(|(_, query)| Cmcd::from_query(query).unwrap().expect("keys of CMCD"))
        .collect();
    assert!(segments.len() >= 8, "{segments:?}");
    assert_eq!(segments.len(), told.len());
    for (segment, keys) in segments.iter().zip(&told) {
        // The format rounds to 100 kbit/s.
        let (asked, told) = (segment.pace.unwrap() / 1_000, keys.requested_throughput.unwrap());
        assert!(asked.abs_diff(told) <= 51, "{segment:?} {keys:?}");
        assert_eq!(keys.bitrate, Some(segment.bitrate.div_ceil(1_000)));
    }
    let video = |segment: &&Segment| segment.kind == "video";
    assert!(
        segments
            .iter()
            .filter(video)
            .all(|segment| segment.pace == Some(2 * 3_894_000))
    );
    for segment in segments.iter().filter(|segment| segment.failure.is_none()) {
        assert_eq!(segment.bytes, 20_000, "{segment:?}");
        assert!(
            segment
                .first_byte_ns
                .is_some_and(|first| first <= segment.last_byte_ns),
            "{segment:?}"
        );
    }
}

#[test]
fn segments_that_are_not_there_are_told_of() {
    let server = Acting::start(|path, stream| match path {
        "/manifest.mpd" => answer(stream, "200 OK", mpd(100).as_bytes()),
        path if path.starts_with("/video") && path.ends_with("/1") => {
            answer(stream, "404 Not Found", b"gone")
        }
        _ => answer(stream, "200 OK", &[1; 20_000]),
    });
    let real_time = RealTime {
        tell_segments: true,
        ..RealTime::default()
    };
    let segments = watch(&server, real_time);
    let failed: Vec<&Segment> = segments
        .iter()
        .filter(|segment| segment.failure.is_some())
        .collect();
    assert!(!failed.is_empty(), "{segments:?}");
    for segment in failed {
        assert_eq!(
            (segment.kind, segment.segment, segment.failure),
            ("video", 1, Some("http_4xx"))
        );
        assert_eq!(
            (segment.bytes, segment.pace, segment.first_byte_ns),
            (0, None, None)
        );
    }
}

#[test]
fn without_being_told_to_players_tell_nothing() {
    let server = serving(100, 20_000);
    assert_eq!(watch(&server, RealTime::default()), []);
    assert!(server.asked().iter().all(|path| !path.contains('?')));
}
