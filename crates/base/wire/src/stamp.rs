//! STAMP test packets, RFC 8762, with the session identifier and TLV framing of RFC 8972: what lets Weir
//! measure against other vendors' reflectors and answer their senders. It must not know sockets or clocks.
//!
//! | | unauthenticated | authenticated |
//! |---|---|---|
//! | base packet | 44 bytes | 112 bytes, the last 16 HMAC-SHA-256 (first 16 bytes) of the 96 before |
//! | sender | RFC 8762 section 4.2.1 | section 4.2.2 |
//! | reflector | section 4.3.1 | section 4.3.2 |
//!
//! RFC 8972 section 3 puts the session identifier (SSID) in the 2 bytes after the Error Estimate, and section
//! 4 lets TLVs follow the base packet.

mod packet;
mod reflect;
mod time;
mod tlv;

use hmac::Mac;

use crate::key::{HmacSha256, keyed, mac_of};

pub use packet::{ReflectorPacket, SenderPacket};
pub use reflect::reflect;
pub use time::{ErrorEstimate, NtpTimestamp};
pub use tlv::{
    TLV_EXTRA_PADDING, TLV_HEADER_LENGTH, TLV_HMAC, TLV_INTEGRITY, TLV_MALFORMED, TLV_UNRECOGNIZED, Tlv,
    TlvIntegrity, Tlvs, append_hmac, append_tlv, check_tlvs,
};

/// Length of an unauthenticated base packet, in bytes (RFC 8762 section 4.2.1).
pub const UNAUTHENTICATED_LENGTH: usize = 44;

/// Length of an authenticated base packet, in bytes (RFC 8762 section 4.2.2).
pub const AUTHENTICATED_LENGTH: usize = 112;

/// Length of a truncated HMAC, in bytes (RFC 8762 section 4.4).
pub const HMAC_LENGTH: usize = 16;

/// Bytes of an authenticated base packet that its HMAC covers.
const COVERED: usize = AUTHENTICATED_LENGTH - HMAC_LENGTH;

/// Why a STAMP packet could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// The packet is shorter than the base packet of its mode.
    #[error("STAMP packet of {got} bytes is too short: the base packet has {needed}")]
    Truncated {
        /// Bytes that the base packet has.
        needed: usize,
        /// Bytes that arrived.
        got: usize,
    },
    /// The buffer for a packet is too small.
    #[error("a STAMP packet of {needed} bytes does not fit into a buffer of {got} bytes")]
    Room {
        /// Length of the packet, bytes.
        needed: usize,
        /// Length of the buffer, bytes.
        got: usize,
    },
    /// The packet's HMAC is wrong: drop it (RFC 8762 section 4.4).
    #[error("wrong HMAC in a STAMP packet")]
    Hmac,
    /// A packet cannot be padded to this length: a TLV takes at least 4 bytes and at most 65 539.
    #[error("a STAMP packet cannot be padded by {0} bytes")]
    Padding(usize),
}

/// Mode of a STAMP session; both ends have the same configuration (RFC 8762 section 4).
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    /// Nothing is protected.
    Unauthenticated,
    /// Base packets carry an HMAC made with this key.
    Authenticated(&'a StampKey),
}

impl Mode<'_> {
    /// Length of the base packet, bytes.
    #[must_use]
    pub const fn base_length(self) -> usize {
        match self {
            Self::Unauthenticated => UNAUTHENTICATED_LENGTH,
            Self::Authenticated(_) => AUTHENTICATED_LENGTH,
        }
    }

    /// Checks length and HMAC of a packet; returns its base packet and the bytes after it.
    fn split(self, packet: &[u8]) -> Result<(&[u8], &[u8]), StampError> {
        let needed = self.base_length();
        let Some((base, rest)) = packet.split_at_checked(needed) else {
            return Err(StampError::Truncated {
                needed,
                got: packet.len(),
            });
        };
        if let Self::Authenticated(key) = self {
            key.mac(&[&base[..COVERED]])
                .verify_truncated_left(&base[COVERED..])
                .map_err(|_| StampError::Hmac)?;
        }
        Ok((base, rest))
    }

    /// Room for the base packet, zeroed.
    fn base(self, out: &mut [u8]) -> Result<&mut [u8], StampError> {
        let (needed, got) = (self.base_length(), out.len());
        let base = out.get_mut(..needed).ok_or(StampError::Room { needed, got })?;
        base.fill(0);
        Ok(base)
    }

    /// Writes the HMAC of a base packet that is otherwise complete.
    fn seal(self, base: &mut [u8]) {
        if let Self::Authenticated(key) = self {
            let mac = key.truncated(&[&base[..COVERED]]);
            base[COVERED..].copy_from_slice(&mac);
        }
    }
}

/// Key of a STAMP session in authenticated mode, of any length.
#[derive(Clone, Debug)]
pub struct StampKey {
    keyed: HmacSha256,
}

impl StampKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self { keyed: keyed(key) }
    }

    fn mac(&self, parts: &[&[u8]]) -> HmacSha256 {
        mac_of(&self.keyed, parts)
    }

    fn truncated(&self, parts: &[&[u8]]) -> [u8; HMAC_LENGTH] {
        let mut first = [0; HMAC_LENGTH];
        first.copy_from_slice(&self.mac(parts).finalize().into_bytes()[..HMAC_LENGTH]);
        first
    }
}
