//! Samples of tracks that come encrypted, decrypted between storage and whatever is made of them. It must not know where keys
//! come from, nor what is made of the samples.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use weir_media::encryption::{ContentKey, EncryptionError, KeyId, decrypt_samples};
use weir_media::index::{FileIndex, TrackIndex};

use super::made_of::Source;
use crate::content::{Content, NotEncrypted, Part, Remade, Remake, Stored};
use crate::keys::SourceKeys;
use crate::path::ObjectPath;

/// Decrypts consecutive samples of a track.
struct Decrypting {
    path: ObjectPath,
    index: Arc<FileIndex>,
    track_id: u32,
    samples: Range<u32>,
    key: ContentKey,
}

impl std::fmt::Debug for Decrypting {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Decrypting({}, {:?})", self.path, self.samples)
    }
}

impl Remake for Decrypting {
    fn remake(&self, mut payload: Vec<u8>) -> Result<Vec<u8>, NotEncrypted> {
        let mut tracks = self.index.tracks.iter();
        if let Some(track) = tracks.find(|track| track.head().track_id == self.track_id) {
            let done = decrypt_samples(track, self.samples.clone(), &self.key, &mut payload);
            done.map_err(|error| NotEncrypted {
                path: self.path.clone(),
                error,
            })?;
        }
        Ok(payload)
    }
}

/// Headers, then these samples of a track, which lie in these pieces of its file, in the clear.
pub(super) fn clear_content(
    (source, track): (&Source, &TrackIndex),
    samples: Range<u32>,
    header: Bytes,
    pieces: Vec<Range<u64>>,
    keys: &SourceKeys,
) -> Result<Content, NotEncrypted> {
    let Some(protection) = track.protection() else {
        return Ok(content(source, header, pieces));
    };
    let path = source.path.clone();
    let key_id = KeyId(protection.source().key_id);
    let Some(key) = keys.of(key_id) else {
        let error = EncryptionError::SourceKey { key_id };
        return Err(NotEncrypted { path, error });
    };
    let length = pieces.iter().map(|piece| piece.end - piece.start).sum();
    let how = Decrypting {
        path,
        index: source.index.clone(),
        track_id: track.head().track_id,
        samples,
        key: key.clone(),
    };
    Ok(Content::new(vec![
        Part::Bytes(header),
        Part::Remade(Remade {
            payload: content(source, Bytes::new(), pieces),
            how: Arc::new(how),
            within: 0..length,
        }),
    ]))
}

/// Headers, then the payload: in one read, where the samples lie in the file in the order in which they are decoded.
fn content(source: &Source, header: Bytes, pieces: impl IntoIterator<Item = Range<u64>>) -> Content {
    let mut parts = vec![Part::Bytes(header)];
    let mut keep: Vec<Range<u64>> = Vec::new();
    let stored = |keep| {
        Part::Stored(Stored {
            path: source.media.0.clone(),
            version: source.media.1.clone(),
            keep,
        })
    };
    for piece in pieces {
        if keep.last().is_some_and(|last| piece.start < last.end) {
            parts.push(stored(std::mem::take(&mut keep)));
        }
        keep.push(piece);
    }
    if !keep.is_empty() {
        parts.push(stored(keep));
    }
    Content::new(parts)
}
