//! Opens the packets of one direction of a stream: those of the present key epoch, of the former ones that may still be in
//! transit, and of the next ones. It must not know packet layouts.

use crate::epochs::{EpochKeys, Lane, StreamSecrets, next};
use crate::schedule::Secret;
use crate::{HeaderKey, Protection, TAG_LENGTH};

/// Former epochs whose packets still open. At 8 Gbit/s and 8,100 B an epoch takes 68 s, at most 10 s of which a packet may
/// be late.
const FORMER: u64 = 3;
/// Later epochs whose packets open: a path that is dark for whole epochs does not end the stream.
const LATER: u64 = 4;
const SLOTS: usize = (FORMER + 1 + LATER) as usize;

/// Why a packet does not open. Nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its key epoch is over, or far ahead.
    #[error("key epoch {0} is unknown")]
    Epoch(u8),
    /// It was not sealed by the other end, or was changed.
    #[error("not authentic")]
    Unauthentic,
}

/// Opens packets. It knows no replays: see [`ReplayWindow`](crate::ReplayWindow).
#[derive(Debug)]
pub struct Opener {
    protection: Protection,
    /// Of the latest epoch in `slots`.
    secret: Secret,
    /// By epoch modulo their count.
    slots: [Option<EpochKeys>; SLOTS],
    /// The highest epoch of which a packet has opened.
    epoch: u64,
}

impl Opener {
    /// Opens what the other end sends to the owner of these secrets.
    #[must_use]
    pub fn new(secrets: &StreamSecrets) -> Self {
        let mut opener = Self {
            protection: secrets.protection,
            secret: secrets.receiving.clone(),
            slots: [const { None }; SLOTS],
            epoch: 0,
        };
        opener.slots[0] = Some(EpochKeys::new(opener.protection, &opener.secret));
        for epoch in 1..=LATER {
            opener.add(epoch);
        }
        opener
    }

    fn add(&mut self, epoch: u64) {
        self.secret = next(&self.secret);
        self.slots[(epoch % SLOTS as u64) as usize] = Some(EpochKeys::new(self.protection, &self.secret));
    }

    /// The epoch, of those whose keys are here, with these low 8 bits.
    #[inline]
    fn find(&self, epoch: u8) -> Option<(u64, &EpochKeys)> {
        let distance = i64::from(epoch.wrapping_sub(self.epoch as u8) as i8);
        let known = -(FORMER as i64)..=LATER as i64;
        let usable = known.contains(&distance) && (self.protection != Protection::Off || epoch == 0);
        let epoch = self.epoch.checked_add_signed(distance).filter(|_| usable)?;
        let keys = self.slots[(epoch % SLOTS as u64) as usize].as_ref()?;
        Some((epoch, keys))
    }

    /// Key of the headers of packets of this epoch; none if its packets do not open.
    #[inline]
    #[must_use]
    pub fn header_key(&self, epoch: u8) -> Option<&HeaderKey> {
        self.find(epoch).map(|(_, keys)| keys.header())
    }

    /// Opens `in_out` in place, if lane, number, `aad` and tag are those with which it was sealed. After an error its
    /// content is of no use. With [`Protection::Off`] nothing is checked but the epoch: the header's tag must have been.
    ///
    /// # Errors
    /// When it does not open.
    #[inline]
    pub fn open(
        &mut self,
        epoch: u8,
        (lane, number): (Lane, u64),
        aad: &[u8],
        tag: [u8; TAG_LENGTH],
        in_out: &mut [u8],
    ) -> Result<(), OpenError> {
        let (epoch, keys) = self.find(epoch).ok_or(OpenError::Epoch(epoch))?;
        let nonce = keys.nonce(lane, number);
        keys.aead()
            .open(nonce, aad, tag, in_out)
            .map_err(|_| OpenError::Unauthentic)?;
        while self.epoch < epoch {
            self.epoch += 1;
            self.add(self.epoch + LATER);
        }
        Ok(())
    }

    /// The negotiated protection.
    #[must_use]
    pub const fn protection(&self) -> Protection {
        self.protection
    }

    /// Key renewals of the other end so far.
    #[must_use]
    pub const fn renewals(&self) -> u64 {
        self.epoch
    }
}
