//! AEAD with a detached tag, in place: the ciphers of `ring` behind one key type. It must not know where nonces come from.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey,
};

use crate::Protection;

/// Length of a nonce, bytes.
pub const NONCE_LENGTH: usize = 12;
/// Length of a tag, bytes.
pub const TAG_LENGTH: usize = 16;

/// Bytes that no holder of the key has sealed like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not authentic")]
pub struct Unauthentic;

/// Key of one protection.
#[derive(Clone)]
pub struct AeadKey {
    protection: Protection,
    /// None with [`Protection::Off`].
    key: Option<LessSafeKey>,
}

impl AeadKey {
    /// A key; of these bytes the cipher takes the first that it needs, 16 or 32.
    #[must_use]
    pub fn new(protection: Protection, bytes: &[u8; 32]) -> Self {
        let algorithm: Option<&'static Algorithm> = match protection {
            Protection::Off => None,
            // With all bytes as associated data AES-GCM is GMAC (NIST SP 800-38D section 3).
            Protection::Auth | Protection::Aes128Gcm => Some(&AES_128_GCM),
            Protection::Aes256Gcm => Some(&AES_256_GCM),
            Protection::ChaCha20Poly1305 => Some(&CHACHA20_POLY1305),
        };
        let key = algorithm.map(|algorithm| {
            let unbound = UnboundKey::new(algorithm, &bytes[..algorithm.key_len()]);
            // Fails for keys of a wrong length only, and this is the algorithm's own.
            #[allow(clippy::unwrap_used)]
            LessSafeKey::new(unbound.unwrap())
        });
        AeadKey { protection, key }
    }

    /// Seals `in_out` in place, and returns the tag. With [`Protection::Auth`] the bytes stay as they are, and the tag covers
    /// them alone, without `aad`; with [`Protection::Off`] nothing happens, and the tag is zeros.
    ///
    /// # Panics
    /// Above 64 GiB.
    #[inline]
    pub fn seal(&self, nonce: [u8; NONCE_LENGTH], aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LENGTH] {
        let Some(key) = &self.key else {
            return [0; TAG_LENGTH];
        };
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = match self.protection {
            Protection::Auth => key.seal_in_place_separate_tag(nonce, Aad::from(&*in_out), &mut []),
            _ => key.seal_in_place_separate_tag(nonce, Aad::from(aad), in_out),
        };
        // Fails above the cipher's longest input only, RFC 5116 section 5: 2^36 - 31 bytes. Datagrams and frames have at
        // most 2^20.
        #[allow(clippy::unwrap_used)]
        let tag = sealed.unwrap();
        let mut bytes = [0; TAG_LENGTH];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }

    /// Opens `in_out` in place. After an error its content is of no use.
    ///
    /// # Errors
    /// When any of the arguments differs from what was sealed. Never with [`Protection::Off`].
    #[inline]
    pub fn open(
        &self,
        nonce: [u8; NONCE_LENGTH],
        aad: &[u8],
        tag: [u8; TAG_LENGTH],
        in_out: &mut [u8],
    ) -> Result<(), Unauthentic> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        let (nonce, tag) = (Nonce::assume_unique_for_key(nonce), Tag::from(tag));
        let opened = match self.protection {
            Protection::Auth => key.open_in_place_separate_tag(nonce, Aad::from(&*in_out), tag, &mut [], 0..),
            _ => key.open_in_place_separate_tag(nonce, Aad::from(aad), tag, in_out, 0..),
        };
        opened.map(|_| ()).map_err(|_| Unauthentic)
    }
}

impl std::fmt::Debug for AeadKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "AeadKey({}, secret)", self.protection)
    }
}
