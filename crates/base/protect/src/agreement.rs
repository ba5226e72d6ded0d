//! X25519 (RFC 7748): each side makes a key for one connection, sends its public half, and both get the same secret, which
//! nobody on the path can compute. It must not know who the other side is: the [schedule](crate::HandshakeSecrets) adds
//! what both already share.

use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Length of a private key, a public key and a shared secret, bytes.
pub const KEY_LENGTH: usize = 32;

/// The other side's public key is one of the few that make the secret known to everybody (RFC 7748 section 6.1, RFC 8446
/// section 7.4.2): no honest peer sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the public key of the other side is not valid")]
pub struct AgreementError;

/// The private key of one side for one connection. Overwritten in memory when it is dropped.
#[derive(Clone)]
pub struct EphemeralKey(StaticSecret);

impl EphemeralKey {
    /// A key of these bytes, which must be random and new for every connection.
    #[must_use]
    pub fn new(random: [u8; KEY_LENGTH]) -> Self {
        Self(StaticSecret::from(random))
    }

    /// The public key, to send to the other side.
    #[must_use]
    pub fn public(&self) -> [u8; KEY_LENGTH] {
        PublicKey::from(&self.0).to_bytes()
    }

    /// The secret shared with the side that has sent `public`.
    ///
    /// # Errors
    /// When the result does not depend on this key.
    pub fn agree(&self, public: [u8; KEY_LENGTH]) -> Result<SharedSecret, AgreementError> {
        let shared = self.0.diffie_hellman(&PublicKey::from(public));
        if shared.was_contributory() {
            Ok(SharedSecret(shared.to_bytes()))
        } else {
            Err(AgreementError)
        }
    }
}

impl std::fmt::Debug for EphemeralKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("EphemeralKey(secret)")
    }
}

/// What both sides have after an agreement: not a key yet, since its bits are not uniform.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret([u8; KEY_LENGTH]);

impl SharedSecret {
    /// Its bytes, as input of a key schedule.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }
}

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SharedSecret(secret)")
    }
}
