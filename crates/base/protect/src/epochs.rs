//! Key epochs of one direction of a stream, as the key updates of RFC 9001 section 6: each epoch's secret gives its keys and
//! the next epoch's secret, so that a renewal needs no message that could be lost. It must not know packets.

use crate::schedule::Secret;
use crate::{AeadKey, HeaderKey, NONCE_LENGTH, Protection};

/// Packets sealed with one key: the limit of AES-GCM in RFC 9001 section B.1 for packets of up to 2^16 bytes, at which an
/// attacker's advantage is 2^-57. At 8 Gbit/s and 8,100 B a key lasts 68 s.
pub const PACKETS_PER_EPOCH: u64 = 1 << 23;

/// Numbers of packets that are counted together. Each lane has nonces of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Lane {
    /// Source packets, by their symbol.
    Source = 0,
    /// Repair packets, by their number.
    Repair = 1,
    /// Feedback, by its number.
    Feedback = 2,
}

impl Lane {
    pub(crate) const COUNT: usize = 3;
}

/// Both directions of a stream, as one of its ends has them: a fresh secret for each session and direction.
#[derive(Clone, Debug)]
pub struct StreamSecrets {
    /// The negotiated protection.
    pub protection: Protection,
    /// For what this end sends.
    pub sending: Secret,
    /// For what the other end sends.
    pub receiving: Secret,
    /// Packets sealed with one key, at most [`PACKETS_PER_EPOCH`]; fewer in tests.
    pub packets_per_epoch: u64,
}

impl StreamSecrets {
    /// Secrets of an end, with the usual length of epochs.
    #[must_use]
    pub const fn new(protection: Protection, sending: Secret, receiving: Secret) -> Self {
        Self {
            protection,
            sending,
            receiving,
            packets_per_epoch: PACKETS_PER_EPOCH,
        }
    }

    /// The secrets as the other end has them.
    #[must_use]
    pub fn of_other_end(&self) -> Self {
        Self {
            sending: self.receiving.clone(),
            receiving: self.sending.clone(),
            ..self.clone()
        }
    }

    /// The secrets of a share of the stream, which has numbers of its own: no two shares may use a nonce with the same key.
    #[must_use]
    pub fn of_share(&self, share: u16) -> Self {
        let derive = |secret: &Secret| secret.derive("share", &share.to_be_bytes());
        Self {
            sending: derive(&self.sending),
            receiving: derive(&self.receiving),
            ..self.clone()
        }
    }
}

/// The keys of one epoch.
#[derive(Clone, Debug)]
pub(crate) struct EpochKeys {
    aead: AeadKey,
    iv: [u8; NONCE_LENGTH],
    header: HeaderKey,
}

impl EpochKeys {
    pub(crate) fn new(protection: Protection, secret: &Secret) -> Self {
        Self {
            aead: AeadKey::new(protection, secret.derive("key", &[]).as_bytes()),
            iv: secret.expand("iv", &[]),
            header: HeaderKey::new(secret.expand("header", &[])),
        }
    }

    pub(crate) const fn header(&self) -> &HeaderKey {
        &self.header
    }

    pub(crate) const fn aead(&self) -> &AeadKey {
        &self.aead
    }

    /// Lane and number, xor the epoch's IV, as in RFC 8446 section 5.3.
    #[inline]
    pub(crate) fn nonce(&self, lane: Lane, number: u64) -> [u8; NONCE_LENGTH] {
        let mut nonce = self.iv;
        nonce[0] ^= lane as u8;
        for (byte, bits) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= bits;
        }
        nonce
    }
}

/// The secret of the next epoch.
pub(crate) fn next(secret: &Secret) -> Secret {
    secret.derive("next epoch", &[])
}
