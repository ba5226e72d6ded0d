//! Where tracks are cut into segments. Video is cut at sync samples that all video tracks have at the same presentation
//! time, near multiples of the asked duration; everything else at the first sample that is shown at or after such a
//! boundary. Segments of a track join exactly: each begins where the one before it ends. It must not know how segments
//! are packaged or addressed.
//!
//! All times here are on the timeline of the presentation, after the edit list, in units of each track's timescale.
//! What is shown before time 0 (encoder delay that an edit list cuts off) is part of the first segment and not counted
//! in its duration.

use std::cmp::Ordering;
use std::ops::Range;
use std::time::Duration;

use thiserror::Error;

use crate::index::{Sample, TrackIndex};

/// The duration of segments if nothing else is asked for.
pub const USUAL_DURATION: Duration = Duration::from_secs(4);
/// The shortest that can be asked for.
pub const SHORTEST_DURATION: Duration = Duration::from_secs(2);
/// The longest that can be asked for.
pub const LONGEST_DURATION: Duration = Duration::from_secs(10);

/// Bytes of a segment's headers that do not depend on its samples, at most.
const HEADER_BYTES: u64 = 200;
/// Bytes of a segment's headers for each sample, at most.
const HEADER_BYTES_A_SAMPLE: u64 = 16;
/// Samples of sound in front of time 0 that a decoder needs to get going: the most that is usual is 80 ms of Opus.
const PREROLL_SAMPLES: usize = 4;

/// Tracks that cannot be cut.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Asked for too short or too long segments.
    #[error("unsupported segment duration {} s; durations from {} to {} s are supported", asked.as_secs_f64(), SHORTEST_DURATION.as_secs(), LONGEST_DURATION.as_secs())]
    Duration {
        /// What was asked for.
        asked: Duration,
    },
    /// No tracks.
    #[error("no track to segment")]
    NoTracks,
    /// Video that cannot be switched.
    #[error("the video tracks have no sync sample at a common presentation time")]
    NoCommonSyncSample,
}

/// One segment of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its samples, by number in decoding order.
    pub samples: Range<u32>,
    /// When it begins to be shown.
    pub start: u64,
    /// How long it is shown.
    pub duration: u64,
    /// Bytes of its samples.
    pub bytes: u64,
}

impl Segment {
    /// When it ends.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }

    /// Bytes with headers, at most.
    fn most_bytes(&self) -> u64 {
        let samples = u64::from(self.samples.end - self.samples.start);
        self.bytes + HEADER_BYTES + HEADER_BYTES_A_SAMPLE * samples
    }
}

/// The segments of one track, in order and without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackSegments {
    /// Units of the times in a second; above zero.
    pub timescale: u32,
    /// At least one.
    pub segments: Vec<Segment>,
}

impl TrackSegments {
    /// The segment that begins at this time, with its number from 0.
    pub fn starting_at(&self, start: u64) -> Option<(usize, &Segment)> {
        let number = self
            .segments
            .binary_search_by_key(&start, |segment| segment.start)
            .ok()?;
        Some((number, self.segments.get(number)?))
    }

    /// When the first one begins.
    pub fn start(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.start)
    }

    /// When the last one ends.
    pub fn end(&self) -> u64 {
        self.segments.last().map_or(0, Segment::end)
    }

    /// The longest duration.
    pub fn longest(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.duration)
            .max()
            .unwrap_or(0)
    }

    /// Bits a second of the densest segment, with its headers; a very short last one does not count where there are
    /// others.
    pub fn peak_bitrate(&self) -> u64 {
        let least = self.longest() / 2;
        self.segments
            .iter()
            .filter(|segment| segment.duration >= least)
            .map(|segment| self.bitrate(segment.most_bytes(), segment.duration))
            .max()
            .unwrap_or(0)
    }

    /// Bits a second of all segments together, with their headers.
    pub fn average_bitrate(&self) -> u64 {
        let bytes = self.segments.iter().map(Segment::most_bytes).sum();
        self.bitrate(bytes, self.end() - self.start())
    }

    fn bitrate(&self, bytes: u64, duration: u64) -> u64 {
        let bits = u128::from(bytes) * 8 * u128::from(self.timescale);
        let rate = bits.div_ceil(u128::from(duration.max(1)));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// The segments of tracks that are played together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    /// Of the video tracks, in the order in which they were given.
    pub video: Vec<TrackSegments>,
    /// Of the others, in their order.
    pub other: Vec<TrackSegments>,
}

/// A time that two tracks may write with different timescales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instant {
    time: i64,
    timescale: u32,
}

impl Instant {
    fn compare(self, other: Instant) -> Ordering {
        let left = i128::from(self.time) * i128::from(other.timescale);
        left.cmp(&(i128::from(other.time) * i128::from(self.timescale)))
    }

    /// Whether both are the same but for the rounding of the coarser timescale. With one timescale that is equality.
    fn meets(self, other: Instant) -> bool {
        let left = i128::from(self.time) * i128::from(other.timescale);
        let right = i128::from(other.time) * i128::from(self.timescale);
        if self.timescale == other.timescale {
            return left == right;
        }
        (left - right).abs() < i128::from(self.timescale.max(other.timescale))
    }

    fn plus(self, duration: Duration) -> Instant {
        let units = duration.as_nanos() * u128::from(self.timescale) / 1_000_000_000;
        Instant {
            time: self.time.saturating_add(i64::try_from(units).unwrap_or(i64::MAX)),
            ..self
        }
    }
}

/// A sync sample: its number and when it is shown.
type SyncSample = (u32, i64);

impl SegmentPlan {
    /// Cuts tracks that are played together into segments of about `target`, which is from [`SHORTEST_DURATION`] to
    /// [`LONGEST_DURATION`]. Each boundary is the common sync sample that is nearest to `target` after the one before,
    /// so a track whose sync samples lie further apart has longer segments.
    ///
    /// # Errors
    ///
    /// Durations outside of that range, no tracks, and video tracks without a common sync sample.
    pub fn new(
        videos: &[&TrackIndex],
        others: &[&TrackIndex],
        target: Duration,
    ) -> Result<SegmentPlan, PlanError> {
        if !(SHORTEST_DURATION..=LONGEST_DURATION).contains(&target) {
            return Err(PlanError::Duration { asked: target });
        }
        if videos.is_empty() && others.is_empty() {
            return Err(PlanError::NoTracks);
        }
        let cuts = common_sync_samples(videos, target)?;
        let video: Vec<TrackSegments> = videos
            .iter()
            .zip(&cuts)
            .map(|(track, cuts)| cut_at_numbers(track, cuts))
            .collect();
        let boundaries: Vec<Instant> = match video.first() {
            Some(first) => {
                let instant = |segment: &Segment| Instant {
                    time: segment.start.cast_signed(),
                    timescale: first.timescale,
                };
                first.segments.iter().skip(1).map(instant).collect()
            }
            None => Vec::new(),
        };
        let other = others
            .iter()
            .map(|track| cut_at_times(track, &boundaries, target))
            .collect();
        Ok(SegmentPlan { video, other })
    }
}

fn sync_samples(track: &TrackIndex) -> Vec<SyncSample> {
    let mut found: Vec<SyncSample> = Vec::new();
    for sample in track.samples().iter().filter(|sample| sample.sync) {
        let time = track.presentation_time(&sample);
        // One that is shown before the one in front of it cannot begin a segment.
        if found.last().is_none_or(|(_, last)| *last < time) {
            found.push((sample.number, time));
        }
    }
    found
}

/// For each video track the sync samples at which it is cut, as many for each.
fn common_sync_samples(videos: &[&TrackIndex], target: Duration) -> Result<Vec<Vec<SyncSample>>, PlanError> {
    if videos.is_empty() {
        return Ok(Vec::new());
    }
    let candidates: Vec<Vec<SyncSample>> = videos.iter().map(|track| sync_samples(track)).collect();
    let common = intersect(videos, &candidates);
    let first = common.first().map(Vec::as_slice).unwrap_or_default();
    let (timescale, end) = videos
        .first()
        .map_or((1, 0), |track| (track.info().timescale, track.info().end));
    let chosen = choose(first, Instant { time: end, timescale }, target);
    if chosen.is_empty() {
        return Err(PlanError::NoCommonSyncSample);
    }
    Ok(common
        .iter()
        .map(|track| {
            chosen
                .iter()
                .filter_map(|place| track.get(*place).copied())
                .collect()
        })
        .collect())
}

/// The sync samples of each track that all of them have.
fn intersect(videos: &[&TrackIndex], candidates: &[Vec<SyncSample>]) -> Vec<Vec<SyncSample>> {
    let mut common = vec![Vec::new(); candidates.len()];
    let mut next = vec![0_usize; candidates.len()];
    let instant = |track: usize, time: i64| Instant {
        time,
        timescale: videos.get(track).map_or(1, |track| track.info().timescale),
    };
    for (_, time) in candidates.first().into_iter().flatten() {
        let wanted = instant(0, *time);
        let mut row = Vec::with_capacity(candidates.len());
        for (track, (samples, next)) in candidates.iter().zip(&mut next).enumerate() {
            let is_before = |sample: &SyncSample| {
                let found = instant(track, sample.1);
                !found.meets(wanted) && found.compare(wanted) == Ordering::Less
            };
            while samples.get(*next).is_some_and(is_before) {
                *next += 1;
            }
            let found = samples.get(*next);
            row.extend(found.filter(|sample| instant(track, sample.1).meets(wanted)));
        }
        if row.len() == candidates.len() {
            for (kept, sample) in common.iter_mut().zip(row) {
                kept.push(sample);
            }
        }
    }
    common
}

/// Places of the samples at which to cut a track that ends at `end`.
fn choose(samples: &[SyncSample], end: Instant, target: Duration) -> Vec<usize> {
    let timescale = end.timescale;
    let Some(first) = samples
        .iter()
        .rposition(|(_, time)| *time <= 0)
        .or((!samples.is_empty()).then_some(0))
    else {
        return Vec::new();
    };
    let time_of = |place: usize| samples.get(place).map(|(_, time)| *time);
    let mut chosen = vec![first];
    let mut place = first;
    let mut start = time_of(first).unwrap_or(0).max(0);
    loop {
        let instant = Instant {
            time: start,
            timescale,
        };
        let wanted = instant.plus(target).time;
        let mut best = None;
        for next in place + 1..samples.len() {
            let time = time_of(next).unwrap_or(i64::MAX);
            let distance = time.abs_diff(wanted);
            if best.is_some_and(|(_, nearest)| nearest <= distance) {
                break;
            }
            best = Some((next, distance));
        }
        // Where the end is nearer, the rest is one segment.
        let Some((next, _)) = best.filter(|(_, distance)| *distance <= end.time.abs_diff(wanted)) else {
            return chosen;
        };
        chosen.push(next);
        place = next;
        start = time_of(next).unwrap_or(i64::MAX);
    }
}

/// Segments that begin with these samples.
fn cut_at_numbers(track: &TrackIndex, cuts: &[SyncSample]) -> TrackSegments {
    let starts: Vec<u32> = cuts.iter().map(|(number, _)| *number).collect();
    let times: Vec<u64> = cuts.iter().map(|(_, time)| time.max(&0).unsigned_abs()).collect();
    segments_from(track, &starts, &times)
}

/// Boundaries at which tracks other than video are cut: those of the video, and behind the last one others at the
/// target.
struct Boundaries<'b> {
    given: &'b [Instant],
    last: Instant,
    target: Duration,
    /// When the track ends.
    end: Instant,
}

impl Boundaries<'_> {
    /// The first one after this time.
    fn after(&mut self, time: Instant) -> Option<Instant> {
        while let Some((next, rest)) = self.given.split_first() {
            self.given = rest;
            self.last = *next;
            if next.compare(time) == Ordering::Greater {
                return Some(*next);
            }
        }
        let passed = i128::from(time.time) * i128::from(self.last.timescale)
            / i128::from(time.timescale.max(1))
            - i128::from(self.last.time);
        let step = i128::from(self.last.plus(self.target).time) - i128::from(self.last.time);
        let steps = (passed / step.max(1) + 1).max(1);
        let next = i128::from(self.last.time) + steps * step;
        self.last.time = i64::try_from(next).ok()?;
        // A rest of less than half a segment stays with the last one.
        let least = self.last.plus(self.target / 2);
        (least.compare(self.end) == Ordering::Less).then_some(self.last)
    }
}

/// Segments that begin with the first sample at or after each boundary.
fn cut_at_times(track: &TrackIndex, boundaries: &[Instant], target: Duration) -> TrackSegments {
    let timescale = track.info().timescale;
    let here = |time: i64| Instant { time, timescale };
    let first = first_shown(track);
    let start = here(track.presentation_time(&first).max(0));
    let mut starts = vec![first.number];
    let mut times = vec![start.time.unsigned_abs()];
    let mut boundaries = Boundaries {
        given: boundaries,
        last: start,
        target,
        end: here(track.info().end),
    };
    let mut boundary = boundaries.after(start);
    for sample in track.samples().range(first.number + 1..track.samples().len()) {
        let Some(wanted) = boundary else {
            break;
        };
        let time = here(track.presentation_time(&sample));
        if time.compare(wanted) != Ordering::Less {
            starts.push(sample.number);
            times.push(time.time.max(0).unsigned_abs());
            boundary = boundaries.after(time);
        }
    }
    segments_from(track, &starts, &times)
}

/// The first sample that has to be decoded so that sound is right from time 0 on.
fn first_shown(track: &TrackIndex) -> Sample {
    let mut recent: Vec<Sample> = Vec::with_capacity(PREROLL_SAMPLES + 1);
    for sample in track.samples().iter() {
        let end = track.presentation_time(&sample) + i64::from(sample.duration);
        recent.push(sample);
        if end > 0 {
            break;
        }
        if recent.len() > PREROLL_SAMPLES {
            recent.remove(0);
        }
    }
    recent.first().copied().unwrap_or_default()
}

/// Segments that begin with these samples, at these times.
fn segments_from(track: &TrackIndex, starts: &[u32], times: &[u64]) -> TrackSegments {
    let count = track.samples().len();
    let mut segments: Vec<Segment> = Vec::with_capacity(starts.len());
    for (place, (start, time)) in starts.iter().zip(times).enumerate() {
        let end = starts.get(place + 1).copied().unwrap_or(count);
        segments.push(Segment {
            samples: *start..end,
            start: *time,
            duration: 0,
            bytes: 0,
        });
    }
    let mut last_end = 0;
    for segment in &mut segments {
        for sample in track.samples().range(segment.samples.clone()) {
            segment.bytes += u64::from(sample.size);
            let end = track.presentation_time(&sample) + i64::from(sample.duration);
            last_end = last_end.max(end);
        }
    }
    let ends = times.iter().copied().skip(1);
    for (segment, end) in segments.iter_mut().zip(ends.chain([last_end.unsigned_abs()])) {
        segment.duration = end.saturating_sub(segment.start);
    }
    // Times that are cut off at 0 could leave segments of no duration, which nobody could ask for by their time.
    let mut kept: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match kept.last_mut() {
            Some(before) if before.start == segment.start => {
                before.samples.end = segment.samples.end;
                before.duration += segment.duration;
                before.bytes += segment.bytes;
            }
            _ => kept.push(segment),
        }
    }
    TrackSegments {
        timescale: track.info().timescale,
        segments: kept,
    }
}
