//! Frames on a control connection once its handshake is done: encrypted, authenticated, in order, bounded. It must not
//! know what a payload says, nor how it is read from a socket.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | length of the payload, bytes, at most [`MAX_FRAME_LENGTH`] |
//! | 4 | 16 | tag of ChaCha20-Poly1305 (RFC 8439) with a key for the direction; the length is its associated data |
//!
//! The nonce is the direction's IV xor the counter of the frame, as in RFC 8446 section 5.3. The counter is not sent: each
//! side counts the frames of each direction from 0, so a frame that is replayed, dropped or moved does not open.

use weir_protect::{AeadKey, NONCE_LENGTH, Protection, Secret, TAG_LENGTH};

use crate::big_endian::{bytes_at, put_u32, u32_at};

/// Length of a frame's header, in bytes.
pub const FRAME_HEADER_LENGTH: usize = 4 + TAG_LENGTH;

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

fn label(sealed_by: Role) -> &'static str {
    match sealed_by {
        Role::Client => "client frames",
        Role::Agent => "agent frames",
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
    key: AeadKey,
    iv: [u8; NONCE_LENGTH],
    /// Counter of the next frame; `None` once 2^64 have passed.
    next: Option<u64>,
}

impl Direction {
    fn new(control_key: &[u8; 32], sealed_by: Role) -> Self {
        let secret = Secret::new(*control_key).derive(label(sealed_by), &[]);
        Self {
            key: AeadKey::new(Protection::ChaCha20Poly1305, secret.derive("key", &[]).as_bytes()),
            iv: secret.expand("iv", &[]),
            next: Some(0),
        }
    }

    fn nonce(&self) -> Result<[u8; NONCE_LENGTH], FrameError> {
        let counter = self.next.ok_or(FrameError::UsedUp)?;
        let mut nonce = self.iv;
        for (byte, bits) in nonce[NONCE_LENGTH - 8..].iter_mut().zip(counter.to_be_bytes()) {
            *byte ^= bits;
        }
        Ok(nonce)
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

    /// Encrypts the payload of the next frame in place, and returns its header, which goes before it.
    pub fn seal(&mut self, payload: &mut [u8]) -> Result<[u8; FRAME_HEADER_LENGTH], FrameError> {
        if payload.len() > MAX_FRAME_LENGTH {
            return Err(FrameError::TooLong(payload.len()));
        }
        let nonce = self.stream.nonce()?;
        let mut header = [0; FRAME_HEADER_LENGTH];
        put_u32(&mut header, 0, payload.len() as u32);
        let tag = self.stream.key.seal(nonce, &header[..4], payload);
        header[4..].copy_from_slice(&tag);
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

    /// Decrypts the payload in place, if this is the next frame of the other end. After an error its content is of no
    /// use.
    pub fn open(&mut self, header: &[u8; FRAME_HEADER_LENGTH], payload: &mut [u8]) -> Result<(), FrameError> {
        let announced = self.payload_length(header)?;
        if announced != payload.len() {
            return Err(FrameError::Length {
                announced,
                got: payload.len(),
            });
        }
        let nonce = self.stream.nonce()?;
        self.stream
            .key
            .open(nonce, &header[..4], bytes_at(header, 4), payload)
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
        assert!(sealer.seal(&mut [1; 4]).is_ok());
        assert_eq!(sealer.seal(&mut [1; 8]), Err(FrameError::UsedUp));
        let mut opener = FrameOpener::new(&[1; 32], Role::Agent);
        opener.stream.next = None;
        assert_eq!(opener.open(&[0; 20], &mut []), Err(FrameError::UsedUp));
    }
}
