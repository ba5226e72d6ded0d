//! Parts of a title that is protected. They are made here and nowhere else: what is not named here is not there, so
//! that no new part of clear titles is offered of protected ones before somebody has thought of it. It must not know
//! where the key came from, nor how parts are sent.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use weir_media::encryption::{EncryptionError, StreamedSegment, TrackEncryptor, TrackNonce};
use weir_media::index::{TrackIndex, TrackKind};
use weir_media::package::{MediaSegment, PackageError, media_segment};
use weir_media::presentation::{Presentation, Resource};
use xxhash_rust::xxh3::xxh3_64;

use super::decrypted::clear_content;
use super::error::TitleError;
use super::made_of::Source;
use super::piece::{Piece, at_hand, mp4_type};
use super::title::Title;
use crate::content::{Content, Encrypted, NotEncrypted, Part, Remake};
use crate::keys::{SourceKeys, TitleKey};
use crate::metrics::Kind;
use crate::path::ObjectPath;

/// Some samples of a track, which are a segment.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub kind: TrackKind,
    pub name: String,
    pub samples: Range<u32>,
    /// The number of the segment, from 1.
    pub sequence: u32,
}

/// The key of a title, and those that its media come with.
pub(super) type Both<'k> = (&'k Arc<TitleKey>, &'k SourceKeys);

/// An encrypted media segment before it is sent.
pub(super) enum Protected {
    /// Encrypted while it is read.
    Streamed(Content),
    /// What has to be read first, and what encrypts it.
    Whole(Content, Arc<dyn Remake>),
}

/// Encrypts a media segment of which the headers follow from what is in it.
#[derive(Clone, Debug)]
struct Sealing {
    title: Arc<Title>,
    key: Arc<TitleKey>,
    wanted: Wanted,
    /// The file that has the samples.
    path: ObjectPath,
    /// As it stands in the single file of its track.
    in_single_file: bool,
}

impl Remake for Sealing {
    fn remake(&self, payload: Vec<u8>) -> Result<Vec<u8>, NotEncrypted> {
        let Wanted {
            kind,
            name,
            samples,
            sequence,
        } = &self.wanted;
        let samples = samples.clone();
        let failed = |error| NotEncrypted {
            path: self.path.clone(),
            error,
        };
        // It was there when this was made.
        let (source, track) = self.title.track(*kind, name).ok_or_else(|| {
            let samples = samples.clone();
            failed(PackageError::Samples { samples, count: 0 }.into())
        })?;
        encryptor(source, track, &self.key)
            .and_then(|encryptor| match self.in_single_file {
                true => encryptor.segment_of_single_file(samples, *sequence, payload),
                false => encryptor.media_segment(samples, *sequence, payload),
            })
            .map_err(failed)
    }
}

/// A segment whose payload is encrypted while it is read.
fn encrypted(
    of: (&Source, &TrackIndex),
    samples: Range<u32>,
    streamed: StreamedSegment,
    sources: &SourceKeys,
) -> Result<Content, NotEncrypted> {
    let StreamedSegment { mut segment, payload } = streamed;
    let header = Bytes::from(std::mem::take(&mut segment.header));
    let within = 0..segment.length - header.len() as u64;
    Ok(Content::new(vec![
        Part::Bytes(header),
        Part::Encrypted(Encrypted {
            clear: clear_content(of, samples, segment.header.into(), segment.pieces, sources)?,
            cipher: payload,
            within,
        }),
    ]))
}

pub(super) fn not_encrypted(source: &Source, error: EncryptionError) -> NotEncrypted {
    NotEncrypted {
        path: source.path.clone(),
        error,
    }
}

/// Makes what is encrypted of a track.
pub(super) fn encryptor<'t>(
    source: &Source,
    track: &'t TrackIndex,
    key: &'t TitleKey,
) -> Result<TrackEncryptor<'t>, EncryptionError> {
    // A file that is replaced has other samples under the same numbers.
    let (media, version) = &source.media;
    let of_track = format!("{media}\n{}\n{}", version.version(), track.head().track_id);
    let nonce = TrackNonce::from_hash(xxh3_64(of_track.as_bytes()));
    TrackEncryptor::new(track, &key.protection, nonce)
}

impl Title {
    /// The part of that name, encrypted and narrowed as the query asks; nothing if there is none.
    ///
    /// # Errors
    /// When the query makes no sense, and when a track cannot be encrypted.
    pub fn protected_piece(
        self: &Arc<Self>,
        resource: &Resource,
        query: &str,
        key: &Arc<TitleKey>,
        sources: &Arc<SourceKeys>,
    ) -> Result<Option<Piece>, TitleError> {
        let is_common = key.protection.announcement.scheme.is_common();
        match resource {
            Resource::Mpd | Resource::OnDemandMpd if !is_common => Err(TitleError::NotForDash),
            Resource::Mpd
            | Resource::OnDemandMpd
            | Resource::MultivariantPlaylist
            | Resource::MediaPlaylist(..)
            | Resource::IFramePlaylist(_)
            | Resource::SubtitlePlaylist(_) => self.manifest(resource, query, Some(key)),
            Resource::InitSegment(kind, name) => self.protected_init(*kind, name, key),
            Resource::MediaSegment(kind, name, start) => self.sealed(*kind, name, *start, (key, sources)),
            Resource::SyncSample(name, start) => self.first_sample(name, *start, (key, sources)),
            // Named by DASH's manifest alone.
            Resource::SingleFile(kind, name) if is_common => {
                self.single_file(*kind, name, Some(key), sources)
            }
            // Subtitles are not encrypted, as nowhere else.
            Resource::SubtitleText(name) => self.subtitle_text(name, query),
            _ => Ok(None),
        }
    }

    fn protected_init(
        &self,
        kind: TrackKind,
        name: &str,
        key: &TitleKey,
    ) -> Result<Option<Piece>, TitleError> {
        let Some((source, track)) = self.track(kind, name) else {
            return Ok(None);
        };
        let made = encryptor(source, track, key).and_then(|encryptor| encryptor.init_segment());
        let made = made.map_err(|error| not_encrypted(source, error))?;
        Ok(Some(Piece {
            kind: Kind::Init,
            content_type: mp4_type(kind),
            content: at_hand(made.into()),
            remake: None,
        }))
    }

    /// A media segment.
    fn sealed(
        self: &Arc<Self>,
        kind: TrackKind,
        name: &str,
        start: u64,
        keys: Both<'_>,
    ) -> Result<Option<Piece>, TitleError> {
        let Some((samples, sequence)) = self.segment(kind, name, start) else {
            return Ok(None);
        };
        let wanted = Wanted {
            kind,
            name: name.to_owned(),
            samples,
            sequence,
        };
        self.sealed_piece(wanted, keys)
    }

    /// The first sample of a segment of video, alone.
    fn first_sample(
        self: &Arc<Self>,
        name: &str,
        start: u64,
        keys: Both<'_>,
    ) -> Result<Option<Piece>, TitleError> {
        let Some((samples, sequence)) = self.segment(TrackKind::Video, name, start) else {
            return Ok(None);
        };
        let wanted = Wanted {
            kind: TrackKind::Video,
            name: name.to_owned(),
            samples: samples.start..samples.start + 1,
            sequence,
        };
        self.sealed_piece(wanted, keys)
    }

    fn sealed_piece(self: &Arc<Self>, wanted: Wanted, keys: Both<'_>) -> Result<Option<Piece>, TitleError> {
        let kind = wanted.kind;
        let made = self.protected_segment(wanted, keys, false)?;
        Ok(made.map(|made| {
            let (content, remake) = match made {
                Protected::Streamed(content) => (content, None),
                Protected::Whole(payload, how) => (payload, Some(how)),
            };
            Piece {
                kind: Kind::Media,
                content_type: mp4_type(kind),
                content,
                remake,
            }
        }))
    }

    /// A media segment, by itself or as it stands in the single file of its track; nothing if there is no such track.
    pub(super) fn protected_segment(
        self: &Arc<Self>,
        wanted: Wanted,
        (key, sources): Both<'_>,
        in_single_file: bool,
    ) -> Result<Option<Protected>, TitleError> {
        let Some((source, track)) = self.track(wanted.kind, &wanted.name) else {
            return Ok(None);
        };
        let (samples, sequence) = (wanted.samples.clone(), wanted.sequence);
        let streamed = encryptor(source, track, key)
            .and_then(|encryptor| encryptor.streamed_segment(samples.clone(), sequence));
        if let Some(streamed) = streamed.map_err(|error| not_encrypted(source, error))? {
            let content = encrypted((source, track), samples, streamed, sources)?;
            return Ok(Some(Protected::Streamed(content)));
        }
        let payload = MediaSegment {
            header: Vec::new(),
            ..media_segment(track, samples.clone(), sequence)?
        };
        let sealing = Sealing {
            title: self.clone(),
            key: key.clone(),
            wanted,
            path: source.path.clone(),
            in_single_file,
        };
        let clear = clear_content(
            (source, track),
            samples,
            payload.header.into(),
            payload.pieces,
            sources,
        )?;
        Ok(Some(Protected::Whole(clear, Arc::new(sealing))))
    }

    /// Its presentation with this key. No track is named whose segments are not there.
    pub(super) fn protected_presentation(
        &self,
        presentation: Presentation,
        key: &TitleKey,
    ) -> Result<Presentation, TitleError> {
        for rendition in presentation.renditions() {
            let Some((source, track)) = self.track(rendition.info.kind, &rendition.name) else {
                continue;
            };
            encryptor(source, track, key).map_err(|error| not_encrypted(source, error))?;
        }
        Ok(presentation.protected_by(&key.protection.announcement))
    }
}
