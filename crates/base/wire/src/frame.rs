//! Frames on a control connection once its handshake is done: authenticated, in order, bounded. It must not
//! know what a payload says, nor how it is read from a socket.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | length of the payload, bytes, at most [`MAX_FRAME_LENGTH`] |
//! | 4 | 16 | first 16 bytes of HMAC-SHA-256(control key, direction u8, counter u64, length u32, payload) |
//!
//! The counter is not sent: each side counts the frames of each direction from 0, so a frame that is
//! replayed, dropped or moved does not open. Payloads are authenticated, not encrypted.

use hmac::Mac;

use crate::big_endian::{put_u32, u32_at};
use crate::key::{HmacSha256, keyed, mac_of};

/// Length of a frame's header, in bytes.
pub const FRAME_HEADER_LENGTH: usize = 20;

/// Largest payload of a frame, in bytes.
pub const MAX_FRAME_LENGTH: usize = 1 << 20;

/// Which end of the connection this host is. Both ends give their own role to both [`FrameSealer::new`] and
/// [`FrameOpener::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The host that opened the connection.
    Client,
    /// The host that accepted it.
    Agent,
}

/// First byte under the mac: who sealed the frame. The labels of the handshake, which uses the same key for
/// data connections, start with "w" (0x77), so no frame's mac is ever a handshake's.
fn direction(sealed_by: Role) -> u8 {
    match sealed_by {
        Role::Client => 1,
        Role::Agent => 2,
    }
}

/// Why a frame was not sealed or not opened. After any error of an opener the connection has to be closed:
/// the two sides no longer agree on what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than [`MAX_FRAME_LENGTH`].
    #[error("frame of {0} bytes is longer than {MAX_FRAME_LENGTH}")]
    TooLong(usize),
    /// The payload handed over is not of the length that the header announces.
    #[error("frame announces {announced} bytes and holds {got}")]
    Length {
        /// Bytes announced by the header.
        announced: usize,
        /// Bytes handed over.
        got: usize,
    },
    /// The frame was not sealed by the other end, was changed, or is not the next one.
    #[error("frame is not authentic or not in order")]
    Mac,
    /// 2^64 frames were sealed or opened: the counter would repeat.
    #[error("control connection is used up")]
    UsedUp,
}

/// Seals the frames that this end sends.
#[derive(Clone, Debug)]
pub struct FrameSealer {
    stream: Direction,
}

/// Opens the frames that the other end sent.
#[derive(Clone, Debug)]
pub struct FrameOpener {
    stream: Direction,
}

#[derive(Clone, Debug)]
struct Direction {
    keyed: HmacSha256,
    label: u8,
    /// Counter of the next frame; `None` once 2^64 have passed.
    next: Option<u64>,
}

impl Direction {
    fn new(control_key: &[u8; 32], sealed_by: Role) -> Self {
        Self {
            keyed: keyed(control_key),
            label: direction(sealed_by),
            next: Some(0),
        }
    }

    fn mac(&self, payload: &[u8]) -> Result<HmacSha256, FrameError> {
        let counter = self.next.ok_or(FrameError::UsedUp)?;
        let length = u32::try_from(payload.len()).map_err(|_| FrameError::TooLong(payload.len()))?;
        Ok(mac_of(
            &self.keyed,
            &[
                &[self.label],
                &counter.to_be_bytes(),
                &length.to_be_bytes(),
                payload,
            ],
        ))
    }

    fn advance(&mut self) {
        self.next = self.next.and_then(|counter| counter.checked_add(1));
    }
}

impl FrameSealer {
    /// A sealer for this end, whose own role is `role`.
    #[must_use]
    pub fn new(control_key: &[u8; 32], role: Role) -> Self {
        Self {
            stream: Direction::new(control_key, role),
        }
    }

    /// Header of the next frame; the payload follows it.
    pub fn seal(&mut self, payload: &[u8]) -> Result<[u8; FRAME_HEADER_LENGTH], FrameError> {
        if payload.len() > MAX_FRAME_LENGTH {
            return Err(FrameError::TooLong(payload.len()));
        }
        let mac = self.stream.mac(payload)?.finalize().into_bytes();
        let mut header = [0; FRAME_HEADER_LENGTH];
        put_u32(&mut header, 0, payload.len() as u32);
        header[4..].copy_from_slice(&mac[..FRAME_HEADER_LENGTH - 4]);
        self.stream.advance();
        Ok(header)
    }
}

impl FrameOpener {
    /// An opener for this end, whose own role is `role`: it opens what the other role sealed.
    #[must_use]
    pub fn new(control_key: &[u8; 32], role: Role) -> Self {
        let sealed_by = match role {
            Role::Client => Role::Agent,
            Role::Agent => Role::Client,
        };
        Self {
            stream: Direction::new(control_key, sealed_by),
        }
    }

    /// Length of the payload that follows, bytes; at most [`MAX_FRAME_LENGTH`], so that a caller may make
    /// room for it before the frame is found authentic.
    pub fn payload_length(&self, header: &[u8; FRAME_HEADER_LENGTH]) -> Result<usize, FrameError> {
        let length = u32_at(header, 0) as usize;
        if length > MAX_FRAME_LENGTH {
            Err(FrameError::TooLong(length))
        } else {
            Ok(length)
        }
    }

    /// Checks that this is the next frame of the other end. Nothing of the payload may be used before.
    pub fn open(&mut self, header: &[u8; FRAME_HEADER_LENGTH], payload: &[u8]) -> Result<(), FrameError> {
        let announced = self.payload_length(header)?;
        if announced != payload.len() {
            return Err(FrameError::Length {
                announced,
                got: payload.len(),
            });
        }
        self.stream
            .mac(payload)?
            .verify_truncated_left(&header[4..])
            .map_err(|_| FrameError::Mac)?;
        self.stream.advance();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_never_repeats() {
        let mut sealer = FrameSealer::new(&[1; 32], Role::Client);
        sealer.stream.next = Some(u64::MAX);
        assert!(sealer.seal(b"last").is_ok());
        assert_eq!(sealer.seal(b"one more"), Err(FrameError::UsedUp));
        let mut opener = FrameOpener::new(&[1; 32], Role::Agent);
        opener.stream.next = None;
        assert_eq!(opener.open(&[0; 20], b""), Err(FrameError::UsedUp));
    }
}
