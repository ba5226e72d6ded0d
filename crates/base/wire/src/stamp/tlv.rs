//! TLVs after a STAMP base packet (RFC 8972 section 4): framing, padding, and the HMAC TLV that protects the
//! others. It must not know base packets, beyond the sequence number that the HMAC covers.
//!
//! A TLV is flags u8, type u8, length u16 of the value, value.

use super::{HMAC_LENGTH, Mode, StampError, StampKey};
use crate::big_endian::{bytes_at, put_u16, u16_at};
use hmac::Mac;

/// Length of a TLV header, in bytes.
pub const TLV_HEADER_LENGTH: usize = 4;

/// Flag U: the reflector does not know this type (set by the sender, cleared by a reflector that does).
pub const TLV_UNRECOGNIZED: u8 = 0x80;

/// Flag M: the reflector found the TLV malformed.
pub const TLV_MALFORMED: u8 = 0x40;

/// Flag I: the reflector found the TLVs' HMAC wrong.
pub const TLV_INTEGRITY: u8 = 0x20;

/// Type of Extra Padding (RFC 8972 section 4.1): any content, ignored.
pub const TLV_EXTRA_PADDING: u8 = 1;

/// Type of the HMAC TLV (RFC 8972 section 4.8).
pub const TLV_HMAC: u8 = 8;

/// One TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// [`TLV_UNRECOGNIZED`], [`TLV_MALFORMED`], [`TLV_INTEGRITY`].
    pub flags: u8,
    /// Type.
    pub kind: u8,
    /// Value; cut at the end of the packet where the TLV announces more.
    pub value: &'a [u8],
    /// The TLV is cut short by the end of the packet. Nothing can follow it.
    pub truncated: bool,
    /// Offset among the TLVs, bytes.
    pub at: usize,
}

/// The TLVs of a packet, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlvs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tlvs<'a> {
    /// Of the bytes after a base packet.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        let at = self.at;
        let rest = &self.bytes[at..];
        let &flags = rest.first()?;
        let Some((header, value)) = rest.split_at_checked(TLV_HEADER_LENGTH) else {
            self.at = self.bytes.len();
            // A header too short for a type counts as type 0, which is reserved.
            return Some(Tlv {
                flags,
                kind: rest.get(1).copied().unwrap_or(0),
                value: &[],
                truncated: true,
                at,
            });
        };
        let length = usize::from(u16_at(header, 2));
        let truncated = length > value.len();
        let value = &value[..length.min(value.len())];
        self.at = at + TLV_HEADER_LENGTH + value.len();
        Some(Tlv {
            flags,
            kind: header[1],
            value,
            truncated,
            at,
        })
    }
}

/// Result of the check of a packet's HMAC TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlvIntegrity {
    /// No HMAC TLV, and none is needed: no key, no TLVs, or only one Extra Padding.
    Unprotected,
    /// Right: the TLVs before it are from the other end.
    Intact,
    /// Wrong, in the wrong place, or missing: do not use the TLVs.
    Broken,
}

/// Checks the TLVs of a packet whose base packet is right (RFC 8972 section 4.8).
pub fn check_tlvs(mode: Mode<'_>, packet: &[u8]) -> Result<TlvIntegrity, StampError> {
    let (base, rest) = mode.split(packet)?;
    let Mode::Authenticated(key) = mode else {
        return Ok(TlvIntegrity::Unprotected);
    };
    Ok(check(key, bytes_at(base, 0), rest).0)
}

/// Integrity of `tlvs`, and where the HMAC TLV starts if it is intact.
fn check(key: &StampKey, sequence: [u8; 4], tlvs: &[u8]) -> (TlvIntegrity, usize) {
    let mut all = Tlvs::new(tlvs);
    let Some(first) = all.next() else {
        return (TlvIntegrity::Unprotected, 0);
    };
    if first.kind == TLV_EXTRA_PADDING && !first.truncated && all.next().is_none() {
        return (TlvIntegrity::Unprotected, 0);
    }
    let mut after = Tlvs::new(tlvs);
    let Some(found) = after.find(|tlv| tlv.kind == TLV_HMAC) else {
        return (TlvIntegrity::Broken, 0);
    };
    // Only Extra Padding may follow, because nothing else may stay unprotected.
    let in_place = !found.truncated && after.all(|tlv| tlv.kind == TLV_EXTRA_PADDING && !tlv.truncated);
    let right = found.value.len() == HMAC_LENGTH
        && key
            .mac(&[&sequence, &tlvs[..found.at]])
            .verify_truncated_left(found.value)
            .is_ok();
    if in_place && right {
        (TlvIntegrity::Intact, found.at)
    } else {
        (TlvIntegrity::Broken, 0)
    }
}

/// Turns a sender's TLVs into the reflector's, in place: sets the flags of RFC 8972 section 4, keeps the values, and
/// computes the HMAC over the result.
pub(super) fn reflect_tlvs(mode: Mode<'_>, sequence: [u8; 4], tlvs: &mut [u8]) {
    let (integrity, hmac_at) = match mode {
        Mode::Unauthenticated => (TlvIntegrity::Unprotected, 0),
        Mode::Authenticated(key) => check(key, sequence, tlvs),
    };
    let broken = if integrity == TlvIntegrity::Broken {
        TLV_INTEGRITY
    } else {
        0
    };
    let mut at = 0;
    while let Some(tlv) = Tlvs::new(&tlvs[at..]).next() {
        let recognized = match tlv.kind {
            TLV_EXTRA_PADDING => true,
            // Without a key the reflector cannot process this type.
            TLV_HMAC => matches!(mode, Mode::Authenticated(_)),
            _ => false,
        };
        let wrong_length = recognized && tlv.kind == TLV_HMAC && tlv.value.len() != HMAC_LENGTH;
        let malformed = if tlv.truncated || wrong_length {
            TLV_MALFORMED
        } else {
            0
        };
        let unrecognized = if recognized { 0 } else { TLV_UNRECOGNIZED };
        let last = tlv.truncated;
        let next = at + TLV_HEADER_LENGTH + tlv.value.len();
        tlvs[at] = unrecognized | malformed | broken;
        if last {
            break;
        }
        at = next;
    }
    if let (TlvIntegrity::Intact, Mode::Authenticated(key)) = (integrity, mode) {
        let mac = key.truncated(&[&sequence, &tlvs[..hmac_at]]);
        let value = hmac_at + TLV_HEADER_LENGTH;
        tlvs[value..value + HMAC_LENGTH].copy_from_slice(&mac);
    }
}

/// Writes a TLV's header at `length` of `packet`, as a sender does; returns the space for its value.
pub(super) fn append_tlv_header(
    packet: &mut [u8],
    length: usize,
    kind: u8,
    value_length: usize,
) -> Result<&mut [u8], StampError> {
    let on_wire = u16::try_from(value_length).map_err(|_| StampError::Padding(value_length))?;
    let (needed, got) = (
        length.saturating_add(TLV_HEADER_LENGTH + value_length),
        packet.len(),
    );
    let tlv = packet
        .get_mut(length..needed)
        .ok_or(StampError::Room { needed, got })?;
    tlv[0] = TLV_UNRECOGNIZED;
    tlv[1] = kind;
    put_u16(tlv, 2, on_wire);
    Ok(&mut tlv[TLV_HEADER_LENGTH..])
}

/// Appends a TLV to the packet of `length` bytes at the start of `packet`; returns the new length.
pub fn append_tlv(packet: &mut [u8], length: usize, kind: u8, value: &[u8]) -> Result<usize, StampError> {
    append_tlv_header(packet, length, kind, value.len())?.copy_from_slice(value);
    Ok(length + TLV_HEADER_LENGTH + value.len())
}

/// Appends the HMAC TLV over the TLVs that the packet of `length` bytes holds; returns the new length. Only
/// Extra Padding may be appended after it.
pub fn append_hmac(
    key: &StampKey,
    mode: Mode<'_>,
    packet: &mut [u8],
    length: usize,
) -> Result<usize, StampError> {
    let needed = mode.base_length();
    let tlvs = packet
        .get(needed..length)
        .ok_or(StampError::Truncated { needed, got: length })?;
    let mac = key.truncated(&[&packet[..4], tlvs]);
    append_tlv(packet, length, TLV_HMAC, &mac)
}
