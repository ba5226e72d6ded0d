//! Packets of a media stream: source packets, repair packets, and feedback from the receiver. It must not know how
//! packets are scheduled, repaired or reassembled.
//!
//! A payload follows the header of a source packet, a repair symbol that of a repair packet; the tag covers neither. FEC
//! protects the [`MediaFraming`] and the payload of a source packet.

use super::{Kind, begin, open, seal, seal_slice};
use crate::big_endian::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::{DecodeError, FlowId, Sequence, SessionId, UdpKey, UnixNanos};

/// Length of the header of a source packet, bytes.
pub const MEDIA_HEADER_LENGTH: usize = 64;
/// Length of the header of a repair packet, bytes.
pub const REPAIR_HEADER_LENGTH: usize = 48;
/// Length of the fixed part of a feedback packet, bytes; flows, ranges and the tag follow.
pub const FEEDBACK_HEADER_LENGTH: usize = 56;
/// Length of the framing within a source packet's header, bytes.
pub const FRAMING_LENGTH: usize = 24;
/// Maximum number of flows in a feedback packet.
pub const MAX_FEEDBACK_FLOWS: usize = 64;
/// Maximum number of ranges of missing packets in a feedback packet.
pub const MAX_MISSING_RANGES: usize = 56;
/// Maximum length of a feedback packet, bytes: below the payload of the smallest MTU of IPv6 (RFC 8200 section 5).
pub const MAX_FEEDBACK_LENGTH: usize =
    FEEDBACK_HEADER_LENGTH + MAX_FEEDBACK_FLOWS * STATUS_LENGTH + MAX_MISSING_RANGES * RANGE_LENGTH + 8;

const STATUS_LENGTH: usize = 12;
const RANGE_LENGTH: usize = 6;
const FRAMING_AT: usize = 32;

/// Frame and offset of a payload: what a receiver needs besides the payload, and what FEC recovers with it.
///
/// Offsets: frame 0, offset 4, frame length 8, flags 12, format 14, timestamp 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaFraming {
    /// Number of the frame (wraps).
    pub frame: u32,
    /// Offset of the payload in its frame, bytes.
    pub offset: u32,
    /// Length of the frame, bytes.
    pub frame_length: u32,
    /// Bit 0: [`MediaFraming::DESCRIPTION`], bit 1: [`MediaFraming::END`]. Other bits: send 0, ignore on receipt.
    pub flags: u16,
    /// Number of the frame's format description; each new one has another number (wraps).
    pub format: u16,
    /// Media time of the frame, nanoseconds after the first frame's.
    pub timestamp_ns: u64,
}

impl MediaFraming {
    /// Flag: the payload describes format number `format` and is not part of a frame.
    pub const DESCRIPTION: u16 = 1;
    /// Flag: the stream ends before this frame; there is no payload.
    pub const END: u16 = 2;

    /// Writes the framing.
    pub fn encode(&self, out: &mut [u8; FRAMING_LENGTH]) {
        put_u32(out, 0, self.frame);
        put_u32(out, 4, self.offset);
        put_u32(out, 8, self.frame_length);
        put_u16(out, 12, self.flags);
        put_u16(out, 14, self.format);
        put_u64(out, 16, self.timestamp_ns);
    }

    /// Reads a framing. Any bytes are valid.
    #[must_use]
    pub fn decode(bytes: &[u8; FRAMING_LENGTH]) -> Self {
        Self {
            frame: u32_at(bytes, 0),
            offset: u32_at(bytes, 4),
            frame_length: u32_at(bytes, 8),
            flags: u16_at(bytes, 12),
            format: u16_at(bytes, 14),
            timestamp_ns: u64_at(bytes, 16),
        }
    }
}

/// A source packet.
///
/// Offsets after the start: encoding symbol 12, flow sequence 16, flow 20, flags 22, protection 23, sent 24, framing 32,
/// tag 56.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaData {
    /// Session.
    pub session: SessionId,
    /// Sequence number in the stream, over all flows: the encoding symbol identifier of RFC 8681.
    pub symbol: Sequence,
    /// Sequence number in this flow.
    pub flow_sequence: Sequence,
    /// Flow that carries it.
    pub flow: FlowId,
    /// Bit 0: [`MediaData::COPY`]. Other bits: send 0, ignore on receipt.
    pub flags: u8,
    /// Send time, by the sender's clock.
    pub sent: UnixNanos,
    /// Frame and offset of the payload.
    pub framing: MediaFraming,
}

impl MediaData {
    /// Flag: sent before, on this flow or another.
    pub const COPY: u8 = 1;

    /// Whether the packet is a copy.
    #[must_use]
    pub const fn is_copy(&self) -> bool {
        self.flags & Self::COPY != 0
    }

    /// Writes the header.
    #[inline]
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; MEDIA_HEADER_LENGTH]) {
        begin(out, Kind::MediaData, self.session);
        put_u32(out, 12, self.symbol.0);
        put_u32(out, 16, self.flow_sequence.0);
        put_u16(out, 20, self.flow.0);
        out[22] = self.flags;
        out[23] = 0;
        put_u64(out, 24, self.sent.0);
        let mut framing = [0; FRAMING_LENGTH];
        self.framing.encode(&mut framing);
        out[FRAMING_AT..FRAMING_AT + FRAMING_LENGTH].copy_from_slice(&framing);
        seal(out, key);
    }

    /// Reads and checks the header of a datagram; the payload follows [`MEDIA_HEADER_LENGTH`] bytes.
    #[inline]
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        let header: &[u8; MEDIA_HEADER_LENGTH] = open(datagram, Kind::MediaData, session, key)?;
        check_protection(header[23])?;
        let mut framing = [0; FRAMING_LENGTH];
        framing.copy_from_slice(&header[FRAMING_AT..FRAMING_AT + FRAMING_LENGTH]);
        Ok(Self {
            session,
            symbol: Sequence(u32_at(header, 12)),
            flow_sequence: Sequence(u32_at(header, 16)),
            flow: FlowId(u16_at(header, 20)),
            flags: header[22],
            sent: UnixNanos(u64_at(header, 24)),
            framing: MediaFraming::decode(&framing),
        })
    }
}

/// A repair packet.
///
/// Offsets after the start: flow sequence 12, flow 16, reserved 18, protection 19, sent 20, repair payload identifier 28,
/// reserved 36, tag 40.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaRepair {
    /// Session.
    pub session: SessionId,
    /// Sequence number in this flow.
    pub flow_sequence: Sequence,
    /// Flow that carries it.
    pub flow: FlowId,
    /// Send time, by the sender's clock.
    pub sent: UnixNanos,
    /// The Repair FEC Payload ID of RFC 8681 section 4.1.3: repair key, density and window.
    pub payload_id: [u8; 8],
}

impl MediaRepair {
    /// Writes the header.
    #[inline]
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; REPAIR_HEADER_LENGTH]) {
        begin(out, Kind::MediaRepair, self.session);
        put_u32(out, 12, self.flow_sequence.0);
        put_u16(out, 16, self.flow.0);
        out[18..20].fill(0);
        put_u64(out, 20, self.sent.0);
        out[28..36].copy_from_slice(&self.payload_id);
        out[36..40].fill(0);
        seal(out, key);
    }

    /// Reads and checks the header of a datagram; the repair symbol follows [`REPAIR_HEADER_LENGTH`] bytes.
    #[inline]
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        let header: &[u8; REPAIR_HEADER_LENGTH] = open(datagram, Kind::MediaRepair, session, key)?;
        check_protection(header[19])?;
        let reserved = (u32_at(header, 36), header[18]);
        if reserved != (0, 0) {
            return Err(DecodeError::Field {
                field: "reserved",
                value: u64::from(reserved.0.max(reserved.1.into())),
            });
        }
        let mut payload_id = [0; 8];
        payload_id.copy_from_slice(&header[28..36]);
        Ok(Self {
            session,
            flow_sequence: Sequence(u32_at(header, 12)),
            flow: FlowId(u16_at(header, 16)),
            sent: UnixNanos(u64_at(header, 20)),
            payload_id,
        })
    }
}

/// Encryption of a payload: this version supports only 0, none.
fn check_protection(value: u8) -> Result<(), DecodeError> {
    match value {
        0 => Ok(()),
        value => Err(DecodeError::Field {
            field: "protection",
            value: value.into(),
        }),
    }
}

/// The receiver's state of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowStatus {
    /// Highest flow sequence that arrived.
    pub newest: Sequence,
    /// Missing packets of this flow below `newest`, since the session began (wraps).
    pub lost: u32,
    /// Time since its last packet, microseconds; all ones where it is longer than that, or none arrived.
    pub silent_us: u32,
}

/// A run of consecutive missing packets of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MissingRange {
    /// First of them.
    pub first: Sequence,
    /// Number of packets, from 1.
    pub count: u16,
}

/// Feedback from the receiver to the sender.
///
/// Offsets after the start: number 12, newest symbol 16, settled symbol 20, received 24, lost 28, unrepaired 32, echo 36,
/// held 44, flows 48, ranges 50, late 52. Flows (newest 0, lost 4, silent 8) follow at 56, then ranges (first 0, count
/// 4), then the tag, which here covers all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaFeedback {
    /// Session.
    pub session: SessionId,
    /// Number of this feedback, from 0 (wraps).
    pub number: Sequence,
    /// Highest symbol that arrived.
    pub newest: Sequence,
    /// All symbols before this one arrived, were recovered, or are declared lost.
    pub settled: Sequence,
    /// Source packets that arrived, since the session began (wraps).
    pub received: u32,
    /// Source packets whose first transmission did not arrive (wraps).
    pub lost: u32,
    /// Source packets declared lost (wraps).
    pub unrepaired: u32,
    /// `sent` of the packet that arrived last.
    pub echo: UnixNanos,
    /// How long ago that was, nanoseconds, at most 4.29 s.
    pub held_ns: u32,
    /// Packets that arrived too late to be used (wraps).
    pub late: u32,
}

impl MediaFeedback {
    /// Writes a feedback packet; returns its length. Flows beyond [`MAX_FEEDBACK_FLOWS`] and ranges beyond
    /// [`MAX_MISSING_RANGES`] are left out.
    pub fn encode(
        &self,
        key: &UdpKey,
        flows: &[FlowStatus],
        missing: &[MissingRange],
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> usize {
        let flows = &flows[..flows.len().min(MAX_FEEDBACK_FLOWS)];
        let missing = &missing[..missing.len().min(MAX_MISSING_RANGES)];
        begin(out, Kind::MediaFeedback, self.session);
        put_u32(out, 12, self.number.0);
        put_u32(out, 16, self.newest.0);
        put_u32(out, 20, self.settled.0);
        put_u32(out, 24, self.received);
        put_u32(out, 28, self.lost);
        put_u32(out, 32, self.unrepaired);
        put_u64(out, 36, self.echo.0);
        put_u32(out, 44, self.held_ns);
        put_u16(out, 48, flows.len() as u16);
        put_u16(out, 50, missing.len() as u16);
        put_u32(out, 52, self.late);
        let mut at = FEEDBACK_HEADER_LENGTH;
        for flow in flows {
            put_u32(out, at, flow.newest.0);
            put_u32(out, at + 4, flow.lost);
            put_u32(out, at + 8, flow.silent_us);
            at += STATUS_LENGTH;
        }
        for range in missing {
            put_u32(out, at, range.first.0);
            put_u16(out, at + 4, range.count);
            at += RANGE_LENGTH;
        }
        seal_slice(&mut out[..at + 8], key);
        at + 8
    }

    /// Reads and checks a feedback packet.
    pub fn decode<'a>(
        key: &UdpKey,
        session: SessionId,
        datagram: &'a [u8],
    ) -> Result<(Self, FeedbackLists<'a>), DecodeError> {
        let too_short = |needed| DecodeError::Truncated {
            needed,
            got: datagram.len(),
        };
        let header = datagram
            .first_chunk::<FEEDBACK_HEADER_LENGTH>()
            .ok_or(too_short(FEEDBACK_HEADER_LENGTH))?;
        let (flows, ranges) = (usize::from(u16_at(header, 48)), usize::from(u16_at(header, 50)));
        for (field, value, most) in [
            ("flows", flows, MAX_FEEDBACK_FLOWS),
            ("ranges", ranges, MAX_MISSING_RANGES),
        ] {
            if value > most {
                return Err(DecodeError::Field {
                    field,
                    value: value as u64,
                });
            }
        }
        let ranges_at = FEEDBACK_HEADER_LENGTH + flows * STATUS_LENGTH;
        let end = ranges_at + ranges * RANGE_LENGTH;
        let whole = datagram.get(..end + 8).ok_or(too_short(end + 8))?;
        super::open_slice(whole, Kind::MediaFeedback, session, key)?;
        let feedback = Self {
            session,
            number: Sequence(u32_at(header, 12)),
            newest: Sequence(u32_at(header, 16)),
            settled: Sequence(u32_at(header, 20)),
            received: u32_at(header, 24),
            lost: u32_at(header, 28),
            unrepaired: u32_at(header, 32),
            echo: UnixNanos(u64_at(header, 36)),
            held_ns: u32_at(header, 44),
            late: u32_at(header, 52),
        };
        let lists = FeedbackLists {
            flows: &whole[FEEDBACK_HEADER_LENGTH..ranges_at],
            ranges: &whole[ranges_at..end],
        };
        Ok((feedback, lists))
    }
}

/// The lists of a feedback packet, still encoded.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackLists<'a> {
    flows: &'a [u8],
    ranges: &'a [u8],
}

impl<'a> FeedbackLists<'a> {
    /// The flows, from number 0 on.
    pub fn flows(&self) -> impl Iterator<Item = FlowStatus> + 'a {
        self.flows.chunks_exact(STATUS_LENGTH).map(|bytes| FlowStatus {
            newest: Sequence(u32_at(bytes, 0)),
            lost: u32_at(bytes, 4),
            silent_us: u32_at(bytes, 8),
        })
    }

    /// The ranges of missing packets.
    pub fn missing(&self) -> impl Iterator<Item = MissingRange> + 'a {
        self.ranges.chunks_exact(RANGE_LENGTH).map(|bytes| MissingRange {
            first: Sequence(u32_at(bytes, 0)),
            count: u16_at(bytes, 4),
        })
    }
}
