//! UDP packets of a session: the 12-byte header start and the tag, common to all kinds. It must not know what a
//! packet is used for, nor who sends it when.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | magic 0x5745 ("WE") |
//! | 2 | 1 | version, 2 |
//! | 3 | 1 | [`Kind`] |
//! | 4 | 8 | session |
//! | ... | | fields of the kind |
//! | last 8 | 8 | tag: SipHash-2-4 with the session's [`UdpKey`] of all header bytes before it |
//!
//! The tag covers the header, not the payload after it. A payload of 8 kB would be 200 times as many bytes to hash, for
//! up to a million packets per second. The tag keeps an attacker from making a host count, answer or redirect anything;
//! for that, the header is enough. The payload of media has a seal of its own, in the header.

mod flow;
mod hello;
mod media;
mod mtu;
mod rtt;

use crate::big_endian::{put_u16, put_u64, u16_at, u64_at};
use crate::{DecodeError, SessionId, UdpKey, VERSION};

pub use flow::{FLOW_HEADER_LENGTH, FlowData};
pub use hello::{HELLO_LENGTH, Hello, HelloAck};
pub use media::{
    FEEDBACK_CLEAR_LENGTH, FEEDBACK_HEADER_LENGTH, FRAMING_LENGTH, FeedbackLists, FlowStatus,
    MAX_FEEDBACK_FLOWS, MAX_FEEDBACK_LENGTH, MAX_MISSING_RANGES, MEDIA_HEADER_LENGTH, MediaData,
    MediaFeedback, MediaFraming, MediaRepair, MissingRange, REPAIR_HEADER_LENGTH,
};
pub use mtu::{MTU_HEADER_LENGTH, MtuAck, MtuProbe};
pub use rtt::{RTT_HEADER_LENGTH, RttReply, RttRequest};

/// First two bytes of every UDP packet of Weir: "WE".
pub const MAGIC: u16 = 0x5745;

/// Length of the common header start, in bytes.
pub const START_LENGTH: usize = 12;

/// Length of the tag that ends every header, in bytes.
const TAG_LENGTH: usize = 8;

/// Kinds of UDP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// [`RttRequest`].
    RttRequest = 1,
    /// [`RttReply`].
    RttReply = 2,
    /// [`FlowData`].
    FlowData = 3,
    /// [`Hello`].
    Hello = 4,
    /// [`HelloAck`].
    HelloAck = 5,
    /// [`MtuProbe`].
    MtuProbe = 6,
    /// [`MtuAck`].
    MtuAck = 7,
    /// [`MediaData`].
    MediaData = 8,
    /// [`MediaRepair`].
    MediaRepair = 9,
    /// [`MediaFeedback`].
    MediaFeedback = 10,
}

impl Kind {
    fn from_wire(kind: u8) -> Result<Self, DecodeError> {
        Ok(match kind {
            1 => Self::RttRequest,
            2 => Self::RttReply,
            3 => Self::FlowData,
            4 => Self::Hello,
            5 => Self::HelloAck,
            6 => Self::MtuProbe,
            7 => Self::MtuAck,
            8 => Self::MediaData,
            9 => Self::MediaRepair,
            10 => Self::MediaFeedback,
            other => return Err(DecodeError::Kind(other)),
        })
    }
}

/// Kind and session that a datagram claims, to find the session's key. Neither is authenticated: the decode function of
/// the kind checks the tag.
pub fn peek(datagram: &[u8]) -> Result<(Kind, SessionId), DecodeError> {
    let Some(start) = datagram.first_chunk::<START_LENGTH>() else {
        return Err(DecodeError::Truncated {
            needed: START_LENGTH,
            got: datagram.len(),
        });
    };
    if u16_at(start, 0) != MAGIC {
        return Err(DecodeError::Magic);
    }
    if start[2] != VERSION {
        return Err(DecodeError::Version(start[2]));
    }
    Ok((Kind::from_wire(start[3])?, SessionId(u64_at(start, 4))))
}

/// Writes the common header start.
#[inline]
fn begin<const N: usize>(out: &mut [u8; N], kind: Kind, session: SessionId) {
    put_u16(out, 0, MAGIC);
    out[2] = VERSION;
    out[3] = kind as u8;
    put_u64(out, 4, session.0);
}

/// Writes the tag over all bytes before it.
#[inline]
fn seal<const N: usize>(out: &mut [u8; N], key: &UdpKey) {
    seal_slice(out, key);
}

/// The same for packets of variable length, which are longer than a tag.
#[inline]
fn seal_slice(out: &mut [u8], key: &UdpKey) {
    let covered = out.len() - TAG_LENGTH;
    let tag = key.tag(&out[..covered]);
    put_u64(out, covered, tag);
}

/// The header of a datagram, after a check of its kind, session and tag.
#[inline]
fn open<'a, const N: usize>(
    datagram: &'a [u8],
    kind: Kind,
    session: SessionId,
    key: &UdpKey,
) -> Result<&'a [u8; N], DecodeError> {
    let Some(header) = datagram.first_chunk::<N>() else {
        return Err(DecodeError::Truncated {
            needed: N,
            got: datagram.len(),
        });
    };
    open_slice(header, kind, session, key)?;
    Ok(header)
}

/// Checks a packet of variable length: its kind, its session and the tag at its end.
#[inline]
fn open_slice(header: &[u8], kind: Kind, session: SessionId, key: &UdpKey) -> Result<(), DecodeError> {
    let (found, of) = peek(header)?;
    if found != kind {
        return Err(DecodeError::Kind(found as u8));
    }
    if of != session {
        return Err(DecodeError::Session);
    }
    // Two registers are compared in one step: the time taken does not depend on how many bytes of the tag match.
    let covered = header.len() - TAG_LENGTH;
    if key.tag(&header[..covered]) != u64_at(header, covered) {
        return Err(DecodeError::Tag);
    }
    Ok(())
}
