//! One title: its files with their indexes, and what players are offered of them. It must not know where files lie, nor who
//! asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use weir_media::encryption::KeyId;
use weir_media::index::{TrackIndex, TrackKind};
use weir_media::package::{MediaSegment, PackageError, SingleFile};
use weir_media::presentation::{Presentation, Rendition, Resource};
use weir_media::segments::{Segment, SegmentPlan};
use xxhash_rust::xxh3::xxh3_64;

use super::chosen::{candidates, check_reference, names, offered_subtitles, passed_over, tracks_of};
use super::error::TitleError;
use super::heads::{Head, Heads};
use super::made_of::{Described, FileVersion, Files, Source};
use crate::path::ObjectPath;
use crate::storage::Meta;

/// Says how answers are made: another number where the same files give other bytes than before.
const FORM: u32 = 3;

/// Manifests: of clear tracks, or with the key of that tag.
pub(super) type Manifests = HashMap<(Option<u64>, Resource), Bytes>;
/// Layouts of tracks as single files: clear, or with the key of that tag.
pub(super) type Layouts = HashMap<(Option<u64>, TrackKind, String), Arc<SingleFile>>;

/// A title.
#[derive(Debug)]
pub struct Title {
    presentation: Presentation,
    sources: Vec<Source>,
    /// Of each track that is offered, its file and its place there.
    tracks: HashMap<(TrackKind, String), (usize, usize)>,
    source_keys: Vec<KeyId>,
    subtitles: HashMap<String, FileVersion>,
    /// The files that were looked at to find out what it is made of.
    looked_at: HashMap<ObjectPath, Meta>,
    described: Option<Arc<Described>>,
    /// Differs between versions of the title.
    tag: u64,
    modified: Option<SystemTime>,
    /// Manifests that were made, which do not depend on a query.
    pub(super) manifests: Mutex<Manifests>,
    /// How tracks are laid out as single files, of those that were asked for.
    pub(super) single_files: Mutex<Layouts>,
    heads: Arc<Heads>,
}

impl Title {
    /// The title of these files, cut into segments of about that length, whose heads are kept there.
    pub fn new(
        path: &ObjectPath,
        sources: Vec<Source>,
        files: &Files,
        segment: Duration,
        heads: Arc<Heads>,
    ) -> Result<Self, TitleError> {
        for source in &sources {
            check_reference(source)?;
        }
        let described = files.described.as_ref();
        let (videos, others) = candidates(&sources, described.map(|one| &**one))?;
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
        let source_keys = source_keys(video.iter().chain(&other).copied());
        let mut renditions = Vec::new();
        let mut tracks = HashMap::new();
        for (letter, candidates, segments) in [("v", &videos, plan.video), ("a", &others, plan.other)] {
            let names = names(letter, candidates);
            let default = candidates.iter().position(|one| one.look.default).unwrap_or(0);
            for (number, (candidate, segments)) in candidates.iter().zip(segments).enumerate() {
                let info = candidate.track.info().clone();
                tracks.insert((info.kind, names[number].clone()), candidate.place);
                let mut rendition = Rendition::new(&names[number], info, Arc::new(segments));
                let look = &candidate.look;
                rendition.language = look.language.clone().or(rendition.language);
                rendition.label = look.label.clone();
                rendition.roles = look.roles.clone();
                rendition.default = number == default;
                renditions.push(rendition);
            }
        }
        let (offered, subtitles) = offered_subtitles(files);
        let wrong = |error| TitleError::Presentation {
            path: path.clone(),
            error,
        };
        let mut presentation = Presentation::new(renditions, offered).map_err(wrong)?;
        if let Some((described, clip)) = described.and_then(|one| Some((one, one.clip?))) {
            let clipped = presentation.clip(clip.start, clip.end.unwrap_or(u64::MAX));
            presentation = clipped.map_err(|error| TitleError::Manifest {
                path: described.path.clone(),
                why: error.to_string(),
            })?;
        }
        let referred = sources.iter().filter(|source| source.refers_to().is_some());
        let referred = referred.map(|source| (&source.media.0, &source.media.1));
        let versions: Vec<_> = files.versions().chain(referred).collect();
        let modified = versions.iter().filter_map(|(_, version)| version.modified).max();
        let tag = tag(&versions, segment);
        let looked_at = files
            .versions()
            .map(|(path, version)| (path.clone(), version.clone()));
        Ok(Title {
            presentation,
            tracks,
            source_keys,
            subtitles,
            looked_at: looked_at.collect(),
            described: described.cloned(),
            tag,
            modified,
            sources,
            manifests: Mutex::default(),
            single_files: Mutex::default(),
            heads,
        })
    }

    /// What players are offered.
    pub fn presentation(&self) -> &Presentation {
        &self.presentation
    }

    /// Which keys its tracks are encrypted with in their files.
    pub fn source_keys(&self) -> &[KeyId] {
        &self.source_keys
    }

    /// The files that its media are in, and those that refer to them.
    pub fn media_files(&self) -> impl Iterator<Item = &ObjectPath> {
        let referring = self.sources.iter().map(|source| &source.path);
        referring.chain(self.sources.iter().filter_map(Source::refers_to))
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

    /// The head of a segment of a track that is offered, which `make` makes unless it is kept.
    pub(super) fn head(
        &self,
        kind: TrackKind,
        name: &str,
        start: u64,
        make: impl FnOnce() -> Result<MediaSegment, PackageError>,
    ) -> Result<Arc<Head>, PackageError> {
        match self.tracks.get(&(kind, name.to_owned())) {
            Some(track) => self.heads.get((self.tag, *track, start), make),
            None => make().map(|segment| Arc::new(segment.into())),
        }
    }

    /// The file of subtitles that are offered.
    pub fn subtitle_file(&self, name: &str) -> Option<&FileVersion> {
        self.subtitles.get(name)
    }

    /// What its manifest said, if it has one.
    pub fn described(&self) -> Option<&Arc<Described>> {
        self.described.as_ref()
    }

    /// The media that its files refer to, each with its version.
    pub fn referred(&self) -> impl Iterator<Item = &FileVersion> {
        let referring = self.sources.iter().filter(|source| source.refers_to().is_some());
        referring.map(|source| &source.media)
    }

    /// Whether it is made of exactly these files, but for those that they refer to.
    pub fn is_of(&self, files: &Files) -> bool {
        let mut count = 0;
        let all_same = files.versions().all(|(path, version)| {
            count += 1;
            let own = self.looked_at.get(path);
            own.is_some_and(|own| own.is_same_version(version))
        });
        all_same && count == self.looked_at.len()
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        let tracks = self.sources.iter().flat_map(|source| &source.index.tracks);
        let indexes: usize = tracks.map(TrackIndex::memory_bytes).sum();
        let segments = self.presentation.renditions().iter();
        let segments: usize = segments.map(|rendition| rendition.segments.segments.len()).sum();
        // A segment, and its line in a playlist; in an MPD those of equal length share one.
        (indexes + segments * (size_of::<Segment>() + 40)) as u64
    }
}

fn source_keys<'t>(tracks: impl Iterator<Item = &'t TrackIndex>) -> Vec<KeyId> {
    let mut keys: Vec<KeyId> = Vec::new();
    for protection in tracks.filter_map(TrackIndex::protection) {
        let key_id = KeyId(protection.source().key_id);
        if !keys.contains(&key_id) {
            keys.push(key_id);
        }
    }
    keys
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
