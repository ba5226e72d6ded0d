//! Request and reply of the windowed RTT test. It must not know how a window is scheduled or what an RTT is.
//!
//! Both headers have the same 72 bytes, so that a reply is never larger than its request and an agent cannot be used to
//! amplify. Offsets after the start: sequence 12, window 16, position 20, window size 22,
//! length 24, flags 26, TTL 27, sent 28, reflector's kernel receive time 36, receive time 44, send time 52,
//! count of replies 60, tag 64.

use super::{Kind, begin, open, seal};
use crate::big_endian::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::{DecodeError, Sequence, SessionId, UdpKey, UnixNanos};

/// Length of the header of a request and of a reply, in bytes.
pub const RTT_HEADER_LENGTH: usize = 72;

/// A packet of a window, to be answered. Padding up to `length` may follow the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RttRequest {
    /// Session.
    pub session: SessionId,
    /// Sequence number in the test.
    pub sequence: Sequence,
    /// Window that the packet belongs to.
    pub window: u32,
    /// Position in the window: 0 to `window_size` - 1.
    pub position: u16,
    /// Packets in the window: 1 to 65 535.
    pub window_size: u16,
    /// UDP payload length of the request, header and padding included, bytes.
    pub length: u16,
    /// No bits are defined: send 0, ignore on receipt.
    pub flags: u8,
    /// Send time, by the client's clock.
    pub sent: UnixNanos,
}

/// The answer to a [`RttRequest`]: its fields, and those of the reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RttReply {
    /// The request's fields, its send time by the client's clock included.
    pub request: RttRequest,
    /// TTL or hop limit of the request on arrival; 0 = unknown.
    pub ttl: u8,
    /// Time at which the reflector's kernel received the request, by the reflector's clock; 0 = unknown.
    pub reflector_kernel_receive: UnixNanos,
    /// Time at which the reflector's program received the request, by the reflector's clock.
    pub reflector_receive: UnixNanos,
    /// Time at which the reflector sent this reply, by the reflector's clock.
    pub reflector_send: UnixNanos,
    /// Replies that the reflector sent in this session before this one (wraps); separates loss in the forward direction
    /// from loss on the return path.
    pub reflector_sequence: u32,
}

impl RttRequest {
    /// Writes the header.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; RTT_HEADER_LENGTH]) {
        let reply_shaped = RttReply {
            request: *self,
            ..RttReply::default()
        };
        reply_shaped.encode_as(Kind::RttRequest, key, out);
    }

    /// Reads and checks the header of a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        let header = RttReply::decode_as(Kind::RttRequest, key, session, datagram)?;
        for (field, value) in [
            ("ttl", u64::from(header.ttl)),
            ("reflector_kernel_receive", header.reflector_kernel_receive.0),
            ("reflector_receive", header.reflector_receive.0),
            ("reflector_send", header.reflector_send.0),
            ("reflector_sequence", u64::from(header.reflector_sequence)),
        ] {
            if value != 0 {
                return Err(DecodeError::Field { field, value });
            }
        }
        Ok(header.request)
    }
}

impl RttReply {
    /// Writes the header.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; RTT_HEADER_LENGTH]) {
        self.encode_as(Kind::RttReply, key, out);
    }

    /// Reads and checks the header of a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_as(Kind::RttReply, key, session, datagram)
    }

    fn encode_as(&self, kind: Kind, key: &UdpKey, out: &mut [u8; RTT_HEADER_LENGTH]) {
        let request = &self.request;
        begin(out, kind, request.session);
        put_u32(out, 12, request.sequence.0);
        put_u32(out, 16, request.window);
        put_u16(out, 20, request.position);
        put_u16(out, 22, request.window_size);
        put_u16(out, 24, request.length);
        out[26] = request.flags;
        out[27] = self.ttl;
        put_u64(out, 28, request.sent.0);
        put_u64(out, 36, self.reflector_kernel_receive.0);
        put_u64(out, 44, self.reflector_receive.0);
        put_u64(out, 52, self.reflector_send.0);
        put_u32(out, 60, self.reflector_sequence);
        seal(out, key);
    }

    fn decode_as(kind: Kind, key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        let header: &[u8; RTT_HEADER_LENGTH] = open(datagram, kind, session, key)?;
        let (position, window_size) = (u16_at(header, 20), u16_at(header, 22));
        if position >= window_size {
            return Err(DecodeError::Field {
                field: "position",
                value: u64::from(position),
            });
        }
        Ok(Self {
            request: RttRequest {
                session,
                sequence: Sequence(u32_at(header, 12)),
                window: u32_at(header, 16),
                position,
                window_size,
                length: u16_at(header, 24),
                flags: header[26],
                sent: UnixNanos(u64_at(header, 28)),
            },
            ttl: header[27],
            reflector_kernel_receive: UnixNanos(u64_at(header, 36)),
            reflector_receive: UnixNanos(u64_at(header, 44)),
            reflector_send: UnixNanos(u64_at(header, 52)),
            reflector_sequence: u32_at(header, 60),
        })
    }
}
