//! Stored indexes: no bytes may panic the reader, even with a right checksum, and an accepted index is written back and
//! read as the same.
//!
//! Input: the bytes after the checksum.

use crate::checks::in_a_line;
use weir_media::index::{FileIndex, INDEX_VERSION};
use xxhash_rust::xxh3::xxh3_64;

pub fn run(body: &[u8]) {
    let mut bytes = b"weirindx".to_vec();
    bytes.extend(INDEX_VERSION.to_le_bytes());
    bytes.extend(xxh3_64(body).to_le_bytes());
    bytes.extend(body);
    match FileIndex::from_bytes(&bytes) {
        Ok(index) => {
            for track in &index.tracks {
                assert_eq!(track.samples().iter().count(), track.samples().len() as usize);
                let end = if index.media.is_some() {
                    u64::MAX
                } else {
                    index.file_length
                };
                assert!(track.samples().iter().all(|sample| sample.end() <= end));
            }
            assert_eq!(FileIndex::from_bytes(&index.to_bytes()), Ok(index));
        }
        Err(error) => in_a_line(error, 600),
    }
}
