//! Sessions that differ by rule, pace policy and link, all by a seed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_player::virtual_time::{Session, Step, SteppedLink, play};
use weir_player::{AbrRule, Event, Manifest, MediaKind, PacePolicy, Player, Rung, Settings, Track};
use weir_units::Rate;

const VIDEO_KBITS: [u64; 6] = [235, 560, 1_050, 1_750, 2_350, 3_300];
const AUDIO_KBITS: [u64; 2] = [64, 128];

/// What came of some sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Sessions.
    pub sessions: u64,
    /// Fetches of all of them.
    pub fetches: u64,
    /// Stalls of all of them.
    pub stalls: u64,
    /// Bits each second, over all of them.
    pub bitrates: u64,
    /// Of everything that is known of every session; sums of sessions' own, so that their order does not count.
    pub fingerprint: u64,
}

impl Totals {
    /// Bits each second.
    pub fn mean_bitrate(&self) -> f64 {
        self.bitrates as f64 / self.sessions.max(1) as f64
    }

    fn push(&mut self, number: u64, session: &Session) {
        self.sessions += 1;
        self.fetches += session.fetches.len() as u64;
        self.stalls += u64::from(session.figures.stalls);
        self.bitrates += session.figures.bitrate.map_or(0, |rate| rate.0);
        let mut hasher = DefaultHasher::new();
        (number, &session.fetches, format!("{:?}", session.figures)).hash(&mut hasher);
        self.fingerprint = self.fingerprint.wrapping_add(hasher.finish());
    }

    fn add(&mut self, other: &Totals) {
        self.sessions += other.sessions;
        self.fetches += other.fetches;
        self.stalls += other.stalls;
        self.bitrates += other.bitrates;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }
}

/// Plays `sessions` on so many threads.
pub fn play_all(seed: u64, sessions: u64, threads: u64) -> Totals {
    let manifest = manifest();
    let some = |thread: u64| {
        let mut totals = Totals::default();
        for number in (thread..sessions).step_by(threads as usize) {
            totals.push(number, &session(&manifest, seed.wrapping_add(number)));
        }
        totals
    };
    let mut totals = Totals::default();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || some(thread)))
            .collect();
        for thread in running {
            totals.add(&thread.join().unwrap_or_default());
        }
    });
    totals
}

/// Ten minutes of video in segments of 4 s and of audio in segments of 2 s.
fn manifest() -> Arc<Manifest> {
    let track = |kind: MediaKind, seconds: u64, kbits: &[u64]| {
        let rungs = kbits.iter().map(|kbits| Rung {
            bitrate: Rate(kbits * 1_000),
            segment_bytes: vec![],
        });
        let durations = vec![Duration::from_secs(seconds); (600 / seconds) as usize];
        Track::new(kind, &durations, rungs.collect())
    };
    let tracks = [
        track(MediaKind::Video, 4, &VIDEO_KBITS),
        track(MediaKind::Audio, 2, &AUDIO_KBITS),
    ];
    // Both are as tracks have to be.
    let tracks: Vec<Track> = tracks.into_iter().flatten().collect();
    Arc::new(Manifest::new(tracks).expect("two tracks of two kinds"))
}

fn session(manifest: &Arc<Manifest>, seed: u64) -> Session {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |limit: u64| random.next_u64() % limit;
    let rules = [
        AbrRule::Throughput,
        AbrRule::bba(Duration::from_secs(40)),
        AbrRule::Bola,
        AbrRule::BolaE,
        AbrRule::Hyb {
            beta: 0.5,
            look_ahead: Duration::from_secs(20),
        },
        AbrRule::Dynamic,
    ];
    let policies = [
        PacePolicy::None,
        PacePolicy::TimesTopRung(3.0),
        PacePolicy::Sammy { c0: 3.2, c1: 2.8 },
    ];
    let settings = Settings {
        abr: rules[below(6) as usize],
        pace: policies[below(3) as usize],
        max_buffer: Duration::from_secs(40),
        seed,
        ..Settings::default()
    };
    let mean = 1_000_000 + below(9_000_000);
    let steps = (0..120).map(|_| Step {
        duration: Duration::from_secs(5),
        rate: mean / 2 + below(mean),
        latency: Duration::from_millis(5 + below(60)),
    });
    let link = SteppedLink::new(steps.collect()).expect("rates above 0");
    let script = [(Duration::ZERO, Event::Manifest(Arc::clone(manifest)))];
    play(
        Player::new(settings, Duration::ZERO),
        &link,
        &script,
        Duration::from_secs(3_600),
    )
}
