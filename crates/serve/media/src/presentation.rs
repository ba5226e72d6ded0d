//! What is offered to players: renditions of tracks with their segments, subtitles beside them, and the addresses of
//! all of it. Manifests are written from this alone. It must not know how the parts are stored or sent.

mod address;
mod clip;
mod filter;
mod language;

use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::encryption::Announcement;
use crate::index::{TrackInfo, TrackKind};
use crate::segments::{Segment, TrackSegments};

pub use address::Resource;
pub use clip::ClipError;
pub use filter::{Filter, FilterError};
pub use language::short_language;

/// Bytes of a rendition's name, at most.
pub const MAX_NAME_BYTES: usize = 64;

/// A track as it is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendition {
    /// What it is called in addresses: ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// Its properties for manifests.
    pub info: TrackInfo,
    /// How it is cut. Shared, since presentations are narrowed for single requests.
    pub segments: Arc<TrackSegments>,
    /// The language as BCP 47 writes it; none if it is not known.
    pub language: Option<String>,
    /// What a viewer reads in a menu.
    pub label: Option<String>,
    /// Roles of DASH (`urn:mpeg:dash:role:2011`), such as `main`, `alternate`, `commentary`, `description`.
    pub roles: Vec<String>,
    /// Whether it is chosen if the viewer chooses nothing.
    pub default: bool,
    /// What its segments are encrypted with; none if they are clear.
    pub protection: Option<Arc<Announcement>>,
}

impl Rendition {
    /// A rendition with what the track itself says.
    pub fn new(name: impl Into<String>, info: TrackInfo, segments: Arc<TrackSegments>) -> Self {
        let language = short_language(&info.language);
        Rendition {
            name: name.into(),
            info,
            segments,
            language,
            label: None,
            roles: Vec::new(),
            default: false,
            protection: None,
        }
    }

    /// What stands in front of its name in addresses: `video` or `audio`.
    pub fn folder(&self) -> &'static str {
        address::folder(self.info.kind)
    }
}

/// Subtitles as a WebVTT file beside the media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtitles {
    /// What they are called in addresses, as [`Rendition::name`].
    pub name: String,
    /// The language as BCP 47 writes it; none if it is not known.
    pub language: Option<String>,
    /// What a viewer reads in a menu.
    pub label: Option<String>,
    /// Roles of DASH, such as `subtitle` or `caption`.
    pub roles: Vec<String>,
    /// Whether they are shown if the viewer chooses nothing.
    pub default: bool,
}

/// A presentation that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PresentationError {
    /// Nothing to play.
    #[error("a presentation needs at least one video or audio track")]
    Empty,
    /// A name that does not fit into addresses.
    #[error(
        "'{}' is not a track name; write 1 to {MAX_NAME_BYTES} letters, digits, '-' and '_'", name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two with the same name.
    #[error("two tracks have the name '{name}'")]
    Twice {
        /// The name.
        name: String,
    },
}

/// What is played together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    renditions: Vec<Rendition>,
    subtitles: Vec<Subtitles>,
    /// Where the presentation begins on the timeline of its segments, after a cut: a fraction of a second.
    start: (u64, u32),
    /// Whether it was cut.
    is_part: bool,
    /// What is put behind the addresses of playlists, so that they are narrowed as this one: empty or `?...`.
    query: String,
}

impl Presentation {
    /// A presentation of these tracks.
    ///
    /// # Errors
    ///
    /// No tracks, and names that do not fit into addresses or that two of a kind have.
    pub fn new(renditions: Vec<Rendition>, subtitles: Vec<Subtitles>) -> Result<Self, PresentationError> {
        if renditions.is_empty() {
            return Err(PresentationError::Empty);
        }
        let of_tracks = renditions
            .iter()
            .map(|rendition| (rendition.folder(), rendition.name.as_str()));
        let of_subtitles = subtitles.iter().map(|text| ("subtitles", text.name.as_str()));
        let mut seen = std::collections::HashSet::new();
        for (folder, name) in of_tracks.chain(of_subtitles) {
            if !is_name(name) {
                return Err(PresentationError::Name {
                    name: name.to_owned(),
                });
            }
            if !seen.insert((folder, name)) {
                return Err(PresentationError::Twice {
                    name: name.to_owned(),
                });
            }
        }
        Ok(Presentation {
            renditions,
            subtitles,
            start: (0, 1),
            is_part: false,
            query: String::new(),
        })
    }

    /// Its tracks.
    pub fn renditions(&self) -> &[Rendition] {
        &self.renditions
    }

    /// Its tracks of a kind.
    pub fn of_kind(&self, kind: TrackKind) -> impl Iterator<Item = &Rendition> {
        self.renditions
            .iter()
            .filter(move |rendition| rendition.info.kind == kind)
    }

    /// Its subtitles.
    pub fn subtitles(&self) -> &[Subtitles] {
        &self.subtitles
    }

    /// The rendition of this kind and name.
    pub fn rendition(&self, kind: TrackKind, name: &str) -> Option<&Rendition> {
        self.of_kind(kind).find(|rendition| rendition.name == name)
    }

    /// How long it is, in nanoseconds: up to the end of the track that lasts longest.
    pub fn duration_nanoseconds(&self) -> u64 {
        let end = self
            .renditions
            .iter()
            .map(|rendition| nanoseconds(rendition.segments.end(), rendition.segments.timescale))
            .max()
            .unwrap_or(0);
        end.saturating_sub(nanoseconds(self.start.0, self.start.1))
    }

    /// The duration of its longest segment, in nanoseconds.
    pub fn longest_segment_nanoseconds(&self) -> u64 {
        self.renditions
            .iter()
            .map(|rendition| nanoseconds(rendition.segments.longest(), rendition.segments.timescale))
            .max()
            .unwrap_or(0)
    }

    /// Where it begins on the timeline of its segments, in units of this timescale: 0 if it is not cut.
    pub fn start_in(&self, timescale: u32) -> u64 {
        let (time, own) = self.start;
        let scaled =
            (u128::from(time) * u128::from(timescale) + u128::from(own / 2)) / u128::from(own.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Which part of the whole it is, in nanoseconds from the beginning of that; none if it was not cut.
    pub fn span(&self) -> Option<Range<u64>> {
        let start = nanoseconds(self.start.0, self.start.1);
        self.is_part
            .then(|| start..start.saturating_add(self.duration_nanoseconds()))
    }

    /// What is put behind the addresses of texts of subtitles, which are cut as it is.
    pub(crate) fn text_query(&self) -> &str {
        if self.is_part { &self.query } else { "" }
    }

    /// What is put behind the addresses of playlists: empty, or a query that begins with `?`.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The same presentation with all its tracks encrypted.
    #[must_use]
    pub fn protected_by(mut self, announcement: &Arc<Announcement>) -> Self {
        for rendition in &mut self.renditions {
            rendition.protection = Some(announcement.clone());
        }
        self
    }

    /// Has this put behind the addresses of playlists, so that a player that has asked for part of a presentation gets
    /// the same part of its tracks. `query` is as it stood in the request, without the question mark.
    #[must_use]
    pub fn with_query(mut self, query: &str) -> Self {
        self.query = if query.is_empty() {
            String::new()
        } else {
            format!("?{query}")
        };
        self
    }
}

/// Times of a track in nanoseconds, rounded down.
pub(crate) fn nanoseconds(time: u64, timescale: u32) -> u64 {
    let scaled = u128::from(time) * 1_000_000_000 / u128::from(timescale.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Whether this can be the name of a track in addresses.
pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(allowed)
}

/// Segments of a rendition, as an iterator that manifests walk.
pub(crate) fn segments(rendition: &Rendition) -> impl Iterator<Item = &Segment> {
    rendition.segments.segments.iter()
}
