//! Packet formats of Weir: layout, authentication and decoding of every byte that two Weir hosts exchange.
//!
//! Encode and decode only. This crate must not know sockets, clocks, files or threads: callers pass bytes, nonces and
//! timestamps, and get bytes and values back. Nothing here allocates per packet, and every decoder of outside bytes
//! returns an error for invalid input and never panics. `docs/wire-protocol.md` describes the same in prose.
//!
//! All integers on the wire are big-endian. The layouts are of protocol version [`VERSION`].

use serde::{Deserialize, Serialize};

mod big_endian;
pub mod frame;
pub mod handshake;
pub mod key;
pub mod spread;
pub mod stamp;
pub mod udp;

pub use frame::{FRAME_HEADER_LENGTH, FrameError, FrameOpener, FrameSealer, MAX_FRAME_LENGTH, Role};
pub use handshake::{
    AgentHandshake, ClientHandshake, ClientHello, Established, HANDSHAKE_LENGTH, HandshakeError, Purpose,
    Refusal, Refused,
};
pub use key::{SessionKeys, Token, UdpKey};
pub use spread::{Spread, SpreadKind, UnknownSpread, flows_of_share};
pub use udp::{
    FEEDBACK_CLEAR_LENGTH, FEEDBACK_HEADER_LENGTH, FLOW_HEADER_LENGTH, FRAMING_LENGTH, FeedbackLists,
    FlowData, FlowStatus, HELLO_LENGTH, Hello, HelloAck, Kind, MAX_FEEDBACK_FLOWS, MAX_FEEDBACK_LENGTH,
    MAX_MISSING_RANGES, MEDIA_HEADER_LENGTH, MTU_HEADER_LENGTH, MediaData, MediaFeedback, MediaFraming,
    MediaRepair, MissingRange, MtuAck, MtuProbe, REPAIR_HEADER_LENGTH, RTT_HEADER_LENGTH, RttReply,
    RttRequest, START_LENGTH, peek,
};

/// Version of the UDP packets and of the handshake that this crate speaks.
pub const VERSION: u8 = 2;

/// One session between a client and an agent: chosen by the agent, random, never 0 on an open session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub u64);

/// One flow (one 5-tuple) of a session, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowId(pub u16);

/// A packet counter on the wire: 32 bits that wrap. It has no order of its own, because 0 follows 4 294 967 295; compare
/// [extended](Sequence::extend) values instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u32);

impl Sequence {
    /// The 64-bit sequence number: of those with these low 32 bits, the one nearest to `near` (such as the highest
    /// received so far). Right while the two are less than 2^31 packets apart.
    #[must_use]
    pub const fn extend(self, near: u64) -> u64 {
        let distance = self.0.wrapping_sub(near as u32) as i32;
        match near.checked_add_signed(distance as i64) {
            Some(extended) => extended,
            // There are no numbers below 0 (nor, in practice, above 2^64): the packet is one of the first 2^32.
            None => self.0 as u64,
        }
    }
}

impl From<u64> for Sequence {
    /// The low 32 bits, which are sent.
    fn from(extended: u64) -> Self {
        Self(extended as u32)
    }
}

/// A time: nanoseconds since 1970-01-01 00:00 UTC by the clock of the host that wrote it. 0 means "none" in the fields
/// that are documented so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixNanos(pub u64);

/// Why a datagram is not a packet of this protocol or of this session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The datagram is shorter than its header.
    #[error("packet of {got} bytes is too short: its header has {needed} bytes")]
    Truncated {
        /// Length of the header, bytes.
        needed: usize,
        /// Length of the datagram, bytes.
        got: usize,
    },
    /// The first two bytes are not Weir's.
    #[error("not a Weir packet")]
    Magic,
    /// The packet is of another version of the protocol.
    #[error("packet of protocol version {0}, this is version {VERSION}")]
    Version(u8),
    /// The packet is of an unknown kind, or not of the kind asked for.
    #[error("unexpected packet kind {0}")]
    Kind(u8),
    /// The packet belongs to another session.
    #[error("packet of another session")]
    Session,
    /// The header was not written by a holder of the session's key, or was modified on the path.
    #[error("wrong packet tag")]
    Tag,
    /// The packet was sealed with a key that this end does not have yet, or any more.
    #[error("packet of key epoch {0}, which is over or far ahead")]
    Epoch(u8),
    /// The sealed part of the packet does not open.
    #[error("packet is not authentic")]
    Seal,
    /// An authentic header holds a value that this version does not allow.
    #[error("field {field} cannot be {value}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_wrap() {
        assert_eq!(Sequence(0).extend(0xffff_ffff), 0x1_0000_0000);
        assert_eq!(Sequence(u32::MAX).extend(0x1_0000_0000), 0xffff_ffff);
        assert_eq!(Sequence(u32::MAX).extend(0), 0xffff_ffff);
    }

    proptest! {
        #[test]
        fn extension_finds_the_sender_s_number(
            near in (1u64 << 31)..(1 << 60), distance in -(1i64 << 31)..(1i64 << 31),
        ) {
            let sent = near.checked_add_signed(distance).unwrap();
            prop_assert_eq!(Sequence::from(sent).extend(near), sent);
        }
    }
}
