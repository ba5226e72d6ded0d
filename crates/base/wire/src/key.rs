//! Secrets of a session and the two keyed functions that use them. It must not know what is authenticated,
//! nor where a token is kept.

use std::fmt;

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use weir_protect::{Protection, Secret, SessionSecrets, StreamSecrets};

use crate::Role;

/// HMAC-SHA-256 (RFC 2104 with the hash of FIPS 180-4).
pub(crate) type HmacSha256 = Hmac<Sha256>;

/// Block size of SHA-256, to which HMAC pads its key (RFC 2104 section 2), in bytes.
const HMAC_BLOCK: usize = 64;

/// HMAC-SHA-256 with a key of any length. The padding is done here because the library's function for keys of any length
/// returns an error that never happens.
pub(crate) fn keyed(key: &[u8]) -> HmacSha256 {
    let mut block = [0u8; HMAC_BLOCK];
    if key.len() > HMAC_BLOCK {
        let digest = Sha256::digest(key);
        block[..digest.len()].copy_from_slice(&digest);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    <HmacSha256 as KeyInit>::new(&block.into())
}

/// HMAC-SHA-256 of the concatenation of `parts`, with an already keyed function.
pub(crate) fn mac_of(keyed: &HmacSha256, parts: &[&[u8]]) -> HmacSha256 {
    let mut mac = keyed.clone();
    for part in parts {
        mac.update(part);
    }
    mac
}

/// The secret that an operator gives to both hosts. Each side proves to the other that it has it; it never crosses the
/// network.
///
/// An empty token means open mode: anybody may use the agent, and nothing is authenticated. An impostor of the agent can
/// try guesses offline, so a token should be random: see [`weir_protect::secret_of_token`].
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token of these bytes, without trimming.
    #[must_use]
    pub fn new(secret: Vec<u8>) -> Self {
        Self(secret)
    }

    /// Whether this is the empty token of open mode.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_open() {
            "Token(open)"
        } else {
            "Token(secret)"
        })
    }
}

/// Key of the tags in UDP headers.
pub use weir_protect::HeaderKey as UdpKey;

/// The keys that both sides have after a handshake.
#[derive(Clone)]
pub struct SessionKeys {
    /// Key of the tags in UDP headers.
    pub udp: UdpKey,
    /// Secret of the control frames, and of the data connections that join the session.
    pub control: [u8; 32],
    /// Protection of the session's media.
    pub protection: Protection,
    client_media: Secret,
    agent_media: Secret,
}

impl SessionKeys {
    pub(crate) fn new(secrets: &SessionSecrets, protection: Protection) -> Self {
        Self {
            udp: UdpKey::new(secrets.udp),
            control: *secrets.control.as_bytes(),
            protection,
            client_media: secrets.client_media.clone(),
            agent_media: secrets.agent_media.clone(),
        }
    }

    /// The secrets of the session's media, as the end with this role has them.
    #[must_use]
    pub fn stream(&self, role: Role) -> StreamSecrets {
        let (own, others) = match role {
            Role::Client => (&self.client_media, &self.agent_media),
            Role::Agent => (&self.agent_media, &self.client_media),
        };
        StreamSecrets::new(self.protection, own.clone(), others.clone())
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SessionKeys(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
        mac_of(&keyed(key), &[text]).finalize().into_bytes().to_vec()
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    }

    /// RFC 4231 sections 4.2, 4.3, 4.7 and 4.8: short keys, and keys longer than a block.
    #[test]
    fn rfc_4231_vectors() {
        assert_eq!(
            hmac(&[0x0b; 20], b"Hi There"),
            hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        );
        assert_eq!(
            hmac(b"Jefe", b"what do ya want for nothing?"),
            hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        );
        assert_eq!(
            hmac(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        );
        assert_eq!(
            hmac(
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key \
                  needs to be hashed before being used by the HMAC algorithm."
            ),
            hex("9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2")
        );
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(format!("{:?}", Token::new(b"hunter2".to_vec())), "Token(secret)");
        assert_eq!(format!("{:?}", Token::new(Vec::new())), "Token(open)");
        assert_eq!(format!("{:?}", UdpKey::new([7; 16])), "UdpKey(secret)");
    }
}
