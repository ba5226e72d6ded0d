//! Probe of the path MTU and its acknowledgement. It must not know how sizes are searched.
//!
//! The sender pads a probe after its header up to the probed size; an acknowledgement is the header alone.
//! Offsets after the start: probe 12, size 16, reserved 20, sent 24, tag 32.

use super::{Kind, begin, open, seal};
use crate::big_endian::{put_u32, put_u64, u32_at, u64_at};
use crate::{DecodeError, SessionId, UdpKey, UnixNanos};

/// Length of the header of either packet, in bytes.
pub const MTU_HEADER_LENGTH: usize = 40;

/// A packet of the probed size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MtuProbe {
    /// Session.
    pub session: SessionId,
    /// Number of the probe in its search.
    pub probe: u32,
    /// Probed size, bytes, as the prober counts it; the other side copies it.
    pub size: u32,
    /// Send time, by the sender's clock.
    pub sent: UnixNanos,
}

/// A probe of this size arrived: with its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MtuAck(pub MtuProbe);

impl MtuProbe {
    /// Writes the header; the caller pads.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; MTU_HEADER_LENGTH]) {
        write(Kind::MtuProbe, *self, key, out);
    }

    /// Reads and checks the header of a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        read(Kind::MtuProbe, key, session, datagram)
    }
}

impl MtuAck {
    /// Writes the packet.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; MTU_HEADER_LENGTH]) {
        write(Kind::MtuAck, self.0, key, out);
    }

    /// Reads and checks a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        read(Kind::MtuAck, key, session, datagram).map(MtuAck)
    }
}

fn write(kind: Kind, fields: MtuProbe, key: &UdpKey, out: &mut [u8; MTU_HEADER_LENGTH]) {
    begin(out, kind, fields.session);
    put_u32(out, 12, fields.probe);
    put_u32(out, 16, fields.size);
    put_u32(out, 20, 0);
    put_u64(out, 24, fields.sent.0);
    seal(out, key);
}

fn read(kind: Kind, key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<MtuProbe, DecodeError> {
    let header: &[u8; MTU_HEADER_LENGTH] = open(datagram, kind, session, key)?;
    let reserved = u32_at(header, 20);
    if reserved != 0 {
        return Err(DecodeError::Field {
            field: "reserved",
            value: u64::from(reserved),
        });
    }
    Ok(MtuProbe {
        session,
        probe: u32_at(header, 12),
        size: u32_at(header, 16),
        sent: UnixNanos(u64_at(header, 24)),
    })
}
