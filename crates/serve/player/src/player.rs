//! The player itself: buffers of all tracks in step, the playhead, and the requests that follow from them.

mod requests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_media::cmcd::Cmcd;
use weir_units::Rate;

use crate::abr::Fetched;
use crate::capacity::{Arrivals, Capacity};
use crate::lane::{Doing, Fetch, Lane, RequestId};
use crate::manifest::{Manifest, MediaKind};
use crate::quality::{Figures, Played};
use crate::settings::{LONGEST_RETRY_WAIT, Settings};
use crate::throughput::Sample;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The manifest is known. Only the first one counts.
    Manifest(Arc<Manifest>),
    /// More of a response's body arrived. Its first one may say 0 bytes: it tells when the response began.
    Bytes {
        /// Whose.
        request: RequestId,
        /// How many more.
        bytes: u64,
    },
    /// When the bytes of a response arrived, all of them, just before it is complete: from this the player estimates what
    /// the path would carry. It has times of its own.
    Arrived {
        /// Whose.
        request: RequestId,
        /// When they arrived.
        arrivals: Arrivals,
    },
    /// A response is complete, and all of its bytes were reported.
    Complete {
        /// Whose.
        request: RequestId,
    },
    /// A request or its response failed, or came short.
    Failed {
        /// Which.
        request: RequestId,
    },
    /// The manifest is unavailable, or the viewer stops.
    Stop,
    /// The viewer goes elsewhere.
    Seek {
        /// Position in the presentation.
        to: Duration,
    },
}

/// A segment to fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its name in events.
    pub id: RequestId,
    /// The track, by its place in the manifest.
    pub track: usize,
    /// What the track is of.
    pub kind: MediaKind,
    /// The rung, counted from 0.
    pub rung: usize,
    /// The segment, counted from 0.
    pub segment: usize,
    /// Bytes of the segment as the manifest tells, or as long as the bitrate says.
    pub expected_bytes: u64,
    /// How fast the server should send its body; as fast as it can where there is nothing.
    pub pace: Option<Rate>,
    /// What to tell the server by CMCD, where the settings say so.
    pub cmcd: Option<Cmcd>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was played.
    Played,
    /// A segment could not be had.
    GaveUp,
    /// The session was stopped.
    Stopped,
}

/// What to do.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is returned, and kept nowhere"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Ask for a segment, and tell what comes of it.
    Fetch(Request),
    /// Cancel a request; no more events are needed for it.
    Cancel(RequestId),
    /// Nothing: poll again after the next event, at this time at the latest.
    Wait {
        /// Nothing where only an event brings more.
        until: Option<Duration>,
    },
    /// The session is over. Every further poll says so too.
    Finished(Outcome),
}

/// Where playback stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// No picture yet.
    Starting,
    Playing,
    /// A buffer ran empty.
    Stalled {
        since: Duration,
    },
    /// The viewer went where nothing is buffered.
    Seeking {
        since: Duration,
    },
    Over(Outcome),
}

/// A player of one presentation. See the crate's page for an example.
///
/// Times must not go back; one that does counts as the latest one.
#[derive(Clone, Debug)]
pub struct Player {
    settings: Settings,
    manifest: Option<Arc<Manifest>>,
    lanes: Vec<Lane>,
    phase: Phase,
    began: Duration,
    now: Duration,
    position: Duration,
    cancelled: VecDeque<RequestId>,
    next_request: u64,
    session_id: Arc<str>,
    random: Xoshiro256PlusPlus,
    played: Played,
    counts: Figures,
    capacity: Capacity,
    /// Bits and seconds of the fetches before playback started.
    initial: (f64, f64),
}

impl Player {
    /// A player whose viewer asks for the presentation at `now`.
    pub fn new(settings: Settings, now: Duration) -> Player {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
        let session_id = requests::session_id(&mut random);
        Player {
            settings,
            manifest: None,
            lanes: Vec::new(),
            phase: Phase::Starting,
            began: now,
            now,
            position: Duration::ZERO,
            cancelled: VecDeque::new(),
            next_request: 0,
            session_id,
            random,
            played: Played::default(),
            counts: Figures::default(),
            capacity: Capacity::default(),
            initial: (0.0, 0.0),
        }
    }

    /// Handles an event at `now`. Events of requests that have ended or were cancelled are ignored.
    pub fn handle(&mut self, now: Duration, event: Event) {
        self.advance(now);
        if matches!(self.phase, Phase::Over(_)) {
            return;
        }
        match event {
            Event::Manifest(manifest) => self.begin(manifest),
            Event::Bytes { request, bytes } => self.bytes_arrived(request, bytes),
            Event::Arrived { request, arrivals } => self.arrived(request, &arrivals),
            Event::Complete { request } => self.completed(request),
            Event::Failed { request } => self.failed(request),
            Event::Stop => self.end(Outcome::Stopped),
            Event::Seek { to } => self.seek(to),
        }
    }

    /// What to do at `now`. Poll again until it says wait or finished.
    pub fn poll(&mut self, now: Duration) -> Action {
        self.advance(now);
        if let Some(id) = self.cancelled.pop_front() {
            return Action::Cancel(id);
        }
        if let Phase::Over(outcome) = self.phase {
            return Action::Finished(outcome);
        }
        let Some(manifest) = self.manifest.clone() else {
            return Action::Wait { until: None };
        };
        // Whoever fetches one after the other gets what runs dry first: sound alone shows no picture.
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by_key(|lane| self.lanes[*lane].level());
        for lane in order {
            if let Some(request) = self.step(&manifest, lane) {
                return Action::Fetch(request);
            }
        }
        Action::Wait {
            until: self.next_moment(&manifest),
        }
    }

    /// What the viewer got up to `now`.
    pub fn figures(&self, now: Duration) -> Figures {
        let mut ahead = self.clone();
        ahead.advance(now);
        let mut figures = ahead.counts;
        ahead.played.fill(&mut figures);
        match ahead.phase {
            Phase::Stalled { since } => figures.stalled += ahead.now - since,
            Phase::Seeking { since } => figures.seeking += ahead.now - since,
            _ => {}
        }
        let (bits, seconds) = ahead.initial;
        figures.initial_throughput = (seconds > 0.0).then(|| Rate((bits / seconds) as u64));
        figures.capacity = self.capacity();
        figures
    }

    /// Where playback stands in the presentation.
    pub fn position(&self) -> Duration {
        self.position
    }

    /// Whether pictures move.
    pub fn is_playing(&self) -> bool {
        self.phase == Phase::Playing
    }

    /// Media of `track` in the buffer that are not yet played.
    pub fn buffer(&self, track: usize) -> Duration {
        self.lanes.get(track).map_or(Duration::ZERO, Lane::level)
    }

    /// What the path would carry without a pace, as far as arrivals show it ([`Event::Arrived`]): of payload. None before an
    /// answer has shown it.
    pub fn capacity(&self) -> Option<Rate> {
        self.capacity.estimate().map(|rate| Rate(rate as u64))
    }

    /// The id of this session as CMCD tells it (`sid`): a UUID that follows from the seed.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    fn begin(&mut self, manifest: Arc<Manifest>) {
        if self.manifest.is_some() {
            return;
        }
        self.lanes = manifest
            .tracks()
            .iter()
            .map(|_| Lane::new(self.settings.abr))
            .collect();
        if !self.position.is_zero() {
            // The viewer went elsewhere before anything was known.
            self.position = self.position.min(manifest.duration());
            for (lane, track) in self.lanes.iter_mut().zip(manifest.tracks()) {
                lane.restart(track, self.position);
            }
        }
        self.manifest = Some(manifest);
        self.resume();
    }

    /// Plays up to `now`, or to where a buffer is empty or the presentation ends.
    fn advance(&mut self, now: Duration) {
        let (before, now) = (self.now, now.max(self.now));
        self.now = now;
        let Some(manifest) = self.manifest.clone().filter(|_| self.phase == Phase::Playing) else {
            return;
        };
        let end = manifest.duration();
        let limit = self
            .lanes
            .iter()
            .map(Lane::playable_until)
            .fold(end, Duration::min);
        let position = self.position.saturating_add(now - before).min(limit);
        let stopped = before + (position - self.position);
        let main = manifest.main_track();
        for (number, (lane, track)) in self.lanes.iter_mut().zip(manifest.tracks()).enumerate() {
            let account = (number == main).then_some(&mut self.played);
            lane.play(track, position, account);
        }
        self.position = position;
        if position == end {
            self.end(Outcome::Played);
        } else if stopped < now {
            self.stall(stopped);
        }
    }

    fn stall(&mut self, since: Duration) {
        self.phase = Phase::Stalled { since };
        self.counts.stalls += 1;
        for lane in &mut self.lanes {
            lane.starved |= lane.level().is_zero();
        }
    }

    fn end(&mut self, outcome: Outcome) {
        match self.phase {
            Phase::Stalled { since } => self.counts.stalled += self.now - since,
            Phase::Seeking { since } => self.counts.seeking += self.now - since,
            _ => {}
        }
        for lane in &self.lanes {
            if let Doing::Fetching(fetch) = lane.doing {
                self.cancelled.push_back(fetch.id);
            }
        }
        self.phase = Phase::Over(outcome);
    }

    /// Starts or goes on playing if every track has enough.
    fn resume(&mut self) {
        let Some(manifest) = self.manifest.as_ref() else {
            return;
        };
        let (since, enough) = match self.phase {
            Phase::Starting => (self.began, self.settings.start_buffer),
            Phase::Seeking { since } => (since, self.settings.start_buffer),
            Phase::Stalled { since } => (since, self.settings.resume_buffer),
            Phase::Playing | Phase::Over(_) => return,
        };
        let max_buffer = self.settings.max_buffer;
        let ready = self.lanes.iter().zip(manifest.tracks()).all(|(lane, track)| {
            let level = lane.level();
            let full = || !lane.excess(track, max_buffer).is_zero();
            lane.is_complete() || (!level.is_zero() && (level >= enough || full()))
        });
        if !ready {
            return;
        }
        let waited = self.now - since;
        match self.phase {
            Phase::Starting => self.counts.startup_delay = Some(waited),
            Phase::Seeking { .. } => self.counts.seeking += waited,
            _ => self.counts.stalled += waited,
        }
        self.phase = Phase::Playing;
    }

    /// The track whose fetch this is.
    fn fetching(&self, request: RequestId) -> Option<(usize, Fetch)> {
        self.lanes
            .iter()
            .enumerate()
            .find_map(|(number, lane)| match lane.doing {
                Doing::Fetching(fetch) if fetch.id == request => Some((number, fetch)),
                _ => None,
            })
    }

    fn bytes_arrived(&mut self, request: RequestId, bytes: u64) {
        let Some((number, mut fetch)) = self.fetching(request) else {
            return;
        };
        fetch.first_byte.get_or_insert(self.now);
        fetch.bytes = fetch.bytes.saturating_add(bytes);
        self.counts.bytes = self.counts.bytes.saturating_add(bytes);
        self.lanes[number].doing = Doing::Fetching(fetch);
    }

    fn arrived(&mut self, request: RequestId, arrivals: &Arrivals) {
        if let Some((_, fetch)) = self.fetching(request) {
            let flights = self
                .lanes
                .iter()
                .filter(|lane| matches!(lane.doing, Doing::Fetching(_)));
            self.capacity.answered(arrivals, fetch.pace, flights.count() == 1);
        }
    }

    fn completed(&mut self, request: RequestId) {
        let (Some((number, fetch)), Some(manifest)) = (self.fetching(request), self.manifest.clone()) else {
            return;
        };
        let track = &manifest.tracks()[number];
        let lane = &mut self.lanes[number];
        let segment_seconds = track.duration(lane.segment).as_secs_f64();
        lane.add(track, fetch.rung);
        let fetched = Fetched {
            rung: fetch.rung,
            seconds: (self.now - fetch.asked).as_secs_f64(),
        };
        let situation = lane.situation(track, self.settings.max_buffer);
        lane.abr.fetched(&fetched, &situation);
        let first_byte = fetch.first_byte.unwrap_or(fetch.asked);
        if let Some(mut sample) = Sample::new(fetch.bytes, fetch.asked, first_byte, self.now) {
            if self.phase == Phase::Starting {
                self.initial.0 += sample.rate * sample.seconds;
                self.initial.1 += sample.seconds;
            }
            if self.settings.capacity {
                sample.rate = self.capacity.unpaced(sample.rate, fetch.pace);
            }
            lane.throughput.push(sample, segment_seconds);
        }
        self.resume();
    }

    fn failed(&mut self, request: RequestId) {
        let Some((number, fetch)) = self.fetching(request) else {
            return;
        };
        self.counts.failures += 1;
        let failures = fetch.failures + 1;
        if failures >= self.settings.attempts {
            self.lanes[number].doing = Doing::Nothing;
            self.end(Outcome::GaveUp);
            return;
        }
        let doubled = self
            .settings
            .retry_wait
            .saturating_mul(1 << (failures - 1).min(16));
        // Half to one and a half times: players that failed together do not come back together.
        let share = 0.5 + (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let until = self
            .now
            .saturating_add(doubled.min(LONGEST_RETRY_WAIT).mul_f64(share));
        self.lanes[number].doing = Doing::Held {
            until,
            rung: fetch.rung,
            failures,
        };
    }

    fn seek(&mut self, to: Duration) {
        let Some(manifest) = self.manifest.clone() else {
            self.position = to;
            return;
        };
        let to = to.min(manifest.duration());
        self.counts.seeks += 1;
        self.position = to;
        if self.lanes.iter().all(|lane| lane.holds(to)) {
            for (lane, track) in self.lanes.iter_mut().zip(manifest.tracks()) {
                lane.skip(track, to);
            }
            return;
        }
        for (lane, track) in self.lanes.iter_mut().zip(manifest.tracks()) {
            if let Doing::Fetching(fetch) = lane.doing {
                self.cancelled.push_back(fetch.id);
            }
            lane.restart(track, to);
        }
        if let Phase::Stalled { since } = self.phase {
            self.counts.stalled += self.now - since;
        }
        if let Phase::Stalled { .. } | Phase::Playing = self.phase {
            self.phase = Phase::Seeking { since: self.now };
        }
        // The viewer may have gone to the very end.
        self.resume();
    }
}
