//! Seals the packets of one direction of a stream, and renews the key in time. It must not know packet layouts.

use crate::epochs::{EpochKeys, Lane, StreamSecrets, next};
use crate::schedule::Secret;
use crate::{HeaderKey, PACKETS_PER_EPOCH, Protection, TAG_LENGTH};

/// Epochs whose header keys are kept, the present one included: packets sealed then are sent again.
const KEPT: usize = 4;

/// A packet that was sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sealed {
    /// The low 8 bits of the key epoch, for the packet's header.
    pub epoch: u8,
    /// The tag of the payload.
    pub tag: [u8; TAG_LENGTH],
}

/// Why a packet was not sealed. Nothing was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The number is not above the last one of its lane: its nonce may have been used.
    #[error("packet number {0} is not above the last one")]
    NumberReused(u64),
}

/// Seals packets.
#[derive(Debug)]
pub struct Sealer {
    protection: Protection,
    /// Of the present epoch.
    secret: Secret,
    keys: EpochKeys,
    /// By epoch modulo their count.
    headers: [HeaderKey; KEPT],
    epoch: u64,
    sealed: u64,
    limit: u64,
    /// One above the last number of each lane.
    ends: [u64; Lane::COUNT],
}

impl Sealer {
    /// Seals what the owner of these secrets sends.
    #[must_use]
    pub fn new(secrets: &StreamSecrets) -> Self {
        let keys = EpochKeys::new(secrets.protection, &secrets.sending);
        Self {
            protection: secrets.protection,
            secret: secrets.sending.clone(),
            headers: [*keys.header(); KEPT],
            keys,
            epoch: 0,
            sealed: 0,
            limit: secrets.packets_per_epoch.clamp(1, PACKETS_PER_EPOCH),
            ends: [0; Lane::COUNT],
        }
    }

    /// Seals `in_out` in place. `aad` is authenticated with it, except with [`Protection::Auth`] and
    /// [`Protection::Off`]. Numbers of a lane must rise.
    ///
    /// # Errors
    /// When the number does not rise: no nonce is used twice, whatever the caller does.
    #[inline]
    pub fn seal(
        &mut self,
        lane: Lane,
        number: u64,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<Sealed, SealError> {
        let end = &mut self.ends[lane as usize];
        let after = number.checked_add(1).filter(|_| number >= *end);
        *end = after.ok_or(SealError::NumberReused(number))?;
        if self.protection != Protection::Off {
            if self.sealed == self.limit {
                self.renew();
            }
            self.sealed += 1;
        }
        let nonce = self.keys.nonce(lane, number);
        Ok(Sealed {
            epoch: self.epoch as u8,
            tag: self.keys.aead().seal(nonce, aad, in_out),
        })
    }

    fn renew(&mut self) {
        self.secret = next(&self.secret);
        self.keys = EpochKeys::new(self.protection, &self.secret);
        self.epoch += 1;
        self.sealed = 0;
        self.headers[(self.epoch % KEPT as u64) as usize] = *self.keys.header();
    }

    /// Key of the headers of packets that were sealed in this epoch; none after three further renewals.
    #[inline]
    #[must_use]
    pub fn header_key(&self, epoch: u8) -> Option<&HeaderKey> {
        let age = u64::from((self.epoch as u8).wrapping_sub(epoch));
        let epoch = self.epoch.checked_sub(age).filter(|_| age < KEPT as u64)?;
        Some(&self.headers[(epoch % KEPT as u64) as usize])
    }

    /// Key of the headers of packets that are sealed now.
    #[must_use]
    pub const fn present_header_key(&self) -> &HeaderKey {
        self.keys.header()
    }

    /// The negotiated protection.
    #[must_use]
    pub const fn protection(&self) -> Protection {
        self.protection
    }

    /// Key renewals so far.
    #[must_use]
    pub const fn renewals(&self) -> u64 {
        self.epoch
    }
}
