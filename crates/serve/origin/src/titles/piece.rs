//! One part of a title as it is sent: a manifest, an initialisation segment, a media segment, subtitles. It must not know how
//! it is sent.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use weir_media::dash::{MPD_TYPE, mpd};
use weir_media::hls::{
    PLAYLIST_TYPE, i_frame_playlist, media_playlist, multivariant_playlist, subtitle_playlist,
};
use weir_media::index::TrackKind;
use weir_media::package::{init_segment, media_segment};
use weir_media::presentation::{Presentation, Resource};
use weir_media::webvtt;

use super::decrypted::clear_content;
use super::error::TitleError;
use super::title::Title;
use crate::content::{Content, NotEncrypted, Part, Remake, Stored};
use crate::keys::{SourceKeys, TitleKey};
use crate::metrics::Kind;
use crate::outside::query::narrowed;

/// A part of a title.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What its bytes are for.
    pub kind: Kind,
    /// Media type.
    pub content_type: &'static str,
    /// Its bytes.
    pub content: Content,
    /// What has to be done with all of it before its length is known; none if it is sent as it is.
    pub remake: Option<Arc<dyn Remake>>,
}

/// Leaves of subtitles the cues of a part of the title, which lies there (nanoseconds).
#[derive(Debug)]
struct Cut {
    span: Range<u64>,
}

impl Remake for Cut {
    fn remake(&self, payload: Vec<u8>) -> Result<Vec<u8>, NotEncrypted> {
        Ok(webvtt::cut(&payload, &self.span).into_bytes())
    }
}

impl Title {
    /// The part of that name, narrowed as the query asks; nothing if there is none.
    ///
    /// # Errors
    /// When the query makes no sense.
    pub fn piece(
        self: &Arc<Self>,
        resource: &Resource,
        query: &str,
        sources: &Arc<SourceKeys>,
    ) -> Result<Option<Piece>, TitleError> {
        match resource {
            Resource::InitSegment(kind, name) => Ok(self.init(*kind, name)),
            Resource::MediaSegment(kind, name, start) => self.media(*kind, name, *start, sources),
            Resource::SubtitleText(name) => self.subtitle_text(name, query),
            Resource::SingleFile(kind, name) => self.single_file(*kind, name, None, sources),
            _ => self.manifest(resource, query, None),
        }
    }

    fn init(&self, kind: TrackKind, name: &str) -> Option<Piece> {
        let (_, track) = self.track(kind, name)?;
        Some(Piece {
            kind: Kind::Init,
            content_type: mp4_type(kind),
            content: at_hand(init_segment(track).into()),
            remake: None,
        })
    }

    fn media(
        &self,
        kind: TrackKind,
        name: &str,
        start: u64,
        sources: &SourceKeys,
    ) -> Result<Option<Piece>, TitleError> {
        let (Some((samples, sequence)), Some((source, track))) =
            (self.segment(kind, name, start), self.track(kind, name))
        else {
            return Ok(None);
        };
        let make = || media_segment(track, samples.clone(), sequence);
        let head = self.head(kind, name, start, make)?;
        let (header, pieces) = (head.header.clone(), head.pieces.to_vec());
        Ok(Some(Piece {
            kind: Kind::Media,
            content_type: mp4_type(kind),
            content: clear_content((source, track), samples, header, pieces, sources)?,
            remake: None,
        }))
    }

    /// The samples of the segment that begins then, and its number from 1.
    pub(super) fn segment(&self, kind: TrackKind, name: &str, start: u64) -> Option<(Range<u32>, u32)> {
        let rendition = self.presentation().rendition(kind, name)?;
        let (number, segment) = rendition.segments.starting_at(start)?;
        // Tracks have fewer samples than that.
        let sequence = u32::try_from(number + 1).unwrap_or(u32::MAX);
        Some((segment.samples.clone(), sequence))
    }

    /// Their file as it is; of a part of the title, the cues that are shown in it.
    pub(super) fn subtitle_text(&self, name: &str, query: &str) -> Result<Option<Piece>, TitleError> {
        let Some((path, version)) = self.subtitle_file(name) else {
            return Ok(None);
        };
        let span = match query {
            "" => self.presentation().span(),
            query => narrowed(self.presentation(), query)?.span(),
        };
        let stored = Stored {
            path: path.clone(),
            version: version.clone(),
            keep: std::iter::once(0..version.length)
                .filter(|whole| !whole.is_empty())
                .collect(),
        };
        Ok(Some(Piece {
            kind: Kind::Subtitles,
            content_type: "text/vtt; charset=utf-8",
            content: Content::new(vec![Part::Stored(stored)]),
            remake: span.map(|span| Arc::new(Cut { span }) as Arc<dyn Remake>),
        }))
    }

    /// A manifest, narrowed as the query asks, whose media are encrypted if there is a key.
    pub(super) fn manifest(
        &self,
        resource: &Resource,
        query: &str,
        key: Option<&TitleKey>,
    ) -> Result<Option<Piece>, TitleError> {
        let made = if query.is_empty() {
            self.whole_manifest(resource, key)?
        } else {
            self.write(resource, narrowed(self.presentation(), query)?, key)?
        };
        Ok(made.map(|bytes| Piece {
            kind: Kind::Manifest,
            content_type: manifest_type(resource),
            content: at_hand(bytes),
            remake: None,
        }))
    }

    /// The manifest of the whole title, made once, and once for each key.
    fn whole_manifest(
        &self,
        resource: &Resource,
        key: Option<&TitleKey>,
    ) -> Result<Option<Bytes>, TitleError> {
        let place = (key.map(|key| key.tag), resource.clone());
        let manifests = || self.manifests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = manifests().get(&place) {
            return Ok(Some(bytes.clone()));
        }
        let made = self.write(resource, self.presentation().clone(), key)?;
        if let Some(bytes) = &made {
            let mut manifests = manifests();
            // A key that was another one is not asked for again.
            manifests.retain(|(tag, _), _| *tag == place.0);
            manifests.insert(place, bytes.clone());
        }
        Ok(made)
    }

    fn write(
        &self,
        resource: &Resource,
        presentation: Presentation,
        key: Option<&TitleKey>,
    ) -> Result<Option<Bytes>, TitleError> {
        let presentation = &match key {
            Some(key) => self.protected_presentation(presentation, key)?,
            None => presentation,
        };
        let text = match resource {
            Resource::Mpd => Some(mpd(presentation)),
            Resource::MultivariantPlaylist => Some(multivariant_playlist(presentation)),
            Resource::MediaPlaylist(kind, name) => presentation.rendition(*kind, name).map(media_playlist),
            Resource::IFramePlaylist(name) => {
                let video = presentation.rendition(TrackKind::Video, name);
                let found = video.zip(self.track(TrackKind::Video, name));
                found
                    .map(|(video, (_, track))| i_frame_playlist(video, track))
                    .transpose()?
            }
            Resource::SubtitlePlaylist(name) => {
                let there = presentation.subtitles().iter().any(|text| text.name == *name);
                there.then(|| subtitle_playlist(presentation))
            }
            Resource::OnDemandMpd => Some(self.on_demand_manifest(presentation, key)?),
            Resource::InitSegment(..)
            | Resource::MediaSegment(..)
            | Resource::SyncSample(..)
            | Resource::SingleFile(..)
            | Resource::SubtitleText(..) => None,
        };
        Ok(text.map(Bytes::from))
    }
}

fn manifest_type(resource: &Resource) -> &'static str {
    match resource {
        Resource::Mpd | Resource::OnDemandMpd => MPD_TYPE,
        _ => PLAYLIST_TYPE,
    }
}

/// Bytes that need not be read.
pub fn at_hand(bytes: Bytes) -> Content {
    Content::new(vec![Part::Bytes(bytes)])
}

pub(super) fn mp4_type(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Video => "video/mp4",
        TrackKind::Audio => "audio/mp4",
    }
}
