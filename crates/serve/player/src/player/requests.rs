//! From a track that can fetch to a request: when, on which rung, at what pace, with which keys of CMCD.

use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;
use weir_media::cmcd::{self, Cmcd};
use weir_units::Rate;

use super::{Phase, Player, Request, RequestId};
use crate::lane::{Doing, Fetch};
use crate::manifest::{Manifest, MediaKind, Track};
use crate::pacing::PaceInput;
use crate::settings::FirstRung;

/// A random UUID (RFC 9562, version 4).
pub(super) fn session_id(random: &mut Xoshiro256PlusPlus) -> Arc<str> {
    let (high, low) = (random.next_u64(), random.next_u64());
    let text = format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    );
    text.into()
}

impl Player {
    /// Goes on with one track; its request, if it can make one now.
    pub(super) fn step(&mut self, manifest: &Manifest, number: usize) -> Option<Request> {
        let track = &manifest.tracks()[number];
        self.choose_if_room(track, number);
        match self.lanes[number].doing {
            Doing::Held {
                until,
                rung,
                failures,
            } if until <= self.now => Some(self.request(track, number, rung, failures)),
            _ => None,
        }
    }

    /// When there is more to do, if nothing happens.
    pub(super) fn next_moment(&self, manifest: &Manifest) -> Option<Duration> {
        let playing = self.phase == Phase::Playing;
        let wakes = self
            .lanes
            .iter()
            .zip(manifest.tracks())
            .filter_map(|(lane, track)| match lane.doing {
                Doing::Held { until, .. } => Some(until),
                Doing::Full { .. } if playing => Some(
                    self.now
                        .saturating_add(lane.excess(track, self.settings.max_buffer)),
                ),
                _ => None,
            });
        let all_fetched = playing && self.lanes.iter().all(|lane| lane.is_complete());
        let end = all_fetched.then(|| {
            self.now
                .saturating_add(manifest.duration().saturating_sub(self.position))
        });
        wakes.chain(end).min()
    }

    fn choose_if_room(&mut self, track: &Track, number: usize) {
        let lane = &mut self.lanes[number];
        let waited_since = match lane.doing {
            Doing::Nothing => self.now,
            Doing::Full { since } => since,
            Doing::Held { .. } | Doing::Fetching(_) | Doing::Complete => return,
        };
        if !lane.excess(track, self.settings.max_buffer).is_zero() {
            lane.doing = Doing::Full { since: waited_since };
            return;
        }
        if waited_since < self.now {
            lane.abr.waited(self.now - waited_since);
        }
        let situation = lane.situation(track, self.settings.max_buffer);
        let (rung, wait) = match (situation.throughput, self.settings.first_rung) {
            (Some(_), _) => {
                let choice = lane.abr.choose(&situation);
                (choice.rung, choice.wait)
            }
            (None, FirstRung::Lowest) => (0, 0.0),
            (None, FirstRung::Rung(rung)) => (rung.min(situation.top()), 0.0),
            (None, FirstRung::FromThroughput { rate, share }) => {
                (situation.rung_for(rate.0 as f64 * share, 0.0), 0.0)
            }
        };
        let until = self
            .now
            .saturating_add(Duration::try_from_secs_f64(wait).unwrap_or_default());
        lane.doing = Doing::Held {
            until,
            rung,
            failures: 0,
        };
    }

    fn request(&mut self, track: &Track, number: usize, rung: usize, failures: u32) -> Request {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.counts.requests += 1;
        let pace = self.pace(track, number, rung);
        let fetch = Fetch {
            id,
            rung,
            pace,
            asked: self.now,
            first_byte: None,
            bytes: 0,
            failures,
        };
        self.lanes[number].doing = Doing::Fetching(fetch);
        let segment = self.lanes[number].segment;
        let cmcd = self.cmcd(track, number, rung, pace);
        self.lanes[number].starved = false;
        Request {
            id,
            track: number,
            kind: track.kind(),
            rung,
            segment,
            expected_bytes: track.bytes(segment, rung),
            pace,
            cmcd,
        }
    }

    fn pace(&self, track: &Track, number: usize, rung: usize) -> Option<Rate> {
        let lane = &self.lanes[number];
        let bitrate = |rung: usize| track.rungs()[rung].bitrate.0 as f64;
        self.settings.pace.rate(&PaceInput {
            initial: matches!(self.phase, Phase::Starting | Phase::Seeking { .. }),
            rung: bitrate(rung),
            top_rung: bitrate(track.rungs().len() - 1),
            segment_seconds: track.duration(lane.segment).as_secs_f64(),
            buffer: lane.level().as_secs_f64(),
            max_buffer: self.settings.max_buffer.as_secs_f64(),
        })
    }

    /// The keys that real players send with a request for media.
    fn cmcd(&self, track: &Track, number: usize, rung: usize, pace: Option<Rate>) -> Option<Cmcd> {
        let settings = self.settings.cmcd.as_ref()?;
        let lane = &self.lanes[number];
        let kbits = |rung: usize| track.rungs()[rung].bitrate.0.div_ceil(1_000);
        let duration = track.duration(lane.segment);
        let estimate = lane.throughput.estimate(duration.as_secs_f64());
        let mut keys = Cmcd::new(settings.version);
        keys.bitrate = Some(kbits(rung));
        keys.top_bitrate = Some(kbits(track.rungs().len() - 1));
        keys.buffer_ms = Some(millis(lane.level()));
        keys.deadline_ms = Some(millis(lane.level()));
        keys.duration_ms = Some(millis(duration));
        keys.throughput = estimate.map(|estimate| (estimate.rate / 1_000.0).round() as u64);
        keys.requested_throughput = pace.map(|rate| rate.0.div_ceil(1_000));
        keys.starved = lane.starved;
        keys.startup = self.phase != Phase::Playing;
        keys.object = Some(match track.kind() {
            MediaKind::Video => cmcd::ObjectType::Video,
            MediaKind::Audio => cmcd::ObjectType::Audio,
            MediaKind::Text => cmcd::ObjectType::TimedText,
        });
        keys.format = Some(settings.format);
        keys.stream = Some(cmcd::StreamType::Vod);
        keys.session_id = Some(self.session_id.to_string());
        keys.content_id = settings.content_id.clone();
        Some(keys)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
