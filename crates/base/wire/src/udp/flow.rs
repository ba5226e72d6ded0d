//! Data packet of one flow of a stream. It must not know how flows are scheduled (see `spread`) or reordered.
//!
//! Offsets after the start: stream sequence 12, flow sequence 16, flow 20, flags 22, frame 24, frame offset
//! 28, sent 32, tag 40.

use super::{Kind, begin, open, seal};
use crate::big_endian::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::{DecodeError, FlowId, Sequence, SessionId, UdpKey, UnixNanos};

/// Length of the header, in bytes.
pub const FLOW_HEADER_LENGTH: usize = 48;

/// A packet of a stream. The payload follows the header and is not covered by the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowData {
    /// Session.
    pub session: SessionId,
    /// Sequence number in the stream, over all flows.
    pub stream_sequence: Sequence,
    /// Sequence number in this flow.
    pub flow_sequence: Sequence,
    /// Flow that carries it.
    pub flow: FlowId,
    /// Bit 0: [`FlowData::LAST_OF_FRAME`]. Other bits: send 0, ignore on receipt.
    pub flags: u16,
    /// Frame that the payload belongs to (wraps).
    pub frame: u32,
    /// Offset of the payload in its frame, bytes. Authenticated, unlike the payload's length: a receiver checks the end
    /// against the frame's length before it copies.
    pub frame_offset: u32,
    /// Send time, by the sender's clock.
    pub sent: UnixNanos,
}

impl FlowData {
    /// Flag: the last packet of its frame.
    pub const LAST_OF_FRAME: u16 = 1;

    /// Writes the header.
    #[inline]
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; FLOW_HEADER_LENGTH]) {
        begin(out, Kind::FlowData, self.session);
        put_u32(out, 12, self.stream_sequence.0);
        put_u32(out, 16, self.flow_sequence.0);
        put_u16(out, 20, self.flow.0);
        put_u16(out, 22, self.flags);
        put_u32(out, 24, self.frame);
        put_u32(out, 28, self.frame_offset);
        put_u64(out, 32, self.sent.0);
        seal(out, key);
    }

    /// Reads and checks the header of a datagram; the payload starts after
    /// [`FLOW_HEADER_LENGTH`] bytes.
    #[inline]
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        let header: &[u8; FLOW_HEADER_LENGTH] = open(datagram, Kind::FlowData, session, key)?;
        Ok(Self {
            session,
            stream_sequence: Sequence(u32_at(header, 12)),
            flow_sequence: Sequence(u32_at(header, 16)),
            flow: FlowId(u16_at(header, 20)),
            flags: u16_at(header, 22),
            frame: u32_at(header, 24),
            frame_offset: u32_at(header, 28),
            sent: UnixNanos(u64_at(header, 32)),
        })
    }
}
