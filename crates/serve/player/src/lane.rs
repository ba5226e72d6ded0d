//! One track of a player: what of it is in the buffer, what is being fetched, and the rule that chooses its rungs.

use std::collections::VecDeque;
use std::time::Duration;

use weir_units::Rate;

use crate::abr::{Abr, AbrRule, Situation};
use crate::manifest::Track;
use crate::quality::Played;
use crate::throughput::Throughput;

/// Names one request of one player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A segment in the buffer.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    rung: usize,
    end: Duration,
}

/// A fetch in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    pub(crate) id: RequestId,
    pub(crate) rung: usize,
    pub(crate) pace: Option<Rate>,
    pub(crate) asked: Duration,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) bytes: u64,
    /// Failures of this segment before it.
    pub(crate) failures: u32,
}

/// What a track does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    /// Nothing: the next segment can be chosen.
    Nothing,
    /// It waits for room in the buffer, since then.
    Full { since: Duration },
    /// A rung is chosen; its fetch waits, because the rule or a failure says so.
    Held {
        until: Duration,
        rung: usize,
        failures: u32,
    },
    /// A segment is on its way.
    Fetching(Fetch),
    /// All segments have been fetched.
    Complete,
}

/// One track at work.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) doing: Doing,
    /// The segment that is fetched, or comes next.
    pub(crate) segment: usize,
    pub(crate) abr: Abr,
    pub(crate) throughput: Throughput,
    /// The buffer ran empty since the last request.
    pub(crate) starved: bool,
    buffered: VecDeque<Buffered>,
    /// Where what is buffered ends.
    end: Duration,
    /// Up to where it is played.
    played: Duration,
}

impl Lane {
    pub(crate) fn new(rule: AbrRule) -> Lane {
        Lane {
            doing: Doing::Nothing,
            segment: 0,
            abr: Abr::new(rule),
            throughput: Throughput::default(),
            starved: false,
            buffered: VecDeque::new(),
            end: Duration::ZERO,
            played: Duration::ZERO,
        }
    }

    /// Media in the buffer that are not yet played.
    pub(crate) fn level(&self) -> Duration {
        self.end.saturating_sub(self.played)
    }

    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.doing, Doing::Complete)
    }

    /// How much has to be played before the next segment fits. An empty buffer holds any segment.
    pub(crate) fn excess(&self, track: &Track, max_buffer: Duration) -> Duration {
        let level = self.level();
        (level + track.duration(self.segment))
            .saturating_sub(max_buffer)
            .min(level)
    }

    /// Up to where playback can go, if nothing more arrives.
    pub(crate) fn playable_until(&self) -> Duration {
        if self.is_complete() {
            Duration::MAX
        } else {
            self.end.max(self.played)
        }
    }

    pub(crate) fn situation<'a>(&self, track: &'a Track, max_buffer: Duration) -> Situation<'a> {
        let segment = self.segment.min(track.segments() - 1);
        Situation {
            track,
            segment,
            buffer: self.level().as_secs_f64(),
            max_buffer: max_buffer.as_secs_f64(),
            throughput: self.throughput.estimate(track.duration(segment).as_secs_f64()),
        }
    }

    /// The segment that was fetched is in the buffer.
    pub(crate) fn add(&mut self, track: &Track, rung: usize) {
        self.end = track.start(self.segment + 1);
        self.buffered.push_back(Buffered { rung, end: self.end });
        self.segment += 1;
        self.doing = if self.segment == track.segments() {
            Doing::Complete
        } else {
            Doing::Nothing
        };
    }

    /// Plays up to `position`, and counts it where there is an account.
    pub(crate) fn play(&mut self, track: &Track, position: Duration, mut account: Option<&mut Played>) {
        while let Some(front) = self.buffered.front() {
            let until = front.end.min(position);
            if let Some(account) = account.as_deref_mut() {
                account.push(
                    until.saturating_sub(self.played),
                    track.rungs()[front.rung].bitrate,
                );
            }
            self.played = self.played.max(until);
            if front.end > position {
                break;
            }
            self.buffered.pop_front();
        }
        self.played = position;
    }

    /// Whether `position` is in the buffer.
    pub(crate) fn holds(&self, position: Duration) -> bool {
        position >= self.played && (position < self.end || self.is_complete())
    }

    /// Drops what is buffered and goes on from `position`. What is in flight is the caller's to cancel.
    pub(crate) fn restart(&mut self, track: &Track, position: Duration) {
        self.buffered.clear();
        self.played = position;
        if position >= track.end() {
            self.segment = track.segments();
            self.end = track.end();
            self.doing = Doing::Complete;
            return;
        }
        self.segment = track.segment_at(position);
        self.end = position;
        self.doing = Doing::Nothing;
        self.abr.sought(self.segment);
    }

    /// Goes on from `position`, which is in the buffer.
    pub(crate) fn skip(&mut self, track: &Track, position: Duration) {
        self.play(track, position, None);
    }
}
