//! Manifests that were read before: the same text from the same address means the same, and thousands of viewers share
//! what it means. Each viewer still fetches it.

use std::collections::HashMap;
use std::sync::Arc;

use url::Url;
use weir_player::Manifest;

use crate::manifest::{self, ManifestError, Presentation, Segments, UrlRange, hls};

/// Most texts of one kind that are kept.
const MOST_TEXTS: usize = 4096;
/// Most bytes of them.
const MOST_BYTES: usize = 128 << 20;
/// Most presentations of players that are kept.
const MOST_MANIFESTS: usize = 256;

/// What texts mean, by address.
struct Known<T> {
    texts: HashMap<String, (Vec<u8>, Arc<T>)>,
    bytes: usize,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known {
            texts: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T> Known<T> {
    fn meaning(
        &mut self,
        url: &str,
        bytes: &[u8],
        read: impl FnOnce() -> Result<T, ManifestError>,
    ) -> Result<Arc<T>, ManifestError> {
        if let Some((text, meaning)) = self.texts.get(url)
            && text == bytes
        {
            return Ok(meaning.clone());
        }
        let meaning = Arc::new(read()?);
        if self.texts.len() >= MOST_TEXTS || self.bytes.saturating_add(bytes.len()) > MOST_BYTES {
            self.texts.clear();
            self.bytes = 0;
        }
        let entry = (bytes.to_vec(), meaning.clone());
        self.bytes += bytes.len();
        if let Some((before, _)) = self.texts.insert(url.to_owned(), entry) {
            self.bytes -= before.len();
        }
        Ok(meaning)
    }
}

/// Titles, and the segments of their tracks. The address of a playlist may be that of a title, too.
#[derive(Default)]
pub(super) struct Titles {
    presentations: Known<Presentation>,
    segments: Known<Segments>,
}

impl Titles {
    /// What a manifest says.
    pub fn presentation(&mut self, url: &str, bytes: &[u8]) -> Result<Arc<Presentation>, ManifestError> {
        let read = || manifest::read(bytes, &parsed(url)?);
        self.presentations.meaning(url, bytes, read)
    }

    /// What a media playlist says.
    pub fn playlist(&mut self, url: &str, bytes: &[u8]) -> Result<Arc<Segments>, ManifestError> {
        let read = || Ok(hls::media_playlist(bytes, &parsed(url)?)?.segments);
        self.segments.meaning(url, bytes, read)
    }

    /// What the index of a file says.
    pub fn index(
        &mut self,
        url: &str,
        bytes: &[u8],
        index: &UrlRange,
        init: Option<&UrlRange>,
    ) -> Result<Arc<Segments>, ManifestError> {
        let read = || manifest::subsegments(bytes, index, init);
        self.segments.meaning(url, bytes, read)
    }
}

fn parsed(url: &str) -> Result<Url, ManifestError> {
    Url::parse(url).map_err(|_| ManifestError::Address(url.chars().take(80).collect()))
}

/// Presentations as players see them, shared by all viewers of the same segments.
#[derive(Default)]
pub(super) struct PlayerManifests(Vec<(Vec<Arc<Segments>>, Arc<Manifest>)>);

impl PlayerManifests {
    /// The presentation of these segments, if it is kept.
    pub fn of(&self, segments: &[Arc<Segments>]) -> Option<Arc<Manifest>> {
        let same = |known: &[Arc<Segments>]| {
            known.len() == segments.len() && known.iter().zip(segments).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let found = self.0.iter().find(|(known, _)| same(known));
        found.map(|(_, manifest)| manifest.clone())
    }

    /// Keeps it.
    pub fn keep(&mut self, segments: Vec<Arc<Segments>>, manifest: Manifest) -> Arc<Manifest> {
        let manifest = Arc::new(manifest);
        if self.0.len() >= MOST_MANIFESTS {
            self.0.clear();
        }
        self.0.push((segments, manifest.clone()));
        manifest
    }
}
