//! What there is to play: tracks, each a ladder of rungs cut into the same segments. It must not know where segments
//! are kept or how manifests are written.

use std::time::Duration;

use thiserror::Error;
use weir_units::Rate;

/// Most rungs of a ladder.
pub const MAX_RUNGS: usize = 128;
/// Most segments of a track: a day of segments of one second.
pub const MAX_SEGMENTS: usize = 86_400;

/// The longest that a segment lasts: so times of a track never overflow.
pub const LONGEST_SEGMENT: Duration = Duration::from_secs(3_600);

/// What a track is of. A presentation has at most one track of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// Subtitles.
    Text,
}

/// One encoding of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// The bitrate that the manifest tells, which is what a player chooses by.
    pub bitrate: Rate,
    /// Bytes of each segment, or nothing where they are not known: they are then taken to be as long as the bitrate
    /// says.
    pub segment_bytes: Vec<u64>,
}

/// What cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// Nothing to play.
    #[error("no track to play")]
    NoTracks,
    /// More than one track of a kind.
    #[error("there are two {0:?} tracks; a player plays one of each kind")]
    TwoOfAKind(MediaKind),
    /// A track without segments, or with more than [`MAX_SEGMENTS`].
    #[error("the {0:?} track has {1} segments; 1 to {MAX_SEGMENTS} are supported")]
    Segments(MediaKind, usize),
    /// A segment that lasts no time, or longer than [`LONGEST_SEGMENT`].
    #[error("segment {1} of the {0:?} track lasts {2:?}; durations above 0 and up to 1 h are supported")]
    Duration(MediaKind, usize, Duration),
    /// A ladder without rungs, or with more than [`MAX_RUNGS`].
    #[error("the {0:?} track has {1} rungs; 1 to {MAX_RUNGS} are supported")]
    Rungs(MediaKind, usize),
    /// A ladder that does not rise.
    #[error("the bitrate of rung {1} of the {0:?} track is not above that of the rung below")]
    Order(MediaKind, usize),
    /// Sizes that are not of this track's segments.
    #[error(
        "rung {1} of the {0:?} track has {2} segment sizes; it needs one for each of {3} segments, or none"
    )]
    Sizes(MediaKind, usize, usize, usize),
}

/// A ladder of rungs, cut into segments at the same times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    kind: MediaKind,
    /// When each segment begins, and at the end when the last one ends.
    starts: Vec<Duration>,
    rungs: Vec<Rung>,
}

impl Track {
    /// A track whose segments last `durations`.
    ///
    /// # Errors
    ///
    /// Where segments or rungs are missing or too many, bitrates do not rise from rung to rung, or sizes do not fit.
    pub fn new(kind: MediaKind, durations: &[Duration], rungs: Vec<Rung>) -> Result<Track, ManifestError> {
        if durations.is_empty() || durations.len() > MAX_SEGMENTS {
            return Err(ManifestError::Segments(kind, durations.len()));
        }
        if rungs.is_empty() || rungs.len() > MAX_RUNGS {
            return Err(ManifestError::Rungs(kind, rungs.len()));
        }
        let mut starts = Vec::with_capacity(durations.len() + 1);
        let mut end = Duration::ZERO;
        starts.push(end);
        for (segment, duration) in durations.iter().enumerate() {
            if duration.is_zero() || *duration > LONGEST_SEGMENT {
                return Err(ManifestError::Duration(kind, segment, *duration));
            }
            end += *duration;
            starts.push(end);
        }
        let mut below = 0;
        for (number, rung) in rungs.iter().enumerate() {
            if rung.bitrate.0 <= below {
                return Err(ManifestError::Order(kind, number));
            }
            below = rung.bitrate.0;
            let sizes = rung.segment_bytes.len();
            if sizes != 0 && sizes != durations.len() {
                return Err(ManifestError::Sizes(kind, number, sizes, durations.len()));
            }
        }
        Ok(Track { kind, starts, rungs })
    }

    /// What it is of.
    pub fn kind(&self) -> MediaKind {
        self.kind
    }

    /// Its rungs, the lowest first.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// How many segments it has.
    pub fn segments(&self) -> usize {
        self.starts.len() - 1
    }

    /// When `segment` begins to be shown; the end of the track for one past the last.
    pub fn start(&self, segment: usize) -> Duration {
        self.starts[segment.min(self.segments())]
    }

    /// How long `segment` is shown.
    pub fn duration(&self, segment: usize) -> Duration {
        self.start(segment + 1) - self.start(segment)
    }

    /// When the track ends.
    pub fn end(&self) -> Duration {
        self.start(self.segments())
    }

    /// The segment that is shown at `position`; the last one for later positions.
    pub fn segment_at(&self, position: Duration) -> usize {
        let begun = self.starts.partition_point(|start| *start <= position);
        begun.saturating_sub(1).min(self.segments() - 1)
    }

    /// Bytes of `segment` on `rung`: as the manifest tells, or as long as the bitrate says.
    pub fn bytes(&self, segment: usize, rung: usize) -> u64 {
        let rung = &self.rungs[rung];
        match rung.segment_bytes.get(segment) {
            Some(bytes) => *bytes,
            None => (rung.bitrate.0 as f64 * self.duration(segment).as_secs_f64() / 8.0).ceil() as u64,
        }
    }
}

/// All that there is to play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    tracks: Vec<Track>,
}

impl Manifest {
    /// A presentation of these tracks, which are played together.
    ///
    /// # Errors
    ///
    /// Where there is no track, or two of one kind.
    pub fn new(tracks: Vec<Track>) -> Result<Manifest, ManifestError> {
        if tracks.is_empty() {
            return Err(ManifestError::NoTracks);
        }
        for (number, track) in tracks.iter().enumerate() {
            if tracks[..number].iter().any(|other| other.kind == track.kind) {
                return Err(ManifestError::TwoOfAKind(track.kind));
            }
        }
        Ok(Manifest { tracks })
    }

    /// Its tracks, in the order in which they were given.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// When the longest track ends.
    pub fn duration(&self) -> Duration {
        self.tracks.iter().map(Track::end).max().unwrap_or_default()
    }

    /// The track that figures refer to: the video, or the first track without video.
    pub fn main_track(&self) -> usize {
        self.tracks
            .iter()
            .position(|track| track.kind == MediaKind::Video)
            .unwrap_or(0)
    }
}
