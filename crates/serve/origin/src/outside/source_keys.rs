//! Keys of media that come encrypted, by the identifiers that the media name. It must not know where they come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use weir_media::encryption::{ContentKey, KeyId, hex_16};

/// A key in a key file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSource {
    /// 16 bytes in hexadecimal digits.
    key_id: String,
    /// The same.
    key: String,
}

/// Keys by their identifiers.
#[derive(Clone, Default)]
pub struct SourceKeys(BTreeMap<[u8; 16], ContentKey>);

impl fmt::Debug for SourceKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.0.keys().map(|id| KeyId(*id).to_string());
        out.debug_list().entries(ids).finish()
    }
}

impl SourceKeys {
    /// Those of a key file; else what is wrong, in one line.
    pub fn read(written: Vec<WrittenSource>) -> Result<Self, String> {
        let mut keys = SourceKeys::default();
        for (number, source) in written.into_iter().enumerate() {
            let read = |field: &str, text: &str| {
                hex_16(text).map_err(|error| format!("source {}: '{field}': {error}", number + 1))
            };
            let key_id = KeyId(read("key_id", &source.key_id)?);
            let key = ContentKey::new(read("key", &source.key)?);
            if keys.of(key_id).is_some() {
                return Err(format!("source {}: the key {key_id} is there twice", number + 1));
            }
            keys.insert(key_id, key);
        }
        Ok(keys)
    }

    /// The key of this identifier.
    pub fn of(&self, key_id: KeyId) -> Option<&ContentKey> {
        self.0.get(&key_id.0)
    }

    /// Adds a key, in place of one with this identifier.
    pub fn insert(&mut self, key_id: KeyId, key: ContentKey) {
        self.0.insert(key_id.0, key);
    }

    /// Differs between sets of keys; nothing of a key can be found from it. None: there are none.
    pub fn tag(&self) -> Option<u64> {
        if self.0.is_empty() {
            return None;
        }
        let mut hash = Sha256::new();
        for (key_id, key) in &self.0 {
            hash.update(key_id);
            hash.update(key.bytes());
        }
        let hash: [u8; 32] = hash.finalize().into();
        hash.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
    }
}
