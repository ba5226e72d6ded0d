//! Parts of a title that is protected. They are made here and nowhere else: what is not named here is not there, so that no
//! new part of clear titles is offered of protected ones before somebody has thought of it. It must not know where the key
//! came from, nor how parts are sent.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use weir_media::encryption::{EncryptionError, StreamedSegment, TrackEncryptor, TrackNonce};
use weir_media::index::{TrackIndex, TrackKind};
use weir_media::presentation::{Presentation, Resource};
use xxhash_rust::xxh3::xxh3_64;

use super::error::TitleError;
use super::narrow::narrowed;
use super::piece::{Piece, at_hand, content, manifest_type, mp4_type};
use super::title::{Source, Title};
use crate::content::{Content, Encrypted, Part};
use crate::keys::TitleKey;
use crate::metrics::Kind;

/// What has to be done with the payload of a media segment before any of it is sent, where its headers follow from what is
/// in it.
#[derive(Clone, Debug)]
pub struct Sealing {
    title: Arc<Title>,
    key: Arc<TitleKey>,
    kind: TrackKind,
    name: String,
    samples: Range<u32>,
    sequence: u32,
}

impl Sealing {
    /// The segment with these samples encrypted.
    ///
    /// # Errors
    /// When the payload is damaged, or of a codec that cannot be encrypted.
    pub fn apply(&self, payload: Vec<u8>) -> Result<Vec<u8>, TitleError> {
        // It was there when this was made.
        let (source, track) = self
            .title
            .track(self.kind, &self.name)
            .ok_or(TitleError::Stopped)?;
        let failed = |error| encryption_error(source, error);
        encryptor(source, track, &self.key)
            .and_then(|encryptor| encryptor.media_segment(self.samples.clone(), self.sequence, payload))
            .map_err(failed)
    }
}

/// A segment whose payload is encrypted while it is read.
fn encrypted(source: &Source, streamed: StreamedSegment) -> Content {
    let StreamedSegment { mut segment, payload } = streamed;
    let header = Bytes::from(std::mem::take(&mut segment.header));
    let within = 0..segment.length - header.len() as u64;
    Content::new(vec![
        Part::Bytes(header),
        Part::Encrypted(Encrypted {
            clear: content(source, segment),
            cipher: payload,
            within,
        }),
    ])
}

fn encryption_error(source: &Source, error: EncryptionError) -> TitleError {
    TitleError::Encryption {
        path: source.path.clone(),
        error,
    }
}

fn encryptor<'t>(
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
    ) -> Result<Option<Piece>, TitleError> {
        match resource {
            Resource::Mpd
            | Resource::MultivariantPlaylist
            | Resource::MediaPlaylist(..)
            | Resource::IFramePlaylist(_)
            | Resource::SubtitlePlaylist(_) => self.protected_manifest(resource, query, key),
            Resource::InitSegment(kind, name) => self.protected_init(*kind, name, key),
            Resource::MediaSegment(kind, name, start) => self.sealed(*kind, name, *start, false, key),
            Resource::SyncSample(name, start) => self.sealed(TrackKind::Video, name, *start, true, key),
            // Subtitles are not encrypted, as nowhere else.
            Resource::SubtitleText(name) => Ok(self.subtitle_text(name)),
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
        let made = made.map_err(|error| encryption_error(source, error))?;
        Ok(Some(Piece {
            kind: Kind::Init,
            content_type: mp4_type(kind),
            content: at_hand(made.into()),
            sealing: None,
        }))
    }

    /// A media segment, or its first sample alone.
    fn sealed(
        self: &Arc<Self>,
        kind: TrackKind,
        name: &str,
        start: u64,
        first_only: bool,
        key: &Arc<TitleKey>,
    ) -> Result<Option<Piece>, TitleError> {
        let Some((samples, sequence)) = self.segment(kind, name, start) else {
            return Ok(None);
        };
        let samples = if first_only {
            samples.start..samples.start + 1
        } else {
            samples
        };
        let Some((source, track)) = self.track(kind, name) else {
            return Ok(None);
        };
        let streamed = encryptor(source, track, key)
            .and_then(|encryptor| encryptor.streamed_segment(samples.clone(), sequence));
        if let Some(streamed) = streamed.map_err(|error| encryption_error(source, error))? {
            return Ok(Some(Piece {
                kind: Kind::Media,
                content_type: mp4_type(kind),
                content: encrypted(source, streamed),
                sealing: None,
            }));
        }
        let Some(piece) = self.payload(kind, name, samples.clone(), sequence)? else {
            return Ok(None);
        };
        let sealing = Sealing {
            title: self.clone(),
            key: key.clone(),
            kind,
            name: name.to_owned(),
            samples,
            sequence,
        };
        Ok(Some(Piece {
            sealing: Some(sealing),
            ..piece
        }))
    }

    fn protected_manifest(
        &self,
        resource: &Resource,
        query: &str,
        key: &TitleKey,
    ) -> Result<Option<Piece>, TitleError> {
        let announcement = &key.protection.announcement;
        if *resource == Resource::Mpd && !announcement.scheme.is_common() {
            return Err(TitleError::NotForDash);
        }
        let made = if query.is_empty() {
            self.whole_protected_manifest(resource, key)?
        } else {
            let part = narrowed(self.presentation(), query)?;
            self.write_protected(resource, part, key)?
        };
        Ok(made.map(|bytes| Piece {
            kind: Kind::Manifest,
            content_type: manifest_type(resource),
            content: at_hand(bytes),
            sealing: None,
        }))
    }

    /// The manifest of the whole title, made once for each key.
    fn whole_protected_manifest(
        &self,
        resource: &Resource,
        key: &TitleKey,
    ) -> Result<Option<Bytes>, TitleError> {
        let kept = || {
            self.protected_manifests
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let (tag, made) = &*kept()
            && *tag == key.tag
            && let Some(bytes) = made.get(resource)
        {
            return Ok(Some(bytes.clone()));
        }
        let made = self.write_protected(resource, self.presentation().clone(), key)?;
        if let Some(bytes) = &made {
            let mut kept = kept();
            if kept.0 != key.tag {
                *kept = (key.tag, Default::default());
            }
            kept.1.insert(resource.clone(), bytes.clone());
        }
        Ok(made)
    }

    /// A manifest names no track whose segments cannot be had.
    fn write_protected(
        &self,
        resource: &Resource,
        presentation: Presentation,
        key: &TitleKey,
    ) -> Result<Option<Bytes>, TitleError> {
        for rendition in presentation.renditions() {
            let Some((source, track)) = self.track(rendition.info.kind, &rendition.name) else {
                continue;
            };
            encryptor(source, track, key).map_err(|error| encryption_error(source, error))?;
        }
        let presentation = presentation.protected_by(&key.protection.announcement);
        self.write(resource, &presentation)
    }
}
