//! Tracks as single files, for DASH's on-demand profile: where each segment lies in such a file is found once and kept,
//! and of the segments only those are made that a range is asked of. It must not know how they are sent.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use weir_media::dash::{IndexRange, on_demand_mpd};
use weir_media::index::TrackKind;
use weir_media::package::{SingleFile, media_segment};
use weir_media::presentation::{Presentation, Rendition};

use super::decrypted::clear_content;
use super::error::TitleError;
use super::piece::{Piece, mp4_type};
use super::protected::{Protected, Wanted, encryptor, not_encrypted};
use super::title::Title;
use crate::content::{Content, Made, Maker, Part, Remade};
use crate::keys::{SourceKeys, TitleKey};
use crate::metrics::Kind;
use crate::outside::query::BadQuery;

impl Title {
    /// The MPD whose tracks are single files, encrypted if there is a key.
    pub(super) fn on_demand_manifest(
        &self,
        presentation: &Presentation,
        key: Option<&TitleKey>,
    ) -> Result<String, TitleError> {
        let is_whole = |rendition: &Rendition| {
            let own = self
                .presentation()
                .rendition(rendition.info.kind, &rendition.name);
            own.is_some_and(|own| Arc::ptr_eq(&own.segments, &rendition.segments))
        };
        // A single file has all segments of its track.
        if !presentation.renditions().iter().all(is_whole) {
            return Err(TitleError::from(BadQuery {
                why:
                    "on-demand.mpd has complete tracks; 'start' and 'end' require manifest.mpd or master.m3u8"
                        .to_owned(),
            }));
        }
        let range = |rendition: &Rendition| {
            let file = self.layout(rendition.info.kind, &rendition.name, key)?;
            let (init_length, head_length) =
                file.map_or((0, 0), |file| (file.init_length, file.head.len() as u64));
            Ok(IndexRange {
                init_length,
                head_length,
            })
        };
        let ranges: Result<Vec<_>, TitleError> = presentation.renditions().iter().map(range).collect();
        Ok(on_demand_mpd(presentation, &ranges?))
    }

    /// A track as one file, encrypted if there is a key.
    pub(super) fn single_file(
        self: &Arc<Self>,
        kind: TrackKind,
        name: &str,
        key: Option<&Arc<TitleKey>>,
        sources: &Arc<SourceKeys>,
    ) -> Result<Option<Piece>, TitleError> {
        let Some(file) = self.layout(kind, name, key.map(|key| &**key))? else {
            return Ok(None);
        };
        let head = file.head.clone();
        let segments = Segments {
            title: self.clone(),
            kind,
            name: name.to_owned(),
            key: key.cloned(),
            sources: sources.clone(),
            file,
        };
        let within = segments.file.offsets.first().copied().unwrap_or(0)..segments.file.length();
        let mut parts = vec![Part::Bytes(head.into())];
        if !within.is_empty() {
            parts.push(Part::Made(Made {
                maker: Arc::new(segments),
                within,
            }));
        }
        Ok(Some(Piece {
            kind: Kind::Media,
            content_type: mp4_type(kind),
            content: Content::new(parts),
            remake: None,
        }))
    }

    /// Where everything lies in the single file of a track, found once.
    fn layout(
        &self,
        kind: TrackKind,
        name: &str,
        key: Option<&TitleKey>,
    ) -> Result<Option<Arc<SingleFile>>, TitleError> {
        let place = (key.map(|key| key.tag), kind, name.to_owned());
        let layouts = || self.single_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = layouts().get(&place) {
            return Ok(Some(file.clone()));
        }
        let found = self
            .presentation()
            .rendition(kind, name)
            .zip(self.track(kind, name));
        let Some((rendition, (source, track))) = found else {
            return Ok(None);
        };
        let file = match key {
            None => SingleFile::new(track, &rendition.segments)?,
            Some(key) => encryptor(source, track, key)
                .and_then(|encryptor| encryptor.single_file(&rendition.segments))
                .map_err(|error| not_encrypted(source, error))?,
        };
        let file = Arc::new(file);
        let mut layouts = layouts();
        // A key that was another one is not asked for again.
        layouts.retain(|(tag, ..), _| *tag == place.0);
        layouts.insert(place, file.clone());
        Ok(Some(file))
    }

    /// The segment with this number of a track, of this length, as it is sent; none if it does not exist.
    fn segment_numbered(
        self: &Arc<Self>,
        kind: TrackKind,
        name: &str,
        number: usize,
        (key, sources): (Option<&Arc<TitleKey>>, &SourceKeys),
        length: u64,
    ) -> Option<Content> {
        let rendition = self.presentation().rendition(kind, name)?;
        let samples = rendition.segments.segments.get(number)?.samples.clone();
        // Tracks have fewer samples than that.
        let sequence = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let Some(key) = key else {
            let (source, track) = self.track(kind, name)?;
            let segment = media_segment(track, samples.clone(), sequence).ok()?;
            let header = segment.header.into();
            return clear_content((source, track), samples, header, segment.pieces, sources).ok();
        };
        let wanted = Wanted {
            kind,
            name: name.to_owned(),
            samples,
            sequence,
        };
        Some(
            match self.protected_segment(wanted, (key, sources), true).ok()?? {
                Protected::Streamed(content) => content,
                Protected::Whole(payload, how) => Content::new(vec![Part::Remade(Remade {
                    payload,
                    how,
                    within: 0..length,
                })]),
            },
        )
    }
}

/// The segments of a track behind each other.
#[derive(Debug)]
struct Segments {
    title: Arc<Title>,
    kind: TrackKind,
    name: String,
    key: Option<Arc<TitleKey>>,
    sources: Arc<SourceKeys>,
    file: Arc<SingleFile>,
}

impl Maker for Segments {
    fn make(&self, within: &Range<u64>) -> Content {
        let offsets = &self.file.offsets;
        let number = offsets
            .partition_point(|offset| *offset <= within.start)
            .saturating_sub(1);
        let (Some(start), Some(end)) = (offsets.get(number), offsets.get(number + 1)) else {
            return Content::default();
        };
        // There are as many segments as when the file was laid out, and they were made of then.
        let keys = (self.key.as_ref(), &*self.sources);
        let segment = self
            .title
            .segment_numbered(self.kind, &self.name, number, keys, end - start);
        let wanted = within.start - start..within.end.min(*end) - start;
        segment.unwrap_or_default().slice(&wanted)
    }
}
