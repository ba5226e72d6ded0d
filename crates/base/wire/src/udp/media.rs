//! Packets of a media stream: source packets, repair packets, and feedback from the receiver. It must not know how
//! packets are scheduled, repaired or reassembled.
//!
//! A payload follows the header of a source packet, a repair symbol that of a repair packet. The seal of each is in its
//! header, whose own tag covers it; these functions neither seal nor open. FEC protects the [`MediaFraming`] and the
//! payload of a source packet, before they are sealed.

use weir_protect::{Lane, Opener, SealError, Sealed, Sealer, TAG_LENGTH};

use super::{Kind, begin, open, open_slice, peek, seal, seal_slice};
use crate::big_endian::{bytes_at, put, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::{DecodeError, FlowId, Sequence, SessionId, UdpKey, UnixNanos};

/// Length of the header of a source packet, bytes.
pub const MEDIA_HEADER_LENGTH: usize = 80;
/// Length of the header of a repair packet, bytes.
pub const REPAIR_HEADER_LENGTH: usize = 64;
/// Length of the fixed part of a feedback packet, bytes; flows, ranges and both tags follow.
pub const FEEDBACK_HEADER_LENGTH: usize = 60;
/// Length of the part of a feedback packet that is not encrypted, bytes: its first.
pub const FEEDBACK_CLEAR_LENGTH: usize = 20;
/// Length of the framing within a source packet's header, bytes.
pub const FRAMING_LENGTH: usize = 24;
/// Maximum number of flows in a feedback packet.
pub const MAX_FEEDBACK_FLOWS: usize = 64;
/// Maximum number of ranges of missing packets in a feedback packet.
pub const MAX_MISSING_RANGES: usize = 56;
/// Maximum length of a feedback packet, bytes: below the payload of the smallest MTU of IPv6 (RFC 8200 section 5).
pub const MAX_FEEDBACK_LENGTH: usize = FEEDBACK_HEADER_LENGTH
    + MAX_FEEDBACK_FLOWS * STATUS_LENGTH
    + MAX_MISSING_RANGES * RANGE_LENGTH
    + TAGS_LENGTH;

const STATUS_LENGTH: usize = 12;
const RANGE_LENGTH: usize = 6;
const FRAMING_AT: usize = 32;
/// The seal's tag and the header's, at the end of a feedback packet.
const TAGS_LENGTH: usize = TAG_LENGTH + 8;
/// Length of what is authenticated with a source packet's payload, besides the symbol, bytes.
const SOURCE_CONTEXT: usize = 8 + FRAMING_LENGTH;

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
    /// Media time of the frame, nanoseconds after a beginning of the sender's own.
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
/// Offsets after the start: encoding symbol 12, flow sequence 16, flow 20, flags 22, key epoch 23, sent 24, framing 32,
/// seal 56, tag 72.
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
    /// Key epoch and tag of the payload. A copy has those of the first transmission.
    pub sealed: Sealed,
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
        out[23] = self.sealed.epoch;
        put_u64(out, 24, self.sent.0);
        let mut framing = [0; FRAMING_LENGTH];
        self.framing.encode(&mut framing);
        put(out, FRAMING_AT, framing);
        put(out, FRAMING_AT + FRAMING_LENGTH, self.sealed.tag);
        seal(out, key);
    }

    /// What is authenticated with the payload, besides the symbol: session and framing, which copies have in common.
    #[inline]
    #[must_use]
    pub fn context(session: SessionId, framing: &MediaFraming) -> [u8; SOURCE_CONTEXT] {
        let mut encoded = [0; FRAMING_LENGTH];
        framing.encode(&mut encoded);
        let mut context = [0; SOURCE_CONTEXT];
        put_u64(&mut context, 0, session.0);
        put(&mut context, 8, encoded);
        context
    }

    /// Reads and checks the header of a datagram; the payload follows [`MEDIA_HEADER_LENGTH`] bytes. `key` gives the key
    /// of a key epoch.
    #[inline]
    pub fn decode(
        key: impl FnOnce(u8) -> Option<UdpKey>,
        session: SessionId,
        datagram: &[u8],
    ) -> Result<Self, DecodeError> {
        let key = key_at(key, (23, MEDIA_HEADER_LENGTH), datagram)?;
        let header: &[u8; MEDIA_HEADER_LENGTH] = open(datagram, Kind::MediaData, session, &key)?;
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
            sealed: Sealed {
                epoch: header[23],
                tag: bytes_at(header, FRAMING_AT + FRAMING_LENGTH),
            },
        })
    }
}

/// A repair packet.
///
/// Offsets after the start: flow sequence 12, flow 16, reserved 18, key epoch 19, sent 20, repair payload identifier 28,
/// number 36, seal 40, tag 56.
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
    /// Number of the repair packet in the session, from 0 (wraps).
    pub number: Sequence,
    /// Key epoch and tag of the repair symbol.
    pub sealed: Sealed,
}

impl MediaRepair {
    /// Writes the header.
    #[inline]
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; REPAIR_HEADER_LENGTH]) {
        begin(out, Kind::MediaRepair, self.session);
        put_u32(out, 12, self.flow_sequence.0);
        put_u16(out, 16, self.flow.0);
        out[18] = 0;
        out[19] = self.sealed.epoch;
        put_u64(out, 20, self.sent.0);
        put(out, 28, self.payload_id);
        put_u32(out, 36, self.number.0);
        put(out, 40, self.sealed.tag);
        seal(out, key);
    }

    /// What is authenticated with the repair symbol, besides the number.
    #[inline]
    #[must_use]
    pub fn context(session: SessionId, payload_id: [u8; 8]) -> [u8; 16] {
        let mut context = [0; 16];
        put_u64(&mut context, 0, session.0);
        put(&mut context, 8, payload_id);
        context
    }

    /// Reads and checks the header of a datagram; the repair symbol follows [`REPAIR_HEADER_LENGTH`] bytes. `key` gives the
    /// key of a key epoch.
    #[inline]
    pub fn decode(
        key: impl FnOnce(u8) -> Option<UdpKey>,
        session: SessionId,
        datagram: &[u8],
    ) -> Result<Self, DecodeError> {
        let key = key_at(key, (19, REPAIR_HEADER_LENGTH), datagram)?;
        let header: &[u8; REPAIR_HEADER_LENGTH] = open(datagram, Kind::MediaRepair, session, &key)?;
        if header[18] != 0 {
            return Err(DecodeError::Field {
                field: "reserved",
                value: u64::from(header[18]),
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
            number: Sequence(u32_at(header, 36)),
            sealed: Sealed {
                epoch: header[19],
                tag: bytes_at(header, 40),
            },
        })
    }
}

/// The key of the epoch at this offset of a header of `needed` bytes. Version and kind are checked before: another version
/// has other offsets.
#[inline]
fn key_at(
    key: impl FnOnce(u8) -> Option<UdpKey>,
    (at, needed): (usize, usize),
    datagram: &[u8],
) -> Result<UdpKey, DecodeError> {
    let got = datagram.len();
    if got < needed {
        return Err(DecodeError::Truncated { needed, got });
    }
    peek(datagram)?;
    key(datagram[at]).ok_or(DecodeError::Epoch(datagram[at]))
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
/// Offsets after the start: number 12, key epoch 16, reserved 17, newest symbol 20, settled symbol 24, received 28, lost 32,
/// unrepaired 36, echo 40, held 48, flows 52, ranges 54, late 56. Flows (newest 0, lost 4, silent 8) follow at 60, then ranges
/// (first 0, count 4), then the seal of all from 20 on, then the tag, which here covers all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MediaFeedback {
    /// Session.
    pub session: SessionId,
    /// Number of this feedback, from 0; its low 32 bits are sent.
    pub number: u64,
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
    /// Writes and seals a feedback packet; returns its length. Flows beyond [`MAX_FEEDBACK_FLOWS`] and ranges beyond
    /// [`MAX_MISSING_RANGES`] are left out.
    ///
    /// # Errors
    /// When a feedback with this number was sealed before.
    pub fn encode(
        &self,
        sealer: &mut Sealer,
        flows: &[FlowStatus],
        missing: &[MissingRange],
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> Result<usize, SealError> {
        let flows = &flows[..flows.len().min(MAX_FEEDBACK_FLOWS)];
        let missing = &missing[..missing.len().min(MAX_MISSING_RANGES)];
        begin(out, Kind::MediaFeedback, self.session);
        put_u32(out, 12, Sequence::from(self.number).0);
        out[16..20].fill(0);
        put_u32(out, 20, self.newest.0);
        put_u32(out, 24, self.settled.0);
        put_u32(out, 28, self.received);
        put_u32(out, 32, self.lost);
        put_u32(out, 36, self.unrepaired);
        put_u64(out, 40, self.echo.0);
        put_u32(out, 48, self.held_ns);
        put_u16(out, 52, flows.len() as u16);
        put_u16(out, 54, missing.len() as u16);
        put_u32(out, 56, self.late);
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
        let (clear, rest) = out[..at].split_at_mut(FEEDBACK_CLEAR_LENGTH);
        // Without the epoch, which is not known before; the key depends on it.
        let sealed = sealer.seal(Lane::Feedback, self.number, &clear[..16], rest)?;
        out[16] = sealed.epoch;
        put(out, at, sealed.tag);
        seal_slice(&mut out[..at + TAGS_LENGTH], sealer.present_header_key());
        Ok(at + TAGS_LENGTH)
    }

    /// Checks the tag of a feedback packet, opens it in place, and reads it. `near` is the number of the last one.
    ///
    /// # Errors
    /// When it is not from the other end, or a field is out of range.
    pub fn decode<'a>(
        opener: &mut Opener,
        near: u64,
        session: SessionId,
        datagram: &'a mut [u8],
    ) -> Result<(Self, FeedbackLists<'a>), DecodeError> {
        let got = datagram.len();
        let place = (16, FEEDBACK_HEADER_LENGTH + TAGS_LENGTH);
        let key = key_at(|epoch| opener.header_key(epoch).copied(), place, datagram)?;
        open_slice(datagram, Kind::MediaFeedback, session, &key)?;
        let (content, tags) = datagram.split_at_mut(got - TAGS_LENGTH);
        let number = Sequence(u32_at(content, 12)).extend(near);
        let (clear, rest) = content.split_at_mut(FEEDBACK_CLEAR_LENGTH);
        opener
            .open(
                clear[16],
                (Lane::Feedback, number),
                &clear[..16],
                bytes_at(tags, 0),
                rest,
            )
            .map_err(|_| DecodeError::Seal)?;
        Self::read((session, number), content, got)
    }

    /// Reads what was opened.
    fn read(
        (session, number): (SessionId, u64),
        content: &[u8],
        got: usize,
    ) -> Result<(Self, FeedbackLists<'_>), DecodeError> {
        let refused = |field, value: usize| DecodeError::Field {
            field,
            value: value as u64,
        };
        let (flows, ranges) = (usize::from(u16_at(content, 52)), usize::from(u16_at(content, 54)));
        for (field, value, most) in [
            ("flows", flows, MAX_FEEDBACK_FLOWS),
            ("ranges", ranges, MAX_MISSING_RANGES),
        ] {
            if value > most {
                return Err(refused(field, value));
            }
        }
        if content[17..20] != [0; 3] {
            return Err(refused("reserved", 1));
        }
        let ranges_at = FEEDBACK_HEADER_LENGTH + flows * STATUS_LENGTH;
        let end = ranges_at + ranges * RANGE_LENGTH;
        if content.len() != end {
            return Err(DecodeError::Truncated {
                needed: end + TAGS_LENGTH,
                got,
            });
        }
        let feedback = Self {
            session,
            number,
            newest: Sequence(u32_at(content, 20)),
            settled: Sequence(u32_at(content, 24)),
            received: u32_at(content, 28),
            lost: u32_at(content, 32),
            unrepaired: u32_at(content, 36),
            echo: UnixNanos(u64_at(content, 40)),
            held_ns: u32_at(content, 48),
            late: u32_at(content, 56),
        };
        let lists = FeedbackLists {
            flows: &content[FEEDBACK_HEADER_LENGTH..ranges_at],
            ranges: &content[ranges_at..end],
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
