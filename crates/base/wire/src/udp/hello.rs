//! Hello and its acknowledgement: the client opens the path of a flow through its NAT, and the agent learns the address
//! for a flow in reverse direction. It must not know addresses.
//!
//! Offsets after the start: flow 12, flags 14, nonce 16, tag 24.

use super::{Kind, begin, open, seal};
use crate::big_endian::{put_u16, put_u64, u16_at, u64_at};
use crate::{DecodeError, FlowId, SessionId, UdpKey};

/// Length of either packet, in bytes.
pub const HELLO_LENGTH: usize = 32;

/// Binds a flow to the source address of this packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hello {
    /// Session.
    pub session: SessionId,
    /// Flow to bind.
    pub flow: FlowId,
    /// No bits are defined: send 0, ignore on receipt.
    pub flags: u16,
    /// Chosen by the client at random for every test: an acknowledgement with another nonce belongs to an earlier test.
    pub nonce: u64,
}

/// The agent has bound the flow: sent to the source of the [`Hello`], with the same fields, of which the nonce proves to the
/// client that this answers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HelloAck(pub Hello);

impl Hello {
    /// Writes the packet.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; HELLO_LENGTH]) {
        write(Kind::Hello, *self, key, out);
    }

    /// Reads and checks a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        read(Kind::Hello, key, session, datagram)
    }
}

impl HelloAck {
    /// Writes the packet.
    pub fn encode(&self, key: &UdpKey, out: &mut [u8; HELLO_LENGTH]) {
        write(Kind::HelloAck, self.0, key, out);
    }

    /// Reads and checks a datagram.
    pub fn decode(key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Self, DecodeError> {
        read(Kind::HelloAck, key, session, datagram).map(HelloAck)
    }
}

fn write(kind: Kind, fields: Hello, key: &UdpKey, out: &mut [u8; HELLO_LENGTH]) {
    begin(out, kind, fields.session);
    put_u16(out, 12, fields.flow.0);
    put_u16(out, 14, fields.flags);
    put_u64(out, 16, fields.nonce);
    seal(out, key);
}

fn read(kind: Kind, key: &UdpKey, session: SessionId, datagram: &[u8]) -> Result<Hello, DecodeError> {
    let header: &[u8; HELLO_LENGTH] = open(datagram, kind, session, key)?;
    Ok(Hello {
        session,
        flow: FlowId(u16_at(header, 12)),
        flags: u16_at(header, 14),
        nonce: u64_at(header, 16),
    })
}
