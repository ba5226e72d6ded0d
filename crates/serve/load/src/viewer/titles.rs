//! Manifests that were read before: the same text from the same address means the same, and thousands of viewers share
//! what it means. Each viewer still fetches it.

use std::collections::HashMap;
use std::sync::Arc;

use url::Url;

use crate::manifest::{self, ManifestError, Presentation, Segments, UrlRange, hls};

/// Most texts that are kept.
const MOST_TEXTS: usize = 4096;
/// Most bytes of them.
const MOST_BYTES: usize = 256 << 20;

#[derive(Clone)]
enum Meaning {
    Presentation(Arc<Presentation>),
    Segments(Arc<Segments>),
}

/// What texts mean, by address.
#[derive(Default)]
pub(super) struct Titles {
    known: HashMap<String, (Vec<u8>, Meaning)>,
    bytes: usize,
}

impl Titles {
    /// What a manifest says.
    pub fn presentation(&mut self, url: &str, bytes: &[u8]) -> Result<Arc<Presentation>, ManifestError> {
        let read = || {
            Ok(Meaning::Presentation(Arc::new(manifest::read(
                bytes,
                &parsed(url)?,
            )?)))
        };
        match self.meaning(url, bytes, read)? {
            Meaning::Presentation(presentation) => Ok(presentation),
            // The address of a playlist is also that of a title.
            Meaning::Segments(_) => Ok(Arc::new(manifest::read(bytes, &parsed(url)?)?)),
        }
    }

    /// What a media playlist says.
    pub fn playlist(&mut self, url: &str, bytes: &[u8]) -> Result<Arc<Segments>, ManifestError> {
        let read = || {
            let playlist = hls::media_playlist(bytes, &parsed(url)?)?;
            Ok(Meaning::Segments(Arc::new(playlist.segments)))
        };
        match self.meaning(url, bytes, read)? {
            Meaning::Segments(segments) => Ok(segments),
            Meaning::Presentation(_) => {
                let playlist = hls::media_playlist(bytes, &parsed(url)?)?;
                Ok(Arc::new(playlist.segments))
            }
        }
    }

    /// What the index of a file says.
    pub fn index(
        &mut self,
        url: &str,
        bytes: &[u8],
        index: &UrlRange,
        init: Option<&UrlRange>,
    ) -> Result<Arc<Segments>, ManifestError> {
        let read = || {
            let segments = manifest::subsegments(bytes, index, init)?;
            Ok(Meaning::Segments(Arc::new(segments)))
        };
        match self.meaning(url, bytes, read)? {
            Meaning::Segments(segments) => Ok(segments),
            Meaning::Presentation(_) => Err(ManifestError::Unknown),
        }
    }

    fn meaning(
        &mut self,
        url: &str,
        bytes: &[u8],
        read: impl FnOnce() -> Result<Meaning, ManifestError>,
    ) -> Result<Meaning, ManifestError> {
        if let Some((text, meaning)) = self.known.get(url)
            && text == bytes
        {
            return Ok(meaning.clone());
        }
        let meaning = read()?;
        if self.known.len() >= MOST_TEXTS || self.bytes.saturating_add(bytes.len()) > MOST_BYTES {
            self.known.clear();
            self.bytes = 0;
        }
        let entry = (bytes.to_vec(), meaning.clone());
        self.bytes += bytes.len();
        if let Some((before, _)) = self.known.insert(url.to_owned(), entry) {
            self.bytes -= before.len();
        }
        Ok(meaning)
    }
}

fn parsed(url: &str) -> Result<Url, ManifestError> {
    Url::parse(url).map_err(|_| ManifestError::Address(url.chars().take(80).collect()))
}
