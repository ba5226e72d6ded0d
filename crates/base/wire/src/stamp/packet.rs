//! Base packets of STAMP, in both modes. It must not know TLVs, beyond padding a sender's packet with one.
//!
//! | field | unauthenticated | authenticated |
//! |---|---|---|
//! | sequence number, 4 | 0 | 0 |
//! | timestamp, 8 | 4 | 16 |
//! | error estimate, 2 | 12 | 24 |
//! | SSID, 2 (RFC 8972) | 14 | 26 |
//! | reflector only: receive timestamp, 8 | 16 | 32 |
//! | sender's sequence number, 4 | 24 | 48 |
//! | sender's timestamp, 8 | 28 | 64 |
//! | sender's error estimate, 2 | 36 | 72 |
//! | sender's TTL, 1 | 40 | 80 |
//! | both: HMAC, 16 | none | 96 |
//!
//! Everything else must be zero when sent and is ignored when received.

use super::tlv::{TLV_EXTRA_PADDING, TLV_HEADER_LENGTH, Tlvs, append_tlv_header};
use super::{ErrorEstimate, Mode, NtpTimestamp, StampError};
use crate::big_endian::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};

/// Offsets of the fields of a base packet.
pub(super) struct Layout {
    timestamp: usize,
    error: usize,
    ssid: usize,
    receive: usize,
    sender_sequence: usize,
    sender_timestamp: usize,
    sender_error: usize,
    sender_ttl: usize,
}

const UNAUTHENTICATED: Layout = Layout {
    timestamp: 4,
    error: 12,
    ssid: 14,
    receive: 16,
    sender_sequence: 24,
    sender_timestamp: 28,
    sender_error: 36,
    sender_ttl: 40,
};

const AUTHENTICATED: Layout = Layout {
    timestamp: 16,
    error: 24,
    ssid: 26,
    receive: 32,
    sender_sequence: 48,
    sender_timestamp: 64,
    sender_error: 72,
    sender_ttl: 80,
};

impl Mode<'_> {
    const fn layout(self) -> &'static Layout {
        match self {
            Self::Unauthenticated => &UNAUTHENTICATED,
            Self::Authenticated(_) => &AUTHENTICATED,
        }
    }
}

/// Packet of a Session-Sender (RFC 8762 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderPacket {
    /// Sequence number, from 0, wraps.
    pub sequence: u32,
    /// Send time.
    pub timestamp: NtpTimestamp,
    /// Quality of the sender's clock.
    pub error: ErrorEstimate,
    /// Session identifier; 0 = none (RFC 8972 section 3).
    pub ssid: u16,
}

/// Packet of a Session-Reflector (RFC 8762 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReflectorPacket {
    /// Sequence number: the sender's (stateless reflector) or the reflector's own count.
    pub sequence: u32,
    /// Time at which the reflector sent it.
    pub timestamp: NtpTimestamp,
    /// Quality of the reflector's clock.
    pub error: ErrorEstimate,
    /// As in the sender's packet.
    pub ssid: u16,
    /// Arrival time of the sender's packet.
    pub receive: NtpTimestamp,
    /// As in the sender's packet.
    pub sender_sequence: u32,
    /// As in the sender's packet.
    pub sender_timestamp: NtpTimestamp,
    /// As in the sender's packet.
    pub sender_error: ErrorEstimate,
    /// TTL or hop limit of the sender's packet on arrival; senders send 255.
    pub sender_ttl: u8,
}

impl SenderPacket {
    /// Writes a base packet; returns its length. TLVs may be [appended](super::append_tlv).
    pub fn encode(&self, mode: Mode<'_>, out: &mut [u8]) -> Result<usize, StampError> {
        let base = mode.base(out)?;
        let at = mode.layout();
        put_u32(base, 0, self.sequence);
        put_u64(base, at.timestamp, self.timestamp.0);
        put_u16(base, at.error, self.error.to_bits());
        put_u16(base, at.ssid, self.ssid);
        mode.seal(base);
        Ok(base.len())
    }

    /// Writes a packet that fills `out`: a base packet, and an Extra Padding TLV of zeros in the remaining space.
    pub fn encode_padded(&self, mode: Mode<'_>, out: &mut [u8]) -> Result<usize, StampError> {
        let length = self.encode(mode, out)?;
        let padding = out.len() - length;
        if padding == 0 {
            return Ok(length);
        }
        if !(TLV_HEADER_LENGTH..=TLV_HEADER_LENGTH + usize::from(u16::MAX)).contains(&padding) {
            return Err(StampError::Padding(padding));
        }
        let value = append_tlv_header(out, length, TLV_EXTRA_PADDING, padding - TLV_HEADER_LENGTH)?;
        value.fill(0);
        Ok(out.len())
    }

    /// Reads a packet, and checks its HMAC in authenticated mode; returns the TLVs after it, which are not
    /// checked: see [`check_tlvs`](super::check_tlvs).
    pub fn decode<'a>(mode: Mode<'_>, packet: &'a [u8]) -> Result<(Self, Tlvs<'a>), StampError> {
        let (base, rest) = mode.split(packet)?;
        Ok((Self::read(mode, base), Tlvs::new(rest)))
    }

    pub(super) fn read(mode: Mode<'_>, base: &[u8]) -> Self {
        let at = mode.layout();
        Self {
            sequence: u32_at(base, 0),
            timestamp: NtpTimestamp(u64_at(base, at.timestamp)),
            error: ErrorEstimate::from_bits(u16_at(base, at.error)),
            ssid: u16_at(base, at.ssid),
        }
    }
}

impl ReflectorPacket {
    /// Writes a base packet; returns its length.
    pub fn encode(&self, mode: Mode<'_>, out: &mut [u8]) -> Result<usize, StampError> {
        let base = mode.base(out)?;
        let at = mode.layout();
        put_u32(base, 0, self.sequence);
        put_u64(base, at.timestamp, self.timestamp.0);
        put_u16(base, at.error, self.error.to_bits());
        put_u16(base, at.ssid, self.ssid);
        put_u64(base, at.receive, self.receive.0);
        put_u32(base, at.sender_sequence, self.sender_sequence);
        put_u64(base, at.sender_timestamp, self.sender_timestamp.0);
        put_u16(base, at.sender_error, self.sender_error.to_bits());
        base[at.sender_ttl] = self.sender_ttl;
        mode.seal(base);
        Ok(base.len())
    }

    /// Reads a packet, and checks its HMAC in authenticated mode; returns the TLVs after it, which are not
    /// checked: see [`check_tlvs`](super::check_tlvs).
    pub fn decode<'a>(mode: Mode<'_>, packet: &'a [u8]) -> Result<(Self, Tlvs<'a>), StampError> {
        let (base, rest) = mode.split(packet)?;
        let at = mode.layout();
        let packet = Self {
            sequence: u32_at(base, 0),
            timestamp: NtpTimestamp(u64_at(base, at.timestamp)),
            error: ErrorEstimate::from_bits(u16_at(base, at.error)),
            ssid: u16_at(base, at.ssid),
            receive: NtpTimestamp(u64_at(base, at.receive)),
            sender_sequence: u32_at(base, at.sender_sequence),
            sender_timestamp: NtpTimestamp(u64_at(base, at.sender_timestamp)),
            sender_error: ErrorEstimate::from_bits(u16_at(base, at.sender_error)),
            sender_ttl: base[at.sender_ttl],
        };
        Ok((packet, Tlvs::new(rest)))
    }
}
