//! A file of the disk cache: a head with the key and a hash of the body, then the body. It must not know the folder around it.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

/// At the beginning of each file; another number with another form.
const MAGIC: &[u8; 8] = b"WEIRCA01";
/// Magic, length of the key, hash of the body.
pub const HEAD: usize = 8 + 4 + 8;

/// What stands before a body that is kept under that key.
pub fn head(key: &str, body: &[u8]) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD + key.len());
    head.extend(MAGIC);
    head.extend((key.len() as u32).to_le_bytes());
    head.extend(xxh3_64(body).to_le_bytes());
    head.extend(key.as_bytes());
    head
}

/// The body in what a file has, if that is whole and belongs to that key.
pub fn body(all: Vec<u8>, key: &str) -> Option<Bytes> {
    let (head, rest) = all.split_at_checked(HEAD)?;
    let (magic, numbers) = head.split_first_chunk::<8>()?;
    let (length, hash) = numbers.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (said, body) = rest.split_at_checked(length)?;
    let whole = magic == MAGIC && said == key.as_bytes() && hash == xxh3_64(body).to_le_bytes();
    let from = HEAD + length;
    whole.then(|| Bytes::from(all).slice(from..))
}
