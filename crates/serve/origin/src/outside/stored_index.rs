//! The content of an index that is stored beside its file: the index of one version of it. It must not know how it is read
//! or written.
//!
//! Bytes: `weirside`, then the version of the media file as its storage says it (a length of 32 bits with the lowest
//! byte first, and text), then what [`FileIndex::to_bytes`] gives.

use weir_media::index::FileIndex;

use super::version::Meta;

const MAGIC: &[u8; 8] = b"weirside";

/// The index of this version of a file, as it is stored.
pub fn to_bytes(index: &FileIndex, version: &Meta) -> Vec<u8> {
    let version = version.version();
    let mut bytes = MAGIC.to_vec();
    // ETags are short.
    bytes.extend(u32::try_from(version.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(version.as_bytes());
    bytes.extend(index.to_bytes());
    bytes
}

/// The index, if it is of this version of a file; else why not.
pub fn from_bytes(bytes: &[u8], version: &Meta) -> Result<FileIndex, String> {
    let own = version.version();
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a stored index")?;
    let (length, rest) = rest.split_first_chunk().ok_or("it is truncated")?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (found, rest) = rest.split_at_checked(length).ok_or("it is truncated")?;
    if found != own.as_bytes() {
        return Err("it belongs to another version of the file".to_owned());
    }
    let index = FileIndex::from_bytes(rest).map_err(|error| error.to_string())?;
    if index.file_length != version.length {
        return Err("it belongs to a file of another length".to_owned());
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_of_one_version_only() {
        let meta = |etag: &str, length| Meta {
            length,
            etag: Some(etag.to_owned()),
            modified: None,
        };
        let index = FileIndex {
            file_length: 10,
            media: None,
            tracks: Vec::new(),
            passed_over: Vec::new(),
        };
        let bytes = to_bytes(&index, &meta("\"a\"", 10));
        assert_eq!(from_bytes(&bytes, &meta("\"a\"", 10)), Ok(index.clone()));
        let refused = |bytes: &[u8], meta| from_bytes(bytes, &meta).expect_err("refused");
        assert!(refused(&bytes, meta("\"b\"", 10)).contains("another version"));
        assert!(refused(&bytes, meta("\"a\"", 11)).contains("another version"));
        for end in 0..bytes.len() {
            assert!(from_bytes(&bytes[..end], &meta("\"a\"", 10)).is_err(), "{end}");
        }
        let mut damaged = bytes.clone();
        *damaged.last_mut().expect("a byte") ^= 1;
        assert!(refused(&damaged, meta("\"a\"", 10)).contains("checksum"));
        let mut long = bytes[..8].to_vec();
        long.extend([0xff; 40]);
        assert!(refused(&long, meta("\"a\"", 10)).contains("truncated"));
    }
}
