//! The key that media is encrypted with.

use std::fmt;

/// A key of AES-128. It is printed nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ContentKey([u8; 16]);

impl ContentKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        ContentKey(bytes)
    }

    /// What nobody but ciphers and licences should see.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ContentKey(..)")
    }
}
