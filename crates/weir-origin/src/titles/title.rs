//! One title: its files with their indexes, and what players are offered of them. It must not know where files lie, nor who
//! asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use weir_media::index::{FileIndex, TrackIndex, TrackKind};
use weir_media::presentation::{Presentation, Rendition, Resource, Subtitles, short_language};
use weir_media::segments::{Segment, SegmentPlan};
use xxhash_rust::xxh3::xxh3_64;

use super::error::TitleError;
use crate::path::ObjectPath;
use crate::storage::Meta;

/// How names of media files end.
const MEDIA: [&str; 6] = ["mp4", "m4v", "m4a", "mov", "cmfv", "cmfa"];
/// Says how answers are made: another number where the same files give other bytes than before.
const FORM: u32 = 2;

/// A media file and what it holds.
#[derive(Debug)]
pub struct Source {
    pub path: ObjectPath,
    pub version: Meta,
    pub index: Arc<FileIndex>,
}

/// A title.
#[derive(Debug)]
pub struct Title {
    presentation: Presentation,
    sources: Vec<Source>,
    /// Of each track that is offered, its file and its place there.
    tracks: HashMap<(TrackKind, String), (usize, usize)>,
    subtitles: HashMap<String, (ObjectPath, Meta)>,
    /// Differs between versions of the title.
    tag: u64,
    modified: Option<SystemTime>,
    /// Manifests that were made, which do not depend on a query.
    pub(super) manifests: Mutex<HashMap<Resource, Bytes>>,
}

/// Whether a file can have media in it.
pub fn is_media(path: &ObjectPath) -> bool {
    ending(path).is_some_and(|ending| MEDIA.iter().any(|media| ending.eq_ignore_ascii_case(media)))
}

/// Whether a file has subtitles in it.
pub fn is_subtitles(path: &ObjectPath) -> bool {
    ending(path).is_some_and(|ending| ending.eq_ignore_ascii_case("vtt"))
}

fn ending(path: &ObjectPath) -> Option<&str> {
    path.name().rsplit_once('.').map(|(_, ending)| ending)
}

/// A track in one of the sources.
struct Candidate<'s> {
    place: (usize, usize),
    track: &'s TrackIndex,
}

impl Title {
    /// The title of these files, cut into segments of about that length.
    pub fn new(
        path: &ObjectPath,
        sources: Vec<Source>,
        subtitles: Vec<(ObjectPath, Meta)>,
        segment: Duration,
    ) -> Result<Self, TitleError> {
        let (videos, others) = candidates(&sources);
        if videos.is_empty() && others.is_empty() {
            let why = passed_over(&sources);
            return Err(TitleError::NoTracks {
                path: path.clone(),
                why,
            });
        }
        let (video, other) = (tracks_of(&videos), tracks_of(&others));
        let plan = SegmentPlan::new(&video, &other, segment).map_err(|error| TitleError::Plan {
            path: path.clone(),
            error,
        })?;
        let mut renditions = Vec::new();
        let mut tracks = HashMap::new();
        for (letter, candidates, segments) in [("v", &videos, plan.video), ("a", &others, plan.other)] {
            for (number, (candidate, segments)) in candidates.iter().zip(segments).enumerate() {
                let name = format!("{letter}{}", number + 1);
                let info = candidate.track.info().clone();
                tracks.insert((info.kind, name.clone()), candidate.place);
                let mut rendition = Rendition::new(name, info, Arc::new(segments));
                rendition.default = number == 0;
                renditions.push(rendition);
            }
        }
        let (offered, subtitles) = offered_subtitles(subtitles);
        let presentation =
            Presentation::new(renditions, offered).map_err(|error| TitleError::Presentation {
                path: path.clone(),
                error,
            })?;
        let versions = sources.iter().map(|source| (&source.path, &source.version));
        let versions: Vec<_> = versions
            .chain(subtitles.values().map(|(path, version)| (path, version)))
            .collect();
        let modified = versions.iter().filter_map(|(_, version)| version.modified).max();
        let tag = tag(&versions, segment);
        Ok(Title {
            presentation,
            tracks,
            subtitles,
            tag,
            modified,
            sources,
            manifests: Mutex::default(),
        })
    }

    /// What players are offered.
    pub fn presentation(&self) -> &Presentation {
        &self.presentation
    }

    /// When one of its files was last written.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// The ETag of one of its parts, with its quotes.
    pub fn etag(&self, part: &str) -> String {
        let hash = xxh3_64(part.as_bytes());
        format!("\"{:016x}-{hash:016x}\"", self.tag)
    }

    /// The file and the index of a track that is offered.
    pub fn track(&self, kind: TrackKind, name: &str) -> Option<(&Source, &TrackIndex)> {
        let (source, track) = self.tracks.get(&(kind, name.to_owned()))?;
        let source = self.sources.get(*source)?;
        Some((source, source.index.tracks.get(*track)?))
    }

    /// The file of subtitles that are offered.
    pub fn subtitle_file(&self, name: &str) -> Option<&(ObjectPath, Meta)> {
        self.subtitles.get(name)
    }

    /// Whether it is made of exactly these files.
    pub fn is_of(&self, files: &[(ObjectPath, Meta)]) -> bool {
        let media = self.sources.iter().map(|source| (&source.path, &source.version));
        let own = media.chain(self.subtitles.values().map(|(path, version)| (path, version)));
        let own: HashMap<_, _> = own.collect();
        let same = |(path, version): &(ObjectPath, Meta)| {
            own.get(path).is_some_and(|own| own.is_same_version(version))
        };
        files.len() == own.len() && files.iter().all(same)
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        let tracks = self.sources.iter().flat_map(|source| &source.index.tracks);
        let indexes: usize = tracks.map(TrackIndex::memory_bytes).sum();
        let segments = self.presentation.renditions().iter();
        let segments: usize = segments.map(|rendition| rendition.segments.segments.len()).sum();
        // A segment, and its line in a manifest of each kind.
        (indexes + segments * (size_of::<Segment>() + 100)) as u64
    }
}

/// Tracks that can be offered: the densest video first, audio in the order of its files.
fn candidates(sources: &[Source]) -> (Vec<Candidate<'_>>, Vec<Candidate<'_>>) {
    let all = sources.iter().enumerate().flat_map(|(number, source)| {
        // The samples of an index of another file are elsewhere.
        let own = source.index.media.is_none();
        let tracks = source.index.tracks.iter().enumerate().filter(move |_| own);
        tracks.map(move |(place, track)| Candidate {
            place: (number, place),
            track,
        })
    });
    let (mut videos, others): (Vec<_>, Vec<_>) =
        all.partition(|one| one.track.info().kind == TrackKind::Video);
    videos.sort_by_key(|one| std::cmp::Reverse(one.track.info().average_bitrate));
    (videos, others)
}

fn tracks_of<'s>(candidates: &[Candidate<'s>]) -> Vec<&'s TrackIndex> {
    candidates.iter().map(|one| one.track).collect()
}

fn passed_over(sources: &[Source]) -> String {
    let reasons = sources.iter().flat_map(|source| &source.index.passed_over);
    let reasons: Vec<&str> = reasons.map(|track| track.why.as_str()).take(3).collect();
    if reasons.is_empty() {
        return "its files have no tracks".to_owned();
    }
    reasons.join("; ")
}

type SubtitleFiles = HashMap<String, (ObjectPath, Meta)>;

/// `de.vtt` and `film.de.vtt` are German.
fn offered_subtitles(files: Vec<(ObjectPath, Meta)>) -> (Vec<Subtitles>, SubtitleFiles) {
    let (mut offered, mut by_name) = (Vec::new(), HashMap::new());
    for (number, (path, version)) in files.into_iter().enumerate() {
        let name = format!("s{}", number + 1);
        let stem = path.name().rsplit_once('.').map_or("", |(stem, _)| stem);
        let last = stem.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let language = (2..=3)
            .contains(&last.len())
            .then(|| short_language(&last))
            .flatten();
        offered.push(Subtitles {
            name: name.clone(),
            label: language.is_none().then(|| stem.to_owned()),
            language,
            roles: Vec::new(),
            default: false,
        });
        by_name.insert(name, (path, version));
    }
    (offered, by_name)
}

fn tag(versions: &[(&ObjectPath, &Meta)], segment: Duration) -> u64 {
    let mut lines: Vec<String> = versions
        .iter()
        .map(|(path, version)| format!("{path}\n{}\n", version.version()))
        .collect();
    lines.sort();
    let text = format!("{FORM}\n{}\n{}", segment.as_nanos(), lines.concat());
    xxh3_64(text.as_bytes())
}
