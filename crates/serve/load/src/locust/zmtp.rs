//! ZMTP 3.0 (ZeroMQ RFC 23) as a DEALER without security speaks it: greeting, READY, frames. It is given bytes and
//! gives bytes; it must not know sockets.
//!
//! The `zeromq` crate was not taken: a worker needs one socket of one kind, and these frames are a page of code.

use thiserror::Error;

/// Bytes of a greeting.
pub const GREETING_BYTES: usize = 64;
/// Most bytes of a frame that is taken: a master's messages are a few hundred bytes.
pub const MOST_FRAME: u64 = 16 << 20;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// What is no ZMTP.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ZmtpError {
    /// Another protocol, or one before ZMTP 3.
    #[error("the peer is not a ZeroMQ socket of version 4 or later")]
    Greeting,
    /// It wants credentials.
    #[error("the peer requires a security mechanism other than NULL")]
    Mechanism,
    /// Flags that nobody has.
    #[error("a frame with unknown flags")]
    Flags,
    /// Too long.
    #[error("a frame of {0} bytes exceeds the maximum")]
    Length(u64),
}

/// A frame that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A part of a message; `more` says that another one follows.
    Message {
        /// Its bytes.
        body: Vec<u8>,
        /// Whether the message goes on.
        more: bool,
    },
    /// A command of the protocol itself.
    Command(Vec<u8>),
}

/// The greeting of a client.
pub fn greeting() -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    bytes[0] = 0xff;
    bytes[9] = 0x7f;
    bytes[10] = 3;
    bytes[12..16].copy_from_slice(b"NULL");
    bytes
}

/// Checks the greeting of the other end.
///
/// # Errors
/// When it is none, or asks for what this cannot do.
pub fn check_greeting(bytes: &[u8; GREETING_BYTES]) -> Result<(), ZmtpError> {
    if bytes[0] != 0xff || bytes[9] != 0x7f || bytes[10] < 3 {
        return Err(ZmtpError::Greeting);
    }
    if bytes[12..16] != *b"NULL" || bytes[16..32].iter().any(|byte| *byte != 0) {
        return Err(ZmtpError::Mechanism);
    }
    Ok(())
}

/// The READY command of a DEALER with an identity of at most 255 bytes.
pub fn ready(identity: &[u8]) -> Vec<u8> {
    let mut body = b"\x05READY".to_vec();
    for (name, value) in [("Socket-Type", b"DEALER".as_slice()), ("Identity", identity)] {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    frame(COMMAND, &body)
}

/// A message of one frame.
pub fn message(body: &[u8]) -> Vec<u8> {
    frame(0, body)
}

fn frame(flags: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = match u8::try_from(body.len()) {
        Ok(length) => vec![flags, length],
        Err(_) => {
            let mut head = vec![flags | LONG];
            head.extend_from_slice(&(body.len() as u64).to_be_bytes());
            head
        }
    };
    bytes.extend_from_slice(body);
    bytes
}

/// Takes bytes as they come and gives whole frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    waiting: Vec<u8>,
}

impl FrameReader {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// When what came is no frame, or a longer one than is taken.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ZmtpError> {
        let Some(flags) = self.waiting.first().copied() else {
            return Ok(None);
        };
        if flags & !(MORE | LONG | COMMAND) != 0 {
            return Err(ZmtpError::Flags);
        }
        let (head, length) = match flags & LONG {
            0 => match self.waiting.get(1) {
                Some(length) => (2, u64::from(*length)),
                None => return Ok(None),
            },
            _ => match self.waiting.get(1..9).and_then(|bytes| bytes.try_into().ok()) {
                Some(bytes) => (9, u64::from_be_bytes(bytes)),
                None => return Ok(None),
            },
        };
        if length > MOST_FRAME {
            return Err(ZmtpError::Length(length));
        }
        let end = head + length as usize;
        if self.waiting.len() < end {
            return Ok(None);
        }
        let body = self.waiting[head..end].to_vec();
        self.waiting.drain(..end);
        Ok(Some(match flags & COMMAND {
            0 => Frame::Message {
                body,
                more: flags & MORE != 0,
            },
            _ => Frame::Command(body),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_and_the_command_of_the_rfc() {
        // RFC 23/ZMTP: signature, version, mechanism, as-server, filler.
        let ours = greeting();
        assert_eq!(ours[..16], *b"\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL");
        assert_eq!(check_greeting(&ours), Ok(()));
        let mut other = ours;
        other[12..17].copy_from_slice(b"PLAIN");
        assert_eq!(check_greeting(&other), Err(ZmtpError::Mechanism));
        other[10] = 1;
        assert_eq!(check_greeting(&other), Err(ZmtpError::Greeting));
        let ready = ready(b"w1");
        assert_eq!(
            ready,
            b"\x04\x2b\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\x02w1"
        );
    }

    #[test]
    fn frames_come_whole_from_any_pieces() {
        let long = vec![7; 300];
        let bytes = [message(b"short"), ready(b"x"), message(&long), vec![1, 1, 9]].concat();
        for step in 1..bytes.len() {
            let mut reader = FrameReader::default();
            let mut frames = Vec::new();
            for piece in bytes.chunks(step) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame().expect("a frame") {
                    frames.push(frame);
                }
            }
            assert_eq!(frames.len(), 4);
            assert_eq!(
                frames[0],
                Frame::Message {
                    body: b"short".to_vec(),
                    more: false
                }
            );
            assert!(matches!(&frames[1], Frame::Command(body) if body.starts_with(b"\x05READY")));
            assert_eq!(
                frames[2],
                Frame::Message {
                    body: long.clone(),
                    more: false
                }
            );
            assert_eq!(
                frames[3],
                Frame::Message {
                    body: vec![9],
                    more: true
                }
            );
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let read = |bytes: &[u8]| {
            let mut reader = FrameReader::default();
            reader.push(bytes);
            reader.next_frame()
        };
        assert_eq!(read(b"\x08\0"), Err(ZmtpError::Flags));
        assert_eq!(
            read(b"\x02\xff\xff\xff\xff\xff\xff\xff\xff"),
            Err(ZmtpError::Length(u64::MAX))
        );
        assert_eq!(read(b"\x02\0\0"), Ok(None));
    }
}
